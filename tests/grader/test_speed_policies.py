"""Real goals on speed through grading, store and every export, under each policy; a GPU host that adds what was open."""

import csv
import io
import json
import shutil
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pyarrow.parquet
import pytest

from grader.batch import pool
from grader.batch.course import find_class, open_course
from grader.cli import main
from grader.commands.status import Status
from grader.devices import DeviceMissing
from grader.model import Basis
from grader.stores import Grading, open_store
from grader.worker import host
from tests.grader.speed_class import (
    CLASS,
    EXERCISES,
    GEMM,
    GRIDSTRIDE,
    STUDENTS,
    GpuHost,
    answer,
    hand_in,
    timed_otherwise,
)
from tests.grader.speed_nbgrader import NbgraderCourse

FORMATS = ("csv", "canvas", "moodle", "gradescope", "parquet")

# (gridstride of 4, gemm_tiled of 5): 3 and 3 points without speed, of which naive kernels reach 2 and 1; speed has 1 and 2.
#            policy     ann: fast by estimate   bob: slow by estimate   cy: too near the limit
NUMBERS = {
    "estimate": {"ann": (4, 5),             "bob": (2, 1),          "cy": (4, 5)},
    "pending":  {"ann": (3, 3),             "bob": (2, 1),          "cy": (3, 3)},
    "waive":    {"ann": (4, 5),             "bob": (8 / 3, 5 / 3),  "cy": (4, 5)},
}  # fmt: skip
SAID = {
    "estimate": {"ann": "estimated", "bob": "estimated", "cy": "left out"},
    "pending": dict.fromkeys(STUDENTS, "pending"),
    "waive": dict.fromkeys(STUDENTS, "waived"),
}
# After a GPU measured: as every policy has it.
MEASURED = {"ann": (4, 5), "bob": (2, 1), "cy": (4, 5)}


class Class:
    """A folder of hand-ins, its store, and the commands on them."""

    def __init__(self, top):
        self.top, self.folder, self.db = top, top / "class", top / "class.db"

    def hold(self, policy):
        """Grades by a class.toml with this policy: every verdict is there already."""
        (self.folder / "class.toml").write_text(CLASS.format(policy=policy))
        return self.run("grade", self.folder)

    def run(self, *words):
        return main([*map(str, words), "--db", str(self.db), "--json"])

    def export(self, format, *options):
        target = self.top / f"out.{format}"
        target.unlink(missing_ok=True)
        status = self.run("export", "--to", format, target, *options)
        return status, target.read_bytes() if target.exists() else None

    def recorded(self):
        """Digest of each answer → the simulator's report on it."""
        with open_store(str(self.db)) as store:
            return {
                digest: store.gradings_of(digest)[0].report
                for digest in (answer(student, name).digest for student in STUDENTS for name in EXERCISES)
            }


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The one real grading of this file: Ann's and Bob's hand-ins, by workers; then Cy's recorded verdicts."""
    made = Class(tmp_path_factory.mktemp("speed"))
    hand_in(made.folder, "ann", "bob")
    assert made.hold("estimate") == Status.NOT_PASSED
    with open_store(str(made.db)) as store:
        course = open_course(store, find_class(None, made.folder), "simulator")
        made_up = []
        for name in EXERCISES:
            (ann,), digest = store.gradings_of(answer("ann", name).digest), answer("cy", name).digest
            limit = next(goal["limit"] for goal in ann.report["goals"] if goal["metric"] == "speedup")
            near = timed_otherwise(ann.report, 1.1 * limit, Basis.ESTIMATED, "simulator", digest)
            held = course.frozen[name][0]
            made_up.append(Grading(course.key(name, digest), name, digest, near, "", held, "simulator"))
        store.record(made_up, [])
    hand_in(made.folder, "cy")
    return made


@pytest.fixture
def own(graded, tmp_path):
    """A class of this test's own, with the verdicts of the real one."""
    shutil.copytree(graded.folder, tmp_path / "class")
    shutil.copy(graded.db, tmp_path / "class.db")
    return Class(tmp_path)


@pytest.fixture
def gpu(monkeypatch):
    """Turns this machine into a host with a GPU, whose timings are recorded ones."""

    def install(recorded):
        device = SimpleNamespace(capabilities=frozenset({"timing"}))
        monkeypatch.setattr(host, "fresh_device", lambda name: nullcontext(device))
        monkeypatch.setattr(pool, "LocalPool", lambda workers: GpuHost(recorded))

    return install


def rows_of(data):
    return list(csv.DictReader(io.StringIO(data.decode("utf-8"), newline="")))


def by_exercise(rows):
    """Student → (gridstride, gemm_tiled) of rows with student, exercise and score."""
    scores = {(row["student"], row["exercise"]): (float(row["score"]), float(row["max_score"])) for row in rows}
    assert {most for _, most in scores.values()} == {4.0, 5.0}
    return {student: tuple(scores[student, name][0] for name in EXERCISES) for student in STUDENTS}


