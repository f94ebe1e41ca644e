"""Values of a launch file: what `init` and `value` mean, made only when a launch needs them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

__all__ = ["DTYPES", "INITS", "ArraySpec", "ValueSpecError", "literal", "scalar", "struct"]

DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64",
)  # fmt: skip
INITS = (
    "zeros", "ones", "iota", "poison", "normal:SEED", "uniform:SEED", "randint:SEED:LOW:HIGH", "file:PATH.npy",
)  # fmt: skip
_N_NUMBERS = {"zeros": 0, "ones": 0, "iota": 0, "poison": 0, "normal": 1, "uniform": 1, "randint": 3}


class ValueSpecError(ValueError):
    """A value that a launch file does not say properly; `help` is the next step."""

    def __init__(self, message: str, help: str = ""):
        super().__init__(message)
        self.help = help


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """An array that is not made yet.

    Attributes:
        dtype: one of `DTYPES`.
        shape: sizes, the last varying fastest.
        init: one of `INITS` with its numbers; "" when `value` is given.
        value: a number for every element, or the elements; None when `init` is given.
        folder: where a relative path in `file:` starts.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    init: str = "poison"
    value: object = None
    folder: Path = Path()

    @property
    def n_bytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def is_poison(self) -> bool:
        return self.init == "poison"

    def check(self) -> None:
        """Raises `ValueSpecError` for whatever can be said without making the array."""
        if self.init:
            kind, _, rest = self.init.partition(":")
            if kind == "file":
                self._path(rest)
            else:
                _check_range(_numbers(self.init), self.dtype)
        else:
            literal(self.value, self.dtype, self.shape)

    def array(self) -> np.ndarray:
        """The array; poison is 0xFF in every byte: NaN, or -1.

        Raises:
            ValueSpecError: a file that is missing or holds another dtype or shape.
        """
        if not self.init:
            return literal(self.value, self.dtype, self.shape)
        kind, _, rest = self.init.partition(":")
        if kind == "file":
            return self._load(self._path(rest))
        numbers = _numbers(self.init)
        n = math.prod(self.shape)
        return _MAKERS[kind](n, self.dtype, numbers).reshape(self.shape)

    def _path(self, text: str) -> Path:
        path = self.folder / text
        if not path.is_file():
            raise ValueSpecError(f"there is no file {path}", "a path counts from the launch file's folder")
        return path

    def _load(self, path: Path) -> np.ndarray:
        try:
            array = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise ValueSpecError(f"{path} is no .npy array: {error}", "write it with np.save(path, array)") from None
        if array.dtype != self.dtype or array.shape != self.shape:
            raise ValueSpecError(
                f"{path} holds {array.dtype} {array.shape}, the launch file says {self.dtype} {self.shape}",
                "let dtype and shape say what the file holds",
            )
        return np.ascontiguousarray(array)


def _numbers(init: str) -> tuple[int, ...]:
    kind, *parts = init.split(":")
    if kind not in _N_NUMBERS or len(parts) != _N_NUMBERS[kind]:
        raise ValueSpecError(f"init = {init!r} is not known", f"one of {', '.join(INITS)}")
    try:
        numbers = tuple(int(part) for part in parts)
    except ValueError:
        raise ValueSpecError(
            f"init = {init!r}: {':'.join(parts)} are not whole numbers", "such as randint:7:0:256"
        ) from None
    if numbers and numbers[0] < 0:
        raise ValueSpecError(f"init = {init!r}: a seed is 0 or more", "such as normal:7")
    if kind == "randint" and numbers[1] >= numbers[2]:
        raise ValueSpecError(f"init = {init!r}: LOW must be less than HIGH, which is not reached", "randint:7:0:256")
    return numbers


def _check_range(numbers: Sequence[int], dtype: np.dtype) -> None:
    if len(numbers) == 3 and dtype.kind in "iu":
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
        if numbers[1] < least or numbers[2] > most + 1:
            raise ValueSpecError(f"randint from {numbers[1]} to {numbers[2]} does not fit {dtype}", "use a wider dtype")


