"""The command itself, ended in the middle while real workers grade, ends where an unharmed run ends."""

import contextlib
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from grader.cli import main
from grader.stores import StoreProblem, open_store
from tests.grader.batch.classes import make_class
from tests.grader.stores.postgres import postgres_server
from tests.processes import PATIENCE_SECONDS, wait_until

ROOT = Path(__file__).resolve().parents[3]
KINDS = ("right", "no-guard", "wrong", "typo", "right", "wrong", "right", "no-guard", "right", "typo", "right", "wrong")
FORMATS = ("csv", "canvas", "moodle", "gradescope", "parquet")


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


# The command, which ends itself: right before or after it keeps a verdict, once there are so many of them in the store.
ENDS = """
import os, signal, sys
from grader.cli import main
from grader.stores.sql_store import SqlStore

signal.signal(signal.SIGINT, signal.default_int_handler)  # also where the tests run in the background, deaf to it
count, when, how, *arguments = sys.argv[1:]
record = SqlStore.record

def end():
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    os.killpg(os.getpgrp(), signal.SIGINT)  # as a terminal does: to the command and to everything it started

def recorded(store, gradings, *rest):
    full = gradings and len(store.final_keys()) >= int(count)
    if full and when == "before":
        end()
    record(store, gradings, *rest)
    if full and when == "after":
        end()

SqlStore.record = recorded
sys.exit(main(arguments))
"""


def ended_itself(folder, db, count, when, how):
    """(exit status, what it said, its process group) of a command with two processes that ends itself in the middle."""
    command = ["grade", str(folder), "--db", str(db), "--workers", "2"]
    process = subprocess.Popen(
        [sys.executable, "-c", ENDS, str(count), when, how, *command],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    return process.returncode, said, process.pid


def killed_again_and_again(folder, db, counts, draw):
    """−9 for the command at each count of verdicts; its own children are left to notice."""
    for count in counts:
        status, said, _ = ended_itself(folder, db, count, draw.choice(("before", "after")), "kill")
        assert status == -signal.SIGKILL, said


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
    status, said, group = ended_itself(folder, db, 1, "before", "interrupt")
    assert status == 130
    assert said.splitlines() == [
        "what was graded is kept; run the same command again to go on", "stopped; nothing was lost",
    ]  # fmt: skip
    wait_until(lambda: not living(group))
    assert verdicts(db) >= 1
