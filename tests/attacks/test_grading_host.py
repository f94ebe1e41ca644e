"""Many submissions through one grading host: each gets its record, and nothing is left of those that misbehave."""

import json
import subprocess
import sys

import pytest

from grader.commands import checking
from grader.worker.host import WorkerDevice
from tests.attacks.table import HERE

MOST_GROWTH = 0.05

LESSON = '''import marimo

app = marimo.App()

@app.cell
def _():
    # exercise: selftest.map
    map_src = r"""{}"""
    map_launch = {{"grid": "ceil_div(n, 256)", "block": 256}}
    return
'''
KERNEL = """extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}
"""


def check_host(count):
    command = [sys.executable, "-m", "tests.attacks.grading_host", str(count)]
    done = subprocess.run(command, cwd=HERE.parents[1], stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["wrong"] == []
    assert found["left"] == {"files": [], "processes": [], "threads": [], "descriptors": []}
    assert found["growth"] <= MOST_GROWTH, found["resident_kib"]


def test_a_host_is_as_it_was_after_twenty_submissions():
    check_host(20)


@pytest.mark.full
@pytest.mark.timeout(3600)
def test_a_host_is_as_it_was_after_five_hundred_submissions():
    check_host(500)


@pytest.fixture
def processes(monkeypatch):
    """Worker processes that were started, by the device object that asked."""
    started = []
    start = WorkerDevice._start

    def recorded(self):
        start(self)
        started.append(self._child._process.pid)

    monkeypatch.setattr(WorkerDevice, "_start", recorded)
    return started


def test_files_that_are_checked_together_share_no_process(tmp_path, processes, monkeypatch, capsys):
    from grader.cli import main

    monkeypatch.setattr("simt.nvrtc._WARM.compile", lambda *_: pytest.fail("compiled in the process that all share"))
    for name in ("ann.py", "bob.py"):
        (tmp_path / name).write_text(LESSON.format(KERNEL + f"// {tmp_path / name}"))
    status = main(["check", str(tmp_path), "--exercise", "selftest.map", "--json"])
    records = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert status == 0 and [record["verdict"] for record in records] == ["pass", "pass"]
    assert len(set(processes)) == 2


def test_a_fresh_device_is_no_warm_one():
    with checking.opened_device(None, fresh=True) as fresh, checking.opened_device(None) as warm:
        assert fresh is not warm
