"""What one round of timing read on a device, before any judgement."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from simt.diagnostics import Diagnostic

__all__ = ["CheckedLaunch", "Surroundings", "Trace"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What NVML says of the GPU at one moment; read, never set.

    Attributes:
        sm_mhz, memory_mhz: clocks; None where the driver does not tell.
        temperature: of the chip in °C.
        throttle: reasons why the clock is lower than it could be, by name.
        foreign: processes that use the GPU and are not ours.
    """

    sm_mhz: int | None = None
    memory_mhz: int | None = None
    temperature: int | None = None
    throttle: tuple[str, ...] = ()
    foreign: int = 0


@dataclass(frozen=True, slots=True)
class CheckedLaunch:
    """Outputs of one timed launch of the student's kernel, for the parent to verify.

    Attributes:
        sample: number of its pair in the plan.
        copy: which of the copies that one sample launches.
        outputs: name -> array.
    """

    sample: int
    copy: int
    outputs: Mapping[str, np.ndarray]


@dataclass(frozen=True, slots=True)
class Trace:
    """One round.

    Attributes:
        baseline_ns, student_ns: (n,) float64, time of one launch in each pair.
        baseline_mhz, student_mhz: (n,) float64, SM clock around each launch.
        floor_ns: (m,) float64, times of an empty kernel.
        device: product, `NVIDIA H200`.
        driver: its version.
        uuid: of the GPU.
        l2_bytes, peak_bandwidth: of the device; the latter in bytes a second, 0 where the driver does not tell.
        copies: launches a sample; the times are already divided by it.
        seed: of the plan: order, contents and the choice of checked launches follow from it.
        before, after: surroundings of the round.
        checked: launches to verify.
        findings: guard zones that changed, or what stopped the kernel.
    """

    baseline_ns: np.ndarray
    student_ns: np.ndarray
    baseline_mhz: np.ndarray
    student_mhz: np.ndarray
    floor_ns: np.ndarray
    device: str
    driver: str = ""
    uuid: str = ""
    l2_bytes: int = 0
    peak_bandwidth: float = 0.0
    copies: int = 1
    seed: int = 0
    before: Surroundings = Surroundings()
    after: Surroundings = Surroundings()
    checked: tuple[CheckedLaunch, ...] = ()
    findings: tuple[Diagnostic, ...] = field(default=())

    @property
    def log_ratios(self) -> np.ndarray:
        """(n,) ln(baseline / student)."""
        return np.log(self.baseline_ns / self.student_ns)
