"""Grading on a Dask cluster: one that is there (`tcp://…`), or one that Slurm starts for this run (`slurm:CONFIG.toml`).

The cluster runs tasks; it keeps nothing. A worker that is lost costs another attempt, never a second result: each task
comes back once, and the store takes each verdict once.

    # CONFIG.toml, all but `queue` with a default
    queue = "lab"              # partition
    jobs = 4                   # Slurm jobs, one worker each; a job that ends is replaced
    cores = 1
    memory = "2GB"
    walltime = "01:00:00"
    gpus = 0                   # of each job: 1 for --device cuda
    interface = "eth0"         # network between jobs and this process
    directives = []            # more lines for #SBATCH, such as "--account=cs101"
    prologue = []              # shell lines before the worker, such as "module load cuda"
    python = "…"               # of the workers; this one by default
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import itertools
import logging
import os
import queue
import shutil
import sys
import tempfile
import threading
import time
import tomllib
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from grader.batch.pool import TASK_SECONDS
from grader.batch.work import GradingStopped, Outcome, Task, do
from grader.worker.cpus import MOST_THREADS

__all__ = ["ClusterProblem", "DaskRunner", "check_address", "opened_cluster", "slurm_settings"]

ROOT = Path(__file__).resolve().parents[1]
CONNECT_SECONDS = 10
WORKER_SECONDS = 120  # until the first worker is there; a queue may take longer, then start the command again
LOOK_SECONDS = 5.0  # without a result, after which it is worth asking whether any worker is left
AHEAD = 4  # tasks for each thread of a worker: Dask blames all that a lost worker holds, begun or not
COUNT_SECONDS = 1.0  # between two looks at how many workers there are
LOST_WORKERS = 3  # that a task may take with it
SETTINGS: dict[str, Any] = {
    "queue": None, "jobs": 2, "cores": 1, "memory": "2GB", "walltime": "01:00:00", "gpus": 0, "interface": None,
    "directives": [], "prologue": [], "python": sys.executable,
}  # fmt: skip


class ClusterProblem(RuntimeError):
    """A cluster that cannot be used: what was tried and what came back."""


def check_address(address: str) -> None:
    """Looks at what can be known of an address before a cluster is needed.

    Raises:
        ClusterProblem: it is of another kind, or its settings cannot be read.
    """
    if address.startswith("slurm:"):
        slurm_settings(Path(address.removeprefix("slurm:")))
    elif not address.startswith(("tcp://", "tls://")):
        raise ClusterProblem(f"{address!r} names no cluster; one is tcp://HOST:PORT or slurm:CONFIG.toml")


@contextlib.contextmanager
def opened_cluster(address: str, workers: int | None = None) -> Iterator[DaskRunner]:
    """The runner of a cluster; one that Slurm started ends with the block.

    Raises:
        ClusterProblem: the address is of another kind, or nobody answers there.
    """
    try:
        import distributed  # noqa: F401
    except ImportError as missing:
        raise ClusterProblem(
            f"a cluster needs the package {missing.name}: pip install -r requirements.txt"
        ) from missing
    check_address(address)
    if address.startswith("slurm:"):
        with _slurm(slurm_settings(Path(address.removeprefix("slurm:"))), workers) as scheduler:
            yield from _connected(scheduler)
    else:
        yield from _connected(address)


def _connected(address: str) -> Iterator[DaskRunner]:
    import dask
    from distributed import Client

    for name in ("distributed", "distributed.client"):  # it prints tracebacks of what we say in a line
        logging.getLogger(name).setLevel(logging.CRITICAL)
    with dask.config.set({"distributed.scheduler.allowed-failures": LOST_WORKERS}):
        try:
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise ClusterProblem(f"no Dask scheduler answers at {address}: {error}") from error
        try:
            yield DaskRunner(client)
        finally:
            client.close()


class DaskRunner:
    """`Runner` on the workers of a Dask client."""

    def __init__(self, client: Any):
        self._client = client
        self._offered: frozenset[str] | None = None
        self._threads, self._counted = 0, -COUNT_SECONDS

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """One outcome for each task, as they are done; each future is let go at once, so that nothing is run again for it.

        Raises:
            ClusterProblem: no worker came, or none has what the device needs.
            GradingStopped: the scheduler or all workers went away.
        """
        if not tasks:
            return
        resources = self._resources(tasks[0].device)
        run, todo = uuid.uuid4().hex, iter(tasks)
        waiting: dict[Any, Task] = {}
        done: queue.SimpleQueue = queue.SimpleQueue()

        def submit(count: int) -> None:
            for task in itertools.islice(todo, max(0, count)):
                future = self._client.submit(
                    _do_here, task, key=f"grade-{run}-{task.key}", resources=resources, pure=False,
                    priority=int(len(tasks) == 1),  # a task by itself is a question that the run waits for
                )  # fmt: skip
                waiting[future] = task
                future.add_done_callback(done.put)

        submit(self._room())
        while waiting:
            future = self._next(done)
            yield _outcome(future, waiting.pop(future))
            future.release()
            submit(self._room() - len(waiting))

    def _room(self) -> int:
        """How many tasks may wait at the workers, at least one."""
        if time.monotonic() - self._counted >= COUNT_SECONDS:
            self._threads = sum(worker["nthreads"] for worker in self._workers().values())
            self._counted = time.monotonic()
        return max(1, AHEAD * self._threads)

    def _next(self, done: queue.SimpleQueue):
        """The next future that is done; nobody waits for one where no worker is left."""
        alone_since = None
        while True:
            with contextlib.suppress(queue.Empty):
                return done.get(timeout=LOOK_SECONDS)
            if self._workers():
                alone_since = None
                continue
            alone_since = alone_since or time.monotonic()
            if time.monotonic() - alone_since > WORKER_SECONDS:
                raise GradingStopped(f"the cluster has had no worker for {WORKER_SECONDS} s")

    def _workers(self) -> Mapping[str, Mapping]:
        """What the scheduler knows of its workers, by address."""
        try:
            return self._client.scheduler_info(n_workers=-1)["workers"]
        except OSError as error:
            raise GradingStopped(f"the scheduler of the cluster does not answer: {error}") from error

    def _resources(self, device: str) -> dict[str, int] | None:
        """A GPU for hardware. The simulator keeps to workers that offer `CPU`, where any does."""
        if self._offered is None:
            self._offered = self._what_workers_offer()
        if device != "cuda":
            return {"CPU": 1} if "CPU" in self._offered else None
        if "GPU" not in self._offered:
            raise ClusterProblem("no worker offers a GPU; start them with `dask worker … --resources GPU=1`")
        return {"GPU": 1}

    def _what_workers_offer(self) -> frozenset[str]:
        from distributed import TimeoutError as NoWorker

        try:
            self._client.wait_for_workers(1, timeout=WORKER_SECONDS)
        except (NoWorker, TimeoutError) as error:
            raise ClusterProblem(f"no worker came within {WORKER_SECONDS} s") from error
        return frozenset(name for worker in self._workers().values() for name in worker.get("resources", {}))


def _outcome(future, task: Task) -> Outcome:
    """What the worker said of `task`.

    Raises:
        GradingStopped: the scheduler went away, or a worker cannot so much as load the grader.
    """
    from distributed import KilledWorker

    try:
        worker, reports, lost = future.result()
    except KilledWorker:
        return Outcome(task, lost=f"{LOST_WORKERS + 1} workers ended in the middle of it")
    except (concurrent.futures.CancelledError, OSError) as error:
        raise GradingStopped(f"the scheduler of the cluster went away ({type(error).__name__})") from error
    except Exception as error:
        raise GradingStopped(
            f"a worker of the cluster cannot run the grader: {type(error).__name__}: {str(error)[:300]}"
        ) from error
    return Outcome(task, reports, worker, lost)


def _do_here(task: Task) -> tuple[str, tuple[tuple[str, dict[str, object]], ...], str]:
    """A task on a worker; (which one, its reports, why there are none).

    One that is stuck ends the worker with it, since a thread cannot be ended; Dask then gives the task to another.
    """
    from distributed import get_worker

    os.environ.setdefault(MOST_THREADS, "1")
    limit = threading.Timer(TASK_SECONDS * len(task.answers), os._exit, (1,))
    limit.daemon = True
    limit.start()
    worker = str(get_worker().address)
    try:
        return worker, do(task), ""
    except Exception as error:
        return worker, (), f"the grader failed: {type(error).__name__}: {str(error)[:300]}"
    finally:
        limit.cancel()


def slurm_settings(path: Path) -> Mapping[str, Any]:
    """The settings in CONFIG.toml, defaults filled in.

    Raises:
        ClusterProblem: the file cannot be read, or has a key or a kind of value that is not known.
    """
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ClusterProblem(f"{path} cannot be read: {error}") from error
    if unknown := sorted(plain.keys() - SETTINGS.keys()):
        raise ClusterProblem(f"{path} has the key {unknown[0]!r}; it takes {', '.join(SETTINGS)}")
    for name, value in plain.items():
        kind = type(SETTINGS[name]) if SETTINGS[name] is not None else str
        if type(value) is not kind:
            raise ClusterProblem(f"{path}: {name} is {value!r}; it takes a {kind.__name__}")
    if plain.get("gpus", 0) not in (0, 1):
        raise ClusterProblem(f"{path}: gpus is {plain['gpus']}; a job is one worker with one GPU, so ask for more jobs")
    return SETTINGS | plain


@contextlib.contextmanager
def _slurm(settings: Mapping[str, Any], workers: int | None) -> Iterator[str]:
    """The address of a scheduler in this process whose workers are Slurm jobs.

    Raises:
        ClusterProblem: Slurm is not here, or a setting is not for this machine.
    """
    import dask
    from dask_jobqueue import SLURMCluster

    if not shutil.which("sbatch"):
        raise ClusterProblem("Slurm's command sbatch is not here; run this where you can submit jobs")
    jobs = workers or settings["jobs"]
    directives = [*settings["directives"], *([f"--gres=gpu:{settings['gpus']}"] if settings["gpus"] else [])]
    offered = f"GPU={settings['gpus']}" if settings["gpus"] else "CPU=1"
    # The course need not be installed on the nodes: a shared folder is enough. `set -e` keeps a dead attempt's script
    # from running its next line.
    prologue = ["set -e", f"export PYTHONPATH={ROOT}", *settings["prologue"]]
    with tempfile.TemporaryDirectory(prefix="warpwise-slurm-") as scratch, dask.config.set({
        "distributed.comm.timeouts.connect": f"{CONNECT_SECONDS}s", "distributed.scheduler.allowed-failures": LOST_WORKERS,
    }):  # fmt: skip
        try:
            cluster = SLURMCluster(
                queue=settings["queue"], cores=settings["cores"], processes=1, memory=settings["memory"],
                walltime=settings["walltime"], interface=settings["interface"], python=settings["python"],
                job_extra_directives=directives, job_script_prologue=prologue, log_directory=scratch, local_directory=scratch,
                worker_extra_args=["--nthreads", "1", "--resources", offered],
                scheduler_options={"dashboard": False, "dashboard_address": None},
            )  # fmt: skip
        except (OSError, RuntimeError, ValueError) as error:
            raise ClusterProblem(f"no scheduler can be started for Slurm's jobs: {error}") from error
        try:
            # `scale` would leave a dead job dead.
            cluster.adapt(minimum_jobs=jobs, maximum_jobs=jobs, interval="1s")
            yield cluster.scheduler_address
        finally:
            cluster.close()
