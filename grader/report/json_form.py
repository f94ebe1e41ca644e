"""A report as JSON (schema 1) and back: what stores keep and `--json` prints.

`from_json(to_json(report)) == report` for every report; a hidden case's sizes and data are already absent from it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime

from grader.model import (
    Basis,
    CaseResult,
    GoalResult,
    GoalState,
    Report,
    Resources,
    Timing,
    Verdict,
)
from simt.counters import Counters
from simt.diagnostics import Diagnostic, Severity

__all__ = ["SCHEMA", "from_json", "to_json"]

SCHEMA = 1
# JSON has no NaN and no infinity; a value that was one travels as this word.
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def to_json(report: Report) -> dict[str, object]:
    """The report as a dict of JSON values, keys in the order of the contract; `passed` is added for readers."""
    return {
        "schema": report.schema,
        "exercise_id": report.exercise_id,
        "digest": report.digest,
        "verdict": str(report.verdict),
        "passed": report.passed,
        "score": _number(report.score),
        "max_score": _number(report.max_score),
        "message": report.message,
        "cases": [_case(case) for case in report.cases],
        "goals": [_goal(goal) for goal in report.goals],
        "diagnostics": [_plain(finding.to_json()) for finding in report.diagnostics],
        "counters": report.counters.to_json() if report.counters is not None else None,
        "by_line": {str(line): _non_zero(counters) for line, counters in sorted(report.by_line.items())},
        "resources": _fields(report.resources),
        "timing": _fields(report.timing),
        "printed": report.printed,
        "device": report.device,
        "versions": dict(report.versions),
        "when": report.when.isoformat() if report.when is not None else None,
    }


def from_json(data: Mapping[str, object]) -> Report:
    """The report that `to_json` wrote.

    Raises:
        ValueError: another schema, a missing field, or a value of another kind than the contract says.
    """
    if not isinstance(data, Mapping):
        raise ValueError(f"not a report of schema {SCHEMA}: {type(data).__name__}")
    if data.get("schema") != SCHEMA:
        raise ValueError(f"this report has schema {data.get('schema')!r}; schema {SCHEMA} is what can be read here")
    try:
        return _report(data)
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"not a report of schema {SCHEMA}: {error!r}") from error


def _report(data) -> Report:
    return Report(
        exercise_id=_text(data["exercise_id"]),
        digest=_text(data["digest"]),
        verdict=Verdict(data["verdict"]),
        score=_float(data["score"]),
        max_score=_float(data["max_score"]),
        cases=tuple(_read_case(case) for case in data["cases"]),
        goals=tuple(_read_goal(goal) for goal in data["goals"]),
        diagnostics=tuple(_read_diagnostic(finding) for finding in data["diagnostics"]),
        counters=Counters(**_wholes(data["counters"])) if data["counters"] is not None else None,
        by_line={int(line): Counters(**_wholes(counters)) for line, counters in data["by_line"].items()},
        resources=Resources(**data["resources"]) if data["resources"] is not None else None,
        timing=_read_timing(data["timing"]) if data["timing"] is not None else None,
        message=_text(data["message"]),
        printed=_text(data["printed"]),
        device=_text(data["device"]),
        versions=dict(data["versions"]),
        when=datetime.fromisoformat(data["when"]) if data["when"] is not None else None,
        schema=data["schema"],
    )


def _case(case: CaseResult) -> dict[str, object]:
    return {
        "name": case.name,
        "sizes": {name: int(size) for name, size in case.sizes.items()} if case.sizes is not None else None,
        "verdict": str(case.verdict),
        "first_bad": [_plain(bad) for bad in case.first_bad],
        "hidden": case.hidden,
    }


def _read_case(data) -> CaseResult:
    return CaseResult(
        name=_text(data["name"]),
        sizes=_wholes(data["sizes"]) if data["sizes"] is not None else None,
        verdict=Verdict(data["verdict"]),
        first_bad=tuple(_revived(bad) for bad in data["first_bad"]),
        hidden=_flag(data["hidden"]),
    )


def _goal(goal: GoalResult) -> dict[str, object]:
    return (_fields(goal) or {}) | {"state": str(goal.state), "basis": str(goal.basis)}


def _read_goal(data) -> GoalResult:
    value = data["value"]
    return GoalResult(
        metric=_text(data["metric"]),
        value=_float(value) if value is not None else None,
        limit=_float(data["limit"]),
        at_least=_flag(data["at_least"]),
        state=GoalState(data["state"]),
        basis=Basis(data["basis"]),
        points=_float(data["points"]),
        why=_text(data["why"]),
        question=_text(data["question"]),
    )


def _read_diagnostic(data) -> Diagnostic:
    block = data["block"]
    return Diagnostic(
        **(
            dict(data)
            | {name: _text(data[name]) for name in ("check", "code", "message", "help")}
            | {
                "severity": Severity(data["severity"]),
                "block": tuple(block) if block is not None else None,
                "lanes": tuple(data["lanes"]),
            }
        )
    )


def _read_timing(data) -> Timing:
    """A timing; what an older report does not say is as if nothing was to be said."""
    floats = ("ratio", "low", "high", "baseline_ns", "student_ns", "floor_ns", "clock_mhz", "memory_mhz", "rate")
    read: dict[str, object] = {name: _float(data[name]) for name in floats if name in data}
    read["basis"] = Basis(data["basis"])
    read["off"] = tuple(_float(limit) for limit in data.get("off", ()))
    read["sizes"] = _wholes(data.get("sizes", {}))
    read["throttle"] = tuple(map(_text, data.get("throttle", ())))
    if data.get("share") is not None:
        read["share"] = _float(data["share"])
    return Timing(**(dict(data) | read))


def _fields(value) -> dict[str, object] | None:
    """A dataclass of plain values as a dict, one level deep."""
    if value is None:
        return None
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _non_zero(counters: Counters) -> dict[str, int]:
    return {name: count for name, count in counters.to_json().items() if count}


def _plain(value):
    """`value` in JSON's own kinds: NumPy scalars, enums and tuples become numbers, text and lists."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (bool, int)) and type(value) in (bool, int):
        return value
    if isinstance(value, str):
        return str(value)
    if hasattr(value, "item"):
        return _plain(value.item())
    if isinstance(value, (int, float)):
        return _number(value)
    return str(value)


def _number(value: float) -> float | int | str:
    """A finite number as it is; NaN and infinities by name, since JSON has no way to write them."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _text(value) -> str:
    if not isinstance(value, str):
        raise TypeError(f"text, got {value!r}")
    return value


def _flag(value) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"true or false, got {value!r}")
    return value


def _wholes(values) -> dict[str, int]:
    if wrong := [value for value in values.values() if type(value) is not int]:
        raise TypeError(f"whole numbers, got {wrong[0]!r}")
    return dict(values)


def _float(value) -> float:
    if isinstance(value, str):
        return _NOT_FINITE[value]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"a number, got {value!r}")
    return value


def _revived(value):
    """What `_plain` made of `first_bad`, with its tuples and non-finite numbers again."""
    if isinstance(value, Mapping):
        return {key: _revived(item) for key, item in value.items()}
    if isinstance(value, list):
        return tuple(_revived(item) for item in value)
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value
