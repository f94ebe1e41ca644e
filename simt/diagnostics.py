"""Findings as values: what went wrong, where, which lanes, and what to do next.

A student's mistake is a `Diagnostic`, never an exception. Every `check` slug that can be raised stands in
`CATALOGUE` with its short stable code and its severity; `diagnose` is the only way to make one.
"""

from __future__ import annotations

import enum
from dataclasses import asdict, dataclass

__all__ = ["CATALOGUE", "Check", "Diagnostic", "Severity", "diagnose", "render"]


class Severity(enum.StrEnum):
    """How much a finding weighs: an error refuses an answer, a warning or advice never does."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class Check:
    """A line of the catalogue: one thing that can be found."""

    slug: str
    code: str
    severity: Severity
    title: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding, equal by value.

    Attributes:
        check: slug in the catalogue, `memcheck.global.read-oob`.
        code: short stable code, `MC001`.
        severity: error, warning or advice.
        message: one sentence with the values.
        line: 1-based line of the student's CUDA text, or None when no line applies.
        also_line: the second place (the other access of a race, the exit before a barrier).
        block: (x, y, z) of the block, or None.
        lanes: lanes of one warp, 0..31, that are concerned.
        warp: the warp inside the block those lanes belong to, or None.
        address: first byte address concerned, or None.
        help: the next step.
    """

    check: str
    code: str
    severity: Severity
    message: str
    line: int | None = None
    also_line: int | None = None
    block: tuple[int, int, int] | None = None
    lanes: tuple[int, ...] = ()
    warp: int | None = None
    address: int | None = None
    help: str = ""

    def to_json(self) -> dict:
        """A plain dict with the field names of the contract."""
        return asdict(self) | {"severity": str(self.severity)}