def _ones(n: int, dtype: np.dtype, numbers: Sequence[int]) -> np.ndarray:
    return np.ones(n, dtype)


def _poison(n: int, dtype: np.dtype, numbers: Sequence[int]) -> np.ndarray:
    return np.full(n * dtype.itemsize, 0xFF, np.uint8).view(dtype)


def _normal(n: int, dtype: np.dtype, numbers: Sequence[int]) -> np.ndarray:
    return np.random.default_rng(numbers[0]).standard_normal(n).astype(dtype)


def _uniform(n: int, dtype: np.dtype, numbers: Sequence[int]) -> np.ndarray:
    return np.random.default_rng(numbers[0]).random(n).astype(dtype)


def _randint(n: int, dtype: np.dtype, numbers: Sequence[int]) -> np.ndarray:
    seed, low, high = numbers
    generator = np.random.default_rng(seed)
    return (
        generator.integers(low, high, n, dtype)
        if dtype.kind in "iu"
        else generator.integers(low, high, n).astype(dtype)
    )


_MAKERS: dict[str, Callable[[int, np.dtype, Sequence[int]], np.ndarray]] = {
    "zeros": lambda n, dtype, numbers: np.zeros(n, dtype),
    "ones": _ones,
    "iota": lambda n, dtype, numbers: np.arange(n).astype(dtype),
    "poison": _poison,
    "normal": _normal,
    "uniform": _uniform,
    "randint": _randint,
}


def literal(value: object, dtype: np.dtype, shape: tuple[int, ...] | None) -> np.ndarray:
    """A number or nested lists of numbers as an array of `dtype`; one number fills `shape`.

    Raises:
        ValueSpecError: not numbers, out of the dtype's range, a fraction for an integer, or another shape.
    """
    try:
        given = np.array(value)
    except ValueError:
        raise ValueSpecError(f"value = {value!r} is not an array: its rows differ in length") from None
    if given.size and given.dtype.kind not in "biuf":
        raise ValueSpecError(f"value = {value!r} is not made of numbers", "a number, or a list of numbers")
    if dtype.kind in "iu" and given.size:
        _check_integers(given, dtype, value)
    made = given.astype(dtype)
    if shape is None or made.shape == shape:
        return made
    if made.ndim == 0:
        return np.full(shape, made, dtype)
    if made.size == math.prod(shape):
        return made.reshape(shape)
    raise ValueSpecError(f"value has {made.size} elements, shape {shape} has {math.prod(shape)}", "let them agree")


def _check_integers(given: np.ndarray, dtype: np.dtype, value: object) -> None:
    if given.dtype.kind == "f":
        raise ValueSpecError(
            f"value = {value!r} has a fraction, {dtype} has none", "use a float dtype, or a whole number"
        )
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    if int(given.min()) < low or int(given.max()) > high:
        raise ValueSpecError(
            f"value = {value!r} does not fit {dtype}, which goes from {low} to {high}", "use a wider dtype"
        )


def scalar(value: object, dtype: np.dtype) -> np.ndarray | np.generic:
    """A scalar of `dtype`; a list becomes the bytes of a struct whose members are all of that type."""
    made = literal(value, dtype, None)
    return made[()] if made.ndim == 0 else made


def struct(values: object, members: Sequence[np.dtype]) -> np.void:
    """A struct passed by value, its members laid out and aligned as C++ does; a list of values is a member array."""
    if not members or not isinstance(values, list) or len(values) != len(members):
        n_given = len(values) if isinstance(values, list) else 0
        raise ValueSpecError(
            f"the struct has {len(members)} members, value gives {n_given}",
            'dtype = ["int32", "float32"], value = [3, 0.5]',
        )
    made = [literal(value, dtype, None) for value, dtype in zip(values, members, strict=True)]
    names = [f"m{number}" for number in range(len(made))]
    kind = np.dtype([(name, part.dtype, part.shape) for name, part in zip(names, made, strict=True)], align=True)
    row = np.zeros(1, kind)
    for name, part in zip(names, made, strict=True):
        row[name] = part
    return row[0]
