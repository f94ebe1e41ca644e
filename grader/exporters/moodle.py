"""Moodle: the CSV that "Grades, Import" and the offline grading worksheet read; a column and its feedback per assignment.

Moodle finds students by `Identifier` (`Participant` and the number in a download's names) or by `ID number`.
"""

from __future__ import annotations

from grader.exporters.cells import csv_bytes
from grader.exporters.sums import column_sum
from grader.gradebook import Gradebook

__all__ = ["write"]


def write(book: Gradebook) -> bytes:
    """The file; one assignment has Moodle's own column names, several are named."""
    alone = len(book.columns) == 1
    header: list[object] = ["Identifier", "Full name", "ID number"]
    for name in book.columns:
        header += ["Grade", "Maximum Grade", "Feedback comments"] if alone else [
            name, f"{name} (maximum)", f"{name} (feedback)",
        ]  # fmt: skip
    rows = [header]
    for row in book.rows:
        number = row.member.moodle_id or row.platform_id
        line: list[object] = [f"Participant {number}" if number else "", row.name or row.student, row.student]
        for ids in book.columns.values():
            total = column_sum(row, ids)
            line += [total.score, total.max_score, total.words]
        rows.append(line)
    return csv_bytes(rows)
