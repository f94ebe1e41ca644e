"""Device functions that call themselves give what they give elsewhere, and a stack that is full ends the launch."""

import numpy as np
import pytest

from simt.events import Argument, Direction, Status
from simt.launch import Dim3, LaunchConfig
from simt.program import Program

N = 70
THREADS = np.arange(N)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def ackermann(m, n):
    return n + 1 if m == 0 else ackermann(m - 1, 1) if n == 0 else ackermann(m - 1, ackermann(m, n - 1))


def hanoi(n):
    return 2**n - 1


# name → (functions, expression of t, the values in Python)
ROWS = {
    "two calls": (
        "__device__ __noinline__ int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }", "f(t % 13)",
        lambda t: fib(t % 13),
    ),
    "a call inside a call's argument": (
        "__device__ __noinline__ int f(int m, int n) { if (m == 0) return n + 1; if (n == 0) return f(m - 1, 1);"
        " return f(m - 1, f(m, n - 1)); }", "f(t % 3, t % 4)", lambda t: ackermann(t % 3, t % 4),
    ),
    "arguments needed after the call": (
        "__device__ __noinline__ double f(double x, int n) { if (n == 0) return x; double below = f(x * 0.5, n - 1);"
        " return below + x * n; }", "f(t, t % 7)",
        lambda t: (lambda f: f(f, float(t), t % 7))(lambda f, x, n: x if n == 0 else f(f, x * 0.5, n - 1) + x * n),
    ),
    "each other": (
        "__device__ int odd(int n); __device__ __noinline__ int even(int n) { return n == 0 ? 1 : odd(n - 1); }"
        " __device__ __noinline__ int odd(int n) { return n == 0 ? 0 : even(n - 1); }", "even(t % 9) * 10 + odd(t % 5)",
        lambda t: (t % 9 % 2 == 0) * 10 + (t % 5) % 2,
    ),
    "an array of each activation": (
        "__device__ __noinline__ int f(int n, int s) { int kept[4]; for (int j = 0; j < 4; j++) kept[(j + s) & 3] = n * 10 + j;"
        " if (n > 0) s += f(n - 1, s + 1); return s + kept[s & 3]; }", "f(t % 5, t)", None,
    ),
    "no result": (
        "__device__ int total[70]; __device__ __noinline__ void f(int t, int n) { total[t] += 1; if (n > 0) { f(t, n - 1);"
        " f(t, n - 1); } } __device__ int g(int t) { total[t] = 0; f(t, t % 6); return total[t]; }", "g(t)",
        lambda t: hanoi(t % 6 + 1),
    ),
    "a pointer that moves": (
        "__device__ __noinline__ long long f(const int* x, int n) { return n == 0 ? 0 : *x + f(x + 1, n - 1); }",
        "f(x, t % 11)", lambda t: sum(range(t % 11)),
    ),
    "calls that are inlined into it": (
        "__device__ __noinline__ int g(int n) { return n * 3 + 1; } __device__ __noinline__ int f(int n) {"
        " int a = g(n); if (n > 1) a += f(n - 2) - g(a); return a; }", "f(t % 10) + g(t)", None,
    ),
    "a loop around it": (
        "__device__ __noinline__ int f(int n) { int s = n; for (int j = 1; j < n; j++) s += f(j) & 7; return s; }",
        "f(t % 7)", None,
    ),
}  # fmt: skip


def python_of(name):
    """What the C functions above give, spelt in Python where it is no one-liner."""

    def array(n, s):
        kept = [0] * 4
        for j in range(4):
            kept[(j + s) & 3] = n * 10 + j
        if n > 0:
            s += array(n - 1, s + 1)
        return s + kept[s & 3]

    def inlined(n):
        a = n * 3 + 1
        return a + (inlined(n - 2) - (a * 3 + 1)) if n > 1 else a

    def loop(n):
        s = n
        for j in range(1, n):
            s += loop(j) & 7
        return s

    return {
        "an array of each activation": lambda t: array(t % 5, t),
        "calls that are inlined into it": lambda t: inlined(t % 10) + t * 3 + 1,
        "a loop around it": lambda t: loop(t % 7),
    }[name]


def launched(functions, expression, **options):
    source = functions + (
        '\nextern "C" __global__ void k(const int* x, double* y, int n) {'
        f" int t = blockIdx.x * blockDim.x + threadIdx.x; if (t < n) y[t] = {expression}; }}"
    )
    program = Program.from_cuda(source)
    assert "call" in program.ptx, "the compiler kept the recursion"
    arguments = [
        Argument("x", Direction.IN, THREADS.astype(np.int32)),
        Argument("y", Direction.OUT, np.zeros(N)),
        Argument("n", Direction.SCALAR, np.int32(N)),
    ]
    return program.launch(LaunchConfig(Dim3(2), Dim3(48)), arguments, **options)


@pytest.mark.parametrize("name", ROWS)
def test_a_recursive_function_gives_what_it_gives_elsewhere(name):
    functions, expression, wanted = ROWS[name]
    result = launched(functions, expression)
    assert not result.errors, result.errors
    assert result.outputs["y"].tolist() == [float((wanted or python_of(name))(int(t))) for t in THREADS]


ENDLESS = (
    "__device__ __noinline__ int f(int n) { volatile int pad[32]; pad[n & 31] = n; return f(n + 1) + pad[n & 31]; }"
)


def test_endless_recursion_ends_at_the_stack_with_its_line():
    result = launched("\n" + ENDLESS, "t == 33 ? f(t) : t")
    assert result.status is Status.STOPPED
    (found,) = [row for row in result.errors if row.check == "runtime.stack"]
    assert found.line == 2 and found.lanes == (1,) and found.warp == 1


def test_a_struct_by_value_is_named_as_unsupported():
    functions = (
        "struct Pair { int a[6]; }; __device__ __noinline__ int f(Pair p, int n) { p.a[n % 6] += 1;"
        " return n == 0 ? p.a[3] : f(p, n - 1) + p.a[n & 3]; }"
    )
    result = launched(functions, "f(Pair{{t, 2, 3, 4, 5, 6}}, t % 4)")
    assert result.status is Status.NOT_SUPPORTED and "recursive" in result.diagnostics[0].message
