"""A bridge to NVIDIA's own tools: Nsight Compute's counters and compute-sanitizer's findings for one launch.

Both are optional. Where a tool is missing, may not read counters or fails, `ToolMissing` says so; nothing is guessed.
Clocks are left as they are (`--clock-control none`).
"""

from __future__ import annotations

import contextlib
import csv
import io
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.ncu_job import write_job
from grader.worker.wire import Launch
from simt.counters import NCU, Counters

__all__ = [
    "CHECKS", "Compared", "SanitizerFinding", "ToolMissing", "compared", "parse_counters", "parse_findings", "profile",
    "require", "sanitize",
]  # fmt: skip

TARGET = Path(__file__).with_name("ncu_target.py")
CHECKS = ("memcheck", "racecheck", "initcheck", "synccheck")
SECONDS = 120.0  # a small launch replayed for some twenty passes takes about five
MOST_FINDINGS = 50
NO_PERMISSION = "ERR_NVGPUCTRPERM"


class ToolMissing(RuntimeError):
    """A tool is not here, or may not do here what it is for."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One counter: simt's value, Nsight's under its metric; None where Nsight gave none."""

    counter: str
    metric: str
    ours: int
    nsight: float | None


@dataclass(frozen=True, slots=True)
class SanitizerFinding:
    """One thing that compute-sanitizer reported.

    Attributes:
        tool: one of `CHECKS`.
        says: its own first line.
        line: of the CUDA text, None where it is not told.
        place: `thread (3,0,0) in block (0,0,0)`, "" where it is not told.
        times: how often the same was reported.
    """

    tool: str
    says: str
    line: int | None
    place: str
    times: int = 1


def require(tool: str) -> str:
    """Where the tool is.

    Raises:
        ToolMissing: it is not on the path.
    """
    found = shutil.which(tool)
    if not found:
        raise ToolMissing(f"{tool} is not on the path; it comes with the CUDA toolkit")
    return found


def profile(launch: Launch, metrics: Iterable[str] = tuple(NCU.values())) -> dict[str, float]:
    """Nsight Compute's value of each metric for one launch, caches emptied before it.

    Raises:
        ToolMissing: there is no ncu, it may not read counters, or it failed.
    """
    # A metric of several counters stands once; `+` joins those of a sum.
    names = sorted({name.strip() for metric in metrics for name in metric.split("+")})
    command = [
        require("ncu"), "--target-processes", "all", "--csv", "--page", "raw", "--cache-control", "all",
        "--clock-control", "none", "--metrics", ",".join(names),
    ]  # fmt: skip
    said = _run(command, launch)
    if NO_PERMISSION in said:
        raise ToolMissing(
            "ncu may not read this GPU's counters; an administrator can allow it "
            "(https://developer.nvidia.com/ERR_NVGPUCTRPERM)"
        )
    values = parse_counters(said)
    if not values:
        raise ToolMissing(f"ncu read no counter: {_last_lines(said)}")
    return values


def sanitize(launch: Launch, tool: str) -> tuple[SanitizerFinding, ...]:
    """What compute-sanitizer's tool reports for one launch.

    Raises:
        ToolMissing: there is no compute-sanitizer, or it did not get to a summary.
    """
    command = [require("compute-sanitizer"), "--tool", tool, "--print-limit", str(MOST_FINDINGS)]
    said = _run(command, launch)
    if "SUMMARY" not in said:
        raise ToolMissing(f"compute-sanitizer {tool} came to no end: {_last_lines(said)}")
    return parse_findings(tool, said)


def _run(command: Sequence[str], launch: Launch) -> str:
    """Both outputs of a tool that watches the launch."""
    with tempfile.TemporaryDirectory(prefix="warpwise-ncu-") as folder:
        job = Path(folder) / "job"
        write_job(job, launch)
        watched = [sys.executable, "-I", str(TARGET), str(TARGET.parents[1]), str(job)]
        return _watch([*command, *watched])


def _watch(command: Sequence[str]) -> str:
    """Both outputs of the command; whatever it started ends with it, an endless kernel's process too."""
    try:
        tool = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise ToolMissing(f"{command[0]} does not start: {error}") from None
    try:
        return tool.communicate(timeout=SECONDS)[0]
    except BaseException as error:
        _kill(tool)
        if isinstance(error, subprocess.TimeoutExpired):
            raise ToolMissing(f"{Path(command[0]).name} took longer than {SECONDS:g} s") from None
        raise


