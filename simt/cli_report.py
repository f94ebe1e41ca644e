"""A `RunReport` as text for a person and as JSON for a program.

The text without its times is the golden report of tests/simt/kernels.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from simt.arch import ARCHES, arch
from simt.cli_run import LaunchRun, RunReport
from simt.counters import Counters
from simt.diagnostics import Severity, render
from simt.events import ALL_CHECKS, Status
from simt.occupancy import occupancy
from simt.suppress import Suppressed

__all__ = ["digest", "report_json", "report_text", "write_outputs"]

_WORDS = {
    Status.OK: "clean",
    Status.FINDINGS: "findings",
    Status.STOPPED: "stopped by a finding",
    Status.BUDGET: "stopped by a budget",
    Status.NOT_SUPPORTED: "not supported",
    Status.REJECTED: "refused before anything ran",
    Status.BUILD_FAILED: "did not compile",
    Status.UNREADABLE: "nothing ran: a file cannot be read",
}


def digest(array: np.ndarray) -> str:
    """SHA-256 of an array's bytes in C order."""
    return "sha256:" + hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()


def write_outputs(report: RunReport, folder: Path) -> dict[str, Path]:
    """Writes every output to `folder`/NAME.npy; answers with the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = {}
    for name, array in report.outputs.items():
        paths[name] = folder / f"{name}.npy"
        np.save(paths[name], array)
    return paths


# --- JSON


def report_json(report: RunReport, paths: Mapping[str, Path]) -> dict:
    """The report as plain dicts; `resources` at the top are those of the first launch."""
    from simt.cli_model import model_json, moved_bytes

    launches = [_launch_json(run) for run in report.runs]
    model, reason = model_json(report)
    counters = replace(report.counters, **moved_bytes(model, report.arch))
    return {
        "status": str(report.status),
        "file": report.file_name,
        "arch": report.arch,
        "blocks_run": report.blocks_run,
        "blocks_total": report.blocks_total,
        "accesses_checked": report.accesses_checked,
        "checks": sorted(report.checks),
        "checks_off": sorted(ALL_CHECKS - report.checks),
        "outputs": {name: _output_json(array, paths.get(name)) for name, array in report.outputs.items()},
        "counters": _counters_json(counters, report.by_line),
        "diagnostics": [found.to_json() for found in report.diagnostics],
        "suppressed": [row.finding.to_json() | {"reason": row.entry.reason} for row in report.suppressed],
        "resources": launches[0]["resources"] if launches else None,
        "launches": launches,
        "model": model,
        "model_reason": reason,
        "seconds": report.seconds,
        "printed": report.printed,
    }


def _launch_json(run: LaunchRun) -> dict:
    config, result = run.spec.config, run.result
    return {
        "kernel": run.program.kernel,
        "grid": list(config.grid),
        "block": list(config.block),
        "shared_bytes": config.shared_bytes,
        "status": str(result.status),
        "blocks_run": result.blocks_run,
        "blocks_total": result.blocks_total,
        "accesses_checked": result.accesses_checked,
        "counters": _counters_json(result.counters, result.by_line),
        "resources": _resources(run),
        "seconds": dict(result.seconds),
    }


def _output_json(array: np.ndarray, path: Path | None) -> dict:
    return {
        "path": str(path) if path else None,
        "digest": digest(array),
        "dtype": str(array.dtype),
        "shape": list(array.shape),
    }


def _counters_json(total: Counters, by_line: Mapping[int, Counters]) -> dict:
    return {"total": total.to_json(), "lines": {str(line): row.to_json() for line, row in by_line.items() if line}}


def _resources(run: LaunchRun) -> dict:
    """What a block takes, and how many fit on one SM of each architecture with the registers compiled for this one."""
    known, config = run.program.resources, run.spec.config
    if known is None:
        return {"registers": None, "spill_bytes": None, "shared_bytes": config.shared_bytes, "occupancy": {},
                "reason": "nothing was assembled: registers are known for CUDA text only"}  # fmt: skip
    shared = known.static_shared_bytes + config.shared_bytes
    rows = {}
    for row in ARCHES:
        full = occupancy(row, registers=known.registers, shared_bytes=shared, threads=config.block.volume)
        rows[row.name] = {
            "fraction": full.fraction,
            "blocks": full.blocks,
            "warps": full.warps,
            "limited_by": [str(limit) for limit in full.limited_by],
        }
    return {
        "registers": known.registers,
        "registers_of": run.program.arch,
        "spill_bytes": known.spill_store_bytes + known.spill_load_bytes,
        "shared_bytes": shared,
        "occupancy": rows,
    }


# --- text


def report_text(report: RunReport, paths: Mapping[str, Path], *, with_times: bool = True) -> str:
    """The report for a terminal; ends with a line end."""
    parts = [_heading(report)]
    parts += [render(found, report.source, report.file_name) for found in report.diagnostics]
    parts += [_suppressed_text(row) for row in report.suppressed]
    if report.printed:
        parts.append("printed\n" + "\n".join(f"  {line}" for line in report.printed.rstrip("\n").split("\n")))
    if report.runs and report.blocks_run:
        parts.append(_counter_text(report))
        parts.append(_line_text(report))
    if report.outputs:
        parts.append(
            "outputs\n" + "\n".join(_output_line(name, array, paths) for name, array in report.outputs.items())
        )
    if with_times:
        parts += [_resource_text(run) for run in report.runs]
        if report.seconds:
            parts.append("seconds: " + ", ".join(f"{name} {value:.3f}" for name, value in report.seconds.items()))
    return "\n\n".join(part for part in parts if part) + "\n"


def _suppressed_text(row: Suppressed) -> str:
    where = f", line {row.finding.line}" if row.finding.line else ""
    return f"suppressed[{row.finding.code}]: {row.finding.check}{where}: {row.entry.reason}"


def _name(run: LaunchRun) -> str:
    return run.spec.name_expression or run.program.kernel


def _heading(report: RunReport) -> str:
    rows = [
        f"{_name(run)}: grid {run.spec.config.grid}, block {run.spec.config.block}"
        + (f", {run.spec.config.shared_bytes} bytes of dynamic shared memory" if run.spec.config.shared_bytes else "")
        for run in report.runs
    ]
    errors = sum(found.severity is Severity.ERROR for found in report.diagnostics)
    others = len(report.diagnostics) - errors
    counts = [f"{errors} error{'s' * (errors != 1)}"] * bool(errors) + [f"{others} to know"] * bool(others)
    counts += [f"{len(report.suppressed)} suppressed"] * bool(report.suppressed)
    unchecked = report.status is Status.OK and not report.checks
    word = "ran to its end, nothing was checked" if unchecked else _WORDS[report.status]
    rows.append(f"{word}{': ' if counts else ''}{', '.join(counts)}")
    off = ", ".join(sorted(ALL_CHECKS - report.checks)) or "none"
    on = ", ".join(sorted(report.checks)) or "nothing"
    rows.append(
        f"ran {report.blocks_run} of {report.blocks_total} blocks on {report.arch}; {report.accesses_checked} accesses "
        f"checked by {on}; checks off: {off}"
    )
    return "\n".join(rows)


def _counts(counters: Counters) -> dict[str, int]:
    return {name: value for name, value in counters.to_json().items() if value}


def _counter_text(report: RunReport) -> str:
    counts = _counts(report.counters)
    width = max((len(str(value)) for value in counts.values()), default=1)
    return "counters\n" + "\n".join(f"  {value:{width}} {name}" for name, value in counts.items())


def _line_text(report: RunReport) -> str:
    return "by line\n" + "\n".join(
        row for line, counts in report.by_line.items() for row in _line_rows(report, line, counts)
    )


def _line_rows(report: RunReport, line: int, counters: Counters) -> Iterator[str]:
    text = report.source.split("\n")
    yield f"  {line} | {text[line - 1].strip()}" if 0 < line <= len(text) else "  no line of the kernel's file"
    yield "      " + ", ".join(f"{name} {value}" for name, value in _counts(counters).items())


def _output_line(name: str, array: np.ndarray, paths: Mapping[str, Path]) -> str:
    where = f"  {paths[name]}" if name in paths else ""
    return f"  {name}: {array.dtype} {'×'.join(map(str, array.shape))}, {digest(array)[:23]}{where}"


def _resource_text(run: LaunchRun) -> str:
    row = _resources(run)
    if row["registers"] is None:
        return f"resources: {row['reason']}"
    here = row["occupancy"].get(arch(run.program.arch).name)
    full = f"; {here['fraction']:.0%} occupancy, limited by {', '.join(here['limited_by'])}" if here else ""
    return (
        f"resources of {_name(run)}: {row['registers']} registers, {row['spill_bytes']} bytes spilled, "
        f"{row['shared_bytes']} bytes of shared memory a block{full}"
    )
