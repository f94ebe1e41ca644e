"""Kernels with structures by value: what cuLaunchKernel is given. No GPU."""

import ctypes
from types import SimpleNamespace

import numpy as np

from grader.devices.cuda_launch import by_value, start_by_address
from simt.launch import Dim3, LaunchConfig


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
    assert seen["function"] == 9 and seen["shape"] == [2, 3, 1, 64, 1, 1, 48] and seen["stream"] == 5 and seen["extra"] == 0
    assert seen["values"] == [bytes(range(128)), *(np.asarray(v).tobytes() for v in values[1:])]
