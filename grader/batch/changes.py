"""Who would get another score, and why: two gradebooks side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.gradebook import Entry, Gradebook

__all__ = ["Change", "changes"]


@dataclass(frozen=True, slots=True)
class Change:
    """One score that differs; `before` is None for a student or exercise that had none."""

    student: str
    exercise_id: str
    before: float | None
    after: float
    why: str


def changes(before: Gradebook, after: Gradebook) -> Iterator[Change]:
    """Each score of `after` that is not in `before`, by student and exercise."""
    old = {(row.student, entry.exercise_id): entry for row in before.rows for entry in row.entries}
    for row in after.rows:
        for entry in row.entries:
            was = old.get((row.student, entry.exercise_id))
            if was is None or (was.score, was.max_score) != (entry.score, entry.max_score):
                yield Change(row.student, entry.exercise_id, was.score if was else None, entry.score, _why(was, entry))


def _why(was: Entry | None, now: Entry) -> str:
    if was is None:
        return f"first verdict: {now.verdict}"
    reasons = []
    if was.digest != now.digest and was.file:
        reasons.append("another answer was handed in")
    elif now.file and not was.file:
        reasons.append("handed in now")
    if was.verdict != now.verdict:
        reasons.append(f"{was.verdict} became {now.verdict}")
    if was.speed and now.speed and was.speed != now.speed:
        reasons.append(f"its speed is {now.speed} instead of {was.speed}")
    reasons += _goals(was.report or {}, now.report or {})
    if was.kept_share != now.kept_share:
        reasons.append(f"lateness keeps {now.kept_share:g} instead of {was.kept_share:g}")
    if was.max_score != now.max_score:
        reasons.append(f"worth {now.max_score:g} instead of {was.max_score:g}")
    if was.is_manual != now.is_manual:
        reasons.append("a mark by hand")
    return "; ".join([*reasons, *_versions(was, now)]) or "the points of its goals changed"


def _goals(was: Mapping, now: Mapping) -> list[str]:
    old = {goal["metric"]: goal for goal in was.get("goals", ())}
    found = []
    for goal in now.get("goals", ()):
        other = old.get(goal["metric"])
        if other and other["limit"] != goal["limit"]:
            found.append(f"the limit of {goal['metric']} is {goal['limit']:g} instead of {other['limit']:g}")
        if other and other["state"] != goal["state"]:
            found.append(f"{goal['metric']} is {goal['state']} instead of {other['state']}")
    return found


def _versions(was: Entry, now: Entry) -> list[str]:
    """What the verdicts were made with, where that differs."""
    old, new = _made_with(was), _made_with(now)
    return [f"{name} {new[name]} instead of {old[name]}" for name in new if name in old and new[name] != old[name]]


def _made_with(entry: Entry) -> dict[str, str]:
    found = (entry.report or {}).get("versions")
    return dict(found) if isinstance(found, Mapping) else {}
