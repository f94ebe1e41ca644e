"""`grade`, `export`, `mark`, `replay` as an instructor types them."""

import csv
import json
import shutil
from pathlib import Path

import pytest

from grader.batch import pool
from grader.cli import main
from grader.commands.status import Status
from grader.stores import open_store
from tests.grader.batch.classes import BODIES, CELL, SOLVE, WHEN, make_class, notebook, write
from tests.grader.batch.fake_runner import FakeRunner

MAP = "selftest.map"


@pytest.fixture
def folder(tmp_path):
    folder = make_class(tmp_path / "class", {"ann": "right", "bob": "no-guard"})
    return folder


@pytest.fixture
def quick(monkeypatch):
    """Judges without the simulator."""
    runner = FakeRunner()
    monkeypatch.setattr(pool, "LocalPool", lambda workers: runner)
    return runner


@pytest.fixture
def command(folder, capsys):
    """(status, JSON lines) of a command on this class's store."""

    def run(*words):
        status = main([*map(str, words), "--db", str(folder.parent / "class.db"), "--json"])
        return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def scores(rows):
    return {row["student"]: row["score"] for row in rows if row.get("exercise_id") == MAP}


def exported(command, tmp_path):
    assert command("export", "--to", "csv", tmp_path / "out.csv")[0] == Status.PASSED
    with open(tmp_path / "out.csv", encoding="utf-8", newline="") as file:
        return {row["student"]: row for row in csv.DictReader(file) if row["exercise"] == MAP}


def test_grading_says_who_passed_and_what_failed(command, folder, quick):
    status, (*rows, last) = command("grade", folder)
    assert status == Status.NOT_PASSED
    assert scores(rows) == {"ann": 1.0, "bob": 0.0}
    assert {row["verdict"] for row in rows if row["student"] == "bob" and row["exercise_id"] == MAP} == {"memory_fault"}
    assert (last["summary"]["students"], last["summary"]["graded_now"], last["summary"]["lost"]) == (2, 2, 0)


def test_people_read_failures_by_name(folder, quick, capsys):
    assert main(["grade", str(folder), "--db", str(folder.parent / "class.db")]) == Status.NOT_PASSED
    said = capsys.readouterr()
    assert said.out == "" and f"bob: {MAP}: memory_fault" in said.err and "2 students, 2 hand-ins" in said.err


def test_whoever_hands_in_everything_hides_nobody_else(folder, quick, capsys):
    for number in range(60):
        write(folder / "ann" / f"module{number:02}.py", f"x = {number}\n")
    main(["grade", str(folder), "--db", str(folder.parent / "class.db")])
    said = capsys.readouterr().err
    assert "ann: module00.py and 59 more files: " in said and "module01" not in said
    assert f"bob: {MAP}: memory_fault" in said


def test_a_second_run_grades_nothing(command, folder, quick):
    command("grade", folder)
    _, (*rows, last) = command("grade", folder)
    assert len(quick.judged) == 2 and last["summary"]["graded_now"] == 0 and last["summary"]["known"] == 2


def test_without_a_folder_what_the_store_holds_is_graded_again(command, folder, quick, tmp_path):
    write(folder / "class.toml", f'[[assignments]]\nname = "a"\nexercises = ["{MAP}"]\n')
    _, (*rows, _) = command("grade", folder)
    before = exported(command, tmp_path)
    shutil.rmtree(folder)
    status, (*again, last) = command("grade")
    assert status == Status.NOT_PASSED and again == rows and last["summary"]["known"] == 2
    assert exported(command, tmp_path) == before


EVERYTHING = """
name = "All of it"
packs = ["pack"]
unmeasured_speed = "pending"
[[assignments]]
name = "One"
exercises = ["selftest.map"]
due = 2026-01-01T12:00:00+00:00
late_per_day = 0.25
late_days = 3
canvas_id = 12
[[assignments]]
name = "Two"
lesson = "classroom"
[weights]
"selftest.map" = 8
"classroom.saxpy" = 0.5
[students.eve]
extension_days = 2
[students.ann]
name = "Åse, Ann"
canvas_id = 77
[groups]
"team 1" = ["ann", "mate"]
"team 2" = ["bob", "eve"]
"""

# (points of selftest.map of 8, share kept): a day begun costs a quarter, and after three nothing is taken.
LATE = {
    "ann": ("8", "1"), "mate": ("8", "1"),  # in time, one for both
    "bob": ("4", "0.5"), "eve": ("8", "1"),  # Eve hands in for both on the second day; she has two more
    "cy": ("4", "0.5"),  # wrong in time, right on the second day
    "dan": ("8", "1"),  # right in time, wrong on the ninth day
    "fay": ("0", "0"),  # nothing but on the ninth day
}  # fmt: skip


