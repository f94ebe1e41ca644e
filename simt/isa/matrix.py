"""Matrix operations of a whole warp: ldmatrix stmatrix movmatrix mma wmma wgmma. The engine carries them out."""

from __future__ import annotations

from simt.isa.op import Op, Role

__all__ = ["ROWS"]

_SECTION = "Warp Level Matrix Multiply-Accumulate Instructions: "
_GROUP = "Asynchronous Warpgroup Level Matrix Multiply-Accumulate Instructions: "
_SHARED = "{.shared,.shared::cta}"
_MEMORY = "{.global,.shared,.shared::cta}"
_SHAPES = "{m16n16k16,m8n32k16,m32n8k16}"
_ORDER = "{row,col}"
_SUMS = "sums as an H200 forms them, bit for bit; other GPUs may keep other bits"

_EIGHTS = "{e4m3,e5m2}.{e4m3,e5m2}"
_COLUMNS = f"m64n{{{','.join(map(str, range(8, 257, 8)))}}}"  # of wgmma; the shapes of integers leave some out
_INTEGER_COLUMNS = f"m64n{{8,16,24,{','.join(map(str, range(32, 257, 16)))}}}"
_WGMMA = "wgmma.mma_async.sync.aligned."

_MMA = "mma.sync.aligned."
_LOAD, _STORE, _PRODUCT = "wmma.load.", "wmma.store.d.sync.aligned.", f"wmma.mma.sync.aligned.{_ORDER}.{_ORDER}."


def _loads(role: str, shape: str, types: str) -> str:
    return f"{_LOAD}{role}.sync.aligned.{_ORDER}.{shape}{_MEMORY}.{types}"


