"""Exercises of lesson 00: one line to fix, and one number to predict."""

from __future__ import annotations

import numpy as np

from grader.model import Case, Exercise, Fault, KernelAnswer, Param, Question, Role, Tolerance, ValueAnswer

__all__ = ["EXERCISES"]

BLOCK = 256  # threads of the given launch
SIZES = (1, 31, 32, 33, 256, 257, 1000, 1021)


def _cases() -> tuple[Case, ...]:
    shown = [Case(f"n = {n}", {"n": n}, seed=n, measured=n == 1000) for n in SIZES]
    return (*shown, Case("another size", {"n": 613}, seed=5, hidden=True))


def _inputs(sizes, rng):
    return {"x": rng.uniform(-3.0, 3.0, sizes["n"]).astype(np.float32), "n": np.int32(sizes["n"])}


def _doubled(x):
    return {"y": 2.0 * x.astype(np.float64)}


def _added(x):
    return {"y": x.astype(np.float64) + 2.0}


def _first_block_only(x):
    """Every block works on the same first elements; no thread ever has a larger index."""
    y = np.full(x.size, np.nan)
    y[:BLOCK] = 2.0 * x[:BLOCK].astype(np.float64)
    return {"y": y}


DOUBLE_IT = Exercise(
    id="hello.double_it",
    lesson="00_start_here",
    title="Fix one line",
    answer=KernelAnswer("double_it", {"grid": f"ceil_div(n, {BLOCK})", "block": BLOCK}, launch_editable=False),
    params=(
        Param("x", "float32", Role.IN, ("n",)),
        Param("y", "float32", Role.OUT, ("n",)),
        Param("n", "int32", Role.SCALAR),
    ),
    inputs=_inputs,
    reference=_doubled,
    cases=_cases(),
    tolerance={"y": Tolerance(why="doubling a float changes its exponent only, so 2x is exact")},
    hints=(
        "The card lists an input that went wrong. What did your kernel make of it, and what was asked?",
        "Look at the last line of the kernel. For which single value of `x[i]` would it give the right answer?",
        "Multiply instead of adding: `y[i] = 2.0f * x[i];`. Leave the guard `if (i < n)` where it is.",
    ),
    faults=(
        Fault(
            "added-instead-of-doubled",
            wrong_reference=_added,
            says="each element came out 2 larger; twice as large is asked",
        ),
        Fault(
            "local-for-global-index",
            wrong_reference=_first_block_only,
            says="`threadIdx.x` starts again at 0 in each block: all blocks work on the same first elements",
        ),
        Fault(
            "missing-bounds-guard",
            checks=("memcheck.global.*",),
            says="the last block has more threads than there are elements left: keep the guard `if (i < n)`",
        ),
    ),
    minutes=3,
)

PREDICT = Exercise(
    id="hello.predict",
    lesson="00_start_here",
    title="How many threads?",
    answer=ValueAnswer(
        (
            Question(
                "threads",
                "`n = 1000` elements, 256 threads a block. How many threads does the launch start?",
                1024,
                explain="1000 / 256 is 3.9, so it takes 4 blocks, and a block always has all of its threads: "
                "4 × 256 = 1024. The 24 threads too many find nothing to do: the guard sends them home.",
            ),
        )
    ),
    hints=(
        "Can a launch start three and nine tenths of a block?",
        "Round 1000 / 256 up to a whole number of blocks first.",
        "Four blocks of 256 threads each.",
    ),
    minutes=2,
)

EXERCISES = (PREDICT, DOUBLE_IT)
