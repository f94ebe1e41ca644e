"""What `simt compare` does: counters of two runs side by side, a gate for kernels without a GPU.

A rule says what is a regression: `global_load_sectors>+2%` (grown by more than 2 %), `shared_load_excess>0` (more than 0
now), `instructions>+1000` (grown by more than 1000), `lane_efficiency<-1%` (fallen by more than 1 %). Without a rule any
growth of a counter that costs time is one. A run that is no longer clean is a regression in any case.

Exit status: 0 none, 1 regression, 2 a file or a rule that cannot be read.
"""

from __future__ import annotations

import difflib
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from simt.counters import Counters

__all__ = ["CompareError", "Comparison", "Rule", "compare", "read_rule", "run_compare"]

OK, REGRESSION, UNREADABLE = 0, 1, 2
RATIOS = (
    "global_load_sectors_per_request", "global_store_sectors_per_request", "shared_load_ways", "lane_efficiency",
    "shared_loads_per_fma",
)  # fmt: skip
# What a kernel does rather than what it costs: more of it is not worse by itself.
_WORK = frozenset(
    [
        "global_load_bytes", "global_store_bytes", "shared_load_bytes", "shared_store_bytes", "lane_instructions",
        "tensor_instructions", "async_copies", "bulk_bytes", "dsmem_bytes", "fma_lane_instructions", "flops",
    ]
)  # fmt: skip
_RULE = re.compile(r"\s*(?P<name>\w+)\s*(?P<than>[<>])\s*(?P<sign>[+-]?)(?P<number>\d+(?:\.\d+)?)\s*(?P<percent>%?)\s*")
EXAMPLES = "such as 'global_load_sectors>+2%', 'shared_load_excess>0' or 'lane_efficiency<-1%'"


class CompareError(ValueError):
    """A file or rule that cannot be used; `help` is the next step."""

    def __init__(self, message: str, help: str):
        super().__init__(message)
        self.help = help


@dataclass(frozen=True, slots=True)
class Rule:
    """One condition for a regression.

    Attributes:
        text: as it was given.
        name: of a counter or ratio.
        above: whether too much is a regression, else too little.
        limit: of the value after, or of the change: in percent, or absolute.
        of_change, percent: how to read `limit`.
    """

    text: str
    name: str
    above: bool
    limit: float
    of_change: bool
    percent: bool

    def broken_by(self, before: float, after: float) -> bool:
        value = after
        if self.percent:
            value = _change(before, after)
        elif self.of_change:
            value = after - before
        return value > self.limit if self.above else value < self.limit


@dataclass(frozen=True, slots=True)
class Comparison:
    """Values before and after by name, and what failed: (rule, name) pairs, and a sentence for runs not clean any more."""

    values: dict[str, tuple[float, float]]
    broken: tuple[tuple[Rule, str], ...]
    unclean: str = ""

    @property
    def is_regression(self) -> bool:
        return bool(self.broken or self.unclean)


def run_compare(before: Path, after: Path, rules: Sequence[str], as_json: bool) -> int:
    """Prints the comparison; answers with the exit status."""
    try:
        found = compare(_read(before), _read(after), [read_rule(text) for text in rules])
    except CompareError as error:
        print(f"error: {error}\n  help: {error.help}", file=sys.stderr)
        if as_json:
            print(json.dumps({"status": "unreadable", "message": str(error), "help": error.help}))
        return UNREADABLE
    print(json.dumps(_json(found)) if as_json else _table(found))
    return REGRESSION if found.is_regression else OK


