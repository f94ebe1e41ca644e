"""The students of a download under the ids that a store has for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from grader.collecting.hand_ins import Collected, Student

__all__ = ["as_known"]


def as_known(collected: Collected, known: Mapping[str, Student]) -> Collected:
    """The same with the ids that a store knows: whoever was alone with a name keeps it when a namesake turns up."""
    by_number = {(one.name, one.platform_id): one.id for one in known.values() if one.platform_id}
    ids = {
        one.id: by_number[one.name, one.platform_id]
        for one in collected.students.values()
        if by_number.get((one.name, one.platform_id), one.id) != one.id
    }
    if not ids:
        return collected
    return Collected(
        {ids.get(name, name): replace(one, id=ids.get(name, name)) for name, one in collected.students.items()},
        tuple(replace(one, student=ids.get(one.student, one.student)) for one in collected.hand_ins),
        {ids.get(name, name): problem for name, problem in collected.without.items()},
    )
