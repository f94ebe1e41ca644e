"""Exercises that serve installations and tests: the smallest right kernel, and a sum that punishes sloppy arithmetic.

They stand in no lesson. `selftest.map` is what `doctor` runs.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from grader.model import Case, Exercise, KernelAnswer, Param, Role, Timed, Tolerance

__all__ = ["EXERCISES"]

# None below 64: an honest kernel may print its first 64 inputs (tests/attacks/d07_printf_exfil.cu).
SIZES = (64, 65, 96, 255, 257, 1021, 4096)


def _cases(hidden: int) -> tuple[Case, ...]:
    shown = [Case(f"n={n}", {"n": n}, seed=n, measured=n == max(SIZES)) for n in SIZES]
    return (*shown, Case("another size", {"n": hidden}, seed=7, hidden=True))


def _map_inputs(sizes, rng):
    """Values with spread: no constant passes for x² + 1."""
    return {"x": rng.uniform(-3.0, 3.0, sizes["n"]).astype(np.float32), "n": np.int32(sizes["n"])}


def _map_reference(x, n):
    return {"y": x.astype(np.float64) ** 2 + 1.0}


def _dot_inputs(sizes, rng):
    """Positive products that half precision cannot add up, with the weight in the last sixteenth."""
    n = sizes["n"]
    x = rng.uniform(0.5, 1.5, n)
    w = rng.uniform(0.5, 1.5, n)
    x[n - max(1, n // 16) :] *= 3.0
    return {"x": x.astype(np.float32), "w": w.astype(np.float32), "n": np.int32(n)}


def _dot_reference(x, w, n):
    return {"out": np.array([np.dot(x.astype(np.float64), w.astype(np.float64))])}


# What installations and hostile kernels are timed against: the honest way.
PLAIN_MAP = r"""
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}
"""
MAP_LAUNCH = {"grid": "ceil_div(n, 256)", "block": 256}

MAP = Exercise(
    id="selftest.map",
    lesson="selftest",
    title="y = x² + 1",
    answer=KernelAnswer("solve", MAP_LAUNCH),
    params=(
        Param("x", "float32", Role.IN, ("n",)),
        Param("y", "float32", Role.OUT, ("n",)),
        Param("n", "int32", Role.SCALAR),
    ),
    inputs=_map_inputs,
    reference=_map_reference,
    cases=_cases(777),
    baseline=(PLAIN_MAP, MAP_LAUNCH),
    timed=Timed({"n": 1 << 24}),
    tolerance={
        "y": Tolerance(
            relative=2.0**-22, why="a product and a sum of one sign, each rounded to 2^-24: 2^-23, and as much again"
        )
    },
)

DOT = Exercise(
    id="selftest.dot",
    lesson="selftest",
    title="out = Σ x·w",
    answer=KernelAnswer("solve", {"grid": 1, "block": 256}),
    params=(
        Param("x", "float32", Role.IN, ("n",)),
        Param("w", "float32", Role.IN, ("n",)),
        Param("out", "float32", Role.OUT, (1,)),
        Param("n", "int32", Role.SCALAR),
    ),
    inputs=_dot_inputs,
    reference=_dot_reference,
    cases=_cases(777),
    tolerance={
        "out": Tolerance(
            relative=2.0**-15,
            why="4096 positive terms added one after the other in float32 err by at most 4096 * 2^-24 = 2^-12; rounding "
            "errors of both signs stay below sqrt(4096) * 2^-24 * 8 = 2^-15, and half precision misses it 50 times",
        )
    },
)

MAP_STATE = replace(
    MAP, id="selftest.map_state", title="y = x² + 1, with state in the module", policy=frozenset({"device_globals"})
)

EXERCISES = (MAP, DOT, MAP_STATE)
