"""Memcheck and initcheck: what leaves its buffer never touches host memory, and says so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simt.engine import entry
from simt.engine.state import (
    ATOMIC_CODES,
    ATOMIC_TYPES,
    GLOBAL_BASE,
    LOCAL_WINDOW,
    SHARED_WINDOW,
    Access,
    Scope,
    SegmentFlag,
)
from tests.simt.engine.machine import ALL, Machine

LANES = np.arange(32)
OUT = SegmentFlag.WRITABLE | SegmentFlag.UNINITIALISED


def guarded(n, dtype=np.float32):
    """An array with canaries on both sides, and the view that the kernel may touch."""
    whole = np.full(n + 64, 7, dtype)
    return whole, whole[32 : 32 + n]


@settings(max_examples=100)
@given(start=st.integers(-40, 1040), mask=st.integers(1, ALL))
def test_lanes_outside_read_nan_and_write_nothing(start, mask):
    m = Machine()
    whole, inner = guarded(1000)
    inner[:] = np.arange(1000)
    base = m.buffer("x", inner)
    index = start + LANES
    good = (index >= 0) & (index < 1000) & (mask >> LANES & 1 == 1)
    bad = ((index < 0) | (index >= 1000)) & (mask >> LANES & 1 == 1)
    addresses = (base + 4 * index.astype(np.int64)).astype(np.uint64)
    out = m.load(m.site(), addresses, mask).view(np.float32).reshape(32)
    assert np.array_equal(out[good], index[good].astype(np.float32)) and np.isnan(out[bad]).all()
    m.store(m.site(access=Access.STORE), addresses, np.full(32, -1, np.float32), mask)
    assert (whole[:32] == 7).all() and (whole[-32:] == 7).all() and (inner[index[good]] == -1).all()
    lanes = int(sum(1 << lane for lane in LANES[bad]))
    checks = ["memcheck.global.read-oob", "memcheck.global.write-oob"]
    assert m.found() == [(check, site, -1, lanes) for site, check in enumerate(checks) if bad.any()]


@pytest.mark.parametrize(
    ("scope", "access", "address", "check"),
    [
        (Scope.GLOBAL, Access.LOAD, 16, "memcheck.null"),
        (Scope.GENERIC, Access.STORE, 0, "memcheck.null"),
        (Scope.GLOBAL, Access.LOAD, GLOBAL_BASE + 2, "memcheck.misaligned"),
        (Scope.GLOBAL, Access.STORE, (1 << 64) - 8, "memcheck.global.write-oob"),
        (Scope.CONST, Access.LOAD, GLOBAL_BASE + (1 << 30), "memcheck.const.oob"),
        (Scope.SHARED, Access.LOAD, 4096, "memcheck.shared.read-oob"),
        (Scope.SHARED, Access.STORE, 4090, "memcheck.misaligned"),
        (Scope.SHARED, Access.STORE, (1 << 32) - 4, "memcheck.shared.write-oob"),
        (Scope.GENERIC, Access.STORE, SHARED_WINDOW + 5000, "memcheck.shared.write-oob"),
        (Scope.LOCAL, Access.LOAD, 64, "memcheck.local.oob"),
        (Scope.GENERIC, Access.STORE, LOCAL_WINDOW + 64, "memcheck.local.oob"),
    ],
)
def test_each_kind_of_bad_address_has_its_name(scope, access, address, check):
    m = Machine()
    m.buffer("x", np.zeros(32, np.float32))
    site = m.site(scope=scope, access=access)
    if access == Access.LOAD:
        out = m.load(site, np.full(32, address, np.uint64))
        assert (out == 0xFF).all()
    else:
        m.store(site, np.full(32, address, np.uint64), np.zeros(32, np.float32))
    assert m.found() == [(check, 0, -1, ALL)]


def test_a_write_to_what_may_only_be_read_is_dropped():
    m = Machine()
    data = np.arange(32, dtype=np.float32)
    base = m.buffer("c", data, flags=0)
    m.store(m.site(access=Access.STORE), base + 4 * LANES, np.zeros(32, np.float32))
    assert m.found()[0][0] == "memcheck.readonly" and data[5] == 5


def test_an_atomic_outside_leaves_memory_alone():
    m = Machine()
    whole, inner = guarded(32, np.uint32)
    base = m.buffer("h", inner)
    site = m.site(access=Access.ATOMIC)
    site.atomic, site.atomic_type = ATOMIC_CODES["add"], ATOMIC_TYPES["u32"]
    old = m.atomic(site, base + 4 * (LANES + 16), np.ones(32, np.uint32))
    assert (whole[-32:] == 7).all() and (inner[16:] == 8).all() and (old[16:] == 0xFFFFFFFF).all()
    assert m.found() == [("memcheck.atomic-oob", 0, -1, 0xFFFF0000)]


def test_far_apart_lanes_do_not_wrap():
    m = Machine()
    base = m.buffer("x", np.arange(32, dtype=np.float32))
    addresses = np.full(32, base, np.uint64)
    addresses[1], addresses[2] = (1 << 64) - 4, (1 << 63) + 8
    out = m.load(m.site(), addresses).view(np.float32).reshape(32)
    assert out[0] == 0 and np.isnan(out[1]) and np.isnan(out[2]) and out[3] == 0
    assert m.found()[0][3] == 0b110


def test_an_access_across_two_buffers_serves_each_lane():
    m = Machine()
    first, second = m.buffer("a", np.full(32, 1, np.float32)), m.buffer("b", np.full(32, 2, np.float32))
    addresses = np.where(LANES % 2, first, second) + 4 * LANES
    out = m.load(m.site(), addresses).view(np.float32).reshape(32)
    assert np.array_equal(out, np.where(LANES % 2, 1, 2)) and not m.found()


def test_counts_go_on_after_the_first_finding():
    m = Machine()
    base = m.buffer("x", np.zeros(16, np.float32))
    site = m.site()
    for _ in range(3):
        m.load(site, base + 4 * LANES)
    (finding,) = m.findings[: m.thread.n_findings]
    assert finding.count == 48 and finding.low == base + 64 and finding.high == base + 128


@pytest.mark.parametrize("stride", [1, 2, 33])
@pytest.mark.parametrize("times", [1, 3])
def test_reading_what_nobody_wrote_names_the_lanes(stride, times):
    m = Machine()
    base = m.buffer("y", np.zeros(32 * 33, np.float32), OUT)
    store, load = m.site(access=Access.STORE), m.site()
    for _ in range(times):
        m.store(store, base + 4 * stride * LANES, np.zeros(32, np.float32), mask=0x0FFFFFFF)
        m.load(load, base + 4 * stride * LANES, mask=0x3FFFFFFF)
    assert m.found() == [("initcheck.global", 1, -1, 0x30000000)]


@pytest.mark.parametrize(("scope", "check"), [(Scope.SHARED, "initcheck.shared"), (Scope.LOCAL, "initcheck.local")])
def test_shared_and_local_memory_start_without_values(scope, check):
    m = Machine()
    offsets = 4 * LANES if scope == Scope.SHARED else np.full(32, 8)
    m.store(m.site(scope=scope, access=Access.STORE), offsets, np.zeros(32, np.float32), mask=ALL ^ 8)
    m.load(m.site(scope=scope), offsets)
    assert m.found() == [(check, 1, -1, 8)]


def test_parts_of_a_word_are_told_apart():
    m = Machine()
    base = m.buffer("y", np.zeros(64, np.uint8), OUT)
    m.store(m.site(access=Access.STORE, size=1), base + 2 * LANES, np.zeros(32, np.uint8))
    m.load(m.site(size=1), base + 2 * LANES)
    assert not m.found()
    m.load(m.site(size=1), base + 2 * LANES + 1)
    assert m.found() == [("initcheck.global", 2, -1, ALL)]


def test_an_atomic_on_an_unset_output_reads_it():
    m = Machine()
    base = m.buffer("h", np.zeros(32, np.uint32), OUT)
    site = m.site(access=Access.ATOMIC)
    site.atomic, site.atomic_type = ATOMIC_CODES["add"], ATOMIC_TYPES["u32"]
    m.atomic(site, base + 4 * LANES, np.ones(32, np.uint32))
    assert m.found() == [("initcheck.global", 0, -1, ALL)]


def test_names_of_native_functions_are_used_once():
    import collections

    from simt.engine.native import NativeFunction

    seen = collections.defaultdict(set)
    pending = list(entry.ENTRY_POINTS)
    while pending:
        function = pending.pop()
        if function.first_line in {line for _, line in seen[function.name]}:
            continue
        seen[function.name].add((function.file, function.first_line))
        called = {name: value for name, value in function.scope.items() if isinstance(value, NativeFunction)}
        pending += [f for f in called.values() if (f.file, f.first_line) not in seen[f.name]]
    assert not [name for name, places in seen.items() if len(places) > 1]
