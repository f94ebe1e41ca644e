"""Findings in words, from hand-made launches: what a learner needs to read is in them, and nothing twice."""

import numpy as np
import pytest

from simt.diagnostics import CATALOGUE
from simt.engine.findings import CHECKS
from simt.engine.messages import WORDS, diagnostics
from simt.engine.state import Access, Scope, SegmentFlag
from simt.engine.view import BufferView, Found, LaunchView, SharedView, SiteView, merge, student_name

BASE = 1 << 40
OUT = SegmentFlag.WRITABLE | SegmentFlag.UNINITIALISED
SOURCE = "kernel\nint r = threadIdx.y;\n\n  tile[threadIdx.y][threadIdx.x] = a[r];\n  total = s;\n  y[i] = total;\n"


def site(line, access=Access.LOAD, scope=Scope.GLOBAL, n_bytes=4, counts=(0,) * 12, buffer=None):
    return SiteView(line, scope, access, n_bytes, counts, buffer)


def buffer(name="x", n=1000, dtype=np.float32, flags=0, words=None, base=BASE):
    kind = np.dtype(dtype)
    return BufferView(name, base, n * kind.itemsize, kind, (n,), flags, words)


def found(check, number=0, also=-1, *, warp=0, lanes=1, count=1, block=0, address=0, low=0, high=0):
    return Found(check, number, also, warp, lanes, count, block, address, low, high)


def view(*findings, **fields):
    given = {"source": "", "grid": (4, 1, 1), "block": (256, 1, 1), "sites": (site(3),), "buffers": (buffer(),)}
    return LaunchView(**(given | fields), findings=findings)


def only(*findings, **fields):
    (diagnostic,) = diagnostics(view(*findings, **fields), frozenset())
    return diagnostic


def test_an_element_past_the_end_is_named_with_its_thread():
    lanes = 0xFFFFFF00
    d = only(found("memcheck.global.read-oob", warp=7, lanes=lanes, count=24, block=3, address=BASE + 4000))
    assert d.message.startswith(
        "thread (232,0,0) of block (3,0,0) reads x[1000] out of bounds, 4 bytes past the end of `x` (1000 floats)"
    )
    assert "1024 threads were launched for 1000 elements" in d.help and "i < n" in d.help
    assert (d.line, d.block, d.warp, d.lanes) == (3, (3, 0, 0), 7, tuple(range(8, 32)))


def test_the_guard_is_written_with_the_argument_that_holds_the_size():
    d = only(found("memcheck.global.write-oob", address=BASE + 4000), scalars=(("count", 1000),))
    assert "if (i < count)" in d.help


def test_an_element_before_the_start_is_said_so():
    d = only(found("memcheck.global.read-oob", address=BASE - 4))
    assert "x[-1]" in d.message and "4 bytes before the start" in d.message


@pytest.mark.parametrize("address", [BASE - 4, BASE - (1 << 33)])
def test_an_index_that_is_a_product_may_have_wrapped(address):
    source = "\n\n  const float* q = x + r * pitch;  // a - b\n  y[i] = *q;\n"
    d = only(found("memcheck.global.read-oob", address=address), sites=(site(4),), source=source)
    assert "(long long)r * pitch" in d.help and "subtraction" not in d.help


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("y[i] = x[i - 1];", "subtraction"),
        ("y[i] = x[r * pitch - 1];", "subtraction"),
        ("y[i] = x[place[i]];", "sign"),
        ("y[i] = x[p->offset];", "sign"),
    ],
)
def test_a_negative_index_is_put_down_to_what_stands_in_its_line(line, word):
    source = f"int i = blockIdx.x * blockDim.x + threadIdx.x;\n\n{line}\n"
    d = only(found("memcheck.global.read-oob", address=BASE - 4), source=source)
    assert word in d.help and "2147483647" not in d.help
    assert word == "subtraction" or "subtract" not in d.help


