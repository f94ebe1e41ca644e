"""Words for clusters and grids whose blocks wait for one another."""

from __future__ import annotations

from simt.diagnostics import Diagnostic
from simt.engine.cluster_barrier import AGAIN
from simt.engine.messages_memory import at_line, named_block, told, who
from simt.engine.view import Found, LaunchView

__all__ = ["CLUSTERS"]


def _barrier(view: LaunchView, found: Found) -> Diagnostic:
    earlier = at_line(view, found.also_site)
    if found.low == AGAIN:
        message = f"{who(view, found)} arrives at the barrier of its cluster again, and has not waited since it arrived{earlier}"
        help = "arrive and wait take turns: put a barrier.cluster.wait between two arrivals, or use cluster.sync()"
    else:
        message = f"{who(view, found)} waits at the barrier of its cluster without having arrived"
        help = "a thread arrives first, barrier.cluster.arrive, and then waits; cluster.sync() does both"
    return told(view, found, message, help=help)


def _start(view: LaunchView, found: Found) -> Diagnostic:
    message = (
        f"{who(view, found)} uses shared memory of {named_block(view, found.low)} before the cluster met: that block may not "
        "have started"
    )
    return told(
        view, found, message, help="call cluster.sync() before the first access to another block's shared memory"
    )


def _exit(view: LaunchView, found: Found) -> Diagnostic:
    if found.high:
        message = (
            f"{named_block(view, found.low)} exits without waiting for {who(view, found)}, which uses its shared memory"
            f"{at_line(view, found.site)}"
        )
    else:
        over = f"{named_block(view, found.low)}, which has exited{at_line(view, found.also_site)}"
        message = f"{who(view, found)} uses shared memory of {over}"
    help = "end the kernel with cluster.sync(): no block may leave while others use its shared memory"
    return told(view, found, message, help=help)


def _deadlock(view: LaunchView, found: Found) -> Diagnostic:
    block, warp = found.low >> 32, found.low & 0xFFFFFFFF
    missing = "nobody is missing" if found.high else f"warp {warp} of {named_block(view, block)} has not arrived"
    elsewhere = f": it waits{at_line(view, found.also_site)}" if view.line(found.also_site) else ""
    where = at_line(view, found.site)
    message = f"deadlock: {who(view, found)} waits at the barrier of its cluster{where}, and {missing}{elsewhere}"
    return told(view, found, message, help="every thread of every block of the cluster must come by, equally often")


def _grid(view: LaunchView, found: Found) -> Diagnostic:
    message = (
        f"{who(view, found)} synchronises the grid{at_line(view, found.site)}, but the launch is not cooperative: its blocks "
        "need not be resident together, and the kernel traps"
    )
    help = (
        "launch with cudaLaunchCooperativeKernel (`cooperative = true`); an ordinary launch ends with cudaErrorLaunchFailure, "
        "unspecified launch failure"
    )
    return told(view, found, message, help=help)


CLUSTERS = {
    "synccheck.cluster-barrier": _barrier,
    "synccheck.cluster-start": _start,
    "synccheck.cluster-exit": _exit,
    "deadlock.cluster": _deadlock,
    "synccheck.grid": _grid,
}
