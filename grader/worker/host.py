"""Devices that live in a process of their own.

`warm_device` keeps one worker for the edit loop and replaces it after an error; `fresh_device` starts one for a
single submission. Both run the same code in the same jail; see `simt.sandbox`.
"""

from __future__ import annotations

import contextlib
import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cache
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from grader.devices.base import CASE_BUDGET, Device, DeviceLost, DeviceMissing
from grader.devices.checked import Checked
from grader.model import Compiled, RunResult, TimedKernel, Timing, TimingPair, TimingPlan
from grader.worker.cpus import cpu_slots
from grader.worker.memory import give_back
from grader.worker.starting import START_SECONDS, Start, forked, spawned, why_not_started
from grader.worker.wire import Launch, WireProblem, pack_launch, unpack_failure, unpack_result, unpack_trace
from simt.cpus import available_cpus
from simt.events import Argument, Budget
from simt.launch import LaunchConfig
from simt.sandbox import MIB, Child, ChildDied, ChildTimeout, Limits, layers

if TYPE_CHECKING:
    from grader.timing.trace import Trace

__all__ = ["WorkerDevice", "WorkerFailed", "fresh_device", "limits_for", "say_what_is_lacking", "warm_device"]

LOG = logging.getLogger(__name__)
SPARE_SECONDS = 12.0  # for translation and for waiting behind others, beyond the budget's seconds
TIMING_SECONDS = 60.0
GIB = 1 << 30

Unpacked = TypeVar("Unpacked")


class WorkerFailed(RuntimeError):
    """The worker's own code failed; no verdict may rest on it."""


def limits_for(device: str) -> Limits:
    """What a worker with this device may use.

    A CUDA context maps far more address space than it uses (on an H200 8 GiB is too little, 64 GiB is enough), so a
    GPU worker is bound by its heap instead.
    """
    cpu_seconds = 60 * available_cpus()
    if device == "simulator":
        return Limits(
            address_space_bytes=6 * GIB, cpu_seconds=cpu_seconds, wall_seconds=60, open_files=64, message_bytes=2 * GIB
        )
    return Limits(
        address_space_bytes=None, data_bytes=16 * GIB, cpu_seconds=cpu_seconds, wall_seconds=120, open_files=None,
        message_bytes=2 * GIB,
    )  # fmt: skip


def _answer_bytes(arguments: Sequence[Argument]) -> int:
    """The most that a launch with `arguments` can give back: buffers, who wrote each word (8 bytes of 4), findings."""
    return 4 * sum(a.value.nbytes for a in arguments if isinstance(a.value, np.ndarray)) + 32 * MIB


