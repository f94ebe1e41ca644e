"""The tables of a store. The first migration made them; later ones change this file and add a step of their own."""

from __future__ import annotations

import sqlalchemy as sa

__all__ = ["METADATA", "attempt", "blob", "class_file", "frozen", "grading", "hand_in", "mark", "reading", "result",
           "student", "thresholds"]  # fmt: skip

METADATA = sa.MetaData(
    naming_convention={
        "ix": "ix_%(column_0_label)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def _text(name: str, *arguments, key: bool = False) -> sa.Column:
    return sa.Column(name, sa.Text, *arguments, primary_key=key, nullable=False)


def _time(name: str) -> sa.Column:
    """ISO text in UTC, the same in every database."""
    return _text(name)


student = sa.Table("student", METADATA, _text("id", key=True), _text("name"), _text("platform_id"), _text("team"))

blob = sa.Table(
    "blob", METADATA,
    _text("digest", key=True), sa.Column("data", sa.LargeBinary, nullable=False),
)  # fmt: skip

hand_in = sa.Table(
    "hand_in", METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    _text("student", sa.ForeignKey("student.id")),
    _text("file"),
    _text("blob", sa.ForeignKey("blob.digest")),
    _time("received"),  # the earliest time that this content was seen with: what lateness goes by
    _time("latest"),  # the newest one: what counts among several
    sa.Column("is_late", sa.Boolean, nullable=False),
    _text("place"),
    _text("problem"),
    sa.UniqueConstraint("student", "file", "blob"),
)  # fmt: skip

# What reading a file gave, by everything that it depends on: no notebook is parsed twice.
reading = sa.Table(
    "reading", METADATA,
    _text("blob", key=True), _text("file", key=True), _text("reader", key=True), sa.Column("data", sa.JSON, nullable=False),
)  # fmt: skip

grading = sa.Table(
    "grading", METADATA,
    _text("key", key=True),
    _text("exercise_id"),
    sa.Column("answer", sa.Text, nullable=False, index=True),
    sa.Column("report", sa.JSON, nullable=False),
    _text("seeds"),
    _text("thresholds"),
    _text("device"),
    sa.Column("is_final", sa.Boolean, nullable=False),
)  # fmt: skip

result = sa.Table(
    "result", METADATA,
    sa.Column("hand_in", sa.Integer, sa.ForeignKey("hand_in.id"), primary_key=True),
    _text("exercise_id", key=True),
    _text("key"),
    _text("problem"),
    sa.Column("is_missing", sa.Boolean, nullable=False),
)  # fmt: skip

# Every time that a worker gave a verdict or was lost: more rows than verdicts mean that work was done again.
attempt = sa.Table(
    "attempt", METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    _text("key"), _text("worker"), _text("outcome"), _time("at"),
)  # fmt: skip

thresholds = sa.Table(
    "thresholds", METADATA,
    _text("digest", key=True), _text("exercise_id"), sa.Column("data", sa.JSON, nullable=False),
)  # fmt: skip

frozen = sa.Table(
    "frozen", METADATA, _text("exercise_id", key=True), _text("digest", sa.ForeignKey("thresholds.digest"))
)

mark = sa.Table(
    "mark", METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    _text("student"), _text("exercise_id"),
    sa.Column("score", sa.Float, nullable=True),
    _text("comment"), _text("author"), _time("at"),
)  # fmt: skip

class_file = sa.Table(
    "class_file", METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True), _text("text"), _text("folder"), _time("at"),
)  # fmt: skip
