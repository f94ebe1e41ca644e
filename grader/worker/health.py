"""A GPU that is looked at after every worker that was lost on it, and left alone once it no longer answers.

A kernel that never ends, an illegal address or a killed process may leave the GPU or its driver in any state. Before the
next job a small kernel has to give the right answer in a worker of its own. Three failures in a row mark the GPU down in
a file that all processes of this user share; `doctor` looks again and takes the mark away when all is well.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from grader.devices.base import CASE_BUDGET, Device, DeviceLost, DeviceMissing
from grader.model import Compiled, RunResult, Timing, TimingPair, TimingPlan
from grader.timing.trace import Trace
from simt.events import Argument, Budget, Direction, Status
from simt.launch import Dim3, LaunchConfig

__all__ = ["MOST_FAILURES", "WHICH_GPU", "Guarded", "Mark", "MarkFile", "called_alike", "mark_file", "marked", "probe"]

MOST_FAILURES = 3
# What a job calls its GPU: CUDA's choice, of which a worker uses the first, in what order CUDA counts, and Slurm's own
# numbers, since within a job's cgroup CUDA counts from 0 (slurm.conf, task/cgroup; sbatch, SLURM_JOB_GPUS).
WHICH_GPU = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "SLURM_STEP_GPUS", "SLURM_JOB_GPUS")
MIG = (
    "MIG-"  # begins the UUID by which CUDA_VISIBLE_DEVICES chooses a part of a GPU (MIG User Guide, Device Enumeration)
)
PROBE = """extern "C" __global__ void probe(const unsigned* x, unsigned* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * 2654435761u + i;
}
"""
PROBE_SIZE = 1 << 16


@dataclass(frozen=True, slots=True)
class Mark:
    """What is known of a GPU: whether a worker was lost on it since the last good probe, and failed probes in a row.

    `called` is what the job that wrote it called the GPU, which it knows before a worker could tell the UUID.
    """

    suspect: bool = False
    failures: int = 0
    since: str = ""
    why: str = ""
    called: str = ""

    @property
    def is_down(self) -> bool:
        """Whether no more jobs are given to it."""
        return self.failures >= MOST_FAILURES


class MarkFile:
    """The mark of one GPU, kept where the other processes of this user find it."""

    def __init__(self, path: Path):
        self.path = path

    def read(self) -> Mark:
        """The mark; a file that cannot be read says that the GPU has to be looked at."""
        try:
            return Mark(**json.loads(self.path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return Mark()
        except (OSError, ValueError, TypeError):
            return Mark(suspect=True)

    def write(self, mark: Mark) -> None:
        """Keeps `mark`; a clean one is no file at all."""
        if mark == Mark():
            self.path.unlink(missing_ok=True)
            return
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = self.path.with_name(f"{self.path.name}.{os.getpid()}.{threading.get_ident()}")
        part.write_text(json.dumps(asdict(replace(mark, called=_called()))), encoding="utf-8")
        part.replace(self.path)


def mark_file(device: str, uuid: str = "") -> MarkFile:
    """The mark of the GPU that workers for `device` use: by its UUID, or its part's; where none is known, by its name here."""
    from grader.worker.cpus import slots_folder

    chosen = _given("CUDA_VISIBLE_DEVICES")
    which = chosen if chosen.startswith(MIG) else uuid or _called()
    name = re.sub(r"[^A-Za-z0-9-]", "_", which)[:100]
    return MarkFile(slots_folder() / (f"gpu-{device}-{name}.json" if name else f"gpu-{device}.json"))


def marked(device: str) -> tuple[MarkFile, ...]:
    """The marks of all GPUs that are not known to be well."""
    from grader.worker.cpus import slots_folder

    return tuple(MarkFile(path) for path in sorted(slots_folder().glob(f"gpu-{device}*.json")))


def called_alike(device: str) -> tuple[MarkFile, ...]:
    """Those of them that were written by a job which called its GPU what this one calls its own."""
    return tuple(mark for mark in marked(device) if mark.read().called == _called())


def _given(name: str) -> str:
    """The first word of a variable."""
    return os.environ.get(name, "").partition(",")[0].strip()


def _called() -> str:
    """What this job calls its GPU."""
    return "-".join(given for name in WHICH_GPU if (given := _given(name)))


