"""Running field cases: the report on one, and whether it is what the case expects."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from grader.cases import CaseProblem, FieldCase, Variant, read_case
from grader.compile import BuildProblem, compile_text
from grader.devices.base import CASE_BUDGET, Device
from grader.fragment_lines import fragment_line
from grader.model import Fault, Report, Verdict
from grader.numpy_expression import ExpressionProblem, work_out
from grader.preparing import Prepared
from grader.running import CaseRun, merged, run_case
from grader.verdicts import verdict_of, worst
from simt.arch import arch as arch_of
from simt.counters import Counters
from simt.diagnostics import Diagnostic, Severity
from simt.launch import check_launch

__all__ = ["Judgement", "grade_case", "judge"]


def grade_case(
    case: FieldCase, device: Device, *, fixed: bool = False, kernel: Path | None = None, distinct: bool | None = None
) -> Report:
    """The report on a case.

    Args:
        case: from `read_case`.
        device: where it runs.
        fixed: the repaired form.
        kernel: another text in the kernel's place.
        distinct: also run with distinct elements in constant inputs; None where the case's reference allows it.
    """
    variant = case.variant(fixed, kernel=kernel)
    exercise = case.exercise(variant)
    report = Report(exercise.id, "", Verdict.PASS, 0.0, exercise.points, device=device.name, when=datetime.now(UTC))
    early = check_launch(variant.config, arch_of(case.arch))
    compiled = compile_text(variant.source, case.kernel, case.arch)
    if isinstance(compiled, BuildProblem):
        findings = merged([compiled.diagnostics, early])
        return replace(report, verdict=worst(map(verdict_of, findings)), diagnostics=findings, message=compiled.log)
    variants = [variant]
    if distinct or (distinct is None and case.constant_inputs):
        variants.append(case.variant(fixed, kernel=kernel, distinct=True))
    runs = [_run(case, one, compiled, device) for one in variants]
    first = runs[0]
    findings = merged([compiled.diagnostics, early, *(run.diagnostics for run in runs)])
    verdict = worst([*map(verdict_of, findings), *(run.verdict for run in runs)])
    return replace(
        report,
        verdict=verdict,
        score=exercise.points if verdict is Verdict.PASS else 0.0,
        cases=tuple(run.shown() for run in runs),
        diagnostics=findings,
        counters=first.result.counters if first.result else None,
        by_line=first.result.by_line if first.result else {},
        resources=compiled.resources,
        printed=first.result.printed if first.result else "",
    )


def _run(case: FieldCase, variant: Variant, compiled, device: Device) -> CaseRun:
    exercise = case.exercise(variant)
    inputs = {argument.name: argument.value for argument in variant.arguments}
    faults, sides = _transposed(case, inputs, variant)
    prepared = Prepared(exercise.cases[0], inputs, variant.want, variant.arguments)
    run = run_case(device, compiled, variant.config, prepared, replace(exercise, faults=faults), CASE_BUDGET)
    return replace(run, diagnostics=tuple(_placed(finding, sides, variant.source) for finding in run.diagnostics))


def _placed(finding: Diagnostic, sides: dict[str, str], source: str) -> Diagnostic:
    """A transposed operand at the line of the fragment that declares its order, where there is just one."""
    side = next((side for says, side in sides.items() if says in finding.help), None)
    if side is None or finding.line is not None:
        return finding
    return replace(finding, line=fragment_line(source, side))


def _transposed(case: FieldCase, inputs: dict, variant: Variant) -> tuple[tuple[Fault, ...], dict[str, str]]:
    """Faults in which one operand of a matrix product is transposed, for every product in a reference, and its side by words."""
    faults, sides = [], {}
    for name, text in case.plain["reference"].items():
        for operand, side, changed in _with_transposed_operand(text):
            try:
                values = {key + ("_" if key == "in" else ""): value for key, value in inputs.items()}
                wrong = np.asarray(work_out(changed, values))
            except ExpressionProblem:
                continue
            if name in variant.want and wrong.shape == variant.want[name].shape:
                says = f"the output is what comes out when {operand} is read transposed"
                faults.append(Fault("transposed", (), lambda wrong=wrong, name=name: {name: wrong}, says))
                sides[says] = side
    return tuple(faults), sides


def _with_transposed_operand(text: str):
    """(operand, a or b, expression in which it is transposed) for each operand of each `@`."""
    tree = ast.parse(text, mode="eval")
    products = [node for node in ast.walk(tree) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)]
    for product in products:
        for side, letter in (("left", "a"), ("right", "b")):
            operand = getattr(product, side)
            plain = isinstance(operand, ast.Attribute) and operand.attr == "T"
            flipped = operand.value if plain else ast.Attribute(operand, "T", ast.Load())
            setattr(product, side, flipped)
            said, changed = (
                ast.unparse(operand.value if plain else operand),
                ast.unparse(ast.fix_missing_locations(tree)),
            )
            yield said, letter, changed
            setattr(product, side, operand)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a case gave, whether that is what it expects, and why not."""

    report: Report | None
    ok: bool
    why: str = ""
    missing_words: tuple[str, ...] = ()
    finding: Diagnostic | None = None


