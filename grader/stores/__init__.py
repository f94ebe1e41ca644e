"""Where a class is kept: hand-ins by digest, what was read in them, verdicts, marks given by hand. SQL by URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.stores.records import Grading, Mark, Result, StoredHandIn, StoreMissing, StoreProblem

if TYPE_CHECKING:
    from grader.stores.sql_store import SqlStore

__all__ = ["Grading", "Mark", "Result", "StoreMissing", "StoreProblem", "StoredHandIn", "holds_class",
           "open_store"]  # fmt: skip


def open_store(url: str, *, make: bool = True) -> SqlStore:
    """The store at `url` (`sqlite:///class.db`, `postgresql://…`, or the path of a SQLite file), migrated to today's schema.

    Args:
        make: makes it where there is none.

    Raises:
        StoreMissing: there is none, and none was to be made.
        StoreProblem: the URL, the database or its schema cannot be used; the message says which.
    """
    from grader.stores.sql_store import SqlStore

    return SqlStore(url, make=make)


def holds_class(url: str) -> bool:
    """True where a class was kept already.

    Raises:
        StoreProblem: there is something else, or nothing that can be reached.
    """
    try:
        open_store(url, make=False).close()
    except StoreMissing:
        return False
    return True
