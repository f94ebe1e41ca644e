"""Charts: values in, a valid Vega-Lite specification out, readable on light and dark."""

import json

import numpy as np
import pytest

from grader import charts
from grader.charts.access_map import sectors_of
from grader.charts.error_map import classify
from grader.model import Basis, Timing
from simt.counters import Counters
from simt.events import Access, MemoryRequest, Scope
from simt.warp_trace import Step, WarpTrace


def request(addresses, size=4, active=None, warp=0):
    mask = np.ones(32, bool) if active is None else np.asarray(active, bool)
    return MemoryRequest(
        Scope.GLOBAL, Access.LOAD, 4, (0, 0, 0), warp, size, np.asarray(addresses, np.uint64), mask, "x"
    )


def step(line, active, **more):
    return Step(line, 10 + (line or 0), "mov.u32", active, **more)


_ALL, _SOME = 0xFFFFFFFF, 0xF
_VALUES = {"%r1": tuple(range(32))}
TRACE = WarpTrace(
    "k", (1, 0, 0), 2,
    (step(1, _ALL), step(1, _ALL, written=_VALUES, variable="i"), step(None, _ALL), step(2, _ALL), step(3, _SOME)),
)  # fmt: skip


def made(name, dark=None):
    lanes = np.arange(32, dtype=np.uint64)
    got, want = np.arange(24.0).reshape(4, 6), np.arange(24.0).reshape(4, 6)
    got[1, 2], got[2, 2], got[3, 3] = 99, -1, np.nan
    timing = Timing(2.4, 2.3, 2.5, 100_000.0, 41_000.0, Basis.MEASURED, "H200")
    arguments = {
        "access_map": ([request(4 * lanes), request(128 * lanes, warp=1), request(4 * lanes, active=lanes < 3)],),
        "counters_by_line": ("void f() {\n  y[i] = x[i];\n}", {2: Counters(global_load_sectors=40)}),
        "error_map": (got, want),
        "heat_map": (np.arange(12).reshape(3, 4), "loads"),
        "speedup": ([("tiled", timing)],),
        "thread_map": (np.array([0, 1, 2, 3, 4, -1, 6]), 4),
        "warp_steps": (TRACE, "int i = 3;\nif (i < 2)\n  i = 1;"),
    }
    return getattr(charts, name)(*arguments[name], dark=dark)


SAYS = {
    "access_map": "2. load line 4, block (0,0,0) warp 1: 32 sectors",
    "counters_by_line": "Global load sectors by line: line 2 40",
    "error_map": "of 24 elements 21 right, 1 too large, 1 too small, 1 not a number",
    "heat_map": "Loads: 3 × 4 elements, 0 to 11 loads each, 5.5 on average",
    "speedup": "tiled 2.40x measured",
    "thread_map": "6 elements written by blocks 0, 1; 1 by nobody",
    "warp_steps": "line 2 by 32 lanes; line 3 by 4 lanes",
}
NAMES = [chart.__name__ for chart in charts.CHARTS]


@pytest.mark.parametrize("name", NAMES)
def test_chart_says_in_words_what_it_shows(name):
    assert SAYS[name] in made(name).to_dict()["description"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dark", [None, False, True])
def test_chart_is_a_valid_specification_without_data_from_elsewhere(name, dark):
    specification = made(name, dark).to_dict()  # validates against Vega-Lite's schema
    assert "url" not in json.dumps(specification.get("data", {}))
    assert specification["config"]["background"] == "transparent"


@pytest.mark.parametrize("name", NAMES)
def test_text_takes_the_colour_of_the_page_unless_one_is_fixed(name):
    axis = {dark: made(name, dark).to_dict()["config"]["axis"].get("labelColor") for dark in (None, False, True)}
    assert axis[None] is None
    assert axis[False] != axis[True]


def records_of(chart):
    """The records of a chart and of its layers; they have to be texts."""
    specification = chart.to_dict()
    parts = [specification, *specification["layer"]]
    return [json.loads(part["data"]["values"]) for part in parts if "data" in part]


@pytest.mark.parametrize("name", NAMES)
def test_records_are_one_text_that_the_schema_does_not_walk_through(name):
    found = records_of(made(name))
    assert found and all(found)


def test_amount_that_is_no_number_is_null_in_json():
    assert records_of(charts.heat_map(np.array([1.0, np.nan]), "loads"))[0] == [
        {"row": 0, "column": 0, "loads": 1.0},
        {"row": 0, "column": 1, "loads": None},
    ]


def test_unit_stride_floats_touch_four_sectors():
    assert len(sectors_of(request(4 * np.arange(32)))) == 4


def test_offset_by_one_float_touches_five_sectors():
    assert len(sectors_of(request(4 * np.arange(32) + 4))) == 5


def test_inactive_lane_touches_nothing():
    touched = sectors_of(request(128 * np.arange(32), active=np.arange(32) == 7))
    assert touched == {7 * 4: {7: 4}}


def test_lane_across_two_sectors_counts_in_both():
    assert sectors_of(request(np.full(32, 24), size=16, active=np.arange(32) == 0)) == {0: {0: 8}, 1: {0: 8}}


def test_every_kind_of_wrong_element_has_its_name():
    got = np.array([1.0, 2.5, 0.0, np.nan, np.inf, np.nan])
    want = np.array([1.0, 2.0, 1.0, 1.0, np.inf, np.nan])
    kinds = classify(got, want, 1e-6, 0.0, np.array([True] * 6))
    assert list(kinds) == ["right", "too large", "too small", "not a number", "right", "right"]


def test_unwritten_element_is_named_whatever_it_holds():
    assert list(classify(np.zeros(2), np.zeros(2), 0, 0, np.array([True, False]))) == ["right", "not written"]


def test_large_matrix_is_cut_and_says_so():
    chart = charts.error_map(np.zeros((100, 200)), np.ones((100, 200))).to_dict()
    assert "64 × 64 shown" in chart["title"]["subtitle"]


def test_error_map_refuses_arrays_of_two_shapes():
    with pytest.raises(ValueError, match="one shape"):
        charts.error_map(np.zeros((2, 3)), np.zeros((3, 2)))


def test_steps_of_one_line_are_one_row_of_lanes():
    (cells,) = records_of(charts.warp_steps(TRACE, "int i = 3;"))
    assert list(dict.fromkeys(cell["row"] for cell in cells)) == ["1. line 1: int i = 3;", "2. line 2", "3. line 3"]
    last = cells[-32:]
    assert [cell["state"] for cell in last] == ["runs"] * 4 + ["waits"] * 28
    assert [cell["values"] for cell in last[:3]] == ["i = 0", "i = 1", "i = 2"]


def test_a_long_trace_is_cut_and_says_so():
    steps = tuple(step(1 + index % 2, _ALL) for index in range(100))
    chart = charts.warp_steps(WarpTrace("k", (0, 0, 0), 0, steps)).to_dict()
    assert "first 60 of 100 rows" in chart["title"]["subtitle"]
