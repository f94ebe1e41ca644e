"""Tile copies on kernels: every rank, element size, swizzle and fill against NumPy, and what a wrong map or place is called."""

from dataclasses import replace

import numpy as np
import pytest

from simt.engine.tensor_maps import TileMap
from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.program import Program
from simt.runner.tensor_maps import map_bytes
from simt.tensor_map import ELEMENTS, Fill, Swizzle, TensorMap, broken_rules
from tests.simt.tile_reference import loaded, n_bytes, stored

HEAD = """#include <cuda.h>
typedef unsigned long long u64;
struct Place { int at[5]; };
__device__ unsigned sa(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ void init(u64* b) { asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(sa(b)) : "memory"); }
__device__ void expect(u64* b, unsigned n) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" :: "r"(sa(b)), "r"(n) : "memory");
}
__device__ void wait(u64* b) {
  asm volatile("{ .reg .pred p; W: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @p bra D; bra W; D: }"
      :: "r"(sa(b)) : "memory");
}
__device__ void fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
__device__ void drain() { asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory"); }
extern "C" __global__ void kernel(const __grid_constant__ CUtensorMap map, unsigned char* y, int total, unsigned bytes, Place p) {
  extern __shared__ __align__(1024) unsigned char s[];
  __shared__ u64 bar;
  int t = threadIdx.x;
"""
LOAD = """  if (t == 0) { init(&bar); expect(&bar, bytes); COPY }
  __syncthreads(); wait(&bar);
  for (int i = t; i < total; i += 64) y[i] = s[i];
}"""
STORE = """  for (int i = t; i < total; i += 64) s[i] = y[i];
  fence(); __syncthreads();
  if (t == 0) { COPY drain(); }
}"""


def copy(rank, shared="s", map="&map", operation=""):
    """The instruction in inline PTX; with an operation, "" for a plain store, it goes to the tensor."""
    place = ", ".join(f"%{2 + i}" for i in range(rank))
    at = ", ".join(f'"r"(p.at[{i}])' for i in range(rank))
    ends = f'"r"(sa({shared})), "l"({map}), {at}'
    if operation == "load":
        opcode = f"cp.async.bulk.tensor.{rank}d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        return f'asm volatile("{opcode} [%0], [%1, {{{place}}}], [%{2 + rank}];" :: {ends}, "r"(sa(&bar)) : "memory");'
    name = "cp.reduce" if operation else "cp"
    kind = f".{operation}" if operation else ""
    opcode = f"{name}.async.bulk.tensor.{rank}d.global.shared::cta{kind}.tile.bulk_group"
    return f'asm volatile("{opcode} [%1, {{{place}}}], [%0];" :: {ends} : "memory");'


def program(rank, operation="", **parts):
    body = (LOAD if operation == "load" else STORE).replace("COPY", copy(rank, operation=operation, **parts))
    return Program.from_cuda(HEAD + body, arch="sm_90")


def launch(program, tile, x, y, start, direction=Direction.INOUT, bytes=None):
    total = n_bytes(tile)
    place = np.zeros(1, np.dtype([("at", "i4", 5)]))
    place["at"][0, : tile.rank] = start
    arguments = [
        Argument("map", Direction.SCALAR, replace(tile, backing=Argument("x", direction, x))), y,
        Argument("total", Direction.SCALAR, np.int32(total)),
        Argument("bytes", Direction.SCALAR, np.uint32(tile.box_bytes if bytes is None else bytes)),
        Argument("p", Direction.SCALAR, place[0]),
    ]  # fmt: skip
    return program.launch(LaunchConfig(Dim3(1), Dim3(64), shared_bytes=total), arguments)


