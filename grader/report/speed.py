"""The words of a timing that every view shares."""

from __future__ import annotations

from grader.model import Basis, Timing
from grader.report.wording import number
from grader.timing.decision import LEAST_PAIRS

__all__ = ["duration_text", "timing_rows", "timing_text"]


def timing_text(timing: Timing) -> str:
    """`2.4x the baseline (2.3 to 2.5), measured for H200`; why there is none, why it rests on little or does not count."""
    if timing.problem:
        return f"not measurable now: {timing.problem}"
    interval = f" ({number(timing.low)} to {number(timing.high)})" if timing.basis is Basis.MEASURED else ""
    words = f"{number(timing.ratio)}x the baseline{interval}, {timing.basis} for {timing.device}"
    if 0 < (pairs := timing.pairs_used + timing.pairs_dropped) < LEAST_PAIRS:
        launch = duration_text(timing.student_ns)
        return f"{words}: a launch of {launch} is so slow that there was time for {pairs} pair{'s' * (pairs > 1)}"
    if timing.suspect:
        return f"{words}; suspect: {timing.suspect}. It counts once somebody has looked at it"
    return f"{words}; borderline, which counts as reached" if timing.borderline else words


def timing_rows(timing: Timing) -> tuple[tuple[str, str], ...]:
    """(label, value) of what a measured timing rests on; empty for an estimate, and where nothing was timed."""
    if timing.basis is not Basis.MEASURED or not timing.student_ns:
        return ()
    rows = [
        ("median launch", f"yours {duration_text(timing.student_ns)}, baseline {duration_text(timing.baseline_ns)}"),
        ("sizes", ", ".join(f"{name} = {size}" for name, size in timing.sizes.items())),
        ("pairs", _pairs(timing)),
        ("clocks", _clocks(timing)),
        ("rate", _rate(timing)),
        ("off on this GPU", ", ".join(f"the goal of {number(limit)}x" for limit in timing.off)),
    ]
    return tuple((label, value) for label, value in rows if value)


def _pairs(timing: Timing) -> str:
    words = f"{timing.pairs_used} used, {timing.pairs_dropped} dropped"
    if timing.rounds > 1:
        words += f", {timing.rounds} rounds"
    return words + (f", {timing.copies} launches each" if timing.copies > 1 else "")


def _clocks(timing: Timing) -> str:
    """`SM 1980 MHz, memory 3201 MHz, held back by power cap`; what is not known is left out."""
    memory = f", memory {timing.memory_mhz:.0f} MHz" if timing.memory_mhz else ""
    held = f", held back by {' and '.join(timing.throttle)}" if timing.throttle else ""
    return f"SM {timing.clock_mhz:.0f} MHz{memory}{held}" if timing.clock_mhz else ""


def _rate(timing: Timing) -> str:
    """`2,410 GB/s, 58 % of what this GPU was measured to reach`; without a calibration, what is missing."""
    if not timing.rate_unit:
        return ""
    share = "; what this GPU reaches at its best has not been measured (calibrate)"
    if timing.share is not None:
        share = f", {100 * timing.share:.0f} % of what this GPU was measured to reach"
    return f"{timing.rate:,.0f} {timing.rate_unit}{share}"


def duration_text(time_ns: float) -> str:
    """`56.2 µs`."""
    for limit, unit in ((1e3, "ns"), (1e6, "µs"), (1e9, "ms")):
        if time_ns < limit:
            return f"{time_ns / limit * 1e3:.3g} {unit}"
    return f"{time_ns / 1e9:.3g} s"
