"""Shared text is found whatever it was renamed to; what everybody was given, or how everybody solves it, is none."""

import itertools
import random

import pytest

from grader.commands.similar import readable_lines
from grader.similarity import COMMON, GUARANTEED, NOISE, compare, fingerprints, tokens

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
    return {(pair.first, pair.second): pair.share for pair in compare("x", texts, at_least=0.3, **options).pairs}


def test_new_names_comments_and_layout_hide_nothing():
    (pair,) = compare("x", {"ann": TILED, "bob": RENAMED}).pairs
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


def test_a_crowd_of_equal_answers_is_named_once():
    everybody = tuple(sorted(f"s{number}" for number in range(COMMON + 1)))
    (crowd,) = compare("x", dict.fromkeys(everybody, TILED)).crowds
    assert (crowd.students, crowd.of) == (everybody, COMMON + 1)
    assert not compare("x", dict.fromkeys(everybody[1:], TILED)).crowds  # they are pairs


WORDINGS = (
    ("int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;",
     "int col = blockIdx.x * 16 + threadIdx.x;\n    int row = blockIdx.y * 16 + threadIdx.y;",
     "int row = threadIdx.y + blockDim.y * blockIdx.y, col = threadIdx.x + blockDim.x * blockIdx.x;"),
    ("for (int k = 0; k < n; k += 16) {", "for (int t = 0; t < (n + 15) / 16; ++t) { int k = t * 16;"),
    ("left[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0.0f;",
     "left[threadIdx.y][threadIdx.x] = 0.0f;\n"
     "if (row < n && k + threadIdx.x < n) left[threadIdx.y][threadIdx.x] = a[row * n + k + threadIdx.x];"),
    ("for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];",
     "for (int i = 0; i < 16; i++) { sum = fmaf(left[threadIdx.y][i], right[i][threadIdx.x], sum); }"),
    ("if (row < n && col < n) c[row * n + col] = sum;", "if (row >= n || col >= n) return;\n    c[row * n + col] = sum;"),
)  # fmt: skip
ODD = """extern "C" __global__ void gemm(const float* a, const float* b, float* c, int n) {
    __shared__ float left[16][17];
    __shared__ float right[16][17];
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x;
    float sums[2] = {0.0f, 0.0f};
    const bool inside = row < n, across = col < n;
    for (int k = 0; k < n; k += 16) {
        float mine = 0.0f, theirs = 0.0f;
        if (inside && k + threadIdx.x < n) mine = *(a + row * n + k + threadIdx.x);
        if (across && k + threadIdx.y < n) theirs = *(b + (k + threadIdx.y) * n + col);
        left[threadIdx.y][threadIdx.x] = mine;
        right[threadIdx.y][threadIdx.x] = theirs;
        __syncthreads();
        for (int i = 0; i < 16; i += 2) {
            sums[0] += left[threadIdx.y][i] * right[i][threadIdx.x];
            sums[1] += left[threadIdx.y][i + 1] * right[i + 1][threadIdx.x];
        }
        __syncthreads();
    }
    if (inside && across) c[row * n + col] = sums[0] + sums[1];
}"""
EDITED = (
    ODD.replace("sums", "acc"), ODD.replace("sums[0] + sums[1]", "sums[1] + sums[0] + 0.0f"),
    ODD.replace("i += 2", "i = i + 2"),
)  # fmt: skip


def large_class(students, copies):
    """Everybody words the tiled kernel in a way of their own; the first few have one and the same, edited a little."""
    choose = random.Random(5)
    texts = {}
    for number in range(students):
        texts[f"s{number:03}"] = TILED
        for common, *others in WORDINGS:
            texts[f"s{number:03}"] = texts[f"s{number:03}"].replace(common, choose.choice([common, *others]))
    copied = [f"s{number:03}" for number in range(copies)]
    return texts | {name: EDITED[number % 3] for number, name in enumerate(copied)}, copied


@pytest.mark.parametrize(("students", "copies"), [(40, 12), (150, 12), (150, 40)])
def test_many_copies_in_a_large_class_are_found_and_few_others(students, copies):
    texts, copied = large_class(students, copies)
    found = shares(texts)
    assert set(itertools.combinations(copied, 2)) <= found.keys()
    assert len(found) < copies**2 / 2 + 0.05 * students**2 / 2


def test_equal_answers_are_one_line_for_people():
    texts = {
        "ann": TILED,
        "bob": RENAMED,
        "cy": TILED,
        "dan": TILED.replace("sum += left", "sum = sum + left"),
        "eva": NAIVE,
    }
    same, other = readable_lines(compare("x", texts))
    assert same.startswith("ann, bob, cy: the same but for names, ")
    assert other.startswith("ann (2 more have the same) and dan: ")
    (crowd,) = readable_lines(compare("x", {f"s{number}": TILED for number in range(COMMON + 1)} | {"eva": NAIVE}))
    assert crowd.startswith(f"{COMMON + 1} of {COMMON + 2} answers are the same but for names: s0, s1, ")


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
