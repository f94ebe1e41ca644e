"""What the lanes of a warp do together: shfl vote match activemask redux elect. The engine carries them out."""

from __future__ import annotations

from simt.isa.op import Op, Role

__all__ = ["ROWS"]

_MOVE = "Data Movement and Conversion Instructions: "
_SECTION = "Parallel Synchronization and Communication Instructions: "

ROWS = (
    Op("shfl", ("shfl.sync.{up,down,bfly,idx}.b32",), role=Role.WARP, since=("6.0", 30), section=_MOVE + "shfl.sync"),
    Op("vote", ("vote.sync.{all,any,uni}.pred", "vote.sync.ballot.b32"), role=Role.WARP, since=("6.0", 30),
       section=_SECTION + "vote.sync"),
    Op("match", ("match.{any,all}.sync.{b32,b64}",), role=Role.WARP, since=("6.0", 70),
       section=_SECTION + "match.sync"),
    Op("activemask", ("activemask.b32",), role=Role.WARP, since=("6.2", 30), section=_SECTION + "activemask"),
    Op("redux", ("redux.sync.{add,min,max}.{u32,s32}", "redux.sync.{and,or,xor}.b32"), role=Role.WARP,
       since=("7.0", 80), section=_SECTION + "redux.sync"),
    Op("elect", ("elect.sync",), role=Role.WARP, since=("8.0", 90), section=_SECTION + "elect.sync"),
)  # fmt: skip
