"""Words for what matrix instructions of a whole warp ask for: aligned rows, all lanes present."""

from __future__ import annotations

from simt.diagnostics import Diagnostic
from simt.engine.matrix import IS_RULE
from simt.engine.messages_memory import more, told, who
from simt.engine.messages_sync import lanes_in_words
from simt.engine.messages_wgmma import past_shared
from simt.engine.view import Found, LaunchView
from simt.isa.fragments import ELEMENT_BYTES

__all__ = ["MATRIX", "is_matrix"]

_NAMES = ("ldmatrix", "stmatrix", "movmatrix", "mma", "wmma", "wgmma", "setmaxnreg")
ROW_BYTES = 16
POINTER_BYTES = 32


def is_matrix(view: LaunchView, site: int) -> bool:
    """Whether the instruction of a site works on matrices."""
    return view.sites[site].opcode.partition(".")[0] in _NAMES


def short_name(opcode: str) -> str:
    """`ldmatrix`, `mma`, `wmma.load.a`: an opcode up to `.sync`."""
    return opcode.partition(".sync")[0]


def misaligned_matrix(view: LaunchView, found: Found) -> Diagnostic:
    if found.high & IS_RULE:
        return _misaligned_fragment(view, found)
    lane = found.lane_numbers[0] if found.lanes else 0
    array = view.shared_at(found.address)
    name = f" of `{array.name}`" if array else ""
    start = found.address - (array.offset if array else 0)
    message = (
        f"misaligned: row {lane % 8} of matrix {lane // 8}, whose address lane {lane} gives to "
        f"{short_name(view.sites[found.site].opcode)}, starts at byte {start}{name}: {found.address % ROW_BYTES} past a "
        f"multiple of {ROW_BYTES}"
    )
    help = (
        f"each row of 8 elements must start at a multiple of {ROW_BYTES} bytes: make the pitch of the shared array a multiple "
        "of 8 16-bit elements, and align the array with __align__(16)"
    )
    return told(view, found, message + more(found), help=help)


def _misaligned_fragment(view: LaunchView, found: Found) -> Diagnostic:
    runs, buffer = found.high & ~IS_RULE, view.buffer_at(found.address)
    name = short_name(view.sites[found.site].opcode)
    if runs % ROW_BYTES:
        what = f"a leading dimension of {_elements(view, found, runs)}, {runs % ROW_BYTES} bytes past a multiple of {ROW_BYTES}"
    else:
        where = f" at {buffer.element(found.address)}" if buffer else ""
        what = f"a pointer{where}, {found.address % POINTER_BYTES} bytes past a multiple of {POINTER_BYTES} bytes"
    help = (
        "the pointer of load_matrix_sync and store_matrix_sync must be aligned to 256 bits, and its leading dimension a multiple "
        "of 16 bytes (8 halves, 4 floats): start tiles at multiples of 16 elements and pad rows by 8 halves or 4 floats"
    )
    return told(view, found, f"misaligned: {who(view, found)} gives {name} {what}{more(found)}", help=help)


def _elements(view: LaunchView, found: Found, n_bytes: int) -> str:
    type_ = view.sites[found.site].opcode.rpartition(".")[2]
    return f"{n_bytes // ELEMENT_BYTES.get(type_, 1)} elements of {type_}"


def missing_lanes(view: LaunchView, found: Found) -> Diagnostic:
    name = short_name(view.sites[found.site].opcode)
    message = (
        f"{name} is one operation of all 32 lanes, but {lanes_in_words(found.lane_numbers)} of warp {found.warp} take no part "
        f"({who(view, found)} is the first)"
    )
    help = "let whole warps come by: move it out of the branch, and make the block a multiple of 32 threads"
    return told(view, found, message, help=help)


MATRIX = {
    "memcheck.misaligned": misaligned_matrix, "synccheck.mask": missing_lanes, "memcheck.shared.read-oob": past_shared,
}  # fmt: skip
