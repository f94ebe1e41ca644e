"""Atomic read-modify-writes of a warp, lane after lane.

Global ones are really atomic, since blocks may run on several native threads; a block's shared memory has one thread.
"""

from __future__ import annotations

from simt.engine.flying import touch_at
from simt.engine.lanewise import lane_read, lane_written, reach
from simt.engine.native import native, rare
from simt.engine.pattern import place
from simt.engine.proxies import note_written_lane
from simt.engine.races import RACES, watch_lane
from simt.engine.records import Ptr, b1, i32, i64, u8, u16, u32, u64, void
from simt.engine.segments import is_distant, scope_of
from simt.engine.state import ATOMIC_CODES, ATOMIC_TYPES, CheckBit, Scope, Site, SiteFlag, Warp
from simt.engine.tracing import note_writers, trace_request

__all__ = ["atomic"]

ADD, MIN, MAX, AND, OR, XOR, EXCH, CAS, INC, DEC = ATOMIC_CODES.values()
U32, S32, U64, S64, B16, B32, B64, F16, BF16, F32, F64, F16X2, BF16X2 = ATOMIC_TYPES.values()
SHADOWED = CheckBit.INITCHECK | CheckBit.COVERAGE


@native
def atomic(
    warp: Ptr[Warp], site: Ptr[Site], mask: u32, addresses: Ptr[u64], operand: Ptr[u8], compare: Ptr[u8], out: Ptr[u8]
) -> void:
    """Every active lane updates the value at its address and gets the old one."""
    if mask == 0:
        return
    if not is_null(warp.block.launch.trace):
        trace_request(warp, site, mask, addresses)
    if warp.block.launch.checks & CheckBit.WRITERS:
        note_writers(warp, site, mask, addresses)
    place(warp, site, mask, addresses)
    raced = warp.block.launch.checks & RACES
    shadowed = warp.block.launch.checks & SHADOWED
    size = site.element_bytes
    warp.seen = warp.block.landings  # of bulk loads: an atomic may be how warps tell each other
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        target = reach(warp, site, u32(1) << lane, addresses[lane])
        if is_null(target):
            memset(out + i32(lane) * size, 255, size)
            continue
        if shadowed:
            if site.atomic != EXCH or site.flags & SiteFlag.RETURNS:
                lane_read(warp, site, u32(1) << lane, addresses[lane])
            lane_written(warp, site, addresses[lane])
        at = i32(lane) * size
        scope = scope_of(site, addresses[lane])
        near = not is_distant(site, scope, addresses[lane])
        if near and scope == Scope.SHARED and warp.block.launch.checks & CheckBit.FLIGHTS:
            note_update(warp, site, lane)
        if raced and near:
            watch_lane(warp, site, lane, scope)
        flush = i32(scope != Scope.SHARED)
        update(site, target, operand + at, compare + at, out + at, flush)
        warp.thread.changes += u64(differ(target, out + at, size))


@rare
@native
def note_update(warp: Ptr[Warp], site: Ptr[Site], lane: u32) -> void:
    """An atomic on shared memory, after `reach`, in a kernel with asynchronous copies: for them it is a store."""
    if warp.block.n_flying != 0:
        touch_at(warp, site, u32(1) << lane, site.aim_offset)
    if warp.block.launch.checks & CheckBit.PROXIES:
        note_written_lane(warp, site, site.aim_offset, i64(site.element_bytes))


@native
def differ(one: Ptr[u8], other: Ptr[u8], n_bytes: i32) -> i32:
    for byte in range(n_bytes):
        if one[byte] != other[byte]:
            return 1
    return 0


@native
def update(site: Ptr[Site], target: Ptr[u8], operand: Ptr[u8], compare: Ptr[u8], out: Ptr[u8], flush: i32) -> void:
    """One lane's update."""
    if site.element_bytes == 4:
        value = cast(Ptr[u32], operand)[0]
        wanted: u32 = 0
        if site.atomic == CAS:
            wanted = cast(Ptr[u32], compare)[0]
        cast(Ptr[u32], out)[0] = update_32(site, cast(Ptr[u32], target), value, wanted, flush)
    elif site.element_bytes == 8:
        wide = cast(Ptr[u64], operand)[0]
        wanted_wide: u64 = 0
        if site.atomic == CAS:
            wanted_wide = cast(Ptr[u64], compare)[0]
        cast(Ptr[u64], out)[0] = update_64(site, cast(Ptr[u64], target), wide, wanted_wide)
    else:
        short = cast(Ptr[u16], operand)[0]
        wanted_short: u16 = 0
        if site.atomic == CAS:
            wanted_short = cast(Ptr[u16], compare)[0]
        cast(Ptr[u16], out)[0] = update_16(site, cast(Ptr[u16], target), short, wanted_short)


