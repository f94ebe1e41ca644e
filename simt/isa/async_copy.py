"""Copies that go on beside the program, and mbarriers: cp.async cp.async.bulk mbarrier. The engine carries them out."""

from __future__ import annotations

from simt.isa.op import Op, Role

__all__ = ["ROWS"]

_COPY = "Data Movement and Conversion Instructions: Asynchronous copy: "
_BARRIER = "Parallel Synchronization and Communication Instructions: mbarrier: "
_FENCE = "Parallel Synchronization and Communication Instructions: fence"
_HINTS = "{.L2::cache_hint}{.L2::64B,.L2::128B,.L2::256B}"
_SHARED = "{.shared,.shared::cta}"
_NEAR = "{.shared,.shared::cta,.shared::cluster}"
_ARRIVE = "{.release.cta,.release.cluster,.relaxed.cta,.relaxed.cluster}"
_WAIT = "{.acquire.cta,.acquire.cluster,.relaxed.cta,.relaxed.cluster}"
_HINT = "{.L2::cache_hint}"
_TX = "mbarrier::complete_tx::bytes"
_RANKS = "{1d,2d,3d,4d,5d}"
_MANY = "{.multicast::cluster}"


def _row(name: str, forms: tuple[str, ...], section: str, since: tuple[str, int], note: str = "") -> Op:
    return Op(name, forms, role=Role.ASYNC, since=since, section=section, note=note)


ROWS = (
    _row("cp", (f"cp.async.{{ca,cg}}.{{shared,shared::cta}}.global{_HINTS}",), _COPY + "cp.async", ("7.0", 80),
         "the bytes arrive at the thread's wait, as late as they may"),
    _row("cp", ("cp.async.commit_group",), _COPY + "cp.async.commit_group", ("7.0", 80)),
    _row("cp", ("cp.async.{wait_group,wait_all}",), _COPY + "cp.async.wait_group", ("7.0", 80)),
    _row("cp", (f"cp.async.mbarrier.arrive{{.noinc}}{_SHARED}.b64",), _BARRIER + "cp.async.mbarrier.arrive", ("7.0", 80)),
    _row("cp", (f"cp.async.bulk.{{shared::cluster,shared::cta}}.global.{_TX}{_MANY}{_HINT}",
                f"cp.async.bulk.shared::cluster.shared::cta.{_TX}",
                f"cp.async.bulk.global.shared::cta.bulk_group{_HINT}"), _COPY + "cp.async.bulk", ("8.0", 90),
         "the bytes arrive when the mbarrier is waited at or the group waited for"),
    _row("cp", (f"cp.async.bulk.tensor.{_RANKS}.{{shared::cluster,shared::cta}}.global{{.tile}}.{_TX}{_MANY}{_HINT}",
                f"cp.async.bulk.tensor.{_RANKS}.global.shared::cta{{.tile}}.bulk_group{_HINT}"),
         _COPY + "cp.async.bulk.tensor", ("8.0", 90), "tiles without interleave; no im2col, gather or scatter"),
    _row("cp", (
        f"cp.reduce.async.bulk.tensor.{_RANKS}.global.shared::cta.{{add,min,max,inc,dec,and,or,xor}}{{.tile}}.bulk_group{_HINT}",
    ), _COPY + "cp.reduce.async.bulk.tensor", ("8.0", 90)),
    _row("cp", tuple(
        f"cp.reduce.async.bulk.shared::cluster.shared::cta.{_TX}.{operations}" for operations in (
            "add.{u32,s32,u64}", "{min,max}.{u32,s32}", "{inc,dec}.u32", "{and,or,xor}.b32",
        )
    ) + tuple(
        f"cp.reduce.async.bulk.global.shared::cta.bulk_group{_HINT}.{operations}" for operations in (
            "add.{u32,s32,u64,f32,f64}", "add.noftz.{f16,bf16}", "{min,max}.{u32,s32,u64,s64,f16,bf16}", "{inc,dec}.u32",
            "{and,or,xor}.{b32,b64}",
        )
    ), _COPY + "cp.reduce.async.bulk", ("8.0", 90)),
    _row("cp", (f"cp.async.bulk.prefetch.L2.global{_HINT}",
                f"cp.async.bulk.prefetch.tensor.{_RANKS}.L2.global{{.tile}}{_HINT}"),
         _COPY + "cp.async.bulk.prefetch", ("8.0", 90), "a hint: nothing happens"),
    _row("cp", ("cp.async.bulk.commit_group",), _COPY + "cp.async.bulk.commit_group", ("8.0", 90)),
    _row("cp", ("cp.async.bulk.wait_group{.read}",), _COPY + "cp.async.bulk.wait_group", ("8.0", 90)),
    _row("mbarrier", (f"mbarrier.{{init,inval}}{_SHARED}.b64",), _BARRIER + "mbarrier.init", ("7.0", 80)),
    _row("mbarrier", (
        f"mbarrier.{{arrive,arrive_drop}}{{.expect_tx}}{_ARRIVE}{_NEAR}.b64",
        f"mbarrier.{{arrive,arrive_drop}}.noComplete{{.release.cta}}{_SHARED}.b64",
    ), _BARRIER + "mbarrier.arrive", ("7.0", 80)),
    _row("mbarrier", (f"mbarrier.{{expect_tx,complete_tx}}{{.relaxed.cta,.relaxed.cluster}}{_NEAR}.b64",),
         _BARRIER + "mbarrier.expect_tx", ("8.0", 80)),
    _row("mbarrier", (f"mbarrier.{{test_wait,try_wait}}{{.parity}}{_WAIT}{_SHARED}.b64",), _BARRIER + "mbarrier.try_wait",
         ("7.1", 80), "who must wait lets the other warps run"),
    _row("mbarrier", ("mbarrier.pending_count.b64",), _BARRIER + "mbarrier.pending_count", ("7.0", 80)),
    _row("fence", ("fence.mbarrier_init.release.cluster",), _FENCE, ("8.0", 90), "nothing to do"),
    _row("fence", ("fence.proxy.async{.global,.shared::cta,.shared::cluster}",), _FENCE, ("8.0", 90),
         "of shared memory; a bulk copy that reads ordinary writes without it is a finding"),
    _row("fence", ("fence.proxy.alias", "fence.proxy.tensormap::generic.{release,acquire}.{cta,cluster,gpu,sys}"), _FENCE,
         ("7.5", 70), "nothing to do: a tensor map is read when its copy begins"),
    _row("prefetch", ("prefetch{.const,.param}.tensormap",), "Data Movement and Conversion Instructions: prefetch", ("8.0", 90),
         "a hint: nothing happens"),
)  # fmt: skip
