"""Gradescope: `results.json` of an autograder. For one student the file itself, for a class an object of them by student.

Format: https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format
"""

from __future__ import annotations

import json

from grader.gradebook import Entry, Gradebook, Row

__all__ = ["write"]


def write(book: Gradebook) -> bytes:
    """The file."""
    results = {row.student: _results(row) for row in book.rows}
    plain: object = next(iter(results.values())) if len(results) == 1 else results
    return (json.dumps(plain, indent=1, ensure_ascii=False, sort_keys=True) + "\n").encode("utf-8", "replace")


def _results(row: Row) -> dict[str, object]:
    return {
        "score": row.score,
        "visibility": "after_published",
        "stdout_visibility": "hidden",
        "output": f"{sum(entry.is_passed for entry in row.entries)} of {len(row.entries)} exercises passed",
        "tests": [_test(number, entry) for number, entry in enumerate(row.entries, 1)],
        "extra_data": {
            "student": row.student, "name": row.name, "group": row.group, "max_score": row.max_score,
            "emails": [row.member.gradescope_email] if row.member.gradescope_email else [],
        },
    }  # fmt: skip


def _test(number: int, entry: Entry) -> dict[str, object]:
    words = [entry.message, entry.comment, "a speed goal is still to be measured" if entry.is_pending else ""]
    words += [f"late: {entry.kept_share:.0%} of the mark are kept"] if entry.kept_share < 1 else []
    return {
        "name": entry.exercise_id,
        "number": str(number),
        "score": entry.score,
        "max_score": entry.max_score,
        "status": "passed" if entry.is_passed else "failed",
        "output": "\n".join([f"verdict: {entry.verdict}", *(word for word in words if word)]),
        "visibility": "after_published",
    }
