"""Words for mbarriers that nobody completes, or that are used against their rules."""

from __future__ import annotations

from simt.diagnostics import Diagnostic
from simt.engine.messages_memory import at_line, told, who
from simt.engine.misuse import Misuse
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
    where = at_line(view, found.site)
    return f"{found.high & LOW} threads wait{where} for phase {found.high >> 32} of {_name(view, found.address)}"


def _bytes(view: LaunchView, found: Found) -> Diagnostic:
    announced, came = found.low >> 32, found.low & LOW
    if came > announced:
        rest = f"{came - announced} too many: the phase does not end with bytes that nobody announced"
    else:
        rest = f"{announced - came} are missing and no copy is in flight"
    message = (
        f"deadlock: {_waiting(view, found)}; all its arrivals came, but expect_tx announced {announced} bytes and {came} came: "
        f"{rest}"
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


_MAP_HELP = "declare the parameter `const __grid_constant__ CUtensorMap map` and pass `&map` on"

# For each way to use an mbarrier, a bulk copy or a map against its rules, what its thread does and the next step. In braces
# stand the mbarrier's `name`, `high` and its upper word, its lower word as a `signed` number, and the elements in 16 bytes.
_MISUSES: dict[Misuse, tuple[str, str]] = {
    Misuse.NOT_INITIALISED: (
        "uses {name}, which is not initialised",
        "one thread runs mbarrier.init, then fence.mbarrier_init and __syncthreads() before anybody uses it",
    ),
    Misuse.INVALIDATED: (
        "uses {name} after mbarrier.inval ended it",
        "invalidate it after its last use, and behind a __syncthreads(), or initialise it again",
    ),
    Misuse.AGAIN: (
        "initialises {name}, which is in use already",
        "let one thread initialise it once, before the loop; mbarrier.inval ends its use",
    ),
    Misuse.TOO_MANY: (
        "arrives at {name} more often than its {high} arrivals a phase",
        "initialise it with the number of arrivals of one phase, and wait for the phase before arriving again",
    ),
    Misuse.COUNT_RANGE: (
        "initialises {name} for {high} arrivals",
        "a phase counts 1 to 1,048,575 arrivals (2^20 - 1)",
    ),
    Misuse.TX_RANGE: (
        "announces bytes at {name} until it waits for {high}",
        "a phase counts up to 1,048,575 bytes (2^20 - 1): announce less, in several phases",
    ),
    Misuse.NOT_DRAINED: (
        "stores shared memory with a bulk copy that nobody waited for before the block ended",
        "commit it and wait with cp.async.bulk.wait_group 0: shared memory must stay until the copy has read it",
    ),
    Misuse.NOT_LANDED: (
        "begins a bulk load that nobody waited for before the block ended: it fills memory that another block may have",
        "wait for the phase of its mbarrier, or don't begin the copy",
    ),
    Misuse.MAP_PLACE: (
        "gives a tile copy a tensor map in local or shared memory, where the hardware cannot read it",
        _MAP_HELP + "; without __grid_constant__ the compiler copies it to local memory",
    ),
    Misuse.NO_MAP: ("gives a tile copy 128 bytes that are no tensor map", _MAP_HELP),
    Misuse.MAP_RANK: (
        "uses a tensor map of {upper} dimensions in an instruction for {signed}",
        "take cp.async.bulk.tensor with as many dimensions, or make the map with as many",
    ),
    Misuse.MAP_REDUCE: (
        "reduces into a tensor whose elements do not take this operation",
        "add takes all but bytes and shorts, min and max no float or double, inc and dec uint32, and, or, xor integers",
    ),
    Misuse.MAP_START: (
        "begins a tile at element {signed} of {upper} bytes, so its rows begin at no multiple of 16 bytes",
        "the innermost coordinate is a multiple of {unit}; a GPU stops with an illegal instruction. Load a wider box from the"
        " multiple below, and skip what comes first",
    ),
    Misuse.MAP_BEFORE: (
        "stores a tile from {signed} on along dimension {upper} (0 is the innermost), before its tensor begins",
        "a tile may be loaded from there, and a stored one may end outside, but it begins inside; a GPU stops with an illegal"
        " instruction. Start at 0 with a tile of what lies inside, or write it with ordinary stores behind a guard",
    ),
    Misuse.NO_CLUSTER: (
        "copies {high} bytes from shared memory to shared memory with a bulk copy, in a launch without clusters",
        "a GPU stops with an illegal instruction: add __cluster_dims__(1, 1, 1), or `cluster` to the launch, or let the"
        " threads copy",
    ),
}


def _misuse(view: LaunchView, found: Found) -> Diagnostic:
    what = Misuse(found.low)
    says, help = _MISUSES[what]
    upper, lower = found.high >> 32, found.high & LOW
    if what is Misuse.NOT_DRAINED and not found.high:
        says += "; it was not even committed"
    words = {
        "name": _name(view, found.address),
        "high": found.high,
        "upper": upper,
        "signed": lower - (1 << 32) if lower >> 31 else lower,
        "unit": max(1, 16 // max(1, upper)),
    }
    return told(view, found, f"{who(view, found)} {says.format(**words)}", help=help.format(**words))


MBARRIERS = {
    "deadlock.mbarrier-tx": _bytes,
    "deadlock.mbarrier-arrivals": _arrivals,
    "asynccheck.misuse": _misuse,
}
