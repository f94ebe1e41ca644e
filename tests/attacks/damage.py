"""Seeded damage to texts and values, so that every parser meets what nobody wrote by hand."""

from __future__ import annotations

import random

__all__ = ["damaged_bytes", "damaged_value"]

PIECES = (
    b"\0", b"\xff\xfe", b"\xed\xa0\x80", b"\r", b"\n", b"\\\n", b"(" * 300, b"[" * 3000, b"{" * 40, b'"', b"'''", b'r"""',
    b"9" * 5000, b"1e999", b"NaN", b"null", b"true", b"-1", b"9**9**9", b"\\u0000", b"\\ud800", b"# exercise: ", b"def ",
    b"lambda:", b"\t", b" " * 50, b"/*", b"*/", b"#", b"%:", b"include", b"<x>", b"=", b",", b":", b";", b"\xe2\x80\xae",
)  # fmt: skip
ODD_VALUES = (
    None, True, False, -1, 0, 1, 2**31, 2**63, 2**64, -(2**63), 10**30, 1.5, float("nan"), float("inf"), "", "x", "\ud800",
    "\0", "9" * 5000, [], {}, [[]], [None], {"a": 1}, [1, 2, 3, 4], "<f4", "|O", "pass",
)  # fmt: skip


def damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    """`data` after one to four cuts, repeats, flips or insertions."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((0, 1, 2, 8, 40, 400)))
        match rng.randrange(4):
            case 0:
                data = data[:at] + data[end:]
            case 1:
                data = data[:end] + data[at:]
            case 2:
                data = data[:at] + rng.choice(PIECES) + data[end:]
            case 3:
                flipped = bytes(byte ^ (1 << rng.randrange(8)) for byte in data[at : at + 1])
                data = data[:at] + flipped + data[at + 1 :]
    return data


def damaged_value(value: object, rng: random.Random) -> object:
    """`value`, plain as JSON gives it, with one part of it replaced, dropped or doubled."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        if rng.random() < 0.1:
            return {name: item for name, item in value.items() if name != key}
        return value | {key: damaged_value(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        at = rng.randrange(len(value))
        if rng.random() < 0.2:
            return value[:at] + value[at:] * 2
        return [*value[:at], damaged_value(value[at], rng), *value[at + 1 :]]
    return rng.choice(ODD_VALUES)
