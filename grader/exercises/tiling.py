"""Exercises of lesson 04: a tile in shared memory, where it pays, how it breaks, and where it is of no use."""

from __future__ import annotations

import numpy as np

from grader.exercises import tiling_arrays as arrays
from grader.exercises.tiling_baselines import NAIVE_GEMM, PLAIN_STENCIL, TILED_COLUMNS
from grader.model import (
    Case,
    Exercise,
    Fault,
    Goal,
    KernelAnswer,
    Param,
    Question,
    Role,
    Timed,
    Tolerance,
    ValueAnswer,
)  # fmt: skip

__all__ = ["EXERCISES"]

LESSON = "04_tiling"
PLANE_LAUNCH = {
    "grid": (f"ceil_div(width, {arrays.TILE_X})", f"ceil_div(height, {arrays.TILE_Y})"),
    "block": (arrays.TILE_X, arrays.TILE_Y),
}
TIMED_PLANE = Timed({"width": 4096, "height": 3072})  # 100 MB read and written: ten empty launches on an H200
ONE_ROUNDING = 2.0**-24  # largest relative error of one float32 operation

LOAD_BARRIER = (
    "a thread reads what another thread loaded, and that one may not have got there: a barrier belongs between"
)
REUSE_BARRIER = (
    "the next tile overwrites this one while slower warps still read it: a barrier belongs at the end of a round"
)
BARRIER_ASTRAY = ("synccheck.divergent", "deadlock.*")  # a barrier that is there, in the wrong place
BRANCH = "`__syncthreads()` waits for every thread of the block, so it may not stand where only some of them come by"


# stencil: a tile with a halo.

STENCIL_SIZES = ((96, 64), (1, 1), (31, 33), (32, 31), (33, 32), (37, 53), (64, 7))


def _plane_case(width: int, height: int, **more) -> Case:
    return Case(f"{width} × {height}", {"width": width, "height": height}, seed=width + height, **more)


STENCIL = Exercise(
    id="tiling.stencil",
    lesson=LESSON,
    title="A tile with a halo",
    answer=KernelAnswer("stencil", PLANE_LAUNCH, launch_editable=False),
    params=(
        Param("plane", "float32", Role.IN, ("height", "width")),
        Param("out", "float32", Role.OUT, ("height", "width")),
        Param("width", "int32", Role.SCALAR),
        Param("height", "int32", Role.SCALAR),
    ),
    inputs=arrays.stencil_inputs,
    reference=lambda plane: arrays.blurred(plane),
    cases=(
        *(_plane_case(*sizes, measured=sizes == STENCIL_SIZES[0]) for sizes in STENCIL_SIZES),
        Case("another size", {"width": 45, "height": 19}, seed=7, hidden=True),
    ),
    tolerance={
        "out": Tolerance(
            absolute=6 * ONE_ROUNDING,
            why="halves and eighths are exact; sums of up to 2, 3 and 4 take an eighth of their roundings with them, the last "
            "sum of at most 1 adds its own: (2 + 3 + 4)/8 + 1 = 2.1 units of 2^-24; 6 leave other orders of adding room",
        )
    },
    baseline=(PLAIN_STENCIL, PLANE_LAUNCH),
    timed=TIMED_PLANE,
    goals=(
        Goal(
            "loads_per_output",
            1.35,
            False,
            2.0,
            "a 32 × 8 tile holds 256 points and needs 80 more around it: 336 / 256 = 1.31 loads a point",
            "How many threads of the block read the same element of `plane` from global memory?",
        ),
    ),
    hints=(
        "Which points does the thread in the tile's left column need that no thread of its block owns?",
        "Make the tile two wider and two higher than the block. Threads at an edge load one point more; "
        "what lies outside the plane is 0, and somebody has to write that 0.",
        "`tile[ty + 1][tx + 1] = inside(row, col)`; `if (tx == 0) tile[ty + 1][0] = …`, the same for the other three "
        "edges; then `__syncthreads()`, outside every `if`; then the sum from `tile`, guarded.",
    ),
    faults=(
        Fault(
            "halo-missing",
            wrong_reference=lambda plane: arrays.blurred(plane, cut_at_tiles=True),
            says="points at the edge of a tile miss their neighbours in the next tile: load those too",
        ),
        Fault(
            "tile-tail-not-zeroed",
            wrong_reference=lambda plane: arrays.blurred(plane, outside=np.nan),
            says="the tile's points outside the plane were never written; they must be set to 0",
        ),
        Fault("missing-barrier-after-load", checks=("racecheck.shared.*",), says=LOAD_BARRIER, absent=BARRIER_ASTRAY),
        Fault("barrier-in-divergent-branch", checks=("synccheck.divergent", "deadlock.barrier"), says=BRANCH),
    ),
    minutes=20,
)


# gemm_tiled and debug_published: C = A · B through two tiles.

