"""Exercises of lesson 01: which thread works on which element, in one dimension, in two, and round after round."""

from __future__ import annotations

import numpy as np

from grader.exercises import thread_mapping_arrays as arrays
from grader.exercises.thread_mapping_kernels import EVERY_BLOCK_ALL, FLAT, ROWS, TILES
from grader.model import (
    Case,
    Exercise,
    Fault,
    Goal,
    KernelAnswer,
    LaunchAnswer,
    Param,
    Question,
    Role,
    Timed,
    Tolerance,
    ValueAnswer,
)  # fmt: skip

__all__ = ["EXERCISES"]

LESSON = "01_thread_mapping"
ONE_ROUNDING = 2.0**-24  # largest relative error of one float32 operation


# map1d: one thread an element, and the threads too many keep out. Behind y lies memory of somebody else.


def _map1d_case(n: int, **more) -> Case:
    return Case(f"n = {n}", {"n": n}, seed=n, **more)


MAP1D = Exercise(
    id="thread_mapping.map1d",
    lesson=LESSON,
    title="One thread an element",
    answer=KernelAnswer("map1d", {"grid": f"ceil_div(n, {arrays.BLOCK})", "block": arrays.BLOCK}),
    params=(
        Param("x", "float32", Role.IN, ("n",)),
        Param("y", "float32", Role.INOUT, (f"n + {arrays.BEHIND}",)),
        Param("n", "int32", Role.SCALAR),
    ),
    inputs=arrays.map1d_inputs,
    reference=lambda x, y: arrays.squared(x, y),
    cases=(
        *(_map1d_case(n, measured=n == 1000) for n in (1000, 1, 31, 32, 33, 256, 257, 1021)),
        Case("another size", {"n": 523}, seed=7, hidden=True),
    ),
    tolerance={
        "y": Tolerance(
            relative=8 * ONE_ROUNDING,
            why="one product, rounded once, is off by 2^-24 of its value; powf(x, 2) by 4 ulp (CUDA Programming Guide)",
        )
    },
    hints=(
        "Block 2 has a thread number 5. How many threads stand in the blocks before it?",
        "The number is `blockIdx.x * blockDim.x + threadIdx.x`. Is every such number an element?",
        "`int i = blockIdx.x * blockDim.x + threadIdx.x;` and then `if (i < n) y[i] = x[i] * x[i];`",
    ),
    timed=Timed({"n": 1 << 24}),
    faults=(
        Fault(
            "missing-bounds-guard",
            checks=("memcheck.global.*",),
            wrong_reference=lambda x, y, n: arrays.squared(x, y, beyond=arrays.launched(int(n)) - int(n)),
            says="threads with i ≥ n have no element, yet they write: guard with `if (i < n)`",
        ),
        Fault(
            "guard-off-by-one",
            checks=("memcheck.global.*",),
            wrong_reference=lambda x, y, n: arrays.squared(x, y, beyond=min(1, arrays.launched(int(n)) - int(n))),
            says="the guard lets i = n through; the last element is n - 1, so the test is `i < n`",
        ),
        Fault(
            "guard-off-by-one",
            wrong_reference=lambda x, y: arrays.squared(x, y, last=x.size - 1),
            says="the guard stops before the last element n - 1; the test is `i < n`",
        ),
        Fault(
            "local-for-global-index",
            wrong_reference=lambda x, y: arrays.squared(x, y, last=min(x.size, arrays.BLOCK)),
            says="`threadIdx.x` starts again at 0 in each block: all blocks work on the same first elements",
        ),
    ),
    minutes=8,
)


# map2d: rows that lie further apart in memory than they are wide.

MAP2D_SIZES = ((100, 61, 128), (1, 1, 1), (31, 33, 32), (32, 31, 32), (33, 32, 40), (37, 53, 37), (64, 40, 72))


def _map2d_case(width: int, height: int, pitch: int, **more) -> Case:
    sizes = {"width": width, "height": height, "pitch": pitch}
    return Case(f"{width} × {height}, pitch {pitch}", sizes, seed=width + height, **more)


