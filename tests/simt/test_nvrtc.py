"""CUDA text to PTX and machine code: what compiles, and what is said of what does not."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from simt import nvrtc_toolkit
from simt.diagnostics import Severity
from simt.kernel_names import find_kernels
from simt.nvrtc import CompilerMissing, KernelResources, compile_cuda, find_toolkit
from simt.sandbox import Limits
from tests.processes import children, ended

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parents[1] / "golden" / "ncu" / "sm_90"

SAXPY = """extern "C" __global__ void saxpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}
"""
# 2^40 tokens: no compiler gets to the end of it, and none has the memory.
MACRO_BOMB = (
    "#define A0 1+1+1+1\n"
    + "".join(f"#define A{n + 1} A{n}+A{n}+A{n}+A{n}\n" for n in range(19))
    + 'extern "C" __global__ void k(int* y) { y[0] = A19; }\n'
)
# 10^9 steps at compile time in portions that the compiler allows, which takes no memory.
TIME_BOMB = """constexpr unsigned spin(unsigned n) {
  unsigned sum = n;
  for (unsigned i = 0; i < 100000; i++) sum = sum * 3 + i;
  return sum;
}
""" + "".join(f"constexpr unsigned v{n} = spin({n});\n" for n in range(10_000))


def build(source, **options):
    return compile_cuda(source, cache=None, **options)


def only_error(source, **options):
    result = build(source, **options)
    assert not result.ok and not result.ptx and not result.cubin
    (error,) = [finding for finding in result.diagnostics if finding.severity is Severity.ERROR]
    return error


def test_a_kernel_becomes_ptx_and_machine_code():
    result = build(SAXPY, arch="sm_90")
    assert result.ok and result.diagnostics == () and result.log == ""
    assert find_kernels(result.ptx) == ("saxpy",)
    assert ".target sm_90" in result.ptx
    assert result.cubin.startswith(b"\x7fELF")
    assert result.nvrtc_version.startswith("13.")


def test_ptx_names_the_students_lines():
    result = build(SAXPY, file_name="mine.cu")
    assert '"/mine.cu"' in result.ptx
    assert {line.split()[2] for line in result.ptx.splitlines() if line.startswith("\t.loc")} >= {"2", "3"}


def test_without_machine_code_there_are_no_resources():
    result = build(SAXPY, want_cubin=False)
    assert result.ok and result.ptx and not result.cubin and not result.resources


def test_resources_are_read_from_the_assembler():
    source = """extern "C" __global__ void spilling(float* x, int n) {
  __shared__ float tile[100];
  float local[64];
  for (int i = 0; i < 64; i++) local[i] = x[i * n];
  for (int i = 0; i < n; i++) tile[i] = local[(i * n) & 63];
  __syncthreads();
  x[0] = tile[n];
}"""
    row = build(source, arch="sm_80").resources["spilling"]
    assert row.registers > 0 and row.constant_bytes > 0
    assert (row.static_shared_bytes, row.stack_bytes) == (400, 256)
    assert (row.spill_store_bytes, row.spill_load_bytes) == (0, 0)


def test_spills_are_counted():
    loads = "\n".join(f"  float v{i} = x[{i} * n];" for i in range(120))
    uses = " + ".join(f"v{i} * v{(7 * i) % 120}" for i in range(120))
    source = f'extern "C" __global__ void k(float* x, int n) {{\n{loads}\n  __syncthreads();\n  x[0] = {uses};\n}}'
    row = build(source, options=("--maxrregcount=24",)).resources["k"]
    assert row.registers <= 24
    assert row.spill_store_bytes > 0 and row.spill_load_bytes > 0


def test_name_expressions_are_translated():
    source = "template <int N> __global__ void k(float* y) { y[threadIdx.x] = N; }"
    result = build(source, name_expressions=["k<3>", "k<1 + 3>"])
    assert set(result.names) == {"k<3>", "k<1 + 3>"}
    assert set(result.names.values()) == set(find_kernels(result.ptx)) == set(result.resources)


@pytest.mark.parametrize("name", ["basic.cu", "gemm.cu"])
def test_the_recorded_kernels_compile(name):
    result = build((GOLDEN / name).read_text(), arch="sm_90")
    assert result.ok and result.diagnostics == ()
    assert set(result.resources) == set(find_kernels(result.ptx))


def test_an_error_has_its_line_and_a_next_step():
    error = only_error(SAXPY.replace("y[i] += a", "y[i] += alpha"))
    assert (error.check, error.line) == ("compile.error", 3)
    assert 'identifier "alpha" is undefined' in error.message and error.help


@pytest.mark.parametrize(
    ("word", "hint"),
    [("treadIdx.x", "threadIdx"), ("uint32_t(3)", "<stdint.h>"), ("FLT_MAX", "<float.h>"), ("nn", "`nn`")],
)
def test_an_unknown_name_is_explained(word, hint):
    assert hint in only_error(f'extern "C" __global__ void k(float* y) {{ y[0] = {word}; }}').help


def test_an_error_inside_a_header_is_placed_where_the_text_led_there():
    error = only_error(
        '#include <cuda_pipeline.h>\nextern "C" __global__ void k(float* y) {\n  __pipeline_commit(y);\n}'
    )
    assert error.line == 3


def test_a_misspelt_type_that_crashes_the_compiler_is_named():
    error = only_error("\ntemplate <int A> __global__ void k(hlf* o) {\n  o[0] = A;\n}", name_expressions=["k<32>"])
    assert (error.check, error.line) == ("compile.error", 2)
    assert '"hlf" is undefined' in error.message and "`half`" in error.help
    assert build(SAXPY).ok


def test_an_instance_that_does_not_fit_its_template():
    error = only_error("\ntemplate <int A> __global__ void k(float* o) { o[0] = A; }", name_expressions=["k<float>"])
    assert (error.check, error.line) == ("compile.error", 2)
    assert "`k<float>`" in error.message and "template" in error.help


def test_static_shared_memory_over_the_limit_names_the_array():
    source = """__device__ float keep;