def test_dates_weights_groups_and_a_pack_hold_together(command, folder, quick, tmp_path):
    shutil.rmtree(folder)
    shutil.copytree(Path(__file__).parents[1] / "classroom" / "pack", folder / "pack")
    write(folder / "class.toml", EVERYTHING)
    for student, kind, day in (("ann", "right", 0), ("bob", "wrong", 1), ("eve", "right", 2), ("cy", "wrong", 0),
                               ("cy", "right", 2), ("dan", "right", 0), ("dan", "wrong", 9), ("fay", "right", 9)):  # fmt: skip
        write(folder / student / f"day{day}.py", notebook(kind, f"{student}{day}"), WHEN + day * 86_400)
    saxpy = CELL.format(exercise="classroom.saxpy", name="saxpy", text=SOLVE.format(body=BODIES["right"], salt="saxpy"))
    write(folder / "ann" / "two.py", saxpy)
    command("grade", folder)
    assert {name: (row["score"], row["kept_share"]) for name, row in exported(command, tmp_path).items()} == LATE
    command("export", "--to", "canvas", tmp_path / "canvas.csv")
    header, possible, *rows = csv.reader((tmp_path / "canvas.csv").read_text(encoding="utf-8").splitlines())
    assert header[5:] == ["One (12)", "Two"] and possible[5:] == ["8", "1.5"]
    assert [row for row in rows if row[6] != "0"] == [["Åse, Ann", "77", "", "ann", "", "8", "0.5"],
                                                      ["mate", "", "", "mate", "", "8", "0.5"]]  # fmt: skip


def test_a_name_that_stands_in_a_group_only_is_asked_about(folder, quick, capsys):
    db = str(folder.parent / "class.db")
    write(folder / "class.toml", '[groups]\n"team 1" = ["ann", "anm"]\nt2 = ["bob", "mate"]\n[students.mate]\n')
    main(["grade", str(folder), "--db", db, "--json"])
    said = " ".join(capsys.readouterr().err.split())
    assert "in a group, but never handed in themselves: anm." in said and "[students]" in said


def test_everything_right_is_status_0(command, folder, quick):
    shutil.rmtree(folder / "bob")
    write(folder / "class.toml", f'[[assignments]]\nname = "a"\nexercises = ["{MAP}"]\n')
    assert command("grade", folder)[0] == Status.PASSED


def test_a_device_that_is_not_here_is_refused_once(command, folder, quick, monkeypatch):
    from grader.devices import DeviceMissing
    from grader.worker import host

    def missing(name):
        raise DeviceMissing(f"no {name} here")

    monkeypatch.setattr(host, "fresh_device", missing)
    status, lines = command("grade", folder, "--device", "cuda")
    assert (status, lines[-1]["error"]) == (Status.NOT_SUPPORTED, "no cuda here") and not quick.judged


def test_an_answer_that_nothing_survives_is_our_failure(command, folder, quick):
    quick.lose = ["ann: selftest.py"]
    status, (*rows, last) = command("grade", folder)
    assert status == Status.INTERNAL and last["summary"]["lost"] == 1 and scores(rows)["ann"] == 0.0
    assert [row["verdict"] for row in rows if row["student"] == "ann" and row["exercise_id"] == MAP] == [
        "internal_error"
    ]


@pytest.mark.parametrize("words", [(), ("--dry-run",)])
def test_a_machine_that_fails_stops_the_run_and_says_what_next(command, folder, quick, words):
    quick.lose = ["ann: selftest.py", "control"]
    status, (line,) = command("grade", folder, *words)
    assert status == line["status"] == Status.INTERNAL
    assert "grading stopped" in line["error"] and "ended in the middle" in line["error"]
    assert "run the same command again" in line["help"]
    quick.lose = []
    status, (*rows, last) = command("grade", folder)
    assert status == Status.NOT_PASSED and scores(rows) == {"ann": 1.0, "bob": 0.0}


def test_a_dry_run_names_who_would_change_and_why_and_keeps_nothing(command, folder, quick, tmp_path):
    command("grade", folder)
    before = exported(command, tmp_path)
    write(folder / "bob" / "selftest.py", notebook("right", "again"), WHEN + 60)
    write(folder / "cy" / "selftest.py", notebook("wrong", "cy"))
    status, rows = command("grade", folder, "--dry-run")
    found = {(row["student"], row["exercise_id"]): row for row in rows}
    assert status == Status.PASSED
    assert (found["bob", MAP]["before"], found["bob", MAP]["after"]) == (0.0, 1.0)
    assert found["bob", MAP]["why"] == "another answer was handed in; memory_fault became pass"
    assert found["cy", MAP]["before"] is None and not [row for row in rows if row["student"] == "ann"]
    assert exported(command, tmp_path) == before


