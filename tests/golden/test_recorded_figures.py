"""Every recorded figure in a lesson, a drawing or a page is the one in the recording, and names its device and date.

`FIGURES` forms the sentence parts from the recordings; a text that has gone stale lacks one. What a text says beside
them may hold no time at all.
"""

import json
import re
from pathlib import Path

import pytest

from grader.exercises import all_exercises, exercise
from grader.model import ValueAnswer

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"


def read(path):
    return json.loads((GOLDEN / path).read_text(encoding="utf-8"))


ROWS = {row["label"]: row for row in read("h200/times.json")["rows"]}
SECTORS = {
    row["label"]: row["metrics"].get("l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum")
    for row in read("ncu/sm_90/truth.json")
}
COURSE = {(row["exercise"], row["kind"]): row for row in read("h200/course.json")["course"]["rows"]}
TIMING = read("h200/timing.json")
# The kernels' times and counters were recorded on one day, the course's answers on the next.
KERNELS_BY = f"recorded: H200, {read('h200/machine.json')['recorded']}"
COURSE_BY = f"recorded: H200, {TIMING['machine']['recorded']}"


def ms(label):
    """Milliseconds of a kernel of tests/golden/h200/times.json."""
    return ROWS[label]["ms"]


def faster(slow, fast):
    return ms(slow) / ms(fast)


def answer(name, kind="solution", device="gpu"):
    """The timing of an answer to an exercise: ratio, baseline and student in ns."""
    return COURSE[name, kind][device]["timing"]


NAIVE, SWAPPED = "gemm_naive b=16x16 n=4096", "gemm_swapped b=16x16 n=4096"
T16, T32, P16, P32 = (f"gemm_tiled{kind} n=4096" for kind in ("16", "32", "16p", "32p"))
COLUMN, COLUMN_PADDED, REG8, CUBLAS = (
    f"{kernel} n=4096" for kernel in ("gemm_txrows32", "gemm_txrows32p", "gemm_reg8", "cublas sgemm")
)
ADD, ADD_STRIDE = "vecadd n=67108287", "vecadd_gridstride n=67108287"
SUM, SUM_STRIDE = "reduce_seq n=67108864", "reduce_grid4 n=67108864"
STRIDE, GEMM = answer("thread_mapping.gridstride"), answer("tiling.gemm_tiled")
STENCIL = answer("tiling.stencil")


def table_row(says, label):
    against = "" if label == NAIVE else f"{faster(NAIVE, label):.2f} × faster"
    return f"| {says} | {ms(label):.1f} | {against} |".replace("|  |", "| |")


