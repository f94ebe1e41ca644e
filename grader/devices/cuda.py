"""A GPU through CuPy: loads the machine code that the grader compiled, runs it, and times it with events.

Only CuPy's runtime and driver calls are used, none of its kernels, so nothing is compiled here. Every buffer lies
between guard zones of NaN; outputs start as NaN. What a GPU cannot tell (counters, races, uninitialised reads) is
the simulator's: `grader.devices.checked` puts both together.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from grader.devices.base import CASE_BUDGET, DeviceMissing
from grader.devices.cuda_launch import by_value, start_by_address
from grader.devices.cuda_memory import Buffers, guard_findings, unwritten
from grader.model import Compiled, RunResult, TimingPair, TimingPlan
from grader.timing.trace import Surroundings, Trace
from simt.arch import ARCHES
from simt.arch import arch as arch_of
from simt.counters import Counters
from simt.diagnostics import Diagnostic, diagnose
from simt.events import Argument, Budget, Direction, LaunchResult, Status
from simt.launch import LaunchConfig, check_launch
from simt.tensor_map import TensorMap, broken_rules

if TYPE_CHECKING:
    from grader.nvml import Nvml

__all__ = ["Cuda"]

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
NO_MEMORY = "out of memory"  # in what cudaGetErrorString and cuGetErrorString say of it


class Cuda:
    """The current CUDA device of this process.

    Raises:
        DeviceMissing: no CuPy, no driver or no GPU.
    """

    name = "cuda"

    def __init__(self) -> None:
        _find_cupys_cache()
        try:
            import cupy
        except ImportError as error:
            raise DeviceMissing(f"CuPy is not installed ({error}); `pip install cupy-cuda13x` brings it") from None
        if not cupy.cuda.is_available():
            chosen = os.environ.get("CUDA_VISIBLE_DEVICES")
            among = "" if chosen is None else f" among those that CUDA_VISIBLE_DEVICES={chosen!r} leaves"
            raise DeviceMissing(f"CuPy finds no GPU with a working driver{among}")
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
        self.sm_count = int(properties["multiProcessorCount"])
        self._nvml = _opened_nvml(self.device.pci_bus_id)
        facts = self._nvml.facts() if self._nvml else None
        self.driver = facts.driver if facts else ""
        # Where nobody tells the UUID, the address tells one GPU of a machine from another just as well.
        self.uuid = (facts.uuid if facts else "") or f"GPU-at-{self.device.pci_bus_id}"
        self.peak_bandwidth = (facts.peak_bandwidth if facts else None) or 0.0
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
        """One launch. An endless kernel holds this process until it is killed: run it in a worker.

        One that ends after the budget's seconds used up its budget, printing included.
        """
        resources = compiled.resources
        refused = check_launch(
            config,
            arch_of(self.arch),
            static_shared_bytes=resources.static_shared_bytes,
            registers=resources.registers,
        )
        refused += tuple(_unfit(arguments))
        refused += tuple(d for a in arguments if isinstance(a.value, TensorMap) for d in broken_rules(a.name, a.value))
        if refused:
            return _result(Status.REJECTED, config, refused)
        try:
            with Buffers(self.cp, arguments) as buffers:
                function = self.function(compiled, config)
                begun = monotonic()
                self.start(function, config, buffers.values)
                self.cp.cuda.runtime.deviceSynchronize()
                # What the kernel printed has been written by then, too, which can take far longer than the kernel.
                seconds = monotonic() - begun
                late = seconds > budget.seconds
                result = _late(config, seconds, budget) if late else _finished(config, arguments, buffers)
                return replace(result, seconds={"run": seconds})
        except (self.cp.cuda.driver.CUDADriverError, self.cp.cuda.runtime.CUDARuntimeError) as error:
            self._lost(error)
            return _result(Status.STOPPED, config, (_finding(str(error)),))

    def _lost(self, error: Exception) -> None:
        """Nothing more runs in this process.

        Raises:
            MemoryError: the GPU has too little memory, mostly because others hold it: that decides nothing.
        """
        self.spent = True
        if NO_MEMORY in str(error):
            raise MemoryError(f"the GPU has too little memory left ({error})") from None

    def load(self, compiled: Compiled):
        """The module in `compiled`'s machine code."""
        module = self.cp.cuda.function.Module()
        module.load(compiled.cubin)
        return module

    def function(self, compiled: Compiled, config: LaunchConfig):
        """The kernel, ready for launches of this configuration."""
        function = self.load(compiled).get_function(compiled.kernel)
        if config.max_dynamic_shared:
            self.allow_shared(function, config.max_dynamic_shared)
        return function

    def allow_shared(self, function, shared_bytes: int) -> None:
        """Lets launches of a kernel ask for so much dynamic shared memory."""
        # cuda.h: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES is 8
        self.cp.cuda.driver.funcSetAttribute(function.ptr, 8, shared_bytes)

    def start(self, function, config: LaunchConfig, values: Sequence[object]) -> None:
        """Queues one launch on the current stream."""
        if by_value(values):
            start_by_address(self.cp, function, config, values)
        else:
            function(tuple(config.grid), tuple(config.block), tuple(values), shared_mem=config.shared_bytes)

    def time(self, pair: TimingPair, plan: TimingPlan) -> Trace | None:
        """One round of pairs; a kernel that the GPU stopped leaves none, and what stopped it."""
        from grader.devices.cuda_timing import PairTimer

        try:
            with contextlib.closing(PairTimer(self, pair)) as timer:
                return timer.run(plan)
        except (self.cp.cuda.driver.CUDADriverError, self.cp.cuda.runtime.CUDARuntimeError) as error:
            self._lost(error)
            nothing = np.zeros(0)
            return Trace(
                nothing, nothing, nothing, nothing, nothing, self.product, self.driver, self.uuid, seed=plan.seed,
                findings=(_finding(str(error)),),
            )  # fmt: skip

    def surroundings(self) -> Surroundings:
        """What NVML says now; empty where there is none."""
        return self._nvml.surroundings((os.getpid(),)) if self._nvml else Surroundings()

    def close(self) -> None:
        """Gives cached memory back."""
        if not self.spent:
            self.cp.get_default_memory_pool().free_all_blocks()


