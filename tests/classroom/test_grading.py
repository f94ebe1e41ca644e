"""The same submissions as a class: `grade` over their folders with this folder's class.toml and pack."""

import json
import shutil
from pathlib import Path

import pytest

from grader.cli import main
from grader.commands.status import Status

HERE = Path(__file__).parent
VERDICTS = {
    "c01-duplicated-exercise-cell": ("unreadable", "pass"),
    "c03-emptied-notebook": ("missing", "missing"),
    "c05-endless-kernel": ("timeout", "pass"),
    "c07-kernel-string-not-literal": ("unreadable", "pass"),
    "c09-compile-error-one-exercise": ("build_failed", "pass"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classroom")
    for path in (*HERE.glob("c*/"), HERE / "pack"):
        shutil.copytree(path, folder / path.name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(HERE / "class.toml", folder)
    return folder


def test_every_public_submission_gets_its_outcome(folder, capsys):
    command = ["grade", str(folder), "--db", str(folder.parent / "classroom.db"), "--json", "--workers", "2"]
    assert main(command) == Status.NOT_PASSED
    *rows, last = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {}
    for row in rows:
        found.setdefault(row["student"], {})[row["exercise_id"].split(".")[1]] = row["verdict"]
    assert {name: (row["saxpy"], row["total"]) for name, row in found.items()} == VERDICTS
    assert last["summary"]["problems"] == [{
        "student": "c03-emptied-notebook", "file": "submission.py",
        "problem": "the file has no cells: it looks emptied by accident, so an earlier submission should stand",
    }]  # fmt: skip