FIGURES = {
    "solutions/00_start_here.py": (
        f"the same {4096**3 / 1e9:.0f} billion multiply-adds. R{KERNELS_BY[1:]}.",
        f"**{faster(SWAPPED, CUBLAS):.0f} times** lie between the first bar and the last",
    ),
    "solutions/01_thread_mapping.py": (
        f"takes **{ms(SWAPPED):.0f} ms instead of {ms(NAIVE):.1f} ms** (4096 × 4096, {KERNELS_BY}). Same result, same "
        f"instructions, {faster(SWAPPED, NAIVE):.1f} times the time",
        f"added two arrays in {ms(ADD_STRIDE):.3f} ms this way, and in {ms(ADD):.3f} ms with one thread an element "
        f"({KERNELS_BY})",
        f"yours was **{STRIDE['ratio']:.1f} times** as fast on an H200, {STRIDE['student_ns'] / 1e6:.2f} ms instead of "
        f"{STRIDE['baseline_ns'] / 1e6:.2f} ({COURSE_BY})",
        f"falls from {ms(SUM):.2g} ms to {ms(SUM_STRIDE):.2g} ms ({KERNELS_BY}), because "
        f"{ROWS[SUM_STRIDE]['grid'][0]} blocks end with an atomic instead of {ROWS[SUM]['grid'][0]:,}",
        f"explains the {ms(SWAPPED):.0f} ms",
    ),
    "solutions/04_tiling.py": (
        f"asked for **4096 times**: {2 * 4096**3 * 4 / 1e9:.0f} GB",
        f"falls from {ms(NAIVE):.1f} ms to {ms(T16):.1f} ms: **{faster(NAIVE, T16):.2f} times faster, not sixteen** "
        f"({KERNELS_BY})",
        f"took {STENCIL['student_ns'] / 1e3:.0f} µs, the plain one {STENCIL['baseline_ns'] / 1e3:.0f}: "
        f"**{STENCIL['ratio']:.2f} times the speed** ({COURSE_BY})",
        f"At N = 256 an H200 counted {SECTORS['gemm_naive b=16x16 n=256'] / 1e6:.2f} million sectors for the plain kernel "
        f"and {SECTORS['gemm_tiled16 n=256'] / 1e6:.2f} million for yours: an eighth, not a sixteenth ({KERNELS_BY})",
        f"an H200 took {GEMM['student_ns'] / 1e3:.0f} µs instead of {GEMM['baseline_ns'] / 1e3:.0f}: "
        f"**{GEMM['ratio']:.1f} times** the speed ({COURSE_BY})",
        table_row("one thread an element, 16 × 16 blocks", NAIVE),
        table_row("tiles of 16 × 16", T16),
        table_row("tiles of 32 × 32", T32),
        table_row("tiles of 16 × 16, rows padded to 17", P16),
        table_row("tiles of 32 × 32, rows padded to 33", P32),
        f"*R{KERNELS_BY[1:]}.* Not 4, not 10. And the padded kernels are the **slower** ones, by "
        f"{100 * faster(P32, T32) - 100:.0f} to {100 * faster(P16, T16) - 100:.0f} per cent",
        f"went from {ms(COLUMN):.0f} ms to {ms(COLUMN_PADDED):.1f} ms with it",
        f"Yet {ms(T16):.1f} ms became only {ms(T32):.1f} ms",
        f"computes 8 × 8 elements takes {ms(REG8):.2f} ms",
        f"where do its {ms(NAIVE):.1f} ms go",
    ),
    "assets/ladder.svg": (
        f"milliseconds; {KERNELS_BY}",
        f"Swapped {ms(SWAPPED):.0f} ms, one thread an element {ms(NAIVE):.1f}, tiles {ms(T16):.1f}, register tiles "
        f"{ms(REG8):.2f}, cuBLAS {ms(CUBLAS):.2f}, recorded on an H200",
        *(f">{time:.3g} ms<" for time in map(ms, (SWAPPED, NAIVE, T16, REG8, CUBLAS))),
    ),
    "docs/estimate.md": (
        f"take {STRIDE['baseline_ns'] / 1e6:.2f} ms and {STRIDE['student_ns'] / 1e6:.2f} ms; "
        f"{answer('thread_mapping.gridstride', device='simulator')['baseline_ns'] / 1e6:.2f} and "
        f"{answer('thread_mapping.gridstride', device='simulator')['student_ns'] / 1e6:.2f} are estimated",
    ),
}  # fmt: skip


def page(path):
    """A page's text with single spaces."""
    return " ".join((ROOT / path).read_text(encoding="utf-8").split())


@pytest.mark.parametrize("path", FIGURES)
def test_figures_are_the_recorded_ones(path):
    text = page(path)
    assert [part for part in FIGURES[path] if part not in text] == []


@pytest.mark.parametrize("path", [path for path in FIGURES if path.startswith(("solutions", "assets"))])
def test_no_time_and_no_date_stands_in_a_lesson_beside_them(path):
    text = page(path)
    for part in sorted(FIGURES[path], key=len, reverse=True):
        text = text.replace(part, "")
    assert (
        re.findall(r"[^.]{0,60}(?:[\d.]+ (?:ms|µs|TB/s|GB/s|GFLOP/s|TFLOP/s)\b|20\d\d-\d\d-\d\d[^T]).{0,20}", text)
        == []
    )


def test_every_lesson_is_looked_at():
    assert {f"solutions/{row.lesson}.py" for row in all_exercises() if row.lesson[0].isdigit()} <= FIGURES.keys()


