"""Copies that go on beside the program, and mbarriers: cp.async cp.async.bulk mbarrier. The engine carries them out."""

from __future__ import annotations

from simt.isa.op import Op, Role

__all__ = ["ROWS"]

_COPY = "Data Movement and Conversion Instructions: Asynchronous copy: "
_BARRIER = "Parallel Synchronization and Communication Instructions: mbarrier: "
_HINTS = "{.L2::cache_hint}{.L2::64B,.L2::128B,.L2::256B}"
_SHARED = "{.shared,.shared::cta}"
_NEAR = "{.shared,.shared::cta,.shared::cluster}"
_ARRIVE = "{.release.cta,.release.cluster,.relaxed.cta,.relaxed.cluster}"
_WAIT = "{.acquire.cta,.acquire.cluster,.relaxed.cta,.relaxed.cluster}"
_ONE_BLOCK = "shared::cluster names the block's own shared memory: clusters do not run"


def _row(name: str, forms: tuple[str, ...], section: str, since: tuple[str, int], note: str = "") -> Op:
    return Op(name, forms, role=Role.ASYNC, since=since, section=section, note=note)


ROWS = (
    _row("cp", (f"cp.async.{{ca,cg}}.{{shared,shared::cta}}.global{_HINTS}",), _COPY + "cp.async", ("7.0", 80),
         "the bytes arrive at the thread's wait, as late as they may"),
    _row("cp", ("cp.async.commit_group",), _COPY + "cp.async.commit_group", ("7.0", 80)),
    _row("cp", ("cp.async.{wait_group,wait_all}",), _COPY + "cp.async.wait_group", ("7.0", 80)),
    _row("cp", (f"cp.async.mbarrier.arrive{{.noinc}}{_SHARED}.b64",), _BARRIER + "cp.async.mbarrier.arrive", ("7.0", 80)),
    _row("cp", ("cp.async.bulk.{shared::cluster,shared::cta}.global.mbarrier::complete_tx::bytes{.L2::cache_hint}",
                "cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}"), _COPY + "cp.async.bulk", ("8.0", 90),
         f"the bytes arrive when the mbarrier is looked at or the group waited for; {_ONE_BLOCK}"),
    _row("cp", ("cp.async.bulk.commit_group",), _COPY + "cp.async.bulk.commit_group", ("8.0", 90)),
    _row("cp", ("cp.async.bulk.wait_group{.read}",), _COPY + "cp.async.bulk.wait_group", ("8.0", 90)),
    _row("mbarrier", (f"mbarrier.{{init,inval}}{_SHARED}.b64",), _BARRIER + "mbarrier.init", ("7.0", 80)),
    _row("mbarrier", (
        f"mbarrier.{{arrive,arrive_drop}}{{.expect_tx}}{_ARRIVE}{_NEAR}.b64",
        f"mbarrier.{{arrive,arrive_drop}}.noComplete{{.release.cta}}{_SHARED}.b64",
    ), _BARRIER + "mbarrier.arrive", ("7.0", 80), _ONE_BLOCK),
    _row("mbarrier", (f"mbarrier.{{expect_tx,complete_tx}}{{.relaxed.cta,.relaxed.cluster}}{_NEAR}.b64",),
         _BARRIER + "mbarrier.expect_tx", ("8.0", 80), _ONE_BLOCK),
    _row("mbarrier", (f"mbarrier.{{test_wait,try_wait}}{{.parity}}{_WAIT}{_SHARED}.b64",), _BARRIER + "mbarrier.try_wait",
         ("7.1", 80), "who must wait lets the other warps run"),
    _row("mbarrier", ("mbarrier.pending_count.b64",), _BARRIER + "mbarrier.pending_count", ("7.0", 80)),
    _row("fence", ("fence.mbarrier_init.release.cluster", "fence.proxy.async{.global,.shared::cta,.shared::cluster}"),
         "Parallel Synchronization and Communication Instructions: fence", ("8.0", 90), "copies land late: nothing to do"),
)
