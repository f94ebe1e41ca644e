"""Hostile texts end in an answer: a fixed batch of them here, and every kind that once did not.

`python -m tests.fuzz --seconds 3600 --seed 7` looks further.
"""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from simt.codegen.lower import lower
from simt.codegen.plan import make_plan
from simt.events import Argument, Budget, Direction, Status
from simt.launch import Dim3, LaunchConfig
from simt.program import Program
from tests.fuzz.child import KINDS, text_of
from tests.fuzz.mutations import BYTE_MUTATIONS, PTX_MUTATIONS
from tests.fuzz.parent import fuzz

ROOT = Path(__file__).resolve().parents[2]
N_CASES = 300


@pytest.mark.timeout(900)
def test_hostile_texts_end_in_an_answer():
    outcome = fuzz(seed=11, first=0, count=N_CASES)
    assert not outcome.failures, "\n".join(f"case {row.index}: {row.what}" for row in outcome.failures)
    assert outcome.ended.total() == N_CASES
    words = {word for word in outcome.ended if word.startswith("ptx")}
    assert {"ptx ok", "ptx findings", "ptx not_supported", "ptx refused"} <= words, "mutations reach every stage"


@pytest.mark.full
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("kind", KINDS)
def test_many_hostile_texts_end_in_an_answer(kind):
    outcome = fuzz(seed=12, first=0, count=2000 if kind != "cuda" else 300, kind=kind)
    assert not outcome.failures, "\n".join(f"case {row.index}: {row.what}" for row in outcome.failures)


def test_a_case_is_the_same_whenever_it_is_made():
    assert [text_of(3, index) for index in range(20)] == [text_of(3, index) for index in range(20)]
    assert len({text_of(3, index)[2] for index in range(20)}) == 20


def test_every_mutation_changes_some_text():
    import random

    from tests.fuzz.corpus import pick_ptx

    texts = [pick_ptx(random.Random(number), 0, 0)[1] for number in range(30)]
    for mutate in set(PTX_MUTATIONS):
        changed = 0
        for number, text in enumerate(texts):
            lines = text.split("\n")
            mutate(random.Random(number), lines)
            changed += "\n".join(lines) != text
        assert changed, mutate.__name__
    for mutate in BYTE_MUTATIONS:
        data = bytearray(texts[0], "utf-8")
        mutate(random.Random(5), data)
        assert data != texts[0].encode(), mutate.__name__


def test_the_fuzzer_writes_every_instruction_of_the_table():
    """An opcode that the table lacks would be refused for its name alone, and its operands never looked at."""
    import random

    from simt.isa.table import ROWS, lookup
    from tests.fuzz.instructions import any_instruction

    rng, made = random.Random(0), set()
    for _ in range(8000):
        opcode = (
            re.sub(r"^@\S+ ", "", any_instruction(rng, lambda stem: f"%{stem}1", lambda: "7")).split(" ")[0].rstrip(";")
        )
        made.add(lookup(opcode).op.name)
    assert made == {row.name for row in ROWS} - {"call"}


CRASHES = {
    "segfault": "import faulthandler, ctypes; ctypes.string_at(0)",
    "behind": "import numpy; from simt.runner.host_memory import zeroed; a = zeroed(4096);"
    "import ctypes; ctypes.string_at(a.ctypes.data + 4096)",
    "before": "from simt.runner.host_memory import host_bytes; a = host_bytes(4096);"
    "import ctypes; ctypes.memset(a.ctypes.data - 1, 0, 1)",
}


@pytest.mark.parametrize("name", CRASHES)
def test_guard_pages_end_a_process_that_leaves_its_memory(name):
    done = subprocess.run(
        [sys.executable, "-c", CRASHES[name]], cwd=ROOT, env=os.environ | {"SIMT_GUARD_PAGES": "1"}, capture_output=True
    )
    assert done.returncode == -signal.SIGSEGV


