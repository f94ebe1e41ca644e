"""What NVIDIA's management library says of a GPU: facts, clocks, why they are low, and who else is on it.

Read only: nothing here changes a clock, a mode or a partition. A question that a driver does not answer is None, never
an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from grader.timing.trace import Surroundings

__all__ = ["Facts", "Nvml", "NvmlMissing", "gpus", "open_gpu"]

# Reasons that say the chip is held back, by NVML's names (nvml.h, NVML_CLOCKS_EVENT_REASON_*). An idle GPU and clocks
# that an administrator chose are no disturbance.
THROTTLE = {
    "nvmlClocksEventReasonSwPowerCap": "power cap",
    "nvmlClocksEventReasonHwSlowdown": "hardware slowdown",
    "nvmlClocksEventReasonSyncBoost": "sync boost",
    "nvmlClocksEventReasonSwThermalSlowdown": "software thermal slowdown",
    "nvmlClocksEventReasonHwThermalSlowdown": "hardware thermal slowdown",
    "nvmlClocksEventReasonHwPowerBrakeSlowdown": "power brake",
}
WORKER = b"/grader/worker/child.py"  # a word of its command line
BUSY_WINDOW_US = 2_000_000  # NVML's samples of a process's use reach back about so far


class NvmlMissing(RuntimeError):
    """There is no NVML here, or it does not know the GPU."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What does not change while a GPU is in use.

    Attributes:
        name, uuid, driver: as NVML writes them.
        memory_bytes: of the device.
        max_sm_mhz, max_memory_mhz: the highest clocks.
        bus_bits: width of the memory bus.
        mig: "off", "on", or "not supported".
        compute_mode: "default", "exclusive process", "prohibited".
    """

    name: str
    uuid: str
    driver: str
    memory_bytes: int | None
    max_sm_mhz: int | None
    max_memory_mhz: int | None
    bus_bits: int | None
    mig: str
    compute_mode: str

    @property
    def peak_bandwidth(self) -> float | None:
        """Bytes a second: two transfers a clock over the whole bus."""
        if not self.max_memory_mhz or not self.bus_bits:
            return None
        return 2.0 * self.max_memory_mhz * 1e6 * self.bus_bits / 8


COMPUTE_MODES = {0: "default", 2: "prohibited", 3: "exclusive process"}  # nvml.h, nvmlComputeMode_t


class Nvml:
    """One GPU of an opened library.

    Args:
        library: the module `pynvml`, initialised.
        handle: of the GPU.
        is_worker: whether a process id is a worker's of the course; None looks at its command line.
    """

    def __init__(self, library: ModuleType | Any, handle: Any, is_worker: Callable[[int], bool] | None = None):
        self._library, self._handle = library, handle
        self._is_worker = is_worker or _is_worker

    def _ask(self, function: str, *arguments: object) -> Any:
        """The answer of an NVML function about this GPU; None where the driver has none."""
        try:
            return getattr(self._library, function)(self._handle, *arguments)
        except (self._library.NVMLError, AttributeError):
            return None

    def facts(self) -> Facts:
        """See `Facts`."""
        library = self._library
        memory = self._ask("nvmlDeviceGetMemoryInfo")
        return Facts(
            name=_text(self._ask("nvmlDeviceGetName")),
            uuid=self.uuid,
            driver=_text(_quietly(library, library.nvmlSystemGetDriverVersion)),
            memory_bytes=int(memory.total) if memory else None,
            max_sm_mhz=self._ask("nvmlDeviceGetMaxClockInfo", library.NVML_CLOCK_SM),
            max_memory_mhz=self._ask("nvmlDeviceGetMaxClockInfo", library.NVML_CLOCK_MEM),
            bus_bits=self._ask("nvmlDeviceGetMemoryBusWidth"),
            mig=self._mig(),
            compute_mode=COMPUTE_MODES.get(self._ask("nvmlDeviceGetComputeMode"), "unknown"),
        )

    @property
    def uuid(self) -> str:
        """`GPU-…`, "" where it is not told."""
        return _text(self._ask("nvmlDeviceGetUUID"))

    def _mig(self) -> str:
        mode = self._ask("nvmlDeviceGetMigMode")
        return "not supported" if mode is None else "on" if mode[0] else "off"

    def surroundings(self, own: Iterable[int] = ()) -> Surroundings:
        """Clocks, temperature, reasons for low clocks and foreign processes now; `own` are the ids of our processes."""
        library = self._library
        return Surroundings(
            sm_mhz=self._ask("nvmlDeviceGetClockInfo", library.NVML_CLOCK_SM),
            memory_mhz=self._ask("nvmlDeviceGetClockInfo", library.NVML_CLOCK_MEM),
            temperature=self._ask("nvmlDeviceGetTemperature", library.NVML_TEMPERATURE_GPU),
            throttle=self._throttle(),
            foreign=self._foreign(frozenset(own)),
        )

    def _throttle(self) -> tuple[str, ...]:
        mask = self._ask("nvmlDeviceGetCurrentClocksEventReasons")
        if mask is None:
            mask = self._ask("nvmlDeviceGetCurrentClocksThrottleReasons")
        return tuple(says for name, says in THROTTLE.items() if (mask or 0) & getattr(self._library, name, 0))

    def _foreign(self, own: frozenset[int]) -> int:
        """Processes that compute on the GPU besides ours, and are not known to have been idle.

        In a container NVML may give process ids of the host. Where none of ours is among them, one is taken for ours.
        Warm workers of other notebooks are ours too: what they time waits for the same lock.
        """
        running = [process.pid for process in self._ask("nvmlDeviceGetComputeRunningProcesses") or ()]
        others = [pid for pid in running if pid not in own]
        if own and len(others) == len(running):
            others = others[1:]
        others = [pid for pid in others if not self._is_worker(pid)]
        if not others:
            return 0
        busy = self._busy()
        return len(others) if busy is None else sum(pid in busy for pid in others)

    def _busy(self) -> frozenset[int] | None:
        """Processes that used an SM or the memory of late; None where the driver does not tell."""
        samples = self._ask("nvmlDeviceGetProcessUtilization", 0)
        if not samples:
            return None
        newest = max(sample.timeStamp for sample in samples)
        return frozenset(
            sample.pid
            for sample in samples
            if (sample.smUtil or sample.memUtil) and newest - sample.timeStamp < BUSY_WINDOW_US
        )


def _is_worker(pid: int) -> bool:
    """True for a worker of the course, where the system tells a process's command line."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.endswith(WORKER) for word in words[1:3])


