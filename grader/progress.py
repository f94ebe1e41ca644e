"""What a student has done: one JSON file to copy, keyed by the digest of each answer.

The file is replaced whole under a lock, so two processes never mix their lines and a crash leaves the old one. A file
that cannot be read is kept beside the new one and named in the message.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from grader.model import Report, Verdict
from grader.whole_file import write_whole

__all__ = ["Attempt", "Frozen", "Progress", "ProgressFile", "Standing", "course_folder", "lessons_folder", "standing"]

SCHEMA = 1
ENVIRONMENT = "WARPWISE_PROGRESS"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One answer that was checked; `first` and `last` are ISO times in UTC."""

    exercise_id: str
    verdict: str
    passed: bool
    score: float
    max_score: float
    first: str
    last: str


@dataclass(frozen=True, slots=True)
class Frozen:
    """The score that counts, fixed because the reference was asked for before every goal was met."""

    score: float
    max_score: float
    when: str


@dataclass(frozen=True, slots=True)
class Progress:
    """Everything the file holds.

    Attributes:
        answers: digest → attempt.
        hints: exercise id → hints read.
        frozen: exercise id → the frozen score.
    """

    answers: dict[str, Attempt] = field(default_factory=dict)
    hints: dict[str, int] = field(default_factory=dict)
    frozen: dict[str, Frozen] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Standing:
    """Where an exercise stands: untouched, tried, right (a goal is open), done."""

    state: str
    score: float
    max_score: float
    attempts: int
    hints: int
    frozen: bool


def standing(progress: Progress, exercise_id: str) -> Standing:
    """The best of an exercise's attempts, or its frozen score."""
    tried = [a for a in progress.answers.values() if a.exercise_id == exercise_id]
    best = max(tried, key=lambda a: (a.passed, a.score), default=None)
    state = "untouched"
    if best is not None:
        state = "done" if best.passed else "right" if best.verdict == Verdict.PASS else "tried"
    frozen = progress.frozen.get(exercise_id)
    counted = frozen or best
    return Standing(
        state=state,
        score=counted.score if counted else 0.0,
        max_score=counted.max_score if counted else 0.0,
        attempts=len(tried),
        hints=progress.hints.get(exercise_id, 0),
        frozen=frozen is not None,
    )


class ProgressFile:
    """The file on disk; `WARPWISE_PROGRESS` names another place."""

    def __init__(self, path: Path | None = None):
        self.path = Path(path or os.environ.get(ENVIRONMENT) or default_path())
        self.kept_aside: Path | None = None

    def read(self) -> Progress:
        """What is kept; an empty `Progress` when nothing is, or when the file was damaged and is now `kept_aside`."""
        try:
            return _from_json(json.loads(self.path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return Progress()
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self.kept_aside = _set_aside(self.path)
            return Progress()

    def record(self, report: Report) -> Progress:
        """Keeps a report; one without a digest, or that is our failure, changes nothing."""
        if not report.digest or report.verdict in (Verdict.INTERNAL_ERROR, Verdict.NOT_SUPPORTED):
            return self.read()
        return self._change(lambda progress: _with_report(progress, report))

    def read_hint(self, exercise_id: str, total: int) -> int:
        """Counts one more hint as read; returns its 1-based number, never above `total`."""
        after = self._change(
            lambda p: replace(p, hints=p.hints | {exercise_id: min(p.hints.get(exercise_id, 0) + 1, total)})
        )
        return after.hints[exercise_id]

    def freeze(self, exercise_id: str) -> Frozen:
        """Fixes the score of an exercise as it stands; the first freeze stays."""

        def fix(progress: Progress) -> Progress:
            now = standing(progress, exercise_id)
            frozen = Frozen(now.score, now.max_score, _now())
            return replace(progress, frozen={exercise_id: frozen} | progress.frozen)

        return self._change(fix).frozen[exercise_id]

    def _change(self, step: Callable[[Progress], Progress]) -> Progress:
        with self._lock():
            before = self.read()
            after = step(before)
            if after != before or self.kept_aside:
                write_whole(self.path, json.dumps(_to_json(after), indent=1, ensure_ascii=False) + "\n")
            return after

    @contextmanager
    def _lock(self) -> Iterator[None]:
        from filelock import FileLock

        self.path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self.path.with_suffix(".lock"), timeout=10):
            yield


def course_folder() -> Path:
    """The top of a clone or an unpacked bundle, whatever the working folder."""
    return Path(__file__).resolve().parent.parent


def lessons_folder() -> Path:
    """Where the student's own lessons are."""
    return course_folder() / "lessons"


def default_path() -> Path:
    """`.course/progress.json` at the top of the course."""
    return course_folder() / ".course" / "progress.json"


def _with_report(progress: Progress, report: Report) -> Progress:
    known = progress.answers.get(report.digest)
    now = report.when.astimezone(UTC).isoformat(timespec="seconds") if report.when else _now()
    attempt = Attempt(
        exercise_id=report.exercise_id,
        verdict=str(report.verdict),
        passed=report.passed,
        score=report.score,
        max_score=report.max_score,
        first=known.first if known else now,
        last=now,
    )
    return replace(progress, answers=progress.answers | {report.digest: attempt})


def _to_json(progress: Progress) -> dict[str, object]:
    return {"schema": SCHEMA} | asdict(progress)


def _from_json(data) -> Progress:
    if data["schema"] != SCHEMA:
        raise ValueError(f"schema {data['schema']!r}")
    return Progress(
        answers={digest: Attempt(**attempt) for digest, attempt in data["answers"].items()},
        hints={exercise_id: int(count) for exercise_id, count in data["hints"].items()},
        frozen={exercise_id: Frozen(**frozen) for exercise_id, frozen in data["frozen"].items()},
    )


def _set_aside(path: Path) -> Path | None:
    """Moves a damaged file to the first free `.damaged-N` beside it; None when it cannot be moved."""
    for number in range(1, 1000):
        aside = path.with_name(f"{path.stem}.damaged-{number}{path.suffix}")
        if not aside.exists():
            try:
                os.replace(path, aside)
            except OSError:
                return None
            return aside
    return None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
