"""Declared pointer types beside the exercise's: help for a run that failed, never a reason for one."""

import pytest

from grader.answers import submit
from grader.declared_types import other_type
from grader.devices import choose
from grader.exercises import exercise
from grader.model import Verdict
from grader.pipeline import check_submission

MAP = exercise("selftest.map")
BODY = " { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = x[i] * x[i] + 1.0f; }"


def text(parameters):
    return f'extern "C" __global__ void solve({parameters}){BODY}'


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ("const double* x, float* y, int n", "`double* x`"),
        ("const float* __restrict__ in, int *out, int n", "`int* out`"),
        ("const float* x, /* a, b */ unsigned long long * y, // c\n int n", "`unsigned long long* y`"),
        ("const __half *const x, float* y, int n", "`__half* x`"),
    ],
)
def test_first_pointer_of_another_type_is_named(parameters, named):
    assert named in other_type(MAP, text(parameters), "solve")


@pytest.mark.parametrize(
    "source",
    [
        text("const float* x, float* y, int n"),
        text("float const* const x, float* y, int n"),
        text("const float4* x, float4* y, int n"),  # vectors of the same element are the usual reading of it
        text("const long* x, My<int, 2>* y, int n"),  # of unknown size
        text("const double* x, float* y"),
        "// __global__ void solve(const double* x, float* y, int n)\n" + text("const float* x, float* y, int n"),
        'extern "C" __global__ void solve(const double* x, float* y, int n',
    ],
)
def test_nothing_is_said_of_what_fits_or_is_not_known(source):
    assert other_type(MAP, source, "solve") == ""


def report(source):
    return check_submission(submit(MAP, source), choose("simulator"))


def test_a_memory_fault_is_put_down_to_the_declared_type():
    found = report(text("const double* x, float* y, int n"))
    assert found.verdict is Verdict.MEMORY_FAULT
    fault = next(finding for finding in found.diagnostics if finding.check.startswith("memcheck"))
    assert "declare `const float* x`" in fault.help and "8 bytes wide" in fault.help and "guard" not in fault.help


def test_a_wrong_result_is_put_down_to_the_declared_type():
    found = report(text("const int* x, float* y, int n"))
    assert found.verdict is Verdict.WRONG_ANSWER and "declare `const float* x`" in found.diagnostics[0].help


def test_a_kernel_that_reads_its_floats_as_integers_on_purpose_passes():
    source = text("const int* x, float* y, int n").replace("x[i] * x[i]", "__int_as_float(x[i]) * __int_as_float(x[i])")
    assert report(source).verdict is Verdict.PASS
