"""Every launch of basic.cu and gemm.cu against Nsight Compute on an H200, and its results against NumPy in float64.

Requests and sectors, those of atomics too, are equal; Nsight's wavefronts lie between ours and 1.04 times ours, since the
hardware counts waiting for other warps too. Occupancy from the rows' registers and shared bytes is compared in
tests/simt/test_occupancy.py. Exceptions stand in gaps.toml, each with what is known of it.
"""

import functools
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from simt.counters import NCU
from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.launch_values import ArraySpec
from simt.program import Program
from tests.golden.ncu_references import expected

HERE = Path(__file__).parent
RECORDED = HERE / "ncu" / "sm_90"
ROWS = json.loads((RECORDED / "truth.json").read_text())
GAPS = tomllib.loads((HERE / "gaps.toml").read_text())["gap"]
EQUAL = (
    "global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
    "shared_load_requests", "shared_store_requests", "atomic_global_requests", "atomic_global_sectors",
)  # fmt: skip
NEARLY_EQUAL = ("shared_load_wavefronts", "shared_store_wavefronts")
MOST_WAVEFRONTS = 1.04
MOST_GAPS = 10
TOLERANCE = 4e-6  # of the size of what was added up; sums run over 256 to 1,048,576 float32 terms, in parts


def gap_of(row):
    return next((gap for gap in GAPS if row["label"].startswith(gap["label"])), None)


def arguments_of(row):
    found = []
    for index, given in enumerate(row["args"]):
        if given["kind"] == "scalar":
            found.append(Argument(f"a{index}", Direction.SCALAR, np.dtype(given["dtype"]).type(given["value"])))
            continue
        dtype, shape, init = np.dtype(given["dtype"]), tuple(given["shape"]), given["init"]
        fill = int(init.removeprefix("full:")) if init.startswith("full:") else None
        array = ArraySpec(dtype, shape, "" if fill is not None else init, fill).array()
        found.append(Argument(f"a{index}", Direction.OUT if init == "poison" else Direction.INOUT, array))
    return found


def file_of(row):
    """Four rows name basic.cu although their kernels, which a macro makes, are in gemm.cu."""
    return "gemm.cu" if row["kernel"].startswith("stream_") else row["file"]


@functools.cache
def program(kernel, file):
    return Program.from_cuda((RECORDED / file).read_text(), kernel=kernel, arch="sm_90", file_name=file)


@functools.cache
def launched(label):
    """(arguments, result) of one row; nothing is checked, so that only counting takes time."""
    row = next(row for row in ROWS if row["label"] == label)
    arguments = arguments_of(row)
    config = LaunchConfig(Dim3.of(row["grid"]), Dim3.of(row["block"]))
    return arguments, program(row["kernel"], file_of(row)).launch(config, arguments, checks=frozenset())


@pytest.fixture(scope="module", autouse=True)
def forget_launches():
    yield
    launched.cache_clear()


every_launch = pytest.mark.parametrize("row", ROWS, ids=lambda row: row["label"])


@every_launch
def test_counters_are_nsights(row):
    counters, metrics = launched(row["label"])[1].counters, row["metrics"]
    ours = {name: getattr(counters, name) for name in (*EQUAL, *NEARLY_EQUAL)}
    ncu = {name: metrics[NCU[name]] for name in ours}
    gap = gap_of(row)
    if gap:
        assert {name: ours.pop(name) for name in gap["ours"]} == gap["ours"]
        assert {name: ncu[name] for name in gap["ncu"]} == gap["ncu"]
    differing = {n: (ours[n], ncu[n]) for n in ours if n in EQUAL and ours[n] != ncu[n]}
    differing |= {
        n: (ours[n], ncu[n]) for n in ours if n in NEARLY_EQUAL and not ours[n] <= ncu[n] <= MOST_WAVEFRONTS * ours[n]
    }
    assert not differing


@every_launch
def test_results_are_right(row):
    arguments, result = launched(row["label"])
    arrays = [a.value for a in arguments if a.direction is not Direction.SCALAR]
    scalars = [int(a.value) for a in arguments if a.direction is Direction.SCALAR]
    for index, (wanted, scale) in expected(row["kernel"], arrays, scalars).items():
        got = result.outputs[f"a{index}"].reshape(-1).astype(np.float64)
        assert (np.isnan(got) == np.isnan(wanted)).all(), "written where it should not, or not where it should"
        error = np.abs(got - wanted)[~np.isnan(wanted)]
        assert (error <= TOLERANCE * scale[~np.isnan(wanted)]).all()


def test_exceptions_are_few_and_each_is_used():
    used = [row["label"] for row in ROWS if gap_of(row)]
    assert len(used) <= MOST_GAPS
    assert {gap["label"] for gap in GAPS} == {gap_of(row)["label"] for row in ROWS if gap_of(row)}
