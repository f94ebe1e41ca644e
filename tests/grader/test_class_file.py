"""class.toml: what it says is what holds, and what is wrong in it is named."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from grader.class_file import Assignment, ClassProblem, Unmeasured, no_class, read_class
from grader.packs import PackProblem, fingerprint, known_exercises, load_pack

DUE = datetime(2026, 12, 1, 23, 0, tzinfo=UTC)

PACK = """
import numpy as np
from secret import WEIGHT
from grader.model import Case, Exercise, KernelAnswer, Param, Role, Tolerance

EXERCISES = (
    Exercise(
        id="pack.scale", lesson="pack", title="y = w x", answer=KernelAnswer("scale", {"grid": 1, "block": 256}),
        params=(Param("x", "float32", Role.IN, ("n",)), Param("y", "float32", Role.OUT, ("n",)),
                Param("n", "int32", Role.SCALAR)),
        inputs=lambda sizes, rng: {"x": rng.uniform(1, 2, sizes["n"]).astype(np.float32), "n": np.int32(sizes["n"])},
        reference=lambda x, n: {"y": WEIGHT * x.astype(np.float64)},
        cases=(Case("n = 100", {"n": 100}),),
        tolerance={"y": Tolerance(2.0**-22, why="one product")},
    ),
)
"""


def read(text, folder=None):
    return read_class(text, folder or Path("/class"), known_exercises)


@pytest.fixture
def pack(tmp_path):
    folder = tmp_path / "pack"
    folder.mkdir()
    (folder / "exercises.py").write_text(PACK)
    (folder / "secret.py").write_text("WEIGHT = 3.0\n")
    return folder


def test_a_lesson_stands_for_its_exercises():
    found = read('[[assignments]]\nlesson = "00_start_here"\ndue = 2026-12-01T23:00:00Z\n')
    assert found.exercises == ("hello.predict", "hello.double_it")
    assert found.assignment_of("hello.predict").due == DUE


def test_a_due_date_ends_with_its_day():
    (assignment,) = read('[[assignments]]\nlesson = "00_start_here"\ndue = 2026-12-01\n').assignments
    assert assignment.due.astimezone().strftime("%Y-%m-%d %H:%M") == "2026-12-01 23:59"


@pytest.mark.parametrize(
    ("late", "extension", "kept"),
    [
        (timedelta(0), 0, 1.0), (timedelta(seconds=1), 0, 0.9), (timedelta(days=1), 0, 0.9), (timedelta(days=2), 0, 0.8),
        (timedelta(days=2), 2, 1.0), (timedelta(days=3, seconds=1), 0, 0.0), (timedelta(days=-5), 0, 1.0),
    ],
)  # fmt: skip
def test_lateness_costs_by_the_day_begun(late, extension, kept):
    assert Assignment("a", ("x",), DUE, 0.1, 3).kept_share(DUE + late, extension) == pytest.approx(kept)


def test_without_a_due_date_nothing_is_late():
    assert Assignment("a", ("x",)).kept_share(DUE, 0) == 1.0


def test_policy_weights_students_and_variables():
    found = read("""
