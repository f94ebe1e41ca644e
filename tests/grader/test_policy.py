"""The source scan and the PTX policy: what gets through, and what does not."""

import csv
import random
from pathlib import Path

import pytest

from grader.compile import compile_text
from grader.exercises import exercise
from grader.notebook.source import canonical
from grader.policy import ALLOWED_HEADERS, scan_source
from grader.ptx_policy import check_ptx
from simt.nvrtc import compile_cuda
from simt.nvrtc_toolkit import find_toolkit

ATTACKS = Path(__file__).parents[1] / "attacks"
MAP = exercise("selftest.map")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('#include "/etc/passwd"', 1), ("#include </etc/passwd>", 1), ("a\n  #  include <../x>", 2),
        ('%: include "x"', 1), ('#inc\\\nlude "x"', 1), ('#inc\\  \nlude "x"', 1), ('# /* a\n b */ include "x"', 1),
        ("#define F <x>\n#include F", 2), ("#include_next <math.h>", 1), ("#import <math.h>", 1), ("#embed <x>", 1),
        ("#if __has_include(<x>)\n#endif", 1), ("#if __has_\\\ninclude(<x>)\n#endif", 1), ("#line 3", 1), ("# 3 \"x\"", 1),
        ("/* c */ #include \"x\"", 1), ("/*\n// */ #include \"x\"", 2), ('int a = 1\'0;\n#include "x"\nint b = 1\'0;', 2),
        ('const char* s = "/*";\n#include "x"', 2), ("a \u202e b", 1), ("??=include <x>", 1), ("#\\u0069nclude <x>", 1),
        ("\\\n\\\n#include \"x\"", 3), ('R"(\n)" ;\n#include "x"', 3), ("#ident \"x\"", 1), ("#include", 1),
        ('/* a\n */ # /* b\n */ include "x"', 2), ("c = 1.'a '/*';\n#include <x>\n//*/", 2), ('R"(/*)"\n#include <x>\n//*/', 2),
        ("#error don't /*\n#include <x>\n*/", 2), ('a = "\\"/*"\n#include <x>\n"*/"', 2), ("#include <cuda/*x>\n*/", 1),
        ('R"x(")x" "/*";\n#include <x>\n//*/', 2), ("c = 1.'a '/*' '';\n#include <x>\n//*/", 2),
        ("#if _CCCL_HAS_INCLUDE(<x>)\n#endif", 1), ("#define P _CCCL_PP_CAT(__has_, include)(<x>)\n#if P\n#endif", 2),
        ("#define C(a, b) a##b\n#define D C\n#if 0\n#elif D(__has_, include)(<x>)\n#endif", 4),
        ("#define C(a, b) a%:%:b\n#if(C(__has_, include)(<x>))\n#endif", 2),
    ],
)  # fmt: skip
def test_a_way_to_a_file_or_a_misleading_text_is_refused_with_its_line(text, line):
    findings = scan_source(text)
    assert findings and findings[0].line == line and findings[0].help


@pytest.mark.parametrize(
    "text",
    [
        "", "#", "#define N 3\n#undef N", "#pragma unroll\nfor (;;);", "#ifdef A\n#else\n#endif", "#error no",
        '// #include "mine.h"', 'const char* s = "# include";', "a %: b", "x = a#b;", "#include <cuda/std/array>",
        "#include <cub/block/block_reduce.cuh>", "  # /* why */ include /* so */ <mma.h> // here", "#include \"stdio.h\"",
        "/* note */ // # heading", "/* Steps:\n  #1 load\n  #2 store\n*/", "/*\n#include <stdio.h>\n*/ x = 'a';",
        "// ## Load\n#if 1\n#endif", "#define C(a, b) a##b\n#define T 16\n#if T == 16 && defined(X)\n#endif",
        "// don't\n/* # x */", "int a = 1'000; // # x", "// who has __has_include?", "f(\"a \\\" b\", 'c'); /*\n# x */",
        *(f"#include <{name}>" for name in sorted(ALLOWED_HEADERS)),
    ],
)  # fmt: skip
def test_honest_text_is_accepted(text):
    assert scan_source(text) == ()


def test_every_accepted_header_is_installed_and_curand_is_not_one_of_them():
    folders = find_toolkit().include_dirs
    assert [name for name in sorted(ALLOWED_HEADERS) if not any((folder / name).is_file() for folder in folders)] == []
    (finding,) = scan_source("#include <curand_kernel.h>")
    assert "not installed" in finding.help


