"""Names in a class: namesakes stay two people, nobody hands in for another, and no name stops the class."""

import io
import os
import zipfile

import pytest

from grader.collecting import Student, as_known, collect
from grader.collecting import entries as entries_module
from tests.grader.collecting.test_collect import LESSONS, TEXT, owners, tree

FILE = "01_thread_mapping.py"


def students(found):
    return {one.id: (one.name, one.platform_id) for one in found.students.values()}


NAMESAKES = {
    "canvas": [f"smithjohn_1001_51_{FILE}", f"smithjohn_1002_52_{FILE}", f"leeann_1003_53_{FILE}"],
    "moodle": [f"{name}_assignsubmission_file/{FILE}" for name in ("smithjohn_1001", "smithjohn_1002", "leeann_1003")],
}


@pytest.mark.parametrize("paths", NAMESAKES.values(), ids=NAMESAKES)
def test_two_students_of_one_name_stay_two(tmp_path, paths):
    found = collect(tree(tmp_path / "class", *paths), LESSONS)
    assert students(found) == {
        "smithjohn (1001)": ("smithjohn", "1001"), "smithjohn (1002)": ("smithjohn", "1002"), "leeann": ("leeann", "1003"),
    }  # fmt: skip
    assert {one.student for one in found.hand_ins} == set(found.students)


def test_moodles_numbers_of_two_assignments_are_one_student(tmp_path):
    paths = [f"A1/Ann_11_assignsubmission_file/{FILE}", f"A2/Ann_57_assignsubmission_file/{FILE}"]
    assert set(collect(tree(tmp_path / "class", *paths), LESSONS).students) == {"Ann"}


def test_whoever_was_alone_with_a_name_keeps_it(tmp_path):
    found = collect(tree(tmp_path / "class", *NAMESAKES["canvas"]), LESSONS)
    known = {"smithjohn": Student("smithjohn", "smithjohn", "1001"), "leeann": Student("leeann", "leeann", "1003")}
    again = as_known(found, known)
    assert students(again) == {
        "smithjohn": ("smithjohn", "1001"), "smithjohn (1002)": ("smithjohn", "1002"), "leeann": ("leeann", "1003"),
    }  # fmt: skip
    assert {one.student for one in again.hand_ins} == set(again.students)
    assert as_known(again, {one.id: one for one in again.students.values()}) is again


BOB = ("bob+ps1+2026-01-02 10:00:00 UTC", "bob_12_assignsubmission_file", "submission_7")
OUTER = {
    "a folder a student": ["ann/{inner}/" + FILE, "cy/" + FILE],
    "canvas": ["ann_1_5_work/{inner}/" + FILE, f"cy_2_6_{FILE}"],
    "moodle": ["ann_11_assignsubmission_file/{inner}/" + FILE, f"cy_13_assignsubmission_file/{FILE}"],
    "exchange": ["inbound/ann+ps1+2026-01-02 10:00:00 UTC/{inner}/" + FILE,
                 f"inbound/cy+ps1+2026-01-02 10:00:00 UTC/{FILE}"],
}  # fmt: skip


@pytest.mark.parametrize("inner", [*BOB, f"bob_1_5_{FILE[:-3]}"])
@pytest.mark.parametrize("paths", OUTER.values(), ids=OUTER)
def test_nobody_hands_in_for_another(tmp_path, paths, inner):
    found = collect(tree(tmp_path / "class", *(path.format(inner=inner) for path in paths)), LESSONS)
    assert {student for student, _ in owners(found)} == {"ann", "cy"}


def test_a_submission_cannot_rewrite_gradescopes_list(tmp_path):
    folder = tree(tmp_path / "class", f"submission_1/{FILE}", f"submission_2/{FILE}")
    text = "{0}:\n  :submitters:\n  - :name: {1}\n    :sid: {1}\n"
    (folder / "submission_metadata.yml").write_text(
        text.format("submission_1", "ann") + text.format("submission_2", "bob")
    )
    (folder / "submission_1" / "submission_metadata.yml").write_text(text.format("submission_1", "bob"))
    assert {one.student for one in collect(folder, LESSONS).hand_ins} == {"ann", "bob"}


def test_a_canvas_zip_is_its_owners(tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr(FILE, TEXT)
    folder = tree(tmp_path / "class", f"cy_2_6_{FILE}")
    (folder / "ann_LATE_1_5_work.zip").write_bytes(inner.getvalue())
    found = collect(folder, LESSONS)
    assert owners(found) == {("ann", FILE), ("cy", FILE)}
    assert {one.student for one in found.hand_ins if one.is_late} == {"ann"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [(b"\xff\xfe", "\\xff\\xfe"), (b"two\nlines", "two\\x0alines"), (b"\x1b[31mred", "\\x1b[31mred"),
     ("\u202egnp".encode(), "\\x202egnp"),
     ("e\u0301".encode(), "é"), ("王小明".encode(), "王小明"), (b"n" * 250, "n" * 250), (b"%s {0}", "%s {0}")],
)  # fmt: skip
def test_every_name_is_text_that_can_be_kept_and_shown(tmp_path, name, shown):
    folder = os.path.join(os.fsencode(tmp_path), b"class", name)
    os.makedirs(folder)
    with open(os.path.join(folder, FILE.encode()), "w") as file:
        file.write(TEXT if isinstance(TEXT, str) else TEXT.decode())
    assert owners(collect(tmp_path / "class", LESSONS)) == {(shown, FILE)}


def test_what_cannot_be_read_costs_only_its_owner(tmp_path, monkeypatch):
    folder = tree(tmp_path / "class", f"ann/{FILE}", f"bob/{FILE}", f"cy/{FILE}")
    walk, status = os.walk, entries_module.Path.lstat

    def shut_walk(top, onerror=lambda error: None):
        for where, folders, files in walk(top):
            if os.path.basename(where) == "cy":
                onerror(PermissionError(13, "Permission denied", where))
            else:
                yield where, folders, files

    def shut_file(path):
        if path.parent.name == "ann":
            raise PermissionError(13, "Permission denied", str(path))
        return status(path)

    monkeypatch.setattr(entries_module.os, "walk", shut_walk)
    monkeypatch.setattr(entries_module.Path, "lstat", shut_file)
    found = {one.student: one.problem for one in collect(folder, LESSONS).hand_ins}
    assert found == {
        "ann": "cannot be read: Permission denied", "bob": "", "cy": "a folder that cannot be read: Permission denied",
    }  # fmt: skip


def test_damaged_data_in_a_zip_costs_only_its_owner(tmp_path):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as writing:
        writing.writestr(FILE, "x = 1\n" * 500)
    damaged = bytearray(archive.getvalue())
    start = 30 + len(FILE)  # the local header, then the name, then the data
    damaged[start : start + 4] = b"\xff\xff\xff\xff"
    folder = tree(tmp_path / "class", f"bob/{FILE}")
    (folder / "ann").mkdir()
    (folder / "ann" / "work.zip").write_bytes(damaged)
    found = {one.student: one.problem for one in collect(folder, LESSONS).hand_ins}
    assert found["bob"] == "" and "cannot be read from its zip" in found["ann"]
