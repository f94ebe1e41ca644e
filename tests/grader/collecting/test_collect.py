"""Whose a file is and when it came, for each way in which a class's files arrive."""

import io
import os
import zipfile
from datetime import UTC, datetime

import pytest

from grader.collecting import CollectingProblem, collect, entries, hand_ins

LESSONS = ("01_thread_mapping", "04_tiling")
TEXT = "import marimo\n"
WHEN = 1_767_225_600


def tree(folder, *paths, text=TEXT):
    for path in paths:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (WHEN, WHEN))
    return folder


def zipped(path, members):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)
    return path


def owners(found):
    return {(one.student, one.file) for one in found.hand_ins}


# layout -> (path below the collected folder, student, file)
LAYOUTS = {
    "a folder a student": ("ann/01_thread_mapping.py", "ann", "01_thread_mapping.py"),
    "nbgrader's course folder": ("ann/ps1/01_thread_mapping.ipynb", "ann", "01_thread_mapping.ipynb"),
    "nbgrader's exchange": ("inbound/ann+ps1+2026-01-02 10:00:00.5 UTC+xyz/01_thread_mapping.ipynb", "ann",
                            "01_thread_mapping.ipynb"),
    "canvas": ("annlee_1234_567890_01_thread_mapping.ipynb", "annlee", "01_thread_mapping.ipynb"),
    "canvas, late": ("annlee_LATE_1234_567890_01_thread_mapping.ipynb", "annlee", "01_thread_mapping.ipynb"),
    "canvas, again": ("annlee_1234_567890_01_thread_mapping-2.ipynb", "annlee", "01_thread_mapping.ipynb"),
    "moodle, folders": ("Ann Lee-王_4321_assignsubmission_file/01_thread_mapping.py", "Ann Lee-王", "01_thread_mapping.py"),
    "moodle, older folders": ("Ann Lee_4321_assignsubmission_file_/01_thread_mapping.py", "Ann Lee",
                              "01_thread_mapping.py"),
    "moodle, flat": ("Ann Lee_4321_assignsubmission_file_01_thread_mapping.py", "Ann Lee", "01_thread_mapping.py"),
    "files with the student's name": ("ann_01_thread_mapping.py", "ann", "01_thread_mapping.py"),
    "files called like the student": ("ann.ipynb", "ann", "ann.ipynb"),
    "one student's lessons": ("04_tiling.py", "class", "04_tiling.py"),
    "an ending in capitals": ("ann/01_thread_mapping.IPYNB", "ann", "01_thread_mapping.ipynb"),
}  # fmt: skip


@pytest.mark.parametrize(("path", "student", "file"), LAYOUTS.values(), ids=LAYOUTS)
def test_the_owner_of_a_file(tmp_path, path, student, file):
    assert owners(collect(tree(tmp_path / "class", path), LESSONS)) == {(student, file)}


@pytest.mark.parametrize(("path", "student", "file"), LAYOUTS.values(), ids=LAYOUTS)
def test_the_owner_of_a_file_in_a_downloaded_zip(tmp_path, path, student, file):
    archive = zipped(tmp_path / "class.zip", {path: TEXT})
    assert owners(collect(archive, LESSONS)) == {(student, file)}


def test_platforms_say_who_is_who_and_who_was_late(tmp_path):
    folder = tree(tmp_path / "class", "annlee_LATE_1234_5_a.py", "Bo Å_77_assignsubmission_file/a.py")
    found = collect(folder, LESSONS)
    assert {one.student: one.is_late for one in found.hand_ins} == {"annlee": True, "Bo Å": False}
    assert {student.id: student.platform_id for student in found.students.values()} == {"annlee": "1234", "Bo Å": "77"}


METADATA = """
submission_11:
  :submitters:
  - :name: "Lee, Ann \\"A\\""
    :sid: 's1'
    :email: ann@example.org
  - :name: 王小明
    :sid: 's2'
    :email: wang@example.org
  :created_at: 2026-01-02 10:00:00.000000000 Z
submission_12:
  :submitters:
  - :name: Bob
    :email: bob@example.org
  :created_at: 2026-01-03 10:00:00.000000000 Z
"""


@pytest.mark.parametrize("wrapper", ["", "assignment_9_export/"])
def test_gradescope_names_everyone_of_a_group(tmp_path, wrapper):
    archive = zipped(tmp_path / "export.zip", {
        f"{wrapper}submission_metadata.yml": METADATA, f"{wrapper}submission_11/a.py": TEXT,
        f"{wrapper}submission_12/a.py": TEXT,
    })  # fmt: skip
    found = collect(archive, LESSONS)
    assert owners(found) == {("s1", "a.py"), ("bob@example.org", "a.py")}
    assert found.students["s1"].name == 'Lee, Ann "A"' and found.students["s2"].name == "王小明"
    assert found.students["s1"].team == found.students["s2"].team == "submission_11"
    assert found.hand_ins[0].received == datetime(2026, 1, 3, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("words", "hour"),
    [("2026-01-02 10:00:00.5 UTC", 10), ("2026-01-02 10:00:00 Europe/Berlin", 9), ("2026-01-02T10:00:00+02:00", 8)],
)
def test_nbgraders_timestamp_says_when(tmp_path, words, hour):
    folder = tree(tmp_path / "class", "ann/ps1/01_thread_mapping.ipynb")
    tree(folder, "ann/ps1/timestamp.txt", text=words)
    (one,) = collect(folder, LESSONS).hand_ins
    assert (one.received.day, one.received.hour) == (2, hour)