# --- what the fuzzer found: instructions in a kernel, and how the launch has to end

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 k_param_0, .param .u32 k_param_1) {
.reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %rd<8>;
ld.param.u64 %rd1, [k_param_0];
ld.param.u32 %r1, [k_param_1];
mov.u32 %r2, %tid.x;
setp.eq.u32 %p1, %r2, 0;
"""
REFUSED, UNSUPPORTED, FOUND = Status.REJECTED, Status.NOT_SUPPORTED, Status.FINDINGS
ROWS = {
    "barrier 16": ("bar.sync 16;", FOUND, "synccheck.barrier-operands"),
    "a barrier out of a register": ("bar.arrive %r1, 32; bar.sync 2147483648;", FOUND, "synccheck.barrier-operands"),
    "half a warp at a barrier": ("bar.sync 1, 16;", FOUND, "synccheck.barrier-operands"),
    "a parameter far away": ("ld.param.u64 %rd2, [k_param_0+2147483640];", FOUND, "memcheck.const.oob"),
    "a parameter before the first": ("ld.param.u32 %r3, [k_param_0+-4];", FOUND, "memcheck.const.oob"),
    "an offset of more than 64 bits": ("ld.global.u32 %r3, [%rd1+99999999999999999999];", FOUND, "memcheck"),
    "two registers for a vector of four": ("ld.global.v4.f32 {%f1, %f2}, [%rd1];", UNSUPPORTED, "ptx.unsupported"),
    "eight wide elements into one": ("ld.v8.b64 {%rd2}, [%rd1];", UNSUPPORTED, "ptx.unsupported"),
    "four values for two": ("st.global.v2.u32 [%rd1], {%r1, %r1, %r1, %r1};", UNSUPPORTED, "ptx.unsupported"),
    "a number as destination": ("mov.u32 7, %ntid.x;", UNSUPPORTED, "ptx.unsupported"),
    "a predicate of a number": ("mov.pred %p2, %ntid.x;", UNSUPPORTED, "ptx.unsupported"),
    "a guard that is a number": ("@%r1 bra $end;", UNSUPPORTED, "ptx.unsupported"),
    "a coordinate that is not there": ("mov.u32 %r3, %tid.w;", UNSUPPORTED, "ptx.unsupported"),
    "no source": ("add.s32 %r3, %r1;", UNSUPPORTED, "ptx.unsupported"),
    "no such modifier": ("ld.global.quick.f32 %f1, [%rd1];", UNSUPPORTED, "ptx.unsupported"),
    "a shuffle without its mask": ("shfl.sync.idx.b32 %r3, %r2, 0;", UNSUPPORTED, "ptx.unsupported"),
    "a bulk copy with nothing": (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes;", UNSUPPORTED, "ptx.unsupported"),
    "a bulk copy without its mbarrier": (
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16;", UNSUPPORTED, "ptx.unsupported"),
    "a tile without its place": (
        "cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd1, {%r1}];", UNSUPPORTED, "ptx.unsupported"),
    "a tile with too few coordinates": (
        "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r1}], [%r2];", UNSUPPORTED, "ptx.unsupported"),
    "a wait for any number of bulk groups": ("cp.async.bulk.wait_group %r1;", UNSUPPORTED, "ptx.unsupported"),
    "a jump to nowhere": ("@%p1 bra $nowhere;", Status.BUILD_FAILED, "ptx.invalid"),
    "a shift by less than nothing": ("shl.b32 %r2, %r2, -2147483648; shl.b32 %r2, %r2, -1;", Status.OK, ""),
    "256 TiB of shared memory": (".shared .b8 hole[281474976710656]; mov.u32 %r3, hole;", REFUSED, "launch.shared-limit"),
    "a GiB of local memory": (".local .b8 deep[1073741824]; mov.u64 %rd2, deep;", REFUSED, "runtime.stack"),
}  # fmt: skip


def launched(code, head=HEAD, **options):
    program = Program.from_ptx(head + code + "\n$end: ret; }", arch="sm_90")
    arguments = [
        Argument("x", Direction.INOUT, np.zeros(64, np.float32)),
        Argument("n", Direction.SCALAR, np.int32(99)),
    ]
    return program.launch(LaunchConfig(Dim3(1), Dim3(64)), arguments, **options)


@pytest.mark.parametrize(("code", "status", "check"), ROWS.values(), ids=ROWS.keys())
def test_what_once_crashed_is_an_answer(code, status, check):
    result = launched(code, budget=Budget(seconds=10))
    assert result.status is status, result.diagnostics
    assert not check or any(found.check.startswith(check) for found in result.diagnostics)
    if status is UNSUPPORTED:
        assert "PTX line 10" in result.diagnostics[0].message


def test_variables_of_the_module_count_as_memory():
    head = HEAD.replace(".visible .entry", ".visible .global .align 4 .b8 wide[70368744177664];\n.visible .entry")
    result = launched("mov.u64 %rd2, wide; ld.global.u32 %r3, [%rd2];", head)
    assert result.status is REFUSED and result.diagnostics[0].check == "launch.memory"


VPRINTF = ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);\n"


@pytest.mark.parametrize(
    "place", [0, 1 << 41, (1 << 41) + 16, (1 << 63) + (1 << 41) - 64, (1 << 64) - 8, (1 << 41) - 1]
)
def test_printf_reads_its_arguments_from_local_memory_only(place):
    """Places around the window of local memory, and those that a signed comparison would take for one in it."""
    call = (
        f".local .b8 kept[16]; .param .b64 p0; .param .b64 p1; .param .b32 r0; mov.u64 %rd2, {place}; "
        "st.param.b64 [p0], %rd1; st.param.b64 [p1], %rd2; call.uni (r0), vprintf, (p0, p1);"
    )
    result = launched(call, HEAD.replace(".visible .entry", VPRINTF + ".visible .entry"))
    assert result.status in (Status.OK, FOUND) and result.printed == ""


FORGED = {
    "elements of another size": {"element_bytes": 1},
    "wide elements": {"element_bytes": 8},
    "rows wider than the swizzle": {"swizzle": 1},
    "no type": {"element": 10},
    "no dimension": {"rank": 0},
    "six dimensions": {"rank": 6},
    "steps of nothing": {"steps": 0},
    "another fill": {"fill": 2},
    "strides that wrap": {"strides": (1 << 64) - 16},
}
TILES = """.visible .entry k(.param .align 64 .b8 map[128]) {
.shared .align 128 .b8 s[256]; .shared .align 8 .b64 bar; .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p<2>;
mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra done;
mov.u32 %r2, s; mov.u32 %r3, bar; mov.u64 %rd1, map; cvta.param.u64 %rd1, %rd1;
mbarrier.init.shared.b64 [%r3], 1;
cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r2], [%rd1, {%r1, %r1}], [%r3];
cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%rd1, {%r1, %r1}], [%r2];
cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;
done: ret; }"""


def tile_launch(**changes):
    """A launch with the 128 bytes of a map, some of them changed."""
    from simt.engine.state import GLOBAL_BASE
    from simt.engine.tensor_maps import TileMap
    from simt.runner.tensor_maps import map_bytes
    from simt.tensor_map import TensorMap

    plain = map_bytes(TensorMap.of("x", (4, 16), "float32", (16, 4)), GLOBAL_BASE)
    forged = TileMap.structure().from_buffer_copy(plain)
    for name, value in changes.items():
        if isinstance(getattr(forged, name), int):
            setattr(forged, name, value)
        else:
            getattr(forged, name)[1 if name == "steps" else 0] = value
    program = Program.from_ptx(HEAD.partition(".visible")[0] + TILES, arch="sm_90")
    argument = Argument("map", Direction.SCALAR, np.frombuffer(bytes(forged), np.uint8))
    return program.launch(LaunchConfig(Dim3(1), Dim3(32)), [argument])


@pytest.mark.parametrize("changes", FORGED.values(), ids=FORGED.keys())
def test_a_forged_tensor_map_moves_nothing(changes):
    misuse = [found for found in tile_launch(**changes).errors if found.check == "asynccheck.misuse"]
    assert any("no tensor map" in found.message or "dimension" in found.message for found in misuse), misuse


def test_the_same_map_unforged_is_one():
    assert not [found for found in tile_launch().errors if "no tensor map" in found.message]


def test_lanes_that_a_guard_spares_pass_a_barrier():
    result = launched("@%p1 bar.warp.sync 1; @!%p1 bar.sync 1, 32;")
    assert all(found.check != "synccheck.divergent" for found in result.diagnostics)


def test_only_lanes_under_the_guard_wait():
    """The others leave the kernel, so that the barrier is one that exited threads never reach."""
    result = launched("@%p1 bar.sync 0;")
    assert "synccheck.exited-threads" in [found.check for found in result.diagnostics]


def test_a_long_stretch_is_cut_for_llvm():
    """Its effort for one block grows with the square of the block: 20,000 loads took a minute in one and take six seconds."""
    program = Program.from_ptx(HEAD + "ld.global.u32 %r3, [%rd1];\n" * 4000 + "$end: ret; }", arch="sm_90")
    text = lower(make_plan(program.module, "k", (64, 1, 1)), masked=False)
    blocks = re.split(r"^[\w.]+:$", text, flags=re.M)
    assert len(blocks) > 8 and max(block.count("\n") for block in blocks) < 8000
