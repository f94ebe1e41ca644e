"""docs/counters.md: every counter, what it counts, and its metric of Nsight Compute.

python -m simt.counters_page > docs/counters.md
"""

from __future__ import annotations

from simt.counters import METRICS, Relation

__all__ = ["counters_page"]

_MEANING = {
    Relation.EQUAL: "the same number on every recorded launch; tests/golden/gaps.toml lists the few exceptions",
    Relation.BOUNDED: "Nsight's is ours up to 4 % more, since hardware also counts waiting for other warps",
    Relation.PTX: "ours counts PTX, Nsight machine code, in which ptxas merges, folds and unrolls",
    Relation.MODEL: "from the cache model of `simt estimate` and of `simt run --json`, for one GPU; 0 elsewhere",
    Relation.NONE: "no metric that is known to count the same",
}


def counters_page() -> str:
    """The page as Markdown."""
    lines = [
        "# Counters",
        "",
        "Made by `python -m simt.counters_page` from the table in `simt/counters.py`. Totals are over all warps of a launch. A",
        "request is one warp-level memory instruction with at least one active lane, a sector 32 bytes, a wavefront one pass",
        "through shared memory.",
        "",
        "| counter | what | Nsight Compute | relation |",
        "|---|---|---|---|",
    ]
    for name, row in METRICS.items():
        metric = f"`{row.ncu}`" if row.ncu else "—"
        lines.append(f"| `{name}` | {row.what} | {metric} | {row.relation} |")
    lines += ["", "## Relations", ""]
    lines += [f"- *{relation}*: {meaning}." for relation, meaning in _MEANING.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(counters_page(), end="")
