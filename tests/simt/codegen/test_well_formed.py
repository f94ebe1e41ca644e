"""Operands that do not fit their instruction: each form of the asynchronous instructions, whole and then spoiled."""

import itertools

import pytest

from simt.codegen.lower import lower
from simt.codegen.plan import make_plan
from simt.codegen.unsupported import Unsupported
from simt.codegen.well_formed import operand_rows
from simt.isa.op import Role, expand
from simt.isa.table import ROWS
from simt.program import Program
from simt.ptx.syntax import Instruction

HEAD = """.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 k_param_0) {
.reg .pred %p<4>; .reg .b16 %rs<4>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %rd<4>;
"""
LINE = HEAD.count("\n") + 1
DONE = "mbarrier::complete_tx::bytes"
# Opcode, then its operands as they should be; ptxas takes each of them.
WHOLE = (
    (f"cp.async.bulk.shared::cluster.global.{DONE}", "[%r1]", "[%rd1]", "%r2", "[%r3]"),
    (f"cp.async.bulk.shared::cluster.global.{DONE}.L2::cache_hint", "[%r1]", "[%rd1]", "16", "[%r3]", "%rd2"),
    (f"cp.async.bulk.shared::cluster.global.{DONE}.multicast::cluster", "[%r1]", "[%rd1]", "16", "[%r3]", "%rs1"),
    (f"cp.async.bulk.shared::cluster.global.{DONE}.multicast::cluster.L2::cache_hint",
     "[%r1]", "[%rd1]", "16", "[%r3]", "%rs1", "%rd2"),
    (f"cp.async.bulk.shared::cluster.shared::cta.{DONE}", "[%r1]", "[%r2]", "%r4", "[%r3]"),
    ("cp.async.bulk.global.shared::cta.bulk_group", "[%rd1]", "[%r1]", "64"),
    ("cp.async.bulk.global.shared::cta.bulk_group.L2::cache_hint", "[%rd1]", "[%r1]", "64", "%rd2"),
    (f"cp.async.bulk.tensor.1d.shared::cluster.global.tile.{DONE}", "[%r1]", "[%rd1, {%r2}]", "[%r3]"),
    (f"cp.async.bulk.tensor.3d.shared::cluster.global.tile.{DONE}.multicast::cluster",
     "[%r1]", "[%rd1, {%r2, 0, %r2}]", "[%r3]", "%rs1"),
    (f"cp.async.bulk.tensor.2d.shared::cluster.global.tile.{DONE}.multicast::cluster.L2::cache_hint",
     "[%r1]", "[%rd1, {%r2, 0}]", "[%r3]", "%rs1", "%rd2"),
    ("cp.async.bulk.tensor.5d.global.shared::cta.tile.bulk_group", "[%rd1, {%r2, %r2, %r2, %r2, %r2}]", "[%r1]"),
    ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32", "[%rd1]", "[%r1]", "%r2"),
    (f"cp.reduce.async.bulk.shared::cluster.shared::cta.{DONE}.and.b32", "[%r1]", "[%r2]", "16", "[%r3]"),
    ("cp.reduce.async.bulk.tensor.4d.global.shared::cta.min.tile.bulk_group", "[%rd1, {%r1, %r1, %r1, %r1}]", "[%r2]"),
    ("cp.async.bulk.prefetch.L2.global", "[%rd1]", "%r1"),
    ("cp.async.bulk.prefetch.tensor.2d.L2.global.tile", "[%rd1, {%r1, %r2}]"),
    ("cp.async.bulk.commit_group",),
    ("cp.async.bulk.wait_group", "0"),
    ("mbarrier.arrive.noComplete.shared.b64", "_", "[%r1]", "2"),
    ("mbarrier.arrive_drop.expect_tx.shared.b64", "%rd1", "[%r1]", "%r2"),
    ("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64", "_", "[%r1]", "2"),
    ("mbarrier.test_wait.parity.shared.b64", "%p1", "[%r1]", "%r2"),
    ("mapa.shared::cluster.u32", "%r1", "%r2", "1"),
    ("getctarank.shared::cluster.u32", "%r1", "%r2"),
    (f"st.async.weak.shared::cluster.{DONE}.v2.b32", "[%r1]", "{%r2, %r2}", "[%r3]"),
    (f"red.async.relaxed.cluster.shared::cluster.{DONE}.add.u32", "[%r1]", "%r2", "[%r3]"),
    ("barrier.cluster.arrive.release.aligned",),
    ("setmaxnreg.inc.sync.aligned.u32", "240"),
    ("wgmma.wait_group.sync.aligned", "0"),
    ("wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8", "{%r1, %r2, %r3, %r4}", "%rd1", "%rd2", "%p1"),
)  # fmt: skip
# What fits none of their places.
STRANGE = ("!%p1", "%r1|%p1", "{%p1, %p1}", "[%p1]", "[%rd1, %r1]", "[%rd1, {%p1}]", "{}")