def test_a_file_without_a_record_came_when_it_was_written(tmp_path):
    (one,) = collect(tree(tmp_path / "class", "ann/a.py"), LESSONS).hand_ins
    assert one.received == datetime.fromtimestamp(WHEN, UTC)


def test_zips_of_students_inside_a_platforms_zip(tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("work/01_thread_mapping.py", TEXT)
    outer = zipped(tmp_path / "all.zip", {"Ann_7_assignsubmission_file/hw.zip": inner.getvalue()})
    assert owners(collect(outer, LESSONS)) == {("Ann", "01_thread_mapping.py")}


def test_a_students_zip_in_a_folder(tmp_path):
    zipped(tmp_path / "class" / "ann.zip", {"01_thread_mapping.py": TEXT})
    assert owners(collect(tmp_path / "class", LESSONS)) == {("ann", "01_thread_mapping.py")}


def test_a_zip_with_one_folder_around_everybody(tmp_path):
    archive = zipped(tmp_path / "x.zip", {"class/ann/a.py": TEXT, "class/bob/a.py": TEXT})
    assert owners(collect(archive, LESSONS)) == {("ann", "a.py"), ("bob", "a.py")}


def test_whoever_handed_in_nothing_readable_is_named(tmp_path):
    folder = tree(tmp_path / "class", "ann/report.pdf", "bob/a.py", "instructor.txt")
    (folder / "dan").mkdir()
    found = collect(folder, LESSONS)
    assert found.without == {"ann": "no notebook, only report.pdf", "dan": "an empty folder"}
    assert set(found.students) == {"ann", "bob", "dan"}


def test_what_tools_leave_behind_is_no_hand_in(tmp_path):
    folder = tree(
        tmp_path / "class", "ann/a.py", "ann/__pycache__/b.py", "ann/.ipynb_checkpoints/a.ipynb", "__MACOSX/c.py"
    )
    assert owners(collect(folder, LESSONS)) == {("ann", "a.py")}


def test_links_are_not_followed(tmp_path):
    secret = tree(tmp_path, "secret.py") / "secret.py"
    folder = tree(tmp_path / "class", "ann/a.py")
    (folder / "ann" / "b.py").symlink_to(secret)
    problems = {one.file: (one.problem, one.data) for one in collect(folder, LESSONS).hand_ins}
    assert problems["b.py"] == ("a link; links are not followed", b"")


def test_names_in_a_zip_lead_nowhere(tmp_path):
    archive = zipped(tmp_path / "class.zip", {"ann/../../../etc/01_thread_mapping.py": TEXT})
    (one,) = collect(archive, LESSONS).hand_ins
    assert ".." not in one.place and not (tmp_path.parent / "etc").exists()


def test_a_broken_zip_costs_only_its_owner(tmp_path):
    folder = tree(tmp_path / "class", "bob/a.py")
    (folder / "ann").mkdir()
    (folder / "ann" / "work.zip").write_bytes(b"PK\x03\x04 not a zip")
    found = {one.student: one.problem for one in collect(folder, LESSONS).hand_ins}
    assert found["bob"] == "" and "no zip that can be read" in found["ann"]


def test_a_file_that_is_too_large_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(hand_ins, "MAX_NOTEBOOK_BYTES", 4)
    (one,) = collect(tree(tmp_path / "class", "ann/a.py"), LESSONS).hand_ins
    assert "more than the 4" in one.problem and one.data == b""


def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr(entries, "MAX_ARCHIVE_BYTES", 1000)
    archive = zipped(tmp_path / "class" / "ann.zip", {"a.py": "x" * 2000})
    (one,) = collect(archive.parent, LESSONS).hand_ins
    assert "a zip of 2000 bytes" in one.problem


def test_nested_zips_end_somewhere(tmp_path):
    data = TEXT.encode()
    for depth in range(4):
        inner = io.BytesIO()
        with zipfile.ZipFile(inner, "w") as archive:
            archive.writestr("a.py" if depth == 0 else "deeper.zip", data)
        data = inner.getvalue()
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ann.zip").write_bytes(data)
    (one,) = collect(tmp_path / "class", LESSONS).hand_ins
    assert "inside 2 others" in one.problem


@pytest.mark.parametrize("what", ["missing", "file.txt", "empty"])
def test_a_folder_without_hand_ins_is_refused(tmp_path, what):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file.txt").write_text("x")
    with pytest.raises(CollectingProblem):
        collect(tmp_path / what, LESSONS)
