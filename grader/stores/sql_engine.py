"""The way into a database: URL, transactions, and what its errors mean in words that name no password."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from grader.stores.records import StoreMissing, StoreProblem

__all__ = ["Access", "open_engine", "shown", "transaction"]

BUSY_SECONDS = 60.0  # how long SQLite waits for another writer
_ACCESS = "warpwise_access"  # an execution option of a connection
_PASSWORD = re.compile(r"(://[^/:@]*:).*(@)|(password=)[^&\s]*", re.IGNORECASE)

_ROOM = "make room and run the command again: what was kept is safe, and it goes on from there"
_WAIT = "see that the server runs and can be reached, then run the same command again: what was kept is safe"

# Words in a driver's message → what to do about it. A wrong name or password has none: the URL is what to look at.
_HELP = (
    ("readonly database", "the file and its folder have to be writable, also to read it; copy it where you may write"),
    ("disk is full", _ROOM),
    ("No space left on device", _ROOM),
    ("disk I/O error", f"is the disk full? If so, {_ROOM}"),
    ("database is locked", "another program holds it; let that end and run the command again"),
    ("not a database", "name another file, or restore this one from a copy"),
    ("malformed", "restore it from a copy; `grade` makes what is missing there again"),
    ("already exists", "it holds tables of something else; name a database of the class's own"),
    *((words, _WAIT) for words in (
        "Connection refused", "connection is closed", "connection is lost", "closed the connection", "not accepting",
        "not currently accepting", "terminating connection", "shutting down", "starting up", "timeout expired", "timed out",
        "No such file or directory",
    )),
)  # fmt: skip
_OTHERWISE = "give --db sqlite:///FILE or --db postgresql://USER@HOST/NAME"


class Access(enum.Enum):
    """What a transaction is for."""

    READ = enum.auto()
    WRITE = enum.auto()
    MIGRATE = enum.auto()


def open_engine(url: str, *, make: bool) -> sa.Engine:
    """An engine for `url`; without `make` a SQLite file has to be there.

    Raises:
        StoreMissing: it is not.
        StoreProblem: the URL is none.
    """
    full = _parsed(url)
    kind, file = full.get_backend_name(), full.database
    if kind not in ("sqlite", "postgresql"):
        raise StoreProblem(f"a store is sqlite or postgresql, not {kind!r}", _OTHERWISE)
    if kind == "postgresql":
        return sa.create_engine(full, pool_pre_ping=True)
    if file and file != ":memory:" and not file.startswith("file:"):
        _check_place(Path(file), make)
    engine = sa.create_engine(full, connect_args={"timeout": BUSY_SECONDS})
    sa.event.listen(engine, "connect", _tune_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _parsed(url: str) -> sa.URL:
    """An SQLAlchemy URL: a plain path is a SQLite file, `postgresql://` uses psycopg."""
    if "://" not in url:
        if not url:
            raise StoreProblem("the store has no name", _OTHERWISE)
        return sa.URL.create("sqlite", database=str(Path(url).resolve()))
    scheme, _, rest = url.partition("://")
    try:
        full = sa.make_url(f"postgresql+psycopg://{rest}" if scheme in ("postgres", "postgresql") else url)
        full.get_dialect()
    except (sa.exc.ArgumentError, ValueError) as error:
        raise StoreProblem(f"{shown(url)} is no URL of a store", _OTHERWISE) from error
    if "@" in (full.host or ""):
        raise StoreProblem(f"{shown(url)} has an @ in its password", "write it %40, a / as %2F, a : as %3A")
    return full


def _check_place(file: Path, make: bool) -> None:
    if file.is_dir():
        raise StoreProblem(f"{file} is a folder", "name a file in it, such as class.db")
    if not file.parent.is_dir():
        raise StoreProblem(f"there is no folder {file.parent}", "make it, or name a file elsewhere")
    if not make and not file.exists():
        raise StoreMissing(f"there is no store {file}", "`grade DIR --db URL` makes one")


def _tune_sqlite(connection, _record) -> None:
    """Readers don't block the writer; a killed process loses nothing that was committed.

    Python's own transactions begin too late: not before the statements that make tables.
    """
    connection.isolation_level = None
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: sa.Connection) -> None:
    """A writer takes its lock at once; a step may rebuild a table that others point at, which only a check at its end allows."""
    access = connection.get_execution_options().get(_ACCESS, Access.READ)
    connection.exec_driver_sql(f"PRAGMA foreign_keys={'OFF' if access is Access.MIGRATE else 'ON'}")
    connection.exec_driver_sql("BEGIN" if access is Access.READ else "BEGIN IMMEDIATE")


@contextmanager
def transaction(engine: sa.Engine, access: Access) -> Iterator[sa.Connection]:
    """A connection in one transaction, kept as a whole or not at all.

    Raises:
        StoreProblem: the database failed in it.
    """
    options: dict[str, object] = {_ACCESS: access}
    if access is Access.READ and engine.dialect.name == "postgresql":
        options["isolation_level"] = "REPEATABLE READ"  # all that is read is of one moment, as in SQLite
    try:
        with engine.connect().execution_options(**options) as connection, connection.begin():
            yield connection
    except sa.exc.DBAPIError as error:
        why = " ".join(str(error.orig).partition("\n")[0].split())
        help = next((help for words, help in _HELP if words in why), _OTHERWISE)
        raise StoreProblem(
            _masked(f"the store {shown(engine.url)} cannot be used: {why}"), help, in_use=True
        ) from error


def shown(url: str | sa.URL) -> str:
    """The URL without its password, however wrong it is."""
    return _masked(url if isinstance(url, str) else url.render_as_string(hide_password=True))


def _masked(text: str) -> str:
    return _PASSWORD.sub(lambda found: f"{found[1] or found[3]}***{found[2] or ''}", text)
