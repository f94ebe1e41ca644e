"""How much faster than the baseline: asks the device for a timing of the measured case.

The protocol itself (pairs, order, fresh contents) is the device's; a device that cannot tell says None, and the goal
is then not measured.
"""

from __future__ import annotations

from collections.abc import Sequence

from grader.devices.base import Device
from grader.model import TimedKernel, Timing, TimingPair, TimingPlan
from simt.events import Argument

__all__ = ["measure"]

PLAN = TimingPlan()


def measure(
    device: Device,
    baseline: TimedKernel,
    student: TimedKernel,
    arguments: Sequence[Argument],
    plan: TimingPlan = PLAN,
) -> Timing | None:
    """The student's speed-up over `baseline` on `device`; None where it cannot be had."""
    return device.time(TimingPair(baseline, student, tuple(arguments)), plan)
