"""The parts of the timing's acceptance, each a function of the moment at which it has to be done."""

from __future__ import annotations

import itertools
import shutil
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date
from pathlib import Path

import numpy as np

from grader.devices import Device, choose
from grader.devices.cuda_timing import PairTimer
from grader.model import TimingPlan
from grader.timing.decision import MARGIN, Decision, decide, disturbance
from grader.timing.rounds import judge_rounds
from grader.timing.statistics import statistics_of
from grader.timing.trace import Trace
from tests.golden.timing_course import attacks, course, profiler
from tests.golden.timing_kernels import WORKLOADS, Workload, pair_of

__all__ = [
    "aa_idle",
    "aa_neighbour",
    "attacks",
    "course",
    "durations",
    "limits",
    "machine",
    "profiler",
    "reversed",
    "slower_idle",
    "slower_neighbour",
    "threshold",
]

ROUNDS_A_TIMER = 10  # then modules are loaded and buffers allocated anew


def machine(end: float) -> dict:
    """GPU, driver, versions, what NVML tells."""
    import cupy

    from grader.compile import compiler_version
    from grader.nvml import NvmlMissing, gpus

    device = choose("cuda")
    try:
        nvml = [{"facts": asdict(gpu.facts()) | {"uuid": ""}, "now": asdict(gpu.surroundings())} for gpu in gpus()]
    except NvmlMissing as missing:
        nvml = [{"missing": str(missing)}]
    return {
        "gpu": device.product, "driver": device.driver, "cupy": cupy.__version__, "numpy": np.__version__,
        "nvrtc": compiler_version(), "ncu": _version("ncu"), "compute_sanitizer": _version("compute-sanitizer"),
        "recorded": date.today().isoformat(), "seen_as_own": asdict(device.surroundings()), "nvml": nvml,
    }  # fmt: skip


def _version(tool: str) -> str:
    if not shutil.which(tool):
        return "none"
    said = subprocess.run([tool, "--version"], capture_output=True, text=True).stdout.strip().splitlines()
    return said[-1] if said else "unknown"


class _Timers:
    """Rounds of one pair of workloads; the timer is made anew from time to time."""

    def __init__(self, device: Device):
        self._device = device
        self._timers: dict[tuple[Workload, Workload], list] = {}
        self._seeds = itertools.count(1)

    def round(self, baseline: Workload, student: Workload) -> Trace:
        """One round of 40 pairs."""
        kept = self._timers.get((baseline, student))
        if kept is None or kept[1] == ROUNDS_A_TIMER:
            self._timers.pop((baseline, student), None)
            self._device.cp.get_default_memory_pool().free_all_blocks()
            kept = self._timers[baseline, student] = [
                PairTimer(self._device, pair_of(self._device, baseline, student)),
                0,
            ]
        kept[1] += 1
        return kept[0].run(TimingPlan(seed=next(self._seeds)))


def _figures(trace: Trace) -> dict:
    """What a round says, beside what other statistics would make of it."""
    statistics = statistics_of([trace])
    baseline, student = trace.baseline_ns, trace.student_ns
    return {
        "ratio": round(statistics.ratio, 5), "low": round(statistics.low, 5), "high": round(statistics.high, 5),
        "mean_of_means": round(float(baseline.mean() / student.mean()), 5),
        "median_of_medians": round(float(np.median(baseline) / np.median(student)), 5),
        "baseline_us": round(statistics.baseline_ns / 1e3, 3), "student_us": round(statistics.student_ns / 1e3, 3),
        "floor_us": round(statistics.floor_ns / 1e3, 3), "copies": statistics.copies,
        "clock_mhz": round(statistics.clock_mhz), "used": statistics.used, "dropped": statistics.dropped,
        "foreign": max(trace.before.foreign, trace.after.foreign),
        "throttle": sorted({*trace.before.throttle, *trace.after.throttle}),
        "problem": disturbance([trace], statistics), "findings": [finding.message for finding in trace.findings],
    }  # fmt: skip


