"""The cases in which a GPU's instructions are compared with the table, and the file that holds what a GPU gave.

Every pure form that the GPU has is a case: the edges of its operands' types, its hand-written rows, and random values.
The file keeps inputs beside results, so a recording stays valid when the edges or the generator change.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from simt.isa.op import Form, Role, forms_of
from simt.isa.table import ROWS, lookup
from simt.ptx.types import Kind, PtxType
from tests.simt.isa.kernels import IMMEDIATES
from tests.simt.isa.operands import lanes_of
from tests.simt.isa.rows import Row
from tests.simt.isa.rows_all import ROWS as HAND_WRITTEN

__all__ = ["LANES", "Case", "cases", "constants_of", "load", "pure_forms", "reason_not_to_replay", "save"]

LANES = 32
EDGES, RANDOM = 320, 96
RANDOM_APPROXIMATE = 2048  # a bound is tested by many values rather than by edges
OPAQUE = {"createpolicy": "the result is an opaque value that only a cache reads"}

Results = tuple[np.ndarray, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """A form with the inputs it is run on.

    Attributes:
        form: the exact opcode.
        constants: index of a source that PTX wants as a literal → its value; its column in `sources` holds that value.
        sources: (n,) arrays of the operands' dtypes, n a multiple of 32.
    """

    form: Form
    constants: Mapping[int, int]
    sources: tuple[np.ndarray, ...]

    @property
    def key(self) -> str:
        """The opcode and its literals: `add.s32`, `lop3.b32@3=150`."""
        return self.form.opcode + "".join(f"@{index}={value}" for index, value in self.constants.items())


def pure_forms() -> Iterator[Form]:
    """Every pure form of the table."""
    return (form for row in ROWS if row.role is Role.PURE for form in forms_of(row))


def reason_not_to_replay(form: Form, capability: int) -> str:
    """Why a GPU of this compute capability, 90, cannot confirm a form; empty when it can."""
    if form.op.since[1] > capability:
        return f"needs sm_{form.op.since[1]}"
    return OPAQUE.get(form.op.name, "")


def cases(capability: int) -> Iterator[Case]:
    """Every case that a GPU of this compute capability can run."""
    for form in pure_forms():
        if not reason_not_to_replay(form, capability):
            for constants in _literals(form):
                yield Case(form, constants, _sources(form, constants))


def constants_of(form: Form, row: Row) -> dict[int, int]:
    """The literals among a hand-written row's sources."""
    return {index: row.sources[index] for name, index in IMMEDIATES if name == form.op.name}


def _literals(form: Form) -> list[dict[int, int]]:
    """The literals to try: the listed ones and those of hand-written rows."""
    tried = [{index: value} for (name, index), values in IMMEDIATES.items() if name == form.op.name for value in values]
    tried += [constants_of(form, row) for row in _rows_of().get(form.opcode, ())]
    return [dict(pairs) for pairs in dict.fromkeys(tuple(constants.items()) for constants in tried or [{}])]


@cache
def _rows_of() -> dict[str, list[Row]]:
    found = defaultdict(list)
    for row in HAND_WRITTEN:
        found[row.opcode].append(row)
    return found


def _sources(form: Form, constants: Mapping[int, int]) -> tuple[np.ndarray, ...]:
    types = form.op.shape(form).sources
    rows = [row.sources for row in _rows_of().get(form.opcode, ()) if constants_of(form, row) == constants]
    rows += [rows[-1]] * (-len(rows) % LANES) if rows else []
    columns = zip(_edges_and_random(types, RANDOM_APPROXIMATE if form.op.ulp else RANDOM), _columns(rows, types))
    return tuple(
        np.full(sum(map(len, parts)), _value(constants[index], type_)) if index in constants else np.concatenate(parts)
        for index, (parts, type_) in enumerate(zip(columns, types))
    )


def _columns(rows: list[tuple[int, ...]], types: tuple[PtxType, ...]) -> Iterator[np.ndarray]:
    for index, type_ in enumerate(types):
        yield np.array([_value(row[index], type_) for row in rows], type_.dtype)


