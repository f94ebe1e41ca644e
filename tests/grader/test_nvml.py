"""What is read from NVML, over a library of the tests that answers, refuses, or changes nothing when asked to."""

import os
from types import SimpleNamespace

import pytest

from grader.nvml import Nvml, NvmlMissing, _is_worker, gpus, open_gpu
from grader.worker.host import WorkerDevice


class FakeNvml:
    """pynvml with one GPU; a name in `silent` is a question that this driver does not answer."""

    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
    nvmlClocksEventReasonGpuIdle = 1
    nvmlClocksEventReasonSwPowerCap = 4
    nvmlClocksEventReasonHwSlowdown = 8
    nvmlClocksEventReasonHwThermalSlowdown = 64

    class NVMLError(Exception):
        pass

    def __init__(self, processes=(), reasons=1, busy=None, silent=()):
        self.processes, self.reasons, self.busy, self.silent = processes, reasons, busy, silent
        self.asked = []

    def __getattribute__(self, name):
        if name.startswith("nvml") and name in object.__getattribute__(self, "silent"):
            raise AttributeError(name)
        if name.startswith(("nvmlDevice", "nvmlSystem")):
            object.__getattribute__(self, "asked").append(name)
        return object.__getattribute__(self, name)

    def nvmlDeviceGetCount(self):
        return 1

    def nvmlDeviceGetHandleByIndex(self, index):
        return f"gpu {index}"

    def nvmlDeviceGetHandleByPciBusId(self, address):
        if address != b"0000:01:00.0":
            raise self.NVMLError("Not Found")
        return "gpu 0"

    def nvmlDeviceGetName(self, handle):
        return b"NVIDIA H200"

    def nvmlDeviceGetUUID(self, handle):
        return "GPU-1"

    def nvmlSystemGetDriverVersion(self):
        return "580.159.04"

    def nvmlDeviceGetMemoryInfo(self, handle):
        return SimpleNamespace(total=141 * 10**9)

    def nvmlDeviceGetMaxClockInfo(self, handle, which):
        return {1: 1980, 2: 3201}[which]

    def nvmlDeviceGetClockInfo(self, handle, which):
        return {1: 1755, 2: 3201}[which]

    def nvmlDeviceGetMemoryBusWidth(self, handle):
        return 6144

    def nvmlDeviceGetMigMode(self, handle):
        return [0, 0]

    def nvmlDeviceGetComputeMode(self, handle):
        return 0

    def nvmlDeviceGetTemperature(self, handle, which):
        return 41

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle):
        return self.reasons

    def nvmlDeviceGetComputeRunningProcesses(self, handle):
        return [SimpleNamespace(pid=pid) for pid in self.processes]

    def nvmlDeviceGetProcessUtilization(self, handle, since):
        if self.busy is None:
            raise self.NVMLError("Not Supported")
        return [SimpleNamespace(pid=pid, smUtil=use, memUtil=0, timeStamp=10_000_000) for pid, use in self.busy.items()]


def surroundings(own=(), **given):
    return Nvml(FakeNvml(**given), "gpu 0").surroundings(own)


def test_facts_of_a_gpu():
    (gpu,) = gpus(FakeNvml())
    facts = gpu.facts()
    assert (facts.name, facts.uuid, facts.driver) == ("NVIDIA H200", "GPU-1", "580.159.04")
    assert (facts.mig, facts.compute_mode, facts.max_sm_mhz) == ("off", "default", 1980)
    assert facts.peak_bandwidth == pytest.approx(4.917e12, rel=1e-3)


def test_what_a_driver_does_not_answer_is_none():
    silent = ("nvmlDeviceGetMigMode", "nvmlDeviceGetMemoryBusWidth", "nvmlDeviceGetMemoryInfo")
    facts = Nvml(FakeNvml(silent=silent), "gpu 0").facts()
    assert facts.mig == "not supported" and facts.peak_bandwidth is None and facts.memory_bytes is None


def test_reasons_for_low_clocks_are_named_and_idling_is_none():
    assert surroundings(reasons=1).throttle == ()
    assert surroundings(reasons=4 | 64).throttle == ("power cap", "hardware thermal slowdown")
    assert surroundings().sm_mhz == 1755 and surroundings().temperature == 41


@pytest.mark.parametrize(
    ("processes", "own", "busy", "foreign"),
    [
        ((), (7,), None, 0),
        ((7,), (7,), None, 0),
        ((7, 8), (7,), None, 1),
        ((900,), (7,), None, 0),  # our own, under the host's number
        ((900, 901), (7,), None, 1),
        ((7, 8, 9), (7,), {8: 0, 9: 40}, 1),
        ((7, 8), (7,), {7: 90, 8: 0}, 0),
        ((8,), (), None, 1),
    ],
)
def test_who_else_is_on_the_gpu(processes, own, busy, foreign):
    assert surroundings(own, processes=processes, busy=busy).foreign == foreign


def test_a_warm_worker_of_another_notebook_is_not_foreign():
    library = FakeNvml(processes=(7, 8, 9))
    assert Nvml(library, "gpu 0", lambda pid: pid == 8).surroundings((7,)).foreign == 1


def test_a_worker_is_known_by_its_command_line():
    worker = WorkerDevice("simulator")
    try:
        worker.start()
        assert _is_worker(worker._child._process.pid) and not _is_worker(os.getpid()) and not _is_worker(2**22 + 1)
    finally:
        worker.close()


def test_a_gpu_is_found_by_its_address_or_it_is_said():
    assert open_gpu("0000:01:00.0", FakeNvml()).uuid == "GPU-1"
    with pytest.raises(NvmlMissing, match="no GPU at 0000:99"):
        open_gpu("0000:99:00.0", FakeNvml())


def test_nothing_is_ever_set():
    library = FakeNvml(processes=(7, 8))
    gpu = open_gpu("0000:01:00.0", library)
    gpu.facts(), gpu.surroundings((7,))
    assert library.asked and not [name for name in library.asked if "Set" in name or "Reset" in name]
