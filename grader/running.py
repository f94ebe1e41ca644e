"""One case on a device: run, verify, name what went wrong, and keep what hidden cases must not tell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from grader.declared_types import with_declared_types
from grader.devices.base import Device, DeviceLost
from grader.model import CaseResult, Compiled, Exercise, RunResult, Verdict
from grader.preparing import Prepared
from grader.verdicts import verdict_of, worst
from grader.verify import Check, name_faults, verify
from simt.diagnostics import CATALOGUE, Diagnostic, Severity, diagnose
from simt.events import Budget, Status
from simt.kernel_names import kernel_line, plain_name
from simt.launch import LaunchConfig

__all__ = ["CaseRun", "lost_finding", "merged", "run_case"]

# After one of these the other cases would only repeat it, or take as long.
FINAL = frozenset({Verdict.TIMEOUT, Verdict.NOT_SUPPORTED, Verdict.LAUNCH_REJECTED, Verdict.INTERNAL_ERROR})
MOST_LOOPS = 4  # of a text, that a help lists
WEIGHT = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.ADVICE: 2}
UNFINISHED = (Status.STOPPED, Status.BUDGET, Status.NOT_SUPPORTED, Status.REJECTED, Status.BUILD_FAILED)


@dataclass(frozen=True, slots=True)
class CaseRun:
    """What one case gave: its verdict, findings in full, and the run itself when there was one."""

    prepared: Prepared
    config: LaunchConfig
    verdict: Verdict
    diagnostics: tuple[Diagnostic, ...]
    first_bad: tuple[Mapping[str, object], ...] = ()
    result: RunResult | None = None

    @property
    def is_final(self) -> bool:
        """True when running further cases is no use."""
        out_of_budget = self.result is not None and self.result.status is Status.BUDGET
        return self.verdict in FINAL or out_of_budget

    def shown(self, label: str = "") -> CaseResult:
        """The case as a report may show it."""
        case = self.prepared.case
        sizes, bad = (None, ()) if case.hidden else (dict(case.sizes), self.first_bad)
        return CaseResult(label + case.name, sizes, self.verdict, bad, case.hidden)

    def shown_diagnostics(self) -> tuple[Diagnostic, ...]:
        """The findings as a report may show them: of a hidden case what and where, but no sizes and no values."""
        if not self.prepared.case.hidden:
            return self.diagnostics
        return tuple(_redacted(finding) for finding in self.diagnostics)


def run_case(
    device: Device, compiled: Compiled, config: LaunchConfig, prepared: Prepared, exercise: Exercise, budget: Budget
) -> CaseRun:
    """Runs `prepared` and judges what came out; a lost device is a verdict, too."""
    try:
        result = device.run(compiled, config, prepared.arguments, budget)
        check = _check(exercise, result, prepared, config, compiled)
        if check.diagnostics and "writers" in device.capabilities:
            result = device.run(compiled, config, prepared.arguments, budget, want_writers=True)
            check = _check(exercise, result, prepared, config, compiled)
    except DeviceLost as lost:
        verdict = Verdict.TIMEOUT if lost.timed_out else Verdict.INTERNAL_ERROR
        return CaseRun(prepared, config, verdict, (lost_finding(lost, compiled, f"case {prepared.case.name}"),))
    plain = (*_explained(result.diagnostics, check), *check.diagnostics)
    findings = with_declared_types(exercise, compiled, plain)
    if findings == plain:  # a fault's name would put the blame elsewhere
        findings = name_faults(exercise, result, findings, prepared.inputs, prepared.case.sizes, prepared.want)
    return CaseRun(prepared, config, _verdict(result, findings), findings, check.first_bad, result)


def lost_finding(lost: DeviceLost, compiled: Compiled, where: str) -> Diagnostic:
    """What is known of a run whose process is gone: which kernel, in which case, and where its loops are."""
    name = plain_name(compiled.kernel)
    if lost.at_start:
        message = f"the process that should run `{name}` did not start ({where}): {lost}"
        return diagnose("runtime.trap", message, help="this is no fault of the kernel")
    if not lost.timed_out:
        return diagnose("runtime.trap", f"`{name}` ended the process it ran in ({where}): {lost}")
    loops = _loop_lines(compiled.source)
    if loops:
        listed = ", ".join(map(str, loops[:MOST_LOOPS])) + (" and more" if len(loops) > MOST_LOOPS else "")
        help = (
            f"does each loop end (line{'s' * (len(loops) > 1)} {listed})? Look for a condition that no thread changes, a "
            "counter that wraps around, or a flag that another block would have to set"
        )
    else:
        help = "the kernel has no loop of its own: is the launch far larger than the work, or does a function it calls wait?"
    if "printf" in compiled.source:
        help = f"does printf write far too much, such as very wide fields or a line from every thread? If not: {help}"
    line = loops[0] if len(loops) == 1 else kernel_line(compiled.source, name)
    return diagnose(
        "runtime.budget", f"`{name}` gave {lost} ({where}), so the process it ran in was ended", line=line, help=help
    )


def _loop_lines(source: str) -> list[int]:
    """Lines on which a loop begins, comments left out."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/", lambda match: re.sub(r"[^\n]", " ", match[0]), source, flags=re.DOTALL)
    return [number for number, line in enumerate(text.split("\n"), 1) if re.search(r"\b(for|while|goto)\b", line)]