# What opens, closes or hides a comment, in any order.
PIECES = (
    "/*", "*/", "//", '"', "'", 'R"(', ')"', "1'0", "'0", "1.", "e+", "\\", "\\\n", "%:", "#", "<", ">", '"/*"', "'/*'", "u8",
    "L", "??/", "x", ".", "\n", "\n\n", " ", "\n/*\n", "\n*/\n", "\n#if 0\n", "\n#endif\n", "\n#error ", "\n#define Q ",
    "\n#pragma x ", *("include <nowhere.h>\n", "\n#include <nowhere.h>\n") * 2,
)  # fmt: skip


def test_where_the_scan_finds_no_include_the_compiler_finds_none():
    rng = random.Random(20)
    tried = 0
    while tried < 60:
        text = canonical("".join(rng.choice(PIECES) for _ in range(rng.randint(4, 16))))
        if "nowhere" in text and scan_source(text) == ():
            tried += 1
            assert "cannot open" not in compile_cuda(text, want_cubin=False, cache=None).log, repr(text)


def findings_of(text, policy=frozenset()):
    built = compile_text(canonical(text), "solve", "sm_80")
    return check_ptx(built.ptx, built.kernel, MAP.params, policy)


def rows():
    with (ATTACKS / "attacks.tsv").open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.mark.parametrize("row", [r for r in rows() if r["expected"] == "REJECT_SOURCE"], ids=lambda r: r["id"])
def test_an_attack_on_the_source_is_refused_by_the_scan(row):
    assert scan_source(canonical((ATTACKS / row["file"]).read_text()))


@pytest.mark.parametrize("row", [r for r in rows() if r["expected"].startswith("REJECT_PTX")], ids=lambda r: r["id"])
def test_an_attack_on_the_ptx_is_refused_by_the_policy(row):
    assert findings_of((ATTACKS / row["file"]).read_text())


@pytest.mark.parametrize("row", [r for r in rows() if r["category"] == "control"], ids=lambda r: r["id"])
def test_a_control_passes_scan_and_policy(row):
    text = canonical((ATTACKS / row["file"]).read_text())
    policy = frozenset({"device_globals"} if row["lesson_flags"] else ())
    assert scan_source(text) == () and findings_of(text, policy) == ()


MAP_KERNEL = 'extern "C" __global__ void solve(const float* x, float* y, int n)'
STATES = [
    "__device__ int state;\n" + MAP_KERNEL + " { state = n; }",
    "__device__ int state = 3;\n" + MAP_KERNEL + " { atomicAdd(&state, n); }",
    "__device__ int state[2] = {3, 4};\n" + MAP_KERNEL + " { int* p = n > 3 ? state : state + 1; *p = n; }",
    "__device__ int state = 3;\n__device__ __noinline__ void put(int* p) { *p = 4; }\n"
    + MAP_KERNEL
    + " { put(&state); }",
    "__device__ int state;\n" + MAP_KERNEL + ' { asm volatile("st.param.u32 [%0], 1;" :: "l"(&state)); }',
]


@pytest.mark.parametrize("text", STATES)
def test_state_that_outlives_a_launch_needs_the_exercise_to_allow_it(text):
    assert any("__device__ variable" in finding.message for finding in findings_of(text))
    assert findings_of(text, frozenset({"device_globals"})) == ()


@pytest.mark.parametrize(
    "text",
    [
        "__device__ const float table[3] = {1, 2, 3};\n" + MAP_KERNEL + " { if (n) y[0] = table[n % 3]; }",
        MAP_KERNEL + " { if (n > 3) { __trap(); } y[0] = x[0]; }",
        "#include <cassert>\n" + MAP_KERNEL + " { assert(n > 0); y[0] = x[0]; }",
    ],
)
def test_a_table_that_never_changes_needs_no_permission(text):
    assert findings_of(text) == ()


@pytest.mark.parametrize(
    "statement",
    [
        'asm volatile("prefetch.global.L2::evict_last [%0];" :: "l"(x));',
        'float v; asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;" : "=f"(v) : "l"(x), "l"(1ll << 60)); y[0] = v;',
    ],
)
def test_what_stays_in_the_cache_needs_the_exercise_to_allow_it(statement):
    text = MAP_KERNEL + " { " + statement + " }"
    assert [finding.help[:16] for finding in findings_of(text)] == ["it changes the c"]
    assert findings_of(text, frozenset({"cache_control"})) == ()


