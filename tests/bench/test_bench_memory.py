"""Cost of one memory request in native code, by pattern and checks, in nanoseconds per request."""

import ctypes

import numpy as np
import pytest

from simt.engine.memory import load, load_uniform, store
from simt.engine.native import native
from simt.engine.records import Ptr, i64, u8, u32, u64, void
from simt.engine.state import Access, CheckBit, Scope, SegmentFlag, Site, Warp
from tests.simt.engine.machine import ALL, Machine, code, pointer

REQUESTS = 2_000
ROUNDS = 40
LANES = np.arange(32, dtype=np.uint64)
COUNTS = 0
CHECKED = CheckBit.MEMCHECK | CheckBit.INITCHECK | CheckBit.COVERAGE
RACED = CheckBit.MEMCHECK | CheckBit.RACE_SHARED | CheckBit.RACE_GLOBAL
OUTPUT = SegmentFlag.WRITABLE | SegmentFlag.UNINITIALISED


@native
def many_loads(warp: Ptr[Warp], site: Ptr[Site], mask: u32, addresses: Ptr[u64], out: Ptr[u8], n: i64) -> void:
    for _ in range(n):
        load(warp, site, mask, addresses, out)


@native
def many_stores(warp: Ptr[Warp], site: Ptr[Site], mask: u32, addresses: Ptr[u64], out: Ptr[u8], n: i64) -> void:
    for _ in range(n):
        store(warp, site, mask, addresses, out)


@native
def many_uniform(warp: Ptr[Warp], site: Ptr[Site], mask: u32, addresses: Ptr[u64], out: Ptr[u8], n: i64) -> void:
    for _ in range(n):
        load_uniform(warp, site, mask, addresses[0], out)


FUNCTIONS = (many_loads, many_stores, many_uniform)
CASES = {
    "load f32 row": (many_loads, Scope.GLOBAL, 1, LANES * 4, ALL),
    "load f32 row, 31 lanes": (many_loads, Scope.GLOBAL, 1, LANES * 4, ALL >> 1),
    "load f32 stride 33": (many_loads, Scope.GLOBAL, 1, LANES * 132, ALL),
    "load float4 row": (many_loads, Scope.GLOBAL, 4, LANES * 16, ALL),
    "load uniform": (many_uniform, Scope.GLOBAL, 1, LANES * 0, ALL),
    "store f32 row": (many_stores, Scope.GLOBAL, 1, LANES * 4, ALL),
    "shared load f32 row": (many_loads, Scope.SHARED, 1, LANES * 4, ALL),
    "shared load float4, 2 addresses": (many_loads, Scope.SHARED, 4, LANES // 16 * 64, ALL),
    "shared store f32 row": (many_stores, Scope.SHARED, 1, LANES * 4, ALL),
    "local load f32": (many_loads, Scope.LOCAL, 1, LANES * 0 + 8, ALL),
}


@pytest.mark.parametrize("checks", [COUNTS, CHECKED, RACED], ids=["counts", "checked", "raced"])
@pytest.mark.parametrize("name", CASES)
def test_requests(benchmark, name, checks):
    function, scope, elements, addresses, mask = CASES[name]
    m = Machine(checks=checks)
    base = m.buffer("y", np.zeros(1 << 14, np.float32), OUTPUT)
    for words in (m.words("y"), m.shared_words, m.local_words):
        words[:] = 0x2F
    site = m.site(scope, Access.STORE if function is many_stores else Access.LOAD, elements=elements)
    kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 2, ctypes.c_uint32, *[ctypes.c_void_p] * 2, ctypes.c_int64)
    run = kind(code(*FUNCTIONS).address(function.name))
    places = addresses + np.uint64(base if scope == Scope.GLOBAL else 0)
    data = np.zeros(32 * 16, np.uint8)
    arguments = (ctypes.addressof(m.warp()), ctypes.addressof(site), mask, pointer(places), pointer(data), REQUESTS)
    benchmark.pedantic(run, arguments, rounds=ROUNDS, warmup_rounds=1)
    if benchmark.stats is not None:
        benchmark.extra_info["ns_per_request"] = round(benchmark.stats.stats.min / REQUESTS * 1e9, 1)
    rounds = ROUNDS + 1 if benchmark.stats is not None else 1  # untimed, it runs once
    assert not m.found() and site.counts[4 * min(scope, 2)] == rounds * REQUESTS
