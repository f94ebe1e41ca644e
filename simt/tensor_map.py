"""Tensor maps: how a tile copy of Hopper's TMA sees a tensor, and the rules that the driver has for encoding one.

`TensorMap` says the same to every device: `simt` lays out an object of its own from it, a GPU's driver encodes it with
cuTensorMapEncodeTiled (`simt.tensor_map_driver`). Dimensions count from the innermost, as the driver counts them.

    TensorMap.of("x", (64, 128), "float32", box=(32, 8), swizzle=Swizzle.B128)

Source of every rule and number: CUDA Driver API, Tensor Map Object Management, cuTensorMapEncodeTiled; rules are numbered
in the order of its parameters.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from simt.diagnostics import Diagnostic, diagnose
from simt.events import Argument

__all__ = [
    "ELEMENTS",
    "MAP_BYTES",
    "Element",
    "Fill",
    "Swizzle",
    "TensorMap",
    "backing_arguments",
    "broken_rules",
    "pitched",
]

MAP_BYTES = 128
MAX_RANK = 5
MAX_BOX = 256
MAX_ELEMENT_STRIDE = 8
UNIT = 16  # bytes that addresses, strides and the box's inner dimension come in


class Swizzle(enum.IntEnum):
    """How 16-byte chunks of a tile are permuted in shared memory; the driver's own numbers."""

    NONE = 0
    B32 = 1
    B64 = 2
    B128 = 3

    @property
    def span_bytes(self) -> int:
        """Bytes within which chunks change places, 0 for none."""
        return 16 << self if self else 0


class Fill(enum.IntEnum):
    """What a load puts where the box reaches outside the tensor; the driver's own numbers."""

    ZERO = 0
    NAN = 1


@dataclass(frozen=True, slots=True)
class Element:
    """A type of elements: the driver's number for it and its bytes."""

    code: int
    n_bytes: int
    is_float: bool = False


