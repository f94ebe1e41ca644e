"""Real processes and the real simulator: a killed process costs nobody a verdict, and nobody gets one too many."""

import multiprocessing
import time

import pytest

from grader.batch import pool
from grader.batch.pool import LocalPool
from grader.batch.work import GradingStopped, do
from grader.stores import StoreProblem, open_store
from tests.grader.batch.classes import make_class
from tests.grader.batch.grading import grade_folder, gradebook
from tests.processes import PATIENCE_SECONDS


@pytest.fixture
def store(tmp_path):
    with open_store(f"sqlite:///{tmp_path}/class.db") as opened:
        yield opened


class KillsOne(LocalPool):
    """Kills one of its processes at the first outcome, while the others work."""

    killed = 0

    def outcomes(self, tasks):
        for outcome in super().outcomes(tasks):
            if not self.killed:
                victim = next(child for child in multiprocessing.active_children() if child.name == "grading")
                victim.kill()
                self.killed = victim.pid
            yield outcome


def test_a_killed_process_is_replaced_and_every_submission_recorded_once(store, tmp_path):
    kinds = {"ann": "right", "bob": "no-guard", "cy": "wrong", "dan": "right", "eve": "typo"}
    folder = make_class(tmp_path / "class", kinds)
    runner = KillsOne(2)
    _, lost = grade_folder(folder, store, runner)
    assert runner.killed and not lost
    book = gradebook(store, folder)
    verdicts = {row.student: entry.verdict for row in book.rows for entry in row.entries if entry.file and entry.report}
    assert verdicts == {
        "ann": "pass", "bob": "memory_fault", "cy": "wrong_answer", "dan": "pass", "eve": "build_failed",
    }  # fmt: skip
    assert len([result for result in store.results() if result.key]) == 5
    assert not [child for child in multiprocessing.active_children() if child.name == "grading"]


def test_an_answer_that_ends_every_process_is_its_own_loss(store, tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "_serve", _ends_with_bob)
    monkeypatch.setattr(pool, "TRIES", 1)
    folder = make_class(tmp_path / "class", ["ann", "bob"])
    _, (lost,) = grade_folder(folder, store, LocalPool(1))
    assert "ended in the middle" in lost.lost
    entries = [(row.student, entry) for row in gradebook(store, folder).rows for entry in row.entries]
    found = {student: entry for student, entry in entries if entry.report}
    assert (found["ann"].verdict, found["bob"].verdict, found["bob"].score) == ("pass", "internal_error", 0.0)


def _ends_with_bob(pipe):
    while not (task := pipe.recv()).label.startswith("bob"):
        pipe.send(("done", do(task)))


def test_a_machine_that_ends_every_process_stops_the_run_and_no_verdict_is_kept(store, tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "_serve", _ends_at_once)
    monkeypatch.setattr(pool, "TRIES", 1)
    folder = make_class(tmp_path / "class", ["ann", "bob"])
    with pytest.raises(GradingStopped, match="also with a right answer of our own.*ended in the middle"):
        grade_folder(folder, store, LocalPool(1))
    assert not store.attempts() and not store.final_keys()
    assert not [child for child in multiprocessing.active_children() if child.name == "grading"]


def _ends_at_once(pipe):
    pipe.recv()


def test_a_machine_that_can_start_no_process_stops_the_run(store, tmp_path, monkeypatch):
    def refused():
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(pool, "_new_process", refused)
    with pytest.raises(GradingStopped, match="Resource temporarily unavailable"):
        grade_folder(make_class(tmp_path / "class", ["ann"]), store, LocalPool(2))
    assert not store.attempts()


def test_a_store_that_fails_ends_the_processes(store, tmp_path, monkeypatch):
    monkeypatch.setattr(pool, "_serve", _answers_nothing)

    def full(*_):
        raise StoreProblem("the disk is full", "make room", in_use=True)

    monkeypatch.setattr(store, "record", full)
    with pytest.raises(StoreProblem, match="disk is full"):
        grade_folder(make_class(tmp_path / "class", ["ann", "bob", "cy"]), store, LocalPool(2))
    assert not [child for child in multiprocessing.active_children() if child.name == "grading"]


def _answers_nothing(pipe):
    while True:
        pipe.send(("done", ())) if pipe.recv().label == "ann: selftest.py" else time.sleep(PATIENCE_SECONDS)


def test_leaving_early_ends_the_processes(store, tmp_path):
    folder = make_class(tmp_path / "class", ["ann", "bob"])

    class Stops(LocalPool):
        def outcomes(self, tasks):
            yield next(iter(super().outcomes(tasks)))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade_folder(folder, store, Stops(2))
    assert not [child for child in multiprocessing.active_children() if child.name == "grading"]
