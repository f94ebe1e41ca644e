"""Grades a notebook in Execute's place: reads its answers, judges them in an isolated worker, writes one number a test.

Points and tests come from the gradebook, never from what was handed in. nbgrader gives full marks wherever a test cell
has no output, so nothing here may pass in silence: whatever keeps a score from being certain is raised, nbgrader then
records nothing, lists the student, and an earlier score stays.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

import nbformat
from nbformat.notebooknode import NotebookNode
from nbgrader.api import Gradebook
from nbgrader.preprocessors import NbGraderPreprocessor
from nbgrader.utils import is_grade
from traitlets import Unicode

from grader.batch.work import GradingStopped
from grader.class_file import Unmeasured
from grader.exercises import exercise
from grader.gradebook_points import Speed, held_to
from grader.model import GoalState, Report, Submission, Unreadable, Verdict
from grader.nbgrader_plugin.judging import judged, policy_of
from grader.nbgrader_plugin.policy import SpeedPolicy
from grader.notebook import read_notebook_bytes
from grader.release.jupyter_edition import SPEED
from grader.report.json_form import to_json

__all__ = ["GradeAnswers", "LeaveUnmeasured", "NotGraded", "score_of", "GradedCell"]

PENDING = "warpwise_pending"  # names of test cells whose points are open

_CHECK = re.compile(r"# check: (?P<id>[\w.\-]+)(?: goal=(?P<goal>\w+))? points=(?P<points>[0-9.]+)\s*$")


class NotGraded(RuntimeError):
    """Why a notebook has no score: nbgrader records nothing and names the student."""


@dataclass(frozen=True, slots=True)
class GradedCell:
    """A test cell as the gradebook has it."""

    name: str
    exercise_id: str
    goal: str
    points: float


class GradeAnswers(SpeedPolicy):
    """One verdict card and one number for each test cell."""

    device = Unicode("simulator", help="Where kernels run: simulator or cuda.").tag(config=True)
    db = Unicode("", help="Store of `grader grade`, whose verdicts are taken over; new ones are kept there.").tag(
        config=True
    )

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """The notebook with the output of every test cell put in; nothing of it is run.

        Raises:
            NotGraded: a score would not be certain.
        """
        facts = resources["nbgrader"]
        tests = {test.name: test for test in tests_of(facts["db_url"], facts["notebook"], facts["assignment"])}
        cells = dict(graded_cells(nb))
        if missing := tests.keys() - cells.keys():
            raise NotGraded(f"the test cell {sorted(missing)[0]} is not in the notebook (add_missing_cells must be on)")
        if unknown := cells.keys() - tests.keys():
            raise NotGraded(f"the test cell {sorted(unknown)[0]} is not one of this assignment")
        reports = self.reports(nb, f"{facts['notebook']}.ipynb", tests.values())
        policy = Unmeasured(self.unmeasured_speed) if self.unmeasured_speed else policy_of(self.db)
        for name, test in tests.items():
            report, answer = reports[test.exercise_id]
            earned = score_of(test, report, policy)
            cells[name].outputs = [self.output(test, report, answer, earned or 0.0)]
            if earned is None:
                resources.setdefault(PENDING, set()).add(name)
        return nb, resources

    def reports(self, nb: NotebookNode, name: str, tests) -> dict[str, tuple[Report, Submission | Unreadable]]:
        """Exercise id → its report and the answer that it is about; all of one notebook by one worker of its own."""
        rows = [exercise(exercise_id) for exercise_id in dict.fromkeys(test.exercise_id for test in tests)]
        answers = read_notebook_bytes(nbformat.writes(nb).encode(), name, rows).answers
        try:
            reports = judged(rows, answers, self.device, self.db)
        except GradingStopped as stopped:
            raise NotGraded(str(stopped)) from stopped
        return {row.id: (_certain(reports[row.id]), answers[row.id]) for row in rows}

    def output(self, test: GradedCell, report: Report, answer: Submission | Unreadable, earned: float) -> NotebookNode:
        """The output of a test cell: a finite number from 0 to its points, and the verdict card."""
        from grader.report.card import card
        from grader.views import context_of

        # formgrader's page is light whatever the reader's theme; JupyterLab says its own to the card.
        html = f'<div class="light">{card(report, context_of(exercise(test.exercise_id), answer))}</div>'
        return nbformat.v4.new_output(
            "execute_result", {"text/plain": repr(earned), "text/html": html}, execution_count=1
        )


class LeaveUnmeasured(NbGraderPreprocessor):
    """After SaveAutoGrades: a speed goal whose points are open has no score yet; nbgrader asks for a person's."""

    def preprocess(self, nb: NotebookNode, resources: dict) -> tuple[NotebookNode, dict]:
        """Takes back the 0 that stands for each of them."""
        facts = resources["nbgrader"]
        with Gradebook(facts["db_url"]) as gradebook:
            for name in resources.get(PENDING, ()):
                grade = gradebook.find_grade(name, facts["notebook"], facts["assignment"], facts["student"])
                grade.auto_score = None
                grade.needs_manual_grade = True
            gradebook.db.commit()
        return nb, resources


