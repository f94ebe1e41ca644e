"""What a launch keeps only when asked: its first requests with all 32 addresses, and who last wrote each word."""

from __future__ import annotations

from simt.engine.native import native
from simt.engine.pattern import access_bytes
from simt.engine.records import Ptr, i32, i64, u32, u64, void
from simt.engine.segments import find_segment, scope_of
from simt.engine.state import Scope, Site, Warp

__all__ = ["note_writers", "trace_one", "trace_request"]


@native
def trace_request(warp: Ptr[Warp], site: Ptr[Site], mask: u32, addresses: Ptr[u64]) -> void:
    """Keeps a request until the limit is reached; a traced launch has one native thread."""
    launch = warp.block.launch
    scope = scope_of(site, addresses[trailing_zeros(mask)])
    if launch.traces_global != 0 and scope != Scope.GLOBAL:
        return
    if launch.trace_count < i64(launch.trace_limit):
        kept = launch.trace + launch.trace_count
        kept.site = site.index
        kept.warp = warp.index
        kept.block = warp.block.linear
        kept.mask = mask
        kept.scope = scope
        memcpy(addr(kept.addresses), addresses, 256)
    launch.trace_count += 1


@native
def trace_one(warp: Ptr[Warp], site: Ptr[Site], mask: u32, address: u64) -> void:
    """The same of a request whose lanes all ask for one address."""
    same = local(u64, 32)
    for lane in range(32):
        same[lane] = address
    trace_request(warp, site, mask, same)


@native
def note_writers(warp: Ptr[Warp], site: Ptr[Site], mask: u32, addresses: Ptr[u64]) -> void:
    """Every active lane becomes the last writer of its words; what lies outside every buffer is written by nobody."""
    first_thread = warp.block.linear * i64(warp.block.launch.threads_per_block) + i64(warp.index) * 32
    n_words = u64((access_bytes(site) + 3) >> 2)
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        lanes &= lanes - 1
        if scope_of(site, addresses[lane]) == Scope.GLOBAL:
            segment = find_segment(warp.block.launch, addresses[lane])
            if not is_null(segment) and not is_null(segment.writers):
                word = (addresses[lane] - segment.base) >> 2
                for more in range(i32(n_words)):
                    if (word + u64(more)) * 4 < segment.n_bytes:
                        segment.writers[word + u64(more)] = first_thread + i64(lane)
