"""Records how long one and the same copy takes on a CPU that others use too: real noise for the tests of the statistics.

    .venv/bin/python tests/golden/record_cpu_noise.py

Run it while the machine is busy. It writes `tests/golden/timing/loaded_cpu.npz`: nanoseconds of each copy, in order.
"""

from __future__ import annotations

import platform
import time
from datetime import date
from pathlib import Path

import numpy as np

SAMPLES = 24_000
FLOATS = 1 << 18
OUT = Path(__file__).parent / "timing" / "loaded_cpu.npz"


def main() -> None:
    """Times the copies, one after the other."""
    source = np.random.default_rng(0).uniform(-1, 1, FLOATS).astype(np.float32)
    target = np.empty_like(source)
    taken = np.empty(SAMPLES, np.int64)
    for index in range(SAMPLES):
        start = time.perf_counter_ns()
        np.copyto(target, source)
        taken[index] = time.perf_counter_ns() - start
    said = f"copy of {FLOATS} floats, {platform.machine()}, {date.today().isoformat()}"
    np.savez_compressed(OUT, nanoseconds=taken.astype(np.uint32), said=np.array(said))


if __name__ == "__main__":
    main()