def test_a_dry_run_without_a_store_lists_everybody_and_makes_none(command, folder, quick):
    status, rows = command("grade", folder, "--dry-run")
    assert status == Status.PASSED
    assert {(row["student"], row["before"]) for row in rows} == {("ann", None), ("bob", None)}
    assert not list(folder.parent.glob("class.db*"))


@pytest.mark.parametrize(
    "words",
    [
        ("export", "--to", "csv", "out.csv"),
        ("statistics",),
        ("similar",),
        ("replay", "0123456"),
        ("mark", "a", MAP),
        ("grade",),
        ("grade", "--dry-run"),
    ],
)
def test_a_store_that_is_not_there_is_not_made_by_reading_it(command, folder, words):
    if words[0] == "mark":
        words = (*words, "--score", "1")
    status, (line,) = command(*words)
    assert status == Status.USAGE and "no store" in line["error"] and "grade" in line["help"]
    assert not list(folder.parent.glob("*.db*"))


def test_a_folder_without_hand_ins_makes_no_store(command, folder):
    shutil.rmtree(folder)
    folder.mkdir()
    status, (line,) = command("grade", folder)
    assert status == Status.USAGE and "no hand-in" in line["error"] and not list(folder.parent.glob("*.db*"))


def test_a_store_that_fails_in_the_middle_is_our_failure(command, folder, quick, monkeypatch):
    from grader.stores import StoreProblem
    from grader.stores.sql_store import SqlStore

    def full(*_):
        raise StoreProblem("the disk is full", "make room", in_use=True)

    monkeypatch.setattr(SqlStore, "add_readings", full)
    status, (line,) = command("grade", folder)
    assert (status, line["error"], line["help"]) == (Status.INTERNAL, "the disk is full", "make room")


def test_a_dry_run_explains_a_new_weight(command, folder, quick):
    (folder / "dan").mkdir()
    command("grade", folder)
    write(folder / "class.toml", f'[[assignments]]\nname = "a"\nexercises = ["{MAP}"]\n[weights]\n"{MAP}" = 4\n')
    _, rows = command("grade", folder, "--dry-run")
    assert {row["student"]: row["why"] for row in rows} == {
        "ann": "worth 4 instead of 1",
        "bob": "worth 4 instead of 1",
        "dan": "worth 4 instead of 1",
    }


def test_people_read_what_a_dry_run_would_change(folder, quick, capsys):
    words = ["grade", str(folder), "--db", str(folder.parent / "class.db")]
    main(words)
    write(folder / "class.toml", f'[[assignments]]\nname = "a"\nexercises = ["{MAP}"]\n[weights]\n"{MAP}" = 4\n')
    capsys.readouterr()
    assert main([*words, "--dry-run"]) == Status.PASSED
    said = capsys.readouterr().err
    assert f"ann: {MAP}: 1 → 4: worth 4 instead of 1" in said and f"bob: {MAP}: stays 0: worth 4 instead of 1" in said


def test_marks_and_comments_by_hand_survive_a_regrade(command, folder, quick, tmp_path):
    command("grade", folder)
    assert command("mark", "bob", MAP, "--score", "0.75", "--author", "Prof")[0] == Status.PASSED
    assert command("mark", "bob", MAP, "--comment", 'nearly, "see" line 3')[0] == Status.PASSED
    write(folder / "bob" / "selftest.py", notebook("wrong", "again"), WHEN + 60)
    command("grade", folder)
    bob = exported(command, tmp_path)["bob"]
    assert (bob["score"], bob["manual"], bob["comment"], bob["verdict"]) == (
        "0.75", "yes", 'nearly, "see" line 3', "wrong_answer",
    )  # fmt: skip
    command("mark", "bob", MAP, "--score", "none")
    assert exported(command, tmp_path)["bob"]["score"] == "0"


