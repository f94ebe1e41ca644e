"""Card, terminal text and Markdown of one report: the same words, everything escaped, nothing loaded from elsewhere."""

import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

from grader.model import GoalState, Report, Verdict
from grader.report import wording
from grader.report.card import card
from grader.report.listing import excerpt_lines, highlighted, listing
from grader.report.markdown import markdown
from grader.report.text import summary_line, text
from grader.report.wording import Context
from simt.diagnostics import diagnose
from tests.grader.sample_reports import ALL, SAXPY, faulty, goal_missed, passed

HOSTILE = "<script>alert('x')</script>&\"'"


def context(source):
    hints = ("a question", "a pointer", "nearly all")
    return Context("A title", source, ("01_thread_mapping.py", 58), hints, ("a.b", "Next one"))


class Tags(HTMLParser):
    """Balance of tags, attributes of the first section, and every address that is named."""

    VOID = {"br", "hr", "img", "input", "meta", "link"}

    def __init__(self, html):
        super().__init__()
        self.open, self.names, self.addresses, self.section = [], [], [], {}
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.names.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "action", "srcset")]
        if tag == "section" and not self.section:
            self.section = dict(attributes)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"


@pytest.mark.parametrize("name", ALL)
def test_card_is_balanced_and_loads_nothing(name):
    make, source = ALL[name]
    html = card(make(), context(source))
    tags = Tags(html)
    assert tags.open == [] and tags.addresses == []
    assert "script" not in tags.names
    assert "url(" not in html and "@import" not in html and "http" not in html


@pytest.mark.parametrize(
    ("name", "status", "points"),
    [("passed", "pass", "3"), ("goal_missed", "goal_missed", "2"), ("faulty", "memory_fault", "0")],
)
def test_card_says_its_outcome_in_attributes(name, status, points):
    make, source = ALL[name]
    section = Tags(card(make(), context(source))).section
    assert section["data-status"] == status
    assert section["data-points"] == points
    assert section["data-exercise"] == make().exercise_id


def test_everything_from_outside_is_escaped():
    finding = diagnose("compile.error", HOSTILE, line=1, help=HOSTILE)
    bad = {"output": HOSTILE, "index": HOSTILE, "got": HOSTILE, "want": HOSTILE, "thread": HOSTILE}
    report = faulty()
    report = replace(
        report,
        exercise_id=HOSTILE,
        message=HOSTILE,
        printed=HOSTILE,
        device=HOSTILE,
        digest=HOSTILE,
        diagnostics=(finding,),
        cases=(replace(report.cases[1], name=HOSTILE, first_bad=(bad,)),),
    )
    html = card(report, Context(HOSTILE, HOSTILE, (HOSTILE, 1), (HOSTILE,), (HOSTILE, HOSTILE)))
    assert "<script" not in html
    assert Tags(html).open == []


def test_card_folds_are_details_that_a_keyboard_opens():
    html = card(goal_missed(), context(SAXPY))
    assert html.count("<details") == html.count("<summary")
    assert "onclick" not in html


def test_every_finding_shows_its_marked_line():
    html = card(faulty(), context(SAXPY))
    assert re.search(r'ww-mark ww-error"><span class="ww-no">4</span>', html)


def test_hint_opens_only_inside_the_one_before_it():
    html = card(faulty(), context(SAXPY))
    first, second, third = (html.index(words) for words in ("a question", "a pointer", "nearly all"))
    assert first < second < third
    assert "</details>" not in html[first:third]


def test_passed_card_shows_no_hint():
    assert "a question" not in card(passed(), context(SAXPY))


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_has_a_headline_and_a_next_step(verdict):
    report = Report("x.y", "d", verdict, 0.0, 1.0)
    assert wording.headline(report)
    assert wording.next_step(report).endswith((".", "?", "!"))
    for words in (card(report), text(report), markdown(report)):
        assert wording.headline(report) in words