unmeasured_speed = "pending"
[variables]
ex1 = "hello.double_it"
[weights]
"hello.double_it" = 3
[students.ann]
name = "Åse, Ann"
extension_days = 1.5
canvas_id = "9"
""")
    assert found.unmeasured_speed is Unmeasured.PENDING and found.variables == {"ex1": "hello.double_it"}
    assert found.weights == {"hello.double_it": 3.0}
    assert (found.students["ann"].name, found.students["ann"].extension_days, found.students["ann"].canvas_id) == (
        "Åse, Ann", 1.5, "9",
    )  # fmt: skip


@pytest.mark.parametrize("policy", Unmeasured)
def test_each_policy_for_speed_is_read(policy):
    assert read(f'unmeasured_speed = "{policy}"').unmeasured_speed is policy


def test_without_a_word_the_estimate_counts():
    assert read("").unmeasured_speed is no_class().unmeasured_speed is Unmeasured.ESTIMATE


def test_numbers_of_a_platform_may_stand_without_quotes():
    found = read('[students.ann]\ncanvas_id = 1234\n[[assignments]]\nlesson = "00_start_here"\ncanvas_id = 9\n')
    assert (found.students["ann"].canvas_id, found.assignments[0].canvas_id) == ("1234", "9")


ONE = '[[assignments]]\nlesson = "00_start_here"\n'

# What stands in class.toml; the file, key and value of the message; the next step in its help.
MISTAKES = [
    ("x = [", "not TOML", "mend that line"),
    ("name = 1\nname = 2\n", "not TOML.*line 2", "mend that line"),
    (ONE + "due = 2026-13-01", "not TOML.*line 3", "2026-12-01T23:59:00"),
    ("nam = 1", "there is no key 'nam'", "it takes name, packs"),
    ("name = 3", "name is 3", "text"),
    ('packs = "pack"', "packs is 'pack'", "a list"),
    ("packs = [1]", "packs holds 1", "folder of a pack"),
    ('packs = ["nowhere"]', "packs: .*nowhere is no exercise pack", "exercises.py"),
    ('unmeasured_speed = "zero"', "unmeasured_speed is 'zero'", "estimate, pending, waive"),
    ("unmeasured_speed = 1", "unmeasured_speed is 1", "estimate, pending, waive"),
    ("unmeasured_speed = [1]", "unmeasured_speed is .1.", "estimate, pending, waive"),
    ("assignments = 1", "assignments is 1", "a list"),
    ("assignments = [1]", "assignments holds 1", "[[assignments]]"),
    ('[[assignments]]\nlesson = "07_nothing"', "assignment '07_nothing': there is no lesson '07_nothing'", "00_start_here"),
    ("[[assignments]]\nlesson = 7", "assignment 1: lesson is 7", "text"),
    ('[[assignments]]\nlesson = ["00_start_here"]', "assignment 1: lesson is", "text"),
    ('[[assignments]]\nname = 1', "assignment 1: name is 1", "text"),
    ('[[assignments]]\nname = "a"', "assignment 'a': it has no exercises", "exercises ="),
    ('[[assignments]]\nname = "a"\nexercises = []', "assignment 'a': it has no exercises", "exercises ="),
    ('[[assignments]]\nexercises = ["hello.doubel_it"]', "exercises: no exercise is called 'hello.doubel_it'", "hello.double_it"),
    ('[[assignments]]\nexercises = [["hello.predict"]]', "exercises: no exercise", "near ones"),
    ('[[assignments]]\nexercises = "hello.predict"', "exercises is 'hello.predict'", "a list"),
    (ONE + ONE, "assignments: two are called '00_start_here'", "a name of its own"),
    (ONE + '[[assignments]]\nname = "a"\nexercises = ["hello.predict"]',
     "hello.predict is asked for twice, by '00_start_here' and 'a'", "one of them"),
    (ONE + 'due = "tomorrow"', "assignment '00_start_here': due is 'tomorrow'", "2026-12-01T23:59:00"),
    (ONE + "due = 23:59:00", "due is 23:59:00", "2026-12-01T23:59:00"),
    (ONE + "due = 5", "due is 5", "2026-12-01T23:59:00"),
    (ONE + "late_per_day = 10", "late_per_day is 10", "0.1"),
    (ONE + "late_per_day = -0.1", "late_per_day is -0.1", "not negative"),
    (ONE + 'late_per_day = "10 %"', "late_per_day is '10 %'", "a number"),
    (ONE + "late_days = -1", "late_days is -1", "0 or more"),
    (ONE + "late_days = 1.5", "late_days is 1.5", "a whole number"),
    (ONE + "late_days = true", "late_days is True", "a whole number"),
    (ONE + "dew = 1", "assignment '00_start_here': there is no key 'dew'", "due"),
    (ONE + "canvas_id = 1.5", "canvas_id is 1.5", "text"),
    ('[weights]\n"hello.predict" = -1', "weights.hello.predict is -1", "not negative"),
    ('[weights]\n"hello.predict" = nan', "weights.hello.predict is nan", "not negative"),
    ('[weights]\n"hello.predict" = inf', "weights.hello.predict is inf", "a number"),
    ('[weights]\n"hello.predict" = true', "weights.hello.predict is True", "a number"),
    ('[weights]\n"hello.predict" = "2"', "weights.hello.predict is '2'", "a number"),
    ('[weights]\nhello.predict = 2', "weights.hello is a table", '"hello.predict" = 2'),
    ('[weights]\n"hello.perdict" = 2', "weights.hello.perdict: no exercise", "hello.predict"),
    ("weights = 1", "weights is 1", "[weights]"),
    ('[variables]\nex1 = "hello.predikt"', "variables.ex1: no exercise is called 'hello.predikt'", "hello.predict"),
    ("[variables]\nex1 = [1]", "variables.ex1: no exercise", "hello.double_it"),
    ("students = []", "students is", "[students]"),
    ("[students]\nann = 1", "students.ann is 1", "[students.ann]"),
    ("[students.ann]\nextension = 1", "students.ann: there is no key 'extension'", "extension_days"),
    ("[students.ann]\nextension_days = -1", "students.ann.extension_days is -1", "not negative"),
    ("[students.ann]\nname = 1", "students.ann.name is 1", "text"),
    ("[students.ann]\nmoodle_id = 1.5", "students.ann.moodle_id is 1.5", "text"),
    ("groups = 1", "groups is 1", "[groups]"),
    ('[groups]\na = "ann"', "groups.a is 'ann'", "a list"),
    ("[groups]\na = [1]", "groups.a holds 1", "a student's id"),
    ('[groups]\na = ["ann", ""]', "groups.a holds ''", "a student's id"),
    ('[groups]\na = ["x"]\nb = ["x"]', "x is in groups.a and groups.b", "one group"),
    ('[groups]\na = ["x", "x"]', "x is in groups.a twice", "one group"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "words", "help"), MISTAKES)
def test_a_mistake_is_named_with_its_file_and_key_and_what_to_do(text, words, help):
    with pytest.raises(ClassProblem, match="^class.toml: (.*: )?" + words) as found:
        read(text)
    assert help in found.value.help


def test_a_pack_brings_exercises_of_its_own(pack):
    found = read('packs = ["pack"]\n[[assignments]]\nlesson = "pack"\n', pack.parent)
    assert found.exercises == ("pack.scale",)
    assert [row.id for row in known_exercises(found.packs)][-1] == "pack.scale"


def test_a_fingerprint_follows_the_row_and_stays_the_same_otherwise(pack):
    from dataclasses import replace

    (row,) = load_pack(pack)
    assert fingerprint(row) == fingerprint(replace(row))
    assert fingerprint(row) != fingerprint(replace(row, points=2.0))


@pytest.mark.parametrize(
    ("text", "words"),
    [("x = 1", "AttributeError"), ("EXERCISES = ()", "a tuple of"), ("raise ValueError('no')", "ValueError: no")],
)
def test_a_broken_pack_is_named(pack, text, words):
    (pack / "exercises.py").write_text(text)
    with pytest.raises(PackProblem, match=words):
        load_pack(pack)


def test_a_folder_without_exercises_is_no_pack(tmp_path):
    with pytest.raises(PackProblem, match="no exercises.py"):
        load_pack(tmp_path)
