"""One warp followed step by step: lanes, addresses, values of variables, copies in flight, and the limit."""

import json

import numpy as np
import pytest

from simt.cli import main
from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.program import Program
from simt.warp_trace import WarpRequest, WarpTrace, named_variables

SOURCE = """extern "C" __global__ void clip(const float* x, float* y, int n) {
    __shared__ float tile[64];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = x[i];
    if (threadIdx.x % 4 == 0)
        v = v * 2.0f;
    tile[threadIdx.x] = v;
    __syncthreads();
    if (i < n)
        y[i] = tile[63 - threadIdx.x];
}
"""
X = np.arange(128, dtype=np.float32)
CONFIG = LaunchConfig(Dim3(2), Dim3(64))


def arguments(n=100):
    return [
        Argument("x", Direction.IN, X),
        Argument("y", Direction.OUT, np.zeros(128, np.float32)),
        Argument("n", Direction.SCALAR, np.int32(n)),
    ]


@pytest.fixture(scope="module")
def program():
    return Program.from_cuda(SOURCE)


@pytest.fixture(scope="module")
def trace(program):
    return program.trace(CONFIG, arguments(), block=(1, 0, 0), warp=1)


def steps_of(trace, line, name):
    return [row for row in trace.steps if row.line == line and row.opcode.startswith(name)]


def test_the_warp_asked_for_is_the_one_followed(trace):
    assert (trace.block, trace.warp, trace.kernel, trace.truncated) == ((1, 0, 0), 1, "clip", False)
    (load,) = steps_of(trace, 4, "ld.global")
    assert load.active == 0xFFFFFFFF and load.space == "global"
    assert np.diff(load.addresses).tolist() == [4] * 31
    (values,) = load.written.values()
    assert values == tuple(X[96:])


def test_variables_have_their_source_names(trace):
    last = len(trace.steps) - 1
    known = trace.variables(last)
    assert known["i"] == tuple(range(96, 128))
    assert trace.variables(0) == {}


def test_lanes_part_at_a_branch(trace):
    jumps = [row for row in trace.steps if row.opcode.startswith("bra") and row.taken is not None]
    (own,) = [row for row in jumps if row.line == 9]
    assert own.active == 0xFFFFFFFF and own.taken in (0xF, 0xFFFFFFF0)
    (store,) = steps_of(trace, 10, "st.global")
    assert store.lanes == (0, 1, 2, 3)
    assert [at is None for at in store.addresses] == [False] * 4 + [True] * 28


def test_a_barrier_is_a_step(trace):
    (wait,) = steps_of(trace, 8, "bar")
    assert wait.active == 0xFFFFFFFF and wait.written == {}
    (write,) = steps_of(trace, 7, "st.shared")
    assert write.addresses == tuple(range(128, 256, 4)) and write.space == "shared"


def test_following_changes_no_result(program):
    followed = program.launch(CONFIG, arguments(), steps=WarpRequest((1, 0, 0), 1))
    plain = program.launch(CONFIG, arguments())
    assert plain.warp_trace is None and plain.counters == followed.counters
    assert np.array_equal(plain.outputs["y"], followed.outputs["y"], equal_nan=True)
    assert plain.diagnostics == followed.diagnostics


def test_a_trace_ends_at_its_limit(program, trace):
    short = program.trace(CONFIG, arguments(), block=(1, 0, 0), warp=1, limit=5)
    assert short.truncated and short.steps == trace.steps[:5]


@pytest.mark.parametrize("where", [{"block": (2, 0, 0)}, {"warp": 2}, {"limit": 0}, {"limit": 10**9}, {"warp": -1}])
def test_a_warp_that_is_not_there_is_refused(program, where):
    with pytest.raises(ValueError):
        program.trace(CONFIG, arguments(), **where)


def test_a_launch_that_does_not_run_says_why(program):
    with pytest.raises(ValueError, match="3 parameters, 2 arguments"):
        program.trace(CONFIG, arguments()[:2])


