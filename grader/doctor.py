"""What this machine has for the course, each thing with what works without it and the next step.

A finding is a value; the command prints it. Nothing here fails because something is missing.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import metadata

from grader.version import VERSION

__all__ = ["CHECKS", "Finding", "Health", "examine"]

SELFTEST = """extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}
"""


@dataclass(frozen=True, slots=True)
class Health:
    """ok: works; limited: something else works less well; missing: a part of the course does not work here."""

    word: str
    sign: str


OK, LIMITED, MISSING = Health("ok", "✓"), Health("limited", "!"), Health("missing", "✗")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at: how it is, in a sentence; what works nevertheless, and the next step, where not all is well."""

    what: str
    health: Health
    says: str
    nevertheless: str = ""
    next_step: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)


def examine() -> Iterator[Finding]:
    """Every finding, one after the other as it is made."""
    for check in CHECKS:
        try:
            yield check()
        except Exception as error:
            name = check.__name__.strip("_").replace("_", " ")
            yield Finding(
                name, MISSING, f"looking failed: {type(error).__name__}: {error}", next_step="please report this"
            )


def _python() -> Finding:
    facts: dict[str, object] = {"python": platform.python_version(), "system": platform.platform(), "course": VERSION}
    return Finding(
        "course", OK, f"version {facts['course']}, Python {facts['python']} on {facts['system']}", facts=facts
    )


def _packages() -> Finding:
    versions = {name: _version(name) for name in ("marimo", "altair", "numpy", "llvmlite", "nbgrader")}
    missing = [name for name, version in versions.items() if not version and name != "nbgrader"]
    says = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    if missing:
        return Finding(
            "packages",
            MISSING,
            f"{says}; not installed: {', '.join(missing)}",
            "commands that do not need them",
            "python3 course.py learn installs them",
            versions,
        )
    return Finding("packages", OK, says, facts=versions)


def _compiler() -> Finding:
    from grader.compile import compiler_version

    version = compiler_version()
    if not version or version.startswith("none"):
        return Finding(
            "compiler",
            MISSING,
            f"the CUDA compiler is missing: {version}",
            "lessons, charts and predictions",
            "install nvidia-cuda-nvrtc (it exists for Linux and Windows), or use the course's container",
        )
    return Finding("compiler", OK, f"NVRTC {version}", facts={"nvrtc": version})


def _cache() -> Finding:
    from simt.nvrtc_cache import cache_folder

    folder = cache_folder()
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) if folder.exists() else 0
    near = next(parent for parent in (folder, *folder.parents) if parent.exists())
    facts = {"folder": str(folder), "bytes": size}
    if not os.access(near, os.W_OK):
        return Finding(
            "cache",
            LIMITED,
            f"{folder} cannot be written",
            "everything, but each kernel compiles every time",
            "set WARPWISE_CACHE to a folder that can be written",
            facts,
        )
    return Finding("cache", OK, f"{folder}, {size / 1e6:.1f} MB", facts=facts)


def _sandbox() -> Finding:
    from grader.doctor_sandbox import sandbox_finding

    return sandbox_finding()


def _machine() -> Finding:
    threads, memory = _threads(), _memory_bytes()
    facts = {"threads": threads, "memory_bytes": memory}
    says = f"{threads} threads" + (f", {memory / 2**30:.1f} GiB of memory" if memory else "")
    if memory and memory < 2 << 30:
        return Finding(
            "machine", LIMITED, says, "all lessons; large cases may be refused", "close other programs", facts
        )
    return Finding("machine", OK, says, facts=facts)


def _gpu() -> Finding:
    from grader.devices import DeviceMissing, choose

    try:
        device = choose("cuda")
    except DeviceMissing as missing:
        return Finding(
            "GPU",
            LIMITED,
            str(missing),
            "every lesson, on the simulator; speed is estimated or not measured",
            "nothing has to be done; with a GPU, install a driver and run python3 course.py learn again",
        )
    except ImportError as missing:
        return Finding(
            "GPU",
            LIMITED,
            f"not usable: {missing}",
            "every lesson, on the simulator",
            "with a GPU, run python3 course.py learn again: it brings CuPy",
        )
    from grader.doctor_gpu import gpu_finding
    from grader.doctor_sandbox import marked_down

    try:
        return marked_down() or gpu_finding(device)  # type: ignore[arg-type]
    finally:
        device.close()


def _selftest() -> Finding:
    import time

    from grader.answers import submit
    from grader.exercises import exercise
    from grader.pipeline import check_submission

    row = exercise("selftest.map")
    started = time.monotonic()
    report = check_submission(submit(row, SELFTEST))
    took = time.monotonic() - started
    facts = {"verdict": str(report.verdict), "seconds": round(took, 3), "device": report.device}
    if report.passed:
        return Finding(
            "self-test", OK, f"a kernel was compiled, run and judged in {took:.2f} s on {report.device}", facts=facts
        )
    why = report.message or next((finding.message for finding in report.diagnostics), "")
    return Finding(
        "self-test",
        MISSING,
        f"selftest.map should pass, got {report.verdict}: {why}",
        "lessons, charts and predictions",
        "look at the findings above; if all is well there, report this",
        facts,
    )


CHECKS: tuple[Callable[[], Finding], ...] = (
    _python, _packages, _compiler, _gpu, _sandbox, _machine, _cache, _selftest,
)  # fmt: skip


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return ""


def _threads() -> int:
    """Processors this process may use: its affinity, and the quota of its control group where there is one."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = open("/sys/fs/cgroup/cpu.max", encoding="ascii").read().split()
    except (OSError, ValueError):
        return usable
    return usable if quota == "max" else max(1, min(usable, int(quota) // int(period)))


def _memory_bytes() -> int | None:
    """Memory this process may use, None where it cannot be told."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    try:
        limit = open("/sys/fs/cgroup/memory.max", encoding="ascii").read().strip()
    except OSError:
        return total
    return total if limit == "max" else min(total, int(limit))
