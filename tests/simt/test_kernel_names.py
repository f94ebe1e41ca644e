"""Names of kernels: what is said where the one asked for is not there, and mangled names made plain."""

import pytest

from simt.kernel_names import missing_kernel, plain_name
from simt.nvrtc import compile_cuda

SAXPY = """extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""


def ptx_of(source):
    return compile_cuda(source, cache=None).ptx


def test_a_kernel_without_extern_c_is_explained():
    source = "// saxpy\n" + SAXPY.replace('extern "C" ', "")
    finding = missing_kernel("saxpy", ptx_of(source), source)
    assert (finding.check, finding.line) == ("host.kernel-not-found", 2)
    assert "_Z5saxpyfPKfPfi" in finding.message and 'extern "C"' in finding.help


def test_a_misspelt_kernel_name_is_corrected():
    finding = missing_kernel("saxby", ptx_of(SAXPY), SAXPY)
    assert finding.line == 1 and "did you mean `saxpy`" in finding.help


def test_a_template_needs_a_name_expression():
    source = "template <int N> __global__ void k(float* y) { y[0] = N; }"
    finding = missing_kernel("k", ptx_of(source), source)
    assert finding.line == 1 and "`k<32>`" in finding.help and "no kernel at all" in finding.message


def test_a_function_that_is_no_kernel():
    source = "__device__ float f(float x) { return x; }"
    assert "__global__" in missing_kernel("f", ptx_of(source), source).help


def test_a_kernel_that_is_there_is_not_missing():
    assert missing_kernel("saxpy", ptx_of(SAXPY), SAXPY) is None


@pytest.mark.parametrize(
    ("mangled", "name"),
    [("_Z5saxpyfPKfPfi", "saxpy"), ("_Z1kILi3EEvPf", "k"), ("_ZN4mine4deep4scanEPf", "scan"), ("plain", "plain")],
)
def test_plain_name(mangled, name):
    assert plain_name(mangled) == name
