"""From what a student typed to a `Submission`: the same value from a cell that runs and from a file that is read.

A launch that is no launch literal does not stop the reading: it becomes a finding of the submission, so that the text
beside it is still looked at.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from grader.model import Exercise, KernelAnswer, LaunchAnswer, LaunchSpec, Submission, Unreadable, ValueAnswer
from grader.notebook.literals import LiteralProblem, launch_spec
from grader.notebook.source import canonical, text_problem
from simt.diagnostics import Diagnostic, diagnose

__all__ = ["AnswerNames", "answer_names", "launch_problem", "submit"]


@dataclass(frozen=True, slots=True)
class AnswerNames:
    """The variables of a notebook that hold one exercise's answer; "" where its kind of answer has none."""

    source: str
    launch: str
    values: str

    def __iter__(self):
        return (name for name in (self.source, self.launch, self.values) if name)


def answer_names(exercise: Exercise, stem: str | None = None) -> AnswerNames:
    """The variables of `exercise`: `map1d_src`, `map1d_launch`, `map1d_values` for `thread_mapping.map1d`.

    Args:
        exercise: the row.
        stem: where a notebook has names of its own: the text's variable is `stem`, the launch's `stem_launch`.
    """
    short = stem or exercise.id.split(".")[-1]
    source = stem or f"{short}_src"
    match exercise.answer:
        case KernelAnswer(launch_editable=editable):
            return AnswerNames(source, f"{short}_launch" if editable else "", "")
        case LaunchAnswer():
            return AnswerNames("", f"{short}_launch", "")
        case ValueAnswer():
            return AnswerNames("", "", f"{short}_values")
    raise TypeError(f"{exercise.id} has no answer kind that is known: {exercise.answer!r}")


def submit(
    exercise: Exercise,
    source: object = "",
    launch: object = None,
    values: object = None,
    *,
    origin: tuple[str, int] | None = None,
    problems: tuple[Diagnostic, ...] = (),
) -> Submission | Unreadable:
    """The submission that these typed values are.

    Args:
        exercise: the row they answer.
        source: CUDA text as typed; made canonical here.
        launch: a launch literal, {kernel: launch literal} for a `LaunchAnswer`, or None for the exercise's own.
        values: the values literal of a `ValueAnswer`.
        origin: file and line of the text's first line.
        problems: findings about the launch that were made while reading it.
    """
    file, lines = (origin[0], (origin[1],)) if origin else ("", ())
    if not isinstance(source, str):
        got = f"the CUDA text is a {type(source).__name__}, not a string"
        return Unreadable(exercise.id, got, 'put it between r""" and """', file, lines)
    text = canonical(source)
    if problem := text_problem(text):
        return Unreadable(exercise.id, problem[0], problem[1], file, lines)
    if isinstance(exercise.answer, ValueAnswer):
        if not isinstance(values, Mapping):
            example = '{"answers": {"' + exercise.answer.questions[0].name + '": 4}}'
            return Unreadable(exercise.id, "the values are no dict", f"write {example}", file, lines)
        return _with_digest(Submission(exercise.id, "", None, values, origin))
    spec, findings = _launch(exercise, launch) if not problems else (None, problems)
    return _with_digest(Submission(exercise.id, text, spec, {}, origin, problems=findings))


Launch = LaunchSpec | dict[str, LaunchSpec] | None


def _launch(exercise: Exercise, launch: object) -> tuple[Launch, tuple[Diagnostic, ...]]:
    try:
        match exercise.answer:
            case KernelAnswer(default_launch=default, launch_editable=editable):
                return launch_spec(default if launch is None or not editable else launch), ()
            case LaunchAnswer(kernels=kernels):
                return _launches(tuple(kernels), launch), ()
    except LiteralProblem as problem:
        return None, (launch_problem(problem),)
    return None, ()


def _launches(kernels: tuple[str, ...], launch: object) -> dict[str, LaunchSpec]:
    if not isinstance(launch, Mapping):
        example = ", ".join(f'"{name}": {{…}}' for name in kernels)
        raise LiteralProblem("the launches are no dict of one launch per kernel", f"write {{{example}}}")
    if missing := [name for name in kernels if name not in launch]:
        raise LiteralProblem(f"there is no launch for the kernel {missing[0]}", f'add "{missing[0]}": {{…}}')
    specs = {}
    for name in kernels:
        try:
            specs[name] = launch_spec(launch[name])
        except LiteralProblem as problem:
            raise LiteralProblem(f"{name}: {problem.message}", problem.help) from None
    return specs


def launch_problem(problem: LiteralProblem) -> Diagnostic:
    """The finding for a launch that is no launch literal."""
    return diagnose("launch.literal", f"the launch cannot be read: {problem.message}", help=problem.help)


def _with_digest(submission: Submission) -> Submission:
    return replace(submission, digest=_digest(submission))


def _digest(submission: Submission) -> str:
    """sha256 over exercise, text, launch and values: equal for equal answers, wherever they were read."""
    launch = submission.launch
    each = isinstance(launch, Mapping)
    plain = {name: _plain(spec) for name, spec in launch.items()} if each else _plain(launch)  # type: ignore
    parts = [
        submission.exercise_id,
        submission.source,
        plain,
        submission.values,
        [p.message for p in submission.problems],
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=repr).encode()).hexdigest()


def _plain(spec: LaunchSpec | None) -> object:
    return spec and [spec.grid, spec.block, spec.shared_bytes, spec.cluster]
