"""One answer under NVIDIA's tools: the measured case on the GPU, Nsight's counters beside simt's, findings beside ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

from grader import ncu
from grader.compile import BuildProblem, compile_text
from grader.devices.base import CASE_BUDGET
from grader.model import Case, Exercise, KernelAnswer, LaunchSpec, Report, Submission
from grader.preparing import launch_findings, prepare_case
from grader.worker.wire import Launch

__all__ = ["Profiled", "launch_of", "lines", "missing_tools", "profiled"]


@dataclass(frozen=True, slots=True)
class Profiled:
    """What the tools said of one answer.

    Attributes:
        exercise_id: of the exercise.
        case: name of the case that was run.
        counters: simt's beside Nsight's; empty where there are none.
        findings: compute-sanitizer's.
        ours: checks of our own findings.
        absent: what could not be had -> why.
    """

    exercise_id: str
    case: str = ""
    counters: tuple[ncu.Compared, ...] = ()
    findings: tuple[ncu.SanitizerFinding, ...] = ()
    ours: tuple[str, ...] = ()
    absent: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """As JSON values."""
        return {
            "exercise_id": self.exercise_id,
            "case": self.case,
            "ncu": [asdict(row) for row in self.counters],
            "compute_sanitizer": [asdict(finding) for finding in self.findings],
            "ours": list(self.ours),
            "absent": self.absent,
        }


def missing_tools() -> dict[str, str]:
    """Tool -> why it is not here, of those that are not."""
    missing = {}
    for tool in ("ncu", "compute-sanitizer"):
        try:
            ncu.require(tool)
        except ncu.ToolMissing as problem:
            missing[tool] = str(problem)
    return missing


def launch_of(exercise: Exercise, answer: Submission, arch: str) -> tuple[Launch, Case] | str:
    """The measured case of a kernel answer as a launch for `arch`, or why there is none."""
    if not isinstance(exercise.answer, KernelAnswer) or not isinstance(answer.launch, LaunchSpec):
        return "this exercise takes no kernel with a launch"
    case = next((case for case in exercise.cases if case.measured), exercise.cases[0])
    config, findings = launch_findings(answer.launch, case, arch)
    if config is None or findings:
        return f"the launch does not start: {findings[0].message}" if findings else "there is no launch"
    built = compile_text(answer.source, exercise.answer.kernel, arch)
    if isinstance(built, BuildProblem):
        return f"it does not compile for {arch}"
    return Launch(built, config, prepare_case(exercise, case).arguments, CASE_BUDGET, False, None), case


def profiled(exercise: Exercise, answer: Submission, report: Report, arch: str) -> Profiled:
    """The answer under both tools.

    Args:
        exercise: its row.
        answer: read, not judged yet.
        report: ours on it; a text that ours refuses to compile or launch is not run here either.
        arch: of the GPU.
    """
    ours = tuple(dict.fromkeys(finding.check for finding in report.diagnostics))
    if report.verdict in ("source_rejected", "ptx_rejected"):
        return Profiled(exercise.id, ours=ours, absent={"launch": f"{report.verdict}: it is not run"})
    found = launch_of(exercise, answer, arch)
    if isinstance(found, str):
        return Profiled(exercise.id, ours=ours, absent={"launch": found})
    launch, case = found
    counters: tuple[ncu.Compared, ...] = ()
    findings: list[ncu.SanitizerFinding] = []
    absent: dict[str, str] = {}
    if report.counters is None:
        absent["ncu"] = "simt has no counters of it to put beside Nsight's"
    else:
        try:
            counters = ncu.compared(report.counters, ncu.profile(launch))
        except ncu.ToolMissing as problem:
            absent["ncu"] = str(problem)
    for tool in ncu.CHECKS:
        try:
            findings += ncu.sanitize(launch, tool)
        except ncu.ToolMissing as problem:
            absent[f"compute-sanitizer {tool}"] = str(problem)
    return Profiled(exercise.id, case.name, counters, tuple(findings), ours, absent)


def lines(found: Profiled) -> Sequence[str]:
    """For people: a line a counter that either side has, then the findings, then what could not be had."""
    said = [f"under NVIDIA's tools: {found.exercise_id}" + (f", case {found.case}" if found.case else "")]
    shown = [row for row in found.counters if row.ours or row.nsight]
    if shown:
        width = max(len(row.counter) for row in shown)
        said.append(f"  {'counter':<{width}} {'simt':>14} {'Nsight':>14}")
        said += [f"  {row.counter:<{width}} {row.ours:>14,} {_nsight(row):>14}  {_note(row)}".rstrip() for row in shown]
    if found.case:
        said.append(f"  compute-sanitizer: {_count(found)}; ours: {', '.join(found.ours) or 'nothing'}")
    for finding in found.findings:
        place = ", ".join(part for part in (f"line {finding.line}" if finding.line else "", finding.place) if part)
        times = f" ({finding.times} times)" if finding.times > 1 else ""
        said.append(f"    {finding.tool}: {finding.says}" + (f", {place}" if place else "") + times)
    said += [f"  no {what}: {why}" for what, why in found.absent.items()]
    return said


def _count(found: Profiled) -> str:
    if not found.findings:
        return "nothing"
    return f"{sum(finding.times for finding in found.findings)} findings"


def _nsight(row: ncu.Compared) -> str:
    return "not told" if row.nsight is None else f"{row.nsight:,.0f}"


def _note(row: ncu.Compared) -> str:
    """How the two differ, where they do: the assembler may merge, hoist or drop what PTX says."""
    if row.nsight is None or row.nsight == row.ours:
        return ""
    return f"{row.ours / row.nsight:.3g} of Nsight's" if row.nsight else ""
