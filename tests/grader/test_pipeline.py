"""The path from a submission to a report, with a fake device in the machine's place and the real compiler."""

from dataclasses import replace

import numpy as np
import pytest

from grader.answers import submit
from grader.batch.run import is_final
from grader.exercises import exercise
from grader.hidden import NO_SEEDS, HiddenCases
from grader.model import Basis, Case, Goal, GoalState, LaunchAnswer, Timed, Timing, Verdict
from grader.pipeline import grade, unreadable_report
from grader.report.json_form import to_json
from simt.counters import Counters
from simt.diagnostics import diagnose
from simt.events import Status
from simt.nvrtc_toolkit import CompilerMissing
from tests.grader.fake import FakeDevice

MAP = exercise("selftest.map")
GOOD = """extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}"""


def right(x, y, n):
    return {"y": x * x + 1}


def checked(source=GOOD, launch=None, compute=right, row=MAP, **device):
    return grade(submit(row, source, launch), row, FakeDevice(compute, **device), hidden=NO_SEEDS)


def test_a_right_answer_passes_with_full_points():
    report = checked()
    assert report.verdict is Verdict.PASS, report
    assert (report.score, report.max_score) == (1.0, 1.0)
    assert [case.verdict for case in report.cases] == [Verdict.PASS] * len(MAP.cases)
    assert (
        report.resources.registers > 0
        and set(report.versions) == {"grader", "simt", "nvrtc"}
        and report.device == "fake"
    )


def test_a_wrong_element_is_shown_with_what_was_wanted():
    def wrong(x, y, n):
        y = x * x + 1
        y[-1] = 7
        return {"y": y}

    report = checked(compute=wrong)
    assert report.verdict is Verdict.WRONG_ANSWER and report.score == 0
    assert report.cases[1].first_bad[0]["index"] == (64,)
    assert "y[63] = 7" in report.diagnostics[0].message


def test_a_hidden_case_shows_neither_sizes_nor_values():
    def wrong_only_at_777(x, y, n):
        return {"y": x * x + (2 if n == 777 else 1)}

    report = checked(compute=wrong_only_at_777, printed="777 things")
    hidden = report.cases[-1]
    assert report.verdict is Verdict.WRONG_ANSWER
    assert hidden.hidden and hidden.sizes is None and hidden.first_bad == ()
    assert "777" not in " ".join(f.message + f.help for f in report.diagnostics)


def test_the_seeds_file_adds_cases_and_reseeds_hidden_ones():
    seeds = HiddenCases("autumn", "secret", {"selftest.map": (Case("extra", {"n": 5}, hidden=True),)})
    device = FakeDevice(right)
    report = grade(submit(MAP, GOOD), MAP, device, hidden=seeds)
    assert report.verdict is Verdict.PASS and report.cases[-1].name == "extra"
    assert seeds.of(MAP)[-2].seed != MAP.cases[-1].seed


@pytest.mark.parametrize(
    ("source", "launch", "verdict"),
    [
        ('#include "/etc/passwd"\n' + GOOD, {"grid": 0, "block": 1}, Verdict.SOURCE_REJECTED),
        (GOOD.replace("int n", "int n, int m"), {"grid": 0, "block": 1}, Verdict.PTX_REJECTED),
        (GOOD, {"grid": 0, "block": 256}, Verdict.LAUNCH_REJECTED),
        (GOOD, {"grid": True, "block": 256}, Verdict.LAUNCH_REJECTED),
        (GOOD, {"grid": "9**9**9", "block": 256}, Verdict.LAUNCH_REJECTED),
        (GOOD, {"grid": 1, "block": 2048}, Verdict.LAUNCH_REJECTED),
        (GOOD, {"grid": (2147483647, 65535, 65535), "block": 1024}, Verdict.LAUNCH_REJECTED),
        (GOOD.replace("float* y", "flaot* y"), {"grid": 0, "block": 1}, Verdict.LAUNCH_REJECTED),
        (GOOD.replace("float* y", "flaot* y"), None, Verdict.BUILD_FAILED),
        (GOOD.replace('extern "C" ', ""), None, Verdict.BUILD_FAILED),
    ],
)
def test_the_first_fence_that_refuses_gives_the_verdict(source, launch, verdict):
    report = checked(source, launch)
    assert report.verdict is verdict, report.diagnostics
    assert report.score == 0 and report.cases == ()


@pytest.mark.parametrize(
    ("check", "status", "verdict"),
    [
        ("memcheck.global.read-oob", Status.FINDINGS, Verdict.MEMORY_FAULT),
        ("racecheck.shared.RAW", Status.FINDINGS, Verdict.RACE),
        ("synccheck.divergent", Status.STOPPED, Verdict.SYNC_ERROR),
        ("deadlock.barrier", Status.STOPPED, Verdict.DEADLOCK),
        ("initcheck.shared", Status.FINDINGS, Verdict.UNINITIALISED),
        ("runtime.trap", Status.STOPPED, Verdict.RUNTIME_ERROR),
        ("runtime.budget", Status.BUDGET, Verdict.TIMEOUT),
        ("ptx.unsupported", Status.NOT_SUPPORTED, Verdict.NOT_SUPPORTED),
        ("synccheck.exited-threads", Status.OK, Verdict.PASS),
        ("perf.coalescing", Status.OK, Verdict.PASS),
    ],
)
def test_a_finding_of_the_device_becomes_its_verdict(check, status, verdict):
    finding = diagnose(check, "as found", line=3)
    report = checked(findings=(finding,), status=status)
    assert report.verdict is verdict
    assert finding in report.diagnostics


