"""The preprocessors on their own: what is not certain has no score, and no solution gets out."""

import os
import signal

import nbformat
import pytest

from grader.class_file import Unmeasured
from grader.model import Basis, GoalResult, GoalState, Report, Verdict
from grader.nbgrader_plugin import ClearAnswers
from grader.nbgrader_plugin.feedback import self_contained
from grader.nbgrader_plugin.grading import GradeAnswers, GradedCell, NotGraded, graded_cells, score_of

TEST = GradedCell("check-hello-double-it", "hello.double_it", "", 1.0)
SPEED = GradedCell("check-x-speedup", "x", "speedup", 2.0)
RIGHT = """# exercise: hello.double_it
double_it_src = r\"\"\"
extern "C" __global__ void double_it(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i];
}
\"\"\"
"""


def goal(state, metric="speedup", points=2.0, basis="measured"):
    return GoalResult(metric, 1.0, 2.0, True, state, Basis(basis), points)


def report(verdict=Verdict.PASS, score=1.0, most=1.0, goals=()):
    return Report("hello.double_it", "", verdict, score, most, goals=goals)


def cell(source, kind="code", **facts):
    made = nbformat.v4.new_code_cell(source) if kind == "code" else nbformat.v4.new_markdown_cell(source)
    if facts:
        made.metadata["nbgrader"] = {"grade": False, "solution": False, "locked": False, "schema_version": 3} | facts
    return made


def notebook(*cells):
    return nbformat.v4.new_notebook(cells=list(cells))


@pytest.mark.parametrize(
    "given, points",
    [
        (report(), 1.0),
        (report(Verdict.WRONG_ANSWER, 0.0, 1.0), 0.0),
        (report(score=2.0, most=4.0), 0.5),
        (report(score=3.0, most=3.0, goals=(goal(GoalState.MET),)), 1.0),
        (report(score=1.0, most=3.0, goals=(goal(GoalState.MISSED),)), 1.0),
        (report(score=1.0, most=1.0, goals=(goal(GoalState.NOT_MEASURED),)), 1.0),
    ],
)
def test_points_of_the_answer_leave_speed_to_its_own_cell(given, points):
    assert score_of(TEST, given) == points


# A right kernel without its speed has 1 point, speed has 2. Points of the cell for speed under each policy.
@pytest.mark.parametrize(
    "given, estimate, pending, waive",
    [
        (report(score=3.0, most=3.0, goals=(goal(GoalState.MET),)), 2.0, 2.0, 2.0),
        (report(score=1.0, most=3.0, goals=(goal(GoalState.MISSED),)), 0.0, 0.0, 0.0),
        (report(score=3.0, most=3.0, goals=(goal(GoalState.MET, basis="estimated"),)), 2.0, None, 2.0),
        (report(score=1.0, most=3.0, goals=(goal(GoalState.MISSED, basis="estimated"),)), 0.0, None, 2.0),
        (report(goals=(goal(GoalState.NOT_MEASURED),)), 2.0, None, 2.0),
        (report(score=1.0, most=2.0, goals=(goal(GoalState.NOT_MEASURED),)), 1.0, None, 1.0),  # half of the rest
        (report(Verdict.RACE, 0.0, 3.0, (goal(GoalState.NOT_MEASURED),)), 0.0, 0.0, 0.0),
    ],
)
def test_points_of_a_speed_goal(given, estimate, pending, waive):
    assert [score_of(SPEED, given, policy) for policy in Unmeasured] == [estimate, pending, waive]


@pytest.mark.parametrize("score, most", [(float("nan"), 1.0), (-1.0, 1.0), (2.0, 1.0), (1.0, 0.0), (float("inf"), 1.0)])
def test_a_number_that_is_none_is_refused(score, most):
    with pytest.raises(NotGraded):
        score_of(TEST, report(score=score, most=most))


def test_our_own_failure_is_no_score(monkeypatch):
    failed = report(Verdict.INTERNAL_ERROR, 0.0)
    monkeypatch.setattr("grader.pipeline.grade", lambda *a, **k: failed)
    with pytest.raises(NotGraded, match="internal_error"):
        GradeAnswers().reports(notebook(cell(RIGHT)), "00_start_here.ipynb", [TEST])


def test_killed_worker_never_gives_marks(monkeypatch):
    """The worker is killed in the middle of every launch: no number, or none above 0."""
    from grader.worker.host import WorkerDevice

    run = WorkerDevice.run

    def killed(self, *arguments, **options):
        self._ready()
        os.kill(self._child._process.pid, signal.SIGKILL)
        return run(self, *arguments, **options)

    monkeypatch.setattr(WorkerDevice, "run", killed)
    try:
        reports = GradeAnswers().reports(notebook(cell(RIGHT)), "00_start_here.ipynb", [TEST])
    except NotGraded:
        return
    assert score_of(TEST, reports["hello.double_it"][0]) == 0


def test_verdicts_come_from_the_store_and_new_ones_are_kept(tmp_path, monkeypatch):
    store = f"sqlite:///{tmp_path}/class.db"
    first = GradeAnswers(db=store).reports(notebook(cell(RIGHT)), "00_start_here.ipynb", [TEST])
    monkeypatch.setattr("grader.nbgrader_plugin.judging.do", lambda task: pytest.fail("was judged again"))
    second = GradeAnswers(db=store).reports(notebook(cell(RIGHT)), "00_start_here.ipynb", [TEST])
    assert first == second and score_of(TEST, second["hello.double_it"][0]) == 1


def test_two_test_cells_of_one_name_are_refused():
    facts = {"grade": True, "grade_id": "check", "locked": True}
    with pytest.raises(NotGraded, match="twice"):
        list(graded_cells(notebook(cell("1", **facts), cell("2", **facts))))


def cleared(*cells, **options):
    preprocessor = ClearAnswers(**options)
    return preprocessor.preprocess(notebook(*cells), {})[0].cells


def test_written_answer_is_taken_out():
    made = cleared(cell("BEGIN SOLUTION\nbecause\nEND SOLUTION", "markdown", solution=True, grade=True, grade_id="q"))
    assert made[0].source == "*Your answer here.*"


@pytest.mark.parametrize(
    "wrong",
    [
        cell("# BEGIN SOLUTION\nx = 1\n# END SOLUTION"),
        cell("x = 1", solution=True, grade_id="a"),
        cell("# BEGIN SOLUTION\nx = 1", solution=True, grade_id="a"),
    ],
    ids=["no solution cell", "no marker", "not closed"],
)
def test_a_solution_that_would_get_out_stops_the_release(wrong):
    with pytest.raises(ValueError):
        cleared(wrong)


def test_waived_speed_goals_have_no_test_cell():
    cells = (cell("# check: x points=1\n"), cell("# check: x goal=speedup points=2\n"))
    assert len(cleared(*cells, unmeasured_speed="waive")) == 1 and len(cleared(*cells)) == 2


def test_feedback_page_loads_no_script():
    page = '<html>\n<head>\n<script src="https://cdn/x.js"> </script>\n<script>own()</script></head><body><a href="https://a">b</a>'
    made = self_contained(page)
    assert "cdn" not in made and "own()" in made and 'href="https://a"' in made and 'class="light"' in made
