"""What wgmma asks of a program: a whole warpgroup, fences, waits before registers and shared memory are touched again.

Groups are counted warp by warp. A register that a product uses carries a *state* (`simt.codegen.wgmma_registers`): the
group whose wait makes it free, or the fences passed when ordinary instructions wrote it. Each 16 bytes of shared memory
carry in `Block.readings` the warp that reads them last and its group.
"""

from __future__ import annotations

import enum

from simt.engine.findings import OVERWRITTEN, SHARED_READ, WARPGROUP, WGMMA_FENCE, WGMMA_REGISTERS, record
from simt.engine.flying import Why, in_flight, report_flight
from simt.engine.native import native, rare
from simt.engine.proxies import read_by_proxy
from simt.engine.races import watched
from simt.engine.races_log import keep
from simt.engine.races_shared import OTHER_LANES, make_id, read_shared
from simt.engine.records import Ptr, b1, i32, i64, u8, u32, u64, void
from simt.engine.shadow import report_unset
from simt.engine.state import Block, CheckBit, Scope, Site, Warp
from simt.engine.warps import warp_of

__all__ = ["INPUT", "ORDINARY", "RULES", "SETTLED", "FenceReason", "begin_product", "end_warpgroups", "overwrite_reading",
           "reads_shared", "start_warpgroups"]  # fmt: skip

WARPS = 4  # of a warpgroup
CHUNK = 16
SETTLED = 0xFFFFFFFF  # state of a register that no product and no write since the start concerns
ORDINARY = 1 << 31  # marks a state that counts fences
INPUT = 1 << 30  # marks a register of A, which may be read but not written
GROUP = INPUT - 1
WARP_SHIFT = 27  # of an entry of `Block.readings`: the warp, above its group + 1


class FenceReason(enum.IntEnum):
    NEVER = 0  # the warp has not passed any wgmma.fence
    WRITTEN_SINCE = 1  # a register was written after the last one


