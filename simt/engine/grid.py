"""What a native thread does: it claims a block, or a group of blocks that are resident together, runs it, claims the next."""

from __future__ import annotations

from simt.engine.block import Outcome, run_block, start_block
from simt.engine.groups import run_group, start_group
from simt.engine.native import native
from simt.engine.records import Ptr, i32, i64, void
from simt.engine.state import Block

__all__ = ["run_grid"]

CLAIM_COST = 100  # fuel of each block, so that a grid of many tiny blocks comes up for air too


@native
def start(first: Ptr[Block], number: i64) -> void:
    if first.launch.together != 0:
        start_group(first, number)
    else:
        start_block(first, number)


@native
def go_on(first: Ptr[Block]) -> i32:
    if first.launch.together != 0:
        return run_group(first)
    return run_block(first)


@native
def run_grid(first: Ptr[Block]) -> i32:
    """Runs blocks, or groups of them, until the grid is used up; `next_block` is shared by all native threads."""
    thread = first.thread
    launch = first.launch
    while True:
        if first.running == 0:
            number = atomic_add(addr(launch.next_block), 1)
            if number >= launch.last_block:
                return Outcome.FINISHED
            start(first, number)
            first.running = 1
        code = go_on(first)
        if code != Outcome.FINISHED:
            return code
        first.running = 0
        thread.blocks_done += i64(launch.group)
        thread.budget -= CLAIM_COST * i64(launch.group)
        if launch.stop != 0:
            return Outcome.STOPPED
        if thread.budget <= 0:
            return Outcome.PAUSED
