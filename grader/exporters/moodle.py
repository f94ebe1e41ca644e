"""Moodle: the CSV that "Grades, Import" and the offline grading worksheet read; a column and its feedback per assignment.

The worksheet of an assignment is refused without `Identifier`, `Grade` and `Last modified (grade)`, and finds a student by
`Participant` and the number in a download's names. Moodle skips a grade above the assignment's maximum, and one that it
already has and that is not older than `Last modified (grade)`: left empty, as here, that is every grade that it has, unless
"Allow updating records that have been modified more recently in Moodle than in the spreadsheet" is ticked.
"Grades, Import" asks which column is what; it finds a student by `ID number` or `Email address`.

Source: `assignfeedback_offline_grade_importer::init` and `next` in
https://github.com/moodle/moodle/blob/main/mod/assign/feedback/offline/importgradeslib.php, the column names in
https://github.com/moodle/moodle/blob/main/mod/assign/gradingtable.php, and
https://github.com/moodle/moodle/blob/main/grade/import/csv/classes/load_data.php
"""

from __future__ import annotations

from grader.exporters.cells import csv_bytes
from grader.exporters.sums import column_sum
from grader.gradebook import Gradebook

__all__ = ["write"]


PEOPLE = ("Identifier", "Full name", "ID number", "Email address")
ALONE = ("Grade", "Maximum Grade", "Last modified (grade)", "Feedback comments")


def write(book: Gradebook) -> bytes:
    """The file; one assignment has the worksheet's own column names, several are named."""
    is_alone = len(book.columns) == 1
    header: list[object] = [*PEOPLE]
    for name in book.columns:
        header += ALONE if is_alone else (name, f"{name} (maximum)", f"{name} (feedback)")
    rows = [header]
    for row in book.rows:
        number = row.member.moodle_id or row.platform_id
        line: list[object] = [
            f"Participant {number}" if number else "", row.name or row.student, row.student, row.member.gradescope_email,
        ]  # fmt: skip
        for ids in book.columns.values():
            total = column_sum(row, ids)
            line += [total.score, total.max_score, *([""] if is_alone else []), total.words]
        rows.append(line)
    return csv_bytes(rows)
