"""What a lesson's cells call: `check`, `predict`, `hint` and `device`. Each returns something a notebook can show."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from grader.model import Exercise, KernelAnswer, LaunchAnswer, Report, Submission, Unreadable, ValueAnswer
from grader.report.wording import Context
from grader.stages import listening

__all__ = ["Checked", "Shown", "check", "device", "hint", "predict"]

# A check quicker than this shows no sign of waiting; the sign would only flicker.
NOTICEABLE_SECONDS = 0.7
# What `nbgrader validate` prints of a line beside its indent of 4 (0.9.6, validator.py: cut from 87 characters on).
VALIDATOR_WIDTH = 83
_took: dict[str, float] = {}


@dataclass(frozen=True, slots=True)
class Shown:
    """HTML that marimo and Jupyter both show; `text` is what a console prints."""

    html: str
    text: str

    def _mime_(self) -> tuple[str, str]:
        return "text/html", self.html

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Checked:
    """The outcome of a check: shown as the verdict card, and a value for other cells to use."""

    report: Report
    context: Context

    @property
    def passed(self) -> bool:
        """Right, and no goal missed."""
        return self.report.passed

    def _mime_(self) -> tuple[str, str]:
        return "text/html", self._repr_html_()

    def _repr_html_(self) -> str:
        from grader.report.card import card

        return card(self.report, self.context)

    def _ipython_display_(self) -> None:
        """Under `nbgrader validate`: nothing for a pass, else the verdict as an error; a card would be taken for a pass.

        Raises:
            NotImplementedError: anywhere else, where IPython then shows the card.
        """
        if not os.environ.get("NBGRADER_VALIDATING"):
            raise NotImplementedError
        if not self.passed:
            from grader.report.text import text

            print(text(self.report, self.context, VALIDATOR_WIDTH), file=sys.stderr)

    def __repr__(self) -> str:
        from grader.report.text import text

        return text(self.report, self.context)


def check(exercise_id: str, answer: object = "", launch: object = None, *, device: str | None = None) -> Checked:
    """Judges an answer exactly as the collected file will be judged.

    Args:
        exercise_id: `thread_mapping.map1d`.
        answer: CUDA text of a kernel; {kernel: launch} where launches are asked for; the values of a prediction.
        launch: the kernel's launch literal; the exercise's own without it.
        device: the name of a device, the best one here by default.

    Raises:
        grader.exercises.UnknownExercise: there is no such exercise.
    """
    from grader.exercises import exercise
    from grader.pipeline import check_submission
    from grader.views import context_of

    row = exercise(exercise_id)
    submission = _submission(row, answer, launch)
    started = time.monotonic()
    with _waiting(row):
        report = check_submission(submission, device)
    _took[row.id] = time.monotonic() - started
    _remember(report)
    return Checked(report, context_of(row, submission))


def predict(exercise_id: str, values: object) -> Checked:
    """Judges typed values; they count once they are locked in, before the explanation is seen."""
    return check(exercise_id, values)


def hint(exercise_id: str) -> Shown:
    """The exercise's hints, each folded inside the one before it."""
    from grader.exercises import exercise
    from grader.report.card import hints_fold, style

    row = exercise(exercise_id)
    html = f'<style>{style()}</style><div class="ww ww-hints">{hints_fold(row.hints)}</div>'
    return Shown(html, f"{len(row.hints)} hints: python3 course.py hint {row.id}")


def device(name: str | None = None) -> Shown:
    """What runs the kernels here, and what it can do."""
    from grader.report.device_card import device_card, device_text
    from grader.views import describe_device

    facts = describe_device(name)
    return Shown(device_card(facts), device_text(facts))


def _submission(row: Exercise, answer: object, launch: object) -> Submission | Unreadable:
    from grader.answers import submit

    match row.answer:
        case KernelAnswer():
            return submit(row, answer, launch)
        case LaunchAnswer():
            return submit(row, "", answer if isinstance(answer, Mapping) else launch)
        case ValueAnswer():
            return submit(row, "", None, answer)
    raise TypeError(f"{row.id} has no answer kind that is known: {row.answer!r}")


@contextmanager
def _waiting(row: Exercise) -> Iterator[None]:
    """A sign of waiting in a marimo notebook, which says what takes long.

    It stands there from the start where the last check of this exercise (or the first one) took long, else as soon as a
    stage announces itself.
    """
    if not _in_marimo():
        yield
        return
    import marimo

    title = f"Checking {row.title}"
    with ExitStack() as stack:
        signs: list = []

        def say(words: str) -> None:
            if signs:
                signs[0].update(title, words)
            else:
                signs.append(stack.enter_context(marimo.status.spinner(title=title, subtitle=words)))

        if _took.get(row.id, 1.0 if not _took else 0.0) >= NOTICEABLE_SECONDS:
            say("" if _took else "the first check starts the compiler and the simulator")
        stack.enter_context(listening(say))
        yield


def _in_marimo() -> bool:
    """Whether a browser is looking; an app that runs as a script or in a test has none."""
    return "marimo" in sys.modules and sys.modules["marimo"].running_in_notebook()


def _remember(report: Report) -> None:
    """Keeps progress when a student works in a lesson of this course, not when a test or an instructor runs a copy."""
    from grader.progress import ENVIRONMENT, ProgressFile, lessons_folder
    from grader.release.starters import starter_digest

    if not _in_marimo() or report.digest == starter_digest(report.exercise_id):
        return
    import marimo

    if os.environ.get(ENVIRONMENT) or marimo.notebook_dir() == lessons_folder():
        try:
            ProgressFile().record(report)
        except OSError:
            # A read-only folder or a full disk must not hide a verdict; `progress` says what is wrong with the file.
            return
