"""Matrix products of a whole warp: mma.sync, and wmma with its loads and stores.

Fragments go through memory: registers one after the other, 32 lanes each, beside constants that say which element each
of them holds. `wmma` is counted by the addresses its lanes touch: each request of `simt.isa.fragments.pieces` is a load
or store of its own, as the compiler splits it.
"""

from __future__ import annotations

from llvmlite import ir

from simt.codegen.emitter import I32
from simt.codegen.matrix_layouts import layout_constant
from simt.codegen.matrix_ops import address_buffer, check_form, check_lanes, items_of, matrix_scope
from simt.codegen.plan import SiteInfo
from simt.codegen.prepare import Unsupported
from simt.codegen.writer import Writer, vector
from simt.engine.state import Access
from simt.isa.fragments import ELEMENT_BYTES, Fragment, fragment, is_ldmatrix, pieces, shape_of, sums_of, wmma_fragment
from simt.ptx.syntax import Address, Instruction, Operand
from simt.ptx.types import TYPES

__all__ = ["HANDLERS"]

_MOST_BYTES = 2048  # registers of a fragment: 16 elements, or 8 of 32 bits a lane


def _write(w: Writer, instruction: Instruction, operand: Operand, held: Fragment, name: str) -> ir.Value:
    """A fragment's registers in memory."""
    place, bits = w.buffer(name, _MOST_BYTES), 8 * held.register_bytes
    items = items_of(operand)
    if len(items) != held.n_registers:
        raise Unsupported(f"`{instruction.opcode}` with {len(items)} registers, not {held.n_registers}", instruction)
    for number, item in enumerate(items):
        value = w.spread(w.typed(item, TYPES[f"b{bits}"], instruction))
        w.b.store(value, w.at(place, number * 4 * bits), align=64)
    return place


def _read(w: Writer, instruction: Instruction, operand: Operand, held: Fragment, place: ir.Value) -> None:
    """Puts what native code wrote into a fragment's registers."""
    bits, guard = 8 * held.register_bytes, w.guard(instruction)
    items = items_of(operand)
    if len(items) != held.n_registers:
        raise Unsupported(f"`{instruction.opcode}` with {len(items)} registers, not {held.n_registers}", instruction)
    for number, item in enumerate(items):
        value = w.b.load(w.at(place, number * 4 * bits), typ=vector(ir.IntType(bits)), align=64)
        w.assign(item, value, TYPES[f"b{bits}"], guard)


def _product(w: Writer, instruction: Instruction) -> None:
    """`mma.sync` and `wmma.mma`."""
    check_form(instruction)
    if len(instruction.operands) != 4:
        raise Unsupported(f"`{instruction.opcode}` with {len(instruction.operands)} operands", instruction)
    make = fragment if instruction.name == "mma" else wmma_fragment
    shape, types = shape_of(instruction.mods), [mod for mod in instruction.mods if mod in ELEMENT_BYTES]
    d_type, a_type, b_type, c_type = types if len(types) == 4 else (types[0], "f16", "f16", types[1])
    held = [
        make(*row) for row in (("a", shape, a_type), ("b", shape, b_type), ("c", shape, c_type), ("d", shape, d_type))
    ]
    a, b, c, d = held
    layouts = [layout_constant(w, f"{instruction.name}.{role}", one) for role, one in zip("abcc", held, strict=True)]
    target, *sources = instruction.operands
    check_lanes(w, instruction, w.guarded_mask(w.guard(instruction)))
    places = [
        _write(w, instruction, operand, one, f"fragment_{name}")
        for operand, one, name in zip(sources, (a, b, c), "abc", strict=True)
    ]
    out = w.buffer("fragment_d", _MOST_BYTES)
    sizes = [ir.Constant(I32, size) for size in shape]
    saturate = ir.Constant(I32, int("satfinite" in instruction.mods))
    sums = [ir.Constant(I32, number) for number in sums_of(instruction.name, instruction.mods)]
    w.native("multiply", ir.VoidType(), *sizes, *layouts, *places, out, saturate, *sums)
    _read(w, instruction, target, d, out)


def _site(w: Writer, instruction: Instruction, access: Access, n_bytes: int) -> ir.Value:
    scope = matrix_scope(instruction)
    index = w.plan.site(
        instruction, lambda: SiteInfo(instruction, w.plan.line(instruction), int(scope), int(access), n_bytes)
    )
    return w.site_pointer(index)


def _stride(w: Writer, instruction: Instruction, default: int) -> ir.Value:
    """The leading dimension in elements, of each lane."""
    place, value = w.buffer("strides", 128), ir.Constant(I32, default)
    if len(instruction.operands) == 3:
        value = w.typed(instruction.operands[2], TYPES["u32"], instruction)
    w.b.store(w.spread(value), place, align=64)
    return place


def _transfer(w: Writer, instruction: Instruction) -> None:
    """`wmma.load` and `wmma.store`."""
    loads = instruction.mods[0] == "load"
    address, registers = instruction.operands[int(loads)], instruction.operands[int(not loads)]
    if not isinstance(address, Address):
        raise Unsupported(f"`{instruction.opcode}` without an address", instruction)
    role, is_row_major = instruction.mods[1], "row" in instruction.mods
    held = wmma_fragment(role, shape_of(instruction.mods), instruction.mods[-1])
    moved = pieces(held, is_row_major)
    site = _site(w, instruction, Access.LOAD if loads else Access.STORE, moved.width * held.element_bytes)
    lanes = w.guarded_mask(w.guard(instruction))
    check_lanes(w, instruction, lanes)
    at_once = loads and is_ldmatrix(instruction.mods)
    layout = layout_constant(w, f"wmma.{'c' if role == 'd' else role}", held, is_row_major, at_once)
    bases, strides = address_buffer(w, address, instruction), _stride(w, instruction, moved.n_minor)
    if loads:
        out = w.buffer("fragment_d", _MOST_BYTES)
        w.native("load_fragment", ir.VoidType(), w.warp, site, lanes, layout, bases, strides, out)
        _read(w, instruction, registers, held, out)
    else:
        data = _write(w, instruction, registers, held, "fragment_c")
        w.native("store_fragment", ir.VoidType(), w.warp, site, lanes, layout, bases, strides, data)


def _wmma(w: Writer, instruction: Instruction) -> None:
    if instruction.mods[0] == "mma":
        return _product(w, instruction)
    check_form(instruction)
    return _transfer(w, instruction)


HANDLERS = {"mma": _product, "wmma": _wmma}