def test_goals_say_the_measured_speed():
    rows = [(row, goal) for row in all_exercises() for goal in row.goals if goal.metric == "speedup"]
    assert len(rows) >= 2
    for row, goal in rows:
        assert f"{answer(row.id)['ratio']:.2g} times the" in goal.why, row.id


def test_the_guess_about_speed_is_explained_by_what_was_recorded():
    row = exercise("tiling.predict")
    assert isinstance(row.answer, ValueAnswer)
    guess = next(question for question in row.answer.questions if question.name == "speed")
    assert guess.expected == pytest.approx(faster(NAIVE, T32), abs=0.005)
    says = f"{faster(NAIVE, T32):.2f} times ({KERNELS_BY}; {ms(NAIVE):.1f} ms and {ms(T32):.1f} ms)"
    assert says in guess.explain
    assert f"the {faster(NAIVE, T16):.2f} of 16 × 16 tiles" in row.hints[-1]


def test_the_timing_page_says_what_the_recording_holds():
    text = page("docs/timing.md")
    assert [part for part in timing_page() if part not in text] == []


def ratios(part, *kernels):
    """`0.998 to 1.002 in 87 runs`."""
    found = [row["ratio"] for row in TIMING[part]["runs"] if row["kernel"] in kernels]
    return f"{min(found):.3f} to {max(found):.3f} in {len(found)} runs"


def timing_page():
    """Parts of docs/timing.md, formed from the recordings."""
    machine, limits = TIMING["machine"], TIMING["limits"]["summary"]
    yield f"On an H200 (driver {machine['driver']}, {machine['recorded']}; recorded by"
    large, small = ("copy", "product"), ("copy_small", "nothing")
    worst = max(abs(row["mean_of_means"] - 1) for row in TIMING["aa_neighbour"]["runs"])
    off = f"a quotient of means is off by up to {100 * worst:.0f} %"
    yield f"| {ratios('aa_idle', *large)} | {ratios('aa_neighbour', *large)}; {off} |"
    yield f"| {ratios('aa_idle', *small)} | {ratios('aa_neighbour', *small)} |"
    slower, beside = TIMING["slower_idle"]["runs"], TIMING["slower_neighbour"]["runs"]
    failed = sum(row["decision"] == "fail" for row in slower)
    open_ones = sum(row["decision"] == "not measurable" for row in beside)
    yield f"| {failed} of {len(slower)} fail | {open_ones} of {len(beside)} not measurable"
    at = TIMING["threshold"]["runs"]
    yield f"| {sum(row['decision'] == 'pass' for row in at)} of {len(at)} reached |"
    yield f"An empty launch takes {limits['floor_ns'] / 1e3:.2f} µs there, a copy reaches {limits['copy_gbs'] / 1e3:.2f} TB/s"
    summary = read("h200/course.json")["course"]["summary"]
    right = sum(kind.startswith("right ") for _, kind in COURSE)
    yield f"and {right} more right answers ({len(COURSE)} in all)"
    yield (
        f"Of {summary['goals_decided_on_both']} goals that both decide none differs, "
        f"{len(summary['speed_goals_decided_on_both'])} goals on speed among them"
    )
    decided, wrong = summary["estimates_decided_at_virtual_thresholds"], summary["of_these_wrong"]
    yield f"{decided - len(wrong)} of {decided} estimates that decide agree"
    (_, _, _, tile, tile_measured), (_, _, _, loop, loop_measured) = wrong
    yield f"estimated at {tile:.2f} times the plain kernel's speed and measured at {tile_measured:.2f}"
    yield f"{loop:.2f} and {loop_measured:.2f}."
    for row in all_exercises():
        yield from (goal_row(row.id, goal) for goal in row.goals if goal.metric == "speedup")


def goal_row(name, goal):
    measured, estimated = (
        ", ".join(f"{answer(name, kind, device)['ratio']:.2f}" for kind in ("solution", "naive"))
        for device in ("gpu", "simulator")
    )
    return f"| `{name}` | {goal.limit:g} × | {measured} | {estimated} |"
