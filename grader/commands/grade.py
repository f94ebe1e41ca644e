"""`grade DIR --db URL`: a class's hand-ins into verdicts; takes up where a killed run stopped, and does nothing twice.

Without DIR it is about the hand-ins that the store holds: a host with a GPU measures so what was left pending.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from grader.commands.status import Refusal, Status
from grader.commands.storing import add_store_options, book_of, missing_device, opened_store, refusing
from grader.console import Output
from grader.model import Verdict

if TYPE_CHECKING:
    from grader.batch.run import Plan
    from grader.batch.work import Outcome, Runner
    from grader.collecting import Collected
    from grader.gradebook import Entry, Gradebook, Row
    from grader.stores.sql_store import SqlStore

__all__ = ["NAMES", "add", "run"]

NAMES = ("grade",)
MOST_SHOWN = 40  # failures by name in the summary; --json lists all


def add(commands: argparse._SubParsersAction) -> None:
    """The command's arguments."""
    parser = commands.add_parser("grade", help="grade a class: folders, zips, downloads of learning platforms")
    parser.add_argument(
        "folder", nargs="?", metavar="DIR", help="a folder or zip of hand-ins; without it, what the store holds"
    )
    add_store_options(parser)
    parser.add_argument(
        "--class", dest="class_file", metavar="class.toml", help="the class; DIR/class.toml, or else the store's"
    )
    parser.add_argument("--workers", type=_positive, metavar="N", help="processes; as many as there are processors")
    parser.add_argument(
        "--cluster", type=_cluster, metavar="ADDRESS", help="a Dask cluster: tcp://HOST:PORT or slurm:CONFIG.toml"
    )
    parser.add_argument("--device", choices=("simulator", "cuda"), default="simulator", help="what runs the kernels")
    parser.add_argument("--dry-run", action="store_true", help="keep nothing; say who would get another score, and why")
    parser.set_defaults(run=run)


def _cluster(address: str) -> str:
    from grader.cluster import ClusterProblem, check_address

    try:
        check_address(address)
    except ClusterProblem as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem
    return address


