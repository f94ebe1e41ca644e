"""Estimated times of baselines, kept on disk by digest: a baseline takes the same time until it or the model changes.

Only the grading process writes here; a worker may read its folder and no more.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import simt
from grader.model import TimedKernel
from simt.events import Argument
from simt.nvrtc_cache import BuildCache, cache_folder

__all__ = ["baseline_digest", "keep_baseline", "known_baseline"]


def baseline_digest(baseline: TimedKernel, arguments: Sequence[Argument]) -> str:
    """Equal where an estimate gives the same time, whatever the arrays hold: same code, launch, sizes, model."""
    given = [
        (a.name, a.direction, a.value.shape, str(a.value.dtype))
        if isinstance(a.value, np.ndarray)
        else (a.name, repr(a.value))
        for a in arguments
    ]
    compiled = baseline.compiled
    what = (_model(), compiled.ptx, compiled.kernel, compiled.arch, compiled.resources, baseline.config, given)
    return hashlib.sha256(repr(what).encode()).hexdigest()


def known_baseline(digest: str) -> float | None:
    """Nanoseconds of one launch as they were estimated before; None where they were not."""
    kept = _cache().load(digest)
    try:
        return float(kept[0]) if kept else None
    except ValueError:
        return None


def keep_baseline(digest: str, time_ns: float) -> None:
    """Keeps the nanoseconds of one launch; where nothing can be written the next estimate is made anew."""
    _cache().store(digest, (repr(time_ns).encode(),))


def _cache() -> BuildCache:
    return BuildCache(cache_folder() / "baselines", limit_bytes=1 << 20)


@functools.cache
def _model() -> str:
    """The digest of everything in `simt`: what counts, traces and estimates."""
    sources = sorted(Path(simt.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()
