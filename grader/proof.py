"""What every exercise has to hold before anybody is given it: proven by judging its own answers, right ones and wrong ones.

solution    passes with every point
starter     does not pass, and is told what to do
mutant      is refused under its own name, and no other
naive       is right and misses a goal (exercises with goals)
fault       at least one mutant is written for it
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.answers import submit
from grader.devices.base import Device
from grader.model import Exercise, KernelAnswer, LaunchAnswer, Report, Submission, Unreadable, Verdict
from grader.pipeline import grade, unreadable_report

__all__ = ["Claim", "prove"]

OURS = (Verdict.INTERNAL_ERROR, Verdict.NOT_SUPPORTED)


@dataclass(frozen=True, slots=True)
class Claim:
    """One thing that an exercise has to hold; `problem` says what was found instead, "" when it holds."""

    exercise_id: str
    what: str
    problem: str = ""


def prove(row: Exercise, folder: Path, device: Device) -> Iterator[Claim]:
    """Every claim about one exercise of the pack in `folder`; see `grader.packs` for its files."""
    yield _solution(row, folder, device)
    yield _starter(row, folder, device)
    for path in _mutants(row, folder):
        yield _mutant(row, path, device)
    written = {_fault(path) for path in _mutants(row, folder)}
    for fault in row.faults:
        problem = "" if fault.name in written else f"no file mutants/{row.id}/{fault.name}.cu"
        yield Claim(row.id, f"fault {fault.name} has a mutant", problem)
    if row.goals:
        yield _naive(row, folder, device)
    yield Claim(row.id, "has hints", "" if row.hints else "no hints")


def _solution(row: Exercise, folder: Path, device: Device) -> Claim:
    what = "solution passes"
    report = _judged(row, folder / "solutions", row.id, device)
    if isinstance(report, str):
        return Claim(row.id, what, report)
    whole = report.passed and report.score == report.max_score
    return Claim(row.id, what, "" if whole else f"{_said(report)}, {report.score:g} of {report.max_score:g} points")


def _starter(row: Exercise, folder: Path, device: Device) -> Claim:
    what = "starter does not pass"
    report = _judged(row, folder / "starters", row.id, device)
    if isinstance(report, str):
        return Claim(row.id, what, report)
    wrong = report.passed or report.verdict in (*OURS, Verdict.BUILD_FAILED)
    return Claim(row.id, what, _said(report) if wrong else "")


def _mutant(row: Exercise, path: Path, device: Device) -> Claim:
    name = _fault(path)
    what = f"mutant {path.stem} is caught as {name}"
    report = _judged(row, path.parent, path.stem, device)
    if isinstance(report, str):
        return Claim(row.id, what, report)
    named = {fault.name for fault in row.faults for finding in report.diagnostics if f"{fault.name}: " in finding.help}
    if report.verdict in (Verdict.PASS, Verdict.BUILD_FAILED, *OURS):
        return Claim(row.id, what, _said(report))
    return Claim(
        row.id, what, "" if named == {name} else f"{report.verdict}, named {', '.join(sorted(named)) or 'nothing'}"
    )


def _naive(row: Exercise, folder: Path, device: Device) -> Claim:
    what = "naive answer is right and misses a goal"
    report = _judged(row, folder / "naive", row.id, device)
    if isinstance(report, str):
        return Claim(row.id, what, report)
    misses = report.verdict is Verdict.PASS and not report.passed
    return Claim(row.id, what, "" if misses else _said(report))


def _judged(row: Exercise, folder: Path, stem: str, device: Device) -> Report | str:
    """The report on the answer in `folder`, or why there is none."""
    path = next((path for ending in (".cu", ".json") if (path := folder / f"{stem}{ending}").is_file()), None)
    if path is None:
        return f"no file {folder.name}/{stem}.cu or .json"
    try:
        answer = _answer(row, path)
    except ValueError as error:
        return f"{path.name} cannot be read: {error}"
    return unreadable_report(answer, row) if isinstance(answer, Unreadable) else grade(answer, row, device)


def _answer(row: Exercise, path: Path) -> Submission | Unreadable:
    """A .cu is the kernel's text, beside which ID.launch.json may lie; a .json is a launch or the values."""
    text = path.read_text(encoding="utf-8")
    if isinstance(row.answer, KernelAnswer):
        launch = path.with_suffix(".launch.json")
        return submit(row, text, json.loads(launch.read_text(encoding="utf-8")) if launch.is_file() else None)
    plain = json.loads(text)
    return submit(row, "", plain) if isinstance(row.answer, LaunchAnswer) else submit(row, "", None, plain)


def _mutants(row: Exercise, folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "mutants" / row.id).glob("*.*") if not path.name.endswith(".launch.json"))


def _fault(path: Path) -> str:
    """`guard-off-by-one` for guard-off-by-one_2.cu."""
    return re.sub(r"_\d+$", "", path.stem)


def _said(report: Report) -> str:
    words = [finding.message for finding in report.diagnostics[:1]] or [report.message]
    return f"{report.verdict}" + (f": {words[0]}" if words[0] else "")