@native
def update_32(site: Ptr[Site], target: Ptr[u32], value: u32, compare: u32, flush: i32) -> u32:
    if site.atomic == ADD and site.atomic_type != F32 and site.atomic_type < F16:
        return atomic_add(target, value)
    old = target[0]
    while True:
        seen = atomic_cas(target, old, combined_32(site.atomic, site.atomic_type, old, value, compare, flush))
        if seen == old:
            return old
        old = seen


@native
def update_64(site: Ptr[Site], target: Ptr[u64], value: u64, compare: u64) -> u64:
    if site.atomic == ADD and site.atomic_type != F64:
        return atomic_add(target, value)
    old = target[0]
    while True:
        seen = atomic_cas(target, old, combined_64(site.atomic, site.atomic_type, old, value, compare))
        if seen == old:
            return old
        old = seen


@native
def update_16(site: Ptr[Site], target: Ptr[u16], value: u16, compare: u16) -> u16:
    old = target[0]
    while True:
        new = value
        if site.atomic == ADD:
            new = sum_16(site.atomic_type, old, value)
        elif site.atomic == MIN or site.atomic == MAX:
            new = extreme_16(site.atomic_type, site.atomic, old, value)
        elif site.atomic == CAS and old != compare:
            new = old
        seen = atomic_cas(target, old, new)
        if seen == old:
            return old
        old = seen


@native
def sum_16(kind: i32, left: u16, right: u16) -> u16:
    if kind == F16 or kind == F16X2:
        return f16_add(left, right)
    return bf16_add(left, right)


@native
def ordered_16(value: u16) -> u32:
    """A half or bf16 as a number that orders as it does, -0 below 0."""
    if value & 0x8000:
        return u32(0xFFFF - u32(value))
    return u32(value) | 0x8000


@native
def extreme_16(kind: i32, op: i32, left: u16, right: u16) -> u16:
    """The lesser or the greater; of a NaN and a number the number."""
    infinity: u16 = 0x7F80
    if kind == F16:
        infinity = 0x7C00
    if (left & 0x7FFF) > infinity and (right & 0x7FFF) > infinity:
        return 0x7FFF
    if (left & 0x7FFF) > infinity:
        return right
    if (right & 0x7FFF) > infinity:
        return left
    less = b1(ordered_16(left) < ordered_16(right))
    return left if less == b1(op == MIN) else right


@native
def bf16_add(left: u16, right: u16) -> u16:
    """The sum in f32 (wide enough to round twice without harm), to nearest even; NaN becomes the canonical one."""
    total = bits_of_f32(f32_of_bits(u32(left) << 16) + f32_of_bits(u32(right) << 16))
    if (total & 0x7FFFFFFF) > 0x7F800000:
        return 0x7FFF
    return u16((total + 0x7FFF + ((total >> 16) & 1)) >> 16)


@native
def combined_32(op: i32, kind: i32, old: u32, value: u32, compare: u32, flush: i32) -> u32:
    """What an update of `old` leaves; `flush` makes an f32 sum flush subnormals, as global atomics do (PTX ISA, atom)."""
    if op == ADD:
        return sum_32(kind, old, value, flush)
    if op == MIN or op == MAX:
        less = b1(old < value)
        if kind == S32:
            less = b1(i32(old) < i32(value))
        return old if less == b1(op == MIN) else value
    if op == AND:
        return old & value
    if op == OR:
        return old | value
    if op == XOR:
        return old ^ value
    if op == CAS:
        return value if old == compare else old
    if op == INC:
        return select(old >= value, u32(0), old + 1)
    if op == DEC:
        return value if old == 0 or old > value else old - 1
    return value


@native
def sum_32(kind: i32, old: u32, value: u32, flush: i32) -> u32:
    if kind == F32 and flush != 0:
        return flushed(bits_of_f32(f32_of_bits(flushed(old)) + f32_of_bits(flushed(value))))
    if kind == F32:
        return bits_of_f32(f32_of_bits(old) + f32_of_bits(value))
    if kind == F16X2 or kind == BF16X2:
        low = sum_16(kind, u16(old), u16(value))
        high = sum_16(kind, u16(old >> 16), u16(value >> 16))
        return u32(low) | (u32(high) << 16)
    return old + value


@native
def flushed(bits: u32) -> u32:
    """A subnormal becomes a zero of its sign."""
    return select((bits & 0x7F800000) == 0, bits & 0x80000000, bits)


@native
def combined_64(op: i32, kind: i32, old: u64, value: u64, compare: u64) -> u64:
    if op == ADD:
        return bits_of_f64(f64_of_bits(old) + f64_of_bits(value))
    if op == MIN or op == MAX:
        less = b1(old < value)
        if kind == S64:
            less = b1(i64(old) < i64(value))
        return old if less == b1(op == MIN) else value
    if op == AND:
        return old & value
    if op == OR:
        return old | value
    if op == XOR:
        return old ^ value
    if op == CAS:
        return value if old == compare else old
    return value