def probe(device: Device) -> str:
    """Why `device` is not well, "" when the probe kernel gives the right answer."""
    from grader.compile import compile_text

    built = compile_text(PROBE, "probe", device.arch)
    if not isinstance(built, Compiled):
        return f"the probe kernel does not compile: {built.diagnostics[0].message if built.diagnostics else built.log}"
    x = np.arange(PROBE_SIZE, dtype=np.uint32) ^ np.uint32(0x5EED)
    arguments = (
        Argument("x", Direction.IN, x),
        Argument("y", Direction.OUT, np.zeros_like(x)),
        Argument("n", Direction.SCALAR, np.int32(x.size)),
    )
    result = device.run(built, LaunchConfig(Dim3(PROBE_SIZE // 256), Dim3(256)), arguments)
    if result.status is not Status.OK:
        found = "; ".join(finding.message for finding in result.diagnostics)
        return f"the probe kernel ended as {result.status}: {found}"
    want = x * np.uint32(2654435761) + np.arange(PROBE_SIZE, dtype=np.uint32)
    got = result.outputs.get("y")
    return "" if got is not None and np.array_equal(got, want) else "the probe kernel gave a wrong answer"


class Guarded:
    """The worker of a GPU, closed and looked at after each loss.

    Args:
        worker: runs kernels in a process of its own and starts another when that one is closed.
        mark: what is known of the GPU.
        examine: why the device is not well, or "".

    Raises:
        DeviceMissing: from everything, while the GPU is marked down.
    """

    def __init__(self, worker: Device, mark: MarkFile, examine: Callable[[Device], str] = probe):
        self._worker, self._mark, self._examine = worker, mark, examine
        self._lock = threading.RLock()

    @property
    def name(self) -> str:
        """The worker's."""
        return self._well().name

    @property
    def arch(self) -> str:
        """The worker's."""
        return self._well().arch

    @property
    def capabilities(self) -> frozenset[str]:
        """The worker's."""
        return self._well().capabilities

    @property
    def spent(self) -> bool:
        """False: a worker that is spent is replaced."""
        return False

    def run(
        self,
        compiled: Compiled,
        config: LaunchConfig,
        arguments: Sequence[Argument],
        budget: Budget = CASE_BUDGET,
        *,
        want_writers: bool = False,
    ) -> RunResult:
        """The worker's result.

        Raises:
            DeviceLost: the worker was lost.
            DeviceMissing: the GPU is marked down.
        """
        with self._lock:
            worker = self._well()
            try:
                result = worker.run(compiled, config, arguments, budget, want_writers=want_writers)
            except BaseException as error:
                self._suspect(str(error))
                raise
            if result.status is Status.STOPPED:
                # After an illegal address every later call in that process fails.
                self._suspect("a kernel was stopped")
            return result

    def time(self, pair: TimingPair, plan: TimingPlan) -> Trace | Timing | None:
        """The worker's round.

        Raises:
            DeviceLost: the worker was lost.
            DeviceMissing: the GPU is marked down.
        """
        from grader.timing.lock import GpuBusy

        with self._lock:
            worker = self._well()
            try:
                trace = worker.time(pair, plan)
            except GpuBusy:
                raise
            except BaseException as error:
                self._suspect(str(error))
                raise
            if isinstance(trace, Trace) and trace.findings and not trace.student_ns.size:
                self._suspect("a timed kernel was stopped")
            return trace

    def close(self) -> None:
        """Ends the worker."""
        self._worker.close()

    def look_again(self) -> str:
        """Examines the GPU whatever its mark says; why it is not well, or "" (and the mark is gone)."""
        with self._lock:
            self._mark.write(Mark(suspect=True))
            try:
                self._well()
            except DeviceMissing as missing:
                return str(missing)
            return ""

    def _well(self) -> Device:
        """The worker, once the GPU is known to be well."""
        with self._lock:
            mark = self._mark.read()
            while mark.suspect and not mark.is_down:
                mark = self._examined(mark)
                self._mark.write(mark)
            if mark.is_down:
                raise DeviceMissing(
                    f"this GPU is marked down since {mark.since}: {mark.why} ({mark.failures} times in a row); "
                    "`doctor`, where it may use the same GPU, looks at it again"
                )
            return self._worker

    def _examined(self, mark: Mark) -> Mark:
        """The mark after one more probe in a fresh worker."""
        self._worker.close()
        try:
            why = self._examine(self._worker)
        except DeviceLost as lost:
            why = str(lost)
        if not why:
            return Mark()
        self._worker.close()
        since = mark.since or datetime.now(UTC).isoformat(timespec="seconds")
        return replace(mark, failures=mark.failures + 1, since=since, why=why[:300])

    def _suspect(self, why: str) -> None:
        self._worker.close()
        mark = self._mark.read()
        if not mark.is_down:
            self._mark.write(replace(mark, suspect=True, why=why[:300]))