def _in_turn(counts: dict[str, int], end: float) -> Iterator[str]:
    """Names so that all get their share whenever the time ends, each as often as its count."""
    total = sum(counts.values())
    done: dict[str, int] = defaultdict(int)
    for _ in range(total):
        if time.monotonic() > end:
            return
        name = min(counts, key=lambda name: (done[name] + 1) / counts[name])
        done[name] += 1
        yield name


def _aa(counts: dict[str, int], end: float) -> dict:
    """The same source as two modules, again and again."""
    timers, rows, traces = _Timers(choose("cuda")), [], defaultdict(list)
    for name in _in_turn(counts, end):
        trace = timers.round(WORKLOADS[name], WORKLOADS[name])
        rows.append({"kernel": name} | _figures(trace))
        traces[name].append((trace.baseline_ns, trace.student_ns))
    return {
        "summary": {name: _spread([row for row in rows if row["kernel"] == name]) for name in counts},
        "runs": rows,
        "traces": traces,
    }


def _spread(rows: list[dict]) -> dict:
    """How far equal kernels were from 1."""
    if not rows:
        return {"runs": 0}
    off = np.abs(np.array([row["ratio"] for row in rows]) - 1)
    return {
        "runs": len(rows),
        "min": min(row["ratio"] for row in rows), "max": max(row["ratio"] for row in rows),
        "over_2_percent": int((off > 0.02).sum()), "over_5_percent": int((off > 0.05).sum()),
        "fails_at_1": sum(decide(row["low"], row["high"], 1.0) is Decision.FAIL for row in rows),
        "not_measurable": sum(bool(row["problem"]) for row in rows),
        "worst_mean_of_means": max(abs(row["mean_of_means"] - 1) for row in rows),
    }  # fmt: skip


def aa_idle(end: float) -> dict:
    """Equal kernels on an idle GPU."""
    return _aa({"copy": 120, "product": 50, "copy_small": 50, "nothing": 30}, end)


def aa_neighbour(end: float) -> dict:
    """Equal kernels beside a process that copies."""
    return _aa({"copy": 60, "product": 30, "copy_small": 30}, end)


def _tuned(timers: _Timers, base: Workload, first: int, wanted: float) -> tuple[Workload, float]:
    """The workload that takes `wanted` times as long as `base`, and how much longer it did take."""
    work = first
    for _ in range(4):
        slower = 1 / np.median([statistics_of([timers.round(base, base.more(work))]).ratio for _ in range(2)])
        if abs(slower - wanted) < 0.004:
            break
        added = max(slower - 1, 1e-3)
        work = base.work + int((work - base.work) * (wanted - 1) / added)
    final = base.more(work)
    return final, float(1 / np.median([statistics_of([timers.round(base, final)]).ratio for _ in range(3)]))


SLOWER = {"more bytes": ("copy", 3_400_000), "more dependent multiply-adds": ("chain", 1100)}


def _slower(count: int, end: float) -> dict:
    """Kernels that take 1.1 times as long, held to T = 1."""
    timers, rows = _Timers(choose("cuda")), []
    tuned = {
        name: (WORKLOADS[base], *_tuned(timers, WORKLOADS[base], work, 1.1)) for name, (base, work) in SLOWER.items()
    }
    for name in _in_turn(dict.fromkeys(tuned, count), end):
        base, student, _ = tuned[name]
        outcome = judge_rounds(lambda fresh, base=base, student=student: timers.round(base, student), [1.0])
        first = statistics_of(outcome.traces[:1])
        rows.append({
            "variant": name, "decision": _decision(outcome, 1.0), "rounds": len(outcome.traces),
            "without_foreign_rule": str(decide(first.low, first.high, 1.0)),
            "problem": outcome.problem,
        } | _figures(outcome.traces[0]))  # fmt: skip
    summary = {
        name: {"takes": round(takes, 4)} | _counted(row["decision"] for row in rows if row["variant"] == name)
        | {f"first round {k}": v for k, v in _counted(r["without_foreign_rule"] for r in rows if r["variant"] == name).items()}
        for name, (_, _, takes) in tuned.items()
    }  # fmt: skip
    return {"summary": summary, "runs": rows}


