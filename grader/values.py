"""Predictions: numbers and choices that count only as typed before the reveal.

The values literal keeps its own seal:

    predict_values = {"answers": {"unit_stride": 4, "stride_2": 8}, "typed": "2026-11-29T12:00:00", "seal": "3f9c2a71"}

Without `typed` and `seal` nothing is judged: the report offers the same literal with both filled in, to be pasted over
the old one. With them the answers are judged and explained. Answers changed afterwards no longer fit their seal and
earn nothing. The seal keeps a promise to oneself; anyone who reads this file can forge it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from grader.model import CaseResult, Exercise, Question, Report, Submission, ValueAnswer, Verdict

__all__ = ["grade_values", "most_points", "seal", "sealed_literal"]


def seal(exercise_id: str, answers: Mapping[str, object], typed: str) -> str:
    """Eight characters that belong to these answers at this time."""
    text = json.dumps([exercise_id, dict(answers), typed], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def sealed_literal(exercise_id: str, answers: Mapping[str, object], typed: str | None = None) -> str:
    """The values literal with its time and seal, as a line of Python."""
    typed = typed or datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    literal = {"answers": dict(answers), "typed": typed, "seal": seal(exercise_id, answers, typed)}
    return json.dumps(literal, ensure_ascii=False)


def grade_values(submission: Submission, exercise: Exercise) -> Report:
    """The report on typed values; one case per question."""
    assert isinstance(exercise.answer, ValueAnswer)
    most = most_points(exercise)
    given = submission.values.get("answers")
    report = Report(exercise.id, submission.digest, Verdict.UNREADABLE, 0.0, most)
    problem = _shape_problem(given, exercise.answer.questions)
    if problem:
        return replace(report, message=problem)
    assert isinstance(given, Mapping)
    typed, kept = submission.values.get("typed"), submission.values.get("seal")
    if not isinstance(typed, str) or not isinstance(kept, str):
        name = exercise.id.split(".")[-1]
        line = f"{name}_values = {sealed_literal(exercise.id, given)}"
        return replace(
            report, message=f"lock your answers in before you see the right ones; make the cell read:\n{line}"
        )
    if kept != seal(exercise.id, given, typed):
        message = (
            f"the answers were changed after they were locked in at {typed}: a prediction counts only as typed before"
        )
        return replace(report, verdict=Verdict.WRONG_ANSWER, message=message)
    return _judged(report, exercise, given, typed)


def most_points(exercise: Exercise) -> float:
    """What an exercise of questions is worth when all are right."""
    assert isinstance(exercise.answer, ValueAnswer)
    return exercise.points if _flat(exercise.answer) else sum(q.points for q in exercise.answer.questions)


def _flat(answer: ValueAnswer) -> bool:
    """True when the questions leave their weight to the exercise's points: they share them evenly."""
    return all(question.points == 1.0 for question in answer.questions)


def _judged(report: Report, exercise: Exercise, given: Mapping[str, object], typed: str) -> Report:
    assert isinstance(exercise.answer, ValueAnswer)
    questions = exercise.answer.questions
    right = [_is_right(question, given[question.name]) for question in questions]
    cases = tuple(
        CaseResult(question.name, None, Verdict.PASS if ok else Verdict.WRONG_ANSWER, _shown(question, given, ok))
        for question, ok in zip(questions, right)
    )
    weights = [report.max_score / len(questions) if _flat(exercise.answer) else q.points for q in questions]
    explained = "\n".join(f"{q.name}: {q.explain}" for q in questions if q.explain)
    return replace(
        report,
        verdict=Verdict.PASS if all(right) else Verdict.WRONG_ANSWER,
        score=sum(weight for weight, ok in zip(weights, right) if ok),
        cases=cases,
        message=f"{sum(right)} of {len(right)} right, as typed at {typed}" + (f"\n{explained}" if explained else ""),
    )


def _shown(question: Question, given: Mapping[str, object], ok: bool) -> tuple[Mapping[str, object], ...]:
    row = {"output": question.name, "index": (), "got": given[question.name], "want": question.expected}
    return () if ok else (row,)


def _shape_problem(given: object, questions: tuple[Question, ...]) -> str:
    if not isinstance(given, Mapping):
        return 'write {"answers": {…}} with one entry per question: ' + ", ".join(q.name for q in questions)
    for question in questions:
        value = given.get(question.name)
        if value is None:
            return f"{question.name} has no answer yet: {question.prompt}"
        if question.choices and value not in question.choices:
            return f"{question.name} is {value!r}; choose one of {', '.join(map(repr, question.choices))}"
        if not question.choices and isinstance(question.expected, (int, float)) and not _is_number(value):
            return f"{question.name} is {value!r}; type a number"
    unknown = [name for name in given if not any(name == question.name for question in questions)]
    return f"there is no question called {unknown[0]!r}" if unknown else ""


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and math.isfinite(value)  # type: ignore[arg-type]


def _is_right(question: Question, value: object) -> bool:
    if isinstance(question.expected, str):
        return value == question.expected
    return abs(float(value) - question.expected) <= question.tolerance + 1e-9 * abs(question.expected)  # type: ignore[arg-type]