# CUtensorMapDataType by NumPy's names; signed bytes and shorts move as unsigned ones.
ELEMENTS = {
    "uint8": Element(0, 1), "int8": Element(0, 1), "uint16": Element(1, 2), "int16": Element(1, 2),
    "uint32": Element(2, 4), "int32": Element(3, 4), "uint64": Element(4, 8), "int64": Element(5, 8),
    "float16": Element(6, 2, True), "float32": Element(7, 4, True), "float64": Element(8, 8, True),
    "bfloat16": Element(9, 2, True),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor in global memory and the box that one copy moves.

    Attributes:
        base: the argument whose memory it describes, by name.
        dtype: a name out of `ELEMENTS`.
        global_dim: elements along each dimension, innermost first.
        global_stride_bytes: bytes from one index to the next, of every dimension but the innermost.
        box: elements of the box along each dimension.
        element_strides: every so many elements of the box are taken; the innermost counts as 1.
        offset_bytes: where in the memory the tensor starts.
        backing: the memory itself where `base` is no argument of the kernel.
    """

    base: str
    dtype: str
    global_dim: tuple[int, ...]
    global_stride_bytes: tuple[int, ...]
    box: tuple[int, ...]
    element_strides: tuple[int, ...]
    swizzle: Swizzle = Swizzle.NONE
    fill: Fill = Fill.ZERO
    offset_bytes: int = 0
    backing: Argument | None = None

    @classmethod
    def of(
        cls,
        base: str,
        shape: Sequence[int],
        dtype: str,
        box: Sequence[int],
        *,
        global_dim: Sequence[int] | None = None,
        global_stride_bytes: Sequence[int] | None = None,
        element_strides: Sequence[int] | None = None,
        swizzle: Swizzle = Swizzle.NONE,
        fill: Fill = Fill.ZERO,
        offset_bytes: int = 0,
        backing: Argument | None = None,
    ) -> TensorMap:
        """The map of an array of `shape` in C order, outermost dimension first; what is given goes before that."""
        dims = tuple(global_dim) if global_dim is not None else tuple(reversed(shape))
        if global_stride_bytes is None:
            size = ELEMENTS[dtype].n_bytes if dtype in ELEMENTS else 1
            global_stride_bytes = [int(np.prod(dims[: i + 1], dtype=object)) * size for i in range(len(dims) - 1)]
        steps = tuple(element_strides) if element_strides is not None else (1,) * len(dims)
        return cls(
            base, dtype, dims, tuple(global_stride_bytes), tuple(box), steps, swizzle, fill, offset_bytes, backing
        )

    @property
    def rank(self) -> int:
        return len(self.global_dim)

    @property
    def element(self) -> Element:
        return ELEMENTS[self.dtype]

    @property
    def box_bytes(self) -> int:
        """Bytes that one load moves to shared memory, those outside the tensor included."""
        counts = [-(-size // step) for size, step in zip(self.box[1:], self.element_strides[1:], strict=True)]
        return self.box[0] * self.element.n_bytes * int(np.prod(counts, dtype=object))


def broken_rules(name: str, tensor_map: TensorMap) -> Iterator[Diagnostic]:
    """Every rule of the driver's encoder that a map breaks, the field named; the driver only says "invalid value".

    Args:
        name: the argument, for the message.
        tensor_map: what is to be encoded; the memory's own address is a multiple of 256.
    """
    for rule, problem, help in _problems(tensor_map):
        yield diagnose(
            "tensormap.encode",
            f"tensor map `{name}`: {problem} (rule {rule} of cuTensorMapEncodeTiled; the driver answers "
            "CUDA_ERROR_INVALID_VALUE and names no field)",
            help=help,
        )


_Problem = tuple[int, str, str]


def _problems(m: TensorMap) -> Iterator[_Problem]:
    if m.dtype not in ELEMENTS:
        yield 2, f"tensorDataType: {m.dtype} is no element type", f"one of {', '.join(ELEMENTS)}"
        return
    if not 1 <= m.rank <= MAX_RANK:
        yield 3, f"tensorRank is {m.rank}", f"a tensor map has 1 to {MAX_RANK} dimensions"
        return
    wrong = [(n, got, want) for n, got, want in _counts(m) if got != want]
    for field, got, want in wrong:
        yield 3, f"{field} has {got} entries for {m.rank} dimensions", f"give {want}"
    if wrong:
        return
    yield from _memory_problems(m)
    yield from _box_problems(m)
    if m.fill is Fill.NAN and not m.element.is_float:
        yield (
            12,
            f"oobFill asks for NaN in elements of {m.dtype}",
            "only floating-point elements have a NaN: fill with zeros",
        )


def _counts(m: TensorMap) -> tuple[tuple[str, int, int], ...]:
    return (
        ("globalStrides", len(m.global_stride_bytes), m.rank - 1), ("boxDim", len(m.box), m.rank),
        ("elementStrides", len(m.element_strides), m.rank),
    )  # fmt: skip


def _memory_problems(m: TensorMap) -> Iterator[_Problem]:
    if m.offset_bytes % UNIT:
        yield (
            4,
            f"globalAddress lies {m.offset_bytes % UNIT} bytes past a multiple of {UNIT}",
            "start at an aligned element",
        )
    for i, size in enumerate(m.global_dim):
        if not 1 <= size <= 1 << 32:
            yield 5, f"globalDim[{i}] = {size} is not between 1 and 2^32", "count elements, innermost dimension first"
    for i, stride in enumerate(m.global_stride_bytes):
        if stride % UNIT:
            more = -stride % UNIT
            yield (
                6,
                f"globalStrides[{i}] = {stride} bytes is not a multiple of {UNIT}",
                f"pad each row by {more} bytes to {stride + more}"
                + (f" ({more // m.element.n_bytes} elements more)" if more % m.element.n_bytes == 0 else ""),
            )
        elif not 0 < stride < 1 << 40:
            yield 6, f"globalStrides[{i}] = {stride} bytes is not between 1 and 2^40 - 1", "strides are in bytes"


def _box_problems(m: TensorMap) -> Iterator[_Problem]:
    for i, size in enumerate(m.box):
        if not 1 <= size <= MAX_BOX:
            yield 7, f"boxDim[{i}] = {size} is not between 1 and {MAX_BOX}", "copy a larger tile in several boxes"
    inner = m.box[0] * m.element.n_bytes
    if inner % UNIT:
        yield (
            7,
            f"boxDim[0] = {m.box[0]} elements take {inner} bytes, which is not a multiple of {UNIT}",
            f"make the box a multiple of {max(UNIT // m.element.n_bytes, 1)} elements wide",
        )
    for i, step in enumerate(m.element_strides):
        if not 1 <= step <= MAX_ELEMENT_STRIDE:
            yield 8, f"elementStrides[{i}] = {step} is not between 1 and {MAX_ELEMENT_STRIDE}", "1 takes every element"
    if m.swizzle and inner > m.swizzle.span_bytes:
        yield (
            10,
            f"boxDim[0] = {m.box[0]} elements take {inner} bytes, more than the {m.swizzle.span_bytes} that the swizzle spans",
            f"make the box at most {m.swizzle.span_bytes // m.element.n_bytes} elements wide, and copy several side by side",
        )


def pitched(array: np.ndarray, tensor_map: TensorMap) -> np.ndarray:
    """The array's elements as `tensor_map` expects them in memory: flat, rows at its strides, zeros between."""
    size = array.dtype.itemsize
    strides = (*reversed(tensor_map.global_stride_bytes), size)
    if array.ndim != len(strides) or any(stride % size for stride in strides):
        return array
    flat = np.zeros(max(array.size, strides[0] // size * array.shape[0]), array.dtype)
    fits = all(a >= b * n for a, b, n in zip(strides, strides[1:], array.shape[1:], strict=False))
    if not fits:
        return array
    np.lib.stride_tricks.as_strided(flat, array.shape, strides)[...] = array
    return flat


def backing_arguments(arguments: Sequence[Argument]) -> tuple[Argument, ...]:
    """Memory that only tensor maps reach, once for each name."""
    names = {argument.name for argument in arguments}
    found: dict[str, Argument] = {}
    for argument in arguments:
        if (
            isinstance(argument.value, TensorMap)
            and argument.value.backing is not None
            and argument.value.base not in names
        ):
            found.setdefault(argument.value.base, argument.value.backing)
    return tuple(found.values())
