"""Performance advice from counts: only where much of the launch's traffic is concerned, with the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simt.counters import Counters, add
from simt.diagnostics import Diagnostic, diagnose
from simt.engine.state import Access
from simt.engine.view import LaunchView, SiteView

__all__ = ["advice"]

# Below these nothing is said: a few requests, edges of a grid and small shares cost little.
LEAST_REQUESTS = 32
LEAST_SHARE = 0.1  # of the launch's sectors or wavefronts of that kind
SECTORS_OVER_IDEAL = 3.0
WAYS = 2.0
LANE_EFFICIENCY = 0.8
DIVERGED_SHARE = 0.25
LEAST_DIVERGED = 64
LOCAL_SHARE = 0.05

SECTOR_BYTES = 32


def advice(view: LaunchView, by_line: Mapping[int, Counters]) -> list[Diagnostic]:
    """At most one piece of advice per line and kind."""
    found: dict[tuple[str, int | None], Diagnostic] = {}
    for diagnostic in (*_coalescing(view), *_banks(view), *_divergence(by_line), *_local(view)):
        found.setdefault((diagnostic.check, diagnostic.line), diagnostic)
    return list(found.values())


def _by_line(view: LaunchView, column: int) -> list[SiteView]:
    """Plain loads and stores with something in a column of their counts; those of one line, kind and buffer as one.

    An unrolled loop has many instructions of one line.
    """
    together: dict[tuple, SiteView] = {}
    for site in view.sites:
        if site.access == Access.ATOMIC or not site.counts[column]:
            continue
        key = (site.line, site.access, site.buffer if column == 0 else None)
        known = together.get(key)
        counts = tuple(map(sum, zip(known.counts, site.counts, strict=True))) if known else site.counts
        together[key] = replace(site, counts=counts)
    return list(together.values())


def _coalescing(view: LaunchView) -> list[Diagnostic]:
    plain = _by_line(view, 0)
    total = sum(site.counts[1] for site in plain)
    found = []
    for site in sorted(plain, key=lambda s: -s.counts[1]):
        requests, sectors, _, n_bytes = site.counts[:4]
        ideal = max(requests, n_bytes / SECTOR_BYTES)
        if requests < LEAST_REQUESTS or sectors < SECTORS_OVER_IDEAL * ideal or sectors < LEAST_SHARE * total:
            continue
        what = "loads" if site.access == Access.LOAD else "stores"
        name = f" of `{site.buffer}`" if site.buffer else ""
        message = (
            f"global {what}{name} touch {sectors / requests:.3g} sectors of 32 bytes per request where {ideal / requests:.3g} "
            "would do: neighbouring lanes access addresses far apart"
        )
        help = "let threadIdx.x walk the fastest axis (neighbouring lanes, neighbouring elements), or go through shared memory"
        found.append(diagnose("perf.coalescing", message, line=site.line, help=help))
    return found


def _banks(view: LaunchView) -> list[Diagnostic]:
    plain = _by_line(view, 4)
    total = sum(site.counts[5] for site in plain)
    return [_conflict(site) for site in plain if _conflicts(site, total)]


def _conflicts(site: SiteView, total: int) -> bool:
    requests, wavefronts, excess, _ = site.counts[4:8]
    if requests < LEAST_REQUESTS or wavefronts < LEAST_SHARE * total:
        return False
    return wavefronts >= WAYS * (wavefronts - excess)


def _conflict(site: SiteView) -> Diagnostic:
    requests, wavefronts, excess, _ = site.counts[4:8]
    ways = wavefronts / (wavefronts - excess)
    message = (
        f"{ways:.3g}-way bank conflict: a shared {'load' if site.access == Access.LOAD else 'store'} takes "
        f"{wavefronts / requests:.3g} wavefronts per request where {(wavefronts - excess) / requests:.3g} would do"
    )
    help = (
        "lanes that walk a column meet in one bank: pad the row by one element ([32][33]) or swizzle the column index"
    )
    return diagnose("perf.bank-conflict", message, line=site.line, help=help)


def _divergence(by_line: Mapping[int, Counters]) -> list[Diagnostic]:
    total = add(*by_line.values()) if by_line else Counters()
    if not total.instructions or total.lane_efficiency >= LANE_EFFICIENCY:
        return []
    found = []
    for line, counters in by_line.items():
        if counters.divergent_branches < max(LEAST_DIVERGED, DIVERGED_SHARE * counters.branches):
            continue
        message = (
            f"{counters.divergent_branches} of {max(counters.branches, counters.divergent_branches)} branches here split a "
            f"warp; over the launch only {100 * total.lane_efficiency:.0f} % of lanes work"
        )
        help = (
            "let whole warps take one path: branch on the warp's number, or give neighbouring lanes neighbouring work"
        )
        found.append(diagnose("perf.divergence", message, line=line or None, help=help))
    return found


def _local(view: LaunchView) -> list[Diagnostic]:
    total = sum(site.counts[0] + site.counts[4] + site.counts[8] for site in view.sites)
    found = []
    for site in _by_line(view, 8):
        requests, sectors = site.counts[8:10]
        if requests < LEAST_REQUESTS or requests < LOCAL_SHARE * total:
            continue
        message = (
            f"{requests} requests here go to local memory ({sectors / requests:.3g} sectors each): an array indexed at run "
            "time, or more variables than registers"
        )
        help = "index small arrays with constants (unroll the loop) so that they stay in registers"
        found.append(diagnose("perf.local-memory", message, line=site.line, help=help))
    return found
