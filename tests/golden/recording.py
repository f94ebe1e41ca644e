"""The file that holds what a GPU gave: cases and results, packed by the sizes of their operands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from simt.isa.table import lookup
from simt.ptx.types import PtxType
from tests.golden.replay import Case, Results

__all__ = ["load", "save"]


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
            columns = {
                part: [arrays[member] for member in _members(arrays.files, f"{name}/{part}")]
                for part in ("result", "source")
            }
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
