"""Reports made by hand, one of each kind that a view has to show; nothing here ran a kernel."""

from datetime import UTC, datetime

from grader.model import (
    Basis,
    CaseResult,
    GoalResult,
    GoalState,
    Report,
    Resources,
    Timing,
    Verdict,
)
from simt.counters import Counters
from simt.diagnostics import diagnose

WHEN = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)

SAXPY = """extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
    // one thread for each element
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = a * x[i] + y[i];
}"""

TRANSPOSE = """extern "C" __global__ void transpose(const float* in, float* out, int rows, int cols) {
    int x = blockIdx.x * 32 + threadIdx.x;
    int y = blockIdx.y * 32 + threadIdx.y;
    if (x < cols && y < rows)
        out[x * rows + y] = in[y * cols + x];
}"""


def passed():
    return Report(
        exercise_id="thread_mapping.map1d",
        digest="0123456789abcdef" * 4,
        verdict=Verdict.PASS,
        score=3,
        max_score=3,
        cases=tuple(CaseResult(f"n{n}", {"n": n}, Verdict.PASS) for n in (1, 31, 32, 33, 1000, 4099))
        + (CaseResult("hidden 1", None, Verdict.PASS, hidden=True),),
        goals=(
            GoalResult(
                "global_load_sectors_per_request", 4.0, 4.0, False, GoalState.MET, Basis.COUNTED, 1.0,
                why="32 lanes of 4 bytes fill 128 bytes: 4 sectors",
            ),
            GoalResult(
                "speedup", None, 1.5, True, GoalState.NOT_MEASURED, Basis.MEASURED, 1.0,
                why="the estimate lies within 25 % of the limit, so only a GPU can tell",
            ),
        ),
        counters=Counters(
            global_load_requests=129, global_load_sectors=514, global_load_bytes=16396, global_store_requests=129,
            global_store_sectors=514, global_store_bytes=16396, instructions=1548, lane_instructions=49188, branches=136,
            divergent_branches=1,
        ),
        by_line={4: Counters(global_load_requests=129, global_load_sectors=514, global_store_requests=129,
                             global_store_sectors=514)},
        resources=Resources(registers=12, spill_bytes=0, static_shared_bytes=0, local_bytes=0),
        device="simulator (sm_90)",
        versions={"grader": "0.1.0", "nvrtc": "13.5"},
        when=WHEN,
    )  # fmt: skip


def goal_missed():
    return Report(
        exercise_id="bank_conflicts.transpose",
        digest="fedcba9876543210" * 4,
        verdict=Verdict.PASS,
        score=2,
        max_score=4,
        cases=tuple(CaseResult(f"{r}x{c}", {"rows": r, "cols": c}, Verdict.PASS) for r, c in ((32, 32), (33, 65), (1, 97))),
        goals=(
            GoalResult(
                "global_store_sectors_per_request", 32.0, 4.0, False, GoalState.MISSED, Basis.COUNTED, 2.0,
                why="a row of the tile is 128 bytes: 4 sectors",
                question="Which index of `out` changes when threadIdx.x grows by one, and how far apart are two lanes?",
            ),
        ),
        diagnostics=(
            diagnose("perf.coalescing", "each store request touches 32 sectors where 4 would do", line=5,
                     help="let threadIdx.x walk along a row of `out`"),
        ),
        counters=Counters(
            global_load_requests=64, global_load_sectors=256, global_load_bytes=8192, global_store_requests=64,
            global_store_sectors=2048, global_store_bytes=8192, instructions=1024, lane_instructions=32768,
        ),
        by_line={5: Counters(global_load_requests=64, global_load_sectors=256, global_store_requests=64,
                             global_store_sectors=2048)},
        timing=Timing(1.62, 1.58, 1.66, 410_000.0, 253_000.0, Basis.ESTIMATED, "H200"),
        device="simulator (sm_90)",
        when=WHEN,
    )  # fmt: skip


def faulty():
    return Report(
        exercise_id="thread_mapping.saxpy",
        digest="00ff" * 16,
        verdict=Verdict.MEMORY_FAULT,
        score=0,
        max_score=3,
        message="The kernel leaves its arrays in 2 of 4 cases.",
        cases=(
            CaseResult("n32", {"n": 32}, Verdict.PASS),
            CaseResult("n33", {"n": 33}, Verdict.WRONG_ANSWER, (
                {"output": "y", "index": (32,), "got": float("nan"), "want": 2.5, "thread": "block (1,0,0) thread (0,0,0)"},
                {"output": "y", "index": (3,), "got": 0.0, "want": -1.25, "thread": None},
            )),
            CaseResult("n1000", {"n": 1000}, Verdict.MEMORY_FAULT),
            CaseResult("hidden 1", None, Verdict.PASS, hidden=True),
        ),
        diagnostics=(
            diagnose("memcheck.global.read-oob", "read 4 bytes past the end of `x` (1000 floats)", line=4,
                     block=(3, 0, 0), lanes=tuple(range(8, 32)), warp=7, address=4000,
                     help="1024 threads were launched for n = 1000; guard the access with `if (i < n)`"),
            diagnose("compile.warning", "variable `unused` was declared but never referenced <b>", line=3),
        ),
        printed="i = 3 <script>alert(1)</script>\n",
        device="simulator (sm_90)",
        when=WHEN,
    )  # fmt: skip


ALL = {"passed": (passed, SAXPY), "goal_missed": (goal_missed, TRANSPOSE), "faulty": (faulty, SAXPY)}