def in_csv(data):
    return by_exercise(rows_of(data))


def in_parquet(data):
    return by_exercise(pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist())


def in_gradescope(data):
    found = json.loads(data)
    assert {test["max_score"] for one in found.values() for test in one["tests"]} == {4.0, 5.0}
    return {student: tuple(test["score"] for test in found[student]["tests"]) for student in STUDENTS}


def in_canvas(data):
    possible, *rows = rows_of(data)
    assert possible["Speed"] == "9"
    return {row["SIS Login ID"]: float(row["Speed"]) for row in rows}


def in_moodle(data):
    rows = rows_of(data)
    assert {row["Maximum Grade"] for row in rows} == {"9"}
    return {row["ID number"]: float(row["Grade"]) for row in rows}


# format → (how it is read, whether it has one number for the whole assignment)
READERS = {
    "csv": (in_csv, False), "parquet": (in_parquet, False), "gradescope": (in_gradescope, False),
    "canvas": (in_canvas, True), "moodle": (in_moodle, True),
}  # fmt: skip


def check(given, format, want):
    read, is_sum = READERS[format]
    found = read(given)
    assert found.keys() == want.keys()
    for student, scores in want.items():
        assert found[student] == pytest.approx(sum(scores) if is_sum else scores, abs=1e-5), (format, student)


@pytest.mark.parametrize("policy", NUMBERS)
def test_each_policy_has_its_number_in_every_export(own, policy, capsys):
    own.hold(policy)
    *lines, last = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert last["summary"]["graded_now"] == 0 and last["summary"]["pending"] == (6 if policy == "pending" else 0)
    assert {(line["student"], line["speed"]) for line in lines} == set(SAID[policy].items())
    for format in FORMATS:
        status, data = own.export(format, *(["--allow-pending"] if policy == "pending" else []))
        assert status == Status.PASSED
        check(data, format, NUMBERS[policy])
    assert {(row["student"], row["speed"]) for row in rows_of(own.export("csv", "--allow-pending")[1])} == set(
        SAID[policy].items()
    )


@pytest.mark.parametrize("format", FORMATS)
def test_no_format_is_written_while_points_are_pending(own, format, capsys):
    own.hold("pending")
    capsys.readouterr()
    assert own.export(format) == (Status.USAGE, None)
    (line,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert "ann: thread_mapping.gridstride" in line["error"] and "and 3 more" in line["error"]
    assert "--device cuda" in line["help"] and "--allow-pending" in line["help"]


def test_a_student_without_open_points_is_exported_alone(own):
    own.hold("pending")
    for name in EXERCISES:
        own.run("mark", "bob", name, "--score", "1.5")
    assert own.export("csv", "--student", "bob")[0] == Status.PASSED
    assert own.export("csv", "--student", "ann")[0] == Status.USAGE


def test_a_gpu_host_adds_what_was_open_from_the_stored_hand_ins(own, gpu, capsys):
    own.hold("pending")
    own.run("mark", "cy", GEMM, "--score", "4.5", "--comment", "explained it", "--author", "tutor")
    own.run("mark", "ann", GRIDSTRIDE, "--comment", "nicely put")
    shutil.rmtree(own.folder)  # the store is all that the other host needs
    gpu(own.recorded())
    capsys.readouterr()
    assert own.run("grade", "--device", "cuda", "--dry-run") == Status.PASSED
    changed = {
        (row["student"], row["exercise_id"]): row for row in map(json.loads, capsys.readouterr().out.splitlines())
    }
    assert {key: (row["before"], row["after"]) for key, row in changed.items()} == {
        ("ann", GRIDSTRIDE): (3, 4), ("ann", GEMM): (3, 5), ("cy", GRIDSTRIDE): (3, 4),
    }  # fmt: skip
    assert all("its speed is measured instead of pending" in row["why"] for row in changed.values())
    assert own.export("csv")[0] == Status.USAGE  # nothing was kept

    assert own.run("grade", "--device", "cuda") == Status.NOT_PASSED  # Bob's kernels are slow
    want = MEASURED | {"cy": (4, 4.5)}
    for format in FORMATS:
        status, data = own.export(format)
        assert status == Status.PASSED
        check(data, format, want)
    rows = {(row["student"], row["exercise"]): row for row in rows_of(own.export("csv")[1])}
    assert (rows["cy", GEMM]["manual"], rows["cy", GEMM]["comment"]) == ("yes", "explained it")
    assert (rows["ann", GRIDSTRIDE]["manual"], rows["ann", GRIDSTRIDE]["comment"]) == ("no", "nicely put")
    assert {row["speed"] for row in rows.values()} == {"measured"}


def test_another_policy_changes_scores_and_a_dry_run_says_so(own, capsys):
    own.hold("estimate")
    (own.folder / "class.toml").write_text(CLASS.format(policy="waive"))
    capsys.readouterr()
    assert own.run("grade", own.folder, "--dry-run") == Status.PASSED
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["student"], row["exercise_id"], row["before"], row["after"], row["why"]) for row in found] == [
        ("bob", GRIDSTRIDE, 2, pytest.approx(8 / 3, abs=1e-6), "its speed is waived instead of estimated"),
        ("bob", GEMM, 1, pytest.approx(5 / 3, abs=1e-6), "its speed is waived instead of estimated"),
    ]  # fmt: skip