extern "C" __global__ void wide(const float* x, float* y) {
  __shared__ float small[4];
  __shared__ float s[16384];
  s[threadIdx.x] = x[threadIdx.x];
  small[threadIdx.x & 3] = x[1];
  __syncthreads();
  y[threadIdx.x] = s[16383 - threadIdx.x] + small[0];
}"""
    error = only_error(source)
    assert (error.check, error.line) == ("compile.static-shared-limit", 4)
    for word in ("wide", "65552", "49152", "`s`"):
        assert word in error.message
    assert "dynamic" in error.help


def test_an_instruction_that_the_architecture_lacks_is_found_by_assembling():
    source = """extern "C" __global__ void k(float* y) {
  y[0] = 1.0f;
  asm volatile("wgmma.fence.sync.aligned;");
}"""
    error = only_error(source, arch="sm_80")
    assert error.line == 3 and "wgmma.fence" in error.message and "newer architecture" in error.help
    assert build(source, arch="sm_90a").ok


def test_an_uninitialised_variable_is_a_warning():
    result = build('extern "C" __global__ void k(float* y) {\n  float sum;\n  sum += y[0];\n  y[1] = sum;\n}')
    (warning,) = result.diagnostics
    assert result.ok
    assert (warning.check, warning.severity, warning.line) == ("compile.uninitialised", Severity.WARNING, 3)
    assert '"sum"' in warning.message


def test_other_warnings_are_kept_apart():
    (warning,) = build('extern "C" __global__ void k(float* y, unsigned n) {\n  if (n >= 0u) y[0] = 1;\n}').diagnostics
    assert (warning.check, warning.line) == ("compile.warning", 2)


def test_an_unused_variable_is_no_finding():
    assert build('extern "C" __global__ void k(float* y) {\n  int unused = 3;\n  y[0] = 1;\n}').diagnostics == ()


@pytest.mark.parametrize(("text", "line"), [("\n\n\0", 3), ("a\n\ud800", 2)])
def test_a_text_that_is_no_text_is_refused(text, line):
    error = only_error(text)
    assert (error.check, error.line) == ("compile.error", line)


def test_the_log_is_printable_and_short():
    result = build(f"#error <b>\x1b[31mPASS\u202e\x07</b>\nint {'a' * 50_000} = b;\n")
    assert not result.ok and 0 < len(result.log.encode()) <= 8 * 1024
    assert not any(character in result.log + result.diagnostics[0].message for character in "\x1b\u202e\x07")
    flood = build(f"int x = {'a' * 50_000};")
    assert 0 < len(flood.log.encode()) <= 8 * 1024


def test_the_log_shows_no_folder_of_this_machine():
    result = build('#include <cuda_fp16.h>\nextern "C" __global__ void k(__half* y) { y[0] = __hadd(y[0], 1, 2); }')
    assert not result.ok and "cuda_fp16.h" in result.log
    assert str(find_toolkit().include_dirs[-1]) not in result.log


# Prelude


HEADERS = "cuda stdint float stdio math stddef limits assert stdlib string".split()
CPP_HEADERS = "cstdint cfloat cstdio cmath cstddef climits cassert cstdlib cstring".split()
USES_PRELUDE = """extern "C" __global__ void k(float* y, const __grid_constant__ CUtensorMap map) {
  int64_t wide = INT64_MAX;
  std::uint32_t narrow = UINT32_MAX;
  ptrdiff_t gap = &y[3] - y;
  float lowest = -INFINITY;
  assert(wide > 3 && narrow && NULL == nullptr);
  printf("%d", INT_MAX);
  memcpy(y + 8, y, sizeof(float));
  y[0] = FLT_MAX + M_PI + gap + fmaxf(lowest, DBL_EPSILON) + offsetof(CUtensorMap, opaque) + LONG_MAX;
}"""
PRELUDE = "".join(f"#include <{name}>\n" for name in [f"{name}.h" for name in HEADERS] + CPP_HEADERS)


@pytest.mark.parametrize(
    "beside",
    ["", "cooperative_groups.h", "cuda_fp16.h", "cuda_bf16.h", "mma.h", "cuda_pipeline.h", "cuda/barrier"]
    + ["cuda/std/cstdint", "cuda_runtime.h"],
)
def test_prelude_compiles_before_and_after_cudas_headers(beside):
    include = f"#include <{beside}>\n" if beside else ""
    for source in (PRELUDE + include + USES_PRELUDE, include + PRELUDE + USES_PRELUDE):
        result = build(source, arch="sm_90", want_cubin=False)
        assert result.ok and result.diagnostics == () and result.log == "", result.log


def test_infinity_needs_no_include_and_is_a_constant():
    source = """constexpr float top = INFINITY;
