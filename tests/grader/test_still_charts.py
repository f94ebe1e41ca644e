"""Charts in a Jupyter notebook: drawings that need no network and take the page's colour."""

import re
from html import unescape

import altair
import pytest

from grader.charts.still import draw_still
from tests.grader.test_charts import NAMES, SAYS, made


@pytest.fixture
def still():
    before = altair.renderers.active
    assert draw_still()
    yield
    altair.renderers.enable(before)


def shown(chart):
    bundle = chart._repr_mimebundle_()
    return bundle[0] if isinstance(bundle, tuple) else bundle


@pytest.mark.parametrize("name", NAMES)
def test_chart_is_a_drawing_that_loads_nothing(still, name):
    html = shown(made(name))["text/html"]
    assert "<svg" in html and "<script" not in html
    label = re.match(r'<div class="ww-still"><svg role="img" aria-label="([^"]+)"', html)
    assert label and SAYS[name] in unescape(label[1])
    assert not re.search(r"https?://(?!www\.w3\.org/)", html)


@pytest.mark.parametrize("name", NAMES)
def test_words_have_the_colour_of_the_page(still, name):
    html = shown(made(name))["text/html"]
    colours = set(re.findall(r'<text[^>]* fill="([^"]+)"', html))
    assert "currentColor" in colours and not colours & {"#000", "#000000", "black"}


def test_title_stands_for_the_chart_where_no_page_is(still):
    assert shown(made("speedup"))["text/plain"] == "[chart: Speed-up]"


def test_without_the_converter_charts_stay_as_altair_shows_them(monkeypatch):
    before = altair.renderers.active
    monkeypatch.setattr("grader.charts.still.find_spec", lambda name: None)
    assert draw_still() is False and altair.renderers.active == before
