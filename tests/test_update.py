"""course_update.py: a newer release from a file, a folder or git; every answer kept, and in the new text where it can be.

In most tests the course's `grader` is a stand-in that refuses to merge; those of the merge bring the real one.
"""

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from grader.lesson_file import find_literals, replace_literals
from grader.release.starters import starters_json, starters_of
from tests.test_bootstrap import make_course, run

ROOT = Path(__file__).resolve().parents[1]


def answers(folder):
    return {path.name: path.read_text() for path in (folder / "lessons").glob("*.py")}


def make_release(path, files, top=""):
    with zipfile.ZipFile(path, "w") as release:
        for name, text in files.items():
            release.writestr(top + name, text)


@pytest.fixture
def shipped(tmp_path):
    """A course from a bundle, in which the student has answered one of two lessons."""
    folder = tmp_path / "mine"
    folder.mkdir()
    make_course(folder, {"learn": []})
    digests = {f"lessons/{n}": hashlib.sha256(t.encode()).hexdigest() for n, t in answers(folder).items()}
    (folder / "MANIFEST.json").write_text(json.dumps(digests))
    (folder / "lessons" / "04_tiling.py").write_text("tile = 'my answer'\n")
    (folder / "progress.json").write_text("{}")
    return folder


LESSONS = {"lessons/00_start_here.py": "first = 1\n", "lessons/04_tiling.py": "tile = 1\n"}
NEWER = {"course.py": "", "new.md": "hi", **LESSONS}
KEPT_AND_RENEWED = {
    "00_start_here.py": "first = 1\n",
    "04_tiling.py": "tile = 'my answer'\n",
    "04_tiling.new.py": "tile = 1\n",
}


@pytest.mark.parametrize("top", ["", "warpwise-2/"])
def test_update_from_a_release_keeps_answers_and_renews_the_rest(shipped, tmp_path, top):
    make_release(tmp_path / "r.zip", NEWER, top)
    done = run(shipped, "update", str(tmp_path / "r.zip"))
    assert done.returncode == 0, done.stderr
    assert answers(shipped) == KEPT_AND_RENEWED
    assert (shipped / "new.md").read_text() == "hi" and (shipped / "progress.json").exists()
    assert "Kept your 04_tiling.py" in done.stderr and "00_start_here" not in done.stderr


def test_update_without_a_manifest_takes_every_differing_lesson_for_an_answer(shipped, tmp_path):
    (shipped / "MANIFEST.json").unlink()
    make_release(tmp_path / "r.zip", NEWER)
    run(shipped, "update", str(tmp_path / "r.zip"))
    assert answers(shipped)["00_start_here.py"] == "first = 0\n"
    assert answers(shipped)["00_start_here.new.py"] == "first = 1\n"


@pytest.mark.parametrize("name", ["../outside.py", "/outside.py", "lessons/..\\outside.py", "C:/outside.py"])
def test_release_with_a_name_that_leads_out_changes_nothing(shipped, tmp_path, name):
    make_release(tmp_path / "r.zip", {**NEWER, name: "bad"})
    before = answers(shipped)
    done = run(shipped, "update", str(tmp_path / "r.zip"))
    assert done.returncode == 2 and "leads out of the course" in done.stderr
    assert answers(shipped) == before and not list(tmp_path.rglob("outside.py"))


@pytest.mark.parametrize("content", [b"no zip at all", b""])
def test_damaged_release_is_refused(shipped, tmp_path, content):
    (tmp_path / "r.zip").write_bytes(content)
    done = run(shipped, "update", str(tmp_path / "r.zip"))
    assert done.returncode == 2 and "can't be read as a release" in done.stderr


