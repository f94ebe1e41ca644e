"""A `RunReport` as SARIF 2.1.0, which code hosts and editors show beside the lines concerned.

Source of the format: OASIS, Static Analysis Results Interchange Format (SARIF) Version 2.1.0, 27 March 2020; the sections
are named where a rule of theirs decides something.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from simt.cli_run import RunReport
from simt.diagnostics import CATALOGUE, Check, Diagnostic, Severity
from simt.suppress import Suppression

__all__ = ["sarif"]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"
HELP = "docs/diagnostics.md"
# Section 3.27.10, "level property".
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "note"}


def sarif(report: RunReport, kernel: Path) -> dict:
    """The log of one run.

    Args:
        kernel: the file that was run, as the command got it; a relative path stays one, under `%SRCROOT%`.
    """
    found: list[tuple[Diagnostic, Suppression | None]] = [(finding, None) for finding in report.diagnostics]
    found += [(row.finding, row.entry) for row in report.suppressed]
    rules = sorted({finding.check for finding, _ in found}, key=lambda slug: CATALOGUE[slug].code)
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "simt", "rules": [_rule(CATALOGUE[slug]) for slug in rules]}},
                "columnKind": "utf16CodeUnits",
                "artifacts": [{"location": _artifact(kernel), "sourceLanguage": "cuda"}],
                "invocations": [
                    {"executionSuccessful": report.exit_status in (0, 1), "exitCode": report.exit_status}
                ],
                "results": [_result(finding, entry, rules, kernel) for finding, entry in found],
                "properties": {
                    "arch": report.arch,
                    "blocksRun": report.blocks_run,
                    "blocksTotal": report.blocks_total,
                    "accessesChecked": report.accesses_checked,
                    "checks": sorted(report.checks),
                },
            }
        ],
    }  # fmt: skip


def _rule(row: Check) -> dict:
    return {
        "id": row.code,
        "name": row.slug,
        "shortDescription": {"text": row.title},
        "helpUri": f"{HELP}#{row.code.lower()}",
        "defaultConfiguration": {"level": _LEVELS[row.severity]},
    }


def _result(finding: Diagnostic, entry: Suppression | None, rules: list[str], kernel: Path) -> dict:
    text = f"{finding.message}. {finding.help}" if finding.help else finding.message
    result = {
        "ruleId": finding.code,
        "ruleIndex": rules.index(finding.check),
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [_location(kernel, finding.line)],
        "partialFingerprints": {"checkAndLine/v1": f"{finding.code}:{finding.line or 0}:{finding.also_line or 0}"},
    }
    if finding.also_line:
        result["relatedLocations"] = [
            {"id": 1, "message": {"text": "the other place"}, **_location(kernel, finding.also_line)}
        ]
    where = {name: value for name, value in _place(finding).items() if value not in (None, [])}
    if where:
        result["properties"] = where
    if entry is not None:  # section 3.27.23, "suppressions property"
        result["suppressions"] = [{"kind": "external", "status": "accepted", "justification": entry.reason}]
    return result


def _place(finding: Diagnostic) -> dict:
    block = list(finding.block) if finding.block is not None else None
    return {"block": block, "warp": finding.warp, "lanes": list(finding.lanes), "address": finding.address}


def _location(kernel: Path, line: int | None) -> dict:
    physical: dict = {"artifactLocation": _artifact(kernel)}
    if line:
        physical["region"] = {"startLine": line}
    return {"physicalLocation": physical}


def _artifact(kernel: Path) -> dict:
    """Section 3.4: a URI; relative ones start where the tool was run."""
    if kernel.is_absolute() and not kernel.is_relative_to(Path.cwd()):
        return {"uri": kernel.as_uri()}
    relative = kernel.relative_to(Path.cwd()) if kernel.is_absolute() else kernel
    return {"uri": quote(relative.as_posix()), "uriBaseId": "%SRCROOT%"}
