"""The comparison of outputs with the reference, and the naming of faults."""

from dataclasses import replace

import numpy as np
import pytest

from grader.compile import compile_text
from grader.exercises import exercise
from grader.model import Fault, Tolerance
from grader.verify import call_with, is_right, name_faults, name_launch_faults, verify
from simt.counters import Counters
from simt.diagnostics import diagnose
from simt.events import LaunchResult, Status
from simt.launch import Dim3, LaunchConfig

MAP = exercise("selftest.map")
CONFIG = LaunchConfig(Dim3(2), Dim3(32))
NAN, INF = float("nan"), float("inf")


def result(findings=(), writers=None, modified=(), **outputs):
    return LaunchResult(Status.OK, outputs, Counters(), {}, tuple(findings), 2, 2, 1, tuple(modified), writers=writers)


@pytest.mark.parametrize(
    ("got", "want", "right"),
    [
        (1.0, 1.0, True), (1.0 + 1e-3, 1.0, False), (NAN, 1.0, False), (INF, 1.0, False), (-INF, 1.0, False),
        (NAN, NAN, True), (1.0, NAN, False), (INF, INF, True), (-INF, INF, False), (1.0, INF, False), (3e38, INF, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_only_a_finite_error_within_the_budget_is_right(got, want, right, dtype):
    assert is_right(np.array([got], dtype), np.array([want]), Tolerance(1e-5, 1e-6))[0] == right


def test_exact_means_equal_in_the_type_of_the_output():
    third = np.array([1 / 3])
    assert is_right(third.astype(np.float32), third, Tolerance())[0]
    assert not is_right(np.nextafter(third.astype(np.float32), np.float32(1)), third, Tolerance())[0]
    assert list(is_right(np.array([2**60, 3]), np.array([2**60 + 1, 3]), Tolerance())) == [False, True]


def test_a_wrong_element_names_index_values_and_the_thread_that_wrote_it():
    want = np.arange(40.0)
    got = want.astype(np.float32)
    got[35] = 7
    check = verify(MAP, result(y=got, writers={"y": np.arange(40)}), {"y": want}, CONFIG)
    assert check.first_bad == (
        {"output": "y", "index": (35,), "got": 7.0, "want": 35.0, "thread": "thread (3,0,0) of block (1,0,0)"},
    )
    assert check.diagnostics[0].check == "wrong-result"
    assert "y[35] = 7, expected 35: 1 of 40 elements are wrong; thread (3,0,0)" in check.diagnostics[0].message


def test_unwritten_elements_are_left_to_the_finding_that_names_them():
    unwritten = diagnose("coverage.unwritten-output", "8 of 40 never written")
    got = np.arange(40, dtype=np.float32)
    got[32:] = NAN
    writers = np.r_[np.arange(32), np.full(8, -1)]
    check = verify(MAP, result([unwritten], {"y": writers}, y=got), {"y": np.arange(40.0)}, CONFIG)
    assert check.diagnostics == () and check.first_bad[0]["thread"] == -1


def test_nan_has_a_finding_of_its_own():
    check = verify(MAP, result(y=np.full(40, NAN, np.float32)), {"y": np.arange(40.0)}, CONFIG)
    assert check.diagnostics[0].check == "wrong-result.nan" and "40 of 40" in check.diagnostics[0].message


def test_a_64_bit_value_cut_to_32_bits_is_called_an_overflow_with_its_line():
    want = np.arange(50000, dtype=np.int64) * 100000
    text = """extern "C" __global__ void k(long long* off, int pitch) {
        int r = threadIdx.x;
        long long wide = r * pitch;
        off[r] = wide;
    }"""
    run = result(off=want.astype(np.int32).astype(np.int64))
    finding = verify(MAP, run, {"off": want}, CONFIG, compile_text(text, "k", "sm_80")).diagnostics[0]
    assert finding.check == "wrong-result+int-overflow" and finding.line == 3
    assert "off[21475] = -2147467296, expected 2147500000" in finding.message


def test_a_transposed_matrix_is_recognised():
    want = np.arange(25.0).reshape(5, 5)
    finding = verify(MAP, result(y=want.T.astype(np.float32)), {"y": want}, CONFIG).diagnostics[0]
    assert "transposed" in finding.help


def test_a_changed_input_and_a_missing_output_are_findings():
    check = verify(MAP, result(modified=["x"]), {"y": np.arange(3.0)}, CONFIG)
    assert [finding.check for finding in check.diagnostics] == ["input-modified", "wrong-result"]


def test_a_function_gets_what_it_names():
    assert call_with(lambda x, n: (x, n), {"x": 1, "n": 2, "z": 3}, {"n": 9, "m": 4}) == (1, 2)
    assert call_with(lambda sizes, m: (sizes["n"], m), {"x": 1}, {"n": 9, "m": 4}) == (9, 4)


READ = diagnose("memcheck.global.read-oob", "read 4 bytes past the end", help="guard it")
WRONG = diagnose("wrong-result", "y[0] = 2", help="follow it")
BY_SLUG = Fault("no-guard", ("memcheck.global.*",), says="nothing stops the last threads")
BY_MESSAGE = Fault("off-by-one", ("memcheck.*",), message="4 bytes past")
BY_OUTPUT = Fault("local-index", wrong_reference=lambda x: {"y": x * 2.0})


def named(faults, findings, y, x=(1.0, 2.0, 3.0)):
    x = np.array(x)
    row = replace(MAP, faults=tuple(faults))
    run = result(findings, y=np.asarray(y, np.float32))
    return name_faults(row, run, tuple(findings), {"x": x}, {"n": 3}, {"y": x + 1})


def test_a_fault_is_named_by_its_finding():
    (finding,) = named([BY_SLUG], [READ], [2, 3, 4])
    assert finding.help == "no-guard: nothing stops the last threads. guard it"


def test_a_message_that_fits_beats_a_slug_alone():
    (finding,) = named([BY_SLUG, BY_MESSAGE], [READ], [2, 3, 4])
    assert finding.help.startswith("off-by-one")


def test_a_fault_is_named_by_the_output_it_makes():
    (finding,) = named([BY_SLUG, BY_OUTPUT], [WRONG], [2, 4, 6])
    assert finding.help.startswith("local-index")


def test_an_output_that_equals_both_references_names_nothing():
    (finding,) = named([BY_OUTPUT], [WRONG], [2, 2, 2], x=(1.0, 1.0, 1.0))
    assert finding == WRONG


def test_one_name_a_case_where_several_faults_fit():
    also = Fault("late-guard", ("memcheck.*",), says="the guard comes late")
    write = diagnose("memcheck.global.write-oob", "write 4 bytes past the end", help="guard it")
    findings = named([BY_SLUG, also], [READ, write], [2, 3, 4])
    assert [finding.help for finding in findings] == ["no-guard: nothing stops the last threads. guard it", "guard it"]


def test_a_refused_launch_names_its_fault():
    large = diagnose("launch.grid-limit", "2^30 threads", help="fewer")
    row = replace(MAP, faults=(BY_SLUG, Fault("too-many-blocks", ("launch.grid-limit",))))
    assert name_launch_faults(row, (large,))[0].help == "too-many-blocks. fewer"
    assert name_launch_faults(MAP, (large,)) == (large,)


def test_a_warning_names_no_fault():
    warning = diagnose("coverage.unread-input", "x[4:] never read")
    assert named([Fault("unread", ("coverage.*",))], [warning], [2, 3, 4]) == (warning,)
