"""Words for wgmma: registers and shared memory touched in flight, missing fences, less than a warpgroup."""

from __future__ import annotations

from simt.diagnostics import Diagnostic
from simt.engine.messages_memory import MEMORY, more, told, who
from simt.engine.view import Found, LaunchView
from simt.engine.wgmma_rules import FenceReason

__all__ = ["WGMMA", "overwritten_operand", "past_shared"]


def _at(view: LaunchView, site: int) -> str:
    line = view.line(site)
    return f" of line {line}" if line else ""


def _registers(view: LaunchView, found: Found) -> Diagnostic:
    verb = "writes" if found.low else "reads"
    what = "a register of its operand A" if found.high else "its accumulators"
    message = (
        f"{who(view, found)} {verb} registers while the wgmma{_at(view, found.also_site)} that uses them is in flight: "
    )
    if found.address:
        message += f"no wgmma.wait_group waited for the group of {what}"
        help = (
            "wait with wgmma.wait_group.sync.aligned 0 before the registers are used for anything but further products"
        )
    else:
        message += f"{what} belong to no group yet, since no wgmma.commit_group came after the product"
        help = "commit with wgmma.commit_group.sync.aligned, then wait with wgmma.wait_group.sync.aligned 0"
    return told(view, found, message, help=help)


def _fence(view: LaunchView, found: Found) -> Diagnostic:
    if found.low == FenceReason.NEVER:
        message = f"{who(view, found)} starts a wgmma, and the warp has not passed any wgmma.fence"
    else:
        message = f"{who(view, found)} starts a wgmma on registers that were written after the latest wgmma.fence"
    help = (
        "put wgmma.fence.sync.aligned between what writes accumulators or fragments of A and the first wgmma that uses them: it "
        "orders the two"
    )
    return told(view, found, message, help=help)


def _warpgroup(view: LaunchView, found: Found) -> Diagnostic:
    name = view.sites[found.site].opcode.partition(".")[0]
    if found.low:
        message = (
            f"{name} is one operation of a warpgroup, four whole warps from a multiple of 4 on, but warp {found.warp} is in a "
            f"group that a block of {found.low} threads does not fill"
        )
        help = "make the block a multiple of 128 threads"
    else:
        message = (
            f"wgmma is one operation of a warpgroup, but warp {found.warp} issued more of them than warp {found.high - 1} of "
            "the same four warps"
        )
        help = "let all four warps of a group take the same path: branch on threadIdx.x / 128"
    return told(view, found, message, help=help)


def overwritten_operand(view: LaunchView, found: Found) -> Diagnostic:
    """Shared memory that changes under a product in flight."""
    array = view.shared_at(found.address)
    place = f"`{array.name}` (byte {found.address - array.offset})" if array else f"shared byte {found.address}"
    message = (
        f"{who(view, found)} writes to {place} while the wgmma{_at(view, found.also_site)} that reads it is in flight"
    )
    help = (
        "wait for the product's group (wgmma.wait_group) before its tile is filled again, in every warp, then meet at a barrier; "
        "or fill another stage"
    )
    return told(view, found, message, help=help)


def past_shared(view: LaunchView, found: Found) -> Diagnostic:
    """A descriptor that leads out of shared memory; other instructions are told as other loads."""
    if not view.sites[found.site].opcode.startswith("wgmma"):
        return MEMORY[found.check](view, found)
    message = (
        f"out of bounds: a matrix descriptor of the wgmma{_at(view, found.site)} leads to shared bytes {found.low} to "
        f"{found.high - 1}, past the block's {view.shared_bytes}"
    )
    help = (
        "check the descriptor: the start address in bits 0-13 and the leading and stride byte offsets in bits 16-29 and 32-45 "
        "are in units of 16 bytes"
    )
    return told(view, found, message + more(found), help=help)


WGMMA = {
    "asynccheck.wgmma-registers": _registers, "asynccheck.wgmma-fence": _fence, "synccheck.warpgroup": _warpgroup,
}  # fmt: skip
