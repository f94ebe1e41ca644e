"""wgmma against NumPy: types, shapes, layouts in shared memory, registers, scales, and its rules."""

import numpy as np
import pytest

from simt.cli_run import run_files
from simt.events import Argument, Direction, Status
from simt.launch import Dim3, LaunchConfig
from simt.program import Program
from tests.simt.test_kernels import KERNELS
from tests.simt.test_matrix_products import exact, random_matrix
from tests.simt.wgmma_kernels import BYTES, descriptor, gather_d, image, kernel, spread_a, spread_d

WORDS = {"f16": np.float16, "f32": np.float32, "s32": np.int32}
SPACE = 40960
B_START = 8192


def operand(rng, shape, kind):
    """(elements as memory has them, their values)."""
    matrix = random_matrix(rng, shape, kind)
    return matrix, exact(matrix, kind)


def strides(rows_fastest, swizzle, n_rows):
    """(leading, stride) byte offsets that pack a matrix of 32 bytes of k a row."""
    wide = {"none": 16, "32B": 32, "64B": 64, "128B": 128}[swizzle]
    if rows_fastest:
        return (n_rows * 16, 128) if swizzle == "none" else (16 * wide, 8 * wide)
    return (128, 256) if swizzle == "none" else (0, 8 * wide)


def place(space, matrix, swizzle, rows_fastest, start):
    """Puts a matrix into shared memory; answers with its descriptor."""
    lbo, sbo = strides(rows_fastest, swizzle, len(matrix))
    image(space, matrix, swizzle, rows_fastest, lbo, sbo, start)
    return descriptor(start, lbo, sbo, swizzle)


def launch(ptx, arrays, block=128):
    arguments = [
        Argument(f"p{i}", Direction.OUT if i == 3 else Direction.IN, array.reshape(-1).view(np.uint32))
        for i, array in enumerate(arrays)
    ]
    return Program.from_ptx(ptx, kernel="k", arch="sm_90a").launch(LaunchConfig(Dim3(1), Dim3(block)), arguments)


