"""The command itself, killed with −9 again and again while real workers grade, ends where an unharmed run ends."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from grader.cli import main
from grader.stores import open_store
from tests.grader.batch.classes import make_class

ROOT = Path(__file__).resolve().parents[3]
KINDS = ("right", "no-guard", "wrong", "typo", "right", "wrong", "right", "no-guard", "right", "typo", "right", "wrong")
FORMATS = ("csv", "canvas", "moodle", "gradescope", "parquet")


def exports(db, folder):
    found = {}
    for format in FORMATS:
        assert main(["export", "--db", str(db), "--to", format, str(folder / "out"), "--json"]) == 0
        found[format] = (folder / "out").read_bytes()
    return found


def kill_after(command, db, count):
    """Starts the command and kills it with −9 once `count` verdicts are stored; its own children are left to notice."""
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with open_store(str(db)) as store:
            while process.poll() is None and len(store.final_keys()) < count:
                time.sleep(0.05)  # the command needs the processors more than whoever waits to kill it
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait(30)


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_ten_kills_change_no_byte(tmp_path):
    folder = make_class(tmp_path / "class", {f"s{number:02}": kind for number, kind in enumerate(KINDS)})
    whole, killed = tmp_path / "whole.db", tmp_path / "killed.db"
    main(["grade", str(folder), "--db", str(whole), "--json"])
    command = [sys.executable, "-m", "grader", "grade", str(folder), "--db", str(killed)]
    for count in range(1, 11):
        kill_after(command, killed, count)
    main([*command[3:], "--json"])
    found, expected = exports(killed, tmp_path), exports(whole, tmp_path)
    assert found["csv"].decode().splitlines() == expected["csv"].decode().splitlines()
    assert found == expected
    with open_store(str(killed)) as store:
        judged = [result for result in store.results() if result.key]
        assert len(judged) == len(KINDS) == len({(result.hand_in, result.exercise_id) for result in judged})
