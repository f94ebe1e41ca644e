"""The tables of the first release."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _text(name: str, *arguments) -> sa.Column:
    return sa.Column(name, sa.Text, *arguments, nullable=False)


def upgrade() -> None:
    """Makes every table; spelled out, since a step must not change when the tables of today do."""
    op.create_table(
        "student", _text("id"), _text("name"), _text("platform_id"), _text("team"), sa.PrimaryKeyConstraint("id")
    )
    op.create_table(
        "blob", _text("digest"), sa.Column("data", sa.LargeBinary, nullable=False), sa.PrimaryKeyConstraint("digest")
    )
    op.create_table(
        "hand_in",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        _text("student", sa.ForeignKey("student.id")),
        _text("file"),
        _text("blob", sa.ForeignKey("blob.digest")),
        _text("received"),
        _text("latest"),
        sa.Column("is_late", sa.Boolean, nullable=False),
        _text("place"),
        _text("problem"),
        sa.UniqueConstraint("student", "file", "blob"),
    )
    op.create_table(
        "reading", _text("blob"), _text("file"), _text("reader"), sa.Column("data", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("blob", "file", "reader"),
    )  # fmt: skip
    _verdicts()
    _people()


def _verdicts() -> None:
    op.create_table(
        "grading",
        _text("key"), _text("exercise_id"), _text("answer"),
        sa.Column("report", sa.JSON, nullable=False),
        _text("seeds"), _text("thresholds"), _text("device"),
        sa.Column("is_final", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("key"),
    )  # fmt: skip
    op.create_index("ix_grading_answer", "grading", ["answer"])
    op.create_table(
        "result",
        sa.Column("hand_in", sa.Integer, sa.ForeignKey("hand_in.id"), nullable=False),
        _text("exercise_id"), _text("key"), _text("problem"),
        sa.Column("is_missing", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("hand_in", "exercise_id"),
    )  # fmt: skip
    op.create_table(
        "attempt", sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        _text("key"), _text("worker"), _text("outcome"), _text("at"),
    )  # fmt: skip
    op.create_table(
        "thresholds", _text("digest"), _text("exercise_id"), sa.Column("data", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("digest"),
    )  # fmt: skip
    op.create_table(
        "frozen", _text("exercise_id"), _text("digest", sa.ForeignKey("thresholds.digest")),
        sa.PrimaryKeyConstraint("exercise_id"),
    )  # fmt: skip


def _people() -> None:
    op.create_table(
        "mark", sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        _text("student"), _text("exercise_id"), sa.Column("score", sa.Float, nullable=True),
        _text("comment"), _text("author"), _text("at"),
    )  # fmt: skip
    op.create_table(
        "class_file", sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        _text("text"), _text("folder"), _text("at"),
    )  # fmt: skip


def downgrade() -> None:
    """Drops what `upgrade` made."""
    for name in (
        "class_file", "mark", "frozen", "thresholds", "attempt", "result", "grading", "reading", "hand_in", "blob", "student",
    ):  # fmt: skip
        op.drop_table(name)
