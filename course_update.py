"""Moves the course to a newer release and keeps every answer: `python3 course.py update [RELEASE.zip or folder]`.

Where both the student and the release changed a lesson, the newer text takes over the student's answers and the old
file stays beside it as NAME.old.py. Where the two can't be merged the student's file stays as it is, and the newer text
goes beside it as NAME.new.py. Everything else is replaced by the release's; what the release no longer holds goes,
unless it was changed here. Progress is no part of a release and is
never touched. Broken off at any point, the same command goes on: a student's file stays in its place until a merged one
replaces it, and what waits to be merged lies in `.course/update`.

Standard library only, in the syntax of Python 3.6, like course.py: it has to run when the installed environment is too
old to. Only the merge itself is the business of `grader`.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent
KEPT = ROOT / ".course" / "kept"
# Newer lessons that wait to be merged, and the starters that the answers in use began with.
WAITING = ROOT / ".course" / "update"
OLD_STARTERS = WAITING / "starters.json"
STARTERS = ROOT / "grader" / "assets" / "starters.json"
MANIFEST = "MANIFEST.json"
NO_RELEASE_HOLDS = {".git", ".venv", ".course", "__pycache__"}
MERGE_SECONDS = 120


class UpdateError(Exception):
    """Why there is no update now; nothing was changed when it is raised."""


def is_answers(name):
    """Whether a student writes in this file."""
    return name.startswith("lessons/") and name.endswith(".py") and not name.endswith((".new.py", ".old.py"))


def write(path, data):
    """Puts a file in place whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    if path.exists():
        shutil.copymode(str(path), str(part))
    os.replace(str(part), str(path))


def write_beside(path, data, age):
    """Keeps a text beside a lesson, as 04_tiling.old.py or .new.py; returns its path. No earlier one is overwritten."""
    number = 1
    while True:
        beside = path.with_name("{}{}.{}.py".format(path.stem, "" if number == 1 else f".{number}", age))
        if not beside.exists():
            write(beside, data)
        if beside.read_bytes() == data:
            return beside
        number += 1


def say(text):
    print(text, file=sys.stderr, flush=True)


# --- from a release: a zip file or an unpacked folder


def read_release(path):
    """The files of a release, by name relative to its top."""
    if path.is_dir():
        files = {p.relative_to(path).as_posix(): p.read_bytes() for p in path.rglob("*") if is_released(p, path)}
    else:
        try:
            with zipfile.ZipFile(str(path)) as release:
                if release.testzip():
                    raise UpdateError(f"{path} is damaged: {release.testzip()}")
                files = {i.filename: release.read(i) for i in release.infolist() if not i.filename.endswith("/")}
        except (OSError, zipfile.BadZipFile) as error:
            raise UpdateError(f"{path} can't be read as a release: {error}") from None
    tops = {name.split("/")[0] for name in files}
    if len(tops) == 1 and "course.py" not in files:
        files = {name.partition("/")[2]: data for name, data in files.items()}
    for name in files:
        if PurePosixPath(name).is_absolute() or ".." in name.split("/") or "\\" in name or ":" in name:
            raise UpdateError(f"{path} holds the name {name!r}, which leads out of the course: not a release.")
    if "course.py" not in files or not any(is_answers(name) for name in files):
        raise UpdateError(f"{path} holds no course.py and lessons: not a release of this course.")
    return {name: data for name, data in files.items() if not NO_RELEASE_HOLDS & set(name.split("/"))}


def is_released(path, top):
    """Whether a file of an unpacked release belongs to it."""
    return path.is_file() and not NO_RELEASE_HOLDS & set(path.relative_to(top).parts)