def refusal(opcode, operands):
    """What translation says, or "" where it takes the instruction."""
    program = Program.from_ptx(f"{HEAD}{opcode} {', '.join(operands)};\n$end: ret; }}", arch="sm_90a")
    try:
        lower(make_plan(program.module, "k", (128, 1, 1)), masked=False)
    except Unsupported as error:
        assert error.instruction is not None and error.instruction.ptx_line == LINE
        return str(error)
    return ""


@pytest.mark.parametrize(("opcode", "operands"), [(row[0], row[1:]) for row in WHOLE], ids=[row[0] for row in WHOLE])
def test_only_operands_that_fit_pass(opcode, operands):
    assert not refusal(opcode, operands)
    spoiled = [operands[:n] + operands[n + 1 :] for n in range(len(operands))] + [
        (*operands, "[%r1]"),
        (*operands, "7"),
    ]
    for n, strange in itertools.product(range(len(operands)), STRANGE):
        if (operands[n], strange) != ("%p1", "!%p1"):  # a predicate that is read may be negated
            spoiled.append((*operands[:n], strange, *operands[n + 1 :]))
    assert [wrong for wrong in spoiled if not refusal(opcode, wrong)] == []


@pytest.mark.parametrize(
    ("opcode", "operands"),
    [
        ("mbarrier.arrive.shared.b64", ("%rd1", "[%r1]")),
        ("mbarrier.arrive.shared.b64", ("_", "[%r1]", "2")),
        ("mbarrier.arrive_drop.release.cluster.shared::cluster.b64", ("_", "[%r1]")),
        ("mbarrier.try_wait.shared.b64", ("%p1", "[%r1]", "%rd1")),
        ("mbarrier.try_wait.shared.b64", ("%p1", "[%r1]", "%rd1", "%r2")),
    ],
)
def test_counts_and_limits_of_time_may_be_left_out(opcode, operands):
    assert not refusal(opcode, operands)


@pytest.mark.parametrize(
    ("opcode", "operands"),
    [
        ("mbarrier.arrive.expect_tx.shared.b64", ("_", "[%r1]")),
        ("mbarrier.arrive.noComplete.shared.b64", ("%rd1", "[%r1]")),
        ("mbarrier.arrive.shared.b64", ("[%r1]",)),
        ("mbarrier.arrive.release.cluster.shared::cluster.b64", ("%rd1", "[%r1]")),
        ("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group", ("[%rd1, {%r1}]", "[%r2]")),
        ("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group", ("[%rd1, {%r1, %r1}, %r1]", "[%r2]")),
        (f"cp.async.bulk.shared::cluster.global.{DONE}", ("[%r1]", "[%rd1]", "16", "[%r3]", "%rs1")),
        ("ld.global.u32", ("%r1", "[%rd1, {%r2}]")),
    ],
)
def test_what_ptxas_refuses_is_refused(opcode, operands):
    assert f"operands of `{opcode}` do not fit" in refusal(opcode, operands)


def test_every_structural_instruction_has_its_operands():
    """But `call`, which the reader of PTX takes apart, and what lies in the table for the simulator's own use."""
    without = set()
    for row in ROWS:
        for pattern in row.forms if row.role is not Role.PURE and row.name != "call" else ():
            for opcode in itertools.islice(expand(pattern), 64):
                if not operand_rows(Instruction(opcode, row.name, tuple(opcode.split(".")[1:]), (), None, 1)):
                    without.add(opcode)
    assert not without
