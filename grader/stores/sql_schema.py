"""Brings a database to the schema that this release works with; a newer one is left alone."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa

from grader.stores.records import StoreProblem

__all__ = ["HEAD", "migrate"]

HEAD = "0001"  # the newest step in sql_migrations/versions
_LOCK = 0x57415250  # PostgreSQL's advisory lock of those who migrate; "WARP"


def migrate(engine: sa.Engine) -> None:
    """Runs the missing steps; does nothing, and loads no Alembic, where the schema is today's.

    Raises:
        StoreProblem: the database was made by a newer release.
    """
    if _version(engine) == HEAD:
        return
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).with_name("sql_migrations")).replace("%", "%%"))
    try:
        with engine.begin() as connection:
            if engine.dialect.name == "postgresql":
                connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except CommandError as error:
        raise StoreProblem(f"this database was made by a newer release of the course: {error}") from error


def _version(engine: sa.Engine) -> str:
    """The step that the database is at, "" for a new one."""
    try:
        with engine.connect() as connection:
            return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar() or ""
    except sa.exc.DatabaseError:
        return ""
