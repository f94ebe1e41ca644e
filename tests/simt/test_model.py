"""The parts of an estimate: traffic through caches, instruction mix, queues, lazily made arrays."""

import numpy as np
import pytest

from simt.events import Argument, Direction
from simt.gpus import GPUS, gpu
from simt.launch import Dim3, LaunchConfig
from simt.launch_values import ArraySpec
from simt.model.estimate import _cycle
from simt.model.mix import PIPES, _slots, block_mixes
from simt.model.rates import RATES
from simt.program import Program
from simt.ptx.syntax import Instruction
from simt.runner.estimating import FULL, estimate_launch
from simt.runner.lazy_memory import PATTERN_BYTES, lazy_array, repeated

H200, SMALL_L2 = gpu("h200"), gpu("t4")
N = 1 << 24  # 64 MB of floats, more than an L2


def estimated(body, n=N, device=H200, block=256, grid=None):
    text = f'extern "C" __global__ void k(const float* x, float* y, int n) {{\n{body}\n}}\n'
    program = Program.from_cuda(text, arch=device.arch.name)
    config = LaunchConfig(Dim3.of(grid or -(-n // block)), Dim3.of(block))
    arrays = [lazy_array(ArraySpec(np.dtype("float32"), (n,), init)) for init in ("normal:7", "poison")]
    arguments = [Argument("x", Direction.IN, arrays[0]), Argument("y", Direction.OUT, arrays[1]),
                 Argument("n", Direction.SCALAR, np.int32(n))]  # fmt: skip
    kernel = program._kernel(config)
    shared, registers = kernel.plan.static_shared_bytes, program.resources.registers
    return estimate_launch(kernel, config, shared, registers, arguments, (device,), FULL)[0].estimate


INDEX = "int i = blockIdx.x * blockDim.x + threadIdx.x;"


def test_copy_moves_every_byte_once():
    found = estimated(f"{INDEX} y[i] = x[i];")
    assert found.dram_bytes == 8 * N and found.l2_bytes == 8 * N


def test_dram_reads_pairs_of_sectors_and_partly_written_ones_first():
    every_16th = estimated(f"{INDEX} long long j = (16ll * i) & (n - 1); y[j] = x[j];")
    # A float each of 32 bytes written and read before, beside the 64 bytes that are loaded for it.
    assert every_16th.dram_bytes == pytest.approx(N * (64 + 32 + 32), rel=0.02)


def test_second_pass_over_a_row_hits_only_a_cache_that_keeps_it():
    body = (
        "int w = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32; float s = 0;\n"
        "volatile const float* row = x + w * 1024;\n"
        "for (int pass = 0; pass < 2; ++pass) for (int k = lane; k < 1024; k += 32) s += row[k];\n"
        "y[w * 32 + lane] = s;"
    )  # fmt: skip
    few = estimated(body, grid=N // 1024 // 8)
    assert few.dram_bytes == pytest.approx(4 * N * (1 + 1 / 32), rel=0.1)  # 1024 rows of 4 KiB at a time: 32 MB
    assert few.l2_bytes <= 2.2 * 4 * N


def test_blocks_that_read_the_same_share_it_in_l2():
    body = f"{INDEX} float s = 0; for (int k = 0; k < 2048; ++k) s += x[k * 32 + threadIdx.x % 32]; y[i] = s;"
    found = estimated(body, n=1 << 20)
    assert found.dram_bytes < 0.2 * found.l2_bytes


def test_what_fits_into_l2_comes_from_dram_once():
    again = f"{INDEX} int j = (8 * i) & (n - 1); y[j] = x[j];"  # every sector eight times, far apart in time
    small, large = estimated(again, n=1 << 20), estimated(again)
    assert small.dram_bytes <= 3 * 4 * (1 << 20) and small.l2_bytes == 64 * (1 << 20)
    assert large.dram_bytes >= 64 * N


def test_unused_lanes_cost_sectors_not_bytes():
    near, far = (estimated(f"{INDEX} y[i] = x[({s} * i) & (n - 1)];") for s in (1, 8))
    assert far.l2_bytes == pytest.approx(near.l2_bytes + 7 * 4 * N, rel=0.01)
    assert far.seconds > 2.5 * near.seconds


def test_few_blocks_leave_most_of_the_gpu_idle():
    loop = (
        "float s = 0; for (int k = 0; k < 4096; ++k) s = s * 0.5f + 1.0f; y[blockIdx.x * blockDim.x + threadIdx.x] = s;"
    )
    one, full, more = (estimated(loop, n=1 << 20, grid=n).bounds["fma"] for n in (1, H200.sm_count, H200.sm_count + 1))
    assert one == full and more == 2 * full


def test_atomics_on_one_word_are_served_one_after_another():
    found = estimated("atomicAdd(y, 1.0f);", n=1 << 20)
    assert found.bound == "atomics"
    assert found.bounds["atomics"] == pytest.approx((1 << 15) * (1.12e-9 + 32 * 0.7e-9), rel=0.01)


def test_bank_conflicts_bound_a_kernel_by_their_wavefronts():
    body = (
        "__shared__ float s[1024 + 32]; s[threadIdx.x] = x[threadIdx.x]; __syncthreads(); volatile float* v = s; float a = 0;\n"
        "for (int k = 0; k < n; ++k) a += v[(threadIdx.x % 32) * STRIDE]; y[blockIdx.x * blockDim.x + threadIdx.x] = a;"
    )
    one, many = (estimated(body.replace("STRIDE", str(s)), n=1 << 16, grid=H200.sm_count * 8) for s in (1, 16))
    assert one.bound == many.bound == "shared"
    assert many.bounds["shared"] == pytest.approx(16 * one.bounds["shared"], rel=0.01)


def mix_of(body):
    program = Program.from_cuda(
        f'extern "C" __global__ void k(const float* x, float* y, int n) {{\n{body}\n}}\n', arch="sm_90"
    )
    kernel = program._kernel(LaunchConfig(Dim3(1), Dim3(32)))
    return block_mixes(kernel.plan)


def test_counted_loop_is_taken_as_unrolled_one_with_a_given_step_is_not():
    assert any(mix.unrolled for mix in mix_of("float s = 0; for (int k = 0; k < n; ++k) s += x[k]; y[0] = s;"))
    assert not any(mix.unrolled for mix in mix_of("for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];"))


@pytest.mark.parametrize(
    ("opcode", "flops"),
    [
        ("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", 4096),
        ("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", 2 * 2048),
        ("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16", 2 * 64 * 128 * 16 / 4 * 0.629),
        ("wgmma.fence.sync.aligned", 0),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16", 0),
    ],
)
def test_matrix_product_counts_in_half_precision_products_of_mma_sync(opcode, flops):
    name, *mods = opcode.split(".")
    slots = dict(zip(PIPES, _slots(Instruction(opcode, name, tuple(mods), ())), strict=True))
    assert slots["tensor_flops"] == pytest.approx(flops)


def test_queue_is_latency_bound_with_few_customers_and_service_bound_with_many():
    assert _cycle(1, 10.0, 1000.0) == 1010.0
    assert _cycle(1000, 10.0, 1000.0) == pytest.approx(10_000, rel=0.01)
    knee = _cycle(100, 10.0, 1000.0)
    assert 1010 < knee < 1300


def test_every_gpu_has_rates_and_only_the_h200_is_calibrated():
    assert [row.id for row in GPUS if RATES[row.id].calibrated] == ["h200"]


def test_large_array_repeats_its_first_megabytes_and_is_its_own():
    array = lazy_array(ArraySpec(np.dtype("float32"), (1 << 23,), "normal:3"))
    period = PATTERN_BYTES // 4
    assert (array[:period] == ArraySpec(np.dtype("float32"), (period,), "normal:3").array()).all()
    assert (array[period : 2 * period] == array[:period]).all()
    array[5] = 42
    assert array[5 + period] != 42


def test_array_whose_values_tell_their_place_is_made_whole():
    assert lazy_array(ArraySpec(np.dtype("int32"), (1 << 23,), "iota"))[-1] == (1 << 23) - 1


def test_pattern_of_no_whole_page_is_repeated_too():
    assert (repeated(np.arange(3), 7) == [0, 1, 2, 0, 1, 2, 0]).all()


STRIDED = "int step = gridDim.x * blockDim.x; for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)"


def test_a_launch_takes_as_long_as_its_first_block_when_that_does_all():
    all_of_it = "for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];"
    alone = estimated(f"if (blockIdx.x == 0) {all_of_it}", n=1 << 18, grid=64)
    shared = estimated(f"{STRIDED} y[i] = x[i];", n=1 << 18, grid=64)
    assert alone.seconds > 20 * shared.seconds and alone.bound == "latency"


def test_blocks_that_read_the_same_at_once_wait_for_the_same_answer():
    """On an H200 four blocks that share the elements are 3.97 times faster (tests/golden/h200/course.json)."""
    every_block_all = "for (int i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i];"
    times = [
        estimated(body, n=1 << 20, grid=4, block=128).seconds for body in (every_block_all, f"{STRIDED} y[i] = x[i];")
    ]
    assert times[0] / times[1] == pytest.approx(3.97, rel=0.05)


def test_a_load_waits_for_stores_that_may_have_written_what_it_reads():
    """NVVM unrolls both loops four times; only where x and y are known to be apart may four loads be on their way at once."""
    apart = f"const float* __restrict__ a = x; {STRIDED} y[i] = __ldg(a + i);"
    in_order = estimated(f"{STRIDED} y[i] = x[i];", n=1 << 18, grid=4).seconds
    ahead = estimated(apart, n=1 << 18, grid=4).seconds
    assert in_order > 2.5 * ahead
