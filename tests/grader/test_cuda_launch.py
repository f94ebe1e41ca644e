"""Launches through a CuPy of the tests: structures by value as cuLaunchKernel gets them, and how long a run took."""

import ctypes
import sys
from types import SimpleNamespace

import numpy as np

from grader.devices import cuda
from grader.devices.checked import Checked
from grader.devices.cuda_launch import by_value, start_by_address
from grader.model import Compiled, Resources
from simt.events import Argument, Direction, Status
from simt.launch import Dim3, LaunchConfig
from tests.grader.fake import FakeDevice
from tests.grader.timing.fake_cupy import FakeCupy, array_at


def test_each_parameter_lies_where_the_table_says():
    seen = {}

    def launch(function, *numbers):
        *shape, stream, table, extra = numbers
        places = (ctypes.c_void_p * 4).from_address(table)
        sizes = (128, 8, 4, 8)
        seen.update(function=function, shape=shape, stream=stream, extra=extra)
        seen["values"] = [ctypes.string_at(place, size) for place, size in zip(places, sizes, strict=True)]

    cp = SimpleNamespace(cuda=SimpleNamespace(
        get_current_stream=lambda: SimpleNamespace(ptr=5), driver=SimpleNamespace(launchKernel=launch)
    ))  # fmt: skip
    values = [bytes(range(128)), np.uint64(1 << 40), np.int32(-2), 2.5]
    assert by_value(values) and not by_value(values[1:])
    start_by_address(cp, SimpleNamespace(ptr=9), LaunchConfig(Dim3(2, 3), Dim3(64), 48), values)
    assert (
        seen["function"] == 9
        and seen["shape"] == [2, 3, 1, 64, 1, 1, 48]
        and seen["stream"] == 5
        and seen["extra"] == 0
    )
    assert seen["values"] == [bytes(range(128)), *(np.asarray(v).tobytes() for v in values[1:])]


def test_a_run_takes_until_everything_is_printed_and_counts_against_the_time_of_its_cases(monkeypatch):
    def ones(y):
        array_at(y, 32, np.float32)[:] = 1
        return 1000.0

    monkeypatch.setitem(sys.modules, "cupy", FakeCupy({b"ones": ones}))
    monkeypatch.setattr(cuda, "monotonic", iter([1.0, 19.0, 30.0, 32.0]).__next__)
    compiled = Compiled("", b"ones", "ones", "sm_90", Resources(8, 0, 0, 0), "", "digest", "")
    arguments = (Argument("y", Direction.OUT, np.zeros(32, np.float32)),)
    hardware = cuda.Cuda()
    ran = hardware.run(compiled, LaunchConfig(Dim3(1), Dim3(32)), arguments)
    assert ran.status is Status.OK and ran.seconds == {"run": 18.0}
    simulator = FakeDevice(lambda y: {"y": y * 0 + 1})
    checked = Checked(hardware, simulator).run(compiled, LaunchConfig(Dim3(1), Dim3(32)), arguments)
    assert checked.seconds["run"] == 2.0
