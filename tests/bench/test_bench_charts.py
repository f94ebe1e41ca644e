"""A chart from values to what the page gets: what each move of a slider costs besides the kernel's run.

Run by hand: `pytest tests/bench/test_bench_charts.py --benchmark-only`. The figures depend on the machine, so nothing
here asserts a time.
"""

from __future__ import annotations

import numpy as np
import pytest

from grader import charts

PICTURES = {
    "thread_map of 100": lambda: charts.thread_map(np.arange(100), 32),
    "thread_map of 1024": lambda: charts.thread_map(np.arange(1024), 32),
    "heat_map of 64 x 64": lambda: charts.heat_map(np.arange(4096).reshape(64, 64), "loads"),
    "error_map of 64 x 64": lambda: charts.error_map(np.zeros((64, 64)), np.ones((64, 64))),
}


@pytest.mark.parametrize("picture", PICTURES.values(), ids=PICTURES)
def test_chart_to_specification(benchmark, picture):
    specification = benchmark.pedantic(lambda: picture().to_dict(), warmup_rounds=1, rounds=5)
    assert specification["layer"]
