"""Runs the cases of opcodes on the GPU of this machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from tests.golden.replay import LANES, Case, Results
from tests.simt.isa.kernels import entry, module_for

__all__ = ["PTX_VERSION", "replayed"]

CASES_A_MODULE = 160
PTX_VERSION = "8.8"  # old enough for every driver of the 13.x series, new enough for every form of sm_90


def replayed(chosen: Iterable[Case], target: str) -> Iterator[tuple[Case, Results]]:
    """Each case with what the GPU gave; the driver turns the PTX into machine code."""
    import cupy

    every = list(chosen)
    for start in range(0, len(every), CASES_A_MODULE):
        batch = every[start : start + CASES_A_MODULE]
        text = module_for((entry(c.form, f"case{i}", c.constants) for i, c in enumerate(batch)), PTX_VERSION, target)
        module = cupy.cuda.function.Module()
        module.load(text.encode() + b"\0")
        for index, case in enumerate(batch):
            yield case, _run(module.get_function(f"case{index}"), case)


def _run(function, case: Case) -> Results:
    """The results of one case, one thread an element."""
    import cupy

    n = len(case.sources[0])
    types = case.form.op.shape(case.form).results
    results = [cupy.asarray(np.full(n * type_.n_bytes, 0xA5, np.uint8)) for type_ in types]
    sources = [
        cupy.asarray(np.frombuffer(source.tobytes(), np.uint8))
        for index, source in enumerate(case.sources)
        if index not in case.constants
    ]
    function((n // LANES,), (LANES,), (*results, *sources))
    return tuple(np.frombuffer(r.get().tobytes(), type_.dtype) for r, type_ in zip(results, types, strict=True))
