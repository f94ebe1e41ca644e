"""CSV: a row for each student and exercise, members of a group included."""

from __future__ import annotations

from grader.exporters.cells import csv_bytes
from grader.gradebook import Gradebook

__all__ = ["COLUMNS", "records", "write"]

# column -> (value of a row and an entry, type for formats that have types)
COLUMNS = {
    "student": (lambda row, entry: row.student, "text"),
    "name": (lambda row, entry: row.name, "text"),
    "group": (lambda row, entry: row.group, "text"),
    "exercise": (lambda row, entry: entry.exercise_id, "text"),
    "score": (lambda row, entry: entry.score, "number"),
    "max_score": (lambda row, entry: entry.max_score, "number"),
    "verdict": (lambda row, entry: entry.verdict, "text"),
    "passed": (lambda row, entry: entry.is_passed, "yes-no"),
    "pending": (lambda row, entry: entry.is_pending, "yes-no"),
    "speed": (lambda row, entry: str(entry.speed), "text"),
    "kept_share": (lambda row, entry: entry.kept_share, "number"),
    "manual": (lambda row, entry: entry.is_manual, "yes-no"),
    "comment": (lambda row, entry: entry.comment, "text"),
    "message": (lambda row, entry: entry.message, "text"),
    "file": (lambda row, entry: entry.file, "text"),
    "digest": (lambda row, entry: entry.digest, "text"),
}


def records(book: Gradebook) -> list[list[object]]:
    """The values of `COLUMNS`, a list for each student and exercise."""
    return [[value(row, entry) for value, _ in COLUMNS.values()] for row in book.rows for entry in row.entries]


def write(book: Gradebook) -> bytes:
    """The file."""
    return csv_bytes([list(COLUMNS), *records(book)])
