"""Launch shapes and what an architecture refuses, with the numbers that each message must hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simt.arch import ARCHES, arch
from simt.launch import Dim3, LaunchConfig, check_launch
from simt.occupancy import occupancy


def launch(grid=1, block=32, **fields):
    if "cluster" in fields:
        fields["cluster"] = Dim3.of(fields["cluster"])
    return LaunchConfig(Dim3.of(grid), Dim3.of(block), **fields)


def findings(config, name="sm_80", **fields):
    return check_launch(config, arch(name), **fields)


def only(config, name="sm_80", **fields):
    (finding,) = findings(config, name, **fields)
    return finding


def test_dim3_takes_an_int_or_one_to_three_parts():
    assert Dim3.of(4) == Dim3.of([4]) == Dim3(4, 1, 1)
    assert Dim3.of((4, 5, 6)).volume == 120
    assert tuple(Dim3.of([4, 5])) == (4, 5, 1)
    assert Dim3.of(Dim3(2)) == Dim3(2)


@pytest.mark.parametrize("size", [True, 2.0, "4", [1, True], [2.0]])
def test_dim3_takes_nothing_but_ints(size):
    with pytest.raises(TypeError):
        Dim3.of(size)


@pytest.mark.parametrize("size", [[], [1, 2, 3, 4]])
def test_dim3_has_one_to_three_parts(size):
    with pytest.raises(ValueError, match="one to three"):
        Dim3.of(size)


def test_ordinary_launch_is_accepted():
    assert findings(launch(grid=(4096, 8), block=(32, 32), shared_bytes=48 * 1024), registers=64) == ()


def test_too_many_threads_names_product_and_limit():
    finding = only(launch(block=(33, 33)))
    assert finding.check == "launch.threads-per-block"
    assert "33*33*1 = 1089" in finding.message and "1024" in finding.message


@pytest.mark.parametrize("block", [(1024,), (32, 32), (1, 1024), (16, 1, 64)])
def test_a_full_block_is_accepted(block):
    assert findings(launch(block=block)) == ()


def test_block_is_at_most_64_deep():
    finding = only(launch(block=(1, 1, 65)))
    assert finding.check == "launch.block-limit"
    assert "block.z is 65" in finding.message and "64" in finding.message


@pytest.mark.parametrize("block", [0, (32, 0), (4, 4, -1)])
def test_block_without_threads(block):
    assert only(launch(block=block)).check == "launch.block-limit"


def test_grid_without_blocks_explains_rounding_down():
    finding = only(launch(grid=0))
    assert finding.check == "launch.grid-limit"
    assert "ceil_div" in finding.help


@pytest.mark.parametrize("grid", [(2**31, 1), (1, 65536), (1, 1, 65536)])
def test_grid_beyond_the_limit(grid):
    assert only(launch(grid=grid)).check == "launch.grid-limit"


def test_grid_at_the_limit_is_accepted():
    assert findings(launch(grid=(2**31 - 1, 65535, 65535))) == ()


def test_dynamic_shared_memory_over_the_default_names_the_attribute():
    finding = only(launch(shared_bytes=65536))
    assert finding.check == "launch.shared-limit"
    for word in ("65536", "49152", "max_dynamic_shared_size_bytes"):
        assert word in finding.message


def test_opting_in_allows_more():
    assert findings(launch(shared_bytes=65536, max_dynamic_shared=65536)) == ()


def test_launch_over_its_own_opt_in():
    finding = only(launch(shared_bytes=65536, max_dynamic_shared=60000))
    assert "65536" in finding.message and "60000" in finding.message


def test_static_shared_memory_counts_towards_the_default():
    config = launch(shared_bytes=40 * 1024)
    assert findings(config) == ()
    assert "49153" in only(config, static_shared_bytes=8 * 1024 + 1).message


@pytest.mark.parametrize("row", ARCHES, ids=lambda row: row.name)
def test_a_block_gets_no_more_than_the_opt_in_limit(row):
    most = row.max_shared_bytes_per_block
    assert check_launch(launch(shared_bytes=most, max_dynamic_shared=most), row) == ()
    (finding,) = check_launch(launch(shared_bytes=most + 1, max_dynamic_shared=most + 1), row)
    assert finding.check == "launch.shared-limit" and str(most) in finding.message


def test_negative_shared_bytes():
    assert only(launch(shared_bytes=-1)).check == "launch.shared-limit"


def test_registers_of_a_block_beyond_the_file():
    finding = only(launch(block=1024), registers=65)
    assert finding.check == "launch.registers"
    assert "65" in finding.message and "65536" in finding.message
    assert "896" in finding.help and "__launch_bounds__(1024)" in finding.help
    assert findings(launch(block=896), registers=65) == ()


def test_clusters_need_hopper():
    assert only(launch(grid=8, cluster=2)).check == "launch.cluster"
    assert findings(launch(grid=8, cluster=2), "sm_90") == ()


def test_cluster_is_at_most_eight_blocks():
    assert "8" in only(launch(grid=16, cluster=16), "sm_90").message


def test_grid_is_a_multiple_of_the_cluster():
    finding = only(launch(grid=9, cluster=2), "sm_90")
    assert "9" in finding.message and "10" in finding.help


def test_cluster_of_no_blocks():
    assert only(launch(grid=4, cluster=(2, 0)), "sm_90").check == "launch.cluster"


@given(
    row=st.sampled_from(ARCHES),
    threads=st.integers(1, 1100),
    registers=st.integers(1, 255),
    shared_bytes=st.integers(0, 48 * 1024),
)
def test_a_launch_is_accepted_exactly_when_a_block_can_be_resident(row, threads, registers, shared_bytes):
    accepted = not check_launch(launch(block=threads, shared_bytes=shared_bytes), row, registers=registers)
    assert accepted == (occupancy(row, registers=registers, shared_bytes=shared_bytes, threads=threads).blocks > 0)