@native
def start_warpgroups(block: Ptr[Block]) -> void:
    """A block begins."""
    memset(cast(Ptr[u8], block.readings), 0, (block.launch.shared_bytes + CHUNK - 1) // CHUNK * 4)
    for index in range(block.n_warps):
        warp = warp_of(block, index)
        warp.fences = 0
        warp.product_commits = 0
        warp.products_done = 0
        warp.products = 0
        warp.product_site = -1


@native
def whole_warpgroup(warp: Ptr[Warp], site: i32, mask: u32) -> void:
    """Four whole warps from a multiple of 4 on must exist; says where they do not."""
    block = warp.block
    if mask == 0 or block.launch.checks & CheckBit.SYNCCHECK == 0:
        return
    first = warp.index & ~(WARPS - 1)
    present: i32 = 0
    for index in range(first, min(first + WARPS, block.n_warps)):
        other = warp_of(block, index)
        present += i32(other.full == 0xFFFFFFFF)
    if present != WARPS:
        record(warp, WARPGROUP, site, -1, mask, 0, u64(block.launch.threads_per_block), 0)


@native
def begin_product(warp: Ptr[Warp], site: Ptr[Site], mask: u32) -> void:
    """A warp issues a product: are the other three there, did it pass a fence?"""
    warp.products += 1
    warp.product_site = site.index
    whole_warpgroup(warp, site.index, mask)
    if warp.fences == 0 and warp.block.launch.checks & CheckBit.SYNCCHECK:
        record(warp, WGMMA_FENCE, site.index, -1, mask, 0, u64(FenceReason.NEVER), 0)


@native
def check_order(warp: Ptr[Warp], site: i32, mask: u32, state: u32) -> void:
    """A product uses a register: an ordinary write must have a fence behind it."""
    if state & ORDINARY and state != SETTLED and state & ~u32(ORDINARY) == warp.fences and warp.fences != 0:
        if warp.block.launch.checks & CheckBit.SYNCCHECK:
            record(warp, WGMMA_FENCE, site, -1, mask, 0, u64(FenceReason.WRITTEN_SINCE), 0)


@native
def check_settled(warp: Ptr[Warp], site: i32, mask: u32, state: u32, writes: i32) -> void:
    """An ordinary instruction reads or writes a register: the group of products that uses it must be waited for."""
    if mask == 0 or state & ORDINARY or (state & INPUT and writes == 0):
        return
    if state & GROUP >= warp.products_done and warp.block.launch.checks & CheckBit.SYNCCHECK:
        committed = u64(state & GROUP < warp.product_commits)
        record(warp, WGMMA_REGISTERS, site, warp.product_site, mask, committed, u64(writes), u64(state & INPUT))


@native
def fence_products(warp: Ptr[Warp]) -> void:
    """`wgmma.fence`."""
    warp.fences += 1


@native
def commit_products(warp: Ptr[Warp]) -> void:
    """`wgmma.commit_group`."""
    warp.product_commits += 1


@native
def wait_products(warp: Ptr[Warp], left: u32) -> void:
    """`wgmma.wait_group`: all but the latest `left` groups are done."""
    if warp.product_commits > left:
        warp.products_done = max(warp.products_done, warp.product_commits - left)


@native
def reads_shared(warp: Ptr[Warp], site: Ptr[Site], at: u64) -> b1:
    """A product reads 16 bytes of shared memory; false where there are none or they are not there yet."""
    block = warp.block
    checks = block.launch.checks
    warp.thread.accesses += 1
    if at + CHUNK > u64(block.launch.shared_bytes):
        if checks & CheckBit.MEMCHECK:
            record(warp, SHARED_READ, site.index, -1, 0xFFFFFFFF, at, at, at + CHUNK)
        return False
    first = i64(at >> 2)
    if checks & CheckBit.FLIGHTS:
        block.readings[at >> 4] = (u32(warp.index) << WARP_SHIFT) | (warp.product_commits + 1)
        if block.n_flying != 0:
            for word in range(first, first + 4):
                if block.flights[word] != 0 and in_flight(warp, site, block.flights[word]):
                    report_flight(warp, site, 0xFFFFFFFF, word)
                    return False
    read_by_proxy(warp, site, 0, first, 4)
    if checks & CheckBit.INITCHECK:
        for word in range(first, first + 4):
            if block.shared_words[word] & 15 != 15:
                report_unset(warp, site, 0xFFFFFFFF, Scope.SHARED, u64(word) * 4)
                break
    if watched(warp, site, Scope.SHARED):
        id = make_id(warp, site, 0, 15, 0) | OTHER_LANES
        if not keep(warp, id, 0xFFFFFFFF, first, 4, -1):
            for word in range(first, first + 4):
                read_shared(warp, id, 0xFFFFFFFF, word)
    return True


@rare
@native
def overwrite_reading(warp: Ptr[Warp], site: Ptr[Site], lanes: u32, offset: u64, n_bytes: u64) -> void:
    """Bytes of shared memory change: products in flight may still read them."""
    block = warp.block
    for chunk in range(i64(offset >> 4), i64((offset + n_bytes + CHUNK - 1) >> 4)):
        entry = block.readings[chunk]
        if entry == 0:
            continue
        reader = warp_of(block, i32(entry >> WARP_SHIFT))
        if (entry & ((1 << WARP_SHIFT) - 1)) - 1 >= reader.products_done:
            record(warp, OVERWRITTEN, site.index, reader.product_site, lanes, u64(chunk) * CHUNK, u64(Why.PRODUCT), 0)
            return


@native
def end_warpgroups(block: Ptr[Block]) -> void:
    """The block ends: its warps must have issued as many products as the others of their group."""
    if block.launch.checks & CheckBit.SYNCCHECK == 0:
        return
    for index in range(block.n_warps):
        warp = warp_of(block, index)
        first = index & ~i32(WARPS - 1)
        for other in range(first, min(first + WARPS, block.n_warps)):
            lazy = warp_of(block, other)
            if lazy.products < warp.products:
                record(warp, WARPGROUP, warp.product_site, -1, warp.full, 0, 0, u64(other) + 1)
                break


RULES = (check_order, check_settled, fence_products, commit_products, wait_products, whole_warpgroup)
