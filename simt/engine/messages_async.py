"""Words for asynchronous copies that are touched before they landed."""

from __future__ import annotations

from simt.diagnostics import Diagnostic
from simt.engine.flying import Why
from simt.engine.messages_memory import told, who
from simt.engine.messages_wgmma import overwritten_operand
from simt.engine.view import Found, LaunchView

__all__ = ["ASYNC"]

_NO_WAIT = (
    "every thread that copies waits first, with cp.async.wait_group 0 (`__pipeline_wait_prior(0)`), and then __syncthreads() "
    "lets the others see the bytes: the barrier alone does not wait for copies"
)


def _place(view: LaunchView, found: Found) -> str:
    array = view.shared_at(found.address)
    return f"`{array.name}` (byte {found.address - array.offset})" if array else f"shared byte {found.address}"


def _copy(view: LaunchView, found: Found) -> str:
    line = view.line(found.also_site)
    return "the cp.async" + (f" of line {line}" if line else "")


def _read(view: LaunchView, found: Found) -> Diagnostic:
    message = f"{who(view, found)} reads {_place(view, found)} while {_copy(view, found)} that fills it is still in flight: "
    if found.low == Why.BULK:
        message += "nobody waited at its mbarrier"
        return told(view, found, message, help="wait with mbarrier.try_wait until the phase is over, then read")
    if found.low == Why.WAIT_BEFORE_COMMIT:
        message += "its thread waited before it committed the copy, so that wait_group did not cover it"
        help = "commit first (cp.async.commit_group, `__pipeline_commit()`), then wait"
    elif found.low == Why.WAIT_LEFT_IT:
        message += f"the last wait_group {found.high} lets the {found.high} newest groups go on, and this copy is in one of them"
        help = (
            f"wait with a smaller number, as in cp.async.wait_group {max(found.high - 1, 0)}: it is how many of the latest "
            "commits may still be in flight; commit an empty group where there is nothing left to copy"
        )
    else:
        message += "no cp.async.wait_group stands between"
        help = _NO_WAIT
    return told(view, found, message, help=help)


def _uncommitted(view: LaunchView, found: Found) -> Diagnostic:
    message = (
        f"{who(view, found)} reads {_place(view, found)}, but {_copy(view, found)} that fills it was never committed: without "
        "commit_group it is in no group that the wait covers"
    )
    help = "put cp.async.commit_group (`__pipeline_commit()`) between the copies and the wait, or use cp.async.wait_all"
    return told(view, found, message, help=help)


def _overwritten(view: LaunchView, found: Found) -> Diagnostic:
    if found.low == Why.PRODUCT:
        return overwritten_operand(view, found)
    message = (
        f"{who(view, found)} stores to {_place(view, found)} while {_copy(view, found)} that fills it is still in flight: either "
        "may come last"
    )
    help = "wait for the copy (cp.async.wait_group) before its buffer is used for anything else, or copy into another stage"
    return told(view, found, message, help=help)


ASYNC = {
    "asynccheck.read-before-wait": _read,
    "asynccheck.uncommitted": _uncommitted,
    "asynccheck.overwritten": _overwritten,
}
