"""Runs prepared golden kernels on the GPU of this machine, one after the other, in a process that may die of one.

    python3 -m tests.golden.gpu_kernels JOBS OUT NAME …

Each kernel leaves a line in OUT/lines.jsonl (`name`, `error` or "", and the outputs' digests), its outputs in
OUT/AREA-NAME.npz, and a line in OUT/launches.jsonl before each launch. A CUDA error spoils the process, which ends
there: whoever started it goes on with the next. Buffers that nobody fills hold 0xFF bytes, as in the simulator.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from simt.events import Direction
from simt.launch import LaunchConfig
from simt.launch_file import ArgumentSpec, LaunchFile, read_launch_file
from simt.launch_maps import MapSpec
from simt.tensor_map_driver import encode
from tests.golden.kernel_jobs import KERNELS, Job, read_jobs

__all__ = ["SPOILT", "main"]

SPOILT = 3  # exit status after a CUDA error

# cuda.h: CUfunction_attribute and CUlaunchAttributeID.
MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER = 8, 14
COOPERATIVE, CLUSTER_DIMENSION = 2, 4
DEFAULT_SHARED = 48 * 1024
PORTABLE_CLUSTER = 8


class CudaError(RuntimeError):
    """The driver refused a call or found a fault."""


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: an id, then a union of 64 bytes on an 8-byte line."""

    _fields_ = (("id", ctypes.c_int), ("pad", ctypes.c_int), ("value", ctypes.c_uint32 * 16))