def _find_cupys_cache() -> None:
    """Lets CuPy be imported where no folder can be made at home, such as by a service's user.

    CuPy makes a folder for kernels that it compiles while it is imported, and fails where it cannot. Nothing here lets it
    compile any, so any folder that is there will do. Source: cupy/cuda/_compiler_cache.py of CuPy 14.2.
    """
    if "CUPY_CACHE_DIR" in os.environ:
        return
    try:
        os.makedirs(os.path.expanduser("~/.cupy/kernel_cache"), exist_ok=True)
    except OSError:
        os.environ["CUPY_CACHE_DIR"] = os.path.dirname(__file__)


def _opened_nvml(pci_bus_id: str) -> Nvml | None:
    """NVML's view of the device; None where there is none, and nothing is then known of its surroundings."""
    from grader.nvml import NvmlMissing, open_gpu

    try:
        return open_gpu(pci_bus_id)
    except NvmlMissing:
        return None


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


def _finished(config: LaunchConfig, arguments: Sequence[Argument], buffers: Buffers) -> RunResult:
    """The result of a launch that came to its end: outputs, guards, inputs."""
    outputs, modified, findings = {}, [], []
    for row in buffers.rows:
        found, inside = buffers.read(row), row.inside
        changed = not np.array_equal(found[inside], row.image[inside])
        if row.argument.direction is not Direction.IN:
            outputs[row.argument.name] = row.data(found)
            findings += unwritten(row, found[inside])
        elif changed:
            outputs[row.argument.name] = row.data(found)
            modified.append(row.argument.name)
        findings += guard_findings(row, found)
    status = Status.FINDINGS if findings else Status.OK
    return _result(status, config, tuple(findings), outputs, tuple(modified))


def _late(config: LaunchConfig, seconds: float, budget: Budget) -> RunResult:
    """The result of a launch that ended too late; what it left is not looked at."""
    message = (
        f"the launch took {seconds:.1f} s until all that it printed was written, and a case has {budget.seconds:.3g} s"
    )
    help = "does each loop end, and does printf write no more than it must, such as a line from one thread?"
    return _result(Status.BUDGET, config, (diagnose("runtime.budget", message, help=help),))


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
