"""Shared text is found whatever it was renamed to; what everybody was given, or how everybody solves it, is none."""

import itertools

import pytest

from grader.similarity import COMMON, GUARANTEED, NOISE, fingerprints, similar_pairs, tokens

TILED = """extern "C" __global__ void gemm(const float* a, const float* b, float* c, int n) {
    __shared__ float left[16][17];
    __shared__ float right[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < n; k += 16) {
        left[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0.0f;
        right[threadIdx.y][threadIdx.x] = col < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + col] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    if (row < n && col < n) c[row * n + col] = sum;
}"""
NAIVE = """extern "C" __global__ void gemm(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int j = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= n || j >= n) return;
    double total = 0;
    const float* line = a + (size_t)j * n;
    while (line < a + (size_t)(j + 1) * n) { total += (double)*line++ * *b; b += n; }
    c[j * n + i] = (float)total;
}"""
RENAMED = (
    TILED.replace("left", "tileA").replace("right", "tileB").replace("sum", "acc").replace("row", "r")
    .replace("    ", "\t").replace("__syncthreads();", "__syncthreads(); // wait for all")
)  # fmt: skip


def shares(texts, **options):
    return {(pair.first, pair.second): pair.share for pair in similar_pairs("x", texts, at_least=0.3, **options)}


def test_new_names_comments_and_layout_hide_nothing():
    (pair,) = similar_pairs("x", {"ann": TILED, "bob": RENAMED})
    assert (pair.first, pair.second, pair.share, pair.is_same) == ("ann", "bob", 1.0, True)


def test_two_ways_to_write_it_are_no_pair():
    assert shares({"ann": TILED, "bob": NAIVE}) == {}


def test_a_copied_part_is_found():
    mixed = NAIVE.replace(
        "double total = 0;", "double total = 0;" + TILED[TILED.index("for (int k") : TILED.index("if (row")]
    )
    assert shares({"ann": TILED, "bob": mixed})["ann", "bob"] > 0.4


def test_released_text_is_nobodys_own():
    assert shares({"ann": TILED, "bob": RENAMED}, starter=TILED) == {}


def test_members_of_a_group_are_not_compared():
    assert shares({"ann": TILED, "bob": RENAMED}, apart={"ann": "team", "bob": "team"}) == {}
    assert shares({"ann": TILED, "bob": RENAMED}, apart={"ann": "", "bob": ""})


def test_how_the_whole_class_solves_it_is_nobodys_own():
    assert shares({f"s{number}": TILED for number in range(COMMON)})
    assert shares({f"s{number}": TILED for number in range(COMMON + 1)}) == {}


def test_a_short_answer_says_nothing():
    assert shares(dict.fromkeys("ab", "__global__ void f(float* x) { x[threadIdx.x] = 1.0f; }")) == {}


def test_what_cuda_means_stays_and_what_was_chosen_goes():
    assert tokens("int i = threadIdx.x; // c\nfoo(i, 2.5f, \"s\");") == (
        "int", "n", "=", "threadIdx", ".", "x", ";", "n", "(", "n", ",", "0", ",", "s", ")", ";",
    )  # fmt: skip


@pytest.mark.parametrize("offset", range(0, 40, 7))
def test_a_run_of_the_guaranteed_length_is_always_found(offset):
    words = itertools.count()
    shared = [f"w{next(words)}" for _ in range(GUARANTEED)]
    first = [f"a{number}" for number in range(offset)] + shared + [f"a{number}" for number in range(60)]
    second = [f"b{number}" for number in range(50)] + shared + [f"b{number}" for number in range(offset)]
    assert fingerprints(first) & fingerprints(second)


def test_a_run_shorter_than_noise_is_never_found():
    shared = [f"w{number}" for number in range(NOISE - 1)]
    first = [f"a{number}" for number in range(30)] + shared + [f"a{number}" for number in range(30)]
    second = [f"b{number}" for number in range(30)] + shared + [f"b{number}" for number in range(30)]
    assert not fingerprints(first) & fingerprints(second)
