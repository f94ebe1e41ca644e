"""The `model` of `simt run --json`: estimated time and bound of what ran, on each GPU that `simt.gpus` knows.

A few blocks run once more for it, on copies of the arguments. Sizes of a run are small; times at full size are what
`simt estimate` is for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simt.cli_run import LaunchRun, RunReport
from simt.events import Argument, Status
from simt.gpus import GPUS
from simt.program import Program
from simt.runner.estimating import LaunchEstimate
from simt.tensor_map import TensorMap

__all__ = ["model_json"]

MOST_BYTES = 256 << 20  # of arguments that are copied
OF_ARCH = {
    "sm_75": "t4", "sm_80": "a100-80", "sm_86": "rtx3090", "sm_89": "rtx4090", "sm_90": "h200", "sm_100": "b200",
}  # fmt: skip
NOT_CLEAN = "an estimate is made of a run that came to its end"
TOO_LARGE = f"the arguments take more than {MOST_BYTES >> 20} MiB; `simt estimate` takes any size"


def model_json(report: RunReport) -> tuple[dict | None, str | None]:
    """(GPU's id → its estimate of all launches together, None), or (None, why there is none)."""
    if report.status not in (Status.OK, Status.FINDINGS):
        return None, NOT_CLEAN
    if any(
        isinstance(a.value, np.ndarray) and a.value.nbytes > MOST_BYTES for run in report.runs for a in run.arguments
    ):
        return None, TOO_LARGE
    launches = [_estimates(run) for run in report.runs]
    rows = {}
    for index, gpu in enumerate(GPUS):
        of_gpu = [launch[index] for launch in launches]
        if all(one.estimate is not None for one in of_gpu):
            rows[gpu.id] = _row(of_gpu)
    return rows, None


def moved_bytes(model: dict | None, arch: str) -> dict[str, int]:
    """The counters `l2_bytes` and `dram_bytes` on the product that stands for an architecture."""
    row = (model or {}).get(OF_ARCH.get(arch.rstrip("af"), ""), {})
    return {name: row[name] for name in ("l2_bytes", "dram_bytes") if name in row}


def _estimates(run: LaunchRun) -> tuple[LaunchEstimate, ...]:
    program: Program = run.program
    copies = [_copy(argument) for argument in run.arguments]
    return program.estimates(run.spec.config, copies, GPUS, quick=True, constants=run.constants)[1]


def _copy(argument: Argument) -> Argument:
    value = argument.value
    if isinstance(value, np.ndarray):
        return replace(argument, value=value.copy())
    if isinstance(value, TensorMap) and value.backing is not None:
        return replace(argument, value=replace(value, backing=_copy(value.backing)))
    return argument


def _row(launches: list[LaunchEstimate]) -> dict:
    made = [launch.estimate for launch in launches if launch.estimate is not None]
    longest = max(made, key=lambda estimate: estimate.seconds)
    return {
        "time_ms": 1e3 * float(sum(estimate.seconds for estimate in made)),
        "bound": longest.bound,
        "l2_bytes": sum(estimate.l2_bytes for estimate in made),
        "dram_bytes": sum(estimate.dram_bytes for estimate in made),
        "calibrated": all(launch.calibrated for launch in launches),
    }