class _Config(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = (
        ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared_bytes", ctypes.c_uint),
        ("stream", ctypes.c_void_p), ("attributes", ctypes.POINTER(_Attribute)), ("n_attributes", ctypes.c_uint),
    )  # fmt: skip


class _Driver:
    """The few calls of libcuda that CuPy has no name for."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL("libcuda.so.1")

    def call(self, name: str, *arguments: object) -> None:
        code = getattr(self.library, name)(*arguments)
        if code:
            text = ctypes.c_char_p()
            self.library.cuGetErrorName(code, ctypes.byref(text))
            raise CudaError(f"{name}: {(text.value or b'').decode()} ({code})")

    def launch(self, function: int, config: LaunchConfig, values: list[bytes]) -> None:
        """One launch with parameters as bytes; waits for its end."""
        pointer = ctypes.c_void_p(function)
        dynamic = max(config.shared_bytes, config.max_dynamic_shared or 0)
        if dynamic > DEFAULT_SHARED:
            self.call("cuFuncSetAttribute", pointer, MAX_DYNAMIC_SHARED, dynamic)
        attributes = list(_attributes(config))
        if config.cluster and config.cluster.volume > PORTABLE_CLUSTER:
            self.call("cuFuncSetAttribute", pointer, NON_PORTABLE_CLUSTER, 1)
        row = (_Attribute * max(len(attributes), 1))(*attributes)
        grid, block = ((ctypes.c_uint * 3)(*size) for size in (config.grid, config.block))
        asked = _Config(grid, block, config.shared_bytes, None, row, len(attributes))
        held = [ctypes.create_string_buffer(value, len(value)) for value in values]
        pointers = (ctypes.c_void_p * max(len(held), 1))(*(ctypes.addressof(one) for one in held))
        self.call("cuLaunchKernelEx", ctypes.byref(asked), pointer, pointers, None)
        self.call("cuCtxSynchronize")


def _attributes(config: LaunchConfig) -> Iterator[_Attribute]:
    if config.cooperative:
        yield _Attribute(COOPERATIVE, 0, (ctypes.c_uint32 * 16)(1))
    if config.cluster is not None:
        yield _Attribute(CLUSTER_DIMENSION, 0, (ctypes.c_uint32 * 16)(*config.cluster))


class _Buffers:
    """The arrays of a launch file on the GPU."""

    def __init__(self, file: LaunchFile) -> None:
        import cupy

        self.runtime = cupy.cuda.runtime
        self.addresses: dict[str, int] = {}
        self.arrays: dict[str, np.ndarray] = {}
        for name, spec in file.arguments.items():
            if spec.array is not None:
                self._make(name, spec)

    def _make(self, name: str, spec: ArgumentSpec) -> None:
        assert spec.array is not None
        ready = not spec.array.is_poison
        array = spec.array.array() if ready else np.empty(spec.array.shape, spec.array.dtype)
        if not ready:
            array.reshape(-1).view(np.uint8)[:] = 0xFF
        self.arrays[name] = array = np.ascontiguousarray(array)
        self.addresses[name] = self.runtime.malloc(max(array.nbytes, 1))
        self.runtime.memcpy(self.addresses[name], array.ctypes.data, array.nbytes, self.runtime.memcpyHostToDevice)

    def read(self, name: str) -> np.ndarray:
        got = np.empty_like(self.arrays[name])
        self.runtime.memcpy(got.ctypes.data, self.addresses[name], got.nbytes, self.runtime.memcpyDeviceToHost)
        return got

    def close(self) -> None:
        for address in self.addresses.values():
            self.runtime.free(address)

    def parameter(self, spec: ArgumentSpec) -> bytes:
        """What the kernel gets for an argument; a tensor map is the driver's own."""
        if isinstance(spec.value, MapSpec):
            behind = self.arrays[spec.value.base]
            return encode(spec.value.tensor_map(behind.shape, str(behind.dtype)), self.addresses[spec.value.base])
        if spec.array is not None:
            return np.uint64(self.addresses[spec.name]).tobytes()
        return spec.value if isinstance(spec.value, bytes) else np.asarray(spec.value).tobytes()


def _run(job: Job, jobs: Path, out: Path, driver: _Driver) -> dict[str, object]:
    """Launches a job's steps on the same buffers; answers with its line."""
    import cupy

    file = read_launch_file((KERNELS / job.name).with_suffix(".toml"))
    buffers = _Buffers(file)
    modules = {}
    for step, spec in zip(job.steps, file.launches, strict=True):
        if step.cubin not in modules:
            modules[step.cubin] = module = cupy.cuda.function.Module()
            module.load((jobs / step.cubin).read_bytes())
            _set_constants(module, file, buffers.runtime)
        with (out / "launches.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps({"name": job.name, "kernel": step.kernel}) + "\n")
        values = [buffers.parameter(file.arguments[name]) for name in spec.arguments]
        driver.launch(modules[step.cubin].get_function(step.kernel).ptr, spec.config, values)
    wanted = [name for name, spec in file.arguments.items() if spec.direction in (Direction.OUT, Direction.INOUT)]
    outputs = {name: buffers.read(name) for name in wanted}
    np.savez_compressed(out / f"{job.name.replace('/', '-')}.npz", **outputs)
    buffers.close()
    return {"digests": {name: hashlib.sha256(array.tobytes()).hexdigest() for name, array in outputs.items()}}


def _set_constants(module, file: LaunchFile, runtime) -> None:
    for name, array in file.constants.items():
        raw = np.ascontiguousarray(array)
        runtime.memcpy(module.get_global_var(name), raw.ctypes.data, raw.nbytes, runtime.memcpyHostToDevice)


def main(jobs: Path, out: Path, names: list[str]) -> int:
    """Runs the named jobs; the exit status is `SPOILT` after a CUDA error."""
    import cupy

    cupy.cuda.runtime.free(0)  # makes the context, which the driver's calls need
    driver, known = _Driver(), {job.name: job for job in read_jobs(jobs)}
    for name in names:
        spoilt = False
        try:
            line: dict[str, object] = {"name": name, "error": ""} | _run(known[name], jobs, out, driver)
        except Exception as error:  # one kernel's failure is its own line, whatever it is
            spoilt = isinstance(error, CudaError) or "CUDA" in type(error).__name__
            line = {"name": name, "error": f"{type(error).__name__}: {error}"}
        with (out / "lines.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
        if spoilt:
            return SPOILT
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]))
