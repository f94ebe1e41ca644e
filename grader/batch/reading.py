"""What the notebooks of a class answer: read once, kept by digest, read again only where an answer has to be graded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from grader.batch.course import Course
from grader.model import Submission, Unreadable
from grader.notebook import Notebook, NotebookProblem, read_notebook_bytes

__all__ = ["Reading", "read_hand_in", "submissions_in"]


@dataclass(frozen=True, slots=True)
class Reading:
    """One file.

    Attributes:
        answers: exercise id → digest of its answer, or what stops it from being read.
        suspicious: why the file looks like an accident, so that an earlier hand-in should stand; "" when it does not.
        problem: why it is no notebook at all, "" when it is one.
    """

    answers: Mapping[str, str | Unreadable] = field(default_factory=dict)
    suspicious: str = ""
    problem: str = ""
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, object]:
        """As stores keep it."""
        answers = {
            name: answer if isinstance(answer, str) else _problem(answer) for name, answer in self.answers.items()
        }
        return {"answers": answers, "suspicious": self.suspicious, "problem": self.problem, "notes": list(self.notes)}

    @staticmethod
    def from_json(data: Mapping) -> Reading:
        """What `to_json` wrote."""
        answers = {
            name: answer if isinstance(answer, str) else Unreadable(**answer | {"lines": tuple(answer["lines"])})
            for name, answer in data["answers"].items()
        }
        return Reading(answers, data["suspicious"], data["problem"], tuple(data["notes"]))


def _problem(answer: Unreadable) -> dict[str, object]:
    return {
        "exercise_id": answer.exercise_id, "message": answer.message, "help": answer.help, "file": answer.file,
        "lines": list(answer.lines), "missing": answer.missing,
    }  # fmt: skip


def read_hand_in(file: str, data: bytes, course: Course) -> tuple[Reading, Mapping[str, Submission]]:
    """The reading of one file, and its answers by digest.

    Whatever reading does not foresee is a problem of this file and costs no other.
    """
    try:
        notebook = _notebook(file, data, course)
    except NotebookProblem as problem:
        return Reading(problem=f"{problem.message}. {problem.help}" if problem.help else problem.message), {}
    except Exception as error:
        return Reading(problem=f"the file cannot be read ({type(error).__name__}: {str(error)[:200]})"), {}
    answers = {
        name: answer.digest if isinstance(answer, Submission) else answer for name, answer in notebook.answers.items()
    }
    expected = PurePath(file).stem in {row.lesson for row in course.rows.values()}
    if not answers and not notebook.suspicious and not expected:
        return Reading(problem="no exercise of the course is answered in this file", notes=notebook.notes), {}
    found = {answer.digest: answer for answer in notebook.answers.values() if isinstance(answer, Submission)}
    return Reading(answers, notebook.suspicious, "", notebook.notes), found


def _notebook(file: str, data: bytes, course: Course) -> Notebook:
    """Without a list of exercises, those of the lesson that the file is; a class grades what it lists."""
    return read_notebook_bytes(data, file, course.wanted(), course.class_file.variables)


def submissions_in(file: str, data: bytes, course: Course) -> Mapping[str, Submission]:
    """The answers in a file by digest, to be graded."""
    return read_hand_in(file, data, course)[1]
