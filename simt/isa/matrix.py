"""Matrix operations of a whole warp: ldmatrix stmatrix movmatrix. The engine carries them out."""

from __future__ import annotations

from simt.isa.op import Op, Role

__all__ = ["ROWS"]

_SECTION = "Warp Level Matrix Multiply-Accumulate Instructions: "
_SHARED = "{.shared,.shared::cta}"

ROWS = (
    Op("ldmatrix", (f"ldmatrix.sync.aligned.m8n8.{{x1,x2,x4}}{{.trans}}{_SHARED}.b16",), role=Role.MATRIX,
       since=("6.5", 75), section=_SECTION + "ldmatrix"),
    Op("stmatrix", (f"stmatrix.sync.aligned.m8n8.{{x1,x2,x4}}{{.trans}}{_SHARED}.b16",), role=Role.MATRIX,
       since=("7.8", 90), section=_SECTION + "stmatrix"),
    Op("movmatrix", ("movmatrix.sync.aligned.m8n8.trans.b16",), role=Role.MATRIX, since=("7.8", 75),
       section=_SECTION + "movmatrix"),
)
