"""Hidden cases: sizes and seeds that only the grading host knows.

The file named by `WARPWISE_SEEDS` lies outside the repository:

    {"id": "autumn-2026", "secret": "any text",
     "cases": {"thread_mapping.map1d": [{"name": "hidden 1", "sizes": {"n": 1237}}]}}

`secret` also reseeds the hidden cases that an exercise itself declares. The id joins cache digests, so a verdict made
with other seeds is never taken for this one.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.model import Case, Exercise

__all__ = ["ENVIRONMENT", "NO_SEEDS", "HiddenCases", "SeedsProblem", "load_hidden"]

ENVIRONMENT = "WARPWISE_SEEDS"


class SeedsProblem(ValueError):
    """The seeds file is missing or not what it should be."""


@dataclass(frozen=True, slots=True)
class HiddenCases:
    """What a seeds file holds; `id` is "" for none."""

    id: str = ""
    secret: str = ""
    cases: Mapping[str, tuple[Case, ...]] = field(default_factory=dict)

    def of(self, exercise: Exercise) -> tuple[Case, ...]:
        """All cases of `exercise`: its own, with hidden ones reseeded, then the file's."""
        every = (*exercise.cases, *self.cases.get(exercise.id, ()))
        return tuple(self._reseeded(exercise.id, case) if case.hidden else case for case in every)

    def _reseeded(self, exercise_id: str, case: Case) -> Case:
        if not self.secret:
            return case
        text = f"{self.secret}|{exercise_id}|{case.name}|{case.seed}"
        return replace(case, seed=int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big"))


NO_SEEDS = HiddenCases()


def load_hidden(path: str | Path | None = None) -> HiddenCases:
    """The hidden cases of the file at `path`, of the one that `WARPWISE_SEEDS` names, or none.

    Raises:
        SeedsProblem: the file cannot be used; grading without it would be wrong, so it must not go on.
    """
    path = path or os.environ.get(ENVIRONMENT)
    if not path:
        return NO_SEEDS
    try:
        data = json.loads(Path(path).read_text(encoding="utf-8"))
        rows = {name: tuple(_case(row) for row in cases) for name, cases in data.get("cases", {}).items()}
        return HiddenCases(str(data["id"]), str(data.get("secret", "")), rows)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SeedsProblem(f"the seeds file {path} cannot be used: {type(error).__name__}: {error}") from None


def _case(row: Mapping[str, object]) -> Case:
    sizes = {str(name): _size(name, value) for name, value in row["sizes"].items()}  # type: ignore[attr-defined]
    return Case(str(row["name"]), sizes, seed=_size("seed", row.get("seed", 0)), hidden=True)


def _size(name: object, value: object) -> int:
    if type(value) is not int or value < 0:
        raise SeedsProblem(f"{name} is {value!r}; a size or seed is a whole number")
    return value
