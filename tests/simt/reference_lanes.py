"""Lanes of a warp together, and atomics: the parts of the reference interpreter that the table has no `eval` for.

Source: PTX ISA, sections shfl.sync, vote.sync, match.sync, redux.sync, elect.sync, atom.
"""

from __future__ import annotations

import numpy as np

from tests.simt.reference_memory import lanes_of

__all__ = ["atomic_update", "bits_of", "match", "redux", "shuffle", "vote"]


def bits_of(lanes: np.ndarray) -> int:
    """(32,) bool as a mask of 32 bits."""
    return int(np.packbits(lanes, bitorder="little").view(np.uint32)[0])


def _bit(mask: int, lane: int) -> bool:
    return bool(mask >> lane & 1)


def shuffle(mode: str, running: np.ndarray, values, wanted, clamps) -> tuple[np.ndarray, np.ndarray]:
    """(value, in range) of each running lane; a source that does not run gives all ones."""
    out, inside = values.copy(), np.zeros(32, bool)
    for lane in lanes_of(running):
        b, c = int(wanted[lane]) & 31, int(clamps[lane]) & 31
        segment = int(clamps[lane]) >> 8 & 31
        low = lane & segment
        high = low | c & ~segment
        source = {"up": lane - b, "down": lane + b, "bfly": lane ^ b, "idx": low | b & ~segment}[mode]
        inside[lane] = source >= high if mode == "up" else source <= high
        source = source if inside[lane] else lane
        out[lane] = values[source] if running[source] else 0xFFFFFFFF
    return out, inside


def vote(kind: str, running: np.ndarray, predicate, members) -> np.ndarray:
    """A mask for `ballot`, else a truth for each lane."""
    yes, asked = bits_of(running & predicate), bits_of(running)
    out = np.zeros(32, np.uint32 if kind == "ballot" else bool)
    for lane in range(32):
        chosen, all_of = yes & int(members[lane]), asked & int(members[lane])
        answers = {"ballot": chosen, "any": chosen != 0, "all": chosen == all_of, "uni": chosen in (0, all_of)}
        out[lane] = answers[kind]
    return out


def match(every: bool, running: np.ndarray, values, members) -> tuple[np.ndarray, np.ndarray]:
    out, truth = np.zeros(32, np.uint32), np.zeros(32, bool)
    for lane in lanes_of(running):
        group = int(members[lane]) & bits_of(running)
        same = bits_of(np.array([_bit(group, other) and values[other] == values[lane] for other in range(32)]))
        if every:
            truth[lane] = same == group
            out[lane] = group if truth[lane] else 0
        else:
            out[lane] = same
    return out, truth


def redux(name: str, signed: bool, running: np.ndarray, values, members) -> np.ndarray:
    out = values.copy()
    of = {
        "add": np.add,
        "min": np.minimum,
        "max": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
    typed = values.view(np.int32) if signed else values
    for lane in lanes_of(running):
        group = [other for other in lanes_of(running) if _bit(int(members[lane]), other)]
        if group:
            out[lane] = np.array(of[name].reduce(typed[group])).astype(typed.dtype).view(np.uint32)
    return out


# --- atomics


def _flushed(value: np.float32) -> np.float32:
    tiny = np.abs(value) < np.finfo(np.float32).tiny
    return np.float32(np.copysign(np.float32(0), value)) if tiny else value


def _bf16_add(a: int, b: int) -> int:
    total = np.array([a, b], np.uint32).__lshift__(16).view(np.float32).sum(dtype=np.float32)
    if np.isnan(total):
        return 0x7FFF
    bits = int(total.view(np.uint32))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 & 0xFFFF


def _halves(kind: str, old: int, value: int) -> int:
    if kind.startswith("bf16"):
        return _bf16_add(old, value)
    return int((np.uint16(old).view(np.float16) + np.uint16(value).view(np.float16)).view(np.uint16))


def _add(kind: str, bits: int, old: int, value: int, flush: bool) -> int:
    if kind in ("f16x2", "bf16x2"):
        return _halves(kind, old & 0xFFFF, value & 0xFFFF) | _halves(kind, old >> 16, value >> 16) << 16
    if kind in ("f16", "bf16"):
        return _halves(kind, old, value)
    if kind == "f32":
        a, b = (np.uint32(x).view(np.float32) for x in (old, value))
        total = _flushed(_flushed(a) + _flushed(b)) if flush else a + b
        return int(np.float32(total).view(np.uint32))
    if kind == "f64":
        return int((np.uint64(old).view(np.float64) + np.uint64(value).view(np.float64)).view(np.uint64))
    return (old + value) % (1 << bits)


def atomic_update(name: str, kind: str, bits: int, old: int, value: int, compare: int, flush: bool) -> int:
    """What an atomic leaves in memory; every number is an unsigned pattern of `bits`."""

    def signed(x: int) -> int:
        return x - (1 << bits) if kind.startswith("s") and x >> (bits - 1) else x

    if name == "add":
        return _add(kind, bits, old, value, flush)
    if name in ("min", "max"):
        return (min if name == "min" else max)(old, value, key=signed)
    return {
        "and": old & value, "or": old | value, "xor": old ^ value, "exch": value, "cas": value if old == compare else old,
        "inc": 0 if old >= value else old + 1, "dec": value if old == 0 or old > value else old - 1,
    }[name]  # fmt: skip
