"""`calibrate`: what this GPU reaches, each exercise's baseline and the margins of its thresholds; kept for later timings."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from grader.commands.checking import find_exercise
from grader.commands.status import Refusal, Status
from grader.console import Output

if TYPE_CHECKING:
    from grader.devices.base import Device
    from grader.timing_calibrate import Limits, Margin

__all__ = ["NAMES", "add", "run"]

NAMES = ("calibrate",)


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("calibrate", help="baseline times and threshold margins of this GPU")
    parser.add_argument("--exercise", metavar="ID", action="append", help="only this exercise; may be given again")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Measures and stores; not supported where there is no GPU that times."""
    from grader.devices import DeviceMissing
    from grader.timing.lock import GpuBusy
    from grader.worker.host import WorkerDevice

    device = WorkerDevice("cuda")
    try:
        device.start()
    except DeviceMissing as missing:
        raise Refusal(
            f"there is no GPU to calibrate: {missing}",
            "on the simulator speed is estimated and needs no calibration; `doctor` says what this machine has",
            Status.NOT_SUPPORTED,
        ) from missing
    try:
        return calibrate(device, arguments.exercise or (), out)
    except GpuBusy as busy:
        raise Refusal(f"the GPU cannot be had for this alone: {busy}", "try again later", Status.NOT_PASSED) from busy
    finally:
        device.close()


def calibrate(device: Device, only: tuple[str, ...] | list[str], out: Output) -> Status:
    """Prints a line for each exercise as it is measured, then stores all of them; NOT_PASSED where one failed.

    Args:
        device: one that times.
        only: ids of exercises; all of the course when empty. What was stored of the others is kept.
        out: where it is shown.
    """
    from dataclasses import replace

    from grader.exercises import all_exercises
    from grader.progress import course_folder
    from grader.timing.calibration import load_calibration, save_calibration
    from grader.timing_calibrate import calibration_of, device_limits, margins

    rows = [find_exercise(name) for name in only] or [row for row in all_exercises() if row.lesson != "selftest"]
    with out.working("measuring what this GPU reaches"):
        limits = device_limits(device)
    _show_limits(limits, out)
    found: list[Margin] = []
    for margin in margins(device, rows, course_folder() / "solutions"):
        found.append(margin)
        _show(margin, out)
    calibration = calibration_of(limits, found)
    earlier = load_calibration(limits.product, limits.driver) if only else None
    if earlier:
        calibration = replace(calibration, exercises={**earlier.exercises, **calibration.exercises})
    out.say(f"stored in {save_calibration(calibration)}")
    failed = [margin for margin in found if margin.thresholds and not margin.baseline_ns]
    return Status.NOT_PASSED if failed else Status.PASSED


def _show_limits(limits: Limits, out: Output) -> None:
    out.emit({"limits": asdict(limits)})
    out.say(
        f"{limits.product}, driver {limits.driver or 'unknown'}: a copy {limits.copy_gbs:,.0f} GB/s, multiply-adds "
        f"{limits.gflops:,.0f} GFLOP/s, an empty launch {limits.floor_ns / 1e3:.3g} µs, SM clock {limits.clock_mhz:.0f} MHz"
    )


def _show(margin: Margin, out: Output) -> None:
    out.emit(asdict(margin) | {"off": {f"{limit:g}": why for limit, why in margin.off.items()}})
    out.say(f"{margin.exercise_id}: {margin_text(margin)}")


def margin_text(margin: Margin) -> str:
    """`baseline 432 µs, reference 1.56x, naive 1x; goal of 1.25x holds`."""
    from grader.report.speed import duration_text

    if not margin.baseline_ns:
        return margin.note
    words = [f"baseline {duration_text(margin.baseline_ns)}"]
    words += [f"reference {margin.reference:.3g}x"] if margin.reference is not None else []
    words += [f"naive {margin.below:.3g}x"] if margin.below is not None else []
    goals = [
        f"goal of {limit:g}x is off here: {margin.off[limit]}"
        if limit in margin.off
        else f"goal of {limit:g}x {_holds(margin)}"
        for limit in margin.thresholds
    ] or ["no speed goal"]
    return "; ".join([", ".join(words), *goals, *([margin.note] if margin.note else [])])


def _holds(margin: Margin) -> str:
    return "holds" if margin.reference is not None else "stays, unchecked: there is no reference at hand"
