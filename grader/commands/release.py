"""`release`: solutions → lessons and starters; `--check`, `--bundle FILE.zip`, `--merge OLD.py NEW.py --out FILE`."""

from __future__ import annotations

import argparse
from datetime import date
from pathlib import Path

from grader.commands.status import Refusal, Status
from grader.console import Output
from grader.progress import course_folder

__all__ = ["add", "run"]


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("release", help="derive lessons from solutions, bundle them, merge a student's lesson")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where something differs")
    parser.add_argument("--bundle", metavar="FILE.zip", help="also write what students get")
    parser.add_argument("--db", metavar="URL", help="also freeze in a class's store what each exercise asks for today")
    parser.add_argument(
        "--key", metavar="FILE", help="the key that opens the bundle's references; FILE.zip.key by default"
    )
    parser.add_argument(
        "--opens", metavar="DATE", help="a day from which they open without the key, such as 2026-12-24"
    )
    parser.add_argument(
        "--merge", nargs=2, metavar=("OLD.py", "NEW.py"), help="the new lesson with the old one's answers"
    )
    parser.add_argument("--out", metavar="FILE", help="where the merged lesson goes")
    parser.add_argument(
        "--starters",
        metavar="OLD.json",
        help="starters.json of the release that OLD.py began with; this copy's by default",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Does one of the four."""
    if arguments.merge:
        if not arguments.out:
            raise Refusal("--merge needs --out FILE", "a student's file is never overwritten by surprise")
        old, new = (Path(path) for path in arguments.merge)
        return _merge(old, new, Path(arguments.out), _starters(arguments.starters), out)
    return _release(arguments, out)


def _release(arguments: argparse.Namespace, out: Output) -> Status:
    from grader.release.lessons import ReleaseError, build, compare, write

    top = course_folder()
    if not (top / "solutions").is_dir():
        raise Refusal("this copy of the course has no solutions to release", status=Status.NOT_SUPPORTED)
    try:
        release = build(top)
    except ReleaseError as error:
        raise Refusal(str(error), "mend the solution and run `release` again") from error
    if arguments.check:
        differences = list(compare(top, release))
        for difference in differences:
            out.emit({"path": difference.path, "what": difference.what})
            out.say(f"{difference.path}: {difference.what}")
        out.say("`release` writes them" if differences else f"{len(release.files)} derived files are as they should be")
        return Status.NOT_PASSED if differences else Status.PASSED
    for name in write(top, release):
        out.emit({"path": name, "what": "written"})
        out.say(f"wrote {name}")
    out.say(f"{len(release.files)} derived files are up to date")
    if arguments.db:
        _freeze(arguments.db, out)
    return _bundle(arguments, out) if arguments.bundle else Status.PASSED


def _freeze(url: str, out: Output) -> None:
    """Holds the class to today's thresholds, whatever a later version of the course asks for."""
    from grader.batch.course import class_of_store, freeze_today
    from grader.commands.storing import opened_store

    with opened_store(url, make=True) as store:
        changed = freeze_today(store, class_of_store(store))
    for exercise_id in changed:
        out.emit({"exercise_id": exercise_id, "what": "frozen"})
    out.say(f"the thresholds of {len(changed)} exercises are new; `grade --dry-run` says whose score that changes")


def _bundle(arguments: argparse.Namespace, out: Output) -> Status:
    from grader.release.bundle import BundleProblem, write_bundle
    from grader.release.locked import LOCKED, WrongKey, lock
    from grader.release.references import all_references

    target = Path(arguments.bundle)
    key_file = Path(arguments.key) if arguments.key else target.with_name(target.name + ".key")
    opens = _day(arguments.opens) if arguments.opens else None
    try:
        shut = lock(all_references(course_folder() / "solutions"), _key(key_file), opens)
        names = write_bundle(course_folder(), target, {LOCKED: shut.encode()})
    except (WrongKey, BundleProblem) as problem:
        raise Refusal(str(problem), "nothing was written") from problem
    out.emit(
        {
            "bundle": str(target),
            "files": len(names),
            "key": str(key_file),
            "opens": opens.isoformat() if opens else None,
        }
    )
    out.say(f"{target}: {len(names)} files, {target.stat().st_size / 1e6:.1f} MB")
    out.say(f"{key_file} opens its references: keep it to yourself until `solution ID --key KEY` may show them")
    if opens:
        out.say(
            f"from {opens.isoformat()} on they open by themselves; until then only a promise keeps them shut, no lock"
        )
    return Status.PASSED


def _key(path: Path) -> str:
    """The key in a file, made where there is none yet; nobody else may read it."""
    import os

    from grader.release.locked import new_key

    try:
        if not path.parent.is_dir():
            raise Refusal(f"there is no folder {path.parent} for the key {path.name}", "make it, or give --key FILE")
        if not path.exists():
            with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
                file.write(new_key() + "\n")
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(f"the key {path} cannot be used: {error}", "give --key FILE") from error


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError as error:
        raise Refusal(f"--opens is {text!r}, no date", "write it like 2026-12-24") from error


def _starters(path: str | None) -> dict[str, dict[str, str]]:
    """The starters in a file, or those of this copy; an untouched one is no answer to carry over."""
    import json

    from grader.release.starters import starters

    if path is None:
        return starters()
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refusal(
            f"{path} cannot be read: {error}", "give the old release's grader/assets/starters.json"
        ) from error


def _merge(old: Path, new: Path, target: Path, starters: dict[str, dict[str, str]], out: Output) -> Status:
    from grader.lesson_file import LessonProblem, read_lesson
    from grader.release.merge import merge
    from grader.whole_file import write_whole

    try:
        merged = merge(read_lesson(old), read_lesson(new), starters)
    except (LessonProblem, ValueError) as error:
        raise Refusal(
            f"nothing was written: {error}", "both files stay as they are; copy your answers by hand"
        ) from error
    write_whole(target, merged.text)
    out.emit({"file": str(target), "carried": list(merged.carried), "kept_aside": list(merged.kept_aside)})
    out.say(
        f"{target}: the new lesson with your answers to {', '.join(merged.carried) or 'nothing (none had been changed)'}"
    )
    if merged.kept_aside:
        out.say(f"at its end, since the new lesson no longer asks for them: {', '.join(merged.kept_aside)}")
    return Status.PASSED
