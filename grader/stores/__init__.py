"""Where a class is kept: hand-ins by digest, what was read in them, verdicts, marks given by hand. SQL by URL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.stores.records import Grading, Mark, Result, StoredHandIn, StoreProblem

if TYPE_CHECKING:
    from grader.stores.sql_store import SqlStore

__all__ = ["Grading", "Mark", "Result", "StoreProblem", "StoredHandIn", "open_store"]


def open_store(url: str) -> SqlStore:
    """The store at `url` (`sqlite:///class.db`, `postgresql://…`, or the path of a SQLite file), made or migrated.

    Raises:
        StoreProblem: the URL, the database or its schema cannot be used; the message says which.
    """
    from grader.stores.sql_store import SqlStore

    return SqlStore(url)
