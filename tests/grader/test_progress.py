"""Progress: one file, keyed by the digest of each answer, that no crash and no second process damages."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from grader.model import Verdict
from grader.progress import Progress, ProgressFile, standing
from tests.grader.sample_reports import faulty, goal_missed, passed
from tests.processes import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def file(tmp_path):
    return ProgressFile(tmp_path / "course" / "progress.json")


def test_no_file_is_no_progress(file):
    assert file.read() == Progress()
    assert not file.path.exists()


def test_answer_is_kept_by_its_digest(file):
    file.record(passed())
    kept = ProgressFile(file.path).read()
    assert kept.answers[passed().digest].passed
    assert list(json.loads(file.path.read_text())["answers"]) == [passed().digest]


def test_same_answer_again_is_one_entry(file):
    file.record(passed())
    file.record(passed())
    assert len(file.read().answers) == 1


def test_best_attempt_counts(file):
    report = goal_missed()
    file.record(replace(report, digest="a", verdict=Verdict.WRONG_ANSWER, score=0.0, goals=()))
    file.record(replace(report, digest="b"))
    where = standing(file.read(), report.exercise_id)
    assert (where.state, where.score, where.attempts) == ("right", report.score, 2)


def test_worse_answer_later_takes_nothing_away(file):
    file.record(passed())
    file.record(replace(faulty(), exercise_id=passed().exercise_id))
    assert standing(file.read(), passed().exercise_id).state == "done"


@pytest.mark.parametrize("verdict", [Verdict.INTERNAL_ERROR, Verdict.NOT_SUPPORTED])
def test_our_failure_is_no_attempt(file, verdict):
    file.record(replace(faulty(), verdict=verdict))
    assert file.read() == Progress()


def test_unreadable_answer_has_no_digest_and_is_no_attempt(file):
    file.record(replace(faulty(), digest="", verdict=Verdict.UNREADABLE))
    assert file.read() == Progress()


def test_hints_are_counted_up_to_the_last_one(file):
    assert [file.read_hint("a.b", 3) for _ in range(5)] == [1, 2, 3, 3, 3]


def test_frozen_score_stays_whatever_comes_later(file):
    missed = goal_missed()
    file.record(missed)
    file.freeze(missed.exercise_id)
    file.record(replace(passed(), exercise_id=missed.exercise_id, score=missed.max_score))
    where = standing(file.read(), missed.exercise_id)
    assert (where.score, where.frozen) == (missed.score, True)
    assert file.freeze(missed.exercise_id).score == missed.score


@pytest.mark.parametrize(
    "damage", ["", "{", "[]", '{"schema": 9}', '{"schema": 1}', "\x00", '{"schema": 1, "answers": 3}']
)
def test_damaged_file_is_kept_aside_and_named(file, damage):
    file.path.parent.mkdir(parents=True)
    file.path.write_text(damage)
    file.record(passed())
    assert file.kept_aside.read_text() == damage
    assert passed().digest in ProgressFile(file.path).read().answers


def test_second_damaged_file_does_not_replace_the_first(file):
    file.path.parent.mkdir(parents=True)
    kept = []
    for damage in ("one", "two"):
        file.path.write_text(damage)
        file.read()
        kept.append(file.kept_aside)
    assert [path.read_text() for path in kept] == ["one", "two"]


def test_writing_leaves_nothing_beside_the_file(file):
    file.record(passed())
    assert {path.name for path in file.path.parent.iterdir()} <= {"progress.json", "progress.lock"}


WRITER = """
import sys
from dataclasses import replace
from pathlib import Path
from grader.progress import ProgressFile
from tests.grader.sample_reports import passed
for number in range(15):
    ProgressFile(Path(sys.argv[1])).record(replace(passed(), digest=f"{sys.argv[2]}-{number}"))
"""


def test_two_processes_lose_none_of_each_others_answers(file):
    command = [sys.executable, "-c", WRITER, str(file.path)]
    running = [subprocess.Popen([*command, name], cwd=ROOT) for name in ("left", "right")]
    assert [process.wait(timeout=PATIENCE_SECONDS) for process in running] == [0, 0]
    assert len(file.read().answers) == 30


def test_environment_names_another_place(tmp_path, monkeypatch):
    monkeypatch.setenv("WARPWISE_PROGRESS", str(tmp_path / "mine.json"))
    assert ProgressFile().path == tmp_path / "mine.json"
