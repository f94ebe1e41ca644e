"""mma and wmma against NumPy's products in float64: all shapes, types and orders, in global and shared memory."""

import numpy as np
import pytest

from simt.events import Argument, Direction, Status
from simt.launch import Dim3, LaunchConfig
from simt.program import Program
from tests.simt.matrix_layouts import MMA, float8_values, gather, spread

DTYPES = {
    "f16": np.float16, "bf16": np.uint16, "tf32": np.float32, "f32": np.float32, "f64": np.float64, "s8": np.int8,
    "u8": np.uint8, "s32": np.int32, "e4m3": np.uint8, "e5m2": np.uint8,
}  # fmt: skip
# Relative to the largest sum of magnitudes: half a unit in the last place for each of at most 32 roundings.
TOLERANCE = {"f16": 2**-10, "f32": 2**-19, "f64": 2**-48, "s32": 0}
PARTS = {"tf32": 4, "f64": 1}  # HMMA.1684, DMMA.8x8x4 of one wmma.mma; two HMMA.16816 or IMMA.16816 of the others
SHAPES = ("m16n16k16", "m32n8k16", "m8n32k16")
WMMA = [
    *((shape, kinds) for shape in SHAPES for kinds in ("f32.f16.f32", "f16.f16.f16", "f32.f16.f16", "f16.f16.f32")),
    *((shape, kinds) for shape in SHAPES for kinds in ("f32.bf16.f32", "s32.s8.s32", "s32.u8.s32")),
    ("m16n16k8", "f32.tf32.f32"), ("m8n8k4", "f64.f64.f64"),
]  # fmt: skip


def sizes(shape):
    """(m, n, k) of a shape's name."""
    return tuple(map(int, shape[1:].replace("n", " ").replace("k", " ").split()))


def random_matrix(rng, shape, kind):
    """Elements as the kind keeps them in memory."""
    if kind in ("s8", "u8", "s32"):
        low, high = {"s8": (-128, 128), "u8": (0, 256), "s32": (-(2**20), 2**20)}[kind]
        return rng.integers(low, high, shape).astype(DTYPES[kind])
    if kind in ("e4m3", "e5m2"):  # of moderate size, either sign
        return (rng.integers(0, 0x48, shape) | rng.integers(0, 2, shape) << 7).astype(np.uint8)
    values = rng.standard_normal(shape)
    if kind == "bf16":
        return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    if kind == "tf32":
        return (values.astype(np.float32).view(np.uint32) & 0xFFFFE000).view(np.float32)
    return values.astype(DTYPES[kind])


