"""Racecheck on scripted accesses: what is a race, and what only looks like one."""

import ctypes

import numpy as np
import pytest

from simt.engine.races import fence
from simt.engine.state import ATOMIC_CODES, ATOMIC_TYPES, Access, CheckBit, Scope, SiteFlag
from tests.simt.engine.machine import ALL, Machine, native_code

LANES = np.arange(32)
RACES = CheckBit.MEMCHECK | CheckBit.RACE_SHARED | CheckBit.RACE_GLOBAL


class Script:
    """A launch of blocks of two warps whose accesses a test writes down in order."""

    def __init__(self, scope, words=256):
        self.machine = Machine(checks=RACES, warps=2, blocks=3)
        self.scope = scope
        self.base = 0 if scope == Scope.SHARED else self.machine.buffer("x", np.zeros(words, np.uint32))
        self.known = {}

    def site(self, name, access, size=4, flags=0):
        if name not in self.known:
            self.known[name] = self.machine.site(self.scope, access, size=size, flags=flags)
            self.known[name].atomic, self.known[name].atomic_type = ATOMIC_CODES["add"], ATOMIC_TYPES["u32"]
        return self.known[name]

    def warp(self, warp, block):
        return self.machine.warp(warp, block)

    def read(self, words, warp=0, block=0, name="read", mask=ALL, size=4, flags=0):
        site = self.site(name, Access.LOAD, size, flags)
        self.machine.load(site, self.base + size * np.broadcast_to(words, 32), mask, self.warp(warp, block))

    def write(self, words, values=1, warp=0, block=0, name="write", mask=ALL, size=4, flags=0):
        site = self.site(name, Access.STORE, size, flags)
        data = np.broadcast_to(values, 32).astype(f"u{size}")
        self.machine.store(site, self.base + size * np.broadcast_to(words, 32), data, mask, self.warp(warp, block))

    def add(self, words, warp=0, block=0, name="add", mask=ALL):
        site = self.site(name, Access.ATOMIC)
        addresses = self.base + 4 * np.broadcast_to(words, 32)
        self.machine.atomic(site, addresses, np.ones(32, np.uint32), mask=mask, warp=self.warp(warp, block))

    def barrier(self, block=0):
        self.machine.blocks[block].epoch += 1
        for warp in self.machine.blocks[block].records:
            warp.sync_epoch += 1

    def syncwarp(self, warp=0, block=0):
        self.warp(warp, block).sync_epoch += 1

    def fence(self, warp=0, block=0):
        run = native_code().address(fence.name)
        kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int32)
        kind(run)(ctypes.addressof(self.warp(warp, block)), 1)

    def found(self):
        """(check, site, also site) by name."""
        names = {site.index: name for name, site in self.known.items()}
        return {(check, names[site], names[also]) for check, site, also, _ in self.machine.found()}


@pytest.fixture
def shared():
    return Script(Scope.SHARED)


@pytest.fixture
def device():
    return Script(Scope.GLOBAL)


# --- shared memory, between warps


@pytest.mark.parametrize("words", [LANES, LANES * 33 % 64, 5], ids=["row", "strided", "one word"])
@pytest.mark.parametrize("rounds", [1, 4])
def test_a_read_of_another_warps_write_needs_a_barrier(shared, words, rounds):
    for _ in range(rounds):
        shared.write(words, warp=0)
        shared.barrier()
        shared.read(words, warp=1)
        shared.barrier()
    assert not shared.found()
    shared.write(words, warp=0)
    shared.read(words, warp=1)
    assert shared.found() == {("racecheck.shared.RAW", "read", "write")}


@pytest.mark.parametrize("words", [LANES, LANES * 33 % 64, LANES % 16], ids=["row", "strided", "shared words"])
@pytest.mark.parametrize("rounds", [1, 4])
def test_an_overwrite_after_another_warps_read_needs_a_barrier(shared, words, rounds):
    for _ in range(rounds):
        shared.read(words, warp=0)
        shared.read(words, warp=1)
        shared.barrier()
        shared.write(LANES, 7, warp=1)
        shared.barrier()
    assert not shared.found()
    shared.read(words, warp=0)
    shared.read(words, warp=1)
    shared.write(LANES, 8, warp=1)
    assert shared.found() == {("racecheck.shared.WAR", "write", "read")}


