"""A GPU through CuPy: loads the machine code that the grader compiled, runs it, and times it with events.

Only CuPy's runtime and driver calls are used, none of its kernels, so nothing is compiled here. Every buffer lies
between guard zones of NaN; outputs start as NaN. What a GPU cannot tell (counters, races, uninitialised reads) is
the simulator's: `grader.devices.checked` puts both together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.devices.base import CASE_BUDGET, DeviceMissing
from grader.model import Compiled, RunResult, Timing, TimingPair, TimingPlan
from simt.arch import ARCHES
from simt.arch import arch as arch_of
from simt.counters import Counters
from simt.diagnostics import Diagnostic, diagnose
from simt.events import Argument, Budget, Direction, LaunchResult, Status
from simt.launch import LaunchConfig, check_launch

__all__ = ["Cuda"]

GUARD_BYTES = 1 << 20
# NaN as float16, bfloat16, float32 and float64, whichever part of it a type sees; no count, index or class number.
POISON = 0xFFFEFFFD
TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3  # cudaMemcpyKind

# What the driver calls an error -> the finding it is; the driver does not say which instruction it was.
ERRORS = {
    "ILLEGAL_ADDRESS": ("memcheck.global.read-oob", "an access outside every buffer"),
    "illegal memory access": ("memcheck.global.read-oob", "an access outside every buffer"),
    "MISALIGNED": ("memcheck.misaligned", "an address that is no multiple of the access size"),
    "misaligned": ("memcheck.misaligned", "an address that is no multiple of the access size"),
    "ASSERT": ("runtime.assert", "a device assert that failed"),
    "assert": ("runtime.assert", "a device assert that failed"),
    "INVALID_VALUE": ("launch.block-limit", "a launch that it does not accept"),
    "OUT_OF_RESOURCES": ("launch.registers", "a launch that needs more than it has"),
}


class Cuda:
    """The current CUDA device of this process.

    Raises:
        DeviceMissing: no CuPy, no driver or no GPU.
    """

    name = "cuda"

    def __init__(self) -> None:
        try:
            import cupy
        except ImportError as error:
            raise DeviceMissing(f"CuPy is not installed ({error}); `pip install cupy-cuda13x` brings it") from None
        if not cupy.cuda.is_available():
            raise DeviceMissing("CuPy finds no GPU with a working driver")
        self.cp = cupy
        self.device = cupy.cuda.Device()
        self.device.use()
        self.arch = _newest_known(self.device.compute_capability)
        limit = arch_of(self.arch).capability
        known = {arch.name for arch in ARCHES if arch.capability <= limit}
        self.capabilities = frozenset({"cuda", "timing", *known})
        properties = cupy.cuda.runtime.getDeviceProperties(self.device.id)
        self.product = properties["name"].decode()
        self.l2_bytes = int(properties["l2CacheSize"])
        self.spent = False

    def run(
        self,
        compiled: Compiled,
        config: LaunchConfig,
        arguments: Sequence[Argument],
        budget: Budget = CASE_BUDGET,
        *,
        want_writers: bool = False,
    ) -> RunResult:
        """One launch. An endless kernel holds this process until it is killed: run it in a worker."""
        resources = compiled.resources
        refused = check_launch(
            config,
            arch_of(self.arch),
            static_shared_bytes=resources.static_shared_bytes,
            registers=resources.registers,
        )
        refused += tuple(_unfit(arguments))
        if refused:
            return _result(Status.REJECTED, config, refused)
        try:
            with _Buffers(self.cp, arguments) as buffers:
                function = self._function(compiled, config)
                self._start(function, config, buffers.values)
                self.cp.cuda.runtime.deviceSynchronize()
                return _finished(config, arguments, buffers)
        except (self.cp.cuda.driver.CUDADriverError, self.cp.cuda.runtime.CUDARuntimeError) as error:
            self.spent = True
            return _result(Status.STOPPED, config, (_finding(str(error)),))

    def _function(self, compiled: Compiled, config: LaunchConfig):
        module = self.cp.cuda.function.Module()
        module.load(compiled.cubin)
        function = module.get_function(compiled.kernel)
        if config.max_dynamic_shared:
            # cuda.h: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES is 8
            self.cp.cuda.driver.funcSetAttribute(function.ptr, 8, config.max_dynamic_shared)
        return function

    def _start(self, function, config: LaunchConfig, values: Sequence[object]) -> None:
        function(tuple(config.grid), tuple(config.block), tuple(values), shared_mem=config.shared_bytes)

    def time(self, pair: TimingPair, plan: TimingPlan) -> Timing | None:
        """Pairs of cold launches in random order, each between two events.

        Before every launch, outside the events, the inputs are copied anew, the outputs poisoned, and the L2 cache is
        flushed by writing twice its size.
        """
        from grader.devices.pairs import summarise

        rng = np.random.default_rng(plan.seed)
        with _Buffers(self.cp, pair.arguments) as buffers, _Flush(self.cp, self.l2_bytes) as flush:
            arms = [(self._function(arm.compiled, arm.config), arm.config) for arm in (pair.baseline, pair.student)]
            samples = np.zeros((plan.pairs + plan.warm_up, 2))
            for row in samples:
                for arm in rng.permutation(2):
                    function, config = arms[arm]
                    row[arm] = self._once(function, config, buffers, flush)
        return summarise(samples[plan.warm_up :], self.product)

    def _once(self, function, config: LaunchConfig, buffers: _Buffers, flush: _Flush) -> float:
        """Nanoseconds of one launch."""
        start, stop = self.cp.cuda.Event(), self.cp.cuda.Event()
        buffers.refresh()
        flush.write()
        start.record()
        self._start(function, config, buffers.values)
        stop.record()
        stop.synchronize()
        return self.cp.cuda.get_elapsed_time(start, stop) * 1e6

    def close(self) -> None:
        """Gives cached memory back."""
        if not self.spent:
            self.cp.get_default_memory_pool().free_all_blocks()


def _newest_known(capability: str) -> str:
    """The newest architecture of `simt.arch` whose machine code runs on `capability`, "90" or "103"."""
    major, minor = int(capability[:-1]), int(capability[-1])
    fitting = [a for a in ARCHES if a.capability[0] == major and a.capability[1] <= minor]
    if not fitting:
        raise DeviceMissing(f"GPUs of compute capability {major}.{minor} are not known here")
    return max(fitting, key=lambda a: a.capability).name


def _unfit(arguments: Sequence[Argument]) -> Iterator[Diagnostic]:
    for argument in arguments:
        value = argument.value
        if isinstance(value, np.ndarray) and not value.flags.c_contiguous:
            yield diagnose(
                "host.non-contiguous",
                f"argument {argument.name} is not C-contiguous (strides {value.strides}); the kernel reads it as if it were",
                help=f"pass np.ascontiguousarray({argument.name})",
            )


@dataclass(slots=True)
class _Buffer:
    """One allocation: guard, data, guard; and what belongs there before each launch."""

    argument: Argument
    memory: Any
    image: np.ndarray
    pristine: Any

    @property
    def address(self) -> int:
        return self.memory.ptr + GUARD_BYTES


class _Buffers:
    """Device memory of a launch's arguments."""

    def __init__(self, cp, arguments: Sequence[Argument]):
        self._cp = cp
        self.rows: list[_Buffer] = []
        self.values: list[object] = []
        for argument in arguments:
            if isinstance(argument.value, np.ndarray):
                row = self._buffer(argument)
                self.rows.append(row)
                self.values.append(np.uint64(row.address + argument.offset_bytes))
            else:
                self.values.append(argument.value)
        self.refresh()

    def __enter__(self) -> _Buffers:
        return self

    def __exit__(self, *_: object) -> None:
        self.rows.clear()

    def _buffer(self, argument: Argument) -> _Buffer:
        value = argument.value
        assert isinstance(value, np.ndarray)
        padded = -(-value.nbytes // 256) * 256
        image = np.full((padded + 2 * GUARD_BYTES) // 4, POISON, np.uint32).view(np.uint8)
        poisoned = argument.direction is Direction.OUT if argument.initialised is None else not argument.initialised
        if not poisoned:
            image[GUARD_BYTES : GUARD_BYTES + value.nbytes] = np.frombuffer(value.tobytes(), np.uint8)
        memory, pristine = self._cp.cuda.alloc(image.nbytes), self._cp.cuda.alloc(image.nbytes)
        self._cp.cuda.runtime.memcpy(pristine.ptr, image.ctypes.data, image.nbytes, TO_DEVICE)
        return _Buffer(argument, memory, image, pristine)

    def refresh(self) -> None:
        """Puts every buffer back to what it held before the first launch."""
        for row in self.rows:
            self._cp.cuda.runtime.memcpyAsync(row.memory.ptr, row.pristine.ptr, row.image.nbytes, ON_DEVICE, 0)

    def read(self, row: _Buffer) -> np.ndarray:
        """The whole allocation as bytes, guards included."""
        found = np.empty_like(row.image)
        self._cp.cuda.runtime.memcpy(found.ctypes.data, row.memory.ptr, found.nbytes, TO_HOST)
        return found


class _Flush:
    """A buffer that pushes everything else out of the L2 cache when it is written."""

    def __init__(self, cp, l2_bytes: int):
        self._cp = cp
        self._size = max(2 * l2_bytes, 64 << 20)
        self._memory = cp.cuda.alloc(self._size)
        self._value = 0

    def __enter__(self) -> _Flush:
        return self

    def __exit__(self, *_: object) -> None:
        self._memory = None

    def write(self) -> None:
        """Writes the whole buffer with another value each time."""
        self._value = (self._value + 1) % 256
        self._cp.cuda.runtime.memsetAsync(self._memory.ptr, self._value, self._size, 0)


def _finished(config: LaunchConfig, arguments: Sequence[Argument], buffers: _Buffers) -> RunResult:
    """The result of a launch that came to its end: outputs, guards, inputs."""
    outputs, modified, findings = {}, [], []
    for row in buffers.rows:
        found, value = buffers.read(row), row.argument.value
        assert isinstance(value, np.ndarray)
        inside = slice(GUARD_BYTES, GUARD_BYTES + value.nbytes)
        data = found[inside].view(value.dtype).reshape(value.shape)
        changed = not np.array_equal(found[inside], row.image[inside])
        if row.argument.direction is not Direction.IN:
            outputs[row.argument.name] = data
            findings += _unwritten(row, found[inside])
        elif changed:
            outputs[row.argument.name] = data
            modified.append(row.argument.name)
        findings += _guard_findings(row, found, value.nbytes)
    status = Status.FINDINGS if findings else Status.OK
    return _result(status, config, tuple(findings), outputs, tuple(modified))


def _unwritten(row: _Buffer, data: np.ndarray) -> list[Diagnostic]:
    """A finding where an output still holds poison."""
    if row.argument.direction is not Direction.OUT or data.nbytes % 4:
        return []
    words = int(np.count_nonzero(data.view(np.uint32) == POISON))
    if not words:
        return []
    total = data.nbytes // 4
    message = f"{words} of {total} words of `{row.argument.name}` were never written"
    return [diagnose("coverage.unwritten-output", message, help="which thread should write them? Check grid and guard")]


def _guard_findings(row: _Buffer, found: np.ndarray, size: int) -> list[Diagnostic]:
    """A finding for the first changed byte before and behind a buffer."""
    findings = []
    for place, start, stop in (("before", 0, GUARD_BYTES), ("behind", GUARD_BYTES + size, found.size)):
        changed = np.flatnonzero(found[start:stop] != row.image[start:stop])
        if changed.size:
            distance = GUARD_BYTES - int(changed[-1]) if place == "before" else int(changed[0])
            end = "start" if place == "before" else "end"
            findings.append(
                diagnose(
                    "memcheck.global.write-oob",
                    f"a write {distance} bytes {place} the {end} of `{row.argument.name}`",
                    help="guard the store with the array's size",
                )
            )
    return findings


def _finding(error: str) -> Diagnostic:
    for word, (check, what) in ERRORS.items():
        if word in error:
            message = f"the GPU stopped the kernel at {what}"
            return diagnose(check, message, help="the simulator names the line: --device simulator")
    return diagnose("runtime.trap", f"the GPU stopped the kernel: {error}")


def _result(
    status: Status,
    config: LaunchConfig,
    findings: tuple[Diagnostic, ...],
    outputs: dict[str, np.ndarray] | None = None,
    modified: tuple[str, ...] = (),
) -> RunResult:
    ran = 0 if status is Status.REJECTED else config.grid.volume
    return LaunchResult(
        status, outputs or {}, Counters(), {}, findings, ran, config.grid.volume, 0, modified, checks=frozenset()
    )