@pytest.mark.parametrize("view", [text, markdown, card])
@pytest.mark.parametrize("name", ALL)
def test_each_view_tells_the_findings_goals_and_what_to_do_next(view, name):
    make, source = ALL[name]
    report = make()
    shown = view(report, context(source))
    if view is card:
        shown = re.sub(r"<[^>]+>", "", shown)
    flat = " ".join(re.sub(r"[`*\\]", "", unescape(shown)).split())
    for finding in report.diagnostics:
        assert finding.code in flat
        assert re.sub(r"[`*]", "", finding.message) in flat
    for goal in report.goals:
        assert wording.metric_name(goal.metric) in flat
    step = re.sub(r"`", "", wording.next_step(report, context(source)))
    assert " ".join(step.split()) in flat


def test_hidden_case_shows_no_size():
    assert wording.case_label(passed().cases[-1]) == "hidden 1"


def test_goal_not_measured_says_why_and_leaves_the_maximum():
    words = text(passed())
    assert "not measured here" in words and "only a GPU can tell" in words
    assert any(goal.state is GoalState.NOT_MEASURED for goal in passed().goals)


def test_text_has_no_escape_codes_and_shows_the_file_line():
    words = text(faulty(), context(SAXPY))
    assert "\x1b" not in words
    assert "01_thread_mapping.py:61" in words  # line 4 of a text that begins in line 58


def test_control_characters_of_a_kernel_do_not_reach_the_terminal():
    assert "\x1b" not in text(replace(faulty(), printed="\x1b[31mred\x1b]0;title\x07"))


def test_summary_is_one_line():
    assert summary_line(faulty()) == "✗ thread_mapping.saxpy: Memory fault, 0 of 3 points"


def test_markdown_holds_no_html_of_the_student():
    words = markdown(replace(faulty(), message=HOSTILE), context(SAXPY))
    outside = re.sub(r"^(`{3,})\n.*?^\1$", "", words, flags=re.MULTILINE | re.DOTALL)
    assert "<script" in words and "<script" not in outside  # printed text stands between fences


def test_comment_over_two_lines_is_coloured_on_both():
    lines = highlighted("int a; /* one\ntwo */ int b;")
    assert len(lines) == 2
    assert all(line.count("<span") == line.count("</span>") for line in lines)
    assert '<span class="ww-comment">two */</span>' in lines[1]


def test_unclosed_string_and_comment_do_not_swallow_lines():
    source = 'x = "open\ny /* open\nz'
    assert len(highlighted(source)) == source.count("\n") + 1


def test_listing_shows_a_gap_where_lines_are_left_out():
    source = "\n".join(f"line {number}" for number in range(1, 21))
    html = listing(source, {3: "error", 15: "also"}, shown=excerpt_lines(20, (3, 15), around=1))
    assert re.findall(r'ww-no">(\d+)<', html) == ["2", "3", "4", "14", "15", "16"]
    assert html.count("ww-gap") == 1


def test_blank_lines_around_a_text_are_not_listed():
    html = listing("\nint a;\n\nint b;\n")
    assert re.findall(r'ww-no">(\d+)<', html) == ["2", "3", "4"]


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, "0"), (4.0, "4"), (3.98449, "3.984"), (16396, "16,396"), (2.5e-7, "2.5e-07"), (1.5e6 + 0.5, "1.5e+06")],
)
def test_number_is_shown_short_and_grouped(value, shown):
    assert wording.number(value) == shown


def test_prediction_that_is_not_typed_yet_is_waited_for_and_not_called_wrong():
    report = Report("hello.predict", "d", Verdict.UNREADABLE, 0.0, 1.0, message="threads has no answer yet")
    section = Tags(card(report)).section
    assert "ww-tone-open" in section["class"] and section["data-status"] == "unreadable"
    assert wording.headline(report) == "Waiting for your prediction"
    assert wording.headline(replace(report, exercise_id="hello.double_it")) == wording.HEADLINES[Verdict.UNREADABLE]