MAP2D = Exercise(
    id="thread_mapping.map2d",
    lesson=LESSON,
    title="Rows with a pitch",
    answer=KernelAnswer(
        "map2d",
        {
            "grid": (f"ceil_div(width, {arrays.TILE_X})", f"ceil_div(height, {arrays.TILE_Y})"),
            "block": (arrays.TILE_X, arrays.TILE_Y),
        },
    ),
    params=(
        Param("photo", "float32", Role.IN, ("height", "width")),
        Param("frame", "float32", Role.INOUT, ("height", "pitch")),
        Param("width", "int32", Role.SCALAR),
        Param("height", "int32", Role.SCALAR),
        Param("pitch", "int32", Role.SCALAR),
    ),
    inputs=arrays.map2d_inputs,
    reference=lambda photo, frame: arrays.negative(photo, frame),
    cases=(
        *(_map2d_case(*sizes, measured=sizes == MAP2D_SIZES[0]) for sizes in MAP2D_SIZES),
        Case("another size", {"width": 45, "height": 19, "pitch": 48}, seed=7, hidden=True),
    ),
    tolerance={
        "frame": Tolerance(
            absolute=ONE_ROUNDING, why="1 - x with x in 0..1 is rounded once: at most 2^-24 of at most 1"
        )
    },
    hints=(
        "How many floats lie between the start of one row of the frame and the start of the next? And in the photo?",
        "Each array has its own distance between rows: `width` in the photo, `pitch` in the frame.",
        "Guard both coordinates, then `frame[row * pitch + col] = 1.0f - photo[row * width + col];`",
    ),
    timed=Timed({"width": 4000, "height": 4096, "pitch": 4096}),
    faults=(
        Fault(
            "xy-swapped",
            wrong_reference=arrays.swapped_map2d,
            says="x counts columns and y counts rows: here they are the other way round, and the grid does not fit",
        ),
        Fault(
            "width-for-pitch",
            wrong_reference=arrays.width_for_pitch,
            says="rows of the frame start `pitch` floats apart, not `width`",
        ),
        Fault(
            "pitch-on-both",
            wrong_reference=arrays.pitch_on_both,
            says="only the frame has a pitch; rows of the photo start `width` floats apart",
        ),
        Fault(
            "missing-bounds-guard",
            checks=("memcheck.global.*",),
            says="the grid is rounded up in both directions: guard with `if (col < width && row < height)`",
        ),
    ),
    minutes=10,
)


# launch: three given kernels, and only the numbers between <<< and >>> to choose.

LAUNCH_SIZES = ((100, 61), (1, 1), (31, 33), (32, 31), (33, 32), (37, 53), (128, 9))


def _launch_case(width: int, height: int, **more) -> Case:
    return Case(f"{width} × {height}", {"width": width, "height": height}, seed=width + height, **more)


ROUND_UP = "the grid rounds down, so the last, partly filled block is missing: `ceil_div` rounds up"
SWAP = "the grid's two dimensions stand in the wrong order: x runs along columns, y along rows"
LAUNCH = Exercise(
    id="thread_mapping.launch",
    lesson=LESSON,
    title="Three kernels, three launches",
    answer=LaunchAnswer({"flat": FLAT, "tiles": TILES, "rows": ROWS}),
    params=(
        Param("photo", "float32", Role.IN, ("height", "width")),
        Param("out", "float32", Role.OUT, ("height", "width")),
        Param("width", "int32", Role.SCALAR),
        Param("height", "int32", Role.SCALAR),
    ),
    inputs=arrays.launch_inputs,
    reference=lambda photo: {"out": 2.0 * photo.astype(np.float64)},
    cases=(
        *(_launch_case(*sizes, measured=sizes == LAUNCH_SIZES[0]) for sizes in LAUNCH_SIZES),
        Case("another size", {"width": 47, "height": 21}, seed=7, hidden=True),
    ),
    tolerance={"out": Tolerance(why="doubling a float changes its exponent only, so it is exact")},
    hints=(
        "For each kernel: which elements does block 0 take? Which ones does the next block take?",
        "`flat` needs one thread an element, `tiles` one block for each 32 × 8 elements, `rows` one block a row.",
        'flat: `"grid": "ceil_div(width * height, 256)", "block": 256`; tiles: `"grid": ("ceil_div(width, 32)", '
        '"ceil_div(height, 8)"), "block": (32, 8)`; rows: `"grid": "height"` and any block.',
    ),
    faults=(
        Fault("grid-floor-division", wrong_reference=arrays.flat_floor, says=ROUND_UP),
        Fault("grid-floor-division", wrong_reference=arrays.tiles_floor, says=ROUND_UP),
        Fault("xy-swapped", wrong_reference=arrays.tiles_swapped, says=SWAP),
        Fault(
            "threads-counted-as-blocks",
            wrong_reference=arrays.threads_for_blocks,
            says="`rows` takes one block for each row, so the grid is the number of rows, not of threads",
        ),
        Fault(
            "too-many-blocks",
            checks=("memcheck.global.*",),
            says="`rows` has no guard: each block takes a row, so there must be exactly as many blocks as rows",
        ),
        Fault(
            "too-many-blocks",
            checks=("launch.grid-limit",),
            says="a grid counts blocks, not threads or bytes: divide what is to be done by what one block does",
        ),
    ),
    minutes=8,
)