def _quietly(library: Any, function: Callable[[], Any]) -> Any:
    try:
        return function()
    except library.NVMLError:
        return None


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value or "")


def _library() -> ModuleType:
    """`pynvml`, initialised.

    Raises:
        NvmlMissing: it is not installed, or there is no driver.
    """
    try:
        import pynvml
    except ImportError as error:
        raise NvmlMissing(f"nvidia-ml-py is not installed ({error})") from None
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise NvmlMissing(f"NVML does not start: {error}") from None
    return pynvml


def open_gpu(pci_bus_id: str, library: ModuleType | Any | None = None) -> Nvml:
    """The GPU at a PCI address, as CUDA gives it.

    Raises:
        NvmlMissing: see there.
    """
    library = library or _library()
    try:
        return Nvml(library, library.nvmlDeviceGetHandleByPciBusId(pci_bus_id.encode()))
    except library.NVMLError as error:
        raise NvmlMissing(f"NVML knows no GPU at {pci_bus_id}: {error}") from None


def gpus(library: ModuleType | Any | None = None) -> tuple[Nvml, ...]:
    """Every GPU of this machine.

    Raises:
        NvmlMissing: there is no NVML here.
    """
    library = library or _library()
    return tuple(
        Nvml(library, library.nvmlDeviceGetHandleByIndex(index)) for index in range(library.nvmlDeviceGetCount())
    )