__constant__ float limits[2] = {-INFINITY, INFINITY};
extern "C" __global__ void k(float* y, int i) { y[0] = top; y[1] = limits[i]; y[2] = NAN; }"""
    result = build(source)
    assert result.ok and result.diagnostics == ()
    assert "2139095040" in result.ptx or "0f7F800000" in result.ptx


def test_a_tensor_map_is_128_bytes_at_a_multiple_of_64():
    source = "#include <cuda.h>\nstatic_assert(sizeof(CUtensorMap) == 128 && alignof(CUtensorMap) == 64);\n"
    assert build(source + SAXPY).ok


def test_include_folders_are_found_and_quoted_files_beside_them(tmp_path):
    (tmp_path / "scale.cuh").write_text("#define SCALE 3.0f\n")
    source = '#include "scale.cuh"\nextern "C" __global__ void k(float* y) { y[0] = SCALE; }'
    assert build(source, include_dirs=[tmp_path]).ok
    assert 'cannot open source file "scale.cuh"' in only_error(source).message


# Hostile texts


@pytest.mark.parametrize("path", ["/etc/passwd", "/proc/self/environ", "../../../../etc/passwd", "/dev/zero"])
def test_no_file_of_the_machine_gets_into_a_log(path):
    result = build(f'#include "{path}"\n' + SAXPY)
    assert not result.ok and "root:" not in result.log
    assert result.diagnostics[0].line == 1


def test_a_text_that_compiles_for_ever_is_stopped():
    error = only_error(TIME_BOMB, limits=Limits(cpu_seconds=1))
    assert error.check == "compile.limit" and "processor time" in error.message
    error = only_error(TIME_BOMB, limits=Limits(wall_seconds=0.5))
    assert error.check == "compile.limit" and "0.5 s" in error.message


def test_a_text_that_needs_too_much_memory_is_stopped():
    error = only_error(MACRO_BOMB, limits=Limits(address_space_bytes=1 << 29))
    assert error.check == "compile.limit" and "memory" in error.message


def test_a_text_that_becomes_too_much_ptx_is_refused():
    source = "__device__ int table[600000] = {" + "1," * 600_000 + "};\n" + SAXPY
    error = only_error(source, want_cubin=False)
    assert error.check == "compile.limit" and "PTX" in error.message


def test_interrupting_a_compilation_leaves_nothing_behind(tmp_path):
    """The compile process ends with its parent, and its parent ends by the interrupt."""
    source = tmp_path / "bomb.cu"
    source.write_text(TIME_BOMB)
    script = f"""
import os, sys
sys.path.insert(0, {str(ROOT)!r})
from simt.nvrtc import compile_cuda
print(compile_cuda("", cache=None).ok, flush=True)
compile_cuda(open({str(source)!r}).read(), cache=None)
"""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as parent:
        assert parent.stdout.readline() == b"True\n"
        started = children(parent.pid)
        parent.send_signal(signal.SIGINT)
        _, errors = parent.communicate()
    assert b"KeyboardInterrupt" in errors and started
    assert all(ended(pid) for pid in started)


# Toolkit


def test_a_machine_without_the_packages_says_how_to_get_them(monkeypatch):
    monkeypatch.setattr(nvrtc_toolkit, "_installations", lambda major: iter(()))
    find_toolkit.cache_clear()
    try:
        with pytest.raises(CompilerMissing, match="pip install .*nvidia-cuda-nvrtc.*cccl"):
            compile_cuda(SAXPY)
    finally:
        find_toolkit.cache_clear()


def test_a_toolkit_without_headers_or_preload_still_compiles(monkeypatch):
    tools = find_toolkit()
    bare = nvrtc_toolkit.Toolkit(tools.library, None, tools.include_dirs[:1], tools.version, "bare")
    assert build(SAXPY, toolkit=bare).ok
    assert "cuda_fp16.h" in only_error("#include <cuda_fp16.h>\n" + SAXPY, toolkit=bare).message


def test_resources_compare_by_value():
    assert build(SAXPY).resources == {"saxpy": build(SAXPY).resources["saxpy"]}
    assert isinstance(build(SAXPY).resources["saxpy"], KernelResources)