def _rows() -> tuple[Check, ...]:
    error, warning, advice = Severity.ERROR, Severity.WARNING, Severity.ADVICE
    return (
        Check("memcheck.global.read-oob", "MC001", error, "read outside every buffer in global memory"),
        Check("memcheck.global.write-oob", "MC002", error, "write outside every buffer in global memory"),
        Check("memcheck.shared.read-oob", "MC003", error, "read past the block's shared memory"),
        Check("memcheck.shared.write-oob", "MC004", error, "write past the block's shared memory"),
        Check("memcheck.local.oob", "MC005", error, "access past a thread's local memory"),
        Check("memcheck.misaligned", "MC006", error, "address not a multiple of the access size"),
        Check("memcheck.const.oob", "MC007", error, "read past a constant or parameter"),
        Check("memcheck.readonly", "MC008", error, "write to memory the kernel may only read"),
        Check("memcheck.null", "MC009", error, "access through a null pointer"),
        Check("memcheck.atomic-oob", "MC010", error, "atomic outside every buffer"),
        Check("racecheck.shared.RAW", "RC001", error, "shared memory read without a barrier after another thread's write"),
        Check("racecheck.shared.WAR", "RC002", error, "shared memory overwritten without a barrier after another thread's read"),
        Check("racecheck.shared.WAW", "RC003", error, "shared memory written twice without a barrier between"),
        Check("racecheck.shared.store-vs-atomic", "RC004", error, "plain store and atomic on one shared word without a barrier"),
        Check("racecheck.shared.intra-warp", "RC005", warning, "lanes of a warp exchange shared data without __syncwarp"),
        Check("racecheck.global.RMW", "RC006", error, "several threads read, change and write one global word without an atomic"),
        Check("racecheck.global.RW", "RC007", error, "one thread reads a global word that another writes in the same launch"),
        Check("racecheck.global.WW", "RC008", error, "two threads write different values to one global word"),
        Check("racecheck.global.atomic-vs-read", "RC009", error, "plain access to a global word that others update atomically"),
        Check("synccheck.divergent", "SC001", error, "barrier reached by only part of a block"),
        Check("synccheck.exited-threads", "SC002", warning, "threads exited before a barrier that the others wait at"),
        Check("synccheck.mask", "SC003", error, "a lane is not in the mask it passes, or a named lane never arrives"),
        Check("shuffle.inactive-source", "SC004", error, "shuffle reads a lane that does not take part"),
        Check("deadlock.barrier", "SC005", error, "every warp waits and nothing can change"),
        Check("deadlock.mbarrier-tx", "SC006", error, "an mbarrier waits for bytes that never come"),
        Check("deadlock.mbarrier-arrivals", "SC007", error, "an mbarrier waits for arrivals that never come"),
        Check("livelock.intra-warp-lock", "SC008", warning, "a lane spins on a lock that another lane of its warp holds"),
        Check("livelock.spin", "SC009", error, "a loop waits for a value that nothing will change"),
        Check("synccheck.barrier-operands", "SC010", error, "barrier number above 15, or a thread count of no whole warps"),
        Check("synccheck.warpgroup", "SC011", error, "wgmma by less than a whole warpgroup"),
        Check("synccheck.cluster-barrier", "SC012", error, "barrier of a cluster arrived at and waited at out of turn"),
        Check("synccheck.cluster-start", "SC013", error, "another block's shared memory used before the cluster met"),
        Check("synccheck.cluster-exit", "SC014", error, "block gone while others still use its shared memory"),
        Check("deadlock.cluster", "SC015", error, "the barrier of a cluster waits for warps that never arrive"),
        Check("synccheck.grid", "SC016", error, "grid synchronised in a launch that is not cooperative"),
        Check("initcheck.global", "IC001", error, "global memory read before anything wrote it"),
        Check("initcheck.shared", "IC002", error, "shared memory read before anything wrote it"),
        Check("initcheck.register", "IC003", error, "a variable is used before it gets a value"),
        Check("initcheck.local", "IC004", error, "local array read before anything wrote it"),
        Check("coverage.unwritten-output", "CV001", error, "output elements that no thread wrote"),
        Check("coverage.unread-input", "CV002", warning, "input elements that no thread read"),
        Check("asynccheck.read-before-wait", "AC001", error, "asynchronous copy read before it was waited for"),
        Check("asynccheck.uncommitted", "AC002", error, "asynchronous copy waited for without a commit"),
        Check("asynccheck.overwritten", "AC003", error, "shared memory stored to while an asynchronous copy fills it"),
        Check("asynccheck.misuse", "AC004", error, "mbarrier or bulk copy used against its rules"),
        Check("asynccheck.proxy-fence", "AC005", error, "ordinary writes read by a bulk copy without fence.proxy.async"),
        Check("asynccheck.wgmma-registers", "AC006", error, "registers of a wgmma touched while it is in flight"),
        Check("asynccheck.wgmma-fence", "AC007", error, "wgmma on registers without a wgmma.fence before it"),
        Check("tensormap.encode", "TM001", error, "tensor map that the driver would not encode"),
        Check("launch.threads-per-block", "LA001", error, "more threads in a block than the hardware takes"),
        Check("launch.shared-limit", "LA002", error, "more shared memory than a block may have"),
        Check("launch.grid-limit", "LA003", error, "grid dimension out of range"),
        Check("launch.block-limit", "LA004", error, "block dimension out of range"),
        Check("launch.registers", "LA005", error, "more registers than a block may have"),
        Check("launch.cluster", "LA006", error, "cluster size out of range"),
        Check("launch.memory", "LA007", error, "buffers larger than this machine gives"),
        Check("launch.literal", "LA008", error, "launch is not a literal the grader reads"),
        Check("launch.file", "LA009", error, "launch file that does not say what it must"),
        Check("launch.cooperative", "LA010", error, "cooperative grid larger than what is resident at once"),
        Check("suppress.file", "SU001", error, "suppression file that cannot be read"),
        Check("suppress.unused", "SU002", warning, "entry of a suppression file that nothing was found for"),
        Check("host.kernel-not-found", "HO001", error, "no kernel of that name"),
        Check("host.arg-type", "HO002", error, "argument of another type than the parameter"),
        Check("host.arg-width", "HO003", warning, "argument wider than the parameter"),
        Check("host.arg-count", "HO004", error, "another number of arguments than parameters"),
        Check("host.non-contiguous", "HO005", error, "array is not C-contiguous"),
        Check("host.unreadable", "HO006", error, "file that cannot be read"),
        Check("compile.error", "CO001", error, "does not compile"),
        Check("compile.warning", "CO002", warning, "the compiler warns"),
        Check("compile.static-shared-limit", "CO003", error, "static shared memory over 48 KiB"),
        Check("compile.limit", "CO004", error, "compilation stopped at a limit"),
        Check("compile.uninitialised", "CO005", warning, "the compiler saw a variable used before its value is set"),
        Check("ptx.unsupported", "PX001", error, "PTX that simt does not run"),
        Check("ptx.invalid", "PX002", error, "PTX that cannot be read"),
        Check("ptx.policy", "PX003", error, "PTX that the grader does not accept"),
        Check("source.policy", "SR001", error, "source text that the grader does not accept"),
        Check("wrong-result", "WR001", error, "output differs from the reference"),
        Check("wrong-result.nan", "WR002", error, "output holds NaN or infinity where the reference is finite"),
        Check("wrong-result+int-overflow", "WR003", error, "a 32-bit product that feeds an address wrapped"),
        Check("input-modified", "WR004", error, "kernel changed an input"),
        Check("runtime.trap", "RT001", error, "kernel executed a trap"),
        Check("runtime.assert", "RT002", error, "device assert failed"),
        Check("runtime.budget", "RT003", error, "stopped by the instruction or time budget"),
        Check("runtime.stack", "RT004", error, "call depth or local memory over the limit"),
        Check("runtime.division-by-zero", "RT005", warning, "an integer divided by zero"),
        Check("perf.coalescing", "PF001", advice, "lanes of a warp touch more sectors than needed"),
        Check("perf.bank-conflict", "PF002", advice, "lanes of a warp meet in one shared memory bank"),
        Check("perf.divergence", "PF003", advice, "lanes of a warp take different branches"),
        Check("perf.local-memory", "PF004", advice, "array or spilled registers live in local memory"),
    )


