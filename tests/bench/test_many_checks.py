"""Twenty checks at once on this machine: how long the slowest takes, from warm notebooks and from cold processes.

`pytest tests/bench` holds the seconds. The suite, whose machine has other work, holds the verdicts of a few at once: twenty
more processes beside those of its own tests would meet limits that are there for kernels without an end.
"""

from __future__ import annotations

import math
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.processes import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
CHECKS, CHECKS_UNTIMED = 20, 5
MOST_SECONDS = 10

KERNEL = """extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}
"""

# A notebook: its worker is warm; it waits for the word, checks once, and says how long that took.
NOTEBOOK = f"""
import sys, time
sys.path.insert(0, {str(ROOT)!r})
from grader.answers import submit
from grader.exercises import exercise
from grader.pipeline import check_submission
row = exercise("selftest.map")
text = '''extern "C" __global__ void solve(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;  // SALT
}}'''
check_submission(submit(row, text))
print("ready", flush=True)
sys.stdin.readline()
start = time.perf_counter()
report = check_submission(submit(row, text.replace("SALT", sys.argv[1])))
print(report.verdict, time.perf_counter() - start, flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def is_timed(request):
    return not request.config.getoption("benchmark_disable")


@pytest.fixture
def checks(is_timed):
    """How many at once."""
    return CHECKS if is_timed else CHECKS_UNTIMED


@pytest.fixture
def most_seconds(is_timed):
    """The limit where times are looked at."""
    return MOST_SECONDS if is_timed else math.inf


def test_twenty_checks_at_once_keep_the_slowest_below_ten_seconds(checks, most_seconds):
    notebooks = [
        subprocess.Popen(
            [sys.executable, "-c", NOTEBOOK, f"{time.time_ns()}-{number}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )
        for number in range(checks)
    ]  # fmt: skip
    try:
        assert all(notebook.stdout.readline() == "ready\n" for notebook in notebooks)
        for notebook in notebooks:
            notebook.stdin.write("go\n")
            notebook.stdin.flush()
        answers = [notebook.stdout.readline().split() for notebook in notebooks]
    finally:
        for notebook in notebooks:
            notebook.communicate("end\n", timeout=PATIENCE_SECONDS)
    seconds = sorted(float(second) for _, second in answers)
    print(f"\nslowest {seconds[-1]:.2f} s, median {seconds[len(seconds) // 2]:.2f} s of {checks} checks at once")
    assert {verdict for verdict, _ in answers} == {"pass"}
    assert seconds[-1] < most_seconds


def test_twenty_cold_processes_at_once_keep_the_slowest_below_ten_seconds(tmp_path, checks, most_seconds):
    """Each is a whole command, from the start of Python to its exit; the text was compiled once before."""
    kernel = tmp_path / "kernel.cu"
    kernel.write_text(KERNEL)
    command = [sys.executable, "-m", "grader", "try", "selftest.map", str(kernel), "--json"]
    first = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert first.returncode == 0, first.stderr

    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    running = [
        subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(checks)
    ]
    statuses = {process.wait(timeout=PATIENCE_SECONDS) for process in running}
    slowest, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(
        f"\nslowest {slowest:.2f} s, {cpu_seconds / checks:.2f} s of processor each, of {checks} cold processes at once"
    )
    assert statuses == {0}
    assert slowest < most_seconds