ROWS = (
    Op("ldmatrix", (f"ldmatrix.sync.aligned.m8n8.{{x1,x2,x4}}{{.trans}}{_SHARED}.b16",), role=Role.MATRIX,
       since=("6.5", 75), section=_SECTION + "ldmatrix"),
    Op("stmatrix", (f"stmatrix.sync.aligned.m8n8.{{x1,x2,x4}}{{.trans}}{_SHARED}.b16",), role=Role.MATRIX,
       since=("7.8", 90), section=_SECTION + "stmatrix"),
    Op("movmatrix", ("movmatrix.sync.aligned.m8n8.trans.b16",), role=Role.MATRIX, since=("7.8", 75),
       section=_SECTION + "movmatrix"),
    Op("mma", (f"{_MMA}m16n8k8.row.col.{{f16.f16.f16.f16,f32.f16.f16.f32}}",), role=Role.MATRIX, since=("6.5", 75),
       section=_SECTION + "mma", note=_SUMS),
    Op("mma", (
        f"{_MMA}m16n8k16.row.col.{{f16.f16.f16.f16,f32.f16.f16.f32}}",
        f"{_MMA}{{m16n8k8,m16n8k16}}.row.col.f32.bf16.bf16.f32",
        f"{_MMA}{{m16n8k4,m16n8k8}}.row.col.f32.tf32.tf32.f32",
    ), role=Role.MATRIX, since=("7.0", 80), section=_SECTION + "mma", note=_SUMS),
    Op("mma", (f"{_MMA}m8n8k4.row.col{{.rn}}.f64.f64.f64.f64",), role=Role.MATRIX, since=("7.0", 80),
       section=_SECTION + "mma", note="a chain of fma in order of k"),
    Op("mma", (f"{_MMA}{{m16n8k4,m16n8k8,m16n8k16}}.row.col{{.rn}}.f64.f64.f64.f64",), role=Role.MATRIX, since=("7.8", 90),
       section=_SECTION + "mma", note="a chain of fma in order of k"),
    Op("mma", (f"{_MMA}m16n8k32.row.col.f32.{_EIGHTS}.f32",), role=Role.MATRIX, since=("8.4", 89), section=_SECTION + "mma",
       note=_SUMS),
    Op("mma", (
        f"{_MMA}m16n8k32.row.col.f16.{_EIGHTS}.f16",
        f"{_MMA}m16n8k16.row.col.f32.{_EIGHTS}.f32", f"{_MMA}m16n8k16.row.col.f16.{_EIGHTS}.f16",
    ), role=Role.MATRIX, since=("8.7", 89), section=_SECTION + "mma", note=_SUMS),
    Op("mma", (f"{_MMA}{{m8n8k16,m16n8k16,m16n8k32}}.row.col{{.satfinite}}.s32.{{s8,u8}}.{{s8,u8}}.s32",),
       role=Role.MATRIX, since=("7.0", 80), section=_SECTION + "mma", note="`.satfinite` clamps once, after the whole sum"),
    Op("wmma", (
        _loads("{a,b}", _SHAPES, "f16"), _loads("c", _SHAPES, "{f16,f32}"),
        f"{_STORE}{_ORDER}.{_SHAPES}{_MEMORY}.{{f16,f32}}", f"{_PRODUCT}{_SHAPES}.{{f16,f32}}.{{f16,f32}}",
    ), role=Role.MATRIX, since=("6.0", 70), section=_SECTION + "wmma", note=_SUMS),
    Op("wmma", (
        _loads("{a,b}", _SHAPES, "{s8,u8}"), _loads("c", _SHAPES, "s32"), f"{_STORE}{_ORDER}.{_SHAPES}{_MEMORY}.s32",
        f"{_PRODUCT}{_SHAPES}.s32.{{s8.s8,u8.u8}}.s32{{.satfinite}}",
    ), role=Role.MATRIX, since=("6.3", 72), section=_SECTION + "wmma"),
    Op("wmma", (
        _loads("{a,b}", _SHAPES, "bf16"), f"{_PRODUCT}{_SHAPES}.f32.bf16.bf16.f32",
        _loads("{a,b}", "m16n16k8", "tf32"), _loads("c", "m16n16k8", "f32"), f"{_STORE}{_ORDER}.m16n16k8{_MEMORY}.f32",
        f"{_PRODUCT}m16n16k8.f32.tf32.tf32.f32",
    ), role=Role.MATRIX, since=("7.0", 80), section=_SECTION + "wmma", note=_SUMS),
    Op("wmma", (
        _loads("{a,b,c}", "m8n8k4", "f64"), f"{_STORE}{_ORDER}.m8n8k4{_MEMORY}.f64",
        f"{_PRODUCT}m8n8k4{{.rn}}.f64.f64.f64.f64", f"{_PRODUCT}m8n8k4.f64.f64.f64.f64.rn",
    ), role=Role.MATRIX, since=("7.0", 80), section=_SECTION + "wmma", note="a chain of fma in order of k"),
    Op("wgmma", (
        f"{_WGMMA}{_COLUMNS}k16.{{f16,f32}}.f16.f16", f"{_WGMMA}{_COLUMNS}k16.f32.bf16.bf16",
        f"{_WGMMA}{_COLUMNS}k8.f32.tf32.tf32", f"{_WGMMA}{_COLUMNS}k32.{{f16,f32}}.{_EIGHTS}",
    ), role=Role.MATRIX, since=("8.0", 90), section=_GROUP + "wgmma.mma_async", note=_SUMS + "; sm_90a only"),
    Op("wgmma", (f"{_WGMMA}{_INTEGER_COLUMNS}k32.s32.{{s8,u8}}.{{s8,u8}}{{.satfinite}}",), role=Role.MATRIX, since=("8.0", 90),
       section=_GROUP + "wgmma.mma_async", note="`.satfinite` clamps once, after the whole sum; sm_90a only"),
    Op("wgmma", ("wgmma.fence.sync.aligned", "wgmma.commit_group.sync.aligned", "wgmma.wait_group.sync.aligned"),
       role=Role.MATRIX, since=("8.0", 90), section=_GROUP + "wgmma.fence, commit_group, wait_group", note="sm_90a only"),
    Op("setmaxnreg", ("setmaxnreg.{inc,dec}.sync.aligned.u32",), role=Role.MATRIX, since=("8.0", 90),
       section="Miscellaneous Instructions: setmaxnreg", note="sm_90a only; registers are not counted while a kernel runs"),
)  # fmt: skip
