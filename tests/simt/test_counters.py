"""The table of counters: complete, in order, and what docs/counters.md prints."""

from pathlib import Path

from simt.counters import METRICS, NCU, Counters, Relation
from simt.counters_page import counters_page

PAGE = Path(__file__).parents[2] / "docs" / "counters.md"


def test_every_counter_has_a_row_in_order():
    assert list(METRICS) == list(Counters().to_json())


def test_metric_is_named_unless_the_counter_is_ours_alone():
    assert {name for name, row in METRICS.items() if not row.ncu} == {
        name for name, row in METRICS.items() if row.relation is Relation.NONE
    }


def test_equal_counters_are_those_that_nsight_is_asked_for():
    equal = {name for name, row in METRICS.items() if row.relation in (Relation.EQUAL, Relation.BOUNDED)}
    assert equal <= NCU.keys() and all(NCU[name] == METRICS[name].ncu for name in NCU)


def test_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == counters_page(), "run: python -m simt.counters_page > docs/counters.md"
