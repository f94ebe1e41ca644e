"""The next step for the compiler messages that learners meet most."""

from __future__ import annotations

import re

__all__ = ["hint"]

# Names that exist without any declaration of the student's, or with the header named beside them.
BUILT_IN = ("threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize", "float", "double", "int", "unsigned", "size_t",
            "float2", "float4", "int4", "__shared__", "__global__", "__device__", "__constant__", "__restrict__",
            "__syncthreads", "__syncwarp", "__shfl_sync", "__shfl_down_sync", "__shfl_xor_sync", "__shfl_up_sync",
            "__ballot_sync", "__activemask", "atomicAdd", "atomicMax", "atomicMin", "atomicCAS", "fmaf", "sqrtf",
            "rsqrtf", "expf", "fmaxf", "fminf", "min", "max", "printf")  # fmt: skip
HEADER_OF = {
    "half": "cuda_fp16.h", "half2": "cuda_fp16.h", "__half": "cuda_fp16.h", "__half2": "cuda_fp16.h",
    "__float2half": "cuda_fp16.h", "__nv_bfloat16": "cuda_bf16.h", "nvcuda": "mma.h", "wmma": "mma.h",
    "cooperative_groups": "cooperative_groups.h", "__pipeline_commit": "cuda_pipeline.h",
    "__pipeline_memcpy_async": "cuda_pipeline.h", "__pipeline_wait_prior": "cuda_pipeline.h",
    "uint32_t": "stdint.h", "int32_t": "stdint.h", "uint64_t": "stdint.h", "int64_t": "stdint.h", "uint8_t": "stdint.h",
    "uint16_t": "stdint.h", "FLT_MAX": "float.h", "FLT_EPSILON": "float.h", "DBL_MAX": "float.h", "INT_MAX": "limits.h",
    "UINT_MAX": "limits.h", "CUtensorMap": "cuda.h", "M_PI": "math.h",
}  # fmt: skip

MOST_WORDS = 500  # of the source, so that a hostile one cannot make the search long

HINTS = (
    (r'expected a ";"', "the statement before this place has no semicolon"),
    (r'expected a "([^"]+)"', "look for a missing {0} before this place"),
    (
        r"host variables are not allowed",
        "put __device__ or __constant__ before a variable that kernels use, or make it constexpr",
    ),
    (r"calling a __host__ function", "mark the function that the kernel calls __device__"),
    (
        r'cannot open source file "([^"]+)"',
        "kernels are compiled without the host's headers: remove this include, what it declares is built in or missing",
    ),
    (r"used before its value is set", "give it a value where it is declared, such as = 0.0f"),
    (r"which instance of function template", "give one argument for each parameter of the template, of its kind"),
    (r"too few arguments", "compare the call with the function's parameters"),
    (r"too much shared data", "static arrays end at 48 KiB: use extern __shared__ and shared_bytes"),
    (
        r"not supported on \.target",
        "this instruction needs a newer architecture: choose the one in the exercise, such as sm_90a",
    ),
    (r"static assertion failed", "the header explains its own condition in the message"),
)


def hint(message: str, source: str) -> str:
    """What to try after `message`, empty when nothing better can be said than the message itself."""
    undefined = re.search(r'identifier "(\w+)" is undefined', message)
    if undefined:
        return _spelling(undefined[1], source)
    for pattern, text in HINTS:
        match = re.search(pattern, message)
        if match:
            return text.format(*match.groups())
    return ""


def _spelling(word: str, source: str) -> str:
    if word in HEADER_OF:
        return f"`{word}` is declared in <{HEADER_OF[word]}>: include it"
    import difflib

    others = [name for name in dict.fromkeys(re.findall(r"[A-Za-z_]\w{2,}", source)) if name != word]
    close = difflib.get_close_matches(word, [*BUILT_IN, *HEADER_OF, *others[:MOST_WORDS]], 1, 0.7)
    if not close:
        return f"declare `{word}` before this line, or correct its spelling"
    header = f" (include <{HEADER_OF[close[0]]}>)" if close[0] in HEADER_OF else ""
    return f"did you mean `{close[0]}`{header}?"
