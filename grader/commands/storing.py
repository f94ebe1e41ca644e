"""What the commands of a class share: the store by URL, the class, the gradebook, refusals in words."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from grader.commands.status import Refusal, Status

if TYPE_CHECKING:
    from grader.gradebook import Gradebook
    from grader.stores.sql_store import SqlStore

__all__ = ["add_store_options", "book_of", "missing_device", "opened_store", "refusing"]


def add_store_options(parser: argparse.ArgumentParser) -> None:
    """`--db` and `--json`, the same everywhere."""
    parser.add_argument(
        "--db", required=True, metavar="URL", help="sqlite:///class.db, the path of a SQLite file, or postgresql://…"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")


@contextmanager
def refusing() -> Iterator[None]:
    """What is wrong with a store, or with the class in it, as a refusal."""
    try:
        from grader.class_file import ClassProblem
        from grader.hidden import SeedsProblem
        from grader.packs import PackProblem
        from grader.stores import StoreProblem
    except ModuleNotFoundError as missing:
        raise Refusal(
            f"a store needs the package {missing.name}",
            "`python3 course.py grade …` installs it, or: pip install -r requirements.txt",
            Status.NOT_SUPPORTED,
        ) from missing
    try:
        yield
    except ClassProblem as problem:
        raise Refusal(str(problem), problem.help) from problem
    except (PackProblem, SeedsProblem) as problem:
        raise Refusal(str(problem), "mend the file that it names and run the command again") from problem
    except StoreProblem as problem:
        raise Refusal(str(problem), problem.help, Status.INTERNAL if problem.in_use else Status.USAGE) from problem


@contextmanager
def opened_store(url: str, *, make: bool = False) -> Iterator[SqlStore]:
    """The store, closed with the block; without `make` a class has to be in it already."""
    with refusing():
        from grader.stores import open_store

        with open_store(url, make=make) as store:
            yield store


def book_of(store: SqlStore) -> Gradebook:
    """The class's gradebook, by the class.toml of its newest run."""
    from grader.batch.course import class_of_store, frozen_rows
    from grader.gradebook import facts_of, make_gradebook

    class_file = class_of_store(store)
    return make_gradebook(facts_of(store), class_file, frozen_rows(store, class_file))


def missing_device(name: str) -> str:
    """Why this machine cannot judge on the device of that name, "" where it can."""
    from grader.devices import DeviceMissing
    from grader.worker import host

    if name in ("", "simulator"):
        return ""
    try:
        with host.fresh_device(name) as device:
            device.capabilities  # noqa: B018 - starts it
    except DeviceMissing as missing:
        return str(missing)
    return ""
