"""Counts the sectors of single global atomics on a GPU with Nsight Compute: which pattern of lanes takes how many.

    python3 tests/golden/record_atomics.py --out tests/golden/h200/atomic_sectors.npz

It needs CuPy, NumPy and ncu, and takes about three minutes. `test_atomic_sectors.py` compares the recording with simt.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

METRIC = "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum"
SHIFTS = 24  # where the histogram's bins begin: 128 bytes further each time
KERNELS = """
extern "C" __global__ void hist_global(const unsigned char* in, unsigned* h, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&h[in[i]], 1u);
}
extern "C" __global__ void scatter(const int* at, unsigned* h) { atomicAdd(&h[at[threadIdx.x]], 1u); }
"""
# Words that 32 lanes choose from at random, and how many warps do: 32 words are a line of 128 bytes.
FEW_LINES = {2: 20, 3: 20, 4: 40, 8: 80, 12: 60, 16: 120, 24: 60, 32: 120, 40: 40, 48: 40, 64: 100, 128: 60}
MANY_LINES = {160: 40, 192: 40, 256: 300, 512: 60, 1024: 40, 4096: 40, 65536: 20}


def patterns() -> np.ndarray:
    """(n, 32) int32: the word that each lane adds to, a warp a row."""
    few, many = np.random.default_rng(11), np.random.default_rng(5)
    rows = [few.integers(0, words, 32, dtype=np.uint8) for words, count in FEW_LINES.items() for _ in range(count)]
    rows += [many.integers(0, words, 32) for words, count in MANY_LINES.items() for _ in range(count)]
    return np.array(rows, np.int32)


def bins() -> np.ndarray:
    """(1048576,) uint8, as `randint:7:0:256` makes them for the launch `hist_global uniform` of truth.json."""
    from simt.launch_values import ArraySpec

    return ArraySpec(np.dtype("uint8"), (1 << 20,), "randint:7:0:256", None).array()


def launch() -> None:
    """Every launch that ncu counts, in order."""
    import cupy

    module = cupy.RawModule(code=KERNELS)
    histogram, scatter = module.get_function("hist_global"), module.get_function("scatter")
    chosen, rows = cupy.asarray(bins()), cupy.asarray(patterns())
    memory = cupy.zeros(1 << 20, cupy.uint32)
    for shift in range(SHIFTS):
        histogram((1056,), (256,), (chosen, memory[32 * shift :], np.int32(chosen.size)))
    for row in rows:
        scatter((1,), (32,), (row, memory))
    cupy.cuda.Device().synchronize()


def main() -> None:
    """Runs itself under ncu and keeps what ncu counted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--launch", action="store_true", help="what ncu runs")
    arguments = parser.parse_args()
    if arguments.launch:
        launch()
        return
    from tests.golden.record_h200 import machine

    command = [
        "ncu",
        "--csv",
        "--page",
        "raw",
        "--clock-control",
        "none",
        "--metrics",
        METRIC,
        sys.executable,
        __file__,
    ]
    text = subprocess.run([*command, "--launch"], capture_output=True, text=True, check=True).stdout
    save(arguments.out, counted(text), f"{machine()}")


def counted(text: str) -> np.ndarray:
    """The metric of each launch in ncu's table, which follows the programs's own output."""
    lines = text.splitlines()
    table = list(csv.reader(lines[next(i for i, line in enumerate(lines) if line.startswith('"ID"')) :]))
    column = table[0].index(METRIC)
    return np.array([int(float(row[column].replace(",", ""))) for row in table[2:]])


def save(path: Path, sectors: np.ndarray, made_on: str) -> None:
    """One file: the patterns with their sectors, and the histogram's sectors by where its bins begin."""
    np.savez_compressed(
        path, patterns=patterns(), sectors=sectors[SHIFTS:].astype(np.int16), shifted=sectors[:SHIFTS], made_on=made_on
    )


if __name__ == "__main__":
    main()
