"""class.toml: what it says is what holds, and what is wrong in it is named."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from grader.class_file import Assignment, ClassProblem, Unmeasured, read_class
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


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nam = 1", "class.toml has the key 'nam'"),
        ("x = [", "not TOML"),
        ('unmeasured_speed = "zero"', "waive, pending"),
        ('[[assignments]]\nlesson = "07_nothing"', "no lesson '07_nothing'"),
        ('[[assignments]]\nexercises = ["hello.doubel_it"]', "hello.double_it"),
        ('[[assignments]]\nname = "a"', "no exercises"),
        ('[[assignments]]\nlesson = "00_start_here"\ndue = "tomorrow"', "a TOML date"),
        ('[[assignments]]\nlesson = "00_start_here"\nlate_per_day = 10', "a share of the mark"),
        ('[weights]\n"hello.predict" = -1', "not negative"),
        ('[weights]\n"hello.predict" = nan', "not negative"),
        ('[groups]\na = ["x"]\nb = ["x"]', "in two groups"),
        ('[students.ann]\nextension = 1', "extension_days"),
        ('packs = "pack"', "a list"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(text, words):
    with pytest.raises(ClassProblem, match=words):
        read(text)


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