# gridstride: a grid that does not depend on n.


def _stride_case(n: int, **more) -> Case:
    return Case(f"n = {n}", {"n": n}, seed=n, **more)


GRIDSTRIDE = Exercise(
    id="thread_mapping.gridstride",
    lesson=LESSON,
    title="Few threads, many elements",
    answer=KernelAnswer("gridstride", arrays.STRIDE_LAUNCH, launch_editable=False),
    params=(
        Param("x", "float32", Role.IN, ("n",)),
        Param("y", "float32", Role.OUT, ("n",)),
        Param("n", "int32", Role.SCALAR),
    ),
    inputs=arrays.stride_inputs,
    reference=lambda x: arrays.halved(x),
    cases=(
        *(_stride_case(n, measured=n == 5000) for n in (5000, 1, 31, 32, 33, 512, 513, 1021)),
        Case("another size", {"n": 2777}, seed=7, hidden=True),
    ),
    tolerance={"y": Tolerance(why="halving a normal float changes its exponent only, so it is exact")},
    baseline=(EVERY_BLOCK_ALL, arrays.STRIDE_LAUNCH),
    timed=Timed({"n": 1 << 20}),
    goals=(
        Goal(
            "reads_per_input",
            1.0,
            False,
            1.0,
            "each element is read once, by one thread of the whole grid",
            "Which other threads read the element that your thread reads? By how much does `i` have to grow so that "
            "the next round starts where the last one ended?",
        ),
        Goal(
            "global_load_sectors_per_request",
            4.1,
            False,
            1.0,
            "32 neighbouring floats are 128 bytes, four sectors; the margin is for the last, partly filled warp",
            "Lanes 0 and 1 of a warp work at the same time. How far apart are the elements that they read?",
        ),
        Goal(
            "speedup",
            2.0,
            True,
            1.0,
            "four blocks that share the elements go through a quarter of the rounds: 4 times the speed of four that each "
            "take all was measured on an H200",
            "Each round waits for memory once. Through how many rounds does thread 0 go, and how many would 512 threads need?",
        ),
    ),
    hints=(
        "512 threads, 5000 elements: after the first 512 are done, which element should thread 0 take next?",
        "All threads together advance by the size of the grid: `gridDim.x * blockDim.x`.",
        "`for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)`",
    ),
    faults=(
        Fault(
            "missing-stride-loop",
            wrong_reference=lambda x: arrays.halved(x, np.arange(x.size) < arrays.STRIDE),
            says="each thread takes one element and stops; the grid has fewer threads than there are elements",
        ),
        Fault(
            "local-for-global-index",
            wrong_reference=lambda x: arrays.halved(x, np.arange(x.size) % arrays.STRIDE < arrays.STRIDE_BLOCK),
            says="the loop starts at `threadIdx.x`, the same in each block, but steps over the whole grid",
        ),
        Fault(
            "missing-bounds-guard",
            checks=("memcheck.global.*",),
            says="the last round is only partly filled: test `i < n` before each element, not once",
        ),
    ),
    minutes=10,
)


