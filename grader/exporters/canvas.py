"""Canvas: the CSV that "Grades, Import" reads. A column for each assignment, with the row of points possible.

Canvas finds students by `ID`, `SIS User ID` or `SIS Login ID`; class.toml may give `canvas_id`.
"""

from __future__ import annotations

from grader.exporters.cells import csv_bytes
from grader.exporters.sums import column_sum
from grader.gradebook import Gradebook

__all__ = ["write"]

FIXED = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")


def write(book: Gradebook) -> bytes:
    """The file."""
    possible = [
        max((column_sum(row, ids).max_score for row in book.rows), default=0.0) for ids in book.columns.values()
    ]
    rows: list[list[object]] = [[*FIXED, *book.columns], ["    Points Possible", "", "", "", "", *possible]]
    for row in book.rows:
        scores = [column_sum(row, ids).score for ids in book.columns.values()]
        rows.append([row.name or row.student, row.member.canvas_id or row.platform_id, "", row.student, "", *scores])
    return csv_bytes(rows)
