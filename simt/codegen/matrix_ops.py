"""Matrix instructions of a whole warp: ldmatrix, stmatrix, movmatrix.

`ldmatrix` and `stmatrix` are one request of 16 bytes for each row, by the lane that holds the row's address: lane 8 m + r
for row r of matrix m. Hardware serves one matrix a wavefront when its rows lie in different banks, as it serves a
quarter-warp of a 128-bit request. Register m of lane l then is the word at byte 16 (l / 4) + 4 (l mod 4) of matrix m, so
the rows as they come from memory are the registers one after another.
"""

from __future__ import annotations

from llvmlite import ir

from simt.codegen import control
from simt.codegen.emitter import I16, I32
from simt.codegen.memory_access import address_of
from simt.codegen.plan import SiteInfo
from simt.codegen.prepare import Unsupported
from simt.codegen.writer import Writer, vector
from simt.engine.state import Access, Scope
from simt.isa.table import UnsupportedInstruction, lookup
from simt.ptx.syntax import Address, Instruction, Operand, Vector
from simt.ptx.types import TYPES

__all__ = ["HANDLERS", "address_buffer", "check_form", "check_lanes", "items_of", "matrix_scope"]

_B32 = TYPES["b32"]
_ROW_BYTES = 16
_MATRIX_BYTES = 8 * _ROW_BYTES
_TRANSPOSED = [8 * (index % 8) + index // 8 for index in range(64)]


def check_form(instruction: Instruction) -> None:
    """Refuses a form that the table does not list."""
    try:
        lookup(instruction.opcode)
    except UnsupportedInstruction as missing:
        raise Unsupported(str(missing), instruction) from None


def check_lanes(w: Writer, instruction: Instruction, lanes: ir.Value) -> None:
    """Code that says at run time who is missing, where somebody may be."""
    site = ir.Constant(I32, control.mark_site(w, instruction))  # in full code too: masked code may add no sites
    if w.masked or instruction.guard is not None:
        w.native("whole_warp", ir.VoidType(), w.warp, site, lanes)


def items_of(operand: Operand) -> list[Operand]:
    """The operands that a vector holds, or the one that is given."""
    return list(operand.items) if isinstance(operand, Vector) else [operand]


def _transposed(w: Writer, words: ir.Value) -> ir.Value:
    """One 8×8 matrix of 16-bit elements as 32 words, rows and columns exchanged."""
    halves = w.b.bitcast(words, ir.VectorType(I16, 64))
    order = ir.Constant(ir.VectorType(I32, 64), [ir.Constant(I32, index) for index in _TRANSPOSED])
    turned = w.b.shuffle_vector(halves, ir.Constant(halves.type, ir.Undefined), order)
    return w.b.bitcast(turned, vector(I32))


def matrix_scope(instruction: Instruction) -> Scope:
    """The state space that an instruction on matrices names, generic where it names none."""
    if "global" in instruction.mods:
        return Scope.GLOBAL
    return Scope.SHARED if {"shared", "shared::cta"} & set(instruction.mods) else Scope.GENERIC


def _row_site(w: Writer, instruction: Instruction, access: Access) -> ir.Value:
    index = w.plan.site(
        instruction,
        lambda: SiteInfo(
            instruction, w.plan.line(instruction), int(matrix_scope(instruction)), int(access), _ROW_BYTES
        ),
    )
    return w.site_pointer(index)


def _count(instruction: Instruction, items: list[Operand]) -> int:
    """Matrices that the instruction moves."""
    n = next(int(mod[1:]) for mod in instruction.mods if mod in ("x1", "x2", "x4"))
    if len(items) != n:
        raise Unsupported(f"`{instruction.opcode}` with {len(items)} registers", instruction)
    return n


def _rows(w: Writer, instruction: Instruction, n: int) -> ir.Value:
    """Running lanes that give a row address."""
    lanes = w.guarded_mask(w.guard(instruction))
    return lanes if n == 4 else w.b.and_(lanes, ir.Constant(I32, (1 << 8 * n) - 1))


def _memory(instruction: Instruction, position: int) -> Address:
    operand = instruction.operands[position] if len(instruction.operands) == 2 else None
    if not isinstance(operand, Address):
        raise Unsupported(f"`{instruction.opcode}` without an address", instruction)
    return operand


def address_buffer(w: Writer, operand: Address, instruction: Instruction) -> ir.Value:
    """The 32 byte addresses of an operand, in memory."""
    place = w.buffer("addresses", 256)
    w.b.store(w.spread(address_of(w, operand, instruction)), place, align=64)
    return place


def _ldmatrix(w: Writer, instruction: Instruction) -> None:
    check_form(instruction)
    source, items = _memory(instruction, 1), items_of(instruction.operands[0])
    n, guard = _count(instruction, items), w.guard(instruction)
    site = _row_site(w, instruction, Access.LOAD)
    check_lanes(w, instruction, w.guarded_mask(guard))
    rows = w.buffer("matrix_rows", 4 * _MATRIX_BYTES)
    if w.masked:
        w.b.store(ir.Constant(ir.VectorType(I32, 32 * n), [ir.Constant(I32, 0xFFFFFFFF)] * 32 * n), rows, align=64)
    addresses = address_buffer(w, source, instruction)
    w.native("load", ir.VoidType(), w.warp, site, _rows(w, instruction, n), addresses, rows)
    for number, item in enumerate(items):
        words = w.b.load(w.at(rows, number * _MATRIX_BYTES), typ=vector(I32), align=64)
        w.assign(item, _transposed(w, words) if "trans" in instruction.mods else words, _B32, guard)


def _stmatrix(w: Writer, instruction: Instruction) -> None:
    check_form(instruction)
    target, items = _memory(instruction, 0), items_of(instruction.operands[-1])
    n = _count(instruction, items)
    site = _row_site(w, instruction, Access.STORE)
    check_lanes(w, instruction, w.guarded_mask(w.guard(instruction)))
    rows = w.buffer("matrix_rows", 4 * _MATRIX_BYTES)
    for number, item in enumerate(items):
        words = w.spread(w.typed(item, _B32, instruction))
        turned = _transposed(w, words) if "trans" in instruction.mods else words
        w.b.store(turned, w.at(rows, number * _MATRIX_BYTES), align=64)
    addresses = address_buffer(w, target, instruction)
    w.native("store", ir.VoidType(), w.warp, site, _rows(w, instruction, n), addresses, rows)


def _movmatrix(w: Writer, instruction: Instruction) -> None:
    check_form(instruction)
    target, source = instruction.operands
    guard = w.guard(instruction)
    check_lanes(w, instruction, w.guarded_mask(guard))
    words = w.spread(w.typed(source, _B32, instruction))
    w.assign(target, _transposed(w, words), _B32, guard)


HANDLERS = {"ldmatrix": _ldmatrix, "stmatrix": _stmatrix, "movmatrix": _movmatrix}
