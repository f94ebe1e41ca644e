from __future__ import annotations
from simt.engine.native import native
from simt.engine.records import Ptr,i32,i64,void
from simt.engine.state import Block, Warp
RACE_WORD_BYTES=8
SHARED_RACE_WORD_BYTES=8
@native
def start_races(block: Ptr[Block], words: i64) -> void:
    pass
@native
def fence(warp: Ptr[Warp], wide: i32) -> void:
    pass