def _positive(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of processes; write 1 or more")
    return int(text)


def run(arguments: argparse.Namespace, out: Output) -> Status:
    """Grades what has no verdict yet; prints a line for each result, then the failures by name."""
    with refusing():
        from grader.collecting import as_known

        collected, class_file = _collected(arguments)
    if arguments.dry_run:
        return _dry_run(arguments, collected, class_file, out)
    with opened_store(arguments.db, make=True) as store:
        collected = as_known(collected, store.students())
        plan, lost = _grade(arguments, store, collected, class_file, out)
        book = book_of(store)
        strangers = class_file.strangers(store.students())
    students = set(collected.students)
    _say_strangers(strangers, out)
    return _report(book, plan, collected, [row for row in book.rows if row.student in students], lost, out)


def _collected(arguments: argparse.Namespace):
    from grader.batch.course import class_of_store, find_class
    from grader.batch.kept import kept_hand_ins
    from grader.collecting import CollectingProblem, collect
    from grader.packs import known_exercises

    if arguments.folder is None:
        with opened_store(arguments.db) as store:
            named = arguments.class_file
            return kept_hand_ins(store), find_class(named, Path()) if named else class_of_store(store)
    folder = Path(arguments.folder)
    class_file = find_class(arguments.class_file, folder)
    lessons = {row.lesson for row in known_exercises(class_file.packs)}
    try:
        return collect(folder, sorted(lessons), [path.resolve() for path in class_file.packs]), class_file
    except CollectingProblem as problem:
        raise Refusal(str(problem), "give the folder or zip with a class's hand-ins") from problem


def _grade(
    arguments: argparse.Namespace, store: SqlStore, collected: Collected, class_file, out: Output
) -> tuple[Plan, list[Outcome]]:
    from grader.batch.course import open_course
    from grader.batch.run import carry_out, make_plan
    from grader.batch.work import GradingStopped

    course = open_course(store, class_file, arguments.device)
    plan = make_plan(store, collected, course)
    if not plan.works:
        return plan, []
    with _runner(arguments) as runner, _progress(out, len(plan.works)) as advance:
        try:
            lost = carry_out(store, plan, course, runner, advance)
        except KeyboardInterrupt:
            kept = "nothing was kept" if arguments.dry_run else "what was graded is kept"
            out.say(f"{kept}; run the same command again to go on")
            raise
        except GradingStopped as stopped:
            help = "mend that and run the same command again" if arguments.dry_run else stopped.help
            raise Refusal(f"grading stopped: {stopped}", help, Status.INTERNAL) from stopped
    return plan, lost


@contextmanager
def _runner(arguments: argparse.Namespace) -> Iterator[Runner]:
    if arguments.cluster:
        from grader.cluster import ClusterProblem, opened_cluster

        try:
            with opened_cluster(arguments.cluster, arguments.workers) as runner:
                yield runner
        except ClusterProblem as problem:
            raise Refusal(
                str(problem), "a cluster is tcp://HOST:PORT or slurm:CONFIG.toml", Status.NOT_SUPPORTED
            ) from problem
        return
    from grader.batch.pool import LocalPool
    from simt.cpus import available_cpus

    _need_device(arguments.device)
    yield LocalPool(arguments.workers or available_cpus())


def _need_device(name: str) -> None:
    """Refuses a device that this machine does not have, before every hand-in meets that on its own."""
    if why := missing_device(name):
        raise Refusal(why, "`doctor` says what this machine has", Status.NOT_SUPPORTED)


@contextmanager
def _progress(out: Output, total: int) -> Iterator[Callable[[Outcome], None]]:
    """A bar with the time left, on a terminal; elsewhere nothing."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("grading"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("left"),
               TimeRemainingColumn(), TextColumn("{task.description}"))  # fmt: skip
    with Progress(*columns, console=out.people, disable=not out.people.is_terminal) as bar:
        task = bar.add_task("", total=total)
        yield lambda outcome: bar.update(task, advance=1, description=outcome.task.label)


def _report(
    book: Gradebook, plan: Plan, collected: Collected, rows: list[Row], lost: list[Outcome], out: Output
) -> Status:
    for row in rows:
        for entry in row.entries:
            out.emit(_line(row, entry))
    entries = [entry for row in rows for entry in row.entries]
    counts = Counter(entry.verdict for entry in entries)
    pending = sum(entry.is_pending for entry in entries)
    passed = sum(entry.is_passed for entry in entries)
    lost_keys = {outcome.task.key for outcome in lost}
    new = sum(len(work.waiting) for work in plan.works if work.task.key not in lost_keys)
    problems = _problems(plan, collected)
    out.emit({"summary": {
        "students": len(rows), "hand_ins": len(plan.hand_ins), "exercises": len(book.exercises), "results": len(entries),
        "passed": passed, "pending": pending, "graded_now": new, "known": plan.n_known, "lost": len(lost),
        "verdicts": dict(sorted(counts.items())), "problems": problems,
    }})  # fmt: skip
    if not out.json_lines:
        _say_failures(rows, problems, out)
        out.say(
            f"{len(rows)} students, {len(plan.hand_ins)} hand-ins: {passed} of {len(entries)} results passed; "
            f"{new} graded now, {plan.n_known} known already"
            + (f", {len(lost)} hand-ins ended whatever graded them: run the command again" if lost else "")
        )
        if pending:
            out.say(
                f"of {pending} results points for speed are open: on a host with a GPU, `grade --db URL --device cuda`"
            )
    if lost or Verdict.INTERNAL_ERROR in counts:
        return Status.INTERNAL
    return Status.PASSED if passed == len(entries) and not problems and entries else Status.NOT_PASSED


def _problems(plan: Plan, collected: Collected) -> list[dict[str, str]]:
    """Hand-ins that are no notebook or look like an accident, and students with nothing to read."""
    found = [{"student": student, "file": "", "problem": what} for student, what in collected.without.items()]
    for one in plan.hand_ins:
        reading = plan.readings[one.id]
        if what := reading.problem or reading.suspicious:
            found.append({"student": one.student, "file": one.file, "problem": what})
    return sorted(found, key=lambda row: (row["student"], row["file"]))


def _line(row: Row, entry: Entry) -> dict[str, object]:
    return {
        "student": row.student, "name": row.name, "group": row.group, "exercise_id": entry.exercise_id, "file": entry.file,
        "verdict": entry.verdict, "passed": entry.is_passed, "pending": entry.is_pending, "speed": str(entry.speed),
        "score": entry.score, "max_score": entry.max_score, "kept_share": entry.kept_share, "manual": entry.is_manual,
        "comment": entry.comment, "message": entry.message, "digest": entry.digest,
    }  # fmt: skip


def _say_failures(rows: list[Row], problems: list[dict[str, str]], out: Output) -> None:
    lines = list(_problem_lines(problems))
    silent = {one["student"] for one in problems}
    lines += [
        f"{row.student}: {entry.exercise_id}: {entry.verdict}"
        + (f" ({_short(entry.message)})" if entry.message else "")
        for row in rows
        for entry in row.entries
        if not entry.is_passed and not (row.student in silent and entry.verdict == "missing")
    ]
    for line in lines[:MOST_SHOWN]:
        out.say(line)
    if len(lines) > MOST_SHOWN:
        out.say(f"… and {len(lines) - MOST_SHOWN} more; `--json` lists all")


def _problem_lines(problems: list[dict[str, str]]) -> Iterator[str]:
    """A line for each student and problem: who zips the whole course with the answer hides nobody else."""
    files: dict[tuple[str, str], list[str]] = {}
    for one in problems:
        files.setdefault((one["student"], one["problem"]), []).append(one["file"])
    for (student, problem), names in files.items():
        more = f" and {len(names) - 1} more files" if len(names) > 1 else ""
        yield ": ".join(part for part in (student, names[0] + more, problem) if part)


def _say_strangers(strangers: list[str], out: Output) -> None:
    """People of a group may never hand in themselves; a name that was mistyped looks the same."""
    if strangers:
        out.say(
            f"in a group, but never handed in themselves: {', '.join(strangers)}. Each has a row; is every name as it is "
            "in the hand-ins? [students] of class.toml is where to say so"
        )


def _short(message: str) -> str:
    first = message.partition("\n")[0]
    return first if len(first) <= 100 else first[:97] + "..."


def _dry_run(arguments: argparse.Namespace, collected: Collected, class_file, out: Output) -> Status:
    """Grades into a copy of the store, compares both gradebooks, and forgets the copy."""
    import tempfile

    from grader.batch.changes import changes
    from grader.collecting import as_known
    from grader.stores import holds_class

    with tempfile.TemporaryDirectory(prefix="warpwise-") as scratch, refusing():
        url = arguments.db if holds_class(arguments.db) else f"{scratch}/none.db"
        with opened_store(url, make=True) as store, opened_store(f"{scratch}/copy.db", make=True) as copy:
            before = book_of(store)
            store.copy_to(copy)
            collected = as_known(collected, store.students())
            _, lost = _grade(arguments, copy, collected, class_file, out)
            after = book_of(copy)
    found = list(changes(before, after))
    for change in found:
        out.emit({
            "student": change.student, "exercise_id": change.exercise_id, "before": change.before, "after": change.after,
            "why": change.why,
        })  # fmt: skip
        if not out.json_lines:
            was = "nothing" if change.before is None else f"{change.before:g}"
            points = f"stays {was}" if change.before == change.after else f"{was} → {change.after:g}"
            out.say(f"{change.student}: {change.exercise_id}: {points}: {change.why}")
    students = len({change.student for change in found})
    out.say(f"{students} students would get another score, or one out of another maximum; nothing was kept")
    return Status.INTERNAL if lost else Status.PASSED
