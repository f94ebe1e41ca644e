"""docs/simt.md: its files, its commands and its example of the library, run as they stand there."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from simt.cli import _parser
from simt.cli_run import EXIT
from simt.launch_file import ARGUMENT_KEYS, FILE_KEYS
from simt.launch_maps import MAP_KEYS
from simt.launch_values import DTYPES, INITS
from simt.warp_trace import WarpTrace
from tests.processes import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "simt.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"^`([\w./]+)`\n\n```\w+\n(.*?)^```", PAGE, re.M | re.S))
COMMANDS = [line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S) for line in block.splitlines()]

# Exit status of each command where the page's files lie; the others need the package index.
STATUS = {
    "python -m simt run saxpy.cu --launch saxpy.toml": 1,
    "python -m simt run saxpy.cu --launch saxpy.toml --json --check memcheck,racecheck": 1,
    "python -m simt run saxpy.cu --launch saxpy.toml --arch sm_90 --out results": 1,
    "python -m simt coverage": 0,
    "python -m simt run window.cu --launch window.toml": 0,
    "python -m simt run saxpy.cu --launch saxpy.toml --suppress accepted.toml": 0,
    "python -m simt run saxpy.cu --launch saxpy.toml --sarif simt.sarif": 1,
    "python -m simt run saxpy.cu --launch saxpy.toml --trace 3:7 --trace-out warp.json": 1,
    "python -m simt run saxpy.cu --launch saxpy.toml --json > before.json": 1,
    "python -m simt compare before.json before.json --fail-on 'global_load_sectors>+2%'": 0,
    "python -m simt estimate saxpy.cu --launch saxpy.toml --gpu h200": 0,
}
ELSEWHERE = {"pip install '.[simt]'": "tests/test_install.py"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The files of the page."""
    made = tmp_path_factory.mktemp("page")
    for name, text in FILES.items():
        (made / name).parent.mkdir(exist_ok=True)
        (made / name).write_text(text, encoding="utf-8")
    return made


def run(words, folder):
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )


def test_every_command_of_the_page_is_tried():
    assert set(COMMANDS) == STATUS.keys() | ELSEWHERE.keys()
    assert set(FILES) == {
        "saxpy.cu",
        "saxpy.toml",
        "window.cu",
        "include/scale.h",
        "window.toml",
        "library.py",
        "accepted.toml",
    }


@pytest.mark.parametrize("command", STATUS)
def test_a_command_ends_as_the_page_says(command, folder):
    plain, _, target = command.partition(" > ")
    done = run(shlex.split(plain)[1:], folder)
    if target:
        (folder / target).write_text(done.stdout)
    assert done.returncode == STATUS[command], done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_what_the_commands_leave_is_what_the_page_says(folder):
    import numpy as np

    from simt.cli import main

    here = os.getcwd()
    os.chdir(folder)
    try:
        main(["run", "window.cu", "--launch", "window.toml", "--out", "results"])
        main(["run", "saxpy.cu", "--launch", "saxpy.toml", "--trace", "3:7", "--trace-out", "warp.json"])
    finally:
        os.chdir(here)
    x = np.arange(64)
    assert np.array_equal(np.load(folder / "results" / "y.npy"), 0.5 * (x + 3 * ((x + 1) % 64)) + 1)
    (plain,) = json.loads((folder / "warp.json").read_text())["traces"]
    trace = WarpTrace.from_json(plain)
    assert (trace.block, trace.warp) == ((3, 0, 0), 7)
    assert trace.variables(len(trace.steps) - 1)["i"] == tuple(range(992, 1024))


def test_the_guard_that_the_page_names_makes_it_clean(folder):
    guarded = FILES["saxpy.cu"].replace("    y[i] =", "    if (i < n) y[i] =")
    (folder / "guarded.cu").write_text(guarded)
    assert run(["-m", "simt", "run", "guarded.cu", "--launch", "saxpy.toml"], folder).returncode == 0


def test_the_library_example_runs(folder):
    done = run(["library.py"], folder)
    assert (done.returncode, done.stdout) == (0, "(992, 993, 994)\n"), done.stderr


def test_an_unused_entry_is_said(folder):
    done = run(["-m", "simt", "run", "saxpy.cu", "--launch", "saxpy.toml", "--suppress", "accepted.toml"], folder)
    assert "[SU002]" in done.stdout and done.stdout.count("suppressed[") == 3


def test_tables_name_every_key_option_and_status():
    for name in (*FILE_KEYS, *ARGUMENT_KEYS, *MAP_KEYS):
        assert re.search(rf"`\[*{name}\]*`", PAGE), name
    for name in (
        "zeros",
        "ones",
        "iota",
        "poison",
        "normal:SEED",
        "uniform:SEED",
        "randint:SEED:LOW:HIGH",
        "file:PATH.npy",
    ):
        assert name in INITS and f"`{name}`" in PAGE
    assert len(INITS) == 8 and {"bool", "int8", "uint64", "float16", "float32", "float64"} <= set(DTYPES)
    for status in {*EXIT.values(), 5}:
        assert f"| {status} |" in PAGE
    options = {text for row in _run_actions() for text in row.option_strings if text.startswith("--")} - {
        "--help",
        "--launch",
    }
    assert not [option for option in options if option not in PAGE]


def _run_actions():
    """The arguments of `run`."""
    (commands,) = [action for action in _parser()._actions if action.choices]
    return commands.choices["run"]._actions
