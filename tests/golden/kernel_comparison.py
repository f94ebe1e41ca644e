"""What simt gives for a golden kernel against what a GPU gave.

Outputs are equal bit by bit, but for kernels in `TOLERANCES`, whose sums the hardware forms in an order that is not
documented, or with approximate instructions. Counters follow the rule of `test_ncu`: equal, wavefronts up to 1.04 times.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simt.cli_run import RunOptions, RunReport, run_files
from simt.counters import NCU
from tests.golden.kernel_jobs import KERNELS, digest_of

__all__ = [
    "EQUAL",
    "NEARLY_EQUAL",
    "TOLERANCES",
    "compare_all",
    "counter_differences",
    "output_differences",
    "recorded",
]

EQUAL = (
    "global_load_requests", "global_load_sectors", "global_store_requests", "global_store_sectors",
    "shared_load_requests", "shared_store_requests", "ldmatrix_requests",
)  # fmt: skip
NEARLY_EQUAL = ("shared_load_wavefronts", "shared_store_wavefronts")
MOST_WAVEFRONTS = 1.04
# (beginning of the name, type of the output) → relative to the output's largest magnitude. Additions in an order that the
# hardware does not fix: atomics and reductions of many threads on one word. Products of tensor cores need none.
TOLERANCES = {
    ("math/", "float32"): 2.0**-20,  # .approx forms
    ("atomics/", "float64"): 2.0**-50,
    ("tma/reduce_add", "float32"): 2.0**-22,
    ("tma/bulk_reduce", "float32"): 2.0**-22,
}


def recorded(folder: Path) -> dict[str, dict]:
    """The kernels of a recording that ran, by name."""
    rows = json.loads((folder / "kernels.json").read_text(encoding="utf-8"))["kernels"]
    return {name: row for name, row in rows.items() if not row["error"]}


def simulated(name: str, row: dict) -> RunReport:
    path = KERNELS / name
    return run_files(path.with_suffix(".cu"), path.with_suffix(".toml"), RunOptions(arch=row["arch"]))


def _tolerance(name: str, dtype: np.dtype) -> float:
    """That of the longest beginning which fits."""
    fits = [
        (len(start), value)
        for (start, kind), value in TOLERANCES.items()
        if name.startswith(start) and kind == dtype.name
    ]
    return max(fits)[1] if fits else 0.0


def output_differences(name: str, report: RunReport, gpu: dict[str, np.ndarray]) -> Iterator[str]:
    """Texts of what differs."""
    for key, theirs in gpu.items():
        tolerance = _tolerance(name, theirs.dtype)
        ours = np.asarray(report.outputs[key]).reshape(theirs.shape)
        if ours.tobytes() == theirs.tobytes():
            continue
        if theirs.dtype.kind != "f":
            yield f"`{key}` differs in {int((ours != theirs).sum())} of {theirs.size} elements"
            continue
        ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
        if (np.isfinite(ours) != np.isfinite(theirs)).any():
            yield f"`{key}`: other elements are NaN or infinite"
            continue
        finite = np.isfinite(theirs)
        apart = np.abs(ours - theirs)[finite].max(initial=0.0) / max(np.abs(theirs[finite]).max(initial=0.0), 1e-300)
        if apart > tolerance:
            yield f"`{key}` is off by {apart:.2g} of its largest element, allowed {tolerance:.2g}"


def counter_differences(report: RunReport, launches: list[dict[str, float]]) -> Iterator[str]:
    """Texts of counters that differ, launch by launch."""
    for number, (run, metrics) in enumerate(zip(report.runs, launches, strict=False)):
        for name in (*EQUAL, *NEARLY_EQUAL):
            parts = [part.strip() for part in NCU[name].split("+")]
            if not all(part in metrics for part in parts):
                continue
            ours, ncu = getattr(run.result.counters, name), sum(metrics[part] for part in parts)
            if ours != ncu and not (name in NEARLY_EQUAL and ours <= ncu <= MOST_WAVEFRONTS * ours):
                yield f"launch {number}: {name} {ours}, ncu {ncu:.0f}"


def compare_all(folder: Path, parts: list[str]) -> int:
    """Prints each kernel's differences; 1 when there are any."""
    bad = 0
    with np.load(folder / "kernels.npz") as arrays:
        for name, row in recorded(folder).items():
            if parts and not any(part in name for part in parts):
                continue
            if digest_of(name) != row["digest"]:
                print(f"{name}: changed since it was recorded")
                bad += 1
                continue
            report = simulated(name, row)
            gpu = {key.rpartition("/")[2]: arrays[key] for key in arrays.files if key.rpartition("/")[0] == name}
            found = [*output_differences(name, report, gpu), *counter_differences(report, row["launches"])]
            bad += bool(found)
            counted = "counted" if row["launches"] else "not counted"
            print(f"{name}: {'; '.join(found) or 'the same'} ({counted})")
    return int(bad > 0)
