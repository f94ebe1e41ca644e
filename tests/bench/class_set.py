"""A made-up class that hands in a lesson's Jupyter edition: four kernels each, as mixed as a real one, no two texts equal.

What is handed in follows from the student's number alone, so a sample stands for the whole. Only untouched starters are
equal between students, as they are in reality.
"""

from __future__ import annotations

import copy
import random
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from grader.exercises import all_exercises
from grader.model import KernelAnswer
from grader.notebook.cells import marker_of
from grader.release.clearing import clear, solved

__all__ = ["EXERCISES", "LESSON", "Answer", "answers_of", "assignment", "hand_in", "students", "write_class"]

ROOT = Path(__file__).resolve().parents[2]
LESSON = "01_thread_mapping"
EXERCISES = tuple(row.id for row in all_exercises() if row.lesson == LESSON and isinstance(row.answer, KernelAnswer))
# Out of 1000 answers, a guess at a class near its deadline; nobody's data. An endless kernel costs every grader seconds.
MIX = {"right": 640, "wrong": 220, "typo": 60, "untouched": 77, "endless": 3}
ENDLESS = "    for (volatile int spin = 0;; ++spin) {}\n"
NAMES = ("i", "idx", "index", "gid", "tid", "t", "pos", "at", "me", "e")  # for the first index that a text declares
TEXT = re.compile(r'(_src = r"""\n)(.*?)(""")', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one student has for one exercise: a kind of `MIX`, and the CUDA text that the cell gets."""

    kind: str
    text: str


def students(count: int) -> tuple[str, ...]:
    """Names of a class of `count`."""
    return tuple(f"student{number:03}" for number in range(count))


def assignment() -> NotebookNode:
    """The lesson's Jupyter edition cut down to what both graders judge: imports, and each kernel with its test cell."""
    notebook = nbformat.read(ROOT / "nbgrader" / "source" / LESSON / f"{LESSON}.ipynb", as_version=4)
    wanted = {"find-course", "imports"}
    wanted |= {f"{part}-{re.sub(r'[._]', '-', name)}" for name in EXERCISES for part in ("answer", "check")}
    cells = [cell for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("grade_id") in wanted]
    assert len(cells) == 2 + 2 * len(EXERCISES)
    cells[1].source = "from grader import check"  # pictures and predictions are left out
    notebook.cells = cells
    return notebook


def answers_of(student: str, seed: str = "") -> dict[str, Answer]:
    """Exercise → the answer of a student; another `seed` gives other texts of the same kinds."""
    return {name: _answer(name, student, seed) for name in EXERCISES}


def _answer(exercise_id: str, student: str, seed: str) -> Answer:
    chance = random.Random(f"{student} {exercise_id}")
    kind = chance.choices(tuple(MIX), tuple(MIX.values()))[0]
    source = _texts()[exercise_id]
    if kind == "untouched":
        return Answer(kind, clear(source))
    text = solved(source)
    if kind == "wrong":
        mutants = sorted((ROOT / "solutions" / "mutants" / exercise_id).glob("*.cu"))
        text = chance.choice(mutants).read_text(encoding="utf-8")
    elif kind == "typo":
        text = text.replace(";\n", "\n", 1) if chance.random() < 0.5 else text.replace("blockIdx", "blockIndex", 1)
    elif kind == "endless":
        text = text.replace(") {\n", ") {\n" + ENDLESS, 1)
    return Answer(kind, _own(text, chance, f"{student} {seed}".strip()))


def _own(text: str, chance: random.Random, author: str) -> str:
    """The same program as somebody else writes it: another name, a comment, other space."""
    first = re.search(r"\b(?:int|size_t|long long) (\w+) = (?:blockIdx|threadIdx)", text)
    name = chance.choice(NAMES)
    if first and not re.search(rf"\b{name}\b", text):
        text = re.sub(rf"(?<![.\w]){first[1]}\b", name, text)
    lines = text.rstrip("\n").split("\n")
    for _ in range(chance.randrange(3)):
        lines.insert(chance.randrange(len(lines)), "")
    at = chance.randrange(len(lines))
    lines.insert(
        at, f"    // {author}: {chance.choice(('mine', 'see the lesson', 'try again', 'works?', 'index first'))}"
    )
    return "\n".join(lines) + "\n"


def _texts() -> dict[str, str]:
    """Exercise → its solution's CUDA text, markers and all."""
    if not _KEPT:
        for cell in assignment().cells:
            if name := marker_of(cell.source):
                match = TEXT.search(cell.source)
                assert match is not None, name
                _KEPT[name] = match[2]
    return _KEPT


_KEPT: dict[str, str] = {}


def hand_in(released: NotebookNode, student: str, seed: str = "") -> NotebookNode:
    """The released notebook with a student's answers in it."""
    notebook = copy.deepcopy(released)
    answers = answers_of(student, seed)
    for cell in notebook.cells:
        if name := marker_of(cell.source):
            text = answers[name].text
            cell.source = TEXT.sub(lambda match, text=text: match[1] + text + match[3], cell.source, count=1)
    return notebook


def write_class(folder: Path, names: tuple[str, ...], released: NotebookNode, seed: str = "") -> Path:
    """Writes `folder`/STUDENT/LESSON/LESSON.ipynb for each of them, as nbgrader collects it; returns `folder`."""
    for name in names:
        path = folder / name / LESSON / f"{LESSON}.ipynb"
        path.parent.mkdir(parents=True)
        nbformat.write(hand_in(released, name, seed), path)
    return folder
