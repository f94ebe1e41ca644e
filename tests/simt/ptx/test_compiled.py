"""Real output of NVRTC 13.5 (`data/NAME.ptx` from `data/NAME.cu`, sm_90 or sm_90a) and of LLVM's own back end.

Made with `-arch=compute_90 -lineinfo -default-device -std=c++17`, paths cut to `kernel.cu` and `include/…`; `llvm.ptx`
comes from llvmlite's NVPTX target and is what clang prints.
"""

from pathlib import Path

import pytest

from simt.ptx.cfg import build
from simt.ptx.liveness import liveness
from simt.ptx.parser import parse
from simt.ptx.reach import reachable
from simt.ptx.syntax import Address, Instruction, Symbol, Vector
from simt.ptx.usedef import defs, uses

DATA = Path(__file__).parent / "data"
NAMES = sorted(path.stem for path in DATA.glob("*.ptx"))


def read(name):
    return parse((DATA / f"{name}.ptx").read_text())


def code(function):
    return [item for item in function.body or () if isinstance(item, Instruction)]


def plain_statements(text):
    """Instructions counted in a way of its own: lines of the bodies that begin with a tab and end with a semicolon."""
    return sum(
        line.startswith("\t") and line.endswith(";") and line.strip()[0] not in ".})" for line in text.split("\n")
    )


def test_there_are_a_dozen():
    assert len(NAMES) >= 13


@pytest.mark.parametrize("name", NAMES)
def test_every_function_is_read_whole(name):
    text = (DATA / f"{name}.ptx").read_text()
    module = read(name)
    assert "k" in module.functions and module.functions["k"].is_entry
    assert module.version >= (7, 8) and module.address_bits == 64 and module.target.startswith("sm_90")
    n_read = sum(len(code(function)) for function in module.functions.values())
    n_calls = sum(item.name == "call" for function in module.functions.values() for item in code(function))
    # Inline assembly is written without a tab, a call on several lines.
    assert n_read + n_calls >= plain_statements(text) - text.count(".param")


@pytest.mark.parametrize("name", NAMES)
def test_every_register_is_declared_and_every_symbol_known(name):
    module = read(name)
    for function in module.functions.values():
        for item in code(function):
            assert {*defs(item), *uses(item)} <= function.registers.keys()
    assert set(reachable(module, "k").undefined) <= {"vprintf", "__nv_expf"}


@pytest.mark.parametrize("name", NAMES)
def test_control_flow_keeps_every_reached_instruction(name):
    for function in read(name).functions.values():
        if function.body is None:
            continue
        cfg = build(function)
        assert sum(len(block.instructions) for block in cfg.blocks) <= len(code(function))
        assert not any(loop.irreducible for loop in cfg.loops)
        for block in cfg.blocks:
            back = [target for target in block.successors if target <= block.index]
            assert all(
                any(target == loop.header and block.index in loop.blocks for loop in cfg.loops) for target in back
            )
        live = liveness(cfg)
        assert len(live.live_in) == len(cfg.blocks)


@pytest.mark.parametrize("name", NAMES)
def test_reading_by_root_finds_what_the_kernel_reaches(name):
    text = (DATA / f"{name}.ptx").read_text()
    whole, part = parse(text), parse(text, ["k"])
    assert tuple(part.functions) == reachable(whole, "k").functions
    assert part.functions["k"] == whole.functions["k"]


def opcodes(name):
    return {item.opcode for item in code(read(name).functions["k"])}


@pytest.mark.parametrize(
    "name, expected",
    [
        ("fp16", {"fma.rn.f16x2", "set.eq.f16x2.f16x2"}),
        ("wmma", {"wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32"}),
        ("pipe", {"cp.async.cg.shared.global", "cp.async.commit_group", "cp.async.wait_group"}),
        ("mma", {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"}),
        ("wgmma", {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16", "wgmma.wait_group.sync.aligned"}),
        ("warp", {"shfl.sync.bfly.b32", "match.all.sync.b32", "redux.sync.max.s32", "bar.red.popc.u32"}),
        ("tma", {"mbarrier.try_wait.parity.shared::cta.b64", "fence.proxy.async.shared::cta"}),
        ("barrier", {"barrier.sync", "mbarrier.init.shared.b64"}),
    ],
)
def test_opcodes_of_the_lessons_headers(name, expected):
    assert expected <= opcodes(name)


def test_the_blocks_of_inline_assembly_stay_apart():
    body = read("asm").functions["k"].body
    labels = [item.name for item in body if not isinstance(item, Instruction)]
    assert len(labels) == 8 and len(set(labels)) == 8
    jumps = [item.operands[0].name for item in body if getattr(item, "name", "") == "bra"]
    assert jumps == labels


def test_a_tensor_copy_keeps_its_coordinates():
    (copy,) = [item for item in code(read("tma").functions["k"]) if item.opcode.startswith("cp.async.bulk.tensor")]
    target, source, barrier = copy.operands
    assert isinstance(source, Address) and isinstance(source.extra[0], Vector) and len(source.extra[0].items) == 2
    assert isinstance(target, Address) and isinstance(barrier, Address)


def test_variables_and_calls_of_a_module():
    module = read("misc")
    assert module.variables["coef"].init[4:8] == b"\0\0\0\x40" and module.variables["coef"].n_bytes == 32
    assert module.variables["ptr"].relocations == ((0, "counter", 0),)
    assert module.variables["fp"].relocations == ((0, "_Z6helperfi", 0),)
    assert module.variables["$str"].init == b"hello" and module.variables["dyn"].extern
    kernel = module.functions["k"]
    assert kernel.directives == {"maxntid": (256, 1, 1), "minnctapersm": (2,)}
    callees = [item.operands[1] for item in code(kernel) if item.name == "call"]
    assert Symbol("vprintf") in callees and Symbol("_Z2mki") in callees
    assert "_Z6helperfi" in reachable(module, "k").functions


def test_clangs_layout_of_a_switch():
    module = read("llvm")
    cfg = build(module.functions["k"])
    (branch,) = [block for block in cfg.blocks if block.terminator is not None and block.terminator.name == "brx"]
    assert len(branch.targets) == 5
    assert cfg.blocks[-1].label == "$L__BB1_8" and cfg.post_dominator[branch.index] == len(cfg.blocks) - 1
    assert module.variables["packed"].relocations == ((1, "other", 0),)
