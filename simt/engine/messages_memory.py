"""Words for memcheck and initcheck: which element, how far outside, which thread."""

from __future__ import annotations

import re

from simt.diagnostics import Diagnostic, diagnose
from simt.engine.state import RANK_UNIT, WINDOW_BYTES
from simt.engine.view import BufferView, Found, LaunchView

__all__ = ["MEMORY"]

_DIFFERENCE = re.compile(r"[\w\])]\s*-(?![>=])|-=")
_PRODUCT = re.compile(r"\b([A-Za-z_][\w.]*)\s*\*\s*([A-Za-z_][\w.]*)")
# A type before the star of a pointer, or the position of a block, which stays far below 2³¹.
_NO_FACTOR = re.compile(
    r"(const|void|bool|(unsigned|signed|char|short|int|long|float|double|__half|half)\d?|\w+_t)$"
    r"|(blockIdx|blockDim|gridDim|threadIdx)\b"
)


def named_block(view: LaunchView, linear: int) -> str:
    """`block (3,0,0)`."""
    return f"block ({','.join(map(str, view.block_of(linear)))})"


def who(view: LaunchView, found: Found) -> str:
    """`thread (232,0,0) of block (3,0,0)`."""
    lane = found.lane_numbers[0] if found.lanes else 0
    thread = ",".join(map(str, view.thread_of(found.warp, lane)))
    return f"thread ({thread}) of {named_block(view, found.block)}"


def at_line(view: LaunchView, site: int) -> str:
    """` (line 12)`, or nothing where the site has no line."""
    line = view.line(site)
    return f" (line {line})" if line else ""


def told(view: LaunchView, found: Found, message: str, **fields) -> Diagnostic:
    """The diagnostic with line, block, lanes and warp of the finding."""
    return diagnose(
        found.check, message, line=view.line(found.site), also_line=view.line(found.also_site),
        block=view.block_of(found.block), lanes=found.lane_numbers, warp=found.warp, address=found.address or None,
        **fields,
    )  # fmt: skip


def more(found: Found) -> str:
    """How many accesses besides the first one named."""
    others = found.count - 1
    return f"; {others} more access{'es' if others > 1 else ''} here did the same" if others else ""


def _distance(buffer: BufferView, address: int, n_bytes: int) -> str:
    if address < buffer.base:
        return f"{buffer.base - address} bytes before the start of {buffer.sized}"
    return f"{address + n_bytes - buffer.base - buffer.n_bytes} bytes past the end of {buffer.sized}"


def _global(view: LaunchView, found: Found) -> Diagnostic:
    site, buffer = view.sites[found.site], view.buffer_at(found.address)
    if buffer is None:
        message = f"{who(view, found)} {site.verb} out of bounds at address {found.address:#x}, in no buffer at all"
        help = _wraps(view, found) or "check how the pointer and the index are computed"
        return told(view, found, message + more(found), help=help)
    message = (
        f"{who(view, found)} {site.verb} {buffer.element(found.address)} out of bounds, "
        f"{_distance(buffer, found.address, site.n_bytes)}"
    )
    return told(view, found, message + more(found), help=_bounds_help(view, found, buffer))


def _bounds_help(view: LaunchView, found: Found, buffer: BufferView) -> str:
    n, name = buffer.n_elements, next((name for name, value in view.scalars if value == buffer.n_elements), "n")
    if found.address < buffer.base:
        return _wraps(view, found) or _negative(view, found)
    if view.n_threads > n:
        elements = "1 element" if n == 1 else f"{n} elements"
        return f"{view.n_threads} threads were launched for {elements}; guard the access with `if (i < {name})`"
    return f"the last valid element is {buffer.name}[{n - 1}]: compare each index of the expression with its extent"


def _wraps(view: LaunchView, found: Found) -> str:
    """Help for an index made of a product and of no difference: its 32 bits are the likeliest fault; "" for another."""
    text = view.computed_at(found.site)
    product = next((p for p in _PRODUCT.finditer(text) if not _NO_FACTOR.match(p[1])), None)
    if product is None or _DIFFERENCE.search(text):
        return ""
    return (
        f"can {product[1]} * {product[2]} pass 2147483647? A 32-bit product then wraps around to a negative index: compute "
        f"it in 64 bits, (long long){product[1]} * {product[2]}"
    )


def _negative(view: LaunchView, found: Found) -> str:
    subtracts = _DIFFERENCE.search(view.computed_at(found.site))
    return "the index is negative here: guard the first element" + (
        ", or check the subtraction (unsigned values wrap)"
        if subtracts
        else ", or check the sign of what the index is made of"
    )


def _shared(view: LaunchView, found: Found) -> Diagnostic:
    site, array = view.sites[found.site], view.shared_at(found.address)
    verb = {"reads": "reads", "writes": "writes"}.get(site.verb, "updates")
    if found.address % WINDOW_BYTES >= RANK_UNIT:
        return _peer(view, found, verb)
    if array is not None and array.dynamic and found.address >= view.shared_bytes:
        return _dynamic(view, found, verb, array.name, array.offset)
    name = f"the {array.n_bytes}-byte shared array `{array.name}`" if array else "shared memory"
    start = array.offset if array else 0
    message = (
        f"{who(view, found)} {verb} shared memory out of bounds: byte {found.address - start} of {name}; "
        f"the block has {view.shared_bytes} bytes"
    )
    block = ",".join(map(str, view.block))
    return told(
        view, found, message + more(found), help=f"does the block ({block}) match the array's size in the source?"
    )