GEMM_SIZES = ((64, 96, 80), (1, 1, 1), (31, 33, 32), (32, 31, 33), (33, 32, 17), (16, 48, 5), (37, 29, 53))
GEMM_LAUNCH = {
    "grid": (f"ceil_div(n, {arrays.TILE})", f"ceil_div(m, {arrays.TILE})"),
    "block": (arrays.TILE, arrays.TILE),
}


def _gemm_case(m: int, n: int, k: int, **more) -> Case:
    return Case(f"{m} × {n} × {k}", {"m": m, "n": n, "k": k}, seed=m + n + k, **more)


GEMM_PARAMS = (
    Param("A", "float32", Role.IN, ("m", "k")),
    Param("B", "float32", Role.IN, ("k", "n")),
    Param("C", "float32", Role.OUT, ("m", "n")),
    Param("m", "int32", Role.SCALAR),
    Param("n", "int32", Role.SCALAR),
    Param("k", "int32", Role.SCALAR),
)
GEMM_CASES = (
    *(_gemm_case(*sizes, measured=sizes == GEMM_SIZES[0]) for sizes in GEMM_SIZES),
    Case("another size", {"m": 21, "n": 45, "k": 34}, seed=7, hidden=True),
)
GEMM_TOLERANCE = {
    "C": Tolerance(
        absolute=80 * 80 * ONE_ROUNDING / 8,
        why="a sum of 80 products of at most 1 errs by at most 80 · 80 · 2^-24 when every rounding goes one way; they "
        "do not, and an eighth of it is still thirty times what a float sum in any order shows",
    )
}
TIMED_GEMM_TOLERANCE = {
    "C": Tolerance(
        absolute=1024 * 2.0**-21,
        why="a sum of 1024 products: partial sums stay below 32 · 3, so each rounding below 2^-18, and a thousand of both "
        "signs add up to 32 · 2^-18; 4 times that, 2^-11, is a sixteenth of what half precision would err by",
    )
}
# Both leave reads and writes of one word without an order. Who reads before the load also meets memory that nobody wrote.
GEMM_BARRIERS = (
    Fault("missing-barrier-after-load", checks=("initcheck.shared",), says=LOAD_BARRIER, absent=BARRIER_ASTRAY),
    Fault(
        "missing-barrier-before-overwrite",
        checks=("racecheck.shared.WAR",),
        says=REUSE_BARRIER,
        absent=("initcheck.shared", *BARRIER_ASTRAY),
    ),
)
TAIL_NOT_ZEROED = Fault(
    "tile-tail-not-zeroed",
    wrong_reference=arrays.stale_tail,
    says="past the end of k the tile keeps old values, and the sum takes them in: write 0 there",
)

GEMM_TILED = Exercise(
    id="tiling.gemm_tiled",
    lesson=LESSON,
    title="Matrix product through tiles",
    answer=KernelAnswer("gemm_tiled", GEMM_LAUNCH, launch_editable=False),
    params=GEMM_PARAMS,
    inputs=arrays.gemm_inputs,
    reference=arrays.product,
    cases=GEMM_CASES,
    tolerance=GEMM_TOLERANCE,
    baseline=(NAIVE_GEMM, GEMM_LAUNCH),
    timed=Timed({"m": 1024, "n": 1024, "k": 1024}, flops="2 * m * n * k", tolerance=TIMED_GEMM_TOLERANCE),
    goals=(
        Goal(
            "global_load_requests_ratio",
            f"1.1 / {arrays.TILE}",
            False,
            2.0,
            "each element of a tile is loaded once and used by 16 threads: a sixteenth of the naive kernel's load "
            "requests, and a tenth of that as margin",
            "How many times does one block load the same element of A?",
        ),
        Goal(
            "speedup",
            1.3,
            True,
            2.0,
            "a load from a tile costs less than one from global memory, but there is still one for every operand: 1.5 times "
            "the naive kernel's speed was measured on an H200",
            "Look at the inner loop: how many instructions does it take for each multiply-add, and can the compiler tell "
            "how often the loop runs?",
        ),
    ),
    hints=(
        "A block computes 16 × 16 elements of C. Which rows of A and which columns of B does it need, and how often "
        "does it need each element?",
        "Walk along k in steps of 16. In each step every thread loads one element of A and one of B, 0 where there is "
        "none; then all wait; then each adds 16 products; then all wait again.",
        "`As[ty][tx] = (row < m && k0 + tx < k) ? A[row * k + k0 + tx] : 0.0f;`, `Bs[ty][tx] = (k0 + ty < k && "
        "col < n) ? B[(k0 + ty) * n + col] : 0.0f;`, and the sum runs over `As[ty][i] * Bs[i][tx]`.",
    ),
    faults=(
        *GEMM_BARRIERS,
        TAIL_NOT_ZEROED,
        Fault("barrier-in-divergent-branch", checks=("synccheck.divergent", "deadlock.barrier"), says=BRANCH),
    ),
    minutes=25,
)

