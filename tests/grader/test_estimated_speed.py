"""Where no GPU is, the simulator's estimate stands for a timing: labelled, for a named GPU, and it changes no argument."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from grader.answers import submit
from grader.devices.simulator import Simulator
from grader.exercises import exercise
from grader.hidden import NO_SEEDS
from grader.model import GoalState, Verdict
from grader.model_runs import Compiled, Resources, TimedKernel, TimingPair
from grader.model_timing import Basis, Timing, TimingPlan
from grader.notebook import read_notebook
from grader.pipeline import check_submission, grade
from grader.report.card import card
from grader.report.json_form import to_json
from grader.report.text import text
from grader.stages import listening
from grader.timing.baselines import baseline_digest, keep_baseline, known_baseline
from simt.events import Argument, Direction
from simt.launch import Dim3, LaunchConfig
from simt.nvrtc import compile_cuda

N = 1 << 22
KERNELS = """extern "C" {
__global__ void strided(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, j = (i * 32) & (n - 1); if (i < n) y[j] = x[j];
}
__global__ void coalesced(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i];
}
__global__ void waiting(const float* x, float* y, int n) { while (((volatile float*)y)[0] != 1.0f) {} }
}"""


@pytest.fixture(scope="module")
def arms():
    build = compile_cuda(KERNELS, arch="sm_80")
    config = LaunchConfig(Dim3(N // 256), Dim3(256))
    made = {}
    for name in ("strided", "coalesced", "waiting"):
        resources = Resources(build.resources[name].registers, 0, 0, 0)
        compiled = Compiled(build.ptx, build.cubin, name, "sm_80", resources, "", f"speed-{name}", KERNELS)
        made[name] = TimedKernel(compiled, config)
    return made


def timed(arms, baseline, student):
    x, y = np.ones(N, np.float32), np.zeros(N, np.float32)
    arguments = (
        Argument("x", Direction.IN, x), Argument("y", Direction.INOUT, y), Argument("n", Direction.SCALAR, np.int32(N)),
    )  # fmt: skip
    timing = Simulator().time(TimingPair(arms[baseline], arms[student], arguments), TimingPlan())
    assert not y.any()
    return timing


def test_estimate_is_labelled_and_names_its_gpu(arms):
    timing = timed(arms, "strided", "coalesced")
    assert timing.basis is Basis.ESTIMATED and timing.device == "H200 SXM"
    assert timing.low == timing.ratio == timing.high


def test_coalesced_copy_is_faster_and_the_reverse_slower(arms):
    assert timed(arms, "strided", "coalesced").ratio > 2
    assert timed(arms, "coalesced", "strided").ratio < 0.5


def test_kernel_that_never_ends_has_no_estimate(arms, monkeypatch):
    monkeypatch.setattr("simt.runner.sampling.MOST_FUEL", 100_000)
    assert timed(arms, "coalesced", "waiting") is None


# The exercises of the course that have a speed goal.

SOLUTIONS = Path(__file__).resolve().parents[2] / "solutions"
WITH_SPEED = ("thread_mapping.gridstride", "tiling.gemm_tiled")


def solution(name):
    return read_notebook(SOLUTIONS / f"{exercise(name).lesson}.py").answers[name]


def naive(name):
    return submit(exercise(name), (SOLUTIONS / "naive" / f"{name}.cu").read_text(encoding="utf-8"))


def speed(report):
    (goal,) = [goal for goal in report.goals if goal.metric == "speedup"]
    return goal


@pytest.mark.parametrize("name", WITH_SPEED)
def test_solution_meets_its_speed_goal_by_estimate_and_every_view_says_so(name):
    said = []
    with listening(said.append):
        report = check_submission(solution(name), "simulator")
    assert said == ["estimating its speed"]
    goal = speed(report)
    assert (goal.state, goal.basis) == (GoalState.MET, Basis.ESTIMATED) and report.score == report.max_score
    assert goal.value >= 1.25 * goal.limit
    (shown,) = [row for row in to_json(report)["goals"] if row["metric"] == "speedup"]
    assert (shown["basis"], shown["state"]) == ("estimated", "met")
    for view in (card(report), text(report)):
        assert "estimated" in view and "H200" in view


@pytest.mark.parametrize("name", WITH_SPEED)
def test_naive_answer_misses_its_speed_goal_by_estimate(name):
    report = check_submission(naive(name), "simulator")
    goal = speed(report)
    assert (goal.state, goal.basis) == (GoalState.MISSED, Basis.ESTIMATED) and goal.value <= 0.8 * goal.limit
    assert report.score < report.max_score


class Estimating(Simulator):
    """The simulator with a ratio of one's own; `asked` are the baselines' times that it was told."""

    def __init__(self, ratio):
        super().__init__()
        self.ratio, self.asked = ratio, []

    def time(self, pair, plan):
        self.asked.append(pair.baseline_ns)
        if self.ratio is None:
            return None
        return Timing(self.ratio, self.ratio, self.ratio, 1e6, 1e6 / self.ratio, Basis.ESTIMATED, "H200 SXM")


@pytest.mark.parametrize(
    ("ratio", "state", "score", "most"),
    [
        (1.7, GoalState.MET, 5, 5), (1.6, GoalState.NOT_MEASURED, 3, 3), (1.1, GoalState.NOT_MEASURED, 3, 3),
        (1.0, GoalState.MISSED, 3, 5), (None, GoalState.NOT_MEASURED, 3, 3),
    ],
)  # fmt: skip
def test_points_of_an_estimate_near_the_goal_are_left_out(ratio, state, score, most):
    row = exercise("tiling.gemm_tiled")
    report = grade(solution(row.id), row, Estimating(ratio), hidden=NO_SEEDS)
    assert (report.verdict, speed(report).state) == (Verdict.PASS, state)
    assert (report.score, report.max_score, report.passed) == (score, most, state is not GoalState.MISSED)
    asked = " ".join(text(report).split())
    assert (speed(report).question in asked) == (state is GoalState.MISSED)
    undecided = ratio is not None and state is GoalState.NOT_MEASURED
    assert all(("too near to the goal for an estimate" in view) == undecided for view in (asked, card(report)))


def test_a_wrong_kernel_is_not_estimated():
    row = exercise("tiling.gemm_tiled")
    mutant = SOLUTIONS / "mutants" / row.id / "tile-tail-not-zeroed.cu"
    device, said = Estimating(5.0), []
    with listening(said.append):
        report = grade(submit(row, mutant.read_text(encoding="utf-8")), row, device, hidden=NO_SEEDS)
    assert report.verdict is not Verdict.PASS and report.score == 0
    assert (speed(report).state, report.timing, device.asked) == (GoalState.MISSED, None, [])
    assert said == []


def test_baseline_is_estimated_once(monkeypatch, tmp_path):
    monkeypatch.setenv("WARPWISE_CACHE", str(tmp_path))
    row, device = exercise("thread_mapping.gridstride"), Estimating(4.0)
    for _ in range(2):
        grade(solution(row.id), row, device, hidden=NO_SEEDS)
    assert device.asked == [None, 1e6]


def test_known_time_of_a_baseline_takes_the_place_of_its_estimate(arms):
    x = np.ones(N, np.float32)
    arguments = (
        Argument("x", Direction.IN, x),
        Argument("y", Direction.OUT, x),
        Argument("n", Direction.SCALAR, np.int32(N)),
    )
    pair = TimingPair(arms["waiting"], arms["coalesced"], arguments, baseline_ns=5e5)
    timing = Simulator().time(pair, TimingPlan())
    assert timing.baseline_ns == 5e5 and timing.ratio == 5e5 / timing.student_ns


def test_kept_time_belongs_to_code_launch_and_sizes(monkeypatch, tmp_path, arms):
    monkeypatch.setenv("WARPWISE_CACHE", str(tmp_path))
    x, longer = (Argument("x", Direction.IN, np.ones(n, np.float32)) for n in (8, 9))
    arm = arms["coalesced"]
    digest = baseline_digest(arm, [x])
    assert known_baseline(digest) is None
    keep_baseline(digest, 1.5)
    assert known_baseline(baseline_digest(arm, [replace(x, value=x.value * 2)])) == 1.5
    others = [(arms["strided"], [x]), (arm, [longer]), (replace(arm, config=LaunchConfig(Dim3(1), Dim3(256))), [x])]
    assert [known_baseline(baseline_digest(*other)) for other in others] == [None] * 3
    (file,) = (tmp_path / "baselines").iterdir()
    file.write_bytes(file.read_bytes()[:-1])
    assert known_baseline(digest) is None
