"""The commands in a copy of the course that nobody may write, and on files that nobody may read."""

import errno
import json
import os
from pathlib import Path

import pytest

from grader.cli import main

ROOT = Path(__file__).resolve().parents[2]
PLACE = "/course/.course"


def run(capsys, *arguments):
    """(exit status, JSON objects, standard error)."""
    status = main([*map(str, arguments), "--json"])
    said = capsys.readouterr()
    return status, [json.loads(line) for line in said.out.splitlines()], said.err


def refuse_with(number):
    def refused(*_):
        raise OSError(number, os.strerror(number), PLACE)

    return refused


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_a_hint_that_cannot_be_noted_is_no_failure_of_ours(number, monkeypatch, capsys):
    monkeypatch.setattr("grader.progress.ProgressFile.read_hint", refuse_with(number))
    status, (record,), said = run(capsys, "hint", "hello.double_it")
    assert (status, record["status"]) == (2, 2)
    assert PLACE in record["error"] and "WARPWISE_PROGRESS" in said


def test_a_verdict_is_given_where_progress_cannot_be_kept(monkeypatch, capsys):
    monkeypatch.setattr("grader.progress.ProgressFile.record", refuse_with(errno.EROFS))
    monkeypatch.setattr("grader.progress.lessons_folder", lambda: ROOT / "solutions")
    status, records, said = run(capsys, "check", ROOT / "solutions" / "00_start_here.py")
    assert status == 0 and records and all(record["passed"] for record in records)
    assert f"progress is not kept: {PLACE}" in said


def test_a_file_that_cannot_be_read_costs_no_other(monkeypatch, tmp_path, capsys):
    for name in ("ann.py", "bob.py"):
        (tmp_path / name).write_bytes((ROOT / "solutions" / "00_start_here.py").read_bytes())
    opened = Path.open

    def refused(path, *arguments, **named):
        if path.name == "ann.py":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, *arguments, **named)

    monkeypatch.setattr(Path, "open", refused)
    status, (first, *others), _ = run(capsys, "check", tmp_path)
    assert status == 2 and first["verdict"] == "unreadable" and "Permission denied" in first["error"]
    assert len(others) == 2 and all(record["passed"] for record in others)


def test_a_folder_that_cannot_be_read_is_not_called_empty(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(os, "access", lambda *_: False)
    status, (record,), _ = run(capsys, "check", tmp_path)
    assert status == 2 and "Permission denied" in record["error"]