DEBUG_PUBLISHED = Exercise(
    id="tiling.debug_published",
    lesson=LESSON,
    title="A published kernel that is wrong",
    answer=KernelAnswer("gemm_published", GEMM_LAUNCH, launch_editable=False),
    params=GEMM_PARAMS,
    inputs=arrays.gemm_inputs,
    reference=arrays.product,
    cases=GEMM_CASES,
    tolerance=GEMM_TOLERANCE,
    hints=(
        "Look at the error map: which elements of each 16 × 16 square are right? What do their row and column share?",
        "On the diagonal `tx == ty`. So one `ty` stands where a `tx` belongs, or the other way round.",
        "Each product takes a row of the tile of A, `As[ty][i]`, and a column of the tile of B: `Bs[i][tx]`.",
    ),
    faults=(
        Fault(
            "row-for-column",
            wrong_reference=arrays.row_for_column,
            says="in a row of a tile all elements get one and the same sum: some index does not run along with the column",
        ),
        *GEMM_BARRIERS,
        TAIL_NOT_ZEROED,
    ),
    minutes=8,
)


# when_not: a tile that nobody reads twice.


WHEN_NOT = Exercise(
    id="tiling.when_not",
    lesson=LESSON,
    title="A tile too many",
    answer=KernelAnswer("weigh_columns", PLANE_LAUNCH, launch_editable=False),
    params=(
        Param("plane", "float32", Role.IN, ("height", "width")),
        Param("weight", "float32", Role.IN, ("width",)),
        Param("out", "float32", Role.OUT, ("height", "width")),
        Param("width", "int32", Role.SCALAR),
        Param("height", "int32", Role.SCALAR),
    ),
    inputs=arrays.columns_inputs,
    reference=arrays.weighted,
    cases=(
        *(_plane_case(*sizes, measured=sizes == STENCIL_SIZES[0]) for sizes in STENCIL_SIZES),
        Case("another size", {"width": 45, "height": 19}, seed=7, hidden=True),
    ),
    tolerance={"out": Tolerance(relative=ONE_ROUNDING, why="one product, rounded once: at most 2^-24 of its value")},
    baseline=(TILED_COLUMNS, PLANE_LAUNCH),
    timed=TIMED_PLANE,
    goals=(
        Goal(
            "shared_requests",
            0,
            False,
            1.0,
            "no value is used by two threads, so none has to be shared",
            "Which thread reads what this thread put into the tile?",
        ),
        Goal(
            "barriers",
            0,
            False,
            1.0,
            "threads that share nothing need not wait for one another",
            "Whom does a thread wait for at the barrier, and why?",
        ),
    ),
    hints=(
        "How many threads read one element of the tile?",
        "Each thread reads back just what it wrote. Then a register will do, and nobody has to wait.",
        "`if (row < height && col < width) out[row * width + col] = plane[row * width + col] * weight[col];`",
    ),
    faults=(
        Fault(
            "weight-of-the-row",
            wrong_reference=arrays.weighted_by_row,
            says="each column has its weight: its index is `col`",
        ),
        Fault(
            "xy-swapped",
            wrong_reference=arrays.weighted_swapped,
            says="x counts columns and y counts rows: here they are the other way round, and the grid does not fit",
        ),
        Fault(
            "missing-bounds-guard",
            checks=("memcheck.global.*",),
            says="the grid is rounded up in both directions: guard with `if (row < height && col < width)`",
        ),
    ),
    minutes=6,
)


PREDICT = Exercise(
    id="tiling.predict",
    lesson=LESSON,
    title="How much does a tile save?",
    answer=ValueAnswer(
        (
            Question(
                "naive_loads", "A stencil of 3 × 3 points without a tile: how many elements does an inner point load "
                "from global memory?", 9,
                explain="Itself and its eight neighbours. Each point is loaded nine times, by nine threads.",
            ),
            Question(
                "tile_loads", "The same with a 16 × 16 tile, and a halo with its corners: loads per point? Two decimals.",
                1.265625, tolerance=0.006,
                explain="18 · 18 = 324 points are loaded for 256: 1.27. Without the corners it would be 1.25.",
            ),
            Question(
                "requests", "A matrix product through 32 × 32 tiles: by what factor do the load requests fall against "
                "one thread an element?", 32,
                explain="In each step of 32 along k a thread loads 2 elements instead of 2 · 32.",
            ),
            Question(
                "speed", "And how many times faster than one thread an element is it, at N = 4096 on an H200? A guess.",
                1.70, tolerance=0.3,
                explain="1.70 times (recorded: H200, 2026-11-29; 26.4 ms and 15.6 ms). The caches already served most of "
                "the repeated loads of the plain kernel.",
            ),
        )
    ),
    hints=(
        "For each: how many threads want the same element?",
        "A tile with its halo is two rows higher and two columns wider. Each step along k takes two loads a thread.",
        "3 · 3; 18 · 18 / 256; 32; and not much more than the 1.56 of 16 × 16 tiles.",
    ),
    minutes=5,
)  # fmt: skip

EXERCISES = (PREDICT, STENCIL, GEMM_TILED, DEBUG_PUBLISHED, WHEN_NOT)