def test_two_warps_writing_different_values_race_and_equal_ones_do_not(shared):
    shared.write(LANES, 3, warp=0)
    shared.write(LANES, 3, warp=1)
    assert not shared.found()
    shared.write(LANES, 4, warp=0)
    assert shared.found() == {("racecheck.shared.WAW", "write", "write")}


def test_atomics_do_not_race_with_each_other_but_with_stores(shared):
    shared.add(LANES, warp=0)
    shared.add(LANES % 4, warp=1)
    assert not shared.found()
    shared.write(0, 9, warp=0, mask=1)
    assert shared.found() == {("racecheck.shared.store-vs-atomic", "add", "write")}


def test_an_atomic_after_another_warps_store_is_named_with_the_store_second(shared):
    shared.write(LANES, 0, warp=0)
    shared.add(LANES, warp=1)
    assert shared.found() == {("racecheck.shared.store-vs-atomic", "add", "write")}


def test_different_bytes_of_one_word_do_not_race(shared):
    shared.write(2 * LANES, warp=0, size=1)
    shared.write(2 * LANES + 1, 5, warp=1, size=1, name="odd")
    shared.read(2 * LANES + 1, warp=1, size=1)
    assert not shared.found()


def test_lanes_that_share_a_word_by_halves_do_not_race(shared):
    for value in range(3):
        shared.read(LANES, size=2)
        shared.write(LANES, value, size=2)
        shared.read(LANES, size=2, name="again")
    assert not shared.found()


def test_rows_of_bytes_that_share_words_do_not_race(shared):
    """`unsigned char tile[2][33]`: the last word of one warp's row is the first of the next one's."""
    for warp in (0, 1):
        shared.read(33 * warp + LANES, warp=warp, size=1)
    for warp in (0, 1):
        shared.write(33 * warp + LANES, warp, warp=warp, size=1)
        shared.read(33 * warp + LANES, warp=warp, size=1)
    assert not shared.found()
    shared.read(33 + LANES, warp=0, size=1)
    assert shared.found() == {("racecheck.shared.RAW", "read", "write")}


def test_volatile_accesses_of_different_warps_do_not_race(shared):
    shared.write(0, 1, warp=0, mask=1, flags=SiteFlag.VOLATILE)
    shared.read(0, warp=1, flags=SiteFlag.VOLATILE)
    assert not shared.found()


def test_a_flag_behind_a_fence_orders_two_warps(shared):
    shared.write(LANES, 5, warp=0)
    shared.fence(warp=0)
    shared.write(99, 1, warp=0, mask=1, name="flag", flags=SiteFlag.VOLATILE)
    shared.read(99, warp=1, name="poll", flags=SiteFlag.VOLATILE)
    shared.read(LANES, warp=1)
    assert not shared.found()


def test_a_flag_without_a_fence_orders_nothing(shared):
    shared.write(LANES, 5, warp=0)
    shared.write(99, 1, warp=0, mask=1, name="flag", flags=SiteFlag.VOLATILE)
    shared.read(99, warp=1, name="poll", flags=SiteFlag.VOLATILE)
    shared.read(LANES, warp=1)
    assert shared.found() == {("racecheck.shared.RAW", "read", "write")}


# --- shared memory, between lanes of one warp


@pytest.mark.parametrize("rounds", [1, 4])
@pytest.mark.parametrize("flags", [0, SiteFlag.VOLATILE])
def test_lanes_that_exchange_need_syncwarp(shared, rounds, flags):
    for _ in range(rounds):
        shared.write(LANES, flags=flags)
        shared.syncwarp()
        shared.read(LANES ^ 1, flags=flags)
        shared.syncwarp()
    assert not shared.found()
    shared.write(LANES, flags=flags)
    shared.read(LANES ^ 1, flags=flags)
    assert shared.found() == {("racecheck.shared.intra-warp", "read", "write")}


def test_a_lane_may_read_and_overwrite_its_own_words(shared):
    for value in range(4):
        shared.write(LANES, value)
        shared.read(LANES)
        shared.write(LANES, value + 10, name="again")
    assert not shared.found()


def test_overwriting_what_another_lane_read_needs_syncwarp(shared):
    shared.read(LANES + 1)
    shared.write(LANES, 7)
    assert shared.found() == {("racecheck.shared.intra-warp", "write", "read")}


def test_all_lanes_may_write_one_word_and_read_it(shared):
    shared.write(0, 6)
    shared.read(0)
    assert not shared.found()