def test_json_holds_all_of_it(trace):
    plain = json.loads(json.dumps(trace.to_json(), allow_nan=False))
    assert WarpTrace.from_json(plain) == trace
    with pytest.raises(ValueError, match="schema"):
        WarpTrace.from_json(plain | {"schema": 99})


def test_values_that_json_has_no_number_for_come_back():
    source = 'extern "C" __global__ void k(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] * 2.0f; }'
    x = np.array([np.inf, -np.inf, np.nan, 1] * 8, np.float32)
    outs = [Argument("x", Direction.IN, x), Argument("y", Direction.OUT, x)]
    trace = Program.from_cuda(source).trace(LaunchConfig(Dim3(1), Dim3(32)), outs)
    back = WarpTrace.from_json(json.loads(json.dumps(trace.to_json(), allow_nan=False)))
    (load,) = [row for row in back.steps if row.opcode.startswith("ld.global")]
    (values,) = load.written.values()
    assert np.array_equal(np.float32(values), x, equal_nan=True)


def test_copies_in_flight_are_counted():
    source = """extern "C" __global__ void k(const float* x, float* y) {
    __shared__ float tile[32];
    unsigned place = __cvta_generic_to_shared(&tile[threadIdx.x]);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" :: "r"(place), "l"(x + threadIdx.x) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    y[threadIdx.x] = tile[31 - threadIdx.x];
}"""
    outs = [Argument("x", Direction.IN, X[:32]), Argument("y", Direction.OUT, X[:32])]
    trace = Program.from_cuda(source).trace(LaunchConfig(Dim3(1), Dim3(32)), outs)
    flying = {row.opcode: row.in_flight for row in trace.steps if row.opcode.startswith(("cp", "bar"))}
    assert flying["cp.async.commit_group"] == 1 and flying["bar.sync"] == 0


ROWS = {
    "a declaration": ("int i = 3;", "s32", "i"),
    "a sum": ("float s; s += x;", "f32", "s"),
    "another type": ("int i = 3;", "f32", None),
    "an element": ("float s; y[i] = s;", "f32", None),
    "two at once": ("int i = 1; int j = 2;", "s32", None),
    "a comparison": ("int i; if (i == 3) return;", "s32", None),
    "a loop": ("for (int i = 0; i < 3; i++)", "s32", None),
    "a member": ("float s; p->s = 1;", "f32", None),
    "a pointer": ("const float* s = x;", "b64", None),
}


@pytest.mark.parametrize(("text", "kind", "name"), ROWS.values(), ids=ROWS.keys())
def test_a_name_is_given_where_the_line_leaves_no_doubt(text, kind, name):
    assert named_variables(text, [(1, kind)]) == [name]


def test_the_command_writes_a_trace_for_each_launch(tmp_path, capsys):
    (tmp_path / "k.cu").write_text(SOURCE)
    wanted = {"x": 'init = "iota"', "y": ""}
    rows = "".join(
        f'[[args]]\nname = "{name}"\ndtype = "float32"\nshape = [128]\n{rest}\n' for name, rest in wanted.items()
    )
    (tmp_path / "l.toml").write_text(
        f'grid = 2\nblock = 64\n{rows}[[args]]\nname = "n"\ndtype = "int32"\nvalue = 128\n'
    )
    words = [
        "run",
        str(tmp_path / "k.cu"),
        "--launch",
        str(tmp_path / "l.toml"),
        "--trace-out",
        str(tmp_path / "t.json"),
    ]
    assert main([*words, "--trace", "1:1"]) == 0
    (plain,) = json.loads((tmp_path / "t.json").read_text())["traces"]
    assert WarpTrace.from_json(plain).variables(len(plain["steps"]) - 1)["i"] == tuple(range(96, 128))
    capsys.readouterr()
    assert main([*words, "--trace", "5:1"]) == 1
    assert "no warp" in capsys.readouterr().out
    for wrong in ("1", "a:b", "1,2,3,4:0"):
        with pytest.raises(SystemExit):
            main([*words, "--trace", wrong])
