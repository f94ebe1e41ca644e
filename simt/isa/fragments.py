"""Which element of a matrix each lane holds, for mma and wmma, and in which pieces wmma reads and writes memory.

One rule gives every layout of `mma.sync` in the PTX ISA ("Matrix Fragments for mma"): a matrix is cut into tiles of 8
rows, and lane l holds `per` neighbours of row l / 4 of each tile, from column `per` (l mod 4) on. `per` is what fits in 32
bits, in accumulators two. A goes over its tiles row blocks first; B is such a matrix on its side.

The ISA leaves fragments of wmma open. Here they follow the same rule, as ptxas has it: m8n32k16 is formed on its side, as
the transpose of m32n8k16. Where a fragment has more room than its matrix has elements (16 halves a lane for A and B of
f16) the elements come again from the start.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

import numpy as np

__all__ = [
    "ELEMENT_BYTES",
    "Fragment",
    "Pieces",
    "fragment",
    "is_ldmatrix",
    "pieces",
    "shape_of",
    "sums_of",
    "tensor_instructions",
    "wmma_fragment",
]

LANES = 32
ELEMENT_BYTES = {"f16": 2, "bf16": 2, "tf32": 4, "f32": 4, "f64": 8, "s8": 1, "u8": 1, "s32": 4,
                 "e4m3": 1, "e5m2": 1}  # fmt: skip
# How many HMMA, IMMA or DMMA a product becomes. Source: SASS by ptxas 13.5 for sm_90, each shape and type on its own.
_WMMA_PARTS = {"f64": 1, "tf32": 4}  # by the type of A, 2 for others
WMMA_HALVES = 16  # a lane of A and B holds, PTX ISA, "Matrix Fragments for WMMA": eight .f16x2 registers in every shape


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """A matrix spread over a warp: element e of lane l is number `places[e, l]`, counted row by row."""

    rows: int
    cols: int
    type: str
    places: np.ndarray

    @property
    def element_bytes(self) -> int:
        return ELEMENT_BYTES[self.type]

    @property
    def register_bytes(self) -> int:
        return max(4, self.element_bytes)

    @property
    def n_registers(self) -> int:
        return len(self.places) * self.element_bytes // self.register_bytes


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """How a wmma fragment meets memory: requests of `width` elements a lane, from `major[r, l]`, `minor[r, l]` on.

    The matrix in memory consists of `n_major` runs of `n_minor` neighbours: rows in row-major order, else columns. From
    shared memory an operand may come by LDSM, up to `tiles` requests at once; 0 where it does not.
    """

    n_major: int
    n_minor: int
    width: int
    tiles: int
    major: np.ndarray
    minor: np.ndarray


def shape_of(mods: tuple[str, ...]) -> tuple[int, int, int]:
    """(m, n, k) out of an opcode's modifiers, such as `m16n8k16`."""
    found = next(match for mod in mods if (match := re.fullmatch(r"m(\d+)n(\d+)k(\d+)", mod)))
    return int(found[1]), int(found[2]), int(found[3])


def tensor_instructions(name: str, mods: tuple[str, ...]) -> int:
    """Tensor instructions of a warp's machine code that one product, `mma`, `wmma.mma` or `wgmma.mma_async`, stands for."""
    if name == "wgmma":
        return 1
    if name == "mma":
        return 2 if {"e4m3", "e5m2"} & set(mods) else 1
    return next((parts for type_, parts in _WMMA_PARTS.items() if type_ in mods), 2)


def sums_of(name: str, mods: tuple[str, ...]) -> tuple[int, int]:
    """(steps of k that a tensor instruction adds at once, bits that it keeps), see `simt.engine.sums`."""
    k = shape_of(mods)[2]
    if "tf32" in mods and name == "wmma":
        return 4, 25
    if {"e4m3", "e5m2"} & set(mods):
        return (k, 13) if name == "wgmma" else (16, 25)
    return k, 25


def _tiles(rows: int, cols: int, per: int, rows_first: bool) -> tuple[np.ndarray, np.ndarray]:
    """(row, column) of each element and lane, (elements, 32), tile after tile."""
    lane, neighbour = np.arange(LANES), np.arange(per)[:, None]
    down, across = range(0, rows, 8), range(0, cols, 4 * per)
    order = [(r, c) for c in across for r in down] if rows_first else [(r, c) for r in down for c in across]
    row = np.concatenate([np.broadcast_to(r + lane // 4, (per, LANES)) for r, _ in order])
    col = np.concatenate([c + per * (lane % 4) + neighbour for _, c in order])
    return row, col


@cache
def fragment(role: str, shape: tuple[int, int, int], type_: str) -> Fragment:
    """The layout of `role` a, b, c or d in a product of `shape`, as `mma.sync` has it."""
    m, n, k = shape
    if role == "a":
        rows, cols = m, k
        row, col = _tiles(m, k, max(1, 4 // ELEMENT_BYTES[type_]), True)
    elif role == "b":
        rows, cols = k, n
        col, row = _tiles(n, k, max(1, 4 // ELEMENT_BYTES[type_]), False)
    else:
        rows, cols = m, n
        row, col = _tiles(m, n, 2, True)
    return Fragment(rows, cols, type_, row * cols + col)


@cache
def wmma_fragment(role: str, shape: tuple[int, int, int], type_: str) -> Fragment:
    """The layout that wmma has here."""
    m, n, k = shape
    if m < n:
        return _transposed(wmma_fragment({"a": "b", "b": "a"}.get(role, role), (n, m, k), type_))
    plain = fragment(role, shape, type_)
    if role not in "ab" or type_ != "f16":
        return plain
    return Fragment(plain.rows, plain.cols, type_, np.tile(plain.places, (WMMA_HALVES // len(plain.places), 1)))


def _transposed(held: Fragment) -> Fragment:
    row, col = np.divmod(held.places, held.cols)
    return Fragment(held.cols, held.rows, held.type, col * held.rows + row)


def is_ldmatrix(mods: tuple[str, ...]) -> bool:
    """Whether a `wmma.load` reads shared memory by LDSM.

    Source: SASS by ptxas 13.5 for sm_90: operands of f16, and those of s8 and u8 whose runs in memory are runs of k.
    """
    role, order, type_ = mods[1], "row" if "row" in mods else "col", mods[-1]
    return role in "ab" and (type_ == "f16" or (type_ in ("s8", "u8") and order == {"a": "row", "b": "col"}[role]))


@cache
def pieces(held: Fragment, is_row_major: bool) -> Pieces:
    """The requests that load or store a fragment.

    Lanes move what they hold, neighbours in memory together, up to four bytes or two elements. Elements of 16 bits move in
    pairs along the memory's own runs in both orders: hardware exchanges rows and columns in registers afterwards (MOVM).
    Source: SASS of wmma.load and wmma.store by ptxas 13.5 for sm_90; LDSM takes four tiles of f16 and two of bytes.
    """
    n_major, n_minor = (held.rows, held.cols) if is_row_major else (held.cols, held.rows)
    if held.element_bytes == 2:
        major, minor = _tiles(n_major, n_minor, 2, True)
        return Pieces(n_major, n_minor, 2, 4, major[::2], minor[::2])
    row, col = np.divmod(held.places, held.cols)
    major, minor = (row, col) if is_row_major else (col, row)
    run = 4 if held.element_bytes == 1 else 2
    apart = np.arange(min(run, len(major)))[:, None]
    together = len(major) >= run and (major[:run] == major[0]).all() and (minor[:run] == minor[0] + apart).all()
    width = run if together else 1
    return Pieces(n_major, n_minor, width, 2, major[::width], minor[::width])
