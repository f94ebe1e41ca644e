"""Which stream a command's words go to, and what becomes of them where it is not there or lacks their letters."""

import io
import json
import sys

import pytest

from grader.cli import COMMANDS, main
from grader.console import Output


def test_words_without_a_standard_error_are_dropped(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    out = Output(json_lines=True)
    out.say("for people")
    out.emit({"verdict": "pass"})
    assert capsys.readouterr().out == '{"verdict": "pass"}\n'


@pytest.mark.parametrize("encoding, line", [("utf-8", '"file": "ü.py"'), ("ascii", '"file": "\\u00fc.py"')])
def test_json_is_whole_whatever_letters_standard_output_has(encoding, line, monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, encoding=encoding))
    Output(json_lines=True).emit({"file": "ü.py"})
    assert line in raw.getvalue().decode(encoding)
    assert json.loads(raw.getvalue()) == {"file": "ü.py"}


def test_no_name_of_a_file_steers_the_terminal(capsys):
    out = Output()
    out.say("note: \x1b[2J\x9b31m.py is\nodd")
    out.error("\x1b]0;title\x07 is no file", "\rrename it")
    assert capsys.readouterr().err.splitlines() == [
        "note: \ufffd[2J\ufffd31m.py is", "odd", "error: \ufffd]0;title\ufffd is no file", "  help: \ufffdrename it",
    ]  # fmt: skip


def test_help_that_was_asked_for_goes_to_standard_output(capsys):
    assert main(["--help"]) == 0
    said = capsys.readouterr()
    assert all(name in said.out for name in COMMANDS) and not said.err
