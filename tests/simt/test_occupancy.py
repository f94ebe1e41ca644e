"""Occupancy against Nsight Compute's numbers, the vendor's rules, and properties that any answer has."""

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt.arch import ARCHES, arch
from simt.occupancy import Limit, occupancy

TRUTH = json.loads((Path(__file__).parents[1] / "golden" / "ncu" / "sm_90" / "truth.json").read_text())


def resident(row, carveout_bytes=None):
    return occupancy(
        arch("sm_90"),
        registers=row["regs"],
        shared_bytes=row["smem"],
        threads=math.prod(row["block"]),
        carveout_bytes=carveout_bytes,
    )


@pytest.mark.parametrize("row", TRUTH, ids=lambda row: row["label"])
def test_blocks_warps_and_registers_limit_as_nsight_says(row):
    limits, metrics = resident(row).limits, row["metrics"]
    assert limits[Limit.BLOCKS] == metrics["launch__occupancy_limit_blocks"]
    assert limits[Limit.WARPS] == metrics["launch__occupancy_limit_warps"]
    assert limits[Limit.REGISTERS] == metrics["launch__occupancy_limit_registers"]


@pytest.mark.parametrize("row", TRUTH, ids=lambda row: row["label"])
def test_occupancy_is_nsights(row):
    assert 100 * resident(row).fraction == row["metrics"]["sm__maximum_warps_per_active_cycle_pct"]


@pytest.mark.parametrize("row", TRUTH, ids=lambda row: row["label"])
def test_shared_memory_limits_as_nsight_says_under_one_of_the_documented_carveouts(row):
    """Nsight counts under the carveout that the driver chose for the launch; the metrics do not name it."""
    wanted = row["metrics"]["launch__occupancy_limit_shared_mem"]
    under = {size: resident(row, size) for size in arch("sm_90").shared_carveouts}
    matching = [found for found in under.values() if found.limits[Limit.SHARED] == wanted]
    assert matching
    assert {found.fraction for found in matching} == {resident(row).fraction}
    assert resident(row).limits[Limit.SHARED] >= wanted


@pytest.mark.parametrize("row", TRUTH, ids=lambda row: row["label"])
def test_allocated_registers_are_the_compilers_rounded_up_to_eight(row):
    reported = row["metrics"]["launch__registers_per_thread"]
    assert resident(row).allocated_registers == max(16, -(-reported // 8) * 8)


@pytest.mark.parametrize(
    ("name", "registers", "fraction"),
    [("sm_75", 64, 1), ("sm_80", 64, 1 / 2), ("sm_86", 64, 2 / 3), ("sm_90", 64, 1 / 2)]
    + [("sm_75", 65, 3 / 4), ("sm_80", 65, 3 / 8), ("sm_86", 65, 1 / 2), ("sm_90", 65, 3 / 8)]
    + [("sm_80", 128, 1 / 4)],
)
def test_a_block_of_256_threads(name, registers, fraction):
    assert occupancy(arch(name), registers=registers, shared_bytes=0, threads=256).fraction == fraction


def test_the_limit_that_decides_is_named():
    full = occupancy(arch("sm_90"), registers=32, shared_bytes=0, threads=1024)
    assert full.limited_by == (Limit.WARPS, Limit.REGISTERS)
    shared = occupancy(arch("sm_90"), registers=32, shared_bytes=100 * 1024, threads=128)
    assert (shared.blocks, shared.limited_by) == (2, (Limit.SHARED,))


def test_a_kernel_that_cannot_start_has_no_resident_block():
    row = arch("sm_80")
    assert occupancy(row, registers=32, shared_bytes=0, threads=1025).blocks == 0
    assert occupancy(row, registers=256, shared_bytes=0, threads=32).blocks == 0
    assert occupancy(row, registers=128, shared_bytes=0, threads=1024).blocks == 0
    assert occupancy(row, registers=32, shared_bytes=row.max_shared_bytes_per_block + 1, threads=32).blocks == 0


@given(
    row=st.sampled_from(ARCHES),
    registers=st.integers(1, 255),
    shared_bytes=st.integers(0, 227 * 1024),
    threads=st.integers(1, 1024),
)
def test_what_is_resident_fits_and_one_block_more_does_not(row, registers, shared_bytes, threads):
    found = occupancy(row, registers=registers, shared_bytes=shared_bytes, threads=threads)
    warps = -(-threads // 32)
    assert found.blocks == min(found.limits.values())
    assert found.warps == found.blocks * warps <= row.max_warps_per_sm
    assert found.blocks * found.allocated_shared_bytes <= row.shared_bytes_per_sm
    assert found.warps * found.allocated_registers * 32 <= row.registers_per_sm
    assert found.limited_by


@given(row=st.sampled_from(ARCHES), registers=st.integers(1, 254), threads=st.integers(1, 1024))
def test_a_register_more_never_raises_occupancy(row, registers, threads):
    less = occupancy(row, registers=registers, shared_bytes=0, threads=threads)
    more = occupancy(row, registers=registers + 1, shared_bytes=0, threads=threads)
    assert more.blocks <= less.blocks