def _decision(outcome, threshold: float) -> str:
    if outcome.problem:
        return "not measurable"
    return str(decide(outcome.statistics.low, outcome.statistics.high, threshold))


def _counted(words) -> dict[str, int]:
    counts: dict[str, int] = defaultdict(int)
    for word in words:
        counts[word] += 1
    return dict(counts)


def slower_idle(end: float) -> dict:
    """Slower kernels on an idle GPU."""
    return _slower(60, end)


def slower_neighbour(end: float) -> dict:
    """Slower kernels beside a process that copies."""
    return _slower(30, end)


def threshold(end: float) -> dict:
    """A kernel whose true ratio is the threshold never fails."""
    timers = _Timers(choose("cuda"))
    naive, tiled = WORKLOADS["product_naive"], WORKLOADS["product"]
    true = float(np.median([statistics_of([timers.round(naive, tiled)]).ratio for _ in range(7)]))
    rows = []
    for _ in range(40):
        if time.monotonic() > end:
            break
        outcome = judge_rounds(lambda fresh: timers.round(naive, tiled), [true])
        rows.append({"decision": _decision(outcome, true)} | _figures(outcome.traces[0]))
    return {
        "summary": {"threshold": true, "held_to": MARGIN * true} | _counted(r["decision"] for r in rows),
        "runs": rows,
    }


def reversed(end: float) -> dict:
    """Both arms exchanged give the reciprocal."""
    timers = _Timers(choose("cuda"))
    copy, chain = WORKLOADS["copy"], WORKLOADS["chain"]
    pairs = {
        "naive and tiled product": (WORKLOADS["product_naive"], WORKLOADS["product"]),
        "copy and more bytes": (copy, copy.more(8_000_000)),
        "chain and a longer one": (chain, chain.more(1500)),
    }
    rows = []
    for name in _in_turn(dict.fromkeys(pairs, 6), end):
        one, other = pairs[name]
        forth, back = (statistics_of([timers.round(*both)]).ratio for both in ((one, other), (other, one)))
        rows.append({"pair": name, "forth": round(forth, 5), "back": round(back, 5), "product": round(forth * back, 5)})
    return {
        "summary": {"worst": max((abs(row["product"] - 1) for row in rows), default=None), "pairs": len(rows)},
        "runs": rows,
    }


# Rounds of dependent multiply-adds for about so many microseconds on an H200.
DURATIONS = {"5": None, "50": 300, "500": 4000, "5000": 40_000, "50000": 400_000}


def durations(end: float) -> dict:
    """Equal kernels from 5 µs to 50 ms."""
    timers, rows = _Timers(choose("cuda")), []
    for name in [*DURATIONS, *DURATIONS]:
        if time.monotonic() > end:
            break
        work = DURATIONS[name]
        one = WORKLOADS["copy_small"] if work is None else WORKLOADS["chain"].more(work)
        rows.append({"about_us": name} | _figures(timers.round(one, one)))
    return {"summary": {row["about_us"]: (row["baseline_us"], row["ratio"]) for row in rows}, "runs": rows}


def limits(end: float) -> dict:
    """The device at its best, and every exercise's margins."""
    from grader.exercises import all_exercises
    from grader.timing_calibrate import device_limits, margins

    device = choose("cuda")
    found = asdict(device_limits(device))
    rows = []
    for margin in margins(device, all_exercises(), Path(__file__).resolve().parents[2] / "solutions"):
        rows.append(asdict(margin))
        if time.monotonic() > end:
            break
    shown = {row["exercise_id"]: [row["baseline_ns"], row["reference"], row["below"], row["note"]] for row in rows}
    return {"summary": found | shown, "limits": found, "margins": rows}
