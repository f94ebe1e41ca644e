"""Words for racecheck: the two accesses, what is missing between them, and how to order them."""

from __future__ import annotations

from dataclasses import replace

from simt.diagnostics import Diagnostic
from simt.engine.messages_memory import named_block, told, who
from simt.engine.view import Found, LaunchView

__all__ = ["RACES", "early_read"]


def _array(view: LaunchView, found: Found) -> str:
    array = view.shared_at(found.address)
    return f"`{array.name}`" if array else "shared memory"


def _at(view: LaunchView, site: int) -> str:
    line = view.line(site)
    return f"line {line}" if line else "an unknown line"


def _raw(view: LaunchView, found: Found) -> Diagnostic:
    here, there = _at(view, found.site), _at(view, found.also_site)
    message = (
        f"race on {_array(view, found)} in shared memory: {who(view, found)} reads it at {here} after another warp wrote it "
        f"at {there}, with no barrier in between"
    )
    return told(view, found, message, help=f"put __syncthreads() after {there}, before the value is read")


def early_read(view: LaunchView, found: Found) -> Diagnostic:
    """A write that came after another warp's read although the program writes first: the read did not wait for it."""
    here, there = _at(view, found.also_site), _at(view, found.site)
    message = (
        f"race on {_array(view, found)} in shared memory: a thread of another warp may read it at {here} before "
        f"{who(view, found)} has written it at {there}, with no barrier in between"
    )
    turned = replace(found, check="racecheck.shared.RAW", site=found.also_site, also_site=found.site)
    return told(view, turned, message, help=f"put __syncthreads() after {there}, before the value is read")


def _war(view: LaunchView, found: Found) -> Diagnostic:
    here, there = view.line(found.site), view.line(found.also_site)
    loops = here is not None and there is not None and here <= there
    when = "in the next iteration, " if loops else ""
    message = (
        f"race on {_array(view, found)} in shared memory: {when}{who(view, found)} overwrites it at "
        f"{_at(view, found.site)} while another warp may still read it at {_at(view, found.also_site)}"
    )
    where = "at the end of the loop body, before the next iteration stores again" if loops else "between the two"
    return told(view, found, message, help=f"put __syncthreads() {where}")


def _waw(view: LaunchView, found: Found) -> Diagnostic:
    message = (
        f"race on {_array(view, found)} in shared memory: {who(view, found)} writes another value at "
        f"{_at(view, found.site)} than a thread of another warp at {_at(view, found.also_site)}, with no barrier in between"
    )
    return told(view, found, message, help="let one thread write it, or put __syncthreads() between the two writes")


def _store_atomic(view: LaunchView, found: Found) -> Diagnostic:
    message = (
        f"race on {_array(view, found)} in shared memory: the atomic at {_at(view, found.site)} may run before or after "
        f"another warp's plain store at {_at(view, found.also_site)}, and then updates are lost"
    )
    help = f"put __syncthreads() after {_at(view, found.also_site)}: first everybody stores, then everybody updates"
    return told(view, found, message, help=help)


def _intra_warp(view: LaunchView, found: Found) -> Diagnostic:
    message = (
        f"race inside a warp: lanes exchange {_array(view, found)} without __syncwarp(), {who(view, found)} at "
        f"{_at(view, found.site)} relies on another lane having finished {_at(view, found.also_site)}"
    )
    help = (
        "since Volta the lanes of a warp need not run in step, so right values here are luck: put __syncwarp() between "
        "the accesses, or use __shfl_down_sync"
    )
    return told(view, found, message, help=help)


def _element(view: LaunchView, found: Found) -> tuple[str, str]:
    """(`sum`, `sum[0]`)."""
    buffer = view.buffer_at(found.address)
    return (buffer.name, buffer.element(found.address)) if buffer else ("memory", f"address {found.address:#x}")


def _other(view: LaunchView, found: Found) -> str:
    return f"warp {found.high} of {named_block(view, found.low)}"


def _rmw(view: LaunchView, found: Found) -> Diagnostic:
    name, element = _element(view, found)
    alike = (found.low, found.high) == (found.block, found.warp)
    others = "the other lanes of its warp" if alike else _other(view, found)
    message = (
        f"race on `{name}`: several threads read {element}, change it and write it back at {_at(view, found.also_site)}; "
        f"{who(view, found)} and {others} do so in any order, and updates get lost"
    )
    help = f"use atomicAdd(&{element}, …), or add up inside each block first and let one thread per block add its part"
    return told(view, found, message, help=help)


def _rw(view: LaunchView, found: Found) -> Diagnostic:
    name, element = _element(view, found)
    message = (
        f"race on `{name}`: {element} is read at {_at(view, found.site)} and written at {_at(view, found.also_site)} by "
        f"different threads of one launch ({who(view, found)}, {_other(view, found)}), and nothing orders them"
    )
    help = "write to a second array, or split the kernel in two launches: only a launch's end orders all its blocks"
    return told(view, found, message, help=help)


def _ww(view: LaunchView, found: Found) -> Diagnostic:
    name, element = _element(view, found)
    message = (
        f"race on `{name}`: {who(view, found)} and {_other(view, found)} write different values to {element} "
        f"({_at(view, found.site)}, {_at(view, found.also_site)}); which one stays depends on timing"
    )
    return told(view, found, message, help="give every thread its own element, or combine the values with an atomic")


def _atomic_read(view: LaunchView, found: Found) -> Diagnostic:
    name, element = _element(view, found)
    message = (
        f"race on `{name}`: {element} is accessed at {_at(view, found.site)} while other blocks or warps may still "
        f"update it atomically at {_at(view, found.also_site)}"
    )
    help = (
        "__threadfence() orders one thread's memory accesses, it does not wait for other blocks: use the total in a second "
        "kernel, in the block that finishes last (an atomic ticket), or after a cooperative grid-wide sync"
    )
    return told(view, found, message, help=help)


RACES = {
    "racecheck.shared.RAW": _raw,
    "racecheck.shared.WAR": _war,
    "racecheck.shared.WAW": _waw,
    "racecheck.shared.store-vs-atomic": _store_atomic,
    "racecheck.shared.intra-warp": _intra_warp,
    "racecheck.global.RMW": _rmw,
    "racecheck.global.RW": _rw,
    "racecheck.global.WW": _ww,
    "racecheck.global.atomic-vs-read": _atomic_read,
}
