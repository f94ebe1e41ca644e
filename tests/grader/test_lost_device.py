"""What is said of a run whose process is gone."""

import numpy as np
import pytest

from grader.answers import submit
from grader.devices import DeviceLost
from grader.exercises import exercise
from grader.model import Verdict
from grader.pipeline import check_submission
from tests.grader.fake import FakeDevice

ROW = exercise("selftest.map")
KERNEL = """// while nobody looks
__device__ float square(float v) { return v * v; }
extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    while (i >= n) i -= n;
    LOOP
    y[i] = square(x[i]) + 1.0f;
}"""


def lost(loop, timed_out=True):
    """The only finding of a run with `loop` in its kernel that ended its process."""

    def fail(**_):
        raise DeviceLost("no result within 20 s" if timed_out else "child ended with SIGSEGV", timed_out)

    report = check_submission(submit(ROW, KERNEL.replace("LOOP", loop)), FakeDevice(fail))
    (finding,) = [finding for finding in report.diagnostics if finding.check.startswith("runtime.")]
    return report, finding


def test_a_time_out_names_kernel_case_loop_and_next_step():
    report, finding = lost("")
    assert report.verdict is Verdict.TIMEOUT and finding.check == "runtime.budget"
    assert "`solve` gave no result within 20 s" in finding.message and f"case {ROW.cases[0].name}" in finding.message
    assert finding.line == 5 and "line 5" in finding.help


def test_of_several_loops_none_is_picked():
    _, finding = lost("for (int k = 0; k < n; k++) y[k] = 0;")
    assert finding.line == 3 and "lines 5, 6" in finding.help


def test_a_time_out_of_a_kernel_that_prints_asks_what_it_prints():
    _, finding = lost('printf("%999999999d", n);')
    assert finding.help.startswith("does printf write far too much")


@pytest.mark.parametrize("timed_out", [True, False])
def test_what_ended_the_process_is_said(timed_out):
    report, finding = lost("", timed_out)
    assert ("20 s" if timed_out else "SIGSEGV") in finding.message
    assert report.verdict is (Verdict.TIMEOUT if timed_out else Verdict.INTERNAL_ERROR)
    assert np.isfinite(report.score) and report.score == 0