def _explained(findings: Iterable[Diagnostic], check: Check) -> tuple[Diagnostic, ...]:
    """An input that nobody read is worth a warning; beside a wrong output it is the reason, and an error."""
    wrong = any(finding.check.startswith("wrong-result") for finding in check.diagnostics)
    return tuple(
        replace(finding, severity=Severity.ERROR) if wrong and finding.check == "coverage.unread-input" else finding
        for finding in findings
    )


def _check(
    exercise: Exercise, result: RunResult, prepared: Prepared, config: LaunchConfig, compiled: Compiled
) -> Check:
    """Nothing to compare where the kernel did not get to its end."""
    if result.status in UNFINISHED:
        return Check()
    return verify(exercise, result, prepared.want, config, compiled)


def _verdict(result: RunResult, findings: Iterable[Diagnostic]) -> Verdict:
    verdicts = [verdict_of(finding) for finding in findings]
    if result.status in UNFINISHED:
        # Unwritten outputs of a kernel that was ended say nothing about its answer.
        verdicts = [verdict for verdict in verdicts if verdict is not Verdict.WRONG_ANSWER]
    match result.status:
        case Status.BUDGET:
            verdicts.append(Verdict.TIMEOUT)
        case Status.NOT_SUPPORTED:
            verdicts.append(Verdict.NOT_SUPPORTED)
        case Status.BUILD_FAILED:
            verdicts.append(Verdict.BUILD_FAILED)
        case Status.REJECTED:
            verdicts.append(Verdict.LAUNCH_REJECTED)
        case Status.STOPPED if worst(verdicts) is Verdict.PASS:
            verdicts.append(Verdict.RUNTIME_ERROR)
        case Status.OK | Status.FINDINGS if result.blocks_run == 0:
            # Nothing ran, so nothing was checked: that is never clean.
            verdicts.append(Verdict.INTERNAL_ERROR)
    return worst(verdicts)


def _redacted(finding: Diagnostic) -> Diagnostic:
    title = CATALOGUE[finding.check].title
    return Diagnostic(
        finding.check, finding.code, finding.severity, f"{title} (in a hidden case)", finding.line, finding.also_line,
        help="try sizes of your own: 1, a prime, one more than a block",
    )  # fmt: skip


def merged(groups: Iterable[Iterable[Diagnostic]]) -> tuple[Diagnostic, ...]:
    """Findings of several cases, the first of each check and line, errors first, each group's order kept."""
    kept: dict[tuple, Diagnostic] = {}
    for finding in (finding for group in groups for finding in group):
        key = (finding.check, finding.line, finding.also_line)
        known = kept.get(key)
        if known is None:
            kept[key] = finding
        elif WEIGHT[Severity(finding.severity)] < WEIGHT[Severity(known.severity)]:
            kept[key] = finding
        elif len(finding.help) > len(known.help) and known.message == finding.message:
            kept[key] = replace(known, help=finding.help)
    return tuple(sorted(kept.values(), key=lambda finding: WEIGHT[Severity(finding.severity)]))
