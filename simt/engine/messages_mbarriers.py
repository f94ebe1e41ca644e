"""Words for mbarriers that nobody completes, or that are used against their rules."""

from __future__ import annotations

from simt.diagnostics import Diagnostic
from simt.engine.mbarriers import Misuse
from simt.engine.messages_memory import told, who
from simt.engine.view import Found, LaunchView

__all__ = ["MBARRIERS"]

LOW = (1 << 32) - 1


def _name(view: LaunchView, offset: int) -> str:
    array = view.shared_at(offset)
    if array is None:
        return f"the mbarrier at shared byte {offset}"
    index = (offset - array.offset) // 8
    return f"the mbarrier `{array.name}`" if array.n_bytes <= 8 else f"the mbarrier `{array.name}[{index}]`"


def _waiting(view: LaunchView, found: Found) -> str:
    line = view.line(found.site)
    at = f" (line {line})" if line else ""
    return f"{found.high & LOW} threads wait{at} for phase {found.high >> 32} of {_name(view, found.address)}"


def _bytes(view: LaunchView, found: Found) -> Diagnostic:
    announced, came = found.low >> 32, found.low & LOW
    message = (
        f"deadlock: {_waiting(view, found)}; all its arrivals came, but expect_tx announced {announced} bytes and {came} came: "
        f"{announced - came} are missing and no copy is in flight"
    )
    help = "let expect_tx announce exactly the bytes that the copies of this phase move, all of them together"
    return told(view, found, message, help=help)


def _arrivals(view: LaunchView, found: Found) -> Diagnostic:
    expected, pending = found.low >> 32, found.low & LOW
    came = expected - pending
    message = (
        f"deadlock: {_waiting(view, found)}; it was initialised for {expected} arrivals, {came} came in this phase and {pending} "
        "are missing"
    )
    help = "initialise it with the number of threads that arrive in each phase, or let every counted thread arrive"
    if came == 0 and found.high >> 32:
        help = (
            f"phase {(found.high >> 32) - 1} is over and nobody arrived since: does the parity of the wait match? It starts at 0 "
            "and flips after every phase"
        )
    return told(view, found, message, help=help)


def _misuse(view: LaunchView, found: Found) -> Diagnostic:
    if found.low == Misuse.NOT_DRAINED:
        message = f"{who(view, found)} stores shared memory with a bulk copy that nobody waited for before the block ended"
        help = "commit it and wait with cp.async.bulk.wait_group 0: shared memory must stay until the copy has read it"
    elif found.low == Misuse.TOO_MANY:
        message = f"{who(view, found)} arrives at {_name(view, found.address)} more often than its {found.high} arrivals a phase"
        help = "initialise it with the number of arrivals of one phase, and wait for the phase before arriving again"
    else:
        message = f"{who(view, found)} uses {_name(view, found.address)}, which is not initialised"
        help = "one thread runs mbarrier.init, then fence.mbarrier_init and __syncthreads() before anybody uses it"
    return told(view, found, message, help=help)


MBARRIERS = {
    "deadlock.mbarrier-tx": _bytes,
    "deadlock.mbarrier-arrivals": _arrivals,
    "asynccheck.misuse": _misuse,
}