CATALOGUE: dict[str, Check] = {row.slug: row for row in _rows()}


def diagnose(check: str, message: str, **fields) -> Diagnostic:
    """A `Diagnostic` with the code and severity that the catalogue gives `check`."""
    row = CATALOGUE[check]
    return Diagnostic(check, row.code, row.severity, message, **fields)


def render(finding: Diagnostic, source: str = "", name: str = "kernel") -> str:
    """The finding as text with its source line, in the shape of the style guide."""
    lines = [f"{finding.severity}[{finding.code}]: {finding.message}"]
    where = [f"line {finding.line}"] if finding.line else []
    if finding.block is not None:
        where.append("block ({},{},{})".format(*finding.block))
    if finding.lanes:
        where.append(_lanes(finding.lanes) + (f" of warp {finding.warp}" if finding.warp is not None else ""))
    if where:
        lines.append(f"  --> {name}, " + ", ".join(where))
    text = source.split("\n")
    for number in (finding.line, finding.also_line):
        if number and 0 < number <= len(text):
            lines.append(f"  {number} | {text[number - 1]}")
    if finding.help:
        lines.append(f"  help: {finding.help}")
    return "\n".join(lines)


def _lanes(lanes: tuple[int, ...]) -> str:
    """Lanes as ranges: `lanes 0-7, 9`."""
    runs: list[list[int]] = []
    for lane in sorted(lanes):
        if runs and lane == runs[-1][1] + 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    text = ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
    return ("lane " if len(lanes) == 1 else "lanes ") + text
