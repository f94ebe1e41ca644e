"""Files that were made to stop a class: each costs its owner at most, within a bounded memory, and is said."""

import bz2
import io
import os
import socket
import struct
import tracemalloc
import zipfile

import pytest

from grader.collecting import CollectingProblem, collect, entries, hand_ins
from tests.grader.collecting.test_collect import LESSONS, TEXT, owners, tree

FILE = "01_thread_mapping.py"


def zip_of(*members, method=zipfile.ZIP_DEFLATED):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return data.getvalue()


def with_table(data, offset, value):
    """The zip with other bytes in its first entry of the table of contents."""
    at = data.rfind(b"PK\x01\x02") + offset
    return data[:at] + value + data[at + len(value) :]


def class_with(tmp_path, name, data):
    """A class in which ann handed in the file, and bob an ordinary one."""
    folder = tree(tmp_path / "class", f"bob/{FILE}")
    (folder / "ann").mkdir()
    (folder / "ann" / name).write_bytes(data)
    return folder


def problems(folder):
    return {one.student: one.problem for one in collect(folder, LESSONS).hand_ins}


def peak_bytes(action):
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


GOOD = zip_of((FILE, TEXT))
ZIPS = {
    "encrypted": (with_table(GOOD, 8, b"\x01\x00"), "cannot be read from its zip"),
    "a version of the future": (with_table(GOOD, 6, b"\xff\x00"), "no zip that can be read"),
    "an unknown method": (with_table(GOOD, 10, b"\x63\x00"), "cannot be read from its zip"),
    "an offset outside": (with_table(GOOD, 42, b"\xf0\xff\xff\xff"), "cannot be read from its zip"),
    "cut": (GOOD[:-10], "no zip that can be read"),
    "empty": (b"", "no zip that can be read"),
}


@pytest.mark.parametrize(("data", "problem"), ZIPS.values(), ids=ZIPS)
def test_a_broken_zip_is_said_to_its_owner(tmp_path, data, problem):
    found = problems(class_with(tmp_path, "work.zip", data))
    assert found["bob"] == "" and problem in found["ann"]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_every_usual_way_to_pack_is_read(tmp_path, method):
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "ann.zip").write_bytes(zip_of((FILE, TEXT), method=method))
    (one,) = collect(tmp_path / "class", LESSONS).hand_ins
    assert one.data == TEXT.encode() and not one.problem


def test_a_class_that_is_a_broken_zip_is_refused(tmp_path):
    (tmp_path / "class.zip").write_bytes(GOOD[:-10])
    with pytest.raises(CollectingProblem, match="no zip that can be read"):
        collect(tmp_path / "class.zip", LESSONS)


def test_only_notebooks_are_kept_in_memory(tmp_path):
    members = [(f"{number}.bin", bytes(1 << 20)) for number in range(40)]
    folder = class_with(tmp_path, "work.zip", zip_of(*members, (FILE, TEXT)))
    assert peak_bytes(lambda: collect(folder, LESSONS)) < 8 << 20


def test_a_zip_of_many_long_notebooks_is_not_unpacked(tmp_path):
    members = [(f"{number}.py", bytes(2 << 20)) for number in range(33)]
    folder = class_with(tmp_path, "work.zip", zip_of(*members))
    assert peak_bytes(lambda: problems(folder)) < 8 << 20
    assert "more than 67108864" in problems(folder)["ann"]


@pytest.mark.parametrize("claimed", [10, 80 << 20])
def test_a_zip_inside_a_zip_is_not_unpacked_beyond_its_limit(tmp_path, claimed):
    data = with_table(zip_of(("inner.zip", bytes(80 << 20))), 24, struct.pack("<I", claimed))
    folder = class_with(tmp_path, "work.zip", data)
    assert peak_bytes(lambda: problems(folder)) < 8 << 20
    assert problems(folder)["ann"]


def test_what_a_step_of_bzip2_unpacks_is_bounded(tmp_path):
    packed = bz2.compress(bytes(900_000 - 20))
    assert entries.STEP_BYTES / len(packed) * 900_000 < 100 << 20


def test_a_table_of_contents_is_read_only_up_to_its_limit(tmp_path):
    folder = class_with(tmp_path, "work.zip", b"")
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 1 << 30, 0, 0)
    with (folder / "ann" / "work.zip").open("wb") as file:
        file.seek(1 << 30)  # zeros that take no place on the disk
        file.write(end)
    assert peak_bytes(lambda: problems(folder)) < 8 << 20
    assert "a table of contents of 1073741824 bytes" in problems(folder)["ann"]


def test_what_is_no_file_is_said_and_not_waited_for(tmp_path):
    folder = tree(tmp_path / "class", f"bob/{FILE}", "ann/a.txt", "cy/a.txt")
    os.mkfifo(folder / "ann" / FILE)
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(folder / "cy")  # a socket's name is short
        listener.bind(FILE)
        os.chdir(here)
    assert problems(folder) == dict.fromkeys(("ann", "cy"), "a pipe, a socket or a device, and no file") | {"bob": ""}


