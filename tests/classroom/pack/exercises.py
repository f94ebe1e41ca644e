"""The two exercises that the notebooks of this folder answer, as a pack: what a class's own exercises look like."""

import numpy as np

from grader.model import Case, Exercise, KernelAnswer, Param, Role, Tolerance

LAUNCH = {"grid": 4, "block": 256}
CASES = tuple(Case(f"n={n}", {"n": n}, seed=n, measured=n == 1000) for n in (1, 33, 1000))

SAXPY = Exercise(
    id="classroom.saxpy",
    lesson="classroom",
    title="y += a x",
    answer=KernelAnswer("saxpy", LAUNCH),
    params=(
        Param("a", "float32", Role.SCALAR),
        Param("x", "float32", Role.IN, ("n",)),
        Param("y", "float32", Role.INOUT, ("n",)),
        Param("n", "int32", Role.SCALAR),
    ),
    inputs=lambda sizes, rng: {
        "a": np.float32(1.5),
        "x": rng.uniform(-1, 1, sizes["n"]).astype(np.float32),
        "y": rng.uniform(-1, 1, sizes["n"]).astype(np.float32),
        "n": sizes["n"],
    },
    reference=lambda a, x, y: {"y": y.astype(np.float64) + float(a) * x.astype(np.float64)},
    cases=CASES,
    tolerance={"y": Tolerance(2.0**-22, 2.0**-22, "a product and a sum, each rounded to 2^-24 of at most 2.5")},
)
TOTAL = Exercise(
    id="classroom.total",
    lesson="classroom",
    title="s += Σ x",
    answer=KernelAnswer("total", LAUNCH),
    params=(
        Param("x", "int32", Role.IN, ("n",)), Param("s", "int32", Role.INOUT, (1,)), Param("n", "int32", Role.SCALAR),
    ),
    inputs=lambda sizes, rng: {
        "x": rng.integers(-99, 99, sizes["n"], dtype=np.int32), "s": np.array([7], np.int32), "n": sizes["n"],
    },
    reference=lambda x, s: {"s": s + x.sum(dtype=np.int32)},
    cases=CASES,
)  # fmt: skip

EXERCISES = (SAXPY, TOTAL)
