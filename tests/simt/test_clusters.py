"""Blocks that are resident together: clusters and their shared memory, cooperative grids, and who waits in vain."""

from pathlib import Path

import numpy as np
import pytest

from simt.events import Argument, Direction, Status
from simt.gpus import gpu
from simt.launch import Dim3, LaunchConfig
from simt.program import Program

KERNELS = Path(__file__).parent / "kernels" / "cluster"
GROUPS = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"
ARRIVE, WAIT = (
    'asm volatile("barrier.cluster.arrive;" ::: "memory");',
    'asm volatile("barrier.cluster.wait;" ::: "memory");',
)
THERE = """__device__ unsigned there(const void* place, unsigned rank) {
    unsigned address, here = (unsigned)__cvta_generic_to_shared(place);
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(here), "r"(rank));
    return address;
}
"""


def built(body, dims="__cluster_dims__(2)", head=""):
    text = f'{head}extern "C" __global__ {dims} void k(const float* x, float* y) {{\n{body}\n}}\n'
    return Program.from_cuda(text, arch="sm_90")


def launched(program, *, grid=2, block=64, n=None, threads=None, **config):
    n = n or grid * block
    x = np.arange(1, n + 1, dtype=np.float32)
    arguments = [Argument("x", Direction.IN, x), Argument("y", Direction.OUT, np.zeros(n, np.float32))]
    return program.launch(LaunchConfig(Dim3(grid), Dim3(block), **config), arguments, threads=threads)


def errors(result):
    return [(d.check, d.line) for d in result.diagnostics if d.severity != "advice"]


SWAP = """    __shared__ float tile[64];
    auto cluster = cg::this_cluster();
    int i = blockIdx.x * 64 + threadIdx.x;
    tile[threadIdx.x] = x[i];
    cluster.sync();
    y[i] = *cluster.map_shared_rank(&tile[threadIdx.x], cluster.num_blocks() - 1 - cluster.block_rank());
    cluster.sync();"""


@pytest.fixture(scope="module")
def swap():
    return built(SWAP, dims="", head=GROUPS)