def git(folder, *arguments):
    name = ("-c", "user.name=Nobody", "-c", "user.email=nobody@localhost", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", str(folder), *name, *arguments], check=True, capture_output=True)


@pytest.fixture
def checkout(tmp_path):
    """A clone with one answered lesson, and the repository that it follows, one release ahead."""
    origin, mine = tmp_path / "origin", tmp_path / "mine"
    origin.mkdir()
    make_course(origin, {"learn": []})
    (origin / ".gitignore").write_text("/.course/\n*.new.py\n")
    git(origin, "init", "--quiet")
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "-m", "first")
    git(tmp_path, "clone", "--quiet", str(origin), str(mine))
    (mine / "lessons" / "04_tiling.py").write_text("tile = 'my answer'\n")
    for name in ("00_start_here.py", "04_tiling.py"):
        (origin / "lessons" / name).write_text(LESSONS[f"lessons/{name}"])
    git(origin, "commit", "--quiet", "-am", "second")
    return mine


def test_update_of_a_checkout_keeps_answers_and_renews_the_rest(checkout):
    done = run(checkout, "update")
    assert done.returncode == 0, done.stderr
    assert answers(checkout) == KEPT_AND_RENEWED
    again = run(checkout, "update")
    assert again.returncode == 0 and "Kept" not in again.stderr and answers(checkout) == KEPT_AND_RENEWED


def test_update_that_was_broken_off_gives_the_answer_back(checkout):
    kept = checkout / ".course" / "kept" / "lessons"
    kept.mkdir(parents=True)
    shutil.move(checkout / "lessons" / "04_tiling.py", kept / "04_tiling.py")
    git(checkout, "checkout", "HEAD", "--", "lessons")
    run(checkout, "update")
    assert answers(checkout) == KEPT_AND_RENEWED


def test_update_of_a_checkout_with_other_edits_names_them_and_changes_nothing(checkout, tmp_path):
    (tmp_path / "origin" / "requirements.txt").write_text("newer\n")
    git(tmp_path / "origin", "commit", "--quiet", "-am", "third")
    (checkout / "requirements.txt").write_text("mine\n")
    before = answers(checkout)
    done = run(checkout, "update")
    assert done.returncode == 2 and "requirements.txt" in done.stderr
    assert answers(checkout) == before


# --- lessons that both the student and the release changed

NAME, STARTERS = "lessons/01_thread_mapping.py", "grader/assets/starters.json"
FIRST = (ROOT / NAME).read_text(encoding="utf-8")
ANSWER = """r\"\"\"
int mine;
\"\"\""""
STUDENT = replace_literals(FIRST, {"map1d_src": ANSWER}) + "# a note\n"
SECOND = FIRST.replace("## Why", "## Why, in short").replace("// TODO: this thread's number", "// TODO: its number")
GRADER_LEFT_OUT = shutil.ignore_patterns("__pycache__", "*.pyc")


def make_real_course(folder):
    """A course with the real grader and one real lesson."""
    folder.mkdir()
    make_course(folder, {"learn": []})
    shutil.rmtree(folder / "grader")
    for name in ("grader", "simt"):
        shutil.copytree(ROOT / name, folder / name, ignore=GRADER_LEFT_OUT)
    (folder / NAME).write_text(FIRST, encoding="utf-8")
    (folder / STARTERS).write_text(starters_json(starters_of(FIRST)), encoding="utf-8")


