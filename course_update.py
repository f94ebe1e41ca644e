"""Moves the course to a newer release and keeps every answer: `python3 course.py update [RELEASE.zip or folder]`.

A lesson that the student changed stays as it is; the newer text goes beside it as NAME.new.py. Everything else is
replaced by the release's. Progress is no part of a release and is never touched. Standard library only, in the syntax
of Python 3.6, like course.py: it has to run when the installed environment is too old to.
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
MANIFEST = "MANIFEST.json"


class UpdateError(Exception):
    """Why there is no update now; nothing was changed when it is raised."""


def is_answers(name):
    """Whether a student writes in this file."""
    return name.startswith("lessons/") and name.endswith(".py") and not name.endswith(".new.py")


def beside(path):
    """Where the newer text of a lesson goes: 04_tiling.py → 04_tiling.new.py."""
    return path.with_name(path.stem + ".new.py")


def write(path, data):
    """Puts a file in place whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_bytes(data)
    if path.exists():
        shutil.copymode(str(path), str(part))
    os.replace(str(part), str(path))


# --- from a release: a zip file or an unpacked folder


def read_release(path):
    """The files of a release, by name relative to its top."""
    if path.is_dir():
        hidden = {".git", ".venv", ".course", "__pycache__"}
        found = {p.relative_to(path).as_posix(): p for p in path.rglob("*") if p.is_file()}
        files = {n: p.read_bytes() for n, p in found.items() if not hidden & set(n.split("/"))}
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
    return files


def shipped():
    """The digest of each file as this release brought it; a lesson that is not in it counts as changed."""
    try:
        return json.loads((ROOT / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def update_from(path):
    """Takes over a release; returns the lessons that were kept. Broken off, it may simply be run again."""
    files = read_release(path)
    as_shipped, kept = shipped(), []
    last = (MANIFEST, "course_update.py", "course.py")
    for name in sorted(files, key=lambda n: (n in last, n == "course.py", n)):
        target = ROOT / name
        old = target.read_bytes() if target.exists() else None
        if old == files[name]:
            continue
        if old is not None and is_answers(name) and hashlib.sha256(old).hexdigest() != as_shipped.get(name):
            write(beside(target), files[name])
            kept.append(target)
        else:
            write(target, files[name])
    return kept


# --- in a git checkout


def git(*arguments):
    """What git prints; UpdateError with git's own words when it fails."""
    command = ("git", "-C", str(ROOT)) + arguments
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    except OSError:
        raise UpdateError("git is not installed; download the newer release and give its path.") from None
    if done.returncode:
        raise UpdateError(f"git {arguments[0]} failed:\n{done.stderr.strip()}")
    return done.stdout.strip()


def pull():
    """Fast-forwards to the branch that this checkout follows; returns the lessons that were kept."""
    kept = restore()
    git("fetch")
    here, there = git("rev-parse", "HEAD"), git("rev-parse", "@{upstream}")
    if here == there:
        return kept
    if git("merge-base", here, there) != here:
        raise UpdateError("This checkout has commits of its own; git can't just move forward: rebase or merge by hand.")
    theirs = set(git("diff", "--name-only", here, there).splitlines())
    clashing = sorted(theirs & set(git("diff", "--name-only", "HEAD").splitlines()))
    foreign = [name for name in clashing if not is_answers(name)]
    if foreign:
        raise UpdateError("Changed here and in the release; undo your changes first: " + ", ".join(foreign))
    for name in clashing:
        write(KEPT / name, (ROOT / name).read_bytes())
    try:
        if clashing:
            git("checkout", "HEAD", "--", *clashing)
        git("merge", "--ff-only", "--quiet", there)
    finally:
        kept += restore()
    return kept


def restore():
    """Puts answers that were set aside back in place, the release's text beside them; also after a broken-off run."""
    kept = []
    for saved in sorted(KEPT.rglob("*.py")) if KEPT.exists() else ():
        target = ROOT / saved.relative_to(KEPT)
        if target.exists() and target.read_bytes() != saved.read_bytes():
            write(beside(target), target.read_bytes())
        write(target, saved.read_bytes())
        saved.unlink()
        kept.append(target)
    return kept


def main(arguments):
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        print(__doc__.splitlines()[0], file=sys.stderr)
        return 2
    try:
        if arguments:
            path = Path(arguments[0])
            if not path.exists():
                raise UpdateError(f"There is no {path}.")
            kept = update_from(path)
        elif (ROOT / ".git").exists():
            kept = pull()
        else:
            raise UpdateError("This copy does not come from git: download the newer release and give its path.")
    except UpdateError as error:
        print(error, file=sys.stderr)
        return 2
    for lesson in kept:
        print(f"Kept your {lesson.name}; the newer lesson is beside it as {beside(lesson).name}", file=sys.stderr)
    print("Up to date. Anything newly needed is installed at the next start.", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