def test_another_parameter_list_is_told_with_the_right_one():
    (finding,) = findings_of('extern "C" __global__ void solve(const float* x, float* y, long long n) { y[0] = x[n]; }')
    assert "parameter 3 of `solve` has 8 bytes; `n` has 4" in finding.message
    assert finding.help == "declare it as solve(const float* x, float* y, int n)"


HEADERS = {
    "cooperative groups": "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n"
    "namespace cg = cooperative_groups;\n" + MAP_KERNEL + " {\n"
    "    auto warp = cg::tiled_partition<32>(cg::this_thread_block());\n"
    "    y[threadIdx.x] = cg::reduce(warp, x[threadIdx.x], cg::plus<float>());\n}",
    "atomics": "#include <cuda/atomic>\n" + MAP_KERNEL + " {\n"
    "    cuda::atomic_ref<float, cuda::thread_scope_device>(y[0]).fetch_add(x[0]);\n}",
    "block reduction": "#include <cub/block/block_reduce.cuh>\n" + MAP_KERNEL + " {\n"
    "    __shared__ typename cub::BlockReduce<float, 128>::TempStorage room;\n"
    "    float sum = cub::BlockReduce<float, 128>(room).Sum(x[threadIdx.x]);\n    if (threadIdx.x == 0) y[0] = sum;\n}",
    "a table of texts": '__constant__ const char* names[] = {"odd", "even"};\n'
    + MAP_KERNEL + ' { printf("%s", names[n & 1]); y[0] = x[0]; }',
}  # fmt: skip


@pytest.mark.parametrize("what", HEADERS)
def test_what_headers_define_and_nothing_writes_is_no_state(what):
    """CCCL brings hundreds of constants, those of value 0 without an initialiser in the PTX."""
    assert scan_source(HEADERS[what]) == () and findings_of(HEADERS[what]) == ()


WAITING = {
    "%envreg": "#include <cooperative_groups.h>\n"
    + MAP_KERNEL
    + " { cooperative_groups::this_grid().sync(); y[0] = x[0]; }",
    "%globaltimer": "#include <cuda/barrier>\n" + MAP_KERNEL + " {\n"
    "    __shared__ cuda::barrier<cuda::thread_scope_block> all;\n"
    "    if (threadIdx.x == 0) init(&all, blockDim.x);\n    __syncthreads();\n    all.arrive_and_wait();\n    y[0] = x[0];\n}",
}


@pytest.mark.parametrize("register", WAITING)
def test_a_wait_of_the_headers_needs_the_exercise_to_allow_its_registers(register):
    assert register in findings_of(WAITING[register])[0].message
    assert findings_of(WAITING[register], frozenset({"special_registers"})) == ()


def test_a_long_name_makes_no_long_message():
    text = (
        'extern "C" __global__ void solve' + "a" * 50_000 + "(int* p) { *p = 1; }\n" + MAP_KERNEL + " { y[0] = x[0]; }"
    )
    (finding,) = findings_of(text)
    assert "a second kernel" in finding.message and len(finding.message) < 1100


THROUGH_PARAM = """{ .param .b32 p0; .param .b64 p1; st.param.b32 [p0], 5; st.param.b64 [p1], %rd1;
        call store, (p0, p1); }"""


@pytest.mark.parametrize("call", ["call put, (5, where);", "call put, (5, %rd1);", THROUGH_PARAM])
def test_an_address_is_followed_to_its_own_parameter(call):
    ptx = f""".version 9.0
.target sm_80
.address_size 64
.global .align 4 .u32 state = 3;
.func put(.reg .b32 first, .reg .b64 second) {{ st.global.u32 [second], 7; ret; }}
.func store(.param .b32 first, .param .b64 second) {{
    .reg .b64 %rd<2>; ld.param::func.b64 %rd1, [second]; st.global.u32 [%rd1], 7; ret;
}}
.visible .entry solve(.param .u64 a, .param .u64 b, .param .u32 c) {{
    .reg .b64 %rd<3>; .reg .b64 where;
    mov.u64 %rd1, state; mov.u64 where, %rd1;
    {call}
    ret;
}}
"""
    assert any("`state`" in finding.message for finding in check_ptx(ptx, "solve", MAP.params, frozenset()))