def test_a_timeout_ends_the_exercise_at_its_first_case():
    device = FakeDevice(right, (diagnose("runtime.budget", "stopped", line=3),), Status.BUDGET)
    report = grade(submit(MAP, GOOD), MAP, device, hidden=NO_SEEDS)
    assert len(device.launches) == 1 and len(report.cases) == 1 and "not run" in report.message


def test_a_changed_input_is_refused_though_the_output_is_right():
    report = checked(compute=lambda x, y, n: {"y": x * x + 1, "x": x + 1})
    assert report.verdict is Verdict.INPUT_MODIFIED


def test_nan_never_passes():
    report = checked(compute=lambda x, y, n: {"y": np.full_like(x, np.nan)})
    assert report.verdict is Verdict.WRONG_ANSWER
    assert report.diagnostics[0].check == "wrong-result.nan"


GOALS = (
    Goal("global_load_sectors_per_request", 4.0, False, 2.0, "unit stride"),
    Goal("instructions", "n // 32", False, 1.0, "few"),
    Goal("speedup", 2.0, True, 3.0, "fast"),
)
BASELINE = (GOOD, {"grid": "ceil_div(n, 256)", "block": 256})


def test_goals_count_on_a_right_kernel_only_and_unmeasured_points_leave_the_maximum():
    row = replace(MAP, goals=GOALS, baseline=BASELINE)
    counters = Counters(global_load_requests=10, global_load_sectors=40, instructions=1000)
    report = checked(row=row, counters=counters)
    assert [goal.state for goal in report.goals] == [GoalState.MET, GoalState.MISSED, GoalState.NOT_MEASURED]
    assert (report.score, report.max_score) == (3.0, 4.0)
    assert not report.passed
    wrong = checked(row=row, counters=counters, compute=lambda x, y, n: {"y": x})
    assert wrong.score == 0 and {goal.state for goal in wrong.goals} == {GoalState.MISSED}


@pytest.mark.parametrize(
    ("basis", "ratio", "state"),
    [
        (Basis.MEASURED, 1.95, GoalState.MET),
        (Basis.MEASURED, 1.85, GoalState.MISSED),
        (Basis.ESTIMATED, 2.6, GoalState.MET),
        (Basis.ESTIMATED, 2.2, GoalState.NOT_MEASURED),
        (Basis.ESTIMATED, 1.5, GoalState.MISSED),
    ],
)
def test_an_estimate_needs_a_wider_margin_than_a_measurement(basis, ratio, state):
    timing = Timing(ratio, ratio, ratio, 1000.0, 1000.0 / ratio, basis, "some GPU")
    row = replace(MAP, goals=GOALS[2:], baseline=BASELINE, timed=Timed({"n": 100}))
    report = checked(row=row, timing=timing, capabilities=frozenset({"estimates", "sm_80"}))
    assert report.goals[0].state is state and report.goals[0].basis is basis


def test_a_launch_answer_judges_every_given_kernel():
    row = replace(MAP, answer=LaunchAnswer({"solve": GOOD}))
    good = grade(
        submit(row, launch={"solve": {"grid": "ceil_div(n, 64)", "block": 64}}), row, FakeDevice(right), hidden=NO_SEEDS
    )
    assert good.verdict is Verdict.PASS and good.cases[0].name.startswith("solve: ")
    two = replace(row, answer=LaunchAnswer({"solve": GOOD, "other": GOOD.replace("solve", "other")}))
    launches = {name: {"grid": 1, "block": 64} for name in ("solve", "other")}
    wrong = grade(submit(two, launch=launches), two, FakeDevice(lambda x, y, n: {"y": x}), hidden=NO_SEEDS)
    assert {finding.message.partition(":")[0] for finding in wrong.diagnostics} == {"solve", "other"}
    missing = grade(submit(row, launch={}), row, FakeDevice(right), hidden=NO_SEEDS)
    assert missing.verdict is Verdict.LAUNCH_REJECTED


def test_a_failure_of_the_grader_earns_nothing_and_says_whose_it_is():
    def broken(x, n):
        raise ZeroDivisionError("in the reference")

    report = checked(row=replace(MAP, reference=broken))
    assert report.verdict is Verdict.INTERNAL_ERROR and report.score == 0 and "not your answer" in report.message


def test_a_compiler_that_does_not_start_is_no_verdict_on_the_answer(monkeypatch):
    def unable(source, **options):
        raise CompilerMissing("the compiler's process does not start")

    monkeypatch.setattr("simt.nvrtc.compile_cuda", unable)
    report = checked()
    assert (report.verdict, report.score) == (Verdict.NOT_SUPPORTED, 0)
    assert "does not start" in report.diagnostics[0].message
    assert not is_final(to_json(report))  # so that the next run tries again


def test_an_unreadable_answer_is_a_report_too():
    problem = submit(MAP, "int a\0;")
    report = unreadable_report(problem)
    assert report.verdict is Verdict.UNREADABLE and "NUL" in report.message and report.max_score == 1.0
