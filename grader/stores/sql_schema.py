"""Brings a database to the schema that this release works with; a newer one is left alone."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from grader.stores.records import StoreMissing, StoreProblem
from grader.stores.sql_engine import Access, transaction

__all__ = ["HEAD", "STEPS", "migrate"]

HEAD = "0001"  # the newest step in sql_migrations/versions
STEPS = Path(__file__).with_name("sql_migrations")
_LOCK = 0x57415250  # PostgreSQL's advisory lock of those who migrate; "WARP"


def migrate(engine: sa.Engine, *, make: bool, steps: Path = STEPS, head: str = HEAD) -> None:
    """Runs the missing steps, all or none; does nothing, and loads no Alembic, where the schema is today's.

    Of several that migrate at once, one does and the others wait for it.

    Raises:
        StoreMissing: there are no tables, and `make` is False.
        StoreProblem: the database was made by a newer release.
    """
    version = _version(engine)
    if version == head:
        return
    if version and not version.isdigit():
        raise StoreProblem("this is no store of a class: its tables are another program's", "name another database")
    if not version and not make:
        raise StoreMissing("no class was graded into this store yet", "`grade DIR --db URL` makes it")
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(steps).replace("%", "%%"))
    try:
        with transaction(engine, Access.MIGRATE) as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            config.attributes["connection"] = connection
            command.upgrade(config, head)
            _check_references(connection)
    except CommandError as error:
        raise StoreProblem(
            f"a newer release of the course made this store: {error}", "use that release: `course.py update`"
        ) from error


def _check_references(connection: sa.Connection) -> None:
    """Fails where a step left a row that points at nothing: SQLite does not look while a step runs."""
    if connection.dialect.name == "sqlite":
        astray = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        assert not astray, f"the step left rows that point at nothing: {astray[:3]}"


def _version(engine: sa.Engine) -> str:
    """The step that the database is at, "" for a new one."""
    with transaction(engine, Access.READ) as connection:
        if not sa.inspect(connection).has_table("alembic_version"):
            return ""
        return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() or ""
