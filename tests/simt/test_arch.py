"""Architectures and products: lookup, and numbers that must agree with each other and with the vendor's headers."""

import re

import pytest

from simt.arch import ARCHES, UnknownArch, arch
from simt.gpus import GPUS, UnknownGpu, gpu
from simt.nvrtc_toolkit import find_toolkit


@pytest.mark.parametrize("name", ["sm_90", "compute_90", "sm_90a", "compute_90a"])
def test_every_spelling_finds_the_row(name):
    assert arch(name).name == "sm_90"


@pytest.mark.parametrize("name", ["sm_91", "90", "sm_90x", "SM_90", "sm_", ""])
def test_unknown_architecture_lists_the_known(name):
    with pytest.raises(UnknownArch, match=re.escape(f"{name!r}") + ".*sm_75.*sm_120"):
        arch(name)


def test_rows_are_in_order_and_named_once():
    capabilities = [row.capability for row in ARCHES]
    assert capabilities == sorted(set(capabilities))


# What a row says must be what NVIDIA's own header says; (field, member of arch_traits_t).
TRAITS = (
    ("max_threads_per_sm", "max_threads_per_multiprocessor"),
    ("max_blocks_per_sm", "max_blocks_per_multiprocessor"),
    ("shared_bytes_per_sm", "max_shared_memory_per_multiprocessor"),
    ("max_shared_bytes_per_block", "max_shared_memory_per_block_optin"),
    ("reserved_shared_bytes_per_block", "reserved_shared_memory_per_block"),
    ("default_shared_bytes_per_block", "max_shared_memory_per_block"),
    ("registers_per_sm", "max_registers_per_multiprocessor"),
    ("registers_per_block", "max_registers_per_block"),
    ("max_registers_per_thread", "max_registers_per_thread"),
    ("max_threads_per_block", "max_threads_per_block"),
    ("constant_bytes", "total_constant_memory"),
    ("warp_size", "warp_size"),
)


def test_limits_are_those_of_the_vendors_header():
    """Compiles a kernel whose constants are `arch_traits`, and reads them back from its PTX."""
    from simt.nvrtc import compile_cuda

    values = ", ".join(
        f"(unsigned long long)cuda::arch_traits_for(cuda::compute_capability{{{row.name[3:]}}}).{member}"
        for row in ARCHES
        for _, member in TRAITS
    )
    source = f"""#include <cuda/__device/arch_traits.h>
extern "C" {{ __device__ constexpr unsigned long long limits[] = {{{values}}}; }}
extern "C" __global__ void k(unsigned long long* y, int i) {{ y[i] = limits[i]; }}
"""
    build = compile_cuda(source, want_cubin=False)
    assert build.ok, build.log
    data = re.search(r"limits\[\d+\]\s*=\s*\{([^}]*)\}", build.ptx)
    found = [int(number) for number in data[1].split(",")]
    found = found if len(found) == len(ARCHES) * len(TRAITS) else words(found)
    assert found == [getattr(row, field) for row in ARCHES for field, _ in TRAITS]


def words(octets):
    """64-bit values of the byte list in which PTX may write an initialiser."""
    return [int.from_bytes(bytes(octets[at : at + 8]), "little") for at in range(0, len(octets), 8)]


def test_carveouts_are_those_of_the_occupancy_header():
    header = next(path for folder in find_toolkit().include_dirs for path in folder.glob("cuda_occupancy.h"))
    known = {int(kib) * 1024 for kib in re.findall(r"shMemSize = (\d+) \* 1024", header.read_text())}
    for row in ARCHES:
        assert set(row.shared_carveouts) - {0} <= known
        assert max(row.shared_carveouts) == row.shared_bytes_per_sm


@pytest.mark.parametrize("name", ["h200", "H200", "NVIDIA H200 SXM"])
def test_product_is_found_by_id_or_name(name):
    assert gpu(name).id == "h200"


def test_unknown_product_lists_the_known():
    with pytest.raises(UnknownGpu, match="'h300'.*t4.*b200"):
        gpu("h300")


# Peak TFLOP/s of 32-bit floats on the data sheets.
@pytest.mark.parametrize(
    ("name", "tflops"),
    [("t4", 8.1), ("a100-40", 19.5), ("a100-80", 19.5), ("rtx3090", 35.6), ("rtx4090", 82.6), ("h100", 66.9)]
    + [("h200", 67), ("b200", 75)],
)
def test_float_rate_is_the_data_sheets(name, tflops):
    assert gpu(name).fp32_flops / 1e12 == pytest.approx(tflops, rel=0.01)


def test_l2_is_faster_than_memory():
    assert all(row.l2_bandwidth is None or row.l2_bandwidth > row.memory_bandwidth for row in GPUS)


def test_every_product_names_its_source():
    assert all(row.source for row in GPUS)