def test_a_new_block_in_the_same_memory_starts_afresh(shared):
    shared.write(LANES, warp=0)
    shared.machine.blocks[0].epoch += 1
    shared.read(LANES, warp=1)
    assert not shared.found()


# --- global memory


@pytest.mark.parametrize(("warp", "block"), [(1, 0), (0, 1)], ids=["another warp", "another block"])
@pytest.mark.parametrize("words", [LANES, LANES * 7, 5], ids=["row", "strided", "one word"])
def test_a_read_of_what_another_warp_wrote_races(device, warp, block, words):
    device.write(words)
    device.read(words, warp=warp, block=block)
    assert device.found() == {("racecheck.global.RW", "read", "write")}


@pytest.mark.parametrize("readers", [[0], [0, 1], [1, 0]])
def test_a_write_over_what_another_warp_read_races(device, readers):
    for warp in readers:
        device.read(LANES, warp=warp)
    device.write(LANES, 5, warp=1, name="mine")
    assert ("racecheck.global.RW", "read", "mine") in device.found() | {
        (check.replace("RMW", "RW"), site, also) for check, site, also in device.found()
    }


def test_own_elements_in_place_are_right(device):
    for warp, block in ((0, 0), (1, 0), (0, 1)):
        words = LANES + 32 * warp + 64 * block
        for value in range(3):
            device.read(words, warp=warp, block=block)
            device.write(words, value, warp=warp, block=block)
    assert not device.found()


def test_a_barrier_orders_the_warps_of_a_block_only(device):
    device.write(LANES, warp=0)
    device.barrier()
    device.read(LANES, warp=1)
    assert not device.found()
    device.read(LANES, block=1)
    assert device.found() == {("racecheck.global.RW", "read", "write")}


def test_read_change_write_of_one_word_is_named_as_such(device):
    for block in (0, 1):
        device.read(0, block=block, mask=1)
        device.write(0, block + 1, block=block, mask=1)
    assert device.found() == {("racecheck.global.RMW", "read", "write")}


def test_lanes_of_one_warp_that_update_one_word_lose_updates(device):
    device.read(0)
    device.write(0, 1)
    assert device.found() == {("racecheck.global.RMW", "read", "write")}


def test_two_blocks_writing_different_values_race_and_equal_ones_do_not(device):
    device.write(3, 1, block=0, mask=1)
    device.write(3, 1, block=1, mask=1)
    assert not device.found()
    device.write(3, 2, block=2, mask=1)
    assert device.found() == {("racecheck.global.WW", "write", "write")}


def test_a_plain_read_beside_atomics_races(device):
    device.add(0, block=0, mask=1)
    device.fence(block=0)
    device.read(0, block=0)
    device.add(0, block=1, mask=1)
    assert device.found() == {("racecheck.global.atomic-vs-read", "read", "add")}


def test_the_last_block_may_read_what_others_published(device):
    """The ticket pattern: a partial sum, a fence, an atomic; whoever draws the last ticket reads all partial sums."""
    for block in range(3):
        device.write(block, block, block=block, mask=1)
        device.fence(block=block)
        device.add(100, block=block, mask=1, name="ticket")
    device.barrier(block=2)
    device.read(LANES % 3, warp=1, block=2)
    assert not device.found()


def test_the_ticket_without_a_fence_races(device):
    for block in range(3):
        device.write(block, block, block=block, mask=1)
        device.add(100, block=block, mask=1, name="ticket")
    device.read(LANES % 3, block=2)
    assert device.found() == {("racecheck.global.RW", "read", "write")}


def test_plain_data_under_a_lock_is_ordered(device):
    for block in range(3):
        device.add(100, block=block, mask=1, name="lock")
        device.read(0, block=block, mask=1)
        device.write(0, block, block=block, mask=1)
        device.fence(block=block)
        device.add(100, block=block, mask=1, name="unlock")
    assert not device.found()


@pytest.mark.parametrize("flags", [SiteFlag.VOLATILE, SiteFlag.VOLATILE | SiteFlag.RELEASE])
def test_a_flag_orders_the_data_behind_it(device, flags):
    device.write(LANES, 4, block=0)
    if not flags & SiteFlag.RELEASE:
        device.fence(block=0)
    device.write(100, 1, block=0, mask=1, name="flag", flags=flags)
    device.read(100, block=1, name="poll", flags=SiteFlag.VOLATILE)
    device.read(LANES, block=1)
    assert not device.found()