@pytest.mark.parametrize(("policy", "pending"), [("estimate", 0), ("pending", 3), ("waive", 0)])
def test_statistics_say_how_many_points_are_open(own, capsys, policy, pending):
    own.hold(policy)
    capsys.readouterr()
    own.run("statistics")
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    # Bob's naive kernels miss another goal, too.
    assert [(row["passed"], row["pending"]) for row in rows] == [(2, pending), (2, pending)]


def test_the_verdict_of_before_is_repeated_after_a_gpu_measured(own, gpu, capsys, monkeypatch):
    own.hold("pending")
    fresh = host.fresh_device
    gpu(own.recorded())
    own.run("grade", "--device", "cuda")
    capsys.readouterr()

    @contextmanager
    def without_gpu(name):
        if name == "cuda":
            raise DeviceMissing("no NVIDIA driver here")
        with fresh(name) as device:
            yield device

    monkeypatch.setattr(host, "fresh_device", without_gpu)
    assert own.run("replay", answer("bob", GEMM).digest) == Status.PASSED
    again, elsewhere = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (again["same"], again["differences"], again["report"]["device"]) == (True, [], "simulator")
    assert (elsewhere["same"], elsewhere["why"]) == (None, "no NVIDIA driver here")
    assert own.run("replay", elsewhere["key"]) == Status.NOT_SUPPORTED


@pytest.mark.parametrize(("ratio", "status"), [(1.47, Status.PASSED), (1.0, Status.NOT_PASSED)])
def test_a_measured_verdict_comes_again_when_its_goals_come_out_alike(own, gpu, capsys, monkeypatch, ratio, status):
    """No two measurements give the same ratio; 1.5 was stored, and the goal is 1.3."""
    own.hold("pending")
    recorded, digest = own.recorded(), answer("ann", GEMM).digest
    gpu(recorded)
    own.run("grade", "--device", "cuda")
    with open_store(str(own.db)) as store:
        (stored,) = [grading for grading in store.gradings_of(digest) if grading.device == "cuda"]
    again = timed_otherwise(recorded[digest], ratio, Basis.MEASURED, "cuda", digest)
    monkeypatch.setattr("grader.batch.replay.do", lambda task: ((stored.key, again),))
    capsys.readouterr()
    assert own.run("replay", stored.key) == status
    (line,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert line["same"] == (status == Status.PASSED)


# Points of (answer, speed) of both exercises in nbgrader; None for a cell that waits, none for one that was not made.
IN_NBGRADER = {
    "estimate": {"ann": ((3, 1), (3, 2)), "bob": ((2, 0), (1, 0)), "cy": ((3, 1), (3, 2))},
    "pending": {"ann": ((3, None), (3, None)), "bob": ((2, None), (1, None)), "cy": ((3, None), (3, None))},
    "waive": {"ann": ((3,), (3,)), "bob": ((2,), (1,)), "cy": ((3,), (3,))},
}


@pytest.mark.filterwarnings("ignore::sqlalchemy.exc.SAWarning")  # nbgrader's own
def test_each_policy_has_its_number_in_nbgrader_s_gradebook(own, gpu):
    """One course for all of them, since nbgrader takes seconds to make its database."""
    own.hold("pending")
    course = NbgraderCourse(own)
    course.make("waived", "waive")
    course.grade("waived", "waive")
    assert course.points("waived") == IN_NBGRADER["waive"]
    course.make("speed", "")
    course.grade("speed", "estimate")
    assert course.points("speed") == IN_NBGRADER["estimate"]
    course.grade("speed", "")  # as the class of the store says
    assert course.points("speed") == IN_NBGRADER["pending"]
    assert course.export() is None and course.export(assignment=["speed"], student=["bob"]) is None
    assert len(course.export(assignment=["waived"])) == 3  # nothing waits there
    assert {row["score"] for row in course.export(assignment=["speed"], allow_pending=True)} == {"6.0", "3.0"}
    gpu(own.recorded())
    own.run("grade", "--device", "cuda")
    course.grade("speed", "", "cuda")
    assert course.points("speed") == {"ann": ((3, 1), (3, 2)), "bob": ((2, 0), (1, 0)), "cy": ((3, 1), (3, 2))}
    rows = {row["student_id"]: row for row in course.export(assignment=["speed"])}
    assert {student: (row["score"], row["max_score"]) for student, row in rows.items()} == {
        "ann": ("9.0", "9.0"), "bob": ("3.0", "9.0"), "cy": ("9.0", "9.0"),
    }  # fmt: skip
    assert (rows["ann"]["last_name"], rows["ann"]["first_name"]) == ("Åse, Ann", '\'=1+"王"')
