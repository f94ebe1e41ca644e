"""What every store does, whichever database is behind it."""

import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from grader.collecting import HandIn, Student
from grader.stores import Grading, Mark, Result, open_store, sql_store

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
ANN = Student("ann", 'Åse, "Ann" 王', "1234")
WORK = HandIn("ann", "01.py", "ann/01.py", b"import marimo\n\x00\xff", NOON)
REPORT = {"verdict": "pass", "score": 1.0, "message": "größer als 0 ✓"}
VERDICT = Grading("k1", "thread_mapping.map1d", "a1b2c3", REPORT, "seeds", "t1", "simulator")


def kept(store, *hand_ins, students=(ANN,)):
    store.add_hand_ins(students, hand_ins)
    return store.hand_ins()


def test_a_hand_in_is_kept_with_its_bytes(store):
    (one,) = kept(store, WORK)
    assert (one.student, one.file, one.received, one.latest, one.place) == ("ann", "01.py", NOON, NOON, "ann/01.py")
    assert store.blob(one.digest) == WORK.data
    assert store.students() == {"ann": ANN}


def test_the_same_hand_in_twice_is_one_row_with_both_times(store):
    later, earlier = (replace(WORK, received=NOON + timedelta(days=day)) for day in (1, -1))
    kept(store, WORK)
    kept(store, later)
    (one,) = kept(store, earlier)
    assert (one.received, one.latest) == (earlier.received, later.received)


def test_the_same_hand_in_twice_at_once_is_one_row_with_both_times(store):
    later = replace(WORK, received=NOON + timedelta(days=1))
    (one,) = kept(store, later, WORK)
    assert (one.received, one.latest) == (NOON, later.received)


def test_equal_contents_of_two_students_are_one_blob(store):
    kept(store, WORK, replace(WORK, student="bob"), students=(ANN, Student("bob")))
    assert store.blobs() == 1 and len(store.hand_ins()) == 2


def test_the_newest_hand_in_of_a_student_comes_last(store):
    second = replace(WORK, data=b"newer", received=NOON + timedelta(hours=1))
    assert [one.digest for one in kept(store, second, WORK)] == [WORK.digest, second.digest]


def test_an_unknown_digest_has_no_bytes(store):
    with pytest.raises(LookupError):
        store.blob("0" * 64)


def test_a_name_is_kept_when_a_later_source_does_not_say_it(store):
    kept(store, WORK)
    kept(store, students=(Student("ann"),))
    assert store.students()["ann"] == ANN


def test_a_reading_belongs_to_its_reader(store):
    store.add_readings("reader 1", {("digest", "01.py"): {"answers": {"x": "é"}}})
    store.add_readings("reader 1", {("digest", "01.py"): {"answers": {}}})
    assert store.readings("reader 1") == {("digest", "01.py"): {"answers": {"x": "é"}}}
    assert store.readings("reader 2") == {}


def test_a_verdict_is_recorded_exactly_once(store):
    (one,) = kept(store, WORK)
    result = Result(one.id, VERDICT.exercise_id, VERDICT.key)
    store.record([VERDICT], [result], "worker 1", NOON)
    store.record([replace(VERDICT, report={"verdict": "wrong_answer"})], [result], "worker 2", NOON)
    assert store.results() == [result]
    assert store.gradings(["k1", "unknown"]) == {"k1": VERDICT}
    assert store.final_keys() == {"k1"}
    assert [(key, worker) for key, worker, _ in store.attempts()] == [("k1", "worker 1"), ("k1", "worker 2")]


def test_our_own_failure_gives_way_to_a_verdict(store):
    store.record([replace(VERDICT, report={"verdict": "internal_error"}, is_final=False)], [])
    assert store.final_keys() == set()
    store.record([VERDICT], [])
    assert store.gradings(["k1"]) == {"k1": VERDICT}


