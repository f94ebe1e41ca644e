"""nbgrader's table of grades, with names as they are, and not before the last points for speed are settled."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator

from nbgrader.api import Assignment, Grade, Gradebook, MissingEntry, Student
from nbgrader.plugins import CsvExportPlugin
from traitlets import Bool

from grader.exporters.cells import cell
from grader.release.jupyter_edition import SPEED

__all__ = ["GradesTable"]

# As nbgrader 0.9.6 has them, whose own writer puts no quotes around a comma.
COLUMNS = (
    "assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email", "raw_score",
    "late_submission_penalty", "score", "max_score",
)  # fmt: skip


class GradesTable(CsvExportPlugin):
    """What `nbgrader export` writes: a row for each assignment and student."""

    allow_pending = Bool(
        False, help="Also while points for speed are open until a GPU measures it; what is open counts nothing yet."
    ).tag(config=True)

    def export(self, gradebook: Gradebook) -> None:
        """Writes the file; ends the command with a message where something is open."""
        waiting = list(self._waiting(gradebook))
        if waiting and not self.allow_pending:
            self.log.error(
                "nothing was written: of %d results points for speed are pending, such as %s's. On a host with a GPU: "
                "`nbgrader autograde --force` with c.GradeAnswers.device = 'cuda'; or give them in formgrader; or export what "
                "is sure, with --GradesTable.allow_pending=True",
                len(waiting),
                waiting[0],
            )
            sys.exit(1)
        with open(self.to or "grades.csv", "w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(COLUMNS)
            for assignment, student in self._pairs(gradebook):
                table.writerow(map(_shown, _row(gradebook, assignment, student)))

    def _pairs(self, gradebook: Gradebook) -> Iterator[tuple[Assignment, Student]]:
        wanted = {str(name) for name in self.student}
        for assignment in gradebook.assignments:
            if not self.assignment or assignment.name in map(str, self.assignment):
                yield from ((assignment, one) for one in gradebook.students if not wanted or one.id in wanted)

    def _waiting(self, gradebook: Gradebook) -> Iterator[str]:
        """Students whose test cell of a speed goal has no score yet."""
        wanted = {(assignment.name, student.id) for assignment, student in self._pairs(gradebook)}
        unset = (Grade.auto_score.is_(None), Grade.manual_score.is_(None))
        for grade in gradebook.db.query(Grade).filter(*unset):
            place = (grade.notebook.assignment.assignment.name, grade.notebook.student.id)
            if grade.name.endswith(f"-{SPEED}") and place in wanted:
                yield place[1]


def _row(gradebook: Gradebook, assignment: Assignment, student: Student) -> tuple[object, ...]:
    try:
        found = gradebook.find_submission(assignment.name, student.id)
        timestamp, raw, penalty = found.timestamp, found.score, found.late_submission_penalty
    except MissingEntry:
        timestamp, raw, penalty = None, 0.0, 0.0
    who = (student.id, student.last_name, student.first_name, student.email)
    score = max(0.0, raw - (penalty or 0.0))
    return (assignment.name, assignment.duedate, timestamp, *who, raw, penalty, score, assignment.max_score)


def _shown(value: object) -> str:
    """Numbers and dates as nbgrader writes them; text that no spreadsheet takes for a formula."""
    return "" if value is None else cell(value) if isinstance(value, str) else str(value)
