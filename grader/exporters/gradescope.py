"""Gradescope: `results.json` of an autograder. For one student the file itself, for a class an object of them by student.

What a student wrote or a person commented is plain text, and says so: Gradescope would also take Markdown and HTML.

Source: https://gradescope-autograders.readthedocs.io/en/latest/specs/#output-format, whose text is kept at
https://github.com/gradescope/autograder_samples/blob/master/docs/specs.md
"""

from __future__ import annotations

import json

from grader.gradebook import Entry, Gradebook, Row
from grader.gradebook_points import Speed

__all__ = ["write"]

# What a student reads about the points for speed.
SAID = {
    Speed.ESTIMATED: "speed: by the simulator's estimate",
    Speed.PENDING: "speed: still to be measured on a GPU, its points are open",
    Speed.WAIVED: "speed: not measured, and waived: the other points make the full mark",
    Speed.LEFT_OUT: "speed: not measured, and left out: the other points make the full mark",
}


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
        "output_format": "text",
        "test_output_format": "text",
        "test_name_format": "text",
        "output": f"{sum(entry.is_passed for entry in row.entries)} of {len(row.entries)} exercises passed",
        "tests": [_test(number, entry) for number, entry in enumerate(row.entries, 1)],
        "extra_data": {
            "student": row.student, "name": row.name, "group": row.group, "max_score": row.max_score,
            "emails": [row.member.gradescope_email] if row.member.gradescope_email else [],
        },
    }  # fmt: skip


def _test(number: int, entry: Entry) -> dict[str, object]:
    words = [entry.message, entry.comment, SAID.get(entry.speed, "")]
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