@pytest.mark.parametrize(
    "words",
    [
        ("mark", "nobody", MAP, "--score", "1"), ("mark", "bob", "selftest.none", "--score", "1"), ("mark", "bob", MAP),
        ("mark", "bob", MAP, "--score", "nan"), ("mark", "bob", MAP, "--score", "-1"), ("replay", "abc"),
        ("replay", "0123456789"), ("grade", "/no/such/folder"), ("grade", "/dev/null"),
        ("export", "--to", "csv", "/no/such/folder/out.csv"), ("export", "--to", "xls", "out.xls"),
        ("grade", ".", "--workers", "0"), ("export", "--to", "csv", "out.csv", "--student", "nobody"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_with_help(command, folder, quick, words):
    command("grade", folder)
    status, lines = command(*words)
    assert status == Status.USAGE and lines[-1]["error"] and lines[-1]["status"] == 2


def test_a_wrong_class_file_or_store_is_refused(command, folder, capsys):
    write(folder / "class.toml", "nonsense = 1")
    status, lines = command("grade", folder)
    assert status == Status.USAGE and lines[-1]["error"] == f"{folder}/class.toml: there is no key 'nonsense'"
    assert "unmeasured_speed" in lines[-1]["help"]
    assert main(["grade", str(folder), "--db", "mysql://x/y", "--json"]) == Status.USAGE


def test_a_class_file_of_windows_notepad_is_read(command, folder, quick):
    write(folder / "class.toml", b"\xef\xbb\xbf" + f'[[assignments]]\nname = "a"\nexercises = ["{MAP}"]\n'.encode())
    assert scores(command("grade", folder)[1]) == {"ann": 1.0, "bob": 0.0}


def test_a_verdict_is_replayed_word_for_word(command, folder, tmp_path):
    write(folder / "class.toml", f'[[assignments]]\nname = "a"\nexercises = ["{MAP}"]\n')
    command("grade", folder, "--workers", "2")
    bob = exported(command, tmp_path)["bob"]
    shutil.rmtree(folder)
    status, (line,) = command("replay", bob["digest"][:12])
    assert (status, line["same"], line["versions"], line["report"]["verdict"]) == (
        Status.PASSED, True, {}, "memory_fault",
    )  # fmt: skip


def test_a_replay_with_other_seeds_is_refused(command, folder, quick, tmp_path, monkeypatch):
    command("grade", folder)
    digest = exported(command, tmp_path)["ann"]["digest"]
    write(tmp_path / "seeds.json", '{"id": "autumn", "secret": "s"}')
    monkeypatch.setenv("WARPWISE_SEEDS", str(tmp_path / "seeds.json"))
    status, (line,) = command("replay", digest)
    assert status == Status.NOT_SUPPORTED and "autumn" in line["error"]


def test_a_replay_that_differs_says_in_what(command, folder, quick, tmp_path):
    command("grade", folder)
    digest = exported(command, tmp_path)["ann"]["digest"]
    with open_store(str(folder.parent / "class.db")) as store:
        (grading,) = store.gradings_of(digest)
        assert grading.report["device"] == ""  # the quick runner named none
    status, (line,) = command("replay", digest)
    assert status == Status.NOT_PASSED and "device" in line["differences"] and "verdict" not in line["differences"]


def test_statistics_say_how_the_class_gets_on(command, folder, quick):
    command("grade", folder)
    write(folder / "bob" / "selftest.py", notebook("right", "again"), WHEN + 7200)
    command("grade", folder)
    _, rows = command("statistics")
    row = next(row for row in rows if row["exercise_id"] == MAP)
    assert (row["students"], row["tried"], row["passed"], row["pass_rate"], row["mean_share"]) == (2, 2, 2, 1.0, 1.0)
    assert (row["verdicts"], row["median_hand_ins"], row["median_hours_to_pass"]) == ({"pass": 2}, 1.5, 1.0)


def test_statistics_for_people_fit_80_columns(folder, quick, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    url = str(folder.parent / "class.db")
    main(["grade", str(folder), "--db", url])
    capsys.readouterr()
    assert main(["statistics", "--db", url]) == Status.PASSED
    said = capsys.readouterr().err
    assert MAP in said and "1 of 2 (50%)" in said and max(map(len, said.splitlines())) <= 80


def test_similar_answers_are_listed_for_the_instructor(command, folder, quick):
    write(folder / "cy" / "selftest.py", notebook("right", "copied from ann"))
    command("grade", folder)
    status, rows = command("similar", "--at-least", "0.9")
    assert status == Status.PASSED
    assert [(row["first"], row["second"], row["is_same"]) for row in rows] == [("ann", "cy", True)]
    assert command("similar", "--exercise", "selftest.none")[0] == Status.USAGE


def test_a_release_freezes_what_exercises_ask_for(command, folder, quick):
    status, rows = command("release")
    assert status == Status.PASSED and MAP in {row.get("exercise_id") for row in rows}
    assert not [row for row in command("release")[1] if row.get("what") == "frozen"]
