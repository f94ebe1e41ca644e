"""Sectors and wavefronts of a request against plain set arithmetic, for any addresses and any active mask."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simt.engine.state import ATOMIC_CODES, ATOMIC_TYPES, Access, Scope, SegmentFlag
from tests.simt.engine.machine import ALL, Machine

SIZES = ((1, 1), (2, 1), (4, 1), (8, 1), (4, 2), (4, 4), (8, 2))
masks = st.one_of(st.just(ALL), st.integers(1, ALL), st.sampled_from([1, 1 << 31, 0xFFFF, 0xFFFF0000, 0x55555555]))
places = st.one_of(
    st.lists(st.integers(0, 63), min_size=32, max_size=32),
    st.tuples(st.integers(0, 8), st.integers(0, 7)).map(lambda t: [(t[0] * lane + t[1]) % 64 for lane in range(32)]),
    st.integers(0, 63).map(lambda place: [place] * 32),
)


def active(mask):
    return [lane for lane in range(32) if mask >> lane & 1]


def sectors(addresses, mask):
    return len({int(addresses[lane]) // 32 for lane in active(mask)})


def in_pairs(addresses, lanes, distance):
    """Lanes that differ in one bit of their number have one address, where both are active."""
    return all(addresses[lane] == addresses[lane ^ distance] for lane in lanes if lane ^ distance in lanes)


def ways(addresses, lanes, n_bytes):
    banks = {}
    for lane in lanes:
        for word in range(max(1, n_bytes // 4)):
            number = int(addresses[lane]) // 4 + word
            banks.setdefault(number % 32, set()).add(number)
    return max(map(len, banks.values()), default=0)


def wavefronts(addresses, mask, n_bytes):
    """(wavefronts, excess): the rule that tests/golden's bank_* and gemm_* rows follow."""
    lanes = active(mask)
    parts = [lanes] if n_bytes <= 8 else [[x for x in lanes if x < 16], [x for x in lanes if x >= 16]]
    phases = []
    for part in parts:
        half = 16 if n_bytes == 8 else 8
        if n_bytes <= 4 or in_pairs(addresses, part, 1) or in_pairs(addresses, part, 2):
            phases.append(part)
        else:
            phases += [[x for x in part if x // half % 2 == 0], [x for x in part if x // half % 2 == 1]]
    counts = [ways(addresses, phase, n_bytes) for phase in phases if phase]
    return sum(counts), sum(count - 1 for count in counts)


@settings(max_examples=150)
@given(size=st.sampled_from(SIZES), place=places, mask=masks)
def test_global_sectors_are_the_distinct_ones(size, place, mask):
    m = Machine()
    n_bytes = size[0] * size[1]
    base = m.buffer("x", np.zeros(64 * 16, np.uint8))
    addresses = base + n_bytes * np.array(place, np.uint64)
    site = m.site(size=size[0], elements=size[1])
    for times in (1, 2, 3):  # learned, then recognised
        m.load(site, addresses, mask)
        expected = [times, times * sectors(addresses, mask), 0, times * n_bytes * len(active(mask))]
        assert list(site.counts)[:4] == expected


@settings(max_examples=200)
@given(size=st.sampled_from(SIZES), place=places, mask=masks)
def test_shared_wavefronts_follow_the_banks(size, place, mask):
    m = Machine()
    n_bytes = size[0] * size[1]
    addresses = n_bytes * np.array(place, np.uint64)
    site = m.site(scope=Scope.SHARED, size=size[0], elements=size[1])
    m.load(site, addresses, mask)
    assert (site.counts[5], site.counts[6]) == wavefronts(addresses, mask, n_bytes)


@settings(max_examples=60)
@given(place=st.lists(st.integers(0, 15), min_size=32, max_size=32), mask=masks, size=st.sampled_from([1, 4, 8]))
def test_local_memory_is_interleaved_by_word(place, mask, size):
    m = Machine(local_bytes=128)
    offsets = size * np.array(place, np.uint64)
    site = m.site(scope=Scope.LOCAL, size=size)
    m.load(site, offsets, mask)
    words = {(int(offsets[x]) // 4 + w) * 32 + x for x in active(mask) for w in range(max(1, size // 4))}
    assert site.counts[9] == len({4 * word // 32 for word in words})


@pytest.mark.parametrize(
    ("place", "expected"),
    [([0] * 32, 32), (range(32), 4), ([0, 0, 8, 8] * 8, 32), ([lane * 8 for lane in range(32)], 32)],
)
def test_atomics_take_another_pass_at_each_word_met_again(place, expected):
    m = Machine()
    base = m.buffer("h", np.zeros(256, np.uint32))
    site = m.site(access=Access.ATOMIC)
    site.atomic, site.atomic_type = ATOMIC_CODES["add"], ATOMIC_TYPES["u32"]
    m.atomic(site, base + 4 * np.array(place), np.ones(32, np.uint32))
    assert site.counts[1] == expected


def test_a_request_without_active_lanes_is_none():
    m = Machine()
    base = m.buffer("x", np.zeros(32, np.float32))
    site = m.site()
    m.load(site, base + 4 * np.arange(32), mask=0)
    assert not any(site.counts) and m.thread.accesses == 0


@pytest.mark.parametrize(("elements", "mask", "expected"), [(1, ALL, 1), (4, ALL, 2), (4, 0xFF, 1)])
def test_a_uniform_shared_load_is_a_broadcast(elements, mask, expected):
    m = Machine()
    site = m.site(scope=Scope.SHARED, elements=elements)
    m.load_uniform(site, 64, mask)
    again = m.site(scope=Scope.SHARED, elements=elements)
    m.load(again, np.full(32, 64), mask)
    assert site.counts[5] == again.counts[5] == expected


@settings(max_examples=100)
@given(size=st.sampled_from(SIZES), place=places, mask=masks, seed=st.integers(0, 9))
def test_values_arrive_lane_by_lane_and_inactive_lanes_stay(size, place, mask, seed):
    m = Machine()
    element, n = size
    data = np.random.default_rng(seed).integers(0, 255, 64 * 16, np.uint8)
    base = m.buffer("x", data)
    site = m.site(size=element, elements=n)
    addresses = base + element * n * np.array(place, np.uint64)
    for _ in range(2):
        out = m.load(site, addresses, mask, fill=0xAB)
        for lane in range(32):
            start = element * n * place[lane]
            for e in range(n):
                held = data[start + e * element : start + (e + 1) * element]
                wanted = held if mask >> lane & 1 else np.full(element, 0xAB, np.uint8)
                assert np.array_equal(out[e, lane], wanted)


@settings(max_examples=100)
@given(size=st.sampled_from(SIZES), order=st.permutations(range(32)), mask=masks, seed=st.integers(0, 9))
def test_stores_reach_memory_and_mark_what_they_wrote(size, order, mask, seed):
    m = Machine()
    element, n = size
    memory = np.full(32 * 16, 0xFF, np.uint8)
    base = m.buffer("y", memory, SegmentFlag.WRITABLE | SegmentFlag.UNINITIALISED)
    data = np.random.default_rng(seed).integers(0, 255, (n, 32, element), np.uint8)
    site = m.site(access=Access.STORE, size=element, elements=n)
    for _ in range(3):
        m.store(site, base + element * n * np.array(order, np.uint64), data, mask)
    expected, written = np.full(32 * 16, 0xFF, np.uint8), np.zeros(32 * 16, bool)
    for lane in active(mask):
        start = element * n * order[lane]
        expected[start : start + element * n] = data[:, lane].reshape(-1)
        written[start : start + element * n] = True
    assert np.array_equal(memory, expected)
    bits = (m.words("y")[:, None] >> np.arange(4)) & 1
    assert np.array_equal(bits.reshape(-1)[: 32 * 16] == 1, written)
