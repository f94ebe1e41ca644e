"""What learning platforms, nbgrader and people's own zips look like as a whole: everybody is found, nobody is made up."""

import io
import unicodedata
import zipfile

import pytest

from grader.collecting import collect
from tests.grader.collecting.test_collect import LESSONS, TEXT, owners, tree, zipped

FILE = "01_thread_mapping.ipynb"
EXCHANGE = [
    f"inbound/ann+ps1+2026-01-02 10:00:00.5 UTC+xyz/{FILE}", "inbound/ann+ps1+2026-01-02 10:00:00.5 UTC+xyz/timestamp.txt",
    f"inbound/bob+ps1+2026-01-02 11:00:00 UTC/{FILE}", f"outbound/ps1/{FILE}", "feedback/0a1b.html",
]  # fmt: skip
COURSE = [
    "nbgrader_config.py", "gradebook.db", f"source/ps1/{FILE}", f"release/ps1/{FILE}", f"submitted/ann/ps1/{FILE}",
    f"submitted/bob/ps1/{FILE}", f"autograded/ann/ps1/{FILE}", "feedback/ann/ps1/01_thread_mapping.html",
]  # fmt: skip
# what is given -> the files in it; in each ann and bob handed in, and nobody else did
WHOLE = {
    "an exchange": [f"warpwise/{path}" for path in EXCHANGE],
    "a course's part of an exchange": EXCHANGE,
    "its inbound": [path.removeprefix("inbound/") for path in EXCHANGE if path.startswith("inbound/")],
    "nbgrader's course folder": COURSE,
    "its submitted": [path.removeprefix("submitted/") for path in COURSE if path.startswith("submitted/")],
    "canvas, resubmitted": [f"ann_100_51_{FILE}", f"ann_100_57_{FILE.replace('.', '-1.')}", f"bob_LATE_101_52_{FILE}"],
    "moodle, with the other kinds": [
        f"ann_1_assignsubmission_file/{FILE}", "ann_1_assignsubmission_onlinetext/onlinetext.html",
        f"bob_2_assignsubmission_file/work/{FILE}",
    ],
    "with what systems leave": [
        f"ann/{FILE}", f"ann/._{FILE}", f"__MACOSX/ann/._{FILE}", "ann/.DS_Store", ".DS_Store", f"bob/{FILE}", "bob/Thumbs.db",
        "bob/desktop.ini", f"bob/.ipynb_checkpoints/{FILE}", "bob/.venv/lib/python3.13/site-packages/numpy/setup.py",
        "bob/env/Lib/site-packages/pip/pip.py",
    ],
}  # fmt: skip


@pytest.mark.parametrize("paths", WHOLE.values(), ids=WHOLE)
def test_everybody_of_a_whole_folder(tmp_path, paths):
    found = collect(tree(tmp_path / "class", *paths), LESSONS)
    assert owners(found) == {("ann", FILE), ("bob", FILE)}
    assert set(found.students) == {"ann", "bob"} and not found.without


@pytest.mark.parametrize("slash", ["/", "\\"])
@pytest.mark.parametrize("wrapper", ["", "my class/"])
@pytest.mark.parametrize("paths", WHOLE.values(), ids=WHOLE)
def test_everybody_of_a_whole_folder_in_a_zip(tmp_path, paths, wrapper, slash):
    """Windows has written zips with backslashes, and folders as members of their own."""
    names = [wrapper + path for path in paths]
    folders = {name.rsplit("/", 1)[0] + "/" for name in names if "/" in name}
    archive = zipped(tmp_path / "class.zip", {name.replace("/", slash): TEXT for name in [*sorted(folders), *names]})
    found = collect(archive, LESSONS)
    assert owners(found) == {("ann", FILE), ("bob", FILE)}
    assert set(found.students) == {"ann", "bob"} and not found.without


def test_canvas_hides_names_and_still_tells_people_apart(tmp_path):
    paths = [f"anon_aB3xY_51_{FILE}", f"anon_aB3xY_52_{FILE.replace('01', '04')}", f"LATE_anon_7kQpz_53_{FILE}"]
    found = collect(tree(tmp_path / "class", *paths), LESSONS)
    assert {one.student: one.is_late for one in found.hand_ins} == {"anon_aB3xY": False, "anon_7kQpz": True}


def test_moodle_names_a_group_with_or_without_its_number(tmp_path):
    paths = [f"Team 1_7_assignsubmission_file/{FILE}", f"Default group_assignsubmission_file/{FILE}"]
    assert set(collect(tree(tmp_path / "class", *paths), LESSONS).students) == {"Team 1", "Default group"}


def member(name, raw):
    """A zip with one member whose name is `raw`, without the flag that says UTF-8, as macOS and old Windows write it."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as writing:
        writing.writestr("x" * len(raw), TEXT)
    return archive.getvalue().replace(b"x" * len(raw), raw)


@pytest.mark.parametrize("encoding", ["cp437", "utf-8"])
def test_names_of_a_zip_that_does_not_say_how_they_are_written(tmp_path, encoding):
    name = f"Jörg Müller/{FILE}"
    (tmp_path / "class.zip").write_bytes(member(name, name.encode(encoding)))
    assert owners(collect(tmp_path / "class.zip", LESSONS)) == {("Jörg Müller", FILE)}


def test_both_forms_of_an_umlaut_are_one_student(tmp_path):
    composed, decomposed = (unicodedata.normalize(form, "Jörg") for form in ("NFC", "NFD"))
    folder = tree(tmp_path / "class", f"{composed}/{FILE}")
    zipped(folder / f"{decomposed}.zip", {FILE.replace("01", "04"): TEXT})
    assert set(collect(folder, LESSONS).students) == {composed}


def test_whoever_handed_in_only_what_a_system_leaves_is_named(tmp_path):
    folder = tree(tmp_path / "class", f"ann/{FILE}", "bob/.DS_Store", "cy/Thumbs.db")
    zipped(folder / "dan.zip", {f"__MACOSX/._{FILE}": TEXT})
    found = collect(folder, LESSONS)
    said = found.without | {one.student: one.problem for one in found.hand_ins if one.problem}
    assert said == {"bob": "an empty folder", "cy": "an empty folder", "dan": "an empty zip"}
