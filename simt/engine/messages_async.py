"""Words for asynchronous copies that are touched before they landed."""

from __future__ import annotations

from simt.diagnostics import Diagnostic
from simt.engine.flying import BULK_MARK, SOURCE_MARK, Why
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
    kind = "the cp.async"
    if found.high & BULK_MARK:
        kind = "the bulk store" if found.high & SOURCE_MARK else "the bulk load"
    return kind + (f" of line {line}" if line else "")


# What bulk loads and stores are waited for with.
_BULK_WAITS = {
    Why.BULK: (
        "nobody waited at its mbarrier since",
        "let every thread that reads wait with mbarrier.try_wait until the phase is over, then read",
    ),
    Why.UNSEEN: (
        "other warps waited at its mbarrier, this one neither did nor met them at a barrier since",
        "let every warp that reads wait at the mbarrier itself, or put __syncthreads() between one's wait and the reads",
    ),
}


def _bulk_read(view: LaunchView, found: Found, message: str) -> Diagnostic:
    if found.low == Why.WRONG_PHASE:
        parity = found.high & 1
        message += (
            f"the wait at its mbarrier asked for parity {parity}, and that phase was over before the copy began: "
            "it did not wait"
        )
        help = f"wait for parity {1 - parity} here: the first phase of an mbarrier has parity 0, and it flips with each phase"
        return told(view, found, message, help=help)
    words, help = _BULK_WAITS[Why(found.low)]
    return told(view, found, message + words, help=help)


def _read(view: LaunchView, found: Found) -> Diagnostic:
    message = (
        f"{who(view, found)} reads {_place(view, found)} while {_copy(view, found)} that fills it is still in flight: "
    )
    if found.high & BULK_MARK:
        return _bulk_read(view, found, message)
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
    if found.high & SOURCE_MARK:
        return _rewritten(view, found)
    message = (
        f"{who(view, found)} stores to {_place(view, found)} while {_copy(view, found)} that fills it is still in flight: either "
        "may come last"
    )
    help = "wait for the copy (cp.async.wait_group) before its buffer is used for anything else, or copy into another stage"
    if found.high & BULK_MARK:
        help = "wait at the copy's mbarrier before its buffer is used for anything else, or copy into another stage"
    return told(view, found, message, help=help)


def _rewritten(view: LaunchView, found: Found) -> Diagnostic:
    """A buffer that a bulk store has not read yet."""
    left = found.high & (BULK_MARK - 1)
    why = {
        Why.NO_WAIT: "no cp.async.bulk.wait_group stands between",
        Why.NO_COMMIT: "it was never committed, so that no wait_group covers it",
        Why.WAIT_BEFORE_COMMIT: "its thread waited before it committed the store",
        Why.WAIT_LEFT_IT: f"the last wait_group {left} lets the {left} newest groups go on, and this store is in one of them",
    }[Why(found.low)]
    message = f"{who(view, found)} writes {_place(view, found)}, which {_copy(view, found)} is still to read: {why}"
    help = (
        f"drain the store first: its thread commits it and runs cp.async.bulk.wait_group.read {max(left - 1, 0)}, then "
        "__syncthreads() lets the others write"
    )
    return told(view, found, message, help=help)


def _fence(view: LaunchView, found: Found) -> Diagnostic:
    message = (
        f"{who(view, found)} lets a bulk copy or a product read {_place(view, found)}, which warp {found.low} wrote by an "
        "ordinary store, and no fence.proxy.async stands between: they go another way to memory and may miss the write"
    )
    help = (
        "after their stores the threads run fence.proxy.async.shared::cta "
        "(`cuda::ptx::fence_proxy_async(cuda::ptx::space_shared)`), then __syncthreads(), then one of them starts the copy"
    )
    return told(view, found, message, help=help)


ASYNC = {
    "asynccheck.read-before-wait": _read,
    "asynccheck.uncommitted": _uncommitted,
    "asynccheck.overwritten": _overwritten,
    "asynccheck.proxy-fence": _fence,
}