@pytest.mark.parametrize("becomes", ["a link", "a pipe", "longer"])
def test_a_file_that_changes_while_it_is_read_is_not_followed_or_waited_for(tmp_path, monkeypatch, becomes):
    folder = class_with(tmp_path, FILE, TEXT.encode())
    changing, secret = folder / "ann" / FILE, tmp_path / "secret.py"
    secret.write_text("secret = 1\n")
    opened = os.open

    def change_first(path, *rest, **more):
        if path == changing and becomes != "longer":
            changing.unlink()
            changing.symlink_to(secret) if becomes == "a link" else os.mkfifo(changing)
        return opened(path, *rest, **more)

    def grow_first(descriptor):
        status = os.stat(descriptor)
        if becomes == "longer" and os.path.samestat(status, os.stat(changing)):
            changing.write_bytes(bytes(hand_ins.MAX_NOTEBOOK_BYTES + 1))
        return status

    monkeypatch.setattr(entries.os, "open", change_first)
    monkeypatch.setattr(entries.os, "fstat", grow_first)
    (one,) = [one for one in collect(folder, LESSONS).hand_ins if one.student == "ann"]
    assert one.data == b""
    assert one.problem or becomes == "a pipe"


def test_links_in_a_circle_stop_nobody(tmp_path):
    folder = tree(tmp_path / "class", f"bob/{FILE}")
    (folder / "ann").mkdir()
    (folder / "ann" / FILE).symlink_to(folder / "ann" / FILE)
    (folder / "ann" / "loop").symlink_to(folder / "ann")
    found = {one.student: one.problem for one in collect(folder, LESSONS, [tmp_path / "pack"]).hand_ins}
    assert found == {"ann": "a link; links are not followed", "bob": ""}


@pytest.mark.parametrize(
    "words",
    ["9999-12-31 23:59:59 America/New_York", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
     "2026-01-01 00:00:00 ../../etc/passwd", "2026-01-01 00:00:00 America", "2026-99-99 00:00:00 UTC", "\0", "x" * 100_000],
)  # fmt: skip
def test_a_time_that_there_is_not_stops_nobody(tmp_path, words):
    folder = tree(tmp_path / "class", f"ann/ps1/{FILE}", f"bob/ps1/{FILE}")
    tree(folder, "ann/ps1/timestamp.txt", text=words)
    assert owners(collect(folder, LESSONS)) == {("ann", FILE), ("bob", FILE)}


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
LISTS = {
    "a date that there is not": "submission_1:\n  :created_at: 2026-99-99\n",
    "a year that there is not": "submission_1:\n  :created_at: 9999-12-31 23:59:59 -23:00\n",
    "a number of 10,000 digits": f"submission_1: {'9' * 10_000}\n",
    "laughs": LAUGHS + "submission_1:\n  :submitters:\n  - :name: *a11\n",
    "itself": "submission_1: &a\n  :submitters:\n  - :name: *a\n",
    "half a character": 'submission_1:\n  :submitters:\n  - :name: "\\ud800\\e[2J"\n',
    "no list": "submission_1:\n  :submitters: 5\n",
    "a program": "!!python/object/apply:os.abort []\n",
}


@pytest.mark.parametrize("text", LISTS.values(), ids=LISTS)
def test_a_damaged_list_of_gradescope_stops_nobody(tmp_path, text):
    folder = tree(tmp_path / "class", f"submission_1/{FILE}", f"submission_2/{FILE}")
    tree(folder, "submission_metadata.yml", text=text)
    found = collect(folder, LESSONS)
    assert len(found.hand_ins) == 2
    assert all(len(name) < 100 and name.isprintable() for name in found.students)


@pytest.mark.parametrize("owner", ["ann", "ann_11_assignsubmission_file", "ann_1_5_work"])
def test_a_list_that_a_student_handed_in_is_not_even_read(tmp_path, monkeypatch, owner):
    other = owner.replace("ann", "bob").replace("1", "2")
    folder = tree(tmp_path / "class", f"{owner}/{FILE}", f"{other}/{FILE}", f"{owner}/submission_metadata.yml")
    monkeypatch.setattr("yaml.safe_load", lambda data: pytest.fail("it was parsed"))
    assert owners(collect(folder, LESSONS)) == {("ann", FILE), ("bob", FILE)}


def test_a_flood_of_notebooks_is_read_up_to_its_newest(tmp_path, monkeypatch):
    monkeypatch.setattr(hand_ins, "MOST_HAND_INS", 3)
    folder = tree(tmp_path / "class", f"bob/{FILE}")
    for number in range(5):
        file = tree(folder, f"ann/{number}.py") / "ann" / f"{number}.py"
        os.utime(file, (number, number))
    found = [(one.file, one.problem) for one in collect(folder, LESSONS).hand_ins if one.student == "ann"]
    assert found == [
        ("1.py", "5 notebooks of ann, more than the 3 newest that are read"),
        *((f"{n}.py", "") for n in (2, 3, 4)),
    ]