def _kill(tool: subprocess.Popen) -> None:
    """Ends the tool and, where there are process groups, everything that it started."""
    with contextlib.suppress(ProcessLookupError):
        if hasattr(os, "killpg"):
            os.killpg(tool.pid, signal.SIGKILL)
        else:
            tool.kill()
    tool.wait()


def _last_lines(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return " | ".join(lines[-3:])[:400] or "it said nothing"


def parse_counters(said: str) -> dict[str, float]:
    """Metric → value, summed over the launches in ncu's raw CSV page: a row of names, one of units, one a launch.

    What ncu or the program prints around the table is left out.
    """
    lines = said.splitlines()
    start = next((index for index, line in enumerate(lines) if line.startswith('"ID"')), None)
    if start is None:
        return {}
    table = [line for line in lines[start:] if line.startswith('"')]
    rows = list(csv.DictReader(io.StringIO("\n".join(table))))
    totals: dict[str, float] = {}
    for row in rows:
        if not (row.get("ID") or "").strip():  # the row of units
            continue
        for name, text in row.items():
            if name and "__" in name and (value := _number(text)) is not None:
                totals[name] = totals.get(name, 0.0) + value
    return totals


def _number(text: str | None) -> float | None:
    """A number as ncu writes it, with commas between thousands; None for anything else, `n/a` among it."""
    try:
        return float((text or "").replace(",", ""))
    except ValueError:
        return None


def compared(ours: Counters, theirs: Mapping[str, float]) -> tuple[Compared, ...]:
    """Every counter that Nsight has a metric for, in the order of simt's table."""
    rows = []
    for counter, metric in NCU.items():
        parts = [theirs.get(name.strip()) for name in metric.split("+")]
        total = sum(part for part in parts if part is not None) if None not in parts else None
        rows.append(Compared(counter, metric, getattr(ours, counter), total))
    return tuple(rows)


MARK = "========="
# Lines that are no finding: head, summaries, what followed from one, host frames.
NO_FINDING = re.compile(
    r"COMPUTE-SANITIZER|.*SUMMARY|Program hit|Target application|Internal Sanitizer|Saved host|Host Frame"
    r"|Error: process|No attachable"
)
AT_LINE = re.compile(r"\bat .* in .*?:(\d+)(?:\D|$)")
BY_THREAD = re.compile(r"by (thread \([\d,]+\) in block \([\d,]+\))")


def parse_findings(tool: str, said: str) -> tuple[SanitizerFinding, ...]:
    """Findings in compute-sanitizer's text; equal ones (same words and line) are counted together."""
    found: dict[tuple[str, int | None], SanitizerFinding] = {}
    for block in _blocks(said):
        head = _headline(block)
        text = "\n".join(block)
        line, place = AT_LINE.search(text), BY_THREAD.search(text)
        number = int(line.group(1)) if line else None
        key = (head, number)
        earlier = found.get(key)
        times = earlier.times + 1 if earlier else 1
        first = earlier.place if earlier else place.group(1) if place else ""
        found[key] = SanitizerFinding(tool, head, number, first, times)
    return tuple(found.values())


def _blocks(said: str) -> list[list[str]]:
    """The lines of each finding: a headline with one space behind the mark, and what is indented below it."""
    blocks: list[list[str]] = []
    for line in said.splitlines():
        if not line.startswith(MARK):
            continue
        rest = line[len(MARK) :]
        if rest.startswith(" ") and not rest.startswith("  ") and rest.strip():
            blocks.append([rest.strip()])
        elif blocks and rest.strip():
            blocks[-1].append(rest.strip())
    return [block for block in blocks if not NO_FINDING.match(block[0])]


def _headline(block: Sequence[str]) -> str:
    """The first line, without addresses and file names; of a race, both accesses."""
    words = block[0]
    if "Race reported" in words and len(block) > 1:
        words = f"{words} {block[1]}"
    words = re.sub(r" at (?:\S+\+)?0x[0-9a-f]+(?: in \S+:\d+)?", "", words)
    words = re.sub(r" at \S+\([^)]*\)(?:\+0x[0-9a-f]+)?(?: in \S+:\d+)?", "", words)
    return re.sub(r"\s+", " ", words).strip()
