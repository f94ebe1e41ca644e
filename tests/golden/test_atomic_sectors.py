"""Sectors of a single global atomic against Nsight Compute on an H200, for 1,300 warps."""

from pathlib import Path

import numpy as np

from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.program import Program
from tests.golden.record_atomics import KERNELS, SHIFTS, patterns

RECORDED = np.load(Path(__file__).parent / "h200" / "atomic_sectors.npz")
MOST_MORE = 4  # sectors that the hardware counts beyond ours where a request has more than 4 lines
LINE_WORDS = 32


def ours(rows):
    """Sectors of each row's request."""
    program = Program.from_cuda(KERNELS, kernel="scatter", arch="sm_90")
    memory = np.zeros(int(rows.max()) + 1, np.uint32)
    counts = []
    for row in rows:
        arguments = [Argument("at", Direction.IN, row), Argument("h", Direction.INOUT, memory)]
        result = program.launch(LaunchConfig(Dim3(1), Dim3(32)), arguments, checks=frozenset())
        counts.append(result.counters.atomic_global_sectors)
    return np.array(counts)


def test_recording_is_of_these_patterns():
    assert (RECORDED["patterns"] == patterns()).all() and RECORDED["shifted"].size == SHIFTS
    assert "H200" in str(RECORDED["made_on"])


def test_equal_up_to_four_lines_and_close_above():
    rows, counted = RECORDED["patterns"], RECORDED["sectors"]
    lines = np.array([np.unique(row // LINE_WORDS).size for row in rows])
    more = counted - ours(rows)
    assert (lines <= 4).sum() >= 700 and (more[lines <= 4] == 0).all()
    assert ((0 <= more) & (more <= MOST_MORE)).all()


def test_hardware_counts_by_address_where_a_request_has_many_lines():
    """The same kernel on the same data: what gaps.toml says of `hist_global uniform`."""
    assert np.unique(RECORDED["shifted"]).size > 10
