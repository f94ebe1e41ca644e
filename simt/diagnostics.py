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


_ERROR, _WARNING, _ADVICE = Severity.ERROR, Severity.WARNING, Severity.ADVICE
_ROWS = (
    Check("memcheck.global.read-oob", "MC001", _ERROR, "read outside every buffer in global memory"),
    Check("memcheck.global.write-oob", "MC002", _ERROR, "write outside every buffer in global memory"),
    Check("memcheck.shared.read-oob", "MC003", _ERROR, "read past the block's shared memory"),
    Check("memcheck.shared.write-oob", "MC004", _ERROR, "write past the block's shared memory"),
    Check("memcheck.local.oob", "MC005", _ERROR, "access past a thread's local memory"),
    Check("memcheck.misaligned", "MC006", _ERROR, "address not a multiple of the access size"),
    Check("memcheck.const.oob", "MC007", _ERROR, "read past a constant or parameter"),
    Check("memcheck.readonly", "MC008", _ERROR, "write to memory the kernel may only read"),
    Check("memcheck.null", "MC009", _ERROR, "access through a null pointer"),
    Check("memcheck.atomic-oob", "MC010", _ERROR, "atomic outside every buffer"),
    Check("racecheck.shared.RAW", "RC001", _ERROR, "shared memory read without a barrier after another thread's write"),
    Check("racecheck.shared.WAR", "RC002", _ERROR, "shared memory overwritten without a barrier after another thread's read"),
    Check("racecheck.shared.WAW", "RC003", _ERROR, "shared memory written twice without a barrier between"),
    Check("racecheck.shared.store-vs-atomic", "RC004", _ERROR, "plain store and atomic on one shared word without a barrier"),
    Check("racecheck.shared.intra-warp", "RC005", _WARNING, "lanes of a warp exchange shared data without __syncwarp"),
    Check("racecheck.global.RMW", "RC006", _ERROR, "several threads read, change and write one global word without an atomic"),
    Check("racecheck.global.RW", "RC007", _ERROR, "one thread reads a global word that another writes in the same launch"),
    Check("racecheck.global.WW", "RC008", _ERROR, "two threads write different values to one global word"),
    Check("racecheck.global.atomic-vs-read", "RC009", _ERROR, "plain access to a global word that others update atomically"),
    Check("synccheck.divergent", "SC001", _ERROR, "barrier reached by only part of a block"),
    Check("synccheck.exited-threads", "SC002", _WARNING, "threads exited before a barrier that the others wait at"),
    Check("synccheck.mask", "SC003", _ERROR, "a lane is not in the mask it passes, or a named lane never arrives"),
    Check("shuffle.inactive-source", "SC004", _ERROR, "shuffle reads a lane that does not take part"),
    Check("deadlock.barrier", "SC005", _ERROR, "every warp waits and nothing can change"),
    Check("deadlock.mbarrier-tx", "SC006", _ERROR, "an mbarrier waits for bytes that never come"),
    Check("deadlock.mbarrier-arrivals", "SC007", _ERROR, "an mbarrier waits for arrivals that never come"),
    Check("livelock.intra-warp-lock", "SC008", _WARNING, "a lane spins on a lock that another lane of its warp holds"),
    Check("livelock.spin", "SC009", _ERROR, "a loop waits for a value that nothing will change"),
    Check("synccheck.barrier-operands", "SC010", _ERROR, "barrier number above 15, or a thread count of no whole warps"),
    Check("synccheck.warpgroup", "SC011", _ERROR, "wgmma by less than a whole warpgroup"),
    Check("synccheck.cluster-barrier", "SC012", _ERROR, "barrier of a cluster arrived at and waited at out of turn"),
    Check("synccheck.cluster-start", "SC013", _ERROR, "another block's shared memory used before the cluster met"),
    Check("synccheck.cluster-exit", "SC014", _ERROR, "block gone while others still use its shared memory"),
    Check("deadlock.cluster", "SC015", _ERROR, "the barrier of a cluster waits for warps that never arrive"),
    Check("synccheck.grid", "SC016", _ERROR, "grid synchronised in a launch that is not cooperative"),
    Check("initcheck.global", "IC001", _ERROR, "global memory read before anything wrote it"),
    Check("initcheck.shared", "IC002", _ERROR, "shared memory read before anything wrote it"),
    Check("initcheck.register", "IC003", _ERROR, "a variable is used before it gets a value"),
    Check("initcheck.local", "IC004", _ERROR, "local array read before anything wrote it"),
    Check("coverage.unwritten-output", "CV001", _ERROR, "output elements that no thread wrote"),
    Check("coverage.unread-input", "CV002", _WARNING, "input elements that no thread read"),
    Check("asynccheck.read-before-wait", "AC001", _ERROR, "asynchronous copy read before it was waited for"),
    Check("asynccheck.uncommitted", "AC002", _ERROR, "asynchronous copy waited for without a commit"),
    Check("asynccheck.overwritten", "AC003", _ERROR, "shared memory stored to while an asynchronous copy fills it"),
    Check("asynccheck.misuse", "AC004", _ERROR, "mbarrier or bulk copy used against its rules"),
    Check("asynccheck.proxy-fence", "AC005", _ERROR, "ordinary writes read by a bulk copy without fence.proxy.async"),
    Check("asynccheck.wgmma-registers", "AC006", _ERROR, "registers of a wgmma touched while it is in flight"),
    Check("asynccheck.wgmma-fence", "AC007", _ERROR, "wgmma on registers without a wgmma.fence before it"),
    Check("tensormap.encode", "TM001", _ERROR, "tensor map that the driver would not encode"),
    Check("launch.threads-per-block", "LA001", _ERROR, "more threads in a block than the hardware takes"),
    Check("launch.shared-limit", "LA002", _ERROR, "more shared memory than a block may have"),
    Check("launch.grid-limit", "LA003", _ERROR, "grid dimension out of range"),
    Check("launch.block-limit", "LA004", _ERROR, "block dimension out of range"),
    Check("launch.registers", "LA005", _ERROR, "more registers than a block may have"),
    Check("launch.cluster", "LA006", _ERROR, "cluster size out of range"),
    Check("launch.memory", "LA007", _ERROR, "buffers larger than this machine gives"),
    Check("launch.literal", "LA008", _ERROR, "launch is not a literal the grader reads"),
    Check("launch.file", "LA009", _ERROR, "launch file that does not say what it must"),
    Check("launch.cooperative", "LA010", _ERROR, "cooperative grid larger than what is resident at once"),
    Check("suppress.file", "SU001", _ERROR, "suppression file that cannot be read"),
    Check("suppress.unused", "SU002", _WARNING, "entry of a suppression file that nothing was found for"),
    Check("host.kernel-not-found", "HO001", _ERROR, "no kernel of that name"),
    Check("host.arg-type", "HO002", _ERROR, "argument of another type than the parameter"),
    Check("host.arg-width", "HO003", _WARNING, "argument wider than the parameter"),
    Check("host.arg-count", "HO004", _ERROR, "another number of arguments than parameters"),
    Check("host.non-contiguous", "HO005", _ERROR, "array is not C-contiguous"),
    Check("host.unreadable", "HO006", _ERROR, "file that cannot be read"),
    Check("compile.error", "CO001", _ERROR, "does not compile"),
    Check("compile.warning", "CO002", _WARNING, "the compiler warns"),
    Check("compile.static-shared-limit", "CO003", _ERROR, "static shared memory over 48 KiB"),
    Check("compile.limit", "CO004", _ERROR, "compilation stopped at a limit"),
    Check("compile.uninitialised", "CO005", _WARNING, "the compiler saw a variable used before its value is set"),
    Check("ptx.unsupported", "PX001", _ERROR, "PTX that simt does not run"),
    Check("ptx.invalid", "PX002", _ERROR, "PTX that cannot be read"),
    Check("ptx.policy", "PX003", _ERROR, "PTX that the grader does not accept"),
    Check("source.policy", "SR001", _ERROR, "source text that the grader does not accept"),
    Check("wrong-result", "WR001", _ERROR, "output differs from the reference"),
    Check("wrong-result.nan", "WR002", _ERROR, "output holds NaN or infinity where the reference is finite"),
    Check("wrong-result+int-overflow", "WR003", _ERROR, "a 32-bit product that feeds an address wrapped"),
    Check("input-modified", "WR004", _ERROR, "kernel changed an input"),
    Check("runtime.trap", "RT001", _ERROR, "kernel executed a trap"),
    Check("runtime.assert", "RT002", _ERROR, "device assert failed"),
    Check("runtime.budget", "RT003", _ERROR, "stopped by the instruction or time budget"),
    Check("runtime.stack", "RT004", _ERROR, "call depth or local memory over the limit"),
    Check("runtime.division-by-zero", "RT005", _WARNING, "an integer divided by zero"),
    Check("perf.coalescing", "PF001", _ADVICE, "lanes of a warp touch more sectors than needed"),
    Check("perf.bank-conflict", "PF002", _ADVICE, "lanes of a warp meet in one shared memory bank"),
    Check("perf.divergence", "PF003", _ADVICE, "lanes of a warp take different branches"),
    Check("perf.local-memory", "PF004", _ADVICE, "array or spilled registers live in local memory"),
)  # fmt: skip
CATALOGUE: dict[str, Check] = {row.slug: row for row in _ROWS}


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