@pytest.mark.parametrize("size", [1, 2, 4, 8])
def test_a_cluster_is_as_large_as_the_launch_says(swap, size):
    result = launched(swap, grid=8, cluster=Dim3(size))
    x = np.arange(1, 513, dtype=np.float32).reshape(8 // size, size, 64)
    assert (errors(result), result.status) == ([], Status.OK)
    assert np.array_equal(result.outputs["y"].reshape(x.shape), x[:, ::-1])


def test_answers_do_not_depend_on_the_number_of_threads(swap):
    one, many = (launched(swap, grid=64, cluster=Dim3(4), threads=threads) for threads in (1, 3))
    assert np.array_equal(one.outputs["y"], many.outputs["y"])
    assert one.counters == many.counters
    assert (one.counters.dsmem_load_requests, one.counters.dsmem_bytes, one.counters.cluster_barriers) == (
        128,
        16384,
        256,
    )


def test_a_grid_in_two_dimensions_is_cut_into_clusters_as_cuda_does():
    program = built(
        "    y[4 * (blockIdx.y * 4 + blockIdx.x) + threadIdx.x] = 10 * cg::this_cluster().block_rank() + threadIdx.x;",
        "",
        GROUPS,
    )
    x = np.zeros(64, np.float32)
    config = LaunchConfig(Dim3(4, 4), Dim3(4), cluster=Dim3(2, 2))
    result = program.launch(config, [Argument("x", Direction.IN, x), Argument("y", Direction.OUT, x.copy())])
    ranks = result.outputs["y"].reshape(4, 4, 4)[:, :, 0] // 10
    assert ranks.tolist() == [[0, 1, 0, 1], [2, 3, 2, 3]] * 2


def test_a_launch_cannot_name_another_cluster_than_the_kernel():
    result = launched(built("    y[blockIdx.x * 64 + threadIdx.x] = 1;"), grid=4, cluster=Dim3(4))
    (found,) = result.diagnostics
    assert (found.check, result.status) == ("launch.cluster", Status.REJECTED)


@pytest.mark.parametrize(
    ("size", "said"), [(16, "up to 16 need cudaFuncAttributeNonPortableClusterSizeAllowed"), (3, "round grid.x")]
)
def test_a_cluster_that_does_not_start_says_why_in_numbers(swap, size, said):
    result = launched(swap, grid=16, cluster=Dim3(size))
    assert [(d.check, said in d.help) for d in result.diagnostics] == [("launch.cluster", True)]


def test_a_rank_beyond_the_cluster_is_out_of_bounds():
    body = SWAP.replace("cluster.num_blocks() - 1 - cluster.block_rank()", "cluster.block_rank() + 1")
    result = launched(built(body, head=GROUPS))
    (found,) = [d for d in result.diagnostics if d.severity == "error"]
    assert (found.check, found.block) == ("memcheck.shared.read-oob", (1, 0, 0))
    assert "byte 0 of the shared memory of block 2 of its cluster: the cluster has no such block" in found.message


def test_an_address_of_the_cluster_is_no_address_of_the_block():
    body = """    __shared__ float tile[64];
    float value;
    tile[threadIdx.x] = x[threadIdx.x];
    asm volatile("barrier.cluster.arrive;\\nbarrier.cluster.wait;" ::: "memory");
    asm volatile("ld.shared::cta.f32 %0, [%1];" : "=f"(value) : "r"(there(&tile[threadIdx.x], 1)));
    y[blockIdx.x * 64 + threadIdx.x] = value;
    asm volatile("barrier.cluster.arrive;\\nbarrier.cluster.wait;" ::: "memory");"""
    assert errors(launched(built(body, head=THERE)))[0][0] == "memcheck.shared.read-oob"


def test_a_block_that_leaves_while_another_reads_is_told_in_any_order():
    body = SWAP.replace(
        "    cluster.sync();", "    cluster.sync();\n    if (cluster.block_rank()) { y[i] = 0; return; }", 1
    )
    result = launched(built(body.rpartition("    cluster.sync();")[0], head=GROUPS))
    (found,) = [d for d in result.diagnostics if d.severity == "error"]
    assert (found.check, found.block, found.line) == ("synccheck.cluster-exit", (0, 0, 0), 10)
    assert "block (1,0,0) exits without waiting for" in found.message


def test_a_block_may_leave_once_an_mbarrier_told_it_that_all_have_read():
    body = """    __shared__ float tile[64];
    __shared__ unsigned long long bar;
    unsigned rank = blockIdx.x % 2, here = (unsigned)__cvta_generic_to_shared(&bar);
    float value;
    tile[threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(here) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;\\nbarrier.cluster.arrive;\\nbarrier.cluster.wait;" ::: "memory");
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(there(&tile[threadIdx.x], rank ^ 1)) : "memory");
    y[blockIdx.x * 64 + threadIdx.x] = value;
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(there(&bar, rank ^ 1)) : "memory");
    asm volatile("{\\n.reg .pred p;\\nagain:\\nmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\\n"
                 "@!p bra again;\\n}" :: "r"(here) : "memory");"""
    result = launched(built(body, head=THERE), grid=4)
    x = np.arange(1, 257, dtype=np.float32).reshape(2, 2, 64)
    assert errors(result) == []
    assert np.array_equal(result.outputs["y"].reshape(x.shape), x[:, ::-1])


def test_lanes_that_exited_are_not_waited_for():
    body = f"""    int i = blockIdx.x * 48 + threadIdx.x;
    if (threadIdx.x == 40) {{ y[i] = 0; return; }}
    {ARRIVE}
    y[i] = x[i];
    {WAIT}"""
    assert errors(launched(built(body), block=48)) == []


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        (f"    {ARRIVE}\n    {ARRIVE}\n    {WAIT}", 3, "arrives at the barrier of its cluster again"),
        (f"    {WAIT}", 2, "without having arrived"),
    ],
)
def test_arrivals_and_waits_take_turns(body, line, said):
    result = launched(built(f"{body}\n    y[blockIdx.x * 64 + threadIdx.x] = x[0];"))
    found = [d for d in result.diagnostics if d.check == "synccheck.cluster-barrier"]
    assert [(d.line, said in d.message) for d in found] == [(line, True)]