def shipped():
    """The digest of each file as this release brought it; a lesson that is not in it counts as changed."""
    try:
        return json.loads((ROOT / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def update_from(path):
    """Takes over a release, but for the lessons that the student changed: those of them that it renews have to wait."""
    files, as_shipped = read_release(path), shipped()
    dropped = set(as_shipped) - set(files)
    kept = {name.lower() for name in files}  # where case does not tell files apart, a renamed one is not to go
    for name in filter(is_answers, sorted(files)):
        target = ROOT / name
        if not target.exists():
            continue
        old, was = target.read_bytes(), as_shipped.get(name)
        if hashlib.sha256(old).hexdigest() == was:
            continue
        new = files.pop(name)
        if old != new and (hashlib.sha256(new).hexdigest() != was or (WAITING / name).exists()):
            wait(name, new)
    last = (MANIFEST, "course_update.py", "course.py")
    put([name for name in files if name not in last], files)
    for name in sorted(dropped):
        if name.lower() not in kept:
            drop(name, as_shipped[name])
    # The manifest comes after what it is needed for, so that a run that was broken off can be repeated.
    put([name for name in last if name in files], files)


def put(names, files):
    """Writes those of a release's files that are not here already."""
    for name in sorted(names, key=lambda n: (n == "course.py", n)):
        target = ROOT / name
        if not target.exists() or target.read_bytes() != files[name]:
            write(target, files[name])


def drop(name, was):
    """Removes a file that is as its release brought it, and the folders that this leaves empty."""
    parts = PurePosixPath(name).parts
    if PurePosixPath(name).is_absolute() or ".." in parts or NO_RELEASE_HOLDS & set(parts):
        return
    target = ROOT / name
    if target.is_symlink() or not target.is_file() or hashlib.sha256(target.read_bytes()).hexdigest() != was:
        return
    target.unlink()
    for compiled in (target.parent / "__pycache__").glob(target.stem + ".*.pyc"):
        compiled.unlink()
    for folder in (target.parent / "__pycache__", *target.parents):
        if folder == ROOT or (folder.exists() and any(folder.iterdir())):
            break
        if folder.exists():
            folder.rmdir()


# --- in a git checkout


def git(*arguments):
    """What git prints; UpdateError with git's own words when it fails."""
    return git_bytes(*arguments).decode("utf-8", "replace").strip()


def git_bytes(*arguments):
    command = ("git", "-C", str(ROOT)) + arguments
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError:
        raise UpdateError("git is not installed; download the newer release and give its path.") from None
    if done.returncode:
        raise UpdateError("git {} failed:\n{}".format(arguments[0], done.stderr.decode("utf-8", "replace").strip()))
    return done.stdout


def pull():
    """Fast-forwards to the branch that this checkout follows; answers are out of git's way meanwhile."""
    put_back()
    git("fetch")
    here, there = git("rev-parse", "HEAD"), git("rev-parse", "@{upstream}")
    if here != there:
        move(here, there)
    tracked = set(git("ls-tree", "-r", "--name-only", "HEAD", "lessons/").splitlines())
    for waiting in sorted((WAITING / "lessons").rglob("*.py")):
        name = waiting.relative_to(WAITING).as_posix()
        if name in tracked:
            write(waiting, git_bytes("show", f"HEAD:{name}"))
        else:
            waiting.unlink()


def move(here, there):
    """From one commit to a later one; the lessons that both sides changed have to wait."""
    if git("merge-base", here, there) != here:
        raise UpdateError("This checkout has commits of its own; git can't just move forward: rebase or merge by hand.")
    theirs = set(git("diff", "--name-only", here, there).splitlines())
    clashing = sorted(theirs & set(git("diff", "--name-only", "HEAD").splitlines()))
    foreign = [name for name in clashing if not is_answers(name)]
    if foreign:
        raise UpdateError("Changed here and in the release; undo your changes first: " + ", ".join(foreign))
    for name in clashing:
        wait(name, b"")
        if (ROOT / name).exists():
            write(KEPT / name, (ROOT / name).read_bytes())
    try:
        if clashing:
            git("checkout", "HEAD", "--", *clashing)
        git("merge", "--ff-only", "--quiet", there)
    finally:
        put_back()


def put_back():
    """Puts answers that were out of git's way back in place; also after a run that was broken off."""
    for saved in sorted(KEPT.rglob("*.py")) if KEPT.exists() else ():
        name, answer = saved.relative_to(KEPT).as_posix(), saved.read_bytes()
        target = ROOT / name
        if target.exists() and target.read_bytes() != answer and git("diff", "--name-only", "HEAD", "--", name):
            write_beside(target, target.read_bytes(), "old")  # Written since that run: another answer.
        write(target, answer)
        saved.unlink()


# --- lessons that both sides changed


def wait(name, new):
    """Notes the newer text of a lesson, to be merged once everything else is in place."""
    if not OLD_STARTERS.exists():
        write(OLD_STARTERS, STARTERS.read_bytes() if STARTERS.exists() else b"{}")
    write(WAITING / name, new)


def settle():
    """Merges every lesson that waits, and says what became of it."""
    for waiting in sorted((WAITING / "lessons").rglob("*.py")):
        lesson, new = ROOT / waiting.relative_to(WAITING), waiting.read_bytes()
        old = lesson.read_bytes() if lesson.exists() else new
        merged, problem = (new, "") if old == new else merge(lesson, waiting)
        if merged is None:
            beside = write_beside(lesson, new, "new")
            say(
                f"Kept your {lesson.name}; the newer lesson is beside it as {beside.name}. They could not be merged: {problem}"
            )
        elif merged != old:
            beside = write_beside(lesson, old, "old")
            write(lesson, merged)
            say(f"Renewed {lesson.name} with your answers in it; your old file is beside it as {beside.name}")
        elif not lesson.exists():
            write(lesson, new)
        waiting.unlink()
    shutil.rmtree(str(WAITING), ignore_errors=True)


def merge(lesson, waiting):
    """(the newer text with the student's answers, ""), or (None, why the grader could not make it)."""
    venv = ROOT / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    merged = WAITING / "merged.py"
    command = [str(venv) if venv.exists() else sys.executable, "-m", "grader", "release"]
    command += ["--merge", str(lesson), str(waiting), "--out", str(merged), "--starters", str(OLD_STARTERS)]
    try:
        done = subprocess.run(
            command, cwd=str(ROOT), timeout=MERGE_SECONDS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode == 0:
            return merged.read_bytes(), ""
    except (OSError, subprocess.TimeoutExpired) as error:
        return None, str(error)
    said = [line.strip() for line in done.stdout.decode("utf-8", "replace").split("\n") if line.strip()]
    return None, said[0].replace("error: ", "", 1) if said else f"the grader gave status {done.returncode}"


def update(arguments):
    """Does the whole of it.

    Raises:
        UpdateError: there is nothing to move to; nothing was changed.
    """
    if arguments:
        path = Path(arguments[0])
        if not path.exists():
            raise UpdateError(f"There is no {path}. Give a release's zip file, or the folder that it was unpacked in.")
        update_from(path)
    elif (ROOT / ".git").exists():
        pull()
    else:
        raise UpdateError("This copy does not come from git: download the newer release and give its path.")
    settle()


def main(arguments):
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        say(__doc__.splitlines()[0])
        return 2
    try:
        update(arguments)
    except UpdateError as error:
        say(str(error))
        return 2
    except OSError as error:
        say(f"{error}\nNo answer is lost. Run the same command again to go on from here.")
        return 3
    except KeyboardInterrupt:
        return 130  # course.py says how to go on.
    say("Up to date. Anything newly needed is installed at the next start.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
