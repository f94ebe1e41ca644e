"""Shared memory of the other blocks of a cluster: whose an address is, and whether that block is there.

An address of shared::cluster has its block's rank + 1 above `RANK_SHIFT`; without one it is of the block that uses it. All
blocks of a cluster are run by one native thread, so their records are at hand.
"""

from __future__ import annotations

from simt.engine.findings import CLUSTER_EXIT, CLUSTER_START, SHARED_WRITE, record
from simt.engine.native import native, rare
from simt.engine.records import Ptr, b1, i32, u8, u32, u64, void
from simt.engine.segments import window_offset
from simt.engine.state import RANK_SHIFT, RANK_UNIT, Block, CheckBit, Scope, Site, SiteFlag, Warp
from simt.engine.warps import warp_of

__all__ = [
    "OFFSET_MASK", "aim_peer", "forget_touches", "is_there", "owner_of", "peer_at", "receiver", "receivers", "report_touch",
]  # fmt: skip

OFFSET_MASK = RANK_UNIT - 1


@native
def peer_at(block: Ptr[Block], offset: u64) -> Ptr[Block]:
    """The block that an address in the window of shared memory is of, or null where the cluster has no such rank."""
    rank = i32(offset >> RANK_SHIFT) - 1
    if rank < 0:
        return block
    if rank >= block.launch.cluster_blocks:
        return 0
    return block.first + rank


@native
def owner_of(warp: Ptr[Warp], site: Ptr[Site], address: u64) -> Ptr[Block]:
    """As `peer_at`, of an address that `reach` accepted."""
    return peer_at(warp.block, window_offset(site, Scope.SHARED, address))


@native
def warp_in(block: Ptr[Block], warp: Ptr[Warp]) -> Ptr[Warp]:
    """The warp of a block of the cluster that has the number of this one: copies into that block go on under its name."""
    return warp_of(block, warp.index)


@native
def receivers(warp: Ptr[Warp], address: u64, mask: u32) -> u32:
    """Ranks that a copy writes to, a bit each: those of a multicast, else the one that the address names."""
    if mask != 0:
        return mask
    rank = i32(address >> RANK_SHIFT) - 1
    if rank < 0:
        rank = warp.block.rank
    return u32(1) << u32(rank & 31)


@native
def receiver(warp: Ptr[Warp], site: Ptr[Site], lane: u32, rank: u32, address: u64) -> Ptr[Warp]:
    """The warp under whose name a copy to the block of this rank goes on, or null after saying why there is none."""
    block = warp.block
    if i32(rank) >= block.launch.cluster_blocks:
        if block.launch.checks & CheckBit.MEMCHECK:
            record(warp, SHARED_WRITE, site.index, -1, u32(1) << lane, address, address, address)
        return 0
    peer: Ptr[Block] = block
    if block.launch.cluster_blocks > 1:
        peer = block.first + i32(rank)
    if not is_there(warp, site, u32(1) << lane, peer, address):
        return 0
    return warp_in(peer, warp)


@rare
@native
def is_there(warp: Ptr[Warp], site: Ptr[Site], lanes: u32, peer: Ptr[Block], address: u64) -> b1:
    """Whether another block's shared memory may be used now; tells where it may not. False when that block is over."""
    block = warp.block
    if peer == block:
        return True
    over = b1(peer.live_warps == 0)
    if block.launch.checks & CheckBit.SYNCCHECK:
        if over:
            record(warp, CLUSTER_EXIT, site.index, peer.exit_site, lanes, address, u64(peer.linear), 0)
        elif block.first.met == 0 and block.launch.cooperative == 0:
            record(warp, CLUSTER_START, site.index, -1, lanes, address, u64(peer.linear), 0)
    return not over


@rare
@native
def aim_peer(warp: Ptr[Warp], site: Ptr[Site], lanes: u32, address: u64) -> Ptr[u8]:
    """As `simt.engine.segments.aim` of an address that names a block of the cluster.

    Of a block that is over it is memory that holds NaN bytes.
    """
    if site.scope == Scope.SHARED and site.flags & SiteFlag.CLUSTER == 0:
        return 0
    offset = window_offset(site, Scope.SHARED, address)
    peer = peer_at(warp.block, offset)
    if is_null(peer):
        return 0
    site.aim_offset = offset & OFFSET_MASK
    site.aim_bytes = u64(peer.launch.shared_bytes)
    site.aim_words = peer.shared_words
    if site.aim_offset >= site.aim_bytes:
        return 0
    if is_there(warp, site, lanes, peer, address) and peer != warp.block:
        peer.touched_site = site.index
        peer.touched_lanes = lanes
        peer.touched_by = cast(Ptr[u8], warp)
    return peer.shared + site.aim_offset


@native
def forget_touches(block: Ptr[Block]) -> void:
    """What was done to the block's shared memory is known to it: they met, or it was told."""
    block.touched_site = -1


@native
def report_touch(block: Ptr[Block]) -> void:
    """A block ends: nothing since another block's latest access to its shared memory makes it wait for that access."""
    if block.touched_site >= 0 and block.launch.checks & CheckBit.SYNCCHECK:
        warp = cast(Ptr[Warp], block.touched_by)
        record(warp, CLUSTER_EXIT, block.touched_site, block.exit_site, block.touched_lanes, 0, u64(block.linear), 1)
