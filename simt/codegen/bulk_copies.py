"""Bulk copies: which native operation each form of cp.async.bulk and cp.reduce.async.bulk is, rows of bytes and tiles."""

from __future__ import annotations

from llvmlite import ir

from simt.codegen.emitter import I32
from simt.codegen.mbarriers import addresses, mbarrier_site, spilled
from simt.codegen.plan import SiteInfo
from simt.codegen.writer import Writer
from simt.engine.state import ATOMIC_CODES, ATOMIC_TYPES, Access, Scope
from simt.ptx.syntax import Address, Instruction
from simt.ptx.types import TYPES

__all__ = ["bulk", "sides"]

_U16, _U32, _S32 = TYPES["u16"], TYPES["u32"], TYPES["s32"]
_UNIT = 16  # bytes that bulk copies come in
_TILE_UNIT = 128  # of a tile's place in shared memory
_MAP_UNIT = 64  # of a tensor map's address
_RANKS = {f"{rank}d": rank for rank in range(1, 6)}
_NONE = ir.Constant(I32, -1)
# Reductions count bits alone in types of another name.
_BITS = {"b32": "u32", "b64": "u64"}


def sides(
    w: Writer, instruction: Instruction, source: Scope, target: Scope, read_unit: int, write_unit: int = 0
) -> tuple[ir.Value, ir.Value]:
    """Sites of a copy's two sides: the one it reads, then the one it writes; units are what addresses are multiples of."""
    line = w.plan.call_line(instruction)
    operation, kind = _reduction(instruction)
    access = Access.STORE if operation < 0 else Access.ATOMIC
    read = w.plan.site(instruction, lambda: SiteInfo(instruction, line, int(source), int(Access.LOAD), read_unit))
    write = w.plan.site(
        instruction,
        lambda: SiteInfo(
            instruction, line, int(target), int(access), write_unit or read_unit, atomic=max(operation, 0),
            atomic_type=max(kind, 0),
        ),
        part=1,
    )  # fmt: skip
    return w.site_pointer(read), w.site_pointer(write)


def _reduction(instruction: Instruction) -> tuple[int, int]:
    """Codes of a reduction and its type, -1 for none; a tile's type is in its map: the order of floats may matter."""
    if instruction.mods[0] != "reduce":
        return -1, -1
    operation = next(ATOMIC_CODES[mod] for mod in instruction.mods if mod in ATOMIC_CODES)
    kind = next((_BITS.get(mod, mod) for mod in instruction.mods if _BITS.get(mod, mod) in ATOMIC_TYPES), "f32")
    return operation, ATOMIC_TYPES[kind]


def _codes(instruction: Instruction) -> tuple[ir.Value, ir.Value]:
    operation, kind = _reduction(instruction)
    return ir.Constant(I32, operation), ir.Constant(I32, kind)


def bulk(w: Writer, instruction: Instruction) -> None:
    """Any instruction whose opcode names `bulk`."""
    mods = instruction.mods
    lanes = w.guarded_mask(w.guard(instruction))
    if "prefetch" in mods:
        return None
    if "commit_group" in mods:
        return w.native("commit_bulk", ir.VoidType(), w.warp, lanes)
    if "wait_group" in mods:
        left = w.first_lane(w.typed(instruction.operands[0], _U32, instruction))
        return w.native("wait_bulk", ir.VoidType(), w.warp, lanes, left)
    if "tensor" in mods:
        return _tile(w, instruction, lanes)
    return _row(w, instruction, lanes)


def _row(w: Writer, instruction: Instruction, lanes: ir.Value) -> None:
    """Bytes that lie together on both sides."""
    mods = instruction.mods
    target, source, size = instruction.operands[:3]
    ends = [addresses(w, source, instruction, "addresses"), addresses(w, target, instruction, "targets")]
    ends.append(spilled(w, w.typed(size, _U32, instruction), "sizes"))
    if "bulk_group" in mods:
        read, write = sides(w, instruction, Scope.SHARED, Scope.GLOBAL, _UNIT)
        return w.native("bulk_store", ir.VoidType(), w.warp, read, write, lanes, *ends, *_codes(instruction))
    inside = "global" not in mods
    read, write = sides(w, instruction, Scope.SHARED if inside else Scope.GLOBAL, Scope.SHARED, _UNIT)
    barrier = mbarrier_site(w, instruction, part=2)
    ends.append(addresses(w, instruction.operands[3], instruction, "masks"))
    if inside:
        return w.native("bulk_inside", ir.VoidType(), w.warp, read, write, barrier, lanes, *ends, *_codes(instruction))
    ranks = _ranks(w, instruction, 4)
    return w.native("bulk_load", ir.VoidType(), w.warp, read, write, barrier, lanes, *ends, ranks)


def _ranks(w: Writer, instruction: Instruction, operand: int) -> ir.Value:
    """The mask of a multicast, 32 lanes of it; 0 for a copy to one block."""
    if "multicast::cluster" not in instruction.mods:
        return spilled(w, ir.Constant(I32, 0), "ranks")
    return spilled(w, w.e.resize(w.typed(instruction.operands[operand], _U16, instruction), 32), "ranks")


def _tile(w: Writer, instruction: Instruction, lanes: ir.Value) -> None:
    """A box of a tensor, by its map and coordinates."""
    rank = next(_RANKS[mod] for mod in instruction.mods if mod in _RANKS)
    stores = "bulk_group" in instruction.mods
    place, shared = instruction.operands[:2] if stores else reversed(instruction.operands[:2])
    coordinates = _coordinates(w, instruction, place)
    maps = addresses(w, place, instruction, "addresses")
    ends = addresses(w, shared, instruction, "targets")
    which = ir.Constant(I32, rank)
    index = w.plan.site(instruction, lambda: _map_info(w, instruction), part=3)
    map_site = w.site_pointer(index)
    if stores:
        read, write = sides(w, instruction, Scope.SHARED, Scope.GLOBAL, _TILE_UNIT, _UNIT)
        operation, _ = _codes(instruction)
        return w.native("tile_store", ir.VoidType(), w.warp, read, write, map_site, lanes, which, maps, coordinates, ends,
                        operation)  # fmt: skip
    read, write = sides(w, instruction, Scope.GLOBAL, Scope.SHARED, _UNIT, _TILE_UNIT)
    barrier = mbarrier_site(w, instruction, part=2)
    bars = addresses(w, instruction.operands[2], instruction, "masks")
    return w.native("tile_load", ir.VoidType(), w.warp, read, write, map_site, barrier, lanes, which, maps, coordinates, ends,
                    bars, _ranks(w, instruction, 3))  # fmt: skip


def _map_info(w: Writer, instruction: Instruction) -> SiteInfo:
    return SiteInfo(instruction, w.plan.call_line(instruction), int(Scope.GENERIC), int(Access.LOAD), _MAP_UNIT)


def _coordinates(w: Writer, instruction: Instruction, place: Address) -> ir.Value:
    """32 lanes of each coordinate, one dimension after the other."""
    (vector,) = place.extra
    buffer = w.buffer("coordinates", 128 * len(vector.items))
    for number, item in enumerate(vector.items):
        w.b.store(w.spread(w.typed(item, _S32, instruction)), w.at(buffer, 128 * number), align=64)
    return buffer
