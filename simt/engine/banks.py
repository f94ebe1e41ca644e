"""How many wavefronts a shared-memory request takes, and how many of them bank conflicts add.

Rules measured on an H200 (tests/golden, bank_* and gemm_* rows): 32 banks of 4 bytes; lanes on one word share it; a
64-bit request goes in two half-warps, a 128-bit one in four quarter-warps. Two parts join into one wavefront when each
lane i has the same address as lane i^1, or each as lane i^2: a broadcast of 64 bits takes 1, of 128 bits 2.
"""

from __future__ import annotations

from simt.engine.native import native
from simt.engine.records import Ptr, b1, i32, i64, u32, u64

__all__ = ["EXCESS_SHIFT", "count_atomic_wavefronts", "count_wavefronts"]

EXCESS_SHIFT = 16
ODD_LANES = 0xAAAAAAAA
UPPER_PAIRS = 0xCCCCCCCC


@native
def count_wavefronts(mask: u32, relative: Ptr[i64], start: u64, n_bytes: i32) -> u64:
    """Wavefronts in the low 16 bits, those in excess of a conflict-free request above them."""
    if n_bytes <= 4:
        return _phase(mask, relative, start, 1)
    if n_bytes == 8:
        return _halves(mask, relative, start, 0xFFFFFFFF, 2)
    return _halves(mask, relative, start, 0xFFFF, 4) + _halves(mask, relative, start, 0xFFFF0000, 4)


@native
def _halves(mask: u32, relative: Ptr[i64], start: u64, part: u32, words: i32) -> u64:
    """The lanes of `part` in one phase when they come in pairs, else its two halves one after the other."""
    active = mask & part
    if _in_pairs(active, relative, 1, ODD_LANES) or _in_pairs(active, relative, 2, UPPER_PAIRS):
        return _phase(active, relative, start, words)
    lower = part & (part >> (popcount(part) >> 1))
    return _phase(active & lower, relative, start, words) + _phase(active & ~lower, relative, start, words)


@native
def _in_pairs(active: u32, relative: Ptr[i64], distance: u32, upper: u32) -> b1:
    """Every active lane of `upper` has the address of the lane `distance` below it, where that one is active."""
    lanes = active & upper & (active << distance)
    while lanes != 0:
        lane = trailing_zeros(lanes)
        if relative[lane] != relative[lane - distance]:
            return False
        lanes &= lanes - 1
    return True


@native
def _phase(mask: u32, relative: Ptr[i64], start: u64, words: i32) -> u64:
    """One pass of lanes over the banks: as many wavefronts as the fullest bank has distinct words."""
    if mask == 0:
        return 0
    seen = local(i64, 4096)  # up to 128 words in one bank
    held = local(i32, 32)
    for bank in range(32):
        held[bank] = 0
    ways: i32 = 1
    lanes = mask
    while lanes != 0:
        first = (relative[trailing_zeros(lanes)] + i64(start)) >> 2
        for index in range(words):
            word = first + i64(index)
            bank = word & 31
            at: i32 = 0
            while at < held[bank] and seen[bank * 128 + i64(at)] != word:
                at += 1
            seen[bank * 128 + i64(at)] = word
            held[bank] = max(held[bank], at + 1)
        lanes &= lanes - 1
    for bank in range(32):
        ways = max(ways, held[bank])
    return u64(ways) + (u64(ways - 1) << EXCESS_SHIFT)


@native
def count_atomic_wavefronts(mask: u32, relative: Ptr[i64], start: u64, n_bytes: i32) -> u64:
    """Wavefronts of a shared atomic: lanes on one bank follow each other, on one word too."""
    held = local(i32, 32)
    for bank in range(32):
        held[bank] = 0
    ways: i32 = 0
    lanes = mask
    while lanes != 0:
        bank = ((relative[trailing_zeros(lanes)] + i64(start)) >> 2) & 31
        held[bank] += 1
        ways = max(ways, held[bank])
        lanes &= lanes - 1
    parts = (n_bytes + 3) >> 2
    return u64(ways * parts) + (u64((ways - 1) * parts) << EXCESS_SHIFT)
