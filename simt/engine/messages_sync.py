"""Words for barriers, warp-level synchronisation, deadlocks, traps, asserts and divisions by zero."""

from __future__ import annotations

from simt.diagnostics import Diagnostic
from simt.engine.messages_memory import at_line, named_block, told, who
from simt.engine.state import STACK_BYTES
from simt.engine.view import Found, LaunchView

__all__ = ["SYNC"]


def lanes_in_words(lanes: tuple[int, ...]) -> str:
    """`lane 3`, or `lanes 0 to 7` by the ends of the range."""
    return f"lane {lanes[0]}" if len(lanes) == 1 else f"lanes {lanes[0]} to {lanes[-1]}" if lanes else "no lane"


def _divergent(view: LaunchView, found: Found) -> Diagnostic:
    waiting = f"{found.low} threads wait" if found.low else "some threads wait"
    message = (
        f"not all threads of {named_block(view, found.block)} reach the __syncthreads(){at_line(view, found.site)}: {waiting} "
        "there while others take another path"
    )
    help = "move __syncthreads() out of the `if`, so that every thread of the block comes by: guard the work, not the barrier"
    return told(view, found, message, help=help)


def _exited(view: LaunchView, found: Found) -> Diagnostic:
    message = (
        f"{named_block(view, found.block)}: {found.high} threads exited{at_line(view, found.also_site)} before the "
        f"barrier{at_line(view, found.site)} that {found.low} threads wait at"
    )
    help = (
        "guard the work with `if (i < n)` instead of returning early, so that all threads reach __syncthreads(): before "
        "Volta this hangs, and what the exited threads should have stored is missing"
    )
    return told(view, found, message, help=help)


def _mask(view: LaunchView, found: Found) -> Diagnostic:
    lanes = lanes_in_words(found.lane_numbers)
    if found.high:
        message = f"the mask {found.low:#010x} names {lanes}, which never arrive{at_line(view, found.site)}"
    else:
        message = (
            f"{lanes} run this with the mask {found.low:#010x}, which does not name them{at_line(view, found.site)}"
        )
    help = "the mask must name exactly the lanes that come by: compute it with __ballot_sync before the branch"
    return told(view, found, message, help=help)


def _inactive(view: LaunchView, found: Found) -> Diagnostic:
    lanes = lanes_in_words(found.lane_numbers)
    message = (
        f"{lanes} of warp {found.warp} shuffle from lane {found.low} and the like, which are inactive: their value is undefined "
        "although the mask names them"
    )
    running = bin(found.high).count("1")
    help = (
        f"only {running} lanes of this warp run: pass a mask of those lanes, or give lanes without data a neutral value and "
        "round the block up to a multiple of 32"
    )
    return told(view, found, message, help=help)


def _operands(view: LaunchView, found: Found) -> Diagnostic:
    message = f"{who(view, found)} waits at barrier {found.low}" + (f" for {found.high} threads" if found.high else "")
    help = "a block has the barriers 0 to 15, and a barrier counts whole warps: give a multiple of 32 threads"
    return told(view, found, message, help=help)


def _deadlock(view: LaunchView, found: Found) -> Diagnostic:
    wanted = f"{found.high} threads" if found.high else "every thread of the block"
    message = (
        f"deadlock in {named_block(view, found.block)}: every warp waits and nothing can change; the barrier"
        f"{at_line(view, found.site)} has {found.low} threads and waits for {wanted}"
    )
    return told(view, found, message, help="every thread of the block must come by the same barriers, equally often")


def _lock(view: LaunchView, found: Found) -> Diagnostic:
    message = (
        f"{who(view, found)} spins on a lock{at_line(view, found.site)} that a lane of the same warp holds: that lane may have "
        "to wait for the others before it can let go"
    )
    help = "take the lock with one lane per warp, or replace it by an atomic: atomicAdd needs no lock"
    return told(view, found, message, help=help)


def _spin(view: LaunchView, found: Found) -> Diagnostic:
    message = f"{who(view, found)} spins{at_line(view, found.site)} for a value that nothing will change any more"
    help = "who should set it? A block that has not started can't: blocks may run one after another"
    return told(view, found, message, help=help)


def _trap(view: LaunchView, found: Found) -> Diagnostic:
    return told(view, found, f"{who(view, found)} executed a trap, which ends the launch", help="")


def _assert(view: LaunchView, found: Found) -> Diagnostic:
    return told(
        view, found, f"a device assert failed in {who(view, found)}", help="the condition in assert(…) was false"
    )


def _stack(view: LaunchView, found: Found) -> Diagnostic:
    message = (
        f"the stack of {who(view, found)} is full: recursive calls nest deeper than its {STACK_BYTES >> 10} KiB take"
    )
    return told(
        view, found, message, help="does the recursion end for every thread? Local arrays of the function lie there too"
    )


def _zero_divisor(view: LaunchView, found: Found) -> Diagnostic:
    others = f"; so do {found.count - 1} more divisions here" if found.count > 1 else ""
    message = f"{who(view, found)} divides an integer by zero{others}"
    help = "the result is undefined, and no GPU traps on it: guard the division, or give the divisor a value that is never 0"
    return told(view, found, message, help=help)


SYNC = {
    "synccheck.divergent": _divergent,
    "synccheck.exited-threads": _exited,
    "synccheck.mask": _mask,
    "shuffle.inactive-source": _inactive,
    "synccheck.barrier-operands": _operands,
    "deadlock.barrier": _deadlock,
    "livelock.intra-warp-lock": _lock,
    "livelock.spin": _spin,
    "runtime.trap": _trap,
    "runtime.assert": _assert,
    "runtime.stack": _stack,
    "runtime.division-by-zero": _zero_divisor,
}
