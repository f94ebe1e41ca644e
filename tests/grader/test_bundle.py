"""What a class gets in one file: everything to learn with, no answer, and references that stay shut."""

import json
import os
import re
import stat
import subprocess
import sys
import zipfile
from datetime import date
from pathlib import Path

import pytest

from grader.cli import main
from grader.commands.status import Status
from grader.exercises import all_exercises
from grader.release.bundle import BundleProblem, write_bundle
from grader.release.clearing import clear, solved
from grader.release.locked import LOCKED, Locked, WrongKey, lock, new_key, open_reference
from grader.release.references import all_references
from tests.processes import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = sorted((ROOT / "solutions").glob("*.py"))
MAP1D = "thread_mapping.map1d"
BLOCK = re.compile(r"^[ \t]*(?://|#) BEGIN SOLUTION$(.*?)^[ \t]*(?://|#) (?:STARTER|END SOLUTION)$", re.M | re.S)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory):
    """(zip file, key file) of `release --bundle` on this course."""
    target = tmp_path_factory.mktemp("bundle") / "course.zip"
    assert main(["release", "--bundle", str(target), "--json"]) == Status.PASSED
    return target, target.with_name("course.zip.key")


@pytest.fixture
def unpacked(bundle, tmp_path):
    with zipfile.ZipFile(bundle[0]) as archive:
        archive.extractall(tmp_path)
    return tmp_path / "warpwise"


def contents(path):
    with zipfile.ZipFile(path) as archive:
        return {name.removeprefix("warpwise/"): archive.read(name) for name in archive.namelist()}


def squeezed(text):
    return re.sub(r"\s+", "", text)


def grader(folder, *words):
    """(status, last JSON line) of a command of an unpacked bundle."""
    environment = os.environ | {"PYTHONPATH": str(folder), "WARPWISE_PROGRESS": str(folder / "progress.json")}
    done = subprocess.run(
        [sys.executable, "-m", "grader", *words, "--json"], cwd=folder, env=environment, capture_output=True, text=True,
        timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    return done.returncode, json.loads(lines[-1]) if lines else {}


def test_it_holds_what_a_class_may_have(bundle):
    names = set(contents(bundle[0]))
    for path in (*SOLUTIONS, *(ROOT / "assets").glob("*.svg")):
        assert (f"lessons/{path.name}" if path.suffix == ".py" else f"assets/{path.name}") in names
    assert {"course.py", "requirements.txt", "grader/cli.py", "simt/program.py", LOCKED} <= names
    assert not [name for name in names if name.split("/")[0] in ("solutions", "tests", "nbgrader", ".course")]


def test_what_its_readme_and_messages_name_is_in_it(bundle):
    held = contents(bundle[0])
    links = set(re.findall(r"\]\(([\w/.]+)\)", held["README.md"].decode()))
    assert {"docs/simt.md", "CONTRIBUTING.md"} <= links and links <= set(held)
    pages = {page for data in held.values() for page in re.findall(rb"(?<![\w/])docs/\w+\.md", data)}
    assert {page.decode() for page in pages} <= set(held)


def test_no_text_of_a_solution_is_in_it(bundle):
    texts = {name: squeezed(data.decode("utf-8", "replace")) for name, data in contents(bundle[0]).items()}
    blocks = [block for path in SOLUTIONS for block in BLOCK.findall(path.read_text(encoding="utf-8"))]
    assert len(blocks) >= len(SOLUTIONS)
    assert not [(name, block) for block in map(squeezed, blocks) for name, text in texts.items() if block in text]


def test_the_search_would_find_a_solution(bundle):
    """The search above is no use unless a leaked solution has the form that it looks for."""
    for path in SOLUTIONS:
        text = path.read_text(encoding="utf-8")
        for block in map(squeezed, BLOCK.findall(text)):
            assert block in squeezed(solved(text)) and block not in squeezed(clear(text))


def test_hidden_seeds_among_its_files_stop_it(tmp_path, monkeypatch):
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "seeds.json").write_text('{"id": "s"}')
    monkeypatch.setenv("WARPWISE_SEEDS", str(tmp_path / "assets" / "seeds.json"))
    with pytest.raises(BundleProblem, match="hidden seeds"):
        write_bundle(tmp_path, tmp_path / "course.zip")
    assert not (tmp_path / "course.zip").exists()


def test_the_key_is_the_instructors_alone(bundle):
    target, key = bundle
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    secret = key.read_text().strip().encode()
    assert not [name for name, data in contents(target).items() if secret in data]


def test_the_same_key_gives_the_same_bytes():
    key, references = new_key(), all_references(ROOT / "solutions")
    assert lock(references, key) == lock(references, key) != lock(references, new_key())


def test_freezing_the_score_opens_nothing_and_the_key_does(bundle, unpacked):
    status, said = grader(unpacked, "solution", MAP1D, "--freeze")
    assert status == Status.NOT_PASSED and "your instructor's key opens it" in said["error"]
    status, said = grader(unpacked, "solution", MAP1D, "--freeze", "--key", bundle[1].read_text().strip())
    assert status == Status.PASSED
    assert said["reference"] == all_references(ROOT / "solutions")[MAP1D]


def test_the_key_does_not_replace_the_pass(bundle, unpacked):
    status, said = grader(unpacked, "solution", MAP1D, "--key", bundle[1].read_text().strip())
    assert status == Status.NOT_PASSED and "nothing was tried yet" in said["error"]


def test_a_wrong_key_is_refused(unpacked):
    for key in (new_key(), "guess"):
        assert grader(unpacked, "solution", MAP1D, "--freeze", "--key", key)[0] == Status.USAGE


REFERENCES = {"a.one": {"one_src": "text"}, "a.two": {"two_src": "text"}}


def shut(tmp_path, key, opens=None):
    path = tmp_path / "references.json"
    path.write_text(lock(REFERENCES, key, opens))
    return path


def test_a_date_opens_it(tmp_path):
    path = shut(tmp_path, new_key(), date(2026, 12, 24))
    with pytest.raises(Locked, match="2026-12-24"):
        open_reference(path, "a.one", None, date(2026, 12, 23))
    assert open_reference(path, "a.one", None, date(2026, 12, 24)) == {"one_src": "text"}


def test_without_a_date_no_day_opens_it(tmp_path):
    with pytest.raises(Locked, match="key"):
        open_reference(shut(tmp_path, new_key()), "a.one", None, date(2999, 1, 1))


def test_a_reference_cannot_be_moved_to_another_exercise(tmp_path):
    key = new_key()
    path = shut(tmp_path, key)
    data = json.loads(path.read_text())
    data["references"]["a.one"] = data["references"]["a.two"]
    path.write_text(json.dumps(data))
    with pytest.raises(WrongKey):
        open_reference(path, "a.one", key, date(2026, 1, 1))


def test_an_exercise_without_a_reference_is_named(tmp_path):
    key = new_key()
    with pytest.raises(LookupError, match=r"b\.three"):
        open_reference(shut(tmp_path, key), "b.three", key, date(2026, 1, 1))


def test_every_exercise_of_a_lesson_has_a_reference():
    lessons = {path.stem for path in SOLUTIONS}
    assert set(all_references(ROOT / "solutions")) == {row.id for row in all_exercises() if row.lesson in lessons}


@pytest.mark.parametrize("words", [("--opens", "soon"), ("--key", "/no/such/folder/key")])
def test_a_wrong_date_or_key_file_is_refused(tmp_path, words):
    assert main(["release", "--bundle", str(tmp_path / "x.zip"), *words, "--json"]) == Status.USAGE