def test_a_missing_dynamic_size_names_the_bytes_wanted():
    sites = (site(4, Access.STORE, Scope.SHARED),)
    shared = (SharedView("buf", 0, 0, dynamic=True),)
    d = only(found("memcheck.shared.write-oob", count=512, address=0, high=512), sites=sites, shared=shared)
    assert "`buf`" in d.message and "0 bytes of dynamic shared memory" in d.message and "shared_mem=512" in d.help


def test_a_static_array_that_is_too_small_is_named():
    sites = (site(6, Access.STORE, Scope.SHARED),)
    shared = (SharedView("s", 0, 1024),)
    finding = found("memcheck.shared.write-oob", address=1024, high=1028)
    d = only(finding, sites=sites, shared=shared, shared_bytes=1024, block=(32, 32, 1))
    assert "1024-byte shared array `s`" in d.message and "(32,32,1)" in d.help


RACE_SITES = (site(7, Access.STORE, Scope.SHARED), site(11, Access.LOAD, Scope.SHARED))


def test_a_write_over_reads_further_down_belongs_to_the_next_iteration():
    shared = (SharedView("tile", 0, 64),)
    d = only(found("racecheck.shared.WAR", 0, 1), sites=RACE_SITES, shared=shared)
    assert (d.line, d.also_line) == (7, 11) and "next iteration" in d.message and "__syncthreads" in d.help


def test_a_race_between_warps_says_all_about_its_two_lines():
    findings = (found("racecheck.shared.RAW", 1, 0), found("racecheck.shared.intra-warp", 0, 1))
    assert only(*findings, sites=RACE_SITES).check == "racecheck.shared.RAW"


def test_a_warp_exchange_is_told_once():
    sites = tuple(site(line, Access.LOAD, Scope.SHARED) for line in (8, 9, 10, 11))
    findings = tuple(found("racecheck.shared.intra-warp", number, number - 1) for number in (1, 2, 3))
    d = only(*findings, sites=sites)
    assert (d.line, d.also_line) == (9, 8) and "__syncwarp" in d.message


def test_lost_updates_leave_no_other_race_to_tell():
    findings = tuple(found(f"racecheck.global.{kind}", 0, 0, address=BASE) for kind in ("RMW", "RW", "WW"))
    d = only(*findings)
    assert d.check == "racecheck.global.RMW" and "atomicAdd(&x[0]" in d.help


def test_sites_of_one_line_are_one_finding():
    sites = (site(3), site(3))
    assert only(found("initcheck.global", 0, address=BASE), found("initcheck.global", 1, address=BASE + 4), sites=sites)


def test_a_moved_load_is_told_at_the_line_that_names_its_value():
    source = "\n\n\n  float4 v = *p;\n  *q = v;\n"
    d = only(found("memcheck.misaligned", address=BASE + 4), sites=(site(5, n_bytes=16),), source=source)
    assert d.line == 4 and "misaligned" in d.message and "16" in d.message


def test_a_shared_scalar_that_is_read_stays_at_its_line():
    launch = view(source=SOURCE, shared=(SharedView("total", 0, 4),), sites=(site(6, scope=Scope.SHARED),))
    assert launch.line(0) == 6


def test_threads_of_a_launch_are_merged_by_first_block():
    late = found("memcheck.global.read-oob", block=5, warp=1, count=3, address=64, low=64, high=70)
    early = found("memcheck.global.read-oob", block=2, warp=0, count=2, address=32, low=32, high=36)
    (both,) = merge((late, early))
    assert (both.block, both.count, both.address, both.low, both.high) == (2, 5, 32, 32, 70)


def shadow(n_words, value=0x2F):
    return np.full(n_words + 16, value, np.uint8)


def test_a_tail_that_nobody_wrote_asks_for_more_blocks():
    words = shadow(1000)
    words[768:] = 0
    launch = view(grid=(3, 1, 1), buffers=(buffer("y", flags=OUT, words=words),))
    (d,) = diagnostics(launch, frozenset({"coverage"}))
    assert "y[768:1000] never written: 232 of the 1000" in d.message and "(n + 255) / 256" in d.help