def read_rule(text: str) -> Rule:
    """A rule from its text; raises `CompareError` with what would do."""
    match = _RULE.fullmatch(text)
    if match is None:
        raise CompareError(f"--fail-on {text!r} is not NAME, < or >, and a number", EXAMPLES)
    name = match["name"]
    known = (*(field.name for field in fields(Counters)), *RATIOS)
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        help = f"did you mean `{near[0]}`?" if near else f"known are {', '.join(known)}"
        raise CompareError(f"--fail-on {text!r}: no counter is called `{name}`", help)
    above, sign, percent = match["than"] == ">", match["sign"], bool(match["percent"])
    if percent and not sign:
        raise CompareError(
            f"--fail-on {text!r}: {match['number']} % of what?",
            f"write {name}{match['than']}{'+' if above else '-'}{match['number']}% for a change by that much",
        )
    limit = float(match["number"]) * (-1 if sign == "-" else 1)
    return Rule(text, name, above, limit, bool(sign), percent)


def compare(before: Mapping, after: Mapping, rules: Sequence[Rule] = ()) -> Comparison:
    """Compares two reports of `simt run --json`; without rules every cost may not grow."""
    old, new = _values(before), _values(after)
    values = {name: (old[name], new[name]) for name in old}
    applied = rules or [Rule(f"{n}>+0%", n, True, 0.0, True, True) for n in Counters().to_json() if n not in _WORK]
    broken = tuple((rule, rule.name) for rule in applied if rule.broken_by(*values[rule.name]))
    return Comparison(values, broken, _unclean(before, after))


def _unclean(before: Mapping, after: Mapping) -> str:
    old, new = before.get("status"), after.get("status")
    return f"the run was {old}, now it is {new}" if new != "ok" and new != old else ""


def _read(path: Path) -> Mapping:
    """One report that holds counters."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise CompareError(
            f"cannot read {path}: {error.strerror}", "write it with `python -m simt run … --json`"
        ) from None
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CompareError(f"{path} is not JSON: {error}", "write it with `python -m simt run … --json`") from None
    if (
        not isinstance(report, dict)
        or not isinstance(report.get("counters"), dict)
        or "total" not in report["counters"]
    ):
        raise CompareError(f"{path} holds no counters", "write it with `python -m simt run … --json`")
    return report


def _values(report: Mapping) -> dict[str, float]:
    """Counters by name, then ratios; one that a report does not know counts as 0."""
    total = report["counters"]["total"]
    known = {field.name for field in fields(Counters)}
    counters = Counters(**{name: int(value) for name, value in total.items() if name in known})
    return {**counters.to_json(), **{name: getattr(counters, name) for name in RATIOS}}


def _change(before: float, after: float) -> float:
    """Percent; infinite from nothing to something."""
    if before == after:
        return 0.0
    return 100.0 * (after - before) / before if before else math.copysign(math.inf, after)


def _json(found: Comparison) -> dict:
    def row(before: float, after: float) -> dict:
        change = _change(before, after)
        return {"before": before, "after": after, "change_percent": change if math.isfinite(change) else None}

    failed = [{"rule": rule.text, "counter": name, **row(*found.values[name])} for rule, name in found.broken]
    return {
        "status": "regression" if found.is_regression else "ok",
        "counters": {name: row(*pair) for name, pair in found.values.items()},
        "failed": failed,
        "message": found.unclean,
    }


def _table(found: Comparison) -> str:
    """For people: what is not zero on both sides, then what failed."""
    marks = {name for _, name in found.broken}
    rows = [("counter", "before", "after", "change")]
    for name, (before, after) in found.values.items():
        if before or after:
            rows.append(
                (name, _number(before), _number(after), _percent(before, after) + (" !" if name in marks else ""))
            )
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = [f"{row[0]:{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]}" for row in rows]
    lines += [f"regression: {rule.text}: {_number(found.values[name][0])} → {_number(found.values[name][1])}"
              for rule, name in found.broken]  # fmt: skip
    if found.unclean:
        lines.append(f"regression: {found.unclean}")
    return "\n".join(line.rstrip() for line in lines)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def _percent(before: float, after: float) -> str:
    change = _change(before, after)
    if not change:
        return "="
    return f"{change:+.2f} %" if math.isfinite(change) else "new"