class WorkerDevice:
    """A `Device` whose kernels run in a child process; started by its first job, one job at a time.

    Args:
        device: name of the device in the child.
        start: starts the child, as `spawned` does.

    Raises:
        DeviceMissing: when first used, where this machine has no such device.
    """

    def __init__(self, device: str, start: Start = spawned):
        self._chosen, self._start_child = device, start
        self._limits = limits_for(device)
        self._lock = threading.RLock()
        self._child: Child | None = None
        self._facts: dict = {}

    @property
    def name(self) -> str:
        """The child's device."""
        return self._ready()["name"]

    @property
    def arch(self) -> str:
        """The child's architecture."""
        return self._ready()["arch"]

    @property
    def capabilities(self) -> frozenset[str]:
        """The child's capabilities."""
        return frozenset(self._ready()["capabilities"])

    @property
    def uuid(self) -> str:
        """Of the child's GPU, "" where there is none or nobody tells."""
        return self._ready()["uuid"]

    @property
    def layers(self) -> tuple[str, ...]:
        """The means of confinement that hold in the child."""
        return tuple(self._ready()["layers"])

    def run(
        self,
        compiled: Compiled,
        config: LaunchConfig,
        arguments: Sequence[Argument],
        budget: Budget = CASE_BUDGET,
        *,
        want_writers: bool = False,
    ) -> RunResult:
        """One launch in the child; a child that ends in the middle is replaced for the next one.

        Raises:
            DeviceLost: the child ended or took too long.
            WorkerFailed: its own code failed.
        """
        with self._lock, cpu_slots() as threads:
            launch = Launch(compiled, config, tuple(arguments), budget, want_writers, threads)
            answer = self._ask((b"run", *pack_launch(launch)), budget.seconds + SPARE_SECONDS, _answer_bytes(arguments))
            return self._checked(lambda parts: unpack_result(parts, arguments), answer)

    def time(self, pair: TimingPair, plan: TimingPlan) -> Trace | Timing | None:
        """The child's round or estimate, which no other timing on the same GPU runs beside.

        Raises:
            DeviceLost: the child ended or took too long.
            GpuBusy: the GPU could not be had for this alone.
            WorkerFailed: its own code failed.
        """
        if not self.capabilities & {"timing", "estimates"}:
            return None
        from grader.timing.lock import exclusive

        if plan.fresh_process:
            self.close()
        with self._lock, cpu_slots() as threads, exclusive(self.uuid):
            assert pair.tools is not None, "a timing needs the kernels of grader.timing.tools"
            tools = TimedKernel(pair.tools, pair.student.config)
            launches = [
                Launch(
                    arm.compiled, arm.config, pair.arguments if arm is pair.student else (), CASE_BUDGET, False, threads
                )
                for arm in (pair.baseline, pair.student, tools)
            ]
            parts = [part for launch in launches for part in pack_launch(launch)]
            header = json.dumps({"plan": asdict(plan), "fresh": pair.fresh, "baseline_ns": pair.baseline_ns}).encode()
            return self._checked(unpack_trace, self._ask((b"time", header, *parts), TIMING_SECONDS))

    def _ask(self, message: tuple[bytes, ...], seconds: float, most_bytes: int | None = None) -> tuple[bytes, ...]:
        """The child's answer; it starts with the result's parts and ends with whether the device is spent."""
        self._ready()
        assert self._child is not None
        try:
            answer = self._child.ask(message, seconds, most_bytes)
        except ChildTimeout:
            raise DeviceLost(f"no result within {seconds:g} s", timed_out=True) from None
        except ChildDied as died:
            raise DeviceLost(str(died)) from None
        if len(answer) == 1:
            self.close()
            raise WorkerFailed(unpack_failure(answer))
        if answer[-1:] == (b"spent",):
            self.close()
        return answer[:-1]

    def _checked(self, unpack: Callable[[tuple[bytes, ...]], Unpacked], answer: tuple[bytes, ...]) -> Unpacked:
        try:
            return unpack(answer)
        except WireProblem as problem:
            self.close()
            raise WorkerFailed(str(problem)) from None

    def start(self) -> None:
        """Starts the child unless it is alive.

        Raises:
            DeviceMissing: this machine has no such device.
            DeviceLost: the child ended while it started.
        """
        self._ready()

    def prepare(self) -> None:
        """Starts the child in the background, so that the first job need not wait for it."""

        def start() -> None:
            with contextlib.suppress(DeviceMissing, DeviceLost):
                self._ready()

        threading.Thread(target=start, daemon=True, name="worker-start").start()

    @property
    def spent(self) -> bool:
        """False: a child whose device is spent is replaced."""
        return False

    def close(self) -> None:
        """Ends the child; the next job starts another."""
        with self._lock:
            if self._child is not None:
                self._child.kill()
                self._child = None

    def _ready(self) -> dict:
        """What the child said of itself, starting it where none is alive."""
        with self._lock:
            if self._child is None or not self._child.alive:
                self._start()
            return self._facts

    def _start(self) -> None:
        child = self._start_child(self._chosen, self._limits)
        try:
            self._facts = json.loads(child.wait(START_SECONDS)[0])
        except ChildTimeout:
            raise DeviceLost(f"the worker did not start within {START_SECONDS:g} s", at_start=True) from None
        except ChildDied as died:
            raise DeviceLost(why_not_started(died), at_start=True) from None
        except BaseException:
            child.kill()
            raise
        if "missing" in self._facts:
            child.kill()
            raise DeviceMissing(self._facts["missing"])
        self._child = child


def _guarded(worker: WorkerDevice, name: str) -> Device:
    """`worker` under the mark of its GPU; it is not even started where that is known to be down.

    Raises:
        DeviceLost: it ended while it started.
        DeviceMissing: this machine has no such device.
    """
    from grader.worker.health import Guarded, called_alike, mark_file

    down = next((mark for mark in called_alike(name) if mark.read().is_down), None)
    return Guarded(worker, down or mark_file(name, worker.uuid))


@cache
def _warm(name: str) -> WorkerDevice:
    import atexit

    worker = WorkerDevice(name)
    atexit.register(worker.close)
    return worker


def warm_device(name: str | None = None) -> Device:
    """This process's worker for the device called `name`, the simulator for None; hardware behind the simulator.

    Raises:
        DeviceMissing: no device has this name, or this machine does not have it.
    """
    from grader.devices import DEFAULT, check_name

    chosen = check_name(name)
    _warm(DEFAULT).prepare()
    if chosen == DEFAULT:
        return _warm(DEFAULT)
    return Checked(_guarded(_warm(chosen), chosen), _warm(DEFAULT))


@cache
def say_what_is_lacking() -> None:
    """Logs, once in this process, each layer of the sandbox: a warning for one that this machine does not have."""
    for layer in layers():
        if layer.available:
            LOG.info("sandbox: %s (%s)", layer.name, layer.why)
        else:
            LOG.warning(
                "sandbox without %s: %s; grade other people's work on Linux 5.13 or newer", layer.name, layer.why
            )


@contextlib.contextmanager
def fresh_device(name: str | None = None) -> Iterator[Device]:
    """Workers for one submission, ended with the block."""
    from grader.devices import DEFAULT, check_name

    say_what_is_lacking()
    chosen = check_name(name)
    workers = [WorkerDevice(device, forked) for device in dict.fromkeys((chosen, DEFAULT))]
    try:
        yield workers[0] if chosen == DEFAULT else Checked(_guarded(workers[0], chosen), workers[1])
    finally:
        for worker in workers:
            worker.close()
        give_back()
