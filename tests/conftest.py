"""Options and markers of the whole suite: which device runs the tests, and whether the long ones run."""

import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

ROOT = Path(__file__).resolve().parents[1]
DEVICES = ("simulator", "cuda")


def pytest_addoption(parser):
    group = parser.getgroup("warpwise")
    group.addoption(
        "--device",
        choices=DEVICES,
        default="simulator",
        help="device that runs kernels; `cuda` adds the tests marked gpu",
    )
    group.addoption("--full", action="store_true", help="add the tests marked full: the same ideas over far more data")


# Every run draws the same examples, and none fails because the machine is busy.
hypothesis.settings.register_profile(
    "suite",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("suite")


def pytest_configure(config):
    config.addinivalue_line("markers", "gpu: needs a CUDA device; deselected unless --device cuda")
    config.addinivalue_line("markers", "full: long; deselected unless --full")
    if not any("bench" in str(argument) for argument in config.args):
        config.option.benchmark_disable = True  # each runs once, untimed; figures come from `pytest tests/bench`


def pytest_sessionstart(session):
    """Makes the engine's machine code, where none is kept, before many processes would all make it at once."""
    if hasattr(session.config, "workerinput") or session.config.option.collectonly:
        return
    subprocess.run(
        [sys.executable, "-c", "from simt.program import load_runtime; load_runtime()"], cwd=ROOT, check=True
    )


def pytest_collection_modifyitems(config, items):
    """Deselects, rather than skips, what this run was not asked for: nothing in a report reads `skipped`."""
    unwanted = set()
    if config.getoption("--device") != "cuda":
        unwanted.add("gpu")
    if not config.getoption("--full"):
        unwanted.add("full")
    dropped = [item for item in items if unwanted & {mark.name for mark in item.iter_markers()}]
    if dropped:
        config.hook.pytest_deselected(items=dropped)
        items[:] = [item for item in items if item not in set(dropped)]


@pytest.fixture(scope="session")
def device_name(request):
    """The name given to `--device`: `simulator` or `cuda`."""
    return request.config.getoption("--device")
