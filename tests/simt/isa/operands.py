"""Values to test forms with: the edges of every type, and the comparison of results bit by bit."""

from __future__ import annotations

import itertools

import numpy as np

from simt.isa.op import Form
from simt.ptx.types import TYPES, Kind, PtxType

__all__ = ["edges", "lanes_of", "same_bits", "within"]

LANES = 32
_FLOATS = {
    16: (0x0000, 0x8000, 0x3C00, 0xBC00, 0x7BFF, 0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x0001, 0x83FF, 0x0400, 0x3E00, 0x4248,
         0x3555, 0xC900),
    32: (0x00000000, 0x80000000, 0x3F800000, 0xBF800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000,
         0x00000001, 0x807FFFFF, 0x00800000, 0x3FC00000, 0x40490FDB, 0x4B7FFFFF, 0xCF000000, 0x5F800000, 0x3F7FFFFF,
         0x33800000),
    64: (0x0000000000000000, 0x8000000000000000, 0x3FF0000000000000, 0xBFF0000000000000, 0x7FEFFFFFFFFFFFFF,
         0xFFEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x0000000000000001,
         0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x3FF8000000000000, 0x400921FB54442D18, 0x41DFFFFFFFC00000,
         0xC3E0000000000000, 0x43F0000000000000, 0x36A0000000000000, 0x3FEFFFFFFFFFFFFF),
}  # fmt: skip


def edges(type_: PtxType) -> np.ndarray:
    """Edge values of a type, in its dtype: 0, -0, ±1, min, max, infinities, NaN, subnormals, shift amounts."""
    if type_.kind is Kind.PRED:
        return np.array([False, True])
    if type_.kind is Kind.FLOAT:
        return np.array(_FLOATS[type_.bits], f"uint{type_.bits}").view(type_.dtype)
    if type_.bits == 128:
        words = np.array([(0, 0), (1, 2), (2**64 - 1, 2**63), (2**64 - 1,) * 2], np.uint64)
        return words.view("V16")[:, 0]
    top = 1 << type_.bits - 1
    small = (0, 1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 63, 64, 127, 128, 255)
    wide = (top - 1, top, top + 1, 2 * top - 1, 2 * top - 2, 0x12345678, 0x80808080, 0x7F7F7F7F, 0xCAFEBABE, 0x00FF00FF)
    return (
        np.unique(np.array([x % (2 * top) for x in small + wide], np.uint64))
        .astype(f"uint{type_.bits}")
        .view(type_.dtype)
    )


def lanes_of(types: tuple[PtxType, ...], limit: int = 1024) -> list[tuple[np.ndarray, ...]]:
    """Batches of (32,) sources that hold the combinations of all edges, or `limit` of them taken evenly."""
    choices = [edges(type_) for type_ in types]
    total = int(np.prod([len(choice) for choice in choices])) if choices else 1
    step = max(1, total // limit) | 1  # odd, so that no source stays at one value
    rows = list(itertools.islice(itertools.product(*(range(len(choice)) for choice in choices)), 0, None, step))
    rows += rows[: -len(rows) % LANES] or []
    while len(rows) % LANES:
        rows.append(rows[0])
    indices = np.array(rows).reshape(-1, LANES, len(types))
    return [tuple(choice[batch[:, i]] for i, choice in enumerate(choices)) for batch in indices]


def same_bits(a: np.ndarray, b: np.ndarray, type_: PtxType) -> np.ndarray:
    """(32,) bool: equal bits, or NaN in both, half by half where the type is a pair."""
    if type_.name in ("f16x2", "bf16x2"):
        half = TYPES[type_.name.removesuffix("x2")]
        parts = (np.ascontiguousarray(x)[:, None].view(half.dtype) for x in (a, b))
        low, high = (same_bits(x, y, half) for x, y in zip(*(part.T for part in parts), strict=True))
        return low & high
    equal = (
        a.view(f"V{a.dtype.itemsize}") == b.view(f"V{b.dtype.itemsize}")
        if type_.bits == 128
        else (a.view(f"uint{8 * a.dtype.itemsize}") == b.view(f"uint{8 * b.dtype.itemsize}"))
    )
    return equal | (_is_nan(a, type_) & _is_nan(b, type_))


def _is_nan(a: np.ndarray, type_: PtxType) -> np.ndarray:
    if type_.kind is Kind.FLOAT:
        return np.isnan(a)
    exponent = {"bf16": 0x7F80, "tf32": 0x7F800000}.get(type_.name)
    return np.zeros(a.shape, bool) if exponent is None else a & ((1 << type_.bits - 1) - 1) > exponent


def _values(a: np.ndarray, type_: PtxType) -> tuple[np.ndarray, int, int]:
    """(float64 values, mantissa bits, exponent of the smallest number) of scalar float operands."""
    if type_.name == "bf16":
        return (a.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64), 7, -133
    return a.astype(np.float64), {16: 10, 32: 23, 64: 52}[type_.bits], {16: -24, 32: -149, 64: -1074}[type_.bits]


def within(form: Form, got: np.ndarray, wanted: np.ndarray, type_: PtxType) -> np.ndarray:
    """(n,) bool: equal bits, or, for a form whose row states a bound, as near as that."""
    equal = same_bits(got, wanted, type_)
    if form.op.ulp is None:
        return equal
    if type_.name.endswith("x2"):
        half = TYPES[type_.name.removesuffix("x2")]
        parts = (np.ascontiguousarray(x)[:, None].view(half.dtype).T for x in (got, wanted))
        low, high = (within(form, x, y, half) for x, y in zip(*parts, strict=True))
        return low & high
    (x, digits, lowest), (y, _, _) = _values(got, type_), _values(wanted, type_)
    with np.errstate(all="ignore"):
        spacing = 2.0 ** np.maximum(np.floor(np.log2(np.abs(y))) - digits, lowest)
        bound = form.op.ulp(form)
        limit = bound * spacing if bound > 0 else np.maximum(2.0**bound, 2 * spacing)
        flushed = form.has("ftz") & (np.maximum(np.abs(x), np.abs(y)) <= 2.0 ** (lowest + digits))
        return equal | flushed | (np.abs(x - y) <= limit)
