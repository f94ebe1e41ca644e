"""Loads, stores, addresses and cache hints: ld ldu st cvta isspacep prefetch. The engine carries them out."""

from __future__ import annotations

import numpy as np

from simt.isa.op import Op, Role
from simt.isa.shapes import of

__all__ = ["ROWS"]

_SECTION = "Data Movement and Conversion Instructions: "
_SCALARS = "{b8,b16,b32,b64,b128,u8,u16,u32,u64,s8,s16,s32,s64,f32,f64}"
_VECTOR = "{.v2,.v4,.v8}"
_CACHE = "{.ca,.cg,.cs,.lu,.cv}"
_STORE_CACHE = "{.wb,.cg,.cs,.wt}"
_EVICTION = ".L1::{evict_normal,evict_unchanged,evict_first,evict_last,no_allocate}"
_ANY_EVICTION = "{.L1::evict_normal,.L1::evict_unchanged,.L1::evict_first,.L1::evict_last,.L1::no_allocate}"
_HINT, _AHEAD = "{.L2::cache_hint}", "{.L2::64B,.L2::128B,.L2::256B}"
_LOAD_SPACE = "{.const,.global,.local,.param,.param::entry,.param::func,.shared,.shared::cta,.shared::cluster}"
_STORE_SPACE = "{.global,.local,.param,.param::func,.shared,.shared::cta,.shared::cluster}"
_SHARED_SPACE = "{.global,.shared,.shared::cta,.shared::cluster}"
_SCOPE = "{cta,cluster,gpu,sys}"

_NO_CACHE = "cache operators and eviction hints do not change what the simulator counts"

ROWS = (
    Op("ld", (
        f"ld{{.weak}}{_LOAD_SPACE}{_CACHE}{_HINT}{_AHEAD}{_VECTOR}.{_SCALARS}",
        f"ld{{.weak}}{_LOAD_SPACE}{_EVICTION}{_HINT}{_AHEAD}{_VECTOR}.{_SCALARS}",
        f"ld.volatile{_LOAD_SPACE}{_AHEAD}{_VECTOR}.{_SCALARS}",
    ), role=Role.MEMORY, section=_SECTION + "ld", note=_NO_CACHE),
    Op("ld", (
        f"ld.global{_CACHE}.nc{_HINT}{_AHEAD}{_VECTOR}.{_SCALARS}",
        f"ld.global.nc{_EVICTION}{_HINT}{_AHEAD}{_VECTOR}.{_SCALARS}",
    ), role=Role.MEMORY, since=("3.1", 32), section=_SECTION + "ld.global.nc", note=_NO_CACHE),
    Op("ld", (
        f"ld.{{relaxed,acquire}}.{_SCOPE}{_SHARED_SPACE}{_ANY_EVICTION}{_HINT}{_AHEAD}{_VECTOR}.{_SCALARS}",
        f"ld.mmio.relaxed.sys{{.global}}.{_SCALARS}",
    ), role=Role.MEMORY, since=("6.0", 70), section=_SECTION + "ld", note=_NO_CACHE),
    Op("ldu", (f"ldu{{.global}}{_VECTOR}.{_SCALARS}",), role=Role.MEMORY, since=("2.0", 20), section=_SECTION + "ldu"),
    Op("st", (
        f"st{{.weak}}{_STORE_SPACE}{_STORE_CACHE}{_HINT}{_VECTOR}.{_SCALARS}",
        f"st{{.weak}}{_STORE_SPACE}{_EVICTION}{_HINT}{_VECTOR}.{_SCALARS}",
        f"st.volatile{_STORE_SPACE}{_VECTOR}.{_SCALARS}",
    ), role=Role.MEMORY, section=_SECTION + "st", note=_NO_CACHE),
    Op("st", (
        f"st.{{relaxed,release}}.{_SCOPE}{_SHARED_SPACE}{_ANY_EVICTION}{_HINT}{_VECTOR}.{_SCALARS}",
        f"st.mmio.relaxed.sys{{.global}}.{_SCALARS}",
    ), role=Role.MEMORY, since=("6.0", 70), section=_SECTION + "st", note=_NO_CACHE),
    Op("mov", ("mov.{u32,u64,s32,s64,b32,b64}.address",), role=Role.MEMORY, section=_SECTION + "mov"),
    Op("cvta", (
        "cvta.{const,global,local,shared,shared::cta,shared::cluster,param,param::entry}.{u32,u64}",
        "cvta.to.{const,global,local,shared,shared::cta,shared::cluster,param,param::entry}.{u32,u64}",
    ), role=Role.MEMORY, since=("2.0", 20), section=_SECTION + "cvta"),
    Op("isspacep", ("isspacep.{const,global,local,shared,shared::cta,shared::cluster,param,param::entry}",),
       role=Role.MEMORY, since=("2.0", 20), section=_SECTION + "isspacep"),
    Op("prefetch", (
        "prefetch{.global,.local}.{L1,L2}", "prefetch.global.{L2::evict_last,L2::evict_normal}",
    ), role=Role.NONE, since=("2.0", 20), section=_SECTION + "prefetch", note="a hint: nothing happens"),
    Op("prefetchu", ("prefetchu.L1",), role=Role.NONE, since=("2.0", 20), section=_SECTION + "prefetchu",
       note="a hint: nothing happens"),
    Op("createpolicy", (
        "createpolicy.fractional.L2::{evict_last,evict_normal,evict_first,evict_unchanged}.b64",
        "createpolicy.fractional.L2::{evict_last,evict_normal,evict_first,evict_unchanged}"
        ".L2::{evict_first,evict_unchanged}.b64",
    ), shape=of("b64", "f32"), eval=lambda form, fraction: np.zeros(fraction.shape, np.uint64),
       emit=lambda e, form, fraction: e.const(fraction, 0, 64), since=("7.4", 80), section=_SECTION + "createpolicy",
       note="every policy is the same opaque value; only with the fraction written out"),
    Op("discard", ("discard{.global}.L2::128B",), role=Role.NONE, since=("7.4", 80), section=_SECTION + "discard",
       note="the discarded bytes keep their values"),
    Op("applypriority", ("applypriority{.global}.L2::evict_normal",), role=Role.NONE, since=("7.4", 80),
       section=_SECTION + "applypriority", note="a hint: nothing happens"),
)  # fmt: skip