# wide_index: a product of two ints that outgrows them.


def _wide_case(n: int, step: int, **more) -> Case:
    return Case(f"n = {n}, step = {step}", {"n": n, "step": step}, seed=n, **more)


WRAPS = "the product of two ints is an int and wraps at 2^31: make one factor `long long` before multiplying"
WIDE_INDEX = Exercise(
    id="thread_mapping.wide_index",
    lesson=LESSON,
    title="When an int is too short",
    answer=KernelAnswer("wide_index", {"grid": f"ceil_div(n, {arrays.BLOCK})", "block": arrays.BLOCK}, launch_editable=False),
    params=(
        Param("x", "float32", Role.IN, ("n",)),
        Param("y", "float32", Role.OUT, ("n",)),
        Param("n", "int32", Role.SCALAR),
        Param("step", "int32", Role.SCALAR),
    ),
    inputs=arrays.wide_inputs,
    reference=lambda x, step: arrays.picked(x, arrays.product(x, step) % x.size),
    cases=(
        *(_wide_case(n, step, measured=n == 2999) for n, step in (
            (2999, 2_000_003), (1, 1), (31, 7), (32, 5), (33, 7), (257, 100_003), (1021, 65_537), (2500, 999_983),
        )),
        Case("another size", {"n": 2803, "step": 1_500_007}, seed=7, hidden=True),
    ),
    tolerance={"y": Tolerance(why="values are copied, not computed")},
    hints=(
        "What is 2998 · 2,000,003, and what is the largest number that an `int` holds?",
        "C multiplies in the type of the factors. Where the result is stored comes too late.",
        "`long long far = (long long)i * step;` and then `y[i] = x[far % n];`",
    ),
    faults=(
        Fault("int32-overflow", wrong_reference=arrays.wrapped_signed, says=WRAPS),
        Fault("int32-overflow", wrong_reference=arrays.wrapped_unsigned, says=WRAPS),
        Fault(
            "missing-bounds-guard",
            checks=("memcheck.global.write-oob",),
            says="threads with i ≥ n have no element: guard with `if (i < n)`",
        ),
        Fault(
            "remainder-missing",
            wrong_reference=lambda x, step: arrays.picked(x, arrays.product(x, step)),
            says="the product runs far past the end of `x`: its remainder by n is the index",
        ),
    ),
    core=False,
    minutes=6,
)  # fmt: skip


PREDICT = Exercise(
    id="thread_mapping.predict",
    lesson=LESSON,
    title="Who works where?",
    answer=ValueAnswer(
        (
            Question(
                "element", "Blocks of 256 threads. Which element does thread 7 of block 3 take?", 775,
                explain="Three full blocks stand before it: 3 · 256 + 7 = 775.",
            ),
            Question(
                "idle", "`n = 1021`, 256 threads a block. How many threads must the guard keep out?", 3,
                explain="ceil(1021 / 256) = 4 blocks, 1024 threads, three more than there are elements.",
            ),
            Question(
                "offset", "Rows of 33 floats are stored with a pitch of 40. How many floats into the memory is row 2, "
                "column 5?", 85,
                explain="Two rows of 40 floats, seven of them unused in each, then five more: 2 · 40 + 5 = 85.",
            ),
            Question(
                "rounds", "A grid of 4 blocks of 128 threads strides over 5000 elements. How many times does thread 0 "
                "go through its loop?", 10,
                explain="512 elements a round: thread 0 takes 0, 512, …, 4608, which is ten elements. Thread 511 takes "
                "only nine; its tenth would be 5119.",
            ),
        )
    ),
    hints=(
        "For each: how many threads, or floats, come before the one that is asked for?",
        "Blocks and rows come whole: count full ones first, then the rest.",
        "3 · 256 + 7; 4 · 256 - 1021; 2 · 40 + 5; and 5000 / 512 rounded up.",
    ),
    minutes=5,
)  # fmt: skip

EXERCISES = (PREDICT, MAP1D, MAP2D, LAUNCH, GRIDSTRIDE, WIDE_INDEX)
