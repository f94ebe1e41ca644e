"""wgmma: products of a warpgroup, and the fences, groups and waits around them."""

from __future__ import annotations

import ctypes

from llvmlite import ir

from simt.codegen.control import mark_site
from simt.codegen.emitter import I32, I64
from simt.codegen.matrix_ops import check_form, check_lanes, items_of
from simt.codegen.plan import SiteInfo
from simt.codegen.prepare import Unsupported
from simt.codegen.wgmma_registers import check_order, take
from simt.codegen.writer import Writer, vector
from simt.engine.layouts import Element, Product
from simt.engine.state import Access, Scope
from simt.isa.fragments import ELEMENT_BYTES, shape_of, sums_of
from simt.ptx.syntax import Immediate, Instruction, Operand, Vector
from simt.ptx.types import TYPES

__all__ = ["HANDLERS"]

_B32, _U32, _U64, _PRED = TYPES["b32"], TYPES["u32"], TYPES["u64"], TYPES["pred"]
_MOST_BYTES = 128 * 128  # of D's registers: 64 × 256 elements of 32 bits are 128 registers a lane
_A_REGISTERS = 4
_SCALES = {1: 0, -1: 1}
_REGISTER_COUNTS = range(24, 257, 8)  # PTX ISA, setmaxnreg


def _literals(instruction: Instruction) -> list[int]:
    """The immediates behind scale-d: scales of A and B, then whether A and B are transposed."""
    found = []
    for operand in instruction.operands[4:]:
        if not isinstance(operand, Immediate):
            raise Unsupported(f"`{instruction.opcode}` with a scale or order that is no literal", instruction)
        found.append(operand.value - (1 << 64) if operand.value >= 1 << 63 else operand.value)
    return found


def _product(instruction: Instruction) -> ctypes.Structure:
    """The record of what an instruction multiplies."""
    d_type, a_type, b_type = [mod for mod in instruction.mods if mod in ELEMENT_BYTES]
    record, literals = Product.structure()(), _literals(instruction)
    record.n = shape_of(instruction.mods)[1]
    record.a_kind, record.b_kind, record.d_kind = (Element[kind.upper()] for kind in (a_type, b_type, d_type))
    record.element_bytes = ELEMENT_BYTES[a_type]
    record.sum_bits = sums_of(instruction.name, instruction.mods)[1]
    record.a_is_shared = int(not isinstance(instruction.operands[1], Vector))
    record.saturates = int("satfinite" in instruction.mods)
    scales, orders = literals[:2], literals[2:]
    halves = a_type in ("f16", "bf16")
    wanted = (0 if d_type == "s32" else 2, (1 + record.a_is_shared) if halves else 0)
    if (len(scales), len(orders)) != wanted or not set(scales) <= set(_SCALES) or not set(orders) <= {0, 1}:
        raise Unsupported(f"`{instruction.opcode}` with these scales and orders", instruction)
    if scales:
        record.negates_a, record.negates_b = (_SCALES[scale] for scale in scales)
    if orders:
        record.a_transposed, record.b_transposed = orders if record.a_is_shared else (0, *orders)
    return record


def _constant(w: Writer, record: ctypes.Structure) -> ir.Value:
    """A pointer to the record, one constant for each content."""
    data = bytearray(bytes(record))
    name = f"product.{data.hex()}"
    known = w.module.globals.get(name)
    if known is None:
        kind = ir.ArrayType(ir.IntType(8), len(data))
        known = ir.GlobalVariable(w.module, kind, name)
        known.global_constant, known.linkage, known.align = True, "private", 64
        known.initializer = ir.Constant(kind, data)
    return known.bitcast(ir.PointerType())


def _put(w: Writer, instruction: Instruction, operand: Operand, n: int, name: str, n_bytes: int) -> ir.Value:
    """A fragment's registers of 32 bits in memory, 32 lanes each."""
    place, items = w.buffer(name, n_bytes), items_of(operand)
    if len(items) != n:
        raise Unsupported(f"`{instruction.opcode}` with {len(items)} registers, not {n}", instruction)
    for number, item in enumerate(items):
        w.b.store(w.spread(w.typed(item, _B32, instruction)), w.at(place, 128 * number), align=64)
    return place


