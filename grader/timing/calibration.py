"""What a GPU was measured to do at its best, and the time of each exercise's baseline on it; kept between runs.

`grader calibrate` writes it, a file for each product and driver. A timing is held against it: a baseline far off its
calibrated time says that the GPU is not itself now, and a threshold that does not hold on a GPU decides nothing there.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from simt.nvrtc_cache import cache_folder

__all__ = ["Calibrated", "Calibration", "calibration_path", "load_calibration", "save_calibration"]

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Calibrated:
    """One exercise on one GPU.

    Attributes:
        sizes: of the timed case that it was measured with.
        baseline_ns: median of one launch of the baseline.
        reference: the reference's speed-up, None where the reference was not at hand.
        below: the speed-up of the tier below, where there is one.
        off: thresholds whose margins are too narrow here -> why.
    """

    sizes: Mapping[str, int]
    baseline_ns: float
    reference: float | None = None
    below: float | None = None
    off: Mapping[str, str] = field(default_factory=dict)

    @property
    def thresholds_off(self) -> tuple[float, ...]:
        """The thresholds in `off` as numbers."""
        return tuple(float(limit) for limit in self.off)


@dataclass(frozen=True, slots=True)
class Calibration:
    """One GPU product with one driver.

    Attributes:
        product, driver: as NVML writes them.
        date: ISO date of the measurement.
        copy_gbs: GB/s of a copy, bytes read and written.
        gflops: GFLOP/s of independent fused multiply-adds in float32.
        exercises: by id.
    """

    product: str
    driver: str
    date: str
    copy_gbs: float
    gflops: float
    exercises: Mapping[str, Calibrated] = field(default_factory=dict)

    def of(self, exercise_id: str, sizes: Mapping[str, int]) -> Calibrated | None:
        """What is known of an exercise at these sizes."""
        found = self.exercises.get(exercise_id)
        return found if found and dict(found.sizes) == dict(sizes) else None


def calibration_path(product: str, driver: str) -> Path:
    """`NVIDIA_H200-580.159.04.json` in the cache folder."""
    name = re.sub(r"[^A-Za-z0-9.]+", "_", product) + "-" + re.sub(r"[^A-Za-z0-9.]+", "_", driver or "unknown")
    return cache_folder() / "calibration" / f"{name}.json"


def save_calibration(calibration: Calibration) -> Path:
    """Writes the file, whole or not at all; returns where it is.

    Raises:
        OSError: it cannot be written.
    """
    path = calibration_path(calibration.product, calibration.driver)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    text = json.dumps({"schema": SCHEMA} | asdict(calibration), indent=1, ensure_ascii=False)
    part.write_text(text + "\n", encoding="utf-8")
    part.replace(path)
    return path


def load_calibration(product: str, driver: str) -> Calibration | None:
    """What was stored for this GPU; None where nothing was, or where it is damaged or of another schema."""
    try:
        data = json.loads(calibration_path(product, driver).read_text(encoding="utf-8"))
        if data.pop("schema") != SCHEMA:
            return None
        exercises = {name: Calibrated(**row) for name, row in data.pop("exercises").items()}
        return Calibration(**data, exercises=exercises)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
