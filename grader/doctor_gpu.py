"""What `doctor` says of the GPU: the product as CUDA sees it, and its clocks, partitions and other users as NVML does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from grader.doctor import LIMITED, OK, Finding
from grader.nvml import Facts, NvmlMissing, open_gpu
from grader.timing.trace import Surroundings

if TYPE_CHECKING:
    from grader.devices.cuda import Cuda

__all__ = ["describe", "gpu_finding"]


def gpu_finding(device: Cuda, library: Any = None) -> Finding:
    """The finding on an opened device.

    Args:
        device: as `grader.devices.choose("cuda")` gives it.
        library: stands for `pynvml`; None for the real one.
    """
    try:
        gpu = open_gpu(device.device.pci_bus_id, library)
    except NvmlMissing as missing:
        return Finding(
            "GPU", LIMITED, f"{device.product}, {device.arch}; {missing}",
            "every lesson, also timing; nobody sees whether other processes disturb it",
            "install nvidia-ml-py", {"product": device.product, "arch": device.arch},
        )  # fmt: skip
    import os

    return describe(device.arch, gpu.facts(), gpu.surroundings((os.getpid(),)))


def describe(arch: str, facts: Facts, now: Surroundings) -> Finding:
    """The finding that follows from what NVML says."""
    says = "; ".join(_facts(arch, facts, now))
    plain = {"arch": arch} | asdict(facts) | asdict(now) | {"calibrated": _calibrated(facts)}
    disturbed = list(_disturbances(facts, now))
    if disturbed:
        return Finding(
            "GPU", LIMITED, f"{says}; {', '.join(disturbed)}", "every lesson; speed goals may be not measurable now",
            "measure again when the GPU is yours alone and cool", plain,
        )  # fmt: skip
    if not plain["calibrated"]:
        return Finding(
            "GPU",
            OK,
            f"{says}; not calibrated",
            "",
            "python3 course.py calibrate: shares of the GPU's own limits",
            plain,
        )
    return Finding("GPU", OK, f"{says}; calibrated {plain['calibrated']}", facts=plain)


def _calibrated(facts: Facts) -> str:
    """The date of its calibration, "" where there is none."""
    from grader.timing.calibration import load_calibration

    found = load_calibration(facts.name, facts.driver)
    return found.date if found else ""


def _facts(arch: str, facts: Facts, now: Surroundings) -> Iterator[str]:
    yield f"{facts.name}, {arch}, driver {facts.driver}"
    if facts.memory_bytes:
        yield f"{facts.memory_bytes / 1e9:.0f} GB"
    if now.sm_mhz:
        yield f"SM clock {now.sm_mhz} MHz" + (f" of {facts.max_sm_mhz}" if facts.max_sm_mhz else "")
    if now.temperature is not None:
        yield f"{now.temperature} °C"
    yield f"MIG {facts.mig}"
    yield f"compute mode {facts.compute_mode}"


def _disturbances(facts: Facts, now: Surroundings) -> Iterator[str]:
    if now.throttle:
        yield f"held back by {' and '.join(now.throttle)}"
    if now.foreign:
        yield f"in use by {now.foreign} other process{'es' if now.foreign > 1 else ''}"
    if facts.mig == "on":
        yield "a partition of a GPU that others share"
