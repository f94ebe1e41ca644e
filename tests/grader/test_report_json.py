"""A report as JSON and back: nothing is lost, and everything is JSON."""

import json
import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
from grader.report.json_form import from_json, to_json
from simt.counters import Counters
from simt.diagnostics import Diagnostic, Severity
from tests.grader.sample_reports import ALL

CONTRACT = (
    "exercise_id digest verdict score max_score cases goals diagnostics counters resources timing device versions when"
).split()

numbers = st.floats(allow_nan=False)
counts = st.integers(0, 2**62)
words = st.text(max_size=20)
names = st.text("abcdefgh_", min_size=1, max_size=6)
# What `first_bad` holds; the words that stand for non-finite numbers are the only text it cannot hold.
scalars = st.none() | st.booleans() | st.integers() | numbers | st.text("xyz (),0", max_size=9)
values = scalars | st.tuples(st.integers(), st.integers())

counters = st.builds(Counters, global_load_sectors=counts, instructions=counts, flops=counts)
diagnostics = st.builds(
    Diagnostic, words, words, st.sampled_from(Severity), words, st.none() | st.integers(1, 99), st.none() | st.integers(1, 99),
    st.none() | st.tuples(counts, counts, counts), st.lists(st.integers(0, 31), max_size=4).map(tuple),
    st.none() | st.integers(0, 31), st.none() | counts, words,
)  # fmt: skip
cases = st.builds(
    CaseResult, words, st.none() | st.dictionaries(names, counts, max_size=3), st.sampled_from(Verdict),
    st.lists(st.dictionaries(names, values, max_size=4), max_size=2).map(tuple), st.booleans(),
)  # fmt: skip
goals = st.builds(
    GoalResult, words, st.none() | numbers, numbers, st.booleans(), st.sampled_from(GoalState), st.sampled_from(Basis),
    numbers, words, words,
)  # fmt: skip
resources = st.builds(Resources, st.none() | counts, counts, counts, counts)
timings = st.builds(
    Timing, numbers, numbers, numbers, numbers, numbers, st.sampled_from(Basis), words, counts, counts
)  # fmt: skip
zones = st.integers(-12, 12).map(lambda hours: timezone(timedelta(hours=hours)))
reports = st.builds(
    Report, words, words, st.sampled_from(Verdict), numbers, numbers, st.lists(cases, max_size=3).map(tuple),
    st.lists(goals, max_size=3).map(tuple), st.lists(diagnostics, max_size=3).map(tuple), st.none() | counters,
    st.dictionaries(st.integers(1, 200), counters, max_size=3), st.none() | resources, st.none() | timings, words, words,
    words, st.dictionaries(names, words, max_size=3), st.none() | st.datetimes(timezones=zones),
)  # fmt: skip


@settings(max_examples=150)
@given(reports)
def test_every_report_survives_the_round_trip(report):
    line = json.dumps(to_json(report), allow_nan=False)
    assert from_json(json.loads(line)) == report


@pytest.mark.parametrize("name", ALL)
def test_sample_has_every_field_of_the_contract(name):
    data = to_json(ALL[name][0]())
    assert data["schema"] == 1
    assert [field for field in CONTRACT if field not in data] == []
    assert set(data["cases"][0]) >= {"name", "sizes", "verdict", "first_bad"}


def test_goal_and_diagnostic_have_the_fields_of_the_contract():
    data = to_json(ALL["goal_missed"][0]())
    assert set(data["goals"][0]) >= {"metric", "value", "limit", "at_least", "state", "basis", "points"}
    fields = "check code severity message line also_line block lanes address help"
    assert set(data["diagnostics"][0]) >= set(fields.split())
    assert data["goals"][0]["state"] == "missed"


def test_number_that_is_none_travels_by_name():
    case = CaseResult("a", {"n": 1}, Verdict.WRONG_ANSWER, ({"got": math.nan, "want": math.inf},))
    report = Report("x.y", "d", Verdict.WRONG_ANSWER, 0.0, 1.0, cases=(case,))
    line = json.dumps(to_json(report), allow_nan=False)
    bad = from_json(json.loads(line)).cases[0].first_bad[0]
    assert math.isnan(bad["got"]) and bad["want"] == math.inf


def test_numpy_values_become_plain_ones():
    import numpy as np

    case = CaseResult(
        "a", {"n": np.int32(3)}, Verdict.WRONG_ANSWER, ({"got": np.float32(0.5), "index": (np.int64(2),)},)
    )
    report = Report("x.y", "d", Verdict.WRONG_ANSWER, np.float64(0.0), 1.0, cases=(case,))
    data = json.loads(json.dumps(to_json(report)))
    assert data["cases"][0]["first_bad"] == [{"got": 0.5, "index": [2]}]


@pytest.mark.parametrize(
    "damage", [{"schema": 2}, {"schema": None}, {"verdict": "nice"}, {"cases": None}, {"score": True}]
)
def test_damaged_report_is_refused_with_a_reason(damage):
    data = to_json(ALL["passed"][0]()) | damage
    with pytest.raises(ValueError):
        from_json(data)


def test_missing_field_is_refused():
    data = to_json(ALL["passed"][0]())
    del data["goals"]
    with pytest.raises(ValueError, match="goals"):
        from_json(data)


def test_time_keeps_its_zone():
    report = Report("x.y", "d", Verdict.PASS, 1.0, 1.0, when=datetime(2026, 1, 2, 3, 4, 5, 6, UTC))
    assert from_json(to_json(report)).when == report.when
