"""What profilers run: one launch out of a file, in buffers of exactly their size, outputs unset.

Run as a script: `python -I ncu_target.py ROOT JOB`. Nothing is judged here; the tool that watches says what it saw.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    """Loads the job, launches it once and waits for its end."""
    root, job = sys.argv[1:]
    sys.path.insert(0, root)
    import cupy
    import numpy as np

    from grader.ncu_job import read_job
    from simt.events import Direction

    launch = read_job(Path(job))
    runtime = cupy.cuda.runtime
    values: list[object] = []
    for argument in launch.arguments:
        value = argument.value
        if not isinstance(value, np.ndarray):
            values.append(value)
            continue
        address = runtime.malloc(max(value.nbytes, 1))
        if argument.direction is not Direction.OUT:
            runtime.memcpy(address, value.ctypes.data, value.nbytes, runtime.memcpyHostToDevice)
        values.append(np.uint64(address + argument.offset_bytes))
    module = cupy.cuda.function.Module()
    module.load(launch.compiled.cubin)
    function = module.get_function(launch.compiled.kernel)
    config = launch.config
    if config.max_dynamic_shared:
        # cuda.h: CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES is 8
        cupy.cuda.driver.funcSetAttribute(function.ptr, 8, config.max_dynamic_shared)
    function(tuple(config.grid), tuple(config.block), tuple(values), shared_mem=config.shared_bytes)
    runtime.deviceSynchronize()


if __name__ == "__main__":
    main()
