"""Canvas: the CSV that "Grades, Import" reads. A column for each assignment, with the row of points possible.

Canvas finds students by `ID`, `SIS User ID` or `SIS Login ID`; class.toml may give `canvas_id`. It finds an assignment by
the number in `Title (number)`, which class.toml may give too, else by its title; a title that it does not know becomes a
new assignment, and one with the words of a total of its own, such as `Final Score`, is passed over. The row of points
possible becomes the assignments' points.

Source: `GradebookImporter` (`row_has_student_headers?`, `update_column_count`, `parse_assignments`, `process_pp`,
`process_student`) in
https://github.com/instructure/canvas-lms/blob/master/lib/gradebook_importer.rb; how a person imports it:
https://community.instructure.com/en/kb/articles/660862-how-do-i-import-grades-in-the-gradebook
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
    titles = [f"{name} ({book.canvas_ids[name]})" if name in book.canvas_ids else name for name in book.columns]
    rows: list[list[object]] = [[*FIXED, *titles], ["    Points Possible", "", "", "", "", *possible]]
    for row in book.rows:
        scores = [column_sum(row, ids).score for ids in book.columns.values()]
        rows.append([row.name or row.student, row.member.canvas_id or row.platform_id, "", row.student, "", *scores])
    return csv_bytes(rows)