def load_update(folder):
    """The update script of a course, as a module."""
    specification = importlib.util.spec_from_file_location("update_of_a_course", folder / "course_update.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def literals(path):
    return {name: found.text for name, found in find_literals(path.read_text(encoding="utf-8")).items()}


def assert_renewed(folder):
    """The new text with the student's one answer and the new starters; the student's own file beside it."""
    merged, second = literals(folder / NAME), {name: found.text for name, found in find_literals(SECOND).items()}
    assert merged == {**second, "map1d_src": ANSWER}
    assert "## Why, in short" in (folder / NAME).read_text(encoding="utf-8")
    assert (folder / "lessons" / "01_thread_mapping.old.py").read_text(encoding="utf-8") == STUDENT
    assert not list(folder.rglob("*.new.py")) and not (folder / ".course" / "update").exists()


@pytest.fixture
def real(tmp_path):
    """A course from a bundle in which the student answered map1d, and what the next release brings."""
    folder = tmp_path / "mine"
    make_real_course(folder)
    (folder / "MANIFEST.json").write_text(json.dumps({NAME: hashlib.sha256(FIRST.encode()).hexdigest()}))
    (folder / NAME).write_text(STUDENT, encoding="utf-8")
    newer = {"course.py": "", NAME: SECOND, STARTERS: starters_json(starters_of(SECOND))}
    make_release(tmp_path / "r.zip", newer, "warpwise/")
    return folder


def test_newer_lesson_takes_over_the_answer_and_keeps_the_old_file(real, tmp_path):
    done = run(real, "update", str(tmp_path / "r.zip"))
    assert done.returncode == 0, done.stderr
    assert "Renewed 01_thread_mapping.py" in done.stderr and "01_thread_mapping.old.py" in done.stderr
    assert_renewed(real)


def test_update_broken_off_before_the_merge_goes_on_from_the_students_file(real, tmp_path):
    update = load_update(real)
    update.update_from(tmp_path / "r.zip")
    assert (real / NAME).read_text(encoding="utf-8") == STUDENT
    # `course.py` of this release is empty, so the second run starts the script itself.
    script = [sys.executable, str(real / "course_update.py"), str(tmp_path / "r.zip")]
    for _ in range(2):
        done = subprocess.run(script, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert_renewed(real)


@pytest.mark.parametrize("writes", range(6))
def test_update_broken_off_at_any_write_can_be_repeated(real, tmp_path, writes, monkeypatch):
    update, write = load_update(real), []

    def full(path, data, really=update.write):
        if len(write) == writes:
            raise OSError(28, "No space left on device")
        write.append(path)
        really(path, data)

    monkeypatch.setattr(update, "write", full)
    assert update.main([str(tmp_path / "r.zip")]) == 3
    assert literals(real / NAME)["map1d_src"] == ANSWER
    monkeypatch.undo()
    assert load_update(real).main([str(tmp_path / "r.zip")]) == 0
    assert_renewed(real)


def test_lesson_that_does_not_parse_is_kept_with_the_newer_one_beside_it(real, tmp_path):
    (real / NAME).write_text(STUDENT + "def (:", encoding="utf-8")
    done = run(real, "update", str(tmp_path / "r.zip"))
    assert done.returncode == 0 and "could not be merged: " in done.stderr and "does not parse" in done.stderr
    assert (real / NAME).read_text(encoding="utf-8") == STUDENT + "def (:"
    assert (real / "lessons" / "01_thread_mapping.new.py").read_text(encoding="utf-8") == SECOND


def test_update_of_a_checkout_merges_too(tmp_path):
    origin, mine = tmp_path / "origin", tmp_path / "mine"
    make_real_course(origin)
    git(origin, "init", "--quiet")
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "-m", "first")
    git(tmp_path, "clone", "--quiet", str(origin), str(mine))
    (mine / NAME).write_text(STUDENT, encoding="utf-8")
    (origin / NAME).write_text(SECOND, encoding="utf-8")
    (origin / STARTERS).write_text(starters_json(starters_of(SECOND)), encoding="utf-8")
    git(origin, "commit", "--quiet", "-am", "second")
    for _ in range(2):
        done = run(mine, "update")
        assert done.returncode == 0, done.stderr
        assert_renewed(mine)


# --- what a release no longer holds

OLD = ("grader/old.py", "docs/part/old.md", "lessons/09_old.py", "notes.md")


@pytest.fixture
def with_old_files(shipped):
    """The course with more files of its release, one of them changed since, and one of the student's own beside them."""
    manifest = json.loads((shipped / "MANIFEST.json").read_text())
    for name in OLD:
        (shipped / name).parent.mkdir(parents=True, exist_ok=True)
        (shipped / name).write_text(name)
        manifest[name] = hashlib.sha256(name.encode()).hexdigest()
    (shipped / "MANIFEST.json").write_text(json.dumps(manifest))
    (shipped / "notes.md").write_text("mine")
    (shipped / "docs" / "mine.md").write_text("docs/part/old.md")
    compiled = shipped / "grader" / "__pycache__"
    compiled.mkdir(exist_ok=True)
    (compiled / "old.cpython-311.pyc").write_bytes(b"")
    return shipped


def test_files_that_a_release_drops_go_with_their_empty_folders(with_old_files, tmp_path):
    make_release(tmp_path / "r.zip", {**NEWER, "MANIFEST.json": "{}"})
    done = run(with_old_files, "update", str(tmp_path / "r.zip"))
    assert done.returncode == 0, done.stderr
    assert not any((with_old_files / name).exists() for name in OLD[:3])
    assert not list(with_old_files.rglob("old.cpython-311.pyc")) and not (with_old_files / "docs" / "part").exists()


def test_what_was_changed_or_never_shipped_stays(with_old_files, tmp_path):
    make_release(tmp_path / "r.zip", {**NEWER, "MANIFEST.json": "{}"})
    (with_old_files / "lessons" / "09_old.py").write_text("an answer")
    run(with_old_files, "update", str(tmp_path / "r.zip"))
    assert (with_old_files / "notes.md").read_text() == "mine"
    assert (with_old_files / "docs" / "mine.md").exists()
    assert (with_old_files / "lessons" / "09_old.py").read_text() == "an answer"
    assert (with_old_files / "progress.json").exists()


@pytest.mark.parametrize("name", ["../outside.md", ".course/progress.json", ".venv/kept"])
def test_no_manifest_makes_an_update_remove_what_is_no_part_of_a_release(with_old_files, tmp_path, name):
    target = with_old_files / name
    target.parent.mkdir(exist_ok=True)
    target.write_text(name)
    (with_old_files / "MANIFEST.json").write_text(json.dumps({name: hashlib.sha256(name.encode()).hexdigest()}))
    make_release(tmp_path / "r.zip", NEWER)
    load_update(with_old_files).main([str(tmp_path / "r.zip")])
    assert target.read_text() == name


def test_a_file_whose_name_only_changes_its_case_stays(with_old_files, tmp_path):
    make_release(tmp_path / "r.zip", {**NEWER, "Grader/Old.py": "grader/old.py"})
    load_update(with_old_files).main([str(tmp_path / "r.zip")])
    assert (with_old_files / "grader" / "old.py").exists()


# --- what an update leaves alone


def test_answered_lesson_that_the_release_does_not_change_stays_without_a_second_file(shipped, tmp_path):
    make_release(tmp_path / "r.zip", {**NEWER, "lessons/04_tiling.py": "tile = 0\n"})
    done = run(shipped, "update", str(tmp_path / "r.zip"))
    assert done.returncode == 0 and "04_tiling" not in done.stderr
    assert answers(shipped) == {"00_start_here.py": "first = 1\n", "04_tiling.py": "tile = 'my answer'\n"}


def test_file_beside_a_lesson_is_never_overwritten(shipped, tmp_path):
    (shipped / "lessons" / "04_tiling.new.py").write_text("tile = 'worked on here'\n")
    make_release(tmp_path / "r.zip", NEWER)
    run(shipped, "update", str(tmp_path / "r.zip"))
    assert answers(shipped)["04_tiling.new.py"] == "tile = 'worked on here'\n"
    assert answers(shipped)["04_tiling.2.new.py"] == "tile = 1\n"


def test_release_cannot_replace_progress(shipped, tmp_path):
    (shipped / ".course").mkdir()
    (shipped / ".course" / "progress.json").write_text("mine")
    make_release(tmp_path / "r.zip", {**NEWER, ".course/progress.json": "theirs"})
    assert run(shipped, "update", str(tmp_path / "r.zip")).returncode == 0
    assert (shipped / ".course" / "progress.json").read_text() == "mine"


def test_answer_written_after_a_broken_off_update_is_kept_beside(checkout):
    kept = checkout / ".course" / "kept" / "lessons"
    kept.mkdir(parents=True)
    shutil.copy(checkout / "lessons" / "04_tiling.py", kept / "04_tiling.py")
    (checkout / "lessons" / "04_tiling.py").write_text("tile = 'later'\n")
    run(checkout, "update")
    assert answers(checkout) == {**KEPT_AND_RENEWED, "04_tiling.old.py": "tile = 'later'\n"}
