"""The golden kernels as machine code and launches, made where the simulator's compiler is, to be run on a GPU elsewhere.

A GPU machine often has another NVRTC, without all headers; the machine code that goes along is that of the PTX that was
simulated. Kernels whose golden report has findings are left out: what they compute is nobody's promise.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from simt.launch_file import LaunchFile, LaunchSpec, read_launch_file

__all__ = ["JOBS", "KERNELS", "Job", "Step", "digest_of", "golden_names", "prepare", "read_jobs"]

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "tests" / "simt" / "kernels"
JOBS = ROOT / "build" / "golden-kernels"
CLEAN = "exit status 0\n"


@dataclass(frozen=True, slots=True)
class Step:
    """One launch: its machine code's file and the kernel's name in it."""

    cubin: str
    kernel: str


@dataclass(frozen=True, slots=True)
class Job:
    """One golden kernel: `area/name`, what it was compiled for, a digest of its two files, its launches."""

    name: str
    arch: str
    digest: str
    steps: tuple[Step, ...]


def golden_names() -> list[str]:
    """Golden kernels without findings, `area/name`."""
    found = sorted(path.relative_to(KERNELS).with_suffix("").as_posix() for path in KERNELS.rglob("*.cu"))
    return [
        name for name in found if (KERNELS / name).with_suffix(".out").read_text(encoding="utf-8").startswith(CLEAN)
    ]


def digest_of(name: str) -> str:
    """Of a kernel's text and launch file."""
    return hashlib.sha256(
        b"\0".join((KERNELS / name).with_suffix(s).read_bytes() for s in (".cu", ".toml"))
    ).hexdigest()


def prepare(folder: Path = JOBS, capability: int = 90) -> Iterator[str]:
    """Writes machine code for GPUs of this compute capability and jobs.json; says what it did and what it left out."""
    folder.mkdir(parents=True, exist_ok=True)
    jobs = []
    for name in golden_names():
        file = read_launch_file((KERNELS / name).with_suffix(".toml"))
        arch = file.arch if file.arch and file.arch.startswith(f"sm_{capability}") else f"sm_{capability}"
        if file.arch and int(file.arch.removeprefix("sm_").rstrip("af")) > capability:
            yield f"{name}: left out, it wants {file.arch}"
            continue
        steps = tuple(_step(name, number, file, spec, arch, folder) for number, spec in enumerate(file.launches))
        jobs.append(Job(name, arch, digest_of(name), steps))
    (folder / "jobs.json").write_text(json.dumps([asdict(job) for job in jobs], indent=1) + "\n", encoding="utf-8")
    yield f"{len(jobs)} kernels in {folder}"


def _step(name: str, number: int, file: LaunchFile, spec: LaunchSpec, arch: str, folder: Path) -> Step:
    from simt.program import Program

    path = (KERNELS / name).with_suffix(".cu")
    program = Program.from_cuda(
        path.read_text(encoding="utf-8"), kernel=None if spec.name_expression else spec.kernel, arch=arch,
        name_expression=spec.name_expression, options=file.options, file_name=path.name,
        include_dirs=(path.parent, *file.include_dirs),
    )  # fmt: skip
    assert program.build is not None
    cubin = f"{name.replace('/', '-')}-{number}.cubin"
    (folder / cubin).write_bytes(program.build.cubin)
    return Step(cubin, program.kernel)


def read_jobs(folder: Path = JOBS) -> list[Job]:
    """What `prepare` wrote."""
    rows = json.loads((folder / "jobs.json").read_text(encoding="utf-8"))
    return [Job(row["name"], row["arch"], row["digest"], tuple(Step(**step) for step in row["steps"])) for row in rows]