def _value(bits: int, type_: PtxType) -> np.generic:
    return np.frombuffer(bits.to_bytes(type_.n_bytes, "little"), type_.dtype)[0]


@cache
def _edges_and_random(types: tuple[PtxType, ...], n_random: int) -> tuple[np.ndarray, ...]:
    """(n,) sources: combinations of edges, then random ones, the same for all forms with operands of these types."""
    batches = lanes_of(types, EDGES)
    rng = np.random.default_rng(zlib.crc32(" ".join(type_.name for type_ in types).encode()))
    return tuple(
        np.concatenate([*(batch[index] for batch in batches), _random(type_, n_random, rng)])
        for index, type_ in enumerate(types)
    )


def _random(type_: PtxType, n: int, rng: np.random.Generator) -> np.ndarray:
    """Random bits; every other float is an ordinary number instead."""
    if type_.bits == 1:
        return rng.integers(0, 2, n).astype(bool)
    raw = rng.integers(0, 256, n * type_.n_bytes, dtype=np.uint8).view(type_.dtype)
    if type_.kind is not Kind.FLOAT:
        return raw
    ordinary = rng.normal(size=n) * 2.0 ** rng.integers(-12, 8, n)
    return np.where(np.arange(n) % 2 == 0, ordinary.astype(type_.dtype), raw)


def save(path: Path, recorded: Iterable[tuple[Case, Results]]) -> None:
    """Writes cases and results: one group of arrays for all cases whose operands have the same sizes."""
    groups: dict[str, list[tuple[Case, Results]]] = defaultdict(list)
    for case, results in recorded:
        shape = case.form.op.shape(case.form)
        sizes = ["_".join(str(type_.n_bytes) for type_ in types) for types in (shape.results, shape.sources)]
        groups["-".join(sizes)].append((case, results))
    arrays = {}
    for name, group in sorted(groups.items()):
        arrays[f"{name}/keys"] = np.array([case.key for case, _ in group])
        arrays[f"{name}/counts"] = np.array([len(results[0]) for _, results in group], np.int32)
        for part, columns in (("result", [r for _, r in group]), ("source", [case.sources for case, _ in group])):
            for index, column in enumerate(zip(*columns, strict=True)):
                arrays[f"{name}/{part}{index}"] = np.concatenate([_words(array) for array in column])
    np.savez_compressed(path, **arrays)


def load(path: Path) -> Iterator[tuple[Case, Results]]:
    """The cases and results that `save` wrote."""
    with np.load(path) as arrays:
        for name in dict.fromkeys(member.partition("/")[0] for member in arrays.files):
            ends = np.cumsum(arrays[f"{name}/counts"])
            columns = {part: [arrays[member] for member in _members(arrays.files, f"{name}/{part}")]
                       for part in ("result", "source")}
            for key, start, stop in zip(arrays[f"{name}/keys"].tolist(), [0, *ends[:-1]], ends):
                yield _case(key, {part: [c[start:stop] for c in columns[part]] for part in columns})


def _members(names: Iterable[str], prefix: str) -> list[str]:
    return sorted(name for name in names if name.startswith(prefix))


def _case(key: str, columns: Mapping[str, list[np.ndarray]]) -> tuple[Case, Results]:
    opcode, *literals = key.split("@")
    form = lookup(opcode)
    shape = form.op.shape(form)
    constants = {int(index): int(value) for index, _, value in (literal.partition("=") for literal in literals)}
    results = tuple(_typed(c, t) for c, t in zip(columns["result"], shape.results, strict=True))
    sources = tuple(_typed(c, t) for c, t in zip(columns["source"], shape.sources, strict=True))
    return Case(form, constants, sources), results


def _words(array: np.ndarray) -> np.ndarray:
    """(n,) unsigned integers of the same bits; (n, 2) of 64 bits for 128-bit operands."""
    n_bytes = array.dtype.itemsize
    return array.view(f"uint{8 * n_bytes}") if n_bytes <= 8 else array.view(np.uint64).reshape(-1, 2)


def _typed(words: np.ndarray, type_: PtxType) -> np.ndarray:
    return np.ascontiguousarray(words).view(type_.dtype).reshape(len(words))
