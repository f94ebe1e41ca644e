"""The command itself, ended in the middle while real workers grade, ends where an unharmed run ends."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.cli import main
from grader.stores import StoreProblem, open_store
from tests.grader.batch.classes import make_class
from tests.grader.stores.postgres import postgres_server

ROOT = Path(__file__).resolve().parents[3]
KINDS = ("right", "no-guard", "wrong", "typo", "right", "wrong", "right", "no-guard", "right", "typo", "right", "wrong")
FORMATS = ("csv", "canvas", "moodle", "gradescope", "parquet")
PATIENCE_SECONDS = 120


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    """The URL of a database without a table."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/killed.db"
        return
    with postgres_server() as server:
        yield server


def exports(db, folder):
    found = {}
    for format in FORMATS:
        assert main(["export", "--db", str(db), "--to", format, str(folder / "out"), "--json"]) == 0
        found[format] = (folder / "out").read_bytes()
    return found


def verdicts(db):
    with contextlib.suppress(StoreProblem), open_store(str(db), make=False) as store:
        return len(store.final_keys())
    return 0


def started(folder, db):
    command = [sys.executable, "-m", "grader", "grade", str(folder), "--db", str(db), "--workers", "2"]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def until(process, db, count):
    """Returns once `count` verdicts are stored, or when the process ended."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while process.poll() is None and verdicts(db) < count and time.monotonic() < deadline:
        time.sleep(0.05)  # the command needs the processors more than whoever waits to end it


def killed_again_and_again(folder, db, counts, draw):
    """−9 for the command a moment after each count of verdicts; its own children are left to notice."""
    for count in counts:
        process = started(folder, db)
        until(process, db, count)
        time.sleep(draw.uniform(0, 0.3))
        process.kill()
        process.communicate(timeout=PATIENCE_SECONDS)


def check_resumed(tmp_path, db, kinds, counts):
    folder = make_class(tmp_path / "class", {f"s{number:02}": kind for number, kind in enumerate(kinds)})
    whole = tmp_path / "whole.db"
    main(["grade", str(folder), "--db", str(whole), "--json"])
    killed_again_and_again(folder, db, counts, random.Random(7))
    before = verdicts(db)
    assert 0 < before < len(kinds)  # there was something to lose, and something left to do
    main(["grade", str(folder), "--db", db, "--json"])
    found, expected = exports(db, tmp_path), exports(whole, tmp_path)
    assert found["csv"].decode().splitlines() == expected["csv"].decode().splitlines()
    assert found == expected
    with open_store(db) as store:
        judged = [result for result in store.results() if result.key]
        assert len(judged) == len(kinds) == len({(result.hand_in, result.exercise_id) for result in judged})
        again = len(store.attempts()) - len(kinds)
        assert again == 0  # a verdict that was kept is never reached a second time


def test_a_run_killed_while_it_grades_goes_on(tmp_path, url):
    check_resumed(tmp_path, url, KINDS[:6], [0, 1, 2])


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_ten_kills_change_no_byte(tmp_path, url):
    check_resumed(tmp_path, url, KINDS * 2, [0, 1, 2, 3, 5, 6, 8, 9, 11, 13])


def living(group):
    """Processes of a group that still run; one that ended and that nobody asked about yet does not."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, of_group = status.read_text().rpartition(")")[2].split()[:3]
            if state != "Z" and int(of_group) == group:
                found.append(status.parent.name)
    return found


def test_ctrl_c_ends_everything_quietly_and_keeps_what_was_graded(tmp_path):
    folder, db = make_class(tmp_path / "class", [f"s{number}" for number in range(6)]), tmp_path / "class.db"
    process = started(folder, db)
    until(process, db, 1)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to the command and to everything it started
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 130
    assert said.splitlines() == [
        "what was graded is kept; run the same command again to go on", "stopped; nothing was lost",
    ]  # fmt: skip
    deadline = time.monotonic() + PATIENCE_SECONDS
    while living(process.pid):
        assert time.monotonic() < deadline, living(process.pid)
        time.sleep(0.05)
    assert verdicts(db) >= 1