def exact(matrix, kind):
    """The values of a matrix as float64."""
    if kind == "bf16":
        return (matrix.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if kind in ("e4m3", "e5m2"):
        return float8_values(matrix, kind)
    return matrix.astype(np.float64)


def assert_product(d, a, b, c, kinds):
    """D against A B + C."""
    d_kind, a_kind, b_kind, c_kind = kinds
    a, b, c = exact(a, a_kind), exact(b, b_kind), exact(c, c_kind)
    scale = (np.abs(a) @ np.abs(b) + np.abs(c)).max()
    assert np.abs(exact(d, d_kind) - (a @ b + c)).max() <= scale * TOLERANCE[d_kind]


def launch(ptx, arrays, block=32):
    """Runs a kernel of `p0…p3` on arrays of which the last is the output."""
    arguments = [
        Argument(
            f"p{i}",
            Direction.OUT if i == len(arrays) - 1 else Direction.IN,
            array.reshape(-1).view(_plain(array.dtype)),
        )
        for i, array in enumerate(arrays)
    ]
    result = Program.from_ptx(ptx, kernel="k", arch="sm_90").launch(LaunchConfig(Dim3(1), Dim3(block)), arguments)
    return result


def _plain(dtype):
    return np.dtype(f"u{dtype.itemsize}")


HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3) {
  .reg .b32 %a<16>, %b<16>, %c<16>, %d<16>, %r<8>;
  .reg .b64 %e<16>, %f<16>, %g<16>, %h<16>, %rd<16>;
  .shared .align 32 .b8 sa[2048], sb[2048], sc[2048];
"""


def registers(stem, n, wide):
    letter = dict(zip("abcd", "efgh", strict=True))[stem] if wide else stem
    return [f"%{letter}{i}" for i in range(n)]


def mma_ptx(opcode, counts, wide):
    """Each lane loads its registers of a, b and c one after the other, multiplies and stores those of d."""
    size, kind = (8, "b64") if wide else (4, "b32")
    text, names = HEAD + "mov.u32 %r0, %tid.x;\n", {}
    for number, (stem, count) in enumerate(zip("abcd", counts, strict=True)):
        names[stem] = registers(stem, count, wide)
        text += f"ld.param.u64 %rd{number}, [p{number}]; mad.wide.u32 %rd{number}, %r0, {count * size}, %rd{number};\n"
        if stem != "d":
            text += "".join(f"ld.global.{kind} {r}, [%rd{number}+{size * i}];\n" for i, r in enumerate(names[stem]))
    operands = ", ".join("{" + ", ".join(names[stem]) + "}" for stem in "dabc")
    text += f"{opcode} {operands};\n"
    return text + "".join(f"st.global.{kind} [%rd3+{size * i}], {r};\n" for i, r in enumerate(names["d"])) + "ret;\n}\n"


def run_mma(shape, types, a, b, c, suffix=""):
    """(D, result) of one mma.sync with fragments spread by the ISA's formulas."""
    layouts, kinds = MMA[shape, types], types.split(".")
    held = [spread(matrix, layout) for matrix, layout in zip((a, b, c), layouts, strict=True)]
    wide = kinds[1] == "f64"
    d = np.zeros((32, c.size // 32), DTYPES[kinds[0]])
    counts = [one.nbytes // 32 // (8 if wide else 4) for one in (*held, d)]
    result = launch(mma_ptx(f"mma.sync.aligned.{shape}.row.col{suffix}.{types}", counts, wide), [*held, d])
    assert result.status is Status.OK, result.diagnostics
    out = result.outputs["p3"].view(d.dtype).reshape(d.shape)
    return gather(out, c.shape, layouts[2]), result


@pytest.mark.parametrize("shape, types", MMA, ids=" ".join)
def test_mma_multiplies(shape, types):
    m, n, k = sizes(shape)
    kinds, rng = types.split("."), np.random.default_rng(m + n + k)
    a, b = random_matrix(rng, (m, k), kinds[1]), random_matrix(rng, (k, n), kinds[2])
    c = random_matrix(rng, (m, n), kinds[3])
    d, result = run_mma(shape, types, a, b, c)
    assert_product(d, a, b, c, kinds)
    parts = 2 if kinds[1] in ("e4m3", "e5m2") else 1  # HMMA
    assert (result.counters.tensor_instructions, result.counters.flops) == (parts, 2 * m * n * k)


@pytest.mark.parametrize("suffix, wanted", [("", -(2**31) + 3), (".satfinite", 2**31 - 1)])
def test_integer_sum_wraps_or_is_clamped(suffix, wanted):
    a, b = np.ones((16, 32), np.int8), np.ones((32, 8), np.int8)
    c = np.full((16, 8), 2**31 - 29, np.int32)
    assert (run_mma("m16n8k32", "s32.s8.s8.s32", a, b, c, suffix)[0] == wanted).all()


def test_infinities_and_nans_reach_their_rows_only():
    a, b, c = np.ones((16, 16), np.float16), np.ones((16, 8), np.float16), np.zeros((16, 8), np.float32)
    a[1, 3], a[2, 5], c[4, 6] = np.inf, np.nan, -np.inf
    d, _ = run_mma("m16n8k16", "f32.f16.f16.f32", a, b, c)
    assert (d[1] == np.inf).all() and np.isnan(d[2]).all() and d[4, 6] == -np.inf
    d[4, 6] = 16
    assert (np.delete(d, (1, 2), 0) == 16).all()


def test_a_sum_is_cut_below_the_bits_that_the_hardware_keeps():
    """A product 26 bits below the largest is lost, one 25 bits below is not."""
    a, b, c = np.zeros((16, 16), np.float16), np.ones((16, 8), np.float16), np.zeros((16, 8), np.float32)
    a[:, :4] = [1, -1, 2.0**-13, 2.0**-13]
    b[2], b[3] = 2.0**-12, 2.0**-13
    d, _ = run_mma("m16n8k16", "f32.f16.f16.f32", a, b, c)
    assert (d == 2.0**-25).all()


def test_tf32_ignores_what_it_has_no_bits_for():
    a, b, c = np.full((16, 4), 1 + 2**-12, np.float32), np.ones((4, 8), np.float32), np.zeros((16, 8), np.float32)
    assert (run_mma("m16n8k4", "f32.tf32.tf32.f32", a, b, c)[0] == 4).all()


def wmma_ptx(shape, types, orders, strides, shared):
    """Loads a, b and c, multiplies and stores d, through shared memory where asked."""
    d_kind, a_kind, c_kind = types.split(".")
    wide, space = a_kind == "f64", ".shared" if shared else ".global"
    few = {"f64": (1, 1, 2, 2), "tf32": (4, 4, 8, 8)}.get(a_kind) or _registers(shape, a_kind, c_kind, d_kind)
    text, names, places = HEAD + "mov.u32 %r0, %tid.x;\n", {}, {}
    for number, (stem, count) in enumerate(zip("abcd", few, strict=True)):
        names[stem] = "{" + ", ".join(registers(stem, count, wide)) + "}"
        text += f"ld.param.u64 %rd{number}, [p{number}];\n"
        places[stem] = f"[s{stem}]" if shared and stem != "d" else f"[%rd{number}]"
        if shared and stem != "d":
            text += _copy(number, stem)
    text += "bar.warp.sync -1;\n"
    for stem, kind, order, stride in zip("abc", (a_kind, a_kind, c_kind), orders, strides, strict=False):
        text += (
            f"wmma.load.{stem}.sync.aligned.{order}.{shape}{space}.{kind} {names[stem]}, {places[stem]}, {stride};\n"
        )
    middle = f"{d_kind}.{c_kind}" if a_kind == "f16" else f"{d_kind}.{a_kind}.{a_kind}.{c_kind}"
    operands = ", ".join(names[stem] for stem in "dabc")
    text += f"wmma.mma.sync.aligned.{orders[0]}.{orders[1]}.{shape}.{middle} {operands};\n"
    store = f"wmma.store.d.sync.aligned.{orders[3]}.{shape}.global.{d_kind} [%rd3], {names['d']}, {strides[3]};\n"
    return text + store + "ret;\n}\n"


def _copy(number, stem):
    """Lane l copies bytes 64 l … 64 l + 63 to shared memory."""
    text = f"mad.wide.u32 %rd{8 + number}, %r0, 64, %rd{number}; mov.u32 %r1, s{stem}; mad.lo.u32 %r1, %r0, 64, %r1;\n"
    return text + "".join(
        f"ld.global.b64 %rd12, [%rd{8 + number}+{8 * i}]; st.shared.b64 [%r1+{8 * i}], %rd12;\n" for i in range(8)
    )


def _registers(shape, a_kind, c_kind, d_kind):
    m, n, k = sizes(shape)
    size = np.dtype(DTYPES[a_kind]).itemsize
    a, b = (8, 8) if a_kind == "f16" else (m * k * size // 128, n * k * size // 128)
    return a, b, 4 if c_kind == "f16" else 8, 4 if d_kind == "f16" else 8


def in_memory(matrix, order, stride):
    """The matrix in its order with runs `stride` elements apart, in 2048 bytes."""
    runs = matrix if order == "row" else matrix.T
    space = np.zeros(max(2048 // matrix.itemsize, len(runs) * stride), matrix.dtype)
    for number, run in enumerate(runs):
        space[number * stride : number * stride + len(run)] = run
    return space


def from_memory(space, shape, order, stride):
    rows, cols = shape if order == "row" else shape[::-1]
    runs = np.array([space[i * stride : i * stride + cols] for i in range(rows)])
    return runs if order == "row" else runs.T


def run_wmma(shape, types, orders, a, b, c, padding=0, shared=False):
    """(D, result) of loads, one product and a store."""
    d_kind = types.split(".")[0]
    matrices = (a, b, c, np.zeros(c.shape, DTYPES[d_kind]))
    strides = [one.shape[order == "row"] + padding for one, order in zip(matrices, orders, strict=True)]
    arrays = [in_memory(*row) for row in zip(matrices, orders, strides, strict=True)]
    result = launch(wmma_ptx(shape, types, orders, strides, shared), arrays)
    out = result.outputs["p3"].view(DTYPES[d_kind])
    return from_memory(out, c.shape, orders[3], strides[3]), result


@pytest.mark.parametrize("orders", [("row", "row", "row", "col"), ("col", "col", "col", "row")])
@pytest.mark.parametrize("shape, types", WMMA, ids=" ".join)
def test_wmma_multiplies(shape, types, orders):
    (m, n, k), (d_kind, a_kind, c_kind) = sizes(shape), types.split(".")
    rng = np.random.default_rng(len(shape) + len(types))
    a, b = random_matrix(rng, (m, k), a_kind), random_matrix(rng, (k, n), a_kind)
    c = random_matrix(rng, (m, n), c_kind)
    for padding, shared in ((16, False), (0, True)):
        d, result = run_wmma(shape, types, orders, a, b, c, padding, shared)
        assert not [f for f in result.diagnostics if not f.check.startswith(("coverage", "perf"))], result.diagnostics
        assert_product(d, a, b, c, (d_kind, a_kind, a_kind, c_kind))
        assert (result.counters.tensor_instructions, result.counters.flops) == (PARTS.get(a_kind, 2), 2 * m * n * k)


def wmma_counters(shape, types, orders, padding=0, shared=False):
    (m, n, k), (_, a_kind, c_kind) = sizes(shape), types.split(".")
    rng = np.random.default_rng(0)
    matrices = [random_matrix(rng, s, kind) for s, kind in (((m, k), a_kind), ((k, n), a_kind), ((m, n), c_kind))]
    return run_wmma(shape, types, orders, *matrices, padding, shared)[1].counters


# Requests and sectors of a, b and c together, by the loads and stores that ptxas 13.5 writes for sm_90.
@pytest.mark.parametrize(
    "shape, types, orders, requests, sectors",
    [
        ("m16n16k16", "f32.f16.f32", ("row", "col", "row", "row"), 4 + 4 + 4, 32 + 32 + 32),  # LDG.E, LDG.E, LDG.E.64
        ("m16n16k16", "f32.f16.f32", ("col", "row", "row", "row"), 4 + 4 + 4, 32 + 32 + 32),
        ("m16n16k16", "f32.f16.f32", ("row", "row", "col", "row"), 4 + 4 + 8, 32 + 32 + 32),  # c element by element
        ("m16n16k16", "s32.s8.s32", ("row", "col", "row", "row"), 2 + 2 + 4, 8 + 8 + 32),
        ("m16n16k16", "s32.s8.s32", ("col", "col", "row", "row"), 8 + 2 + 4, 32 + 8 + 32),  # LDG.E.U8
        ("m16n16k8", "f32.tf32.f32", ("row", "col", "row", "row"), 4 + 4 + 4, 32 + 32 + 32),
    ],
)
def test_wmma_loads_count_the_requests_of_the_machine_code(shape, types, orders, requests, sectors):
    counters = wmma_counters(shape, types, orders)
    assert (counters.global_load_requests, counters.global_load_sectors) == (requests, sectors)


def test_wmma_reads_shared_halves_as_ldmatrix_does():
    copied = wmma_counters("m16n16k16", "f32.f16.f32", ("row", "col", "row", "row"), shared=True)
    # a, b: one LDSM.4 each, 16-byte rows 32 bytes apart, two of which meet in a bank; c: four requests of 64 bits.
    assert (copied.ldmatrix_requests, copied.shared_load_requests) == (1 + 1, 4)
    assert copied.shared_load_wavefronts - copied.shared_load_excess == 4 + 4 + 8


# Source: SASS by ptxas 13.5 for sm_90, LDSM of four tiles of halves or two of bytes; other loads LDS.
@pytest.mark.parametrize(
    "shape, types, orders, ldmatrix, loads",
    [
        ("m32n8k16", "f32.f16.f32", ("row", "row", "row", "row"), 2 + 1, 4),
        ("m8n32k16", "f32.f16.f32", ("col", "col", "row", "row"), 1 + 2, 8),
        ("m16n16k16", "f16.f16.f16", ("row", "row", "col", "row"), 1 + 1, 4),
        ("m16n16k16", "s32.s8.s32", ("row", "col", "row", "row"), 1 + 1, 4),
        ("m32n8k16", "s32.u8.s32", ("row", "row", "row", "row"), 2, 4 + 4),
        ("m8n32k16", "s32.s8.s32", ("col", "col", "col", "row"), 2, 4 + 4),
    ],
)
def test_wmma_loads_from_shared_memory_are_those_of_the_machine_code(shape, types, orders, ldmatrix, loads):
    copied = wmma_counters(shape, types, orders, shared=True)
    assert (copied.ldmatrix_requests, copied.shared_load_requests) == (ldmatrix, loads)


WMMA_KERNEL = """#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void product(const half* a, float* out, int offset, int ld) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  FILL
  LANES wmma::load_matrix_sync(fa, a + offset, ld);
  wmma::load_matrix_sync(fb, a, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  for (int i = 0; i < fc.num_elements; i++) fc.x[i] = 2 * fc.x[i] + 1;
  wmma::store_matrix_sync(out, fc, 16, wmma::mem_row_major);
}"""


def wmma_result(offset=0, ld=16, fill="wmma::fill_fragment(fc, 0.0f);", lanes=""):
    source = WMMA_KERNEL.replace("FILL", fill).replace("LANES", lanes)
    a = np.random.default_rng(1).integers(-4, 5, (32, 32)).astype(np.float16)
    arguments = [
        Argument("a", Direction.IN, a.reshape(-1)), Argument("out", Direction.OUT, np.zeros((16, 16), np.float32)),
        Argument("offset", Direction.SCALAR, np.int32(offset)), Argument("ld", Direction.SCALAR, np.int32(ld)),
    ]  # fmt: skip
    result = Program.from_cuda(source).launch(LaunchConfig(Dim3(1), Dim3(32)), arguments)
    return a.reshape(-1), result


def errors(result):
    return {(d.check, d.line) for d in result.diagnostics if not d.check.startswith(("coverage", "perf"))}


def test_elements_of_a_fragment_may_be_changed_one_by_one():
    a, result = wmma_result(offset=16, ld=32)
    assert not errors(result), result.diagnostics
    first, second = a.reshape(32, 32)[:16, 16:], a[:256].reshape(16, 16)
    assert (result.outputs["out"] == 2 * (first.astype(float) @ second.T.astype(float)) + 1).all()


@pytest.mark.parametrize("offset, ld, said", [(8, 16, "32 bytes"), (0, 20, "20"), (1, 16, "32 bytes")])
def test_wmma_off_its_alignment_is_named(offset, ld, said):
    _, result = wmma_result(offset, ld)
    (finding,) = [d for d in result.diagnostics if d.check == "memcheck.misaligned"]
    assert finding.line == 8 and said in finding.message and "wmma.load.a" in finding.message


def test_wmma_past_the_end_is_out_of_bounds():
    assert ("memcheck.global.read-oob", 8) in errors(wmma_result(offset=800, ld=32)[1])


def test_accumulator_without_a_value_is_uninitialised():
    assert errors(wmma_result(fill="")[1]) == {("initcheck.register", 12)}


def test_wmma_with_missing_lanes_is_a_finding():
    assert ("synccheck.mask", 8) in errors(wmma_result(lanes="if (threadIdx.x < 8)")[1])
