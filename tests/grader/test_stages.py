"""A stage of a check that takes long says its name: the terminal and the notebook show it, a batch does not listen."""

import sys
from contextlib import contextmanager

import marimo
import pytest

from grader import lesson
from grader.console import Output
from grader.exercises import exercise
from grader.stages import announce, listening
from tests.grader.sample_reports import passed


def test_nobody_needs_to_listen():
    announce("a stage")


def test_the_listener_within_hears_it_and_the_one_around_again_afterwards():
    outer, inner = [], []
    with listening(outer.append):
        announce("first")
        with listening(inner.append):
            announce("second")
        announce("third")
    announce("fourth")
    assert (outer, inner) == (["first", "third"], ["second"])


class Terminal:
    """A console that notes what its status line says."""

    is_terminal = True

    def __init__(self):
        self.said = []

    @contextmanager
    def status(self, words, spinner):
        self.said.append(words)
        yield self
        self.said.append("")

    def update(self, words):
        self.said.append(words)


def test_the_line_in_a_terminal_names_the_stage(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    out = Output()
    out._people = terminal = Terminal()
    with out.working("checking tiling.stencil"):
        announce("estimating its speed")
    assert terminal.said == ["checking tiling.stencil", "checking tiling.stencil: estimating its speed", ""]


class Spinner:
    """marimo's sign of waiting, which notes what it says."""

    said: list = []

    def __init__(self, title, subtitle):
        self.said.append(subtitle)

    def __enter__(self):
        return self

    def update(self, title, subtitle):
        self.said.append(subtitle)

    def __exit__(self, *_):
        self.said.append(None)


@pytest.mark.parametrize(
    ("took", "says"),
    [
        ({}, ["the first check starts the compiler and the simulator", "estimating its speed", None]),
        ({"thread_mapping.map1d": 0.1}, ["estimating its speed", None]),
        ({"thread_mapping.map1d": 3.0}, ["", "estimating its speed", None]),
    ],
)
def test_a_notebook_shows_the_stage_even_where_the_last_check_was_quick(monkeypatch, took, says):
    monkeypatch.setattr(lesson, "_in_marimo", lambda: True)
    monkeypatch.setattr(lesson, "_remember", lambda report: None)
    monkeypatch.setattr(lesson, "_took", dict(took))
    monkeypatch.setattr(marimo.status, "spinner", Spinner)
    monkeypatch.setattr(Spinner, "said", [])
    monkeypatch.setattr("grader.pipeline.check_submission", lambda *_: announce("estimating its speed") or passed())
    lesson.check("thread_mapping.map1d", "")
    assert Spinner.said == says


def test_marimos_own_sign_takes_the_words(monkeypatch):
    monkeypatch.setattr(lesson, "_in_marimo", lambda: True)
    monkeypatch.setattr(lesson, "_took", {"tiling.gemm_tiled": 0.1})
    signs, enter = [], marimo.status.spinner.__enter__
    monkeypatch.setattr(marimo.status.spinner, "__enter__", lambda sign: signs.append(enter(sign)) or signs[-1])
    with lesson._waiting(exercise("tiling.gemm_tiled")):
        announce("estimating its speed")
        announce("another stage")
        assert [sign.subtitle for sign in signs] == ["another stage"]
    assert "tiles" in signs[0].title