def run(
    n,
    types,
    swizzles=("none", "none"),
    fastest=(False, False),
    registers=False,
    more=None,
    middle=None,
    block=128,
    barrier=True,
    fence=True,
    away=0,
):
    """(D, what NumPy gives, result) of D = A B + C with a (64, n) accumulator; B's descriptor leads `away` bytes off."""
    d_kind, a_kind, b_kind = types.split(".")
    rng, k = np.random.default_rng(n), 32 // BYTES[a_kind]
    (a, left), (b, right) = operand(rng, (64, k), a_kind), operand(rng, (n, k), b_kind)
    c = random_matrix(rng, (64, n), d_kind)
    space = np.zeros(SPACE, np.uint8)
    a_matrix = None if registers else place(space, a, swizzles[0], fastest[0], 0)
    b_matrix = place(space, b, swizzles[1], fastest[1], B_START) + away // 16
    if more is None:
        more = "1" + ("" if d_kind == "s32" else ", 1, 1")
        if a_kind in ("f16", "bf16"):
            more += "".join(f", {int(f)}" for f in (fastest[1:] if registers else fastest))
    held = spread_d(c)
    in_registers = spread_a(a) if registers else np.zeros((128, 4), np.uint32)
    opcode = f"wgmma.mma_async.sync.aligned.m64n{n}k{k}.{types}"
    ptx = kernel(opcode, held.itemsize * held.shape[1] // 4, a_matrix, b_matrix, more, SPACE, middle)
    ptx = ptx if barrier else ptx.replace("bar.sync 0;", "")
    ptx = ptx if fence else ptx.replace("fence.proxy.async;", "")
    result = launch(ptx, [space, in_registers, held, np.zeros_like(held)], block)
    d = gather_d(result.outputs["p3"].view(WORDS[d_kind]).reshape(held.shape))
    return d, (left, right.T, exact(c, d_kind)), result


def errors(result):
    return {d.check for d in result.diagnostics if not d.check.startswith(("coverage", "perf"))}


def assert_close(d, a, b, c, d_kind):
    """By the bits that a sum keeps; those of 8-bit floats keep no more than halves do."""
    scale = (np.abs(a) @ np.abs(b) + np.abs(c)).max()
    tolerance = {"f16": 2**-9, "f32": 2**-19, "s32": 0}[d_kind]
    assert np.abs(d.astype(np.float64) - (a @ b + c)).max() <= scale * tolerance


TYPES = (
    "f32.f16.f16", "f16.f16.f16", "f32.bf16.bf16", "f32.tf32.tf32", "s32.s8.s8", "s32.u8.s8", "f32.e4m3.e5m2",
    "f16.e5m2.e4m3",
)  # fmt: skip


@pytest.mark.parametrize("registers", [False, True], ids=["shared", "registers"])
@pytest.mark.parametrize("types", TYPES)
def test_every_type_multiplies(types, registers):
    d, (a, b, c), result = run(24, types, registers=registers)
    assert result.status is Status.OK and not errors(result), result.diagnostics
    assert_close(d, a, b, c, "f16" if "e4m3" in types else types.split(".")[0])
    k = a.shape[1]
    assert (result.counters.tensor_instructions, result.counters.flops) == (4, 2 * 64 * 24 * k)


@pytest.mark.parametrize("n", [8, 40, 128, 256])
def test_every_width_multiplies(n):
    d, (a, b, c), result = run(n, "f32.f16.f16")
    assert not errors(result), result.diagnostics
    assert_close(d, a, b, c, "f32")


@pytest.mark.parametrize("fastest", [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("swizzle", ["none", "32B", "64B", "128B"])
def test_every_layout_of_halves_is_read(swizzle, fastest):
    d, (a, b, c), result = run(64, "f32.f16.f16", (swizzle, swizzle), fastest)
    assert not errors(result), result.diagnostics
    assert_close(d, a, b, c, "f32")


@pytest.mark.parametrize("types", ["f32.tf32.tf32", "s32.s8.s8"])
def test_swizzled_words_and_bytes_are_read(types):
    d, (a, b, c), result = run(16, types, ("64B", "128B"))
    assert not errors(result), result.diagnostics
    assert_close(d, a, b, c, types.split(".")[0])


def test_scales_negate_and_a_false_scale_d_forgets_the_accumulator():
    d, (a, b, c), _ = run(8, "f32.f16.f16", more="0, -1, 1, 0, 0")
    assert_close(-d, a, b, 0 * c, "f32")
    d, (a, b, c), _ = run(8, "f32.f16.f16", more="1, 1, -1, 0, 0")
    assert_close(-d, a, b, -c, "f32")


FENCE, COMMIT, WAIT = (
    "wgmma.fence.sync.aligned;\n", "wgmma.commit_group.sync.aligned;\n", "wgmma.wait_group.sync.aligned 0;\n",
)  # fmt: skip
NEXT = "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;\n"
CHANGE = "add.u32 %d0, %d0, 1;\n"
FILL = "mov.u32 %r1, space;\nmad.lo.u32 %r1, %r0, 8, %r1;\nst.shared.u32 [%r1], %r0;\n"
LAZY = "setp.lt.u32 %p1, %r0, 32;\n@%p1 bra LAZY;\n"
ONE = FENCE + "PRODUCT" + COMMIT


@pytest.mark.parametrize(
    "middle, checks",
    [
        (ONE, {"asynccheck.wgmma-registers"}),
        (FENCE + "PRODUCT" + WAIT, {"asynccheck.wgmma-registers"}),
        (FENCE + "PRODUCT" + NEXT, {"asynccheck.wgmma-registers"}),
        (ONE + CHANGE + WAIT, {"asynccheck.wgmma-registers"}),
        ("PRODUCT" + COMMIT + WAIT, {"asynccheck.wgmma-fence"}),
        (FENCE + CHANGE + "PRODUCT" + COMMIT + WAIT, {"asynccheck.wgmma-fence"}),
        (LAZY + ONE + WAIT + "LAZY:\n", {"synccheck.warpgroup"}),
        (CHANGE + ONE + WAIT + CHANGE, set()),
        (FENCE + "PRODUCTPRODUCT" + COMMIT + WAIT, set()),
        (FENCE + "PRODUCT" + COMMIT + "PRODUCT" + NEXT + WAIT, set()),
    ],
)
def test_registers_want_fences_groups_and_waits(middle, checks):
    _, _, result = run(8, "f32.f16.f16", middle=middle)
    assert errors(result) == checks, result.diagnostics


@pytest.mark.parametrize(
    "middle, checks",
    [(ONE + FILL + WAIT, {"asynccheck.overwritten", "racecheck.shared.WAR"}),
     (ONE + "bar.sync 0;\n" + FILL + WAIT, {"asynccheck.overwritten"}),
     (ONE + WAIT + "bar.sync 0;\n" + FILL, set())],
)  # fmt: skip
def test_a_tile_may_be_filled_again_once_its_product_was_waited_for(middle, checks):
    _, _, result = run(8, "f32.f16.f16", middle=middle)
    assert errors(result) == checks, result.diagnostics


def test_a_register_of_a_may_be_read_but_not_written_in_flight():
    written = run(8, "f32.f16.f16", registers=True, middle=ONE + "mov.u32 %a0, %r0;\nadd.u32 %a1, %a1, 1;\n" + WAIT)[2]
    assert errors(written) == {"asynccheck.wgmma-registers"}
    read = run(8, "f32.f16.f16", registers=True, middle=ONE + FILL.replace("], %r0", "], %a0") + WAIT)[2]
    assert "asynccheck.wgmma-registers" not in errors(read)


@pytest.mark.parametrize("block", [32, 96])
def test_less_than_a_warpgroup_is_told(block):
    ptx_block = run(8, "f32.f16.f16", block=block)[2]
    assert "synccheck.warpgroup" in errors(ptx_block)


def test_a_descriptor_past_shared_memory_is_out_of_bounds():
    result = run(8, "f32.f16.f16", away=SPACE - B_START)[2]
    (finding,) = [d for d in result.diagnostics if d.check == "memcheck.shared.read-oob"]
    assert "descriptor" in finding.message and str(SPACE) in finding.message


def test_operands_written_by_other_warps_need_a_barrier():
    assert errors(run(8, "f32.f16.f16", barrier=False)[2]) == {"racecheck.shared.RAW"}


def test_sums_of_integers_are_exact():
    d, (a, b, c), _ = run(8, "s32.u8.u8")
    assert (d == a @ b + c).all()


def test_register_counts_are_taken_by_whole_warpgroups():
    assert not errors(run(8, "f32.f16.f16", middle="setmaxnreg.dec.sync.aligned.u32 40;\n" + ONE + WAIT)[2])
    few = launch(".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p0, .param .u64 p1, "
                 ".param .u64 p2, .param .u64 p3) { setmaxnreg.inc.sync.aligned.u32 232; ret; }",
                 [np.zeros(4, np.uint32)] * 4, 64)  # fmt: skip
    assert "synccheck.warpgroup" in errors(few)


PIPELINE = KERNELS / "matrix" / "wgmma_pipeline.cu"
GIVEN_BACK = """            if (tile > 0) {
                wait<1>();
                arrive(&empty[(tile - 1) % 2]);
            }
"""


@pytest.mark.parametrize(
    "right, wrong, check, line",
    [
        (GIVEN_BACK, "arrive(&empty[s]);\n", "asynccheck.overwritten", 39),
        ("        wait<0>();\n", "", "asynccheck.wgmma-registers", 56),
        ("            begin();\n", "", "asynccheck.wgmma-fence", 48),
    ],
)
def test_a_pipeline_of_tma_and_wgmma_with_one_step_missing_is_told(tmp_path, right, wrong, check, line):
    source = PIPELINE.read_text()
    assert right in source
    (tmp_path / "k.cu").write_text(source.replace(right, wrong))
    (tmp_path / "wgmma.cuh").write_text(PIPELINE.with_name("wgmma.cuh").read_text())
    report = run_files(tmp_path / "k.cu", PIPELINE.with_suffix(".toml"))
    assert (check, line) in [(d.check, d.line) for d in report.diagnostics], report.diagnostics


NO_VALUE = """#include "wgmma.cuh"
extern "C" __global__ void product(const half* a, const half* b, float* c, int k) {
    __shared__ __align__(128) half ta[64 * 16], tb[32 * 16];
    float d[16];
    for (int i = threadIdx.x; i < 64 * 16; i += 128) {
        ta[i] = a[i];
        if (i < 32 * 16) tb[i] = b[i];
    }
    fence_operands();
    __syncthreads();
    begin();
    for (int s = FIRST; s < 3; ++s)
        asm volatile("{ .reg .pred p; setp.ne.b32 p, %18, 0; wgmma.mma_async.sync.aligned.m64n32k16.f32.f16.f16 {%0, %1, %2, %3, "
                     "%4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15}, %16, %17, p, 1, 1, 0, 0; }"
                     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                       "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15])
                     : "l"(matrix(ta, 128, 256, 0)), "l"(matrix(tb, 128, 256, 0)), "r"(s));
    commit();
    wait<0>();
    store(d, c, 32);
}
"""


@pytest.mark.parametrize("first, found", [(0, set()), (1, {"initcheck.register"})])
def test_accumulators_need_no_value_where_the_first_product_forgets_them(tmp_path, first, found):
    (tmp_path / "k.cu").write_text(NO_VALUE.replace("FIRST", str(first)))
    (tmp_path / "wgmma.cuh").write_text(PIPELINE.with_name("wgmma.cuh").read_text())
    report = run_files(tmp_path / "k.cu", PIPELINE.with_name("wgmma_plain.toml"))
    severe = {d.check for d in report.diagnostics if not d.check.startswith(("coverage", "perf", "compile"))}
    assert severe == found, report.diagnostics


def test_operands_written_by_ordinary_stores_need_a_proxy_fence():
    assert errors(run(8, "f32.f16.f16", fence=False)[2]) == {"asynccheck.proxy-fence"}


# Each is assembled for the architecture beside it, then named with its line.
@pytest.mark.parametrize(
    "opcode, operands, arch",
    [
        ("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16",
         "{%0, %1}, {%0, %1}, {%0, %1}, {%0, %1}, %0, 0x0", "sm_90"),
        ("mma.sync.aligned.m8n8k32.row.col.s32.s4.s4.s32", "{%0, %1}, {%0}, {%1}, {%0, %1}", "sm_80"),
        ("mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "{%0, %1}, {%0}, {%1}, {%0, %1}", "sm_80"),
        ("wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc", "{%0, %1, %0, %1}, {%0, %1, %0, %1}, %2, 1", "sm_90a"),
        ("tcgen05.wait::ld.sync.aligned", "", "sm_100a"),
    ],
)  # fmt: skip
def test_what_does_not_run_is_named_with_its_line(opcode, operands, arch):
    operands = operands.replace("{%0, %1, %0, %1}, {%0", "{%0, %1, %3, %4}, {%0")
    source = f"""extern "C" __global__ void k(unsigned* y) {{
  unsigned a = y[0], b = y[1], c = y[2], d = y[3];
  unsigned long long matrix = a;
  asm volatile("{opcode} {operands};" : "+r"(a), "+r"(b), "+l"(matrix), "+r"(c), "+r"(d));
  y[0] = a + b + c + d + (unsigned)matrix;
}}"""
    arguments = [Argument("y", Direction.INOUT, np.ones(4, np.uint32))]
    result = Program.from_cuda(source, arch=arch).launch(LaunchConfig(Dim3(1), Dim3(128)), arguments)
    (finding,) = result.diagnostics
    assert result.status is Status.NOT_SUPPORTED
    assert (finding.check, finding.line) == ("ptx.unsupported", 4) and opcode in finding.message
