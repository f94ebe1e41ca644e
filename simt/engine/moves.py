"""Moves a request's bytes between host memory and lane-wise arrays (element e of lane l at index 32 e + l)."""

from __future__ import annotations

from simt.engine.native import native
from simt.engine.pattern import BROADCAST, CONTIGUOUS
from simt.engine.records import Ptr, i32, i64, u8, u32, void
from simt.engine.state import Site

__all__ = ["fill_lane", "gather", "lane_from", "lane_to", "scatter"]


@native
def move(target: Ptr[u8], source: Ptr[u8], n_bytes: i32) -> void:
    """Copies one element."""
    if n_bytes == 4:
        memcpy(target, source, 4)
    elif n_bytes == 8:
        memcpy(target, source, 8)
    elif n_bytes == 2:
        memcpy(target, source, 2)
    elif n_bytes == 1:
        memcpy(target, source, 1)
    else:
        memcpy(target, source, 16)


@native
def move_lane(target: Ptr[u8], source: Ptr[u8], size: i32, n: i32, target_step: i32, source_step: i32) -> void:
    """Copies n elements of one lane, each a step after the one before."""
    for element in range(n):
        move(target + element * target_step, source + element * source_step, size)


@native
def lane_from(site: Ptr[Site], lane: u32, host: Ptr[u8], out: Ptr[u8]) -> void:
    """One lane's elements from host memory."""
    size = site.element_bytes
    move_lane(out + i32(lane) * size, host, size, site.n_elements, 32 * size, size)


@native
def lane_to(site: Ptr[Site], lane: u32, host: Ptr[u8], data: Ptr[u8]) -> void:
    """One lane's elements to host memory."""
    size = site.element_bytes
    move_lane(host, data + i32(lane) * size, size, site.n_elements, size, 32 * size)


@native
def fill_lane(site: Ptr[Site], lane: u32, out: Ptr[u8]) -> void:
    """The NaN bytes that an access outside every buffer reads."""
    size = site.element_bytes
    for element in range(site.n_elements):
        memset(out + (element * 32 + i32(lane)) * size, 255, size)


@native
def gather(site: Ptr[Site], mask: u32, host: Ptr[u8], out: Ptr[u8]) -> void:
    """Reads every active lane at the pattern's distance from `host`."""
    size = site.element_bytes
    n = site.n_elements
    if site.pattern_shape == CONTIGUOUS and n == 1:
        copy_row(out, host, size)
    elif site.pattern_shape == CONTIGUOUS and size == 4:
        split_words(out, host, n)
    elif size == 4 and n == 4:
        gather_quads(cast(Ptr[u32], out), host, addr(site.pattern), mask)
    elif size == 4 and n == 1 and site.pattern_shape == BROADCAST:
        spread_word(cast(Ptr[u32], out), cast(Ptr[u32], host)[0])
    elif size == 4 and n == 1:
        gather_words(cast(Ptr[u32], out), host, addr(site.pattern), mask)
    else:
        gather_lanes(site, mask, host, out)


@native
def copy_row(target: Ptr[u8], source: Ptr[u8], n_bytes: i32) -> void:
    """32 neighbouring elements."""
    if n_bytes == 4:
        memcpy(target, source, 128)
    elif n_bytes == 8:
        memcpy(target, source, 256)
    else:
        memcpy(target, source, 32 * n_bytes)


@native
def split_words(out: Ptr[u8], host: Ptr[u8], n: i32) -> void:
    """Neighbouring vectors of n words to n rows of 32."""
    words = cast(Ptr[u32], host)
    rows = cast(Ptr[u32], out)
    if n == 4:
        for lane in range(32):
            rows[lane] = words[lane * 4]
            rows[lane + 32] = words[lane * 4 + 1]
            rows[lane + 64] = words[lane * 4 + 2]
            rows[lane + 96] = words[lane * 4 + 3]
    else:
        for lane in range(32):
            for element in range(n):
                rows[i64(element) * 32 + lane] = words[lane * i64(n) + i64(element)]


@native
def join_words(host: Ptr[u8], data: Ptr[u8], n: i32) -> void:
    """n rows of 32 words to neighbouring vectors."""
    words = cast(Ptr[u32], host)
    rows = cast(Ptr[u32], data)
    if n == 4:
        for lane in range(32):
            words[lane * 4] = rows[lane]
            words[lane * 4 + 1] = rows[lane + 32]
            words[lane * 4 + 2] = rows[lane + 64]
            words[lane * 4 + 3] = rows[lane + 96]
    else:
        for lane in range(32):
            for element in range(n):
                words[lane * i64(n) + i64(element)] = rows[i64(element) * 32 + lane]


@native
def spread_word(out: Ptr[u32], word: u32) -> void:
    for lane in range(32):
        out[lane] = word


@native
def gather_words(out: Ptr[u32], host: Ptr[u8], relative: Ptr[i64], mask: u32) -> void:
    if mask == 0xFFFFFFFF:
        for lane in range(32):
            out[lane] = cast(Ptr[u32], host + relative[lane])[0]
        return
    lanes = mask
    while lanes != 0:
        active = trailing_zeros(lanes)
        out[active] = cast(Ptr[u32], host + relative[active])[0]
        lanes &= lanes - 1


@native
def gather_quads(out: Ptr[u32], host: Ptr[u8], relative: Ptr[i64], mask: u32) -> void:
    """Vectors of four words."""
    lanes = mask
    while lanes != 0:
        lane = i64(trailing_zeros(lanes))
        quad = cast(Ptr[u32], host + relative[lane])
        out[lane] = quad[0]
        out[lane + 32] = quad[1]
        out[lane + 64] = quad[2]
        out[lane + 96] = quad[3]
        lanes &= lanes - 1


@native
def scatter_words(host: Ptr[u8], data: Ptr[u32], relative: Ptr[i64], mask: u32) -> void:
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        cast(Ptr[u32], host + relative[lane])[0] = data[lane]
        lanes &= lanes - 1


@native
def gather_lanes(site: Ptr[Site], mask: u32, host: Ptr[u8], out: Ptr[u8]) -> void:
    size = site.element_bytes
    n = site.n_elements
    lanes = mask
    while lanes != 0:
        lane = trailing_zeros(lanes)
        move_lane(out + i32(lane) * size, host + site.pattern[lane], size, n, 32 * size, size)
        lanes &= lanes - 1


@native
def scatter(site: Ptr[Site], mask: u32, host: Ptr[u8], data: Ptr[u8]) -> void:
    """Writes every active lane at the pattern's distance from `host`; of lanes on one address the last stays."""
    size = site.element_bytes
    n = site.n_elements
    if site.pattern_shape == CONTIGUOUS and n == 1:
        copy_row(host, data, size)
    elif site.pattern_shape == CONTIGUOUS and size == 4:
        join_words(host, data, n)
    elif size == 4 and n == 1:
        scatter_words(host, cast(Ptr[u32], data), addr(site.pattern), mask)
    else:
        lanes = mask
        while lanes != 0:
            lane = trailing_zeros(lanes)
            move_lane(host + site.pattern[lane], data + i32(lane) * size, size, n, size, 32 * size)
            lanes &= lanes - 1
