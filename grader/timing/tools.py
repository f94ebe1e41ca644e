"""The grader's own kernels that stand around a timed launch, compiled for the GPU at hand."""

from __future__ import annotations

from functools import cache

from grader.compile import BuildProblem, compile_text
from grader.model import Compiled
from grader.timing.contents import FIRST, FLOATS, SECOND, STEP

__all__ = ["SCRUB_THREADS", "STAMP_NS", "tools_for"]

# A stamp counts cycles for at least so long, from one tick of the nanosecond timer to another: the timer may tick only
# every 1.024 µs (PTX ISA, %globaltimer: lower bits may not be implemented), and reading it takes some ten cycles.
STAMP_NS = 8000
# A block of `scrub` writes nearly every register of an SM: 256 threads hold 230 of the 256 that each could have of the
# 65,536 (CUDA C++ Programming Guide, Technical Specifications). More of them would spill.
SCRUB_THREADS, _LIVE = 256, 230
_NAMES = [f"r{i}" for i in range(_LIVE)]

_FRESHEN = """
extern "C" __global__ void freshen{bits}(unsigned {word}* data, u64 n, u64 nonce) {{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) {{
        unsigned {word} value = data[i], exponent = value & {exponent:#x}ull;
        if (exponent != 0 && exponent != {exponent:#x}ull)
            data[i] = (value & ~{drawn:#x}ull) | (mixed(nonce + i * STEP) & {drawn:#x}ull);
    }}
}}
"""

# Volatile accesses keep their order: all loads come before the first store, so that each value has a register.
_SCRUB = f"""
extern "C" __global__ void __launch_bounds__({SCRUB_THREADS}, 1) scrub(unsigned words, unsigned poison) {{
    extern __shared__ unsigned shared[];
    for (unsigned i = threadIdx.x; i < words; i += blockDim.x) shared[i] = poison;
    __syncthreads();
    unsigned mine = (unsigned)__cvta_generic_to_shared(shared + threadIdx.x);
    asm volatile("{{.reg .b32 {", ".join(_NAMES)};"
        "{"".join(f"ld.volatile.shared.u32 {name}, [%0];" for name in _NAMES)}"
        "{"".join(f"st.volatile.shared.u32 [%0], {name};" for name in _NAMES)}}}" :: "r"(mine) : "memory");
}}
"""

SOURCE = (
    f"""typedef unsigned long long u64;
#define STEP {STEP:#x}ull

__device__ u64 mixed(u64 z) {{
    z = (z ^ (z >> 30)) * {FIRST:#x}ull;
    z = (z ^ (z >> 27)) * {SECOND:#x}ull;
    return z ^ (z >> 31);
}}

__device__ u64 nanoseconds() {{
    u64 now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}}

__device__ u64 next_tick() {{
    u64 now = nanoseconds(), next;
    while ((next = nanoseconds()) == now) {{}}
    return next;
}}

extern "C" __global__ void empty() {{}}

extern "C" __global__ void fill(ulonglong2* data, u64 n, u64 nonce) {{
    for (u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x; i < n; i += (u64)gridDim.x * blockDim.x) {{
        u64 value = mixed(nonce + i * STEP);
        data[i] = make_ulonglong2(value, ~value);
    }}
}}

extern "C" __global__ void stamp(u64* out) {{
    u64 start = next_tick();
    long long cycles = clock64();
    while (nanoseconds() - start < {STAMP_NS}) {{}}
    u64 stop = next_tick();
    cycles = clock64() - cycles;
    if (threadIdx.x == 0) {{ out[0] = cycles; out[1] = stop - start; }}
}}
"""
    + _FRESHEN.format(bits=16, word="short", exponent=FLOATS[2].exponent, drawn=FLOATS[2].drawn)
    + _FRESHEN.format(bits=32, word="int", exponent=FLOATS[4].exponent, drawn=FLOATS[4].drawn)
    + _FRESHEN.format(bits=64, word="long long", exponent=FLOATS[8].exponent, drawn=FLOATS[8].drawn)
    + _SCRUB
)


@cache
def tools_for(arch: str) -> Compiled:
    """Machine code with the kernels `empty`, `fill`, `scrub`, `stamp` and `freshen16`, `freshen32`, `freshen64`.

    Raises:
        RuntimeError: it does not compile, which is a fault of ours.
    """
    built = compile_text(SOURCE, "empty", arch)
    if isinstance(built, BuildProblem):
        raise RuntimeError(f"the timing kernels do not compile for {arch}: {built.log}")
    return built