def test_who_arrived_may_exit_without_waiting():
    body = f"""    {ARRIVE}
    if (blockIdx.x == 1) {WAIT}
    y[blockIdx.x * 64 + threadIdx.x] = x[blockIdx.x * 64 + threadIdx.x];"""
    assert errors(launched(built(body))) == []


def test_a_warp_that_never_arrives_is_named_with_the_place_where_it_waits():
    body = f"""    y[blockIdx.x * 64 + threadIdx.x] = x[0];
    if (blockIdx.x == 1 && threadIdx.x >= 32) asm volatile("bar.sync 1, 64;");
    {ARRIVE}
    {WAIT}"""
    result = launched(built(body))
    (found,) = [d for d in result.diagnostics if d.severity == "error"]
    assert (found.check, result.status, found.also_line) == ("deadlock.cluster", Status.STOPPED, 3)
    assert "warp 1 of block (1,0,0) has not arrived" in found.message


def test_blocks_of_a_cluster_have_shared_memory_of_their_own():
    body = """    __shared__ float tile[64];
    if (blockIdx.x == 0) tile[threadIdx.x] = 1;
    asm volatile("barrier.cluster.arrive;\\nbarrier.cluster.wait;" ::: "memory");
    y[blockIdx.x * 64 + threadIdx.x] = tile[threadIdx.x];"""
    assert ("initcheck.shared", 5) in errors(launched(built(body)))


MULTICAST = """    __shared__ __align__(16) float row[64];
    __shared__ unsigned long long bar;
    unsigned here = (unsigned)__cvta_generic_to_shared(&bar), place = (unsigned)__cvta_generic_to_shared(row);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;\\n"
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 256;" :: "r"(here) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;\\nbarrier.cluster.arrive;\\nbarrier.cluster.wait;" ::: "memory");
    if (threadIdx.x == 0 && blockIdx.x == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                     "[%0], [%1], 256, [%2], %3;"
                     :: "r"(place), "l"(x), "r"(here), "h"((short)MASK) : "memory");
    asm volatile("{\\n.reg .pred p;\\nagain:\\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\\n@!p bra again;\\n}"
                 :: "r"(here) : "memory");
    y[blockIdx.x * 64 + threadIdx.x] = row[threadIdx.x];
    asm volatile("barrier.cluster.arrive;\\nbarrier.cluster.wait;" ::: "memory");"""


def test_a_multicast_that_forgets_a_block_leaves_it_waiting_for_its_bytes():
    result = launched(built(MULTICAST.replace("MASK", "1")))
    assert ("deadlock.mbarrier-tx", (1, 0, 0)) in [(d.check, d.block) for d in result.diagnostics]


def test_a_multicast_to_a_block_that_is_not_there_is_told():
    result = launched(built(MULTICAST.replace("MASK", "7")))
    assert "memcheck.shared.write-oob" in {d.check for d in result.diagnostics}
    assert np.array_equal(result.outputs["y"], np.tile(np.arange(1, 65, dtype=np.float32), 2))


HAND_MADE = (Path(__file__).parents[1] / "attacks" / "d02_deadlock_grid.cu").read_text(encoding="utf-8")


@pytest.mark.parametrize(("cooperative", "found"), [(True, set()), (False, {"livelock.spin"})])
def test_a_barrier_made_by_hand_ends_where_all_blocks_are_resident(cooperative, found):
    program = Program.from_cuda(HAND_MADE, kernel="solve")
    x = np.ones(256, np.float32)
    n = Argument("n", Direction.SCALAR, np.int32(256))
    arguments = [Argument("x", Direction.IN, x), Argument("y", Direction.OUT, x * 0), n]
    result = program.launch(LaunchConfig(Dim3(4), Dim3(64), cooperative=cooperative), arguments)
    assert found == {d.check for d in result.diagnostics if d.check == "livelock.spin"}
    assert (result.status is Status.STOPPED) is not cooperative