def test_a_result_follows_a_regrade_and_the_old_verdict_stays(store):
    (one,) = kept(store, WORK)
    again = replace(VERDICT, key="k2")
    store.record([VERDICT], [Result(one.id, VERDICT.exercise_id, "k1")])
    store.record([again], [Result(one.id, VERDICT.exercise_id, "k2")])
    assert [result.key for result in store.results()] == ["k2"]
    assert store.gradings_of("a1b2") == [VERDICT, again]
    assert store.gradings_of("k2") == [again] and store.gradings_of("%") == []


def test_many_keys_are_found_at_once(store):
    store.record([replace(VERDICT, key=f"k{number:04}") for number in range(1200)], [])
    assert len(store.gradings(f"k{number:04}" for number in range(1200))) == 1200


def test_thresholds_stay_frozen_until_they_are_renewed(store):
    store.freeze("x", "d1", {"points": 1.0})
    store.freeze("x", "d2", {"points": 2.0})
    assert store.frozen() == {"x": ("d1", {"points": 1.0})}
    store.freeze("x", "d2", {"points": 2.0}, renew=True)
    assert store.frozen() == {"x": ("d2", {"points": 2.0})}
    assert store.thresholds("d1") == {"points": 1.0} and store.thresholds("d3") is None


def test_marks_by_hand_keep_their_order_and_their_words(store):
    marks = [Mark("ann", "x", score, 'said "no", then yes — 好', "Prof. Ü", NOON) for score in (None, 0.5)]
    for mark in marks:
        store.add_mark(mark)
    assert store.marks() == marks


def test_the_newest_class_file_counts(store):
    assert store.class_file() == ("", "")
    for text in ("a = 1", "b = 2", "b = 2"):
        store.save_class(text, "/class", NOON)
    assert store.class_file() == ("b = 2", "/class")


def test_a_copy_holds_everything(store, tmp_path, monkeypatch):
    monkeypatch.setattr(sql_store, "MOST_NAMES", 2)  # rows at a time, fewer than there are
    (one,) = kept(store, WORK)
    for worker in "abc":
        store.record([VERDICT], [Result(one.id, VERDICT.exercise_id, "k1")], worker, NOON)
    with open_store(f"sqlite:///{tmp_path}/copy.db") as copy:
        store.copy_to(copy)
        assert (copy.hand_ins(), copy.results(), copy.attempts()) == (
            store.hand_ins(),
            store.results(),
            store.attempts(),
        )


def test_a_result_that_waits_takes_no_verdict_away(store):
    (one,) = kept(store, WORK)
    waits = Result(one.id, VERDICT.exercise_id, "", "not graded yet", True)
    store.await_verdicts([waits])
    assert store.results() == [waits]
    judged = Result(one.id, VERDICT.exercise_id, "k1")
    store.record([VERDICT], [judged])
    store.await_verdicts([waits])  # as another run does that began before
    assert store.results() == [judged]


def test_a_failed_write_leaves_nothing_behind(store):
    kept(store, WORK)
    with pytest.raises(Exception, match="(?i)foreign key"):
        store.record([VERDICT], [Result(999, VERDICT.exercise_id, "k1")])
    assert store.results() == [] and store.final_keys() == set()


def test_two_writers_at_once_lose_nothing(store, url):
    (one,) = kept(store, WORK)

    def write(worker):
        with open_store(url) as mine:
            for number in range(20):
                key = f"k{number}"
                mine.record([replace(VERDICT, key=key)], [Result(one.id, f"x{number}", key)], worker, NOON)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(store.results()) == len(store.final_keys()) == 20
    assert len(store.attempts()) == 40


def test_a_store_opens_again_as_it_was(url):
    with open_store(url) as first:
        kept(first, WORK)
    with open_store(url) as second:
        assert len(second.hand_ins()) == 1


def test_a_plain_path_is_a_sqlite_file(tmp_path):
    with open_store(str(tmp_path / "class.db")) as opened:
        assert opened.hand_ins() == []
    assert (tmp_path / "class.db").stat().st_size > 0
