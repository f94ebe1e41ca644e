"""A CuPy of the tests: device memory is host memory, kernels are Python functions, and a clock that they advance.

Only what `grader.devices.cuda` and `grader.devices.cuda_timing` call exists.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from types import SimpleNamespace

import numpy as np

from grader.timing.contents import freshened

__all__ = ["FakeCupy", "array_at"]


class CudaError(Exception):
    """Both of CuPy's errors."""


def array_at(address, n: int, dtype) -> np.ndarray:
    """n elements at an address."""
    size = n * np.dtype(dtype).itemsize
    return np.frombuffer((ctypes.c_ubyte * size).from_address(int(address)), dtype)


def _classes(fake: FakeCupy, kernels: dict[bytes, Callable[..., float]]) -> tuple[type, type, type]:
    """CuPy's events, modules and streams: they read the fake's clock and fill its graph."""

    class Event:
        def record(self):
            self.at = fake.now_ns

    class Module:
        def load(self, cubin):
            self.cubin = cubin

        def get_function(self, name):
            return fake._function(name, kernels.get(self.cubin))

    class Stream:
        null = "null"

        def __init__(self, non_blocking=False):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def begin_capture(self):
            fake._captured = []

        def end_capture(self):
            calls, fake._captured = fake._captured, None
            return SimpleNamespace(launch=lambda stream: [call() for call in calls])

    return Event, Module, Stream


class FakeCupy:
    """See the module.

    Args:
        kernels: machine code (as given to a module) -> function of the launch's values, which returns nanoseconds.
        floor_ns: time of an empty launch.
        clock_mhz: of each stamp in turn; the last one stays.
    """

    def __init__(
        self,
        kernels: dict[bytes, Callable[..., float]],
        floor_ns: float = 3000.0,
        clock_mhz: Sequence[float] = (1980.0,),
    ):
        self.now_ns, self.floor_ns, self.clocks = 0.0, floor_ns, list(clock_mhz)
        self._captured: list[Callable[[], None]] | None = None
        self.launched: list[tuple[str, int]] = []  # tools by name, others as "kernel", with their dynamic shared bytes
        self.fills: list[tuple[int, int]] = []  # bytes and nonce of each
        self.shared_limits: dict[str, int] = {}
        event, module, stream = _classes(self, kernels)
        runtime = SimpleNamespace(
            memcpy=lambda to, source, size, kind: ctypes.memmove(int(to), int(source), size),
            memcpyAsync=lambda to, source, size, kind, stream: ctypes.memmove(int(to), int(source), size),
            deviceSynchronize=lambda: None,
            getDeviceProperties=lambda index: {"name": b"Some GPU", "l2CacheSize": 1 << 20, "multiProcessorCount": 2},
            CUDARuntimeError=CudaError,
        )
        device = SimpleNamespace(use=lambda: None, compute_capability="90", id=0, pci_bus_id="0000:01:00.0")
        self.cuda = SimpleNamespace(
            is_available=lambda: True,
            Device=lambda: device,
            Event=event,
            Stream=stream,
            alloc=_allocated,
            runtime=runtime,
            driver=SimpleNamespace(
                CUDADriverError=CudaError,
                funcSetAttribute=lambda ptr, attribute, value: self.shared_limits.update({ptr: value}),
            ),
            function=SimpleNamespace(Module=module),
            get_elapsed_time=lambda start, stop: (stop.at - start.at) / 1e6,
        )
        self.get_default_memory_pool = lambda: SimpleNamespace(free_all_blocks=lambda: None)

    def _function(self, name: str, kernel):
        tools = {"empty": lambda: self.floor_ns, "stamp": self._stamp}
        tools |= {"scrub": lambda words, poison: 0.0, "fill": self._fill}
        for bits, dtype in ((16, np.float16), (32, np.float32), (64, np.float64)):
            tools[f"freshen{bits}"] = lambda address, n, nonce, dtype=dtype: _freshen(address, n, nonce, dtype)
        run = kernel or tools[name]

        def launch(grid, block, values, shared_mem=0):
            def call():
                self.launched.append((name if kernel is None else "kernel", shared_mem))
                self.now_ns += run(*values)

            call() if self._captured is None else self._captured.append(call)

        launch.ptr = name
        return launch

    def _fill(self, address, n, nonce) -> float:
        self.fills.append((16 * int(n), int(nonce)))
        return 0.0

    def _stamp(self, address) -> float:
        clock = self.clocks.pop(0) if len(self.clocks) > 1 else self.clocks[0]
        array_at(address, 2, np.uint64)[:] = round(clock * 10), 10_000
        return 0.0


def _allocated(size: int):
    memory = np.zeros(size, np.uint8)
    return SimpleNamespace(ptr=memory.ctypes.data, memory=memory)


def _freshen(address, n, nonce, dtype) -> float:
    data = array_at(address, int(n), dtype)
    data[:] = freshened(data, int(nonce))
    return 0.0
