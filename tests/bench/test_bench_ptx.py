"""How fast PTX is read: characters per second are in the extra information of each row."""

from pathlib import Path

import pytest

from simt.ptx.cfg import build
from simt.ptx.liveness import liveness
from simt.ptx.parser import parse

DATA = Path(__file__).parents[1] / "simt" / "ptx" / "data"


@pytest.mark.parametrize("name", ["barrier", "misc", "warp", "wmma"])
def test_parse(benchmark, name):
    text = (DATA / f"{name}.ptx").read_text()
    benchmark(parse, text)
    if benchmark.stats is not None:
        benchmark.extra_info["MB_per_s"] = round(len(text) / benchmark.stats["min"] / 1e6, 2)


def test_parse_only_what_a_kernel_reaches(benchmark):
    text = (DATA / "barrier.ptx").read_text()
    assert benchmark(parse, text, ["k"]).functions["k"].body


@pytest.mark.parametrize("name", ["misc", "warp"])
def test_control_flow_and_liveness(benchmark, name):
    function = parse((DATA / f"{name}.ptx").read_text()).functions["k"]
    assert benchmark(lambda: liveness(build(function))).live_in