def _certain(report: Report) -> Report:
    if report.verdict in (Verdict.INTERNAL_ERROR, Verdict.NOT_SUPPORTED):
        raise NotGraded(f"{report.exercise_id}: {report.verdict.value}: {report.message}")
    return report


def score_of(test: GradedCell, report: Report, policy: Unmeasured = Unmeasured.ESTIMATE) -> float | None:
    """Points of a test cell by a report, scaled where an instructor gave the cell other points than the exercise has.

    The cells of an exercise together reach the share of the full mark that every other gradebook has. None for a speed
    goal whose points are open.

    Raises:
        NotGraded: the number is not one from 0 to the points.
    """
    speed = [goal for goal in report.goals if goal.metric == SPEED]
    # What was not measured is in neither number.
    timed = [goal for goal in speed if goal.state is not GoalState.NOT_MEASURED]
    most = report.max_score - sum(goal.points for goal in timed)
    score = report.score - sum(goal.points for goal in timed if goal.state is GoalState.MET and report.score)
    share = score / most if most > 0 else math.nan
    if test.goal:
        if report.verdict is not Verdict.PASS:
            return 0.0
        held, points = held_to(to_json(report), policy), sum(goal.points for goal in speed)
        if not points or held.speed is Speed.PENDING:
            return None
        share = (held.share * (most + points) - score) / points
    earned = round(share * test.points, 9)
    if not math.isfinite(earned) or not 0 <= earned <= test.points:
        raise NotGraded(f"{test.name}: {earned} is no number of points between 0 and {test.points:g}")
    return float(earned)


def tests_of(db_url: str, notebook: str, assignment: str) -> Iterator[GradedCell]:
    """The test cells of a released notebook, from the gradebook.

    Raises:
        NotGraded: a test cell there is not one of this course's.
    """
    with Gradebook(db_url) as gradebook:
        source = gradebook.find_notebook(notebook, assignment)
        texts = {cell.name: cell.source for cell in source.source_cells}
        solutions = {cell.name for cell in source.solution_cells}
        for cell in source.grade_cells:
            if cell.name in solutions:
                continue  # a question that a person grades
            match = _CHECK.match(texts.get(cell.name, "").split("\n", 1)[0])
            if match is None:
                raise NotGraded(
                    f"the test cell {cell.name} has no `# check: ID points=N` line; it would have to be run"
                )
            yield GradedCell(cell.name, match["id"], match["goal"] or "", float(cell.max_score))


def graded_cells(nb: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    """(name, cell) of every cell that nbgrader would take a number from.

    Raises:
        NotGraded: two cells of one name, or a test cell that is no code cell.
    """
    seen = set()
    for cell in nb.cells:
        if not is_grade(cell) or cell.metadata.nbgrader.get("solution"):
            continue
        name = cell.metadata.nbgrader.get("grade_id", "")
        if cell.cell_type != "code" or name in seen:
            raise NotGraded(f"the test cell {name!r} is {'there twice' if name in seen else 'no code cell'}")
        seen.add(name)
        yield name, cell