def test_an_axis_with_one_thread_that_the_kernel_uses_is_named():
    words = shadow(1000)
    words[500:] = 0
    launch = view(source=SOURCE, sites=(site(4), site(6)), buffers=(buffer("y", flags=OUT, words=words),))
    (d,) = diagnostics(launch, frozenset({"coverage"}))
    assert d.line == 4 and "threadIdx.y is always 0" in d.help and "(256,1,1)" in d.help


@pytest.mark.parametrize(("unread", "told"), [(1, 0), (99, 0), (500, 1)])
def test_an_edge_that_nobody_read_is_no_finding(unread, told):
    words = shadow(1000, 0x1F)
    words[:unread] = 0x0F
    launch = view(buffers=(buffer(flags=SegmentFlag.INPUT, words=words),))
    found_here = diagnostics(launch, frozenset({"coverage"}))
    assert len(found_here) == told and all("never read" in d.message for d in found_here)


def test_coverage_is_silent_about_buffers_that_memcheck_named_and_launches_that_stopped():
    words = shadow(1000, 0)
    target = (buffer("y", flags=OUT, words=words),)
    refused = view(found("memcheck.misaligned", address=BASE + 4), buffers=target)
    assert [d.check for d in diagnostics(refused, frozenset({"coverage"}))] == ["memcheck.misaligned"]
    assert not diagnostics(view(buffers=target, finished=False), frozenset({"coverage"}))


def test_elements_of_less_than_a_word_are_covered_byte_by_byte():
    words = shadow(250)
    words[249] = 0x2B  # byte 2 of the last word is missing
    launch = view(buffers=(buffer("y", n=1000, dtype=np.uint8, flags=OUT, words=words),))
    (d,) = diagnostics(launch, frozenset({"coverage"}))
    assert "y[998] never written: 1 of the 1000" in d.message


@pytest.mark.parametrize(
    ("requests", "sectors", "told"), [(512, 32 * 512, 1), (512, 4 * 512, 0), (512, 5 * 512, 0), (8, 8 * 32, 0)]
)
def test_scattered_requests_get_advice_in_numbers(requests, sectors, told):
    counts = (requests, sectors, 0, 128 * requests) + (0,) * 8
    found_here = diagnostics(view(sites=(site(4, counts=counts, buffer="x"),)), frozenset({"perf"}))
    assert [d.check for d in found_here] == ["perf.coalescing"] * told
    assert not told or "32 sectors" in found_here[0].message


@pytest.mark.parametrize(("wavefronts", "excess", "told"), [(32 * 64, 31 * 64, 1), (64, 0, 0), (256, 0, 0), (72, 8, 0)])
def test_bank_conflicts_get_advice_in_numbers(wavefronts, excess, told):
    counts = (0,) * 4 + (64, wavefronts, excess, 0) + (0,) * 4
    found_here = diagnostics(view(sites=(site(8, scope=Scope.SHARED, counts=counts),)), frozenset({"perf"}))
    assert [d.check for d in found_here] == ["perf.bank-conflict"] * told
    assert not told or "32-way bank conflict" in found_here[0].message


def test_every_check_has_words_and_a_row_in_the_catalogue():
    assert set(CHECKS) == set(WORDS) and set(CHECKS) <= set(CATALOGUE)
    for check in CHECKS:
        for finding in (found(check), found(check, 0, 0, lanes=0, low=3, high=5, address=BASE)):
            d = WORDS[check](view(finding), finding)
            assert d.check == check and d.message and "None" not in d.message


@pytest.mark.parametrize(
    ("symbol", "name"),
    [("_ZZ9normaliseE5total", "total"), ("_ZZ5tiledILi16ELi0EEvPKfS1_PfiE2As", "As"), ("buf", "buf"), ("_ZZ4foo1E2s1_0", "s1")],
)  # fmt: skip
def test_shared_arrays_get_back_the_students_name(symbol, name):
    assert student_name(symbol) == name
