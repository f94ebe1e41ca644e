"""The cases in which a GPU's instructions are compared with the table.

Every pure form that the GPU has is a case: the edges of its operands' types, its hand-written rows, and random values.
A recording keeps inputs beside results, so it stays valid when the edges or the generator change.
"""

from __future__ import annotations

import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from simt.isa.op import Form, Role, forms_of
from simt.isa.table import ROWS
from simt.ptx.types import Kind, PtxType
from tests.simt.isa.kernels import IMMEDIATES
from tests.simt.isa.operands import lanes_of, within
from tests.simt.isa.rows import Row
from tests.simt.isa.rows_all import ROWS as HAND_WRITTEN

__all__ = ["LANES", "Case", "Results", "cases", "constants_of", "disagreements", "pure_forms", "reason_not_to_replay"]

LANES = 32
EDGES, RANDOM = 320, 96
RANDOM_APPROXIMATE = 2048  # a bound is tested by many values rather than by edges
OPAQUE = {"createpolicy": "the result is an opaque value that only a cache reads"}
# Where a GPU is known to leave the ISA and the table does not follow: name -> the lanes, of the sources.
# The GPU's routine for `fns` gives 0 for the offset -2^31, whose negative is no int; the ISA's answer is "not found".
DIFFERS = {"fns": lambda mask, base, offset: offset == -(2**31)}

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


def cases(forms: Iterable[Form], capability: int) -> Iterator[Case]:
    """The cases of those forms that a GPU of this compute capability can run."""
    for form in forms:
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


def disagreements(case: Case, results: Results) -> Iterator[str]:
    """Texts of what the table says otherwise than a GPU's `results`; empty when nothing differs."""
    with np.errstate(all="ignore"):
        ours = case.form.op.eval(case.form, *case.sources)
    differs = DIFFERS.get(case.form.op.name, lambda *sources: False)(*case.sources)
    types = case.form.op.shape(case.form).results
    for got, gpu, type_ in zip(ours if isinstance(ours, tuple) else (ours,), results, types, strict=True):
        for lane in np.flatnonzero(~(within(case.form, got, gpu, type_) | differs))[:1]:
            sources = [source[lane] for source in case.sources]
            yield f"{case.key} of {sources}: the table gives {got[lane]!r}, the GPU {gpu[lane]!r}"
