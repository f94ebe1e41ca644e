"""A class whose exercises have a goal on speed: what its students hand in, and recorded verdicts with another timing.

Ann's kernels are the course's solutions and Bob's its naive answers, both judged for real. Cy's are Ann's with another
comment: his verdicts are Ann's with an estimate too near the limit to decide anything.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from grader.batch.work import Outcome
from grader.exercises import exercise
from grader.model import Basis, Submission
from grader.notebook import read_notebook, read_notebook_bytes
from grader.pipeline import versions
from grader.report.json_form import from_json, to_json
from grader.score import Evidence, judge_goals, points
from simt.launch import Dim3, LaunchConfig
from tests.grader.batch.classes import write

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
GRIDSTRIDE, GEMM = "thread_mapping.gridstride", "tiling.gemm_tiled"
EXERCISES = (GRIDSTRIDE, GEMM)
STUDENTS = ("ann", "bob", "cy")
# Recorded on an H200 on 2026-11-30, as lessons 01 and 04 say: four times and 1.5 times the baseline; a naive answer is one.
H200 = {("ann", GRIDSTRIDE): 4.0, ("ann", GEMM): 1.5, ("bob", GRIDSTRIDE): 1.0, ("bob", GEMM): 1.0,
        ("cy", GRIDSTRIDE): 4.0, ("cy", GEMM): 1.5}  # fmt: skip

CLASS = """unmeasured_speed = "{policy}"
[[assignments]]
name = "Speed"
exercises = ["thread_mapping.gridstride", "tiling.gemm_tiled"]
"""
HEAD = 'import marimo\n\n__generated_with = "0.25.2"\napp = marimo.App()\n'
CELL = '\n\n@app.cell\ndef _():\n    # exercise: {exercise}\n    {name}_src = r"""\n{text}\n    """\n    return ({name}_src,)\n'


def text(student: str, exercise_id: str) -> str:
    """CUDA text of the student's answer."""
    if student == "bob":
        return (SOLUTIONS / "naive" / f"{exercise_id}.cu").read_text(encoding="utf-8").strip("\n")
    solved = read_notebook(SOLUTIONS / f"{exercise(exercise_id).lesson}.py").answers[exercise_id]
    assert isinstance(solved, Submission)
    return solved.source.strip("\n") + ("\n// cy" if student == "cy" else "")


@cache
def notebook(student: str) -> str:
    """The student's marimo file."""
    cells = [CELL.format(exercise=name, name=name.split(".")[1], text=text(student, name)) for name in EXERCISES]
    return HEAD + "".join(cells) + '\n\nif __name__ == "__main__":\n    app.run()\n'


@cache
def answer(student: str, exercise_id: str) -> Submission:
    """What the grader reads in it."""
    read = read_notebook_bytes(notebook(student).encode(), "speed.py", [exercise(exercise_id)])
    found = read.answers[exercise_id]
    assert isinstance(found, Submission)
    return found


def hand_in(folder: Path, *students: str) -> None:
    """A folder for each of them."""
    for student in students:
        write(folder / student / "speed.py", notebook(student))


def timed_otherwise(report: dict, ratio: float, basis: Basis, device: str, digest: str) -> dict:
    """A recorded report as the grader would have given it with this timing, about the answer with this digest."""
    old = from_json(report)
    row = exercise(old.exercise_id)
    timing = replace(old.timing, ratio=ratio, low=ratio, high=ratio, basis=basis)
    goals = [goal for goal in row.goals if goal.metric == "speedup"]
    evidence = Evidence(None, None, {}, LaunchConfig(Dim3(1), Dim3(1)), "sm_90", timing=timing)
    speed = iter(judge_goals(replace(row, goals=tuple(goals)), evidence, {}))
    judged = tuple(next(speed) if goal.metric == "speedup" else goal for goal in old.goals)
    score, most = points(row, old.verdict, judged)
    return to_json(
        replace(old, goals=judged, score=score, max_score=most, timing=timing, device=device, digest=digest,
                versions=versions())
    )  # fmt: skip


class GpuHost:
    """A runner in a host's place that has a GPU: the recorded verdicts of these answers, with the recorded times."""

    def __init__(self, recorded: dict[str, dict]):
        self._recorded = recorded
        self._ratios = {answer(student, name).digest: ratio for (student, name), ratio in H200.items()}

    def outcomes(self, tasks):
        for task in tasks:
            assert task.device == "cuda"
            reports = tuple(
                (key, timed_otherwise(
                    self._recorded[one.digest], self._ratios[one.digest], Basis.MEASURED, "cuda", one.digest
                ))
                for key, one in task.answers
            )  # fmt: skip
            yield Outcome(task, reports, "gpu-host")