def _matrix(w: Writer, instruction: Instruction, operand: Operand) -> ir.Value:
    """A descriptor: the same in all lanes."""
    return w.first_lane(w.typed(operand, _U64, instruction))


def _truth(w: Writer, instruction: Instruction, operand: Operand) -> ir.Value:
    """scale-d of the first lane as 0 or 1."""
    if isinstance(operand, Immediate):
        return ir.Constant(I32, int(operand.value != 0))
    bits = w.bits32(w.typed(operand, _PRED, instruction))
    return w.b.and_(
        w.b.lshr(bits, w.native("llvm.cttz.i32", I32, w.mask, ir.Constant(ir.IntType(1), 0))), ir.Constant(I32, 1)
    )


def _multiply(w: Writer, instruction: Instruction) -> None:
    """`wgmma.mma_async`."""
    check_form(instruction)
    if len(instruction.operands) < 4:
        raise Unsupported(f"`{instruction.opcode}` with {len(instruction.operands)} operands", instruction)
    d, a, b, adds = instruction.operands[:4]
    record, lanes = _product(instruction), w.guarded_mask(w.guard(instruction))
    index = w.plan.site(
        instruction,
        lambda: SiteInfo(instruction, w.plan.call_line(instruction), int(Scope.SHARED), int(Access.LOAD), 16),
    )
    check_lanes(w, instruction, lanes)
    check_order(w, ir.Constant(I32, index), lanes, [d, a])
    n_registers = record.n // (4 if record.d_kind == Element.F16 else 2)
    out = _put(w, instruction, d, n_registers, "fragment_d", _MOST_BYTES)
    rows, a_matrix = w.buffer("fragment_a", 512), ir.Constant(I64, 0)
    if record.a_is_shared:
        a_matrix = _matrix(w, instruction, a)
    else:
        _put(w, instruction, a, _A_REGISTERS, "fragment_a", 512)
    w.native(
        "wgmma", ir.VoidType(), w.warp, w.site_pointer(index), lanes, _constant(w, record), rows, a_matrix,
        _matrix(w, instruction, b), out, _truth(w, instruction, adds),
    )  # fmt: skip
    for number, item in enumerate(items_of(d)):
        value = w.b.load(w.at(out, 128 * number), typ=vector(I32), align=64)
        w.assign(item, value, _B32, w.guard(instruction))
    take(w, d, is_input=False)
    take(w, a, is_input=True)


def _wgmma(w: Writer, instruction: Instruction) -> None:
    kind = instruction.mods[0]
    if kind == "mma_async":
        return _multiply(w, instruction)
    check_form(instruction)
    lanes = w.guarded_mask(w.guard(instruction))
    check_lanes(w, instruction, lanes)
    if kind == "wait_group":
        left = w.first_lane(w.typed(instruction.operands[0], _U32, instruction))
        return w.native("wait_products", ir.VoidType(), w.warp, left)
    name = {"fence": "fence_products", "commit_group": "commit_products"}[kind]
    return w.native(name, ir.VoidType(), w.warp)


def _registers(w: Writer, instruction: Instruction) -> None:
    """`setmaxnreg`: how many registers a thread may hold changes nothing that a program computes."""
    check_form(instruction)
    (count,) = instruction.operands
    if not isinstance(count, Immediate) or count.value not in _REGISTER_COUNTS:
        raise Unsupported(f"`{instruction.opcode}` with a count that is no multiple of 8 from 24 to 256", instruction)
    lanes, site = w.guarded_mask(w.guard(instruction)), ir.Constant(I32, mark_site(w, instruction))
    check_lanes(w, instruction, lanes)
    w.native("whole_warpgroup", ir.VoidType(), w.warp, site, lanes)


HANDLERS = {"wgmma": _wgmma, "setmaxnreg": _registers}
