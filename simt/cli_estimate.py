"""What `simt estimate` does: the time of a kernel at full size on a GPU that is not here, from a sample of its blocks.

Exit status: 0 an estimate was made, 1 the launch or its file is refused, 2 did not compile, 3 not supported, 4 no sampled
block came to its end.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from simt.cli_programs import KernelUnreadable, constants_of, program_of, read_kernel
from simt.codegen.prepare import Unsupported
from simt.diagnostics import Diagnostic, Severity, diagnose, render
from simt.events import Argument, Budget, Direction
from simt.gpus import GPUS, Gpu, UnknownGpu, gpu
from simt.launch_file import LaunchFile, LaunchFileError, LaunchFileUnreadable, LaunchSpec, read_launch_file
from simt.launch_maps import MapSpec
from simt.launch_values import ValueSpecError
from simt.program import BuildFailed
from simt.runner.estimating import LaunchEstimate
from simt.runner.lazy_memory import lazy_array
from simt.tensor_map import TensorMap

__all__ = ["estimate_files", "run_estimate"]

OK, REFUSED, BUILD_FAILED, NOT_SUPPORTED, BUDGET = 0, 1, 2, 3, 4
UNREADABLE = -BUILD_FAILED  # the same exit status, another word
WORDS = {
    OK: "ok", REFUSED: "rejected", BUILD_FAILED: "build_failed", UNREADABLE: "unreadable", NOT_SUPPORTED: "not_supported",
    BUDGET: "budget",
}  # fmt: skip
LIMITS = {
    "launch": "an empty launch",
    "issue": "warp instructions, one a clock and scheduler",
    "fma": "32-bit float arithmetic and integer products",
    "alu": "other integer arithmetic, comparisons, logic",
    "xu": "rcp, sqrt, ex2, sin and conversions",
    "fp64": "64-bit float arithmetic",
    "tensor": "matrix products",
    "lsu": "the load-store unit: shared, l1 and shuffles together",
    "shared": "wavefronts of shared memory",
    "l1": "requests of global and local memory at L1",
    "shuffles": "warp shuffles",
    "l1_fill": "sectors from L2 into L1",
    "l2": "sectors through L2",
    "dram": "bytes to and from device memory",
    "latency": "what a warp waits for when it is alone",
    "atomics": "atomics on one line of memory, one after another",
}
MEMORY = Budget(memory_bytes=64 << 30)  # address space only: pages are made where a sampled block touches them


@dataclass(frozen=True, slots=True)
class EstimateReport:
    """Estimates of a file's launches, in order; `status` is a key of `WORDS`."""

    status: int
    gpu: Gpu | None
    source: str
    launches: tuple[tuple[str, LaunchEstimate], ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def run_estimate(kernel: Path, launch: Path, gpu_name: str, as_json: bool) -> int:
    """Prints the estimate; answers with the exit status."""
    report = estimate_files(kernel, launch, gpu_name)
    if as_json:
        print(json.dumps(_json(report)))
    else:
        print(_text(report, kernel.name), end="", file=sys.stdout if report.status == OK else sys.stderr)
    return abs(report.status)


def estimate_files(kernel: Path, launch: Path, gpu_name: str) -> EstimateReport:
    """Compiles for the GPU and samples each launch; whatever is wrong with the files is a finding."""
    try:
        target = gpu(gpu_name)
        source = read_kernel(kernel)
        file = read_launch_file(launch)
    except UnknownGpu as error:
        found = diagnose("launch.file", str(error), help="such as --gpu h200")
        return EstimateReport(REFUSED, None, "", diagnostics=(found,))
    except (KernelUnreadable, LaunchFileUnreadable) as error:
        found = diagnose("host.unreadable", str(error), help=error.help)
        return EstimateReport(UNREADABLE, target, "", diagnostics=(found,))
    except LaunchFileError as error:
        return EstimateReport(
            REFUSED, target, source, diagnostics=(diagnose("launch.file", str(error), help=error.help),)
        )
    return _estimate(kernel, "" if kernel.suffix == ".ptx" else source, source, file, target)


def _estimate(kernel: Path, shown: str, source: str, file: LaunchFile, target: Gpu) -> EstimateReport:
    made: list[tuple[str, LaunchEstimate]] = []
    arrays: dict[str, Argument] = {}
    try:
        for spec in file.launches:
            program = program_of(kernel, source, file, _arch(file, target), spec)
            arguments = [_argument(file, name, arrays, spec) for name in spec.arguments]
            constants = constants_of(program, file.constants)
            refused, found = program.estimates(spec.config, arguments, (target,), constants=constants, budget=MEMORY)
            errors = tuple(d for d in refused if d.severity is Severity.ERROR)
            if errors:
                return EstimateReport(REFUSED, target, shown, tuple(made), errors)
            made.append((spec.name_expression or program.kernel, found[0]))
            if found[0].estimate is None:
                return EstimateReport(BUDGET, target, shown, tuple(made), (_unfinished(found[0], spec),))
    except BuildFailed as error:
        return EstimateReport(BUILD_FAILED, target, shown, diagnostics=error.diagnostics)
    except (LaunchFileError, ValueSpecError) as error:
        return EstimateReport(
            REFUSED, target, shown, diagnostics=(diagnose("launch.file", str(error), help=error.help),)
        )
    except Unsupported as error:
        found_ = diagnose(
            "ptx.unsupported", f"simt does not run this: {error}", help="docs/ptx_coverage.md lists what runs"
        )
        return EstimateReport(NOT_SUPPORTED, target, shown, diagnostics=(found_,))
    return EstimateReport(OK, target, shown, tuple(made))


def _arch(file: LaunchFile, target: Gpu) -> str:
    """The GPU's, with the file's feature suffix where it names the same: sm_90a for an H200."""
    return file.arch if file.arch and file.arch.rstrip("af") == target.arch.name else target.arch.name


def _argument(file: LaunchFile, name: str, arrays: dict[str, Argument], launch: LaunchSpec) -> Argument:
    """An argument; launches of one file share its array."""
    spec = file.arguments[name]
    if isinstance(spec.value, MapSpec):
        return Argument(name, Direction.SCALAR, _map(file, name, spec.value, arrays, launch))
    if name not in arrays:
        value = spec.value if spec.array is None else lazy_array(spec.array)
        arrays[name] = Argument(name, Direction.SCALAR if spec.array is None else spec.direction, value)
    return arrays[name]


def _map(file: LaunchFile, name: str, spec: MapSpec, arrays: dict[str, Argument], launch: LaunchSpec) -> TensorMap:
    """A tensor map, with its array unless the kernel takes that as a parameter too."""
    behind = file.arguments.get(spec.base)
    if behind is None or behind.array is None:
        raise LaunchFileError(f"`{name}`: no array is called `{spec.base}`", "describe it in [[args]] or [[backing]]")
    backing = None if spec.base in launch.arguments else _argument(file, spec.base, arrays, launch)
    return spec.tensor_map(behind.array.shape, str(behind.array.dtype), backing)


def _unfinished(made: LaunchEstimate, spec: LaunchSpec) -> Diagnostic:
    if made.blocks_run:
        return diagnose(
            "launch.file", f"not one block of {spec.config.block} threads fits on an SM of {made.gpu.name}",
            help="smaller blocks, fewer registers or less shared memory",
        )  # fmt: skip
    return diagnose(
        "runtime.budget", "no sampled block came to its end",
        help="does it wait for another block, or loop for ever? `simt run` at a small size tells",
    )  # fmt: skip


# --- output


def _totals(report: EstimateReport) -> dict:
    """Times of all launches together; the bound is that of the longest."""
    made = [(launch, launch.estimate) for _, launch in report.launches if launch.estimate is not None]
    bounds: dict[str, float] = {}
    for _, estimate in made:
        for name, seconds in estimate.bounds.items():
            bounds[name] = bounds.get(name, 0.0) + float(seconds) * 1e3
    longest = max((estimate for _, estimate in made), key=lambda e: e.seconds, default=None)
    return {
        "time_ms": sum(estimate.seconds for _, estimate in made) * 1e3,
        "bound": longest.bound if longest else None,
        "bounds": bounds,
        "blocks_run": sum(launch.blocks_run for _, launch in report.launches),
        "blocks_total": sum(launch.blocks_total for _, launch in report.launches),
        "l2_bytes": sum(estimate.l2_bytes for _, estimate in made),
        "dram_bytes": sum(estimate.dram_bytes for _, estimate in made),
    }


def _json(report: EstimateReport) -> dict:
    found: dict[str, object] = {"status": WORDS[report.status], "basis": "estimated"}
    if report.gpu is not None:
        found |= {"gpu": report.gpu.id, "gpu_name": report.gpu.name, "arch": report.gpu.arch.name}
    if report.status == OK:
        found |= _totals(report)
        found["calibrated"] = all(launch.calibrated for _, launch in report.launches)
        found["launches"] = [_launch_json(name, launch) for name, launch in report.launches]
    return found | {"diagnostics": [d.to_json() for d in report.diagnostics]}


def _launch_json(name: str, launch: LaunchEstimate) -> dict:
    alone = _totals(EstimateReport(OK, launch.gpu, "", ((name, launch),)))
    assert launch.estimate is not None
    return {"kernel": name, **alone, "blocks_per_sm": launch.estimate.resident}


def _text(report: EstimateReport, file_name: str) -> str:
    parts = [render(found, report.source, file_name) for found in report.diagnostics]
    if report.status == OK and report.gpu is not None:
        parts += [_launch_text(name, launch) for name, launch in report.launches]
        parts.append(_footer(report))
    return "\n\n".join(parts) + "\n"


def _launch_text(name: str, launch: LaunchEstimate) -> str:
    made = launch.estimate
    assert made is not None
    rows = sorted(made.bounds.items(), key=lambda row: -row[1])
    width = max(len(limit) for limit, _ in rows)
    lines = [
        f"{name} on {launch.gpu.name}: about {made.seconds * 1e3:.4g} ms, bound by {made.bound}",
        f"from {launch.blocks_run} of {launch.blocks_total} blocks; {made.resident} blocks on an SM at a time; "
        f"{made.dram_bytes / 1e6:.4g} MB to and from DRAM, {made.l2_bytes / 1e6:.4g} MB to and from L2",
        "each limit alone, ms",
    ]
    return "\n".join(lines + [f"  {limit:{width}}  {seconds * 1e3:8.4g}  {LIMITS[limit]}" for limit, seconds in rows])


def _footer(report: EstimateReport) -> str:
    if all(launch.calibrated for _, launch in report.launches):
        return "An estimate, not a measurement; docs/estimate.md shows how far off it was on kernels with known times."
    others: Sequence[str] = [row.id for row in GPUS if row.id == "h200"]
    return f"An estimate, not a measurement, and uncalibrated: the model knows measured times of {', '.join(others)} alone."
