"""`simt compare`: rules, what counts as a regression, what people and programs read."""

import json

import pytest

from simt.cli import main
from simt.cli_compare import CompareError, compare, read_rule
from simt.counters import Counters

BEFORE = {"global_load_sectors": 1000, "instructions": 500, "flops": 64, "lane_instructions": 16000}


def report(status="ok", **counters):
    total = Counters(**{**BEFORE, **counters}).to_json()
    return {"status": status, "counters": {"total": total, "lines": {}}}


@pytest.fixture
def files(tmp_path):
    def write(**after):
        paths = tmp_path / "before.json", tmp_path / "after.json"
        for path, value in zip(paths, (report(), report(**after)), strict=True):
            path.write_text(json.dumps(value))
        return [str(path) for path in paths]

    return write


@pytest.mark.parametrize(
    ("rule", "sectors", "broken"),
    [
        ("global_load_sectors>+2%", 1020, False),
        ("global_load_sectors>+2%", 1021, True),
        ("global_load_sectors>+20", 1020, False),
        ("global_load_sectors>+20", 1021, True),
        ("global_load_sectors>1020", 1020, False),
        ("global_load_sectors > 1020", 1021, True),
        ("global_load_sectors<-2%", 980, False),
        ("global_load_sectors<-2%", 979, True),
        ("lane_efficiency<0.9", 1000, False),
    ],
)
def test_rule_is_broken_beyond_its_limit_alone(rule, sectors, broken):
    assert compare(report(), report(global_load_sectors=sectors), [read_rule(rule)]).is_regression is broken


def test_from_nothing_to_something_breaks_every_percentage():
    assert compare(report(), report(shared_load_excess=1), [read_rule("shared_load_excess>+900%")]).is_regression


def test_without_rules_any_cost_may_not_grow_but_work_may():
    assert not compare(report(), report()).is_regression
    assert not compare(report(), report(flops=128)).is_regression
    assert [name for _, name in compare(report(), report(instructions=501)).broken] == ["instructions"]


def test_run_that_is_no_longer_clean_is_a_regression():
    assert compare(report(), report("findings"), [read_rule("instructions>+2%")]).is_regression
    assert not compare(report("findings"), report("findings")).is_regression


@pytest.mark.parametrize(
    ("rule", "help"),
    [
        ("global_load_sector>+2%", "global_load_sectors"),
        ("global_load_sectors>2%", "global_load_sectors>+2%"),
        ("global_load_sectors=+2%", "global_load_sectors>+2%"),
        ("", "shared_load_excess>0"),
    ],
)
def test_rule_that_cannot_be_read_says_what_would_do(rule, help):
    with pytest.raises(CompareError) as raised:
        read_rule(rule)
    assert help in raised.value.help


def test_command_prints_a_table_and_exits_with_one_on_a_regression(files, capsys):
    assert main(["compare", *files(global_load_sectors=1100), "--fail-on", "global_load_sectors>+2%"]) == 1
    shown = capsys.readouterr().out
    assert "global_load_sectors" in shown and "+10.00 %" in shown
    assert "regression: global_load_sectors>+2%: 1000 → 1100" in shown


def test_command_exits_with_zero_when_every_rule_holds(files, capsys):
    arguments = ["--fail-on", "global_load_sectors>+2%", "--fail-on", "instructions>+2%"]
    assert main(["compare", *files(global_load_sectors=1010), *arguments]) == 0
    assert "regression" not in capsys.readouterr().out


def test_json_names_what_failed(files, capsys):
    assert main(["compare", *files(instructions=510), "--json"]) == 1
    shown = json.loads(capsys.readouterr().out)
    assert shown["status"] == "regression"
    assert shown["failed"] == [
        {"rule": "instructions>+0%", "counter": "instructions", "before": 500, "after": 510, "change_percent": 2.0}
    ]


def test_file_that_holds_no_counters_exits_with_two_and_says_how_to_make_one(tmp_path, files, capsys):
    wrong = tmp_path / "wrong.json"
    for text in ("not JSON", "[]", '{"status": "build_failed"}'):
        wrong.write_text(text)
        assert main(["compare", files()[0], str(wrong)]) == 2
        assert "simt run" in capsys.readouterr().err
    assert main(["compare", files()[0], str(tmp_path / "none.json")]) == 2