def random_tile(rng, rank, dtype=None, least=-3):
    """A map whose box reaches outside the tensor here and there, its tensor, and where the box starts: from `least` on."""
    dtype = dtype or str(rng.choice(["uint8", "uint16", "int32", "float32", "float64", "float16", "int64"]))
    size, swizzle = ELEMENTS[dtype].n_bytes, Swizzle(int(rng.integers(0, 4)))
    unit = 16 // size
    box = [
        min(unit * int(rng.integers(1, (swizzle.span_bytes or 128) // 16 + 1)), 256),
        *map(int, rng.integers(1, 5, rank - 1)),
    ]
    dims = [unit * int(rng.integers(1, 9)), *map(int, rng.integers(1, 6, rank - 1))]
    fill = Fill.NAN if ELEMENTS[dtype].is_float and rng.integers(2) else Fill.ZERO
    steps = [1, *map(int, rng.integers(1, 3, rank - 1))]
    shape = tuple(reversed(dims))
    tile = TensorMap.of("x", shape, dtype, box, element_strides=steps, swizzle=swizzle, fill=fill)
    assert not list(broken_rules("map", tile))
    x = rng.integers(0, 250, int(np.prod(dims)) * size).astype(np.uint8).view(dtype)
    start = [int(rng.integers(least, n + 2)) for n in dims]
    return tile, x, [start[0] // unit * unit, *start[1:]]


def errors(result):
    return [d for d in result.diagnostics if not d.check.startswith("coverage")]


@pytest.mark.parametrize("rank", range(1, 6))
def test_a_load_brings_the_box_and_fills_what_is_outside(rank):
    rng, compiled = np.random.default_rng(rank), program(rank, "load")
    for _ in range(6):
        tile, x, start = random_tile(rng, rank)
        want = loaded(x, tile, start)
        result = launch(
            compiled, tile, x, Argument("y", Direction.OUT, np.zeros(want.size, np.uint8)), start, Direction.IN
        )
        known = ~np.ma.getmaskarray(want)
        assert np.array_equal(result.outputs["y"][known], want.data[known]), tile
        assert errors(result) == []


@pytest.mark.parametrize("rank", range(1, 6))
def test_a_store_writes_the_box_and_nothing_outside(rank):
    rng, compiled = np.random.default_rng(10 + rank), program(rank)
    for _ in range(6):
        tile, x, start = random_tile(rng, rank, least=0)
        shared = rng.integers(0, 250, n_bytes(tile)).astype(np.uint8)
        result = launch(compiled, tile, x, Argument("y", Direction.IN, shared), start)
        want = stored(x, shared, tile, start)
        assert np.array_equal(result.outputs["x"].view(np.uint8), want.view(np.uint8)), tile
        assert errors(result) == []


OPERATIONS = {
    "add": lambda a, b: a + b, "min": min, "max": max, "and": lambda a, b: a & b, "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b, "inc": lambda a, b: type(a)(0) if a >= b else a + type(a)(1),
    "dec": lambda a, b: b if a == 0 or a > b else a - type(a)(1),
}  # fmt: skip
REDUCTIONS = (
    ("add", "uint32"), ("add", "float32"), ("add", "float64"), ("add", "float16"), ("add", "int64"), ("min", "int32"),
    ("max", "float16"), ("min", "float16"), ("max", "uint64"), ("and", "uint32"), ("or", "int64"), ("xor", "int32"),
    ("inc", "uint32"), ("dec", "uint32"),
)  # fmt: skip


@pytest.mark.parametrize(("operation", "dtype"), REDUCTIONS)
def test_a_reduction_updates_each_element(operation, dtype):
    rng = np.random.default_rng(7)
    tile, x, _ = random_tile(rng, 2, dtype)
    start = [0, 1]
    count = n_bytes(tile) // tile.element.n_bytes
    if tile.element.is_float:
        x, values = rng.standard_normal(x.size).astype(dtype), rng.standard_normal(count).astype(dtype)
    else:
        x, values = rng.integers(0, 100, x.size).astype(dtype), rng.integers(0, 100, count).astype(dtype)
    shared = values.view(np.uint8)
    result = launch(program(2, operation), tile, x, Argument("y", Direction.IN, shared), start)
    assert np.array_equal(result.outputs["x"], stored(x, shared, tile, start, OPERATIONS[operation]))
    assert errors(result) == []


def small(**more):
    return TensorMap.of("x", (16, 32), "float32", (32, 4), **more)


def found(compiled, tile, start=(0, 0), **more):
    x = np.zeros(512, np.float32)
    y = Argument("y", Direction.INOUT, np.zeros(n_bytes(tile), np.uint8))
    return errors(launch(compiled, tile, x, y, list(start), **more))


def test_a_map_of_another_rank_is_named():
    row = found(program(3, "load"), small())[0]
    assert row.check == "asynccheck.misuse" and "2 dimensions in an instruction for 3" in row.message


def test_a_map_in_local_memory_is_named():
    text = "CUtensorMap near = map; near.opaque[15] += total;"
    body = LOAD.replace("COPY", text + copy(2, map="&near", operation="load"))
    row = found(Program.from_cuda(HEAD + body, arch="sm_90"), small())[0]
    assert (
        row.check == "asynccheck.misuse" and "local or shared memory" in row.message and "__grid_constant__" in row.help
    )


def test_other_bytes_are_no_map():
    row = found(program(2, "load", map="(const void*)y"), small())[0]
    assert row.check == "asynccheck.misuse" and "no tensor map" in row.message


@pytest.mark.parametrize(("start", "says"), [(5, "element 5 of 4 bytes"), (-3, "element -3 of 4 bytes")])
def test_a_row_starts_at_a_multiple_of_16_bytes(start, says):
    """An H200 stops with an illegal instruction there."""
    row = found(program(2, "load"), small(), (start, 0))[0]
    assert row.check == "asynccheck.misuse" and says in row.message and "multiple of 4" in row.help


@pytest.mark.parametrize("operation", ["", "add"])
@pytest.mark.parametrize(
    ("start", "says"), [((-4, 0), "-4 on along dimension 0"), ((0, -1), "-1 on along dimension 1")]
)
def test_a_tile_is_not_stored_from_before_its_tensor(operation, start, says):
    """An H200 stops with an illegal instruction there."""
    row = found(program(2, operation), small(), start)[0]
    assert row.check == "asynccheck.misuse" and says in row.message and "begins inside" in row.help


def crafted(**fields):
    """The bytes of a sound map, with fields changed as no host would."""
    m = TileMap.structure().from_buffer_copy(map_bytes(small(), 0x7F00_0000_0000))
    for name, value in fields.items():
        if isinstance(value, tuple):
            getattr(m, name)[value[0]] = value[1]
        else:
            setattr(m, name, value)
    return np.frombuffer(bytes(m), np.uint8)


def map_in_memory():
    """A load by the map that lies in `y`."""
    body = LOAD.replace("COPY", copy(2, map="(const void*)y", operation="load"))
    return Program.from_cuda(HEAD + body.replace("for (int i", "if (total < 0) for (int i"), arch="sm_90")


HOSTILE = {
    "magic": {"magic": 0}, "rank": {"rank": 0}, "many dimensions": {"rank": 6}, "element": {"element": 12},
    "bytes of another element": {"element": 8}, "no bytes": {"element_bytes": 0}, "swizzle": {"swizzle": 4}, "fill": {"fill": 2},
    "odd address": {"address": 0x7F00_0000_0008}, "odd stride": {"strides": (0, 132)}, "far": {"strides": (1, 1 << 44)},
    "no step": {"steps": (1, 0)}, "wide for its swizzle": {"swizzle": 1}, "odd box": {"box": (0, 29)},
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_bytes_that_a_host_never_makes_are_no_map(name):
    compiled = map_in_memory()
    y = Argument("y", Direction.INOUT, crafted(**HOSTILE[name]))
    row = errors(launch(compiled, small(), np.zeros(512, np.float32), y, [0, 0]))[0]
    assert row.check == "asynccheck.misuse" and "no tensor map" in row.message


def test_a_crafted_map_reaches_only_what_the_kernel_may():
    compiled = map_in_memory()
    y = Argument("y", Direction.INOUT, crafted(address=0x7F77_0000_0000))
    rows = errors(launch(compiled, small(), np.zeros(512, np.float32), y, [0, 0]))
    assert rows[0].check == "memcheck.global.read-oob"


def test_a_tile_starts_at_a_multiple_of_128_bytes():
    body = LOAD.replace("COPY", copy(2, shared="s + 64", operation="load"))
    tile = TensorMap.of("x", (16, 32), "float32", (32, 2))
    text = (HEAD + body).replace("extern __shared__", "__shared__").replace("char s[]", "char s[1024]")
    row = found(Program.from_cuda(text, arch="sm_90"), tile)[0]
    assert row.check == "memcheck.misaligned" and "64 past a multiple of 128" in row.message


def test_a_box_outside_the_buffer_but_inside_the_tensor_is_out_of_bounds():
    tile = small(global_dim=(32, 64), global_stride_bytes=(128,))
    y = Argument("y", Direction.OUT, np.zeros(n_bytes(tile), np.uint8))
    result = launch(program(2, "load"), tile, np.ones(512, np.float32), y, [0, 14])
    row = errors(result)[0]
    assert row.check == "memcheck.global.read-oob" and "`x" in row.message
    values = result.outputs["y"].view(np.float32)
    assert (values[:64] == 1).all() and np.isnan(values[64:]).all()


def test_bytes_that_are_not_all_announced_leave_the_waiters_waiting():
    row = found(program(2, "load"), small(), bytes=256)[0]
    assert row.check == "deadlock.mbarrier-tx" and "256 too many" in row.message


def test_reductions_refuse_elements_that_they_do_not_take():
    tile = TensorMap.of("x", (16, 64), "uint16", (32, 4))
    x, y = np.zeros(1024, np.uint16), Argument("y", Direction.IN, np.zeros(256, np.uint8))
    row = errors(launch(program(2, "add"), tile, x, y, [0, 0]))[0]
    assert row.check == "asynccheck.misuse" and "do not take" in row.message