def judge(folder: str | Path, fixed: bool, device: Device) -> Judgement:
    """Runs the case in `folder` and holds the report against its `expected`; a repair must raise nothing."""
    case = read_case(folder)
    try:
        report = grade_case(case, device, fixed=fixed)
    except CaseProblem as problem:
        return Judgement(None, False, str(problem))
    return _repair(case, report) if fixed else _faulty(case, report)


def _repair(case: FieldCase, report: Report) -> Judgement:
    raised = [finding for finding in report.diagnostics if finding.severity != Severity.ADVICE]
    if report.verdict is not Verdict.PASS or raised:
        first = f": {raised[0].check}, line {raised[0].line}: {raised[0].message}" if raised else ""
        return Judgement(report, False, f"the repair gives {report.verdict}{first}")
    return Judgement(report, *_counters_agree(case.plain.get("fixed_counters", {}), report.counters))


WANTED = {
    "error": (Severity.ERROR,),
    "warning-or-error": (Severity.ERROR, Severity.WARNING),
    "error-or-warning": (Severity.ERROR, Severity.WARNING),
    "pass-with-advice": (Severity.ADVICE,),
}


def _faulty(case: FieldCase, report: Report) -> Judgement:
    expected = case.plain["expected"]
    check, line, also = expected["check"], expected.get("line"), expected.get("also")
    same = [finding for finding in report.diagnostics if finding.check == check]
    if not same:
        found = ", ".join(f"{f.check} line {f.line}" for f in report.diagnostics) or "nothing"
        return Judgement(report, False, f"{report.verdict}; found {found}")
    exact = [f for f in same if (line is None or f.line == line) and (also is None or f.also_line == also)]
    finding = (exact or same)[0]
    text = f"{finding.message} {finding.help}"
    missing = tuple(word for word in expected.get("must_say", ()) if word.lower() not in text.lower())
    if finding.severity not in WANTED[expected["verdict"]]:
        return Judgement(report, False, f"severity {finding.severity}", missing, finding)
    if not exact:
        return Judgement(report, False, f"line {finding.line}, also {finding.also_line}", missing, finding)
    if expected["verdict"] == "pass-with-advice" and report.verdict is not Verdict.PASS:
        return Judgement(report, False, f"verdict {report.verdict}", missing, finding)
    ok, why = _counters_agree(expected.get("counters", {}), report.counters)
    return Judgement(report, ok, why, missing, finding)


def _counters_agree(wanted: dict[str, float], counters: Counters | None) -> tuple[bool, str]:
    for name, value in wanted.items():
        got = _counter(counters, name) if counters else None
        if got is None or abs(got - value) > 1e-6 * abs(value):
            return False, f"{name} is {got}, not {value}"
    return True, ""


def _counter(counters: Counters, name: str) -> float | None:
    if name.endswith("_per_request"):
        total = name.removesuffix("_per_request")
        requests = getattr(counters, total.rsplit("_", 1)[0] + "_requests")
        return getattr(counters, total) / requests if requests else 0.0
    return getattr(counters, name)