def _peer(view: LaunchView, found: Found, verb: str) -> Diagnostic:
    """An address that names a block of the cluster."""
    rank, offset = divmod(found.address % WINDOW_BYTES, RANK_UNIT)
    opcode = view.sites[found.site].opcode
    message = f"{who(view, found)} {verb} byte {offset} of the shared memory of block {rank - 1} of its cluster: "
    if offset >= view.shared_bytes:
        why, help = f"a block has {view.shared_bytes} bytes", "compare the index with the array's length"
    elif "shared" in opcode and "shared::cluster" not in opcode:
        why, help = (
            f"`{opcode}` reaches the block's own only",
            "use ld.shared::cluster and the like, or a generic address",
        )
    else:
        why, help = "the cluster has no such block", "ranks run from 0 to cluster.num_blocks() - 1"
    return told(view, found, message + why + more(found), help=help)


def _dynamic(view: LaunchView, found: Found, verb: str, name: str, start: int) -> Diagnostic:
    given, wanted = max(view.shared_bytes - start, 0), found.high - start
    message = (
        f"{who(view, found)} {verb} byte {found.address - start} of `{name}`, but the launch gave {given} bytes of "
        "dynamic shared memory"
    )
    help = (
        f"`extern __shared__` is sized by the launch: pass its bytes, here shared_mem={wanted} (shared_bytes={wanted})"
    )
    return told(view, found, message + more(found), help=help)


def _local(view: LaunchView, found: Found) -> Diagnostic:
    message = (
        f"{who(view, found)} goes to byte {found.address} of its local memory, which has {view.local_bytes} bytes: "
        "an index outside a local array"
    )
    return told(view, found, message + more(found), help="compare the index with the array's length")


def _misaligned(view: LaunchView, found: Found) -> Diagnostic:
    site, buffer = view.sites[found.site], view.buffer_at(found.address)
    name = f" at `{buffer.name}` + {found.address - buffer.base} bytes" if buffer else ""
    message = (
        f"misaligned: {who(view, found)} {site.verb} {site.n_bytes} bytes at once{name}, "
        f"but the address is {found.address % site.n_bytes} past a multiple of {site.n_bytes}"
    )
    help = (
        f"a {site.n_bytes}-byte access must start at a multiple of {site.n_bytes}: start the vector type at an aligned "
        "element, or access element by element"
    )
    return told(view, found, message + more(found), help=help)


def _const(view: LaunchView, found: Found) -> Diagnostic:
    buffer = view.buffer_at(found.address)
    name = f", {_distance(buffer, found.address, view.sites[found.site].n_bytes)}" if buffer else ""
    return told(view, found, f"{who(view, found)} reads constant memory out of bounds{name}" + more(found))


def _readonly(view: LaunchView, found: Found) -> Diagnostic:
    buffer = view.buffer_at(found.address)
    name = f"`{buffer.name}`" if buffer else "memory"
    message = f"{who(view, found)} writes {name}, which the kernel may only read"
    return told(view, found, message + more(found), help="constants and parameters can't be written by a kernel")


def _null(view: LaunchView, found: Found) -> Diagnostic:
    message = f"{who(view, found)} {view.sites[found.site].verb} through a null pointer (address {found.address:#x})"
    return told(view, found, message + more(found), help="pass an array for this pointer, or test it before use")


def _uninitialised(view: LaunchView, found: Found) -> Diagnostic:
    buffer = view.buffer_at(found.address)
    name = buffer.element(found.address) if buffer else f"address {found.address:#x}"
    owner = f"`{buffer.name}`" if buffer else "the buffer"
    message = f"{who(view, found)} reads {name}, which is uninitialised: nothing was written to {owner} there before"
    help = "set the value first, or pass a buffer that holds zeros: memory from `empty` holds whatever was there"
    return told(view, found, message + more(found), help=help)


def _unset_shared(view: LaunchView, found: Found) -> Diagnostic:
    array = view.shared_at(found.address)
    name = f"`{array.name}` (byte {found.address - array.offset})" if array else f"shared byte {found.address}"
    message = (
        f"{who(view, found)} reads {name} in shared memory, which is uninitialised: no thread of the block wrote it"
    )
    help = "shared memory starts with arbitrary bytes: let the threads fill it, then __syncthreads(), then read"
    return told(view, found, message + more(found), help=help)


def _unset_local(view: LaunchView, found: Found) -> Diagnostic:
    message = f"{who(view, found)} reads an element of a local array that is uninitialised"
    return told(view, found, message + more(found), help="give the array a value first: `float a[8] = {};`")


def _register(view: LaunchView, found: Found) -> Diagnostic:
    message = f"{who(view, found)} uses a variable here that is uninitialised: nothing was assigned to it before"
    return told(view, found, message + more(found), help="start it with a value, as in `float acc = 0.0f;`")


MEMORY = {
    "memcheck.global.read-oob": _global,
    "memcheck.global.write-oob": _global,
    "memcheck.atomic-oob": _global,
    "memcheck.shared.read-oob": _shared,
    "memcheck.shared.write-oob": _shared,
    "memcheck.local.oob": _local,
    "memcheck.misaligned": _misaligned,
    "memcheck.const.oob": _const,
    "memcheck.readonly": _readonly,
    "memcheck.null": _null,
    "initcheck.global": _uninitialised,
    "initcheck.shared": _unset_shared,
    "initcheck.local": _unset_local,
    "initcheck.register": _register,
}