GRID = (
    GROUPS
    + """extern "C" __global__ void k(const float* x, float* y) {
    int i = cg::this_grid().thread_rank();
    y[i] = x[i];
    cg::this_grid().sync();
    float other = y[gridDim.x * blockDim.x - 1 - i];
    cg::this_grid().sync();
    y[i] = other;
}
"""
)


@pytest.fixture(scope="module")
def mirrored():
    return Program.from_cuda(GRID, arch="sm_90")


@pytest.mark.parametrize("more", [{}, {"cluster": Dim3(3)}])
def test_a_cooperative_grid_meets(mirrored, more):
    result = launched(mirrored, grid=12, cooperative=True, **more)
    assert errors(result) == []
    assert np.array_equal(result.outputs["y"], np.arange(768, 0, -1, dtype=np.float32))


def test_a_grid_of_one_block_meets(mirrored):
    assert errors(launched(mirrored, grid=1, cooperative=True)) == []


def test_the_limit_of_a_cooperative_grid_is_told_in_numbers(mirrored):
    result = launched(mirrored, grid=5000, n=320_000, cooperative=True)
    (found,) = result.diagnostics
    assert (found.check, result.status) == ("launch.cooperative", Status.REJECTED)
    assert "5000 blocks" in found.message and "132 SMs, 4224 at once" in found.message


def test_blocks_that_wait_together_are_estimated_together(swap, mirrored):
    x = np.ones(512, np.float32)
    arguments = [Argument("x", Direction.IN, x), Argument("y", Direction.OUT, x * 0)]
    for program, more in ((swap, {"cluster": Dim3(4)}), (mirrored, {"cooperative": True})):
        refused, (row,) = program.estimates(LaunchConfig(Dim3(8), Dim3(64), **more), arguments, [gpu("h200")])
        assert not refused and row.estimate is not None and row.blocks_run == 8


EXPLICIT = """.version 8.5
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y) {
  .reg .pred %p<2>;
  .reg .b32 %r<8>;
  .reg .b64 %rd<6>;
  .reg .f32 %f<2>;
  .shared .align 4 .b8 word[4];
  ld.param.u64 %rd1, [y];
  mov.pred %p1, %is_explicit_cluster;
  selp.u32 %r1, 100, 200, %p1;
  mov.u32 %r2, %ctaid.x;
  mov.u32 %r3, %cluster_nctarank;
  sub.u32 %r3, %r3, 1;
  mapa.shared::cluster.u32 %r4, word, %r3;
  getctarank.shared::cluster.u32 %r5, %r4;
  add.u32 %r1, %r1, %r5;
  mov.u64 %rd2, word;
  cvta.shared.u64 %rd2, %rd2;
  mapa.u64 %rd3, %rd2, %r3;
  getctarank.u64 %r6, %rd3;
  mad.lo.u32 %r1, %r6, 10, %r1;
  isspacep.shared::cta %p1, %rd3;
  @%p1 add.u32 %r1, %r1, 1000;
  isspacep.shared::cluster %p1, %rd3;
  @%p1 add.u32 %r1, %r1, 2000;
  cvt.rn.f32.u32 %f1, %r1;
  mul.wide.u32 %rd4, %r2, 4;
  add.u64 %rd1, %rd1, %rd4;
  st.global.f32 [%rd1], %f1;
  ret;
}
"""


@pytest.mark.parametrize(("cluster", "wanted"), [(None, 2200), (Dim3(1), 2100), (Dim3(2), 2111)])
def test_addresses_and_registers_tell_of_the_cluster(cluster, wanted):
    result = launched(Program.from_ptx(EXPLICIT, arch="sm_90"), block=1, cluster=cluster)
    assert result.outputs["y"].tolist() == [wanted] * 2
