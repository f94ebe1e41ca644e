"""Where a command's words go when a stream is not there."""

import sys

from grader.console import Output


def test_words_without_a_standard_error_are_dropped(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    out = Output(json_lines=True)
    out.say("for people")
    out.emit({"verdict": "pass"})
    assert capsys.readouterr().out == '{"verdict": "pass"}\n'
