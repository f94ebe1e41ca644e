"""Stores of other releases: an old one keeps every row, a newer one is left alone, and several may come at once."""

import os
import shutil
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from grader.collecting import HandIn, Student
from grader.stores import Grading, Mark, Result, StoreMissing, StoreProblem, holds_class, open_store
from grader.stores.sql_engine import Access, open_engine, transaction
from grader.stores.sql_schema import HEAD, STEPS, migrate
from grader.stores.sql_tables import METADATA
from tests.processes import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[3]
NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
# What the first release kept, column by column; SQLite and PostgreSQL number the other rows themselves.
FIRST_ROWS = {
    "student": [
        {"id": "ann", "name": 'Åse, "Ann" 王', "platform_id": "1234", "team": "team 1"},
        {"id": "bob", "name": "", "platform_id": "", "team": ""},
    ],
    "blob": [{"digest": "d1", "data": b"import marimo\n\x00\xff"}, {"digest": "d2", "data": b""}],
    "hand_in": [
        {"student": "ann", "file": "01.py", "blob": "d1", "received": "2026-11-30T12:00:00.000000+00:00",
         "latest": "2026-11-30T12:00:00.000000+00:00", "is_late": False, "place": "ann/01.py", "problem": ""},
        {"student": "bob", "file": "01.py", "blob": "d2", "received": "2026-11-30T12:00:00.000000+00:00",
         "latest": "2026-11-30T12:00:00.000000+00:00", "is_late": True, "place": "bob/01.py",
         "problem": "a link; links are not followed"},
    ],
    "reading": [{"blob": "d1", "file": "01.py", "reader": "r1", "data": '{"answers": {"é": "a1b2c3"}}'}],
    "grading": [
        {"key": "k1", "exercise_id": "thread_mapping.map1d", "answer": "a1b2c3",
         "report": '{"verdict": "pass", "score": 1.0, "message": "größer als 0 ✓"}', "seeds": "autumn",
         "thresholds": "t1", "device": "simulator", "is_final": True},
    ],
    "result": [
        {"hand_in": 1, "exercise_id": "thread_mapping.map1d", "key": "k1", "problem": "", "is_missing": False},
    ],
    "attempt": [{"key": "k1", "worker": "host:1", "outcome": "pass", "at": "2026-11-30T12:00:00.000000+00:00"}],
    "thresholds": [{"digest": "t1", "exercise_id": "thread_mapping.map1d", "data": '{"points": 1.0}'}],
    "frozen": [{"exercise_id": "thread_mapping.map1d", "digest": "t1"}],
    "mark": [
        {"student": "bob", "exercise_id": "thread_mapping.map1d", "score": 0.5, "comment": 'said "no", then yes',
         "author": "Prof. Ü", "at": "2026-11-30T12:00:00.000000+00:00"},
    ],
    "class_file": [{"text": 'name = "CUDA 101"', "folder": "/class", "at": "2026-11-30T12:00:00.000000+00:00"}],
}  # fmt: skip
# A step of a later release that rebuilds a table to which another one points, the hardest that SQLite knows.
LATER_STEP = """
import sqlalchemy as sa
from alembic import op

revision, down_revision, branch_labels, depends_on = "0002", "0001", None, None


def upgrade():
    with op.batch_alter_table("hand_in") as batch:
        batch.alter_column("place", new_column_name="path", existing_type=sa.Text, existing_nullable=False)
"""
ENDS = """
import os, signal, sys
import sqlalchemy as sa
from grader.stores import open_store
left = int(sys.argv[2])
def count(*_):
    global left
    left -= 1
    if left < 0:
        os.kill(os.getpid(), signal.SIGKILL)
sa.event.listen(sa.Engine, "before_cursor_execute", count)
sa.event.listen(sa.Engine, "commit", count)
open_store(sys.argv[1]).close()
"""


def old_store(url):
    """A database as the first release left it, written by its own step and in plain SQL."""
    engine = open_engine(url, make=True)
    migrate(engine, make=True, head="0001")
    with transaction(engine, Access.WRITE) as connection:
        for table, rows in FIRST_ROWS.items():
            columns = ", ".join(rows[0])
            values = ", ".join(f":{name}" for name in rows[0])
            connection.execute(sa.text(f"INSERT INTO {table} ({columns}) VALUES ({values})"), rows)
    engine.dispose()


def check_old_rows(store):
    first, second = store.hand_ins()
    assert store.students() == {
        "ann": Student("ann", 'Åse, "Ann" 王', "1234", "team 1"), "bob": Student("bob", "", "", ""),
    }  # fmt: skip
    assert (first.student, first.file, first.place, first.received, first.is_late) == (
        "ann", "01.py", "ann/01.py", NOON, False,
    )  # fmt: skip
    assert (second.student, second.is_late, second.problem) == ("bob", True, "a link; links are not followed")
    assert store.blob(first.digest) == b"import marimo\n\x00\xff"
    report = {"verdict": "pass", "score": 1.0, "message": "größer als 0 ✓"}
    assert store.gradings(["k1"]) == {
        "k1": Grading("k1", "thread_mapping.map1d", "a1b2c3", report, "autumn", "t1", "simulator", True)
    }
    assert store.results() == [Result(first.id, "thread_mapping.map1d", "k1")]
    assert store.marks() == [Mark("bob", "thread_mapping.map1d", 0.5, 'said "no", then yes', "Prof. Ü", NOON)]
    assert store.frozen() == {"thread_mapping.map1d": ("t1", {"points": 1.0})}
    assert store.class_file() == ('name = "CUDA 101"', "/class")
    assert store.attempts() == [("k1", "host:1", "pass")]
    assert store.readings("r1") == {(first.digest, "01.py"): {"answers": {"é": "a1b2c3"}}}


def test_a_store_of_the_first_release_keeps_every_row(bare_url):
    old_store(bare_url)
    with open_store(bare_url, make=False) as store:
        check_old_rows(store)
        one = HandIn("ann", "01.py", "ann/01.py", b"newer", NOON)
        store.add_hand_ins([Student("ann")], [one])  # numbers go on after those that are there
        assert len({hand_in.id for hand_in in store.hand_ins()}) == 3


def test_a_step_that_rebuilds_a_table_keeps_every_row(bare_url, tmp_path):
    old_store(bare_url)
    steps = shutil.copytree(STEPS, tmp_path / "steps", ignore=shutil.ignore_patterns("__pycache__"))
    (steps / "versions" / "v0002_later.py").write_text(LATER_STEP)
    engine = open_engine(bare_url, make=False)
    migrate(engine, make=False, steps=steps, head="0002")
    with transaction(engine, Access.READ) as connection:
        assert connection.execute(sa.text("SELECT path FROM hand_in")).scalars().all() == ["ann/01.py", "bob/01.py"]
        rows = connection.execute(sa.text("SELECT hand_in, exercise_id, key FROM result")).all()
    assert [tuple(row) for row in rows] == [(1, "thread_mapping.map1d", "k1")]
    with pytest.raises(sa.exc.IntegrityError), engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM hand_in"))  # whoever points at it still does
    engine.dispose()
    with pytest.raises(StoreProblem, match="newer release"):
        open_store(bare_url)


def test_the_schema_is_what_the_migrations_make(store):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    with store._engine.connect() as connection:
        context = MigrationContext.configure(connection)
        assert context.get_current_revision() == HEAD
        assert compare_metadata(context, METADATA) == []


def test_a_store_of_a_newer_release_is_left_alone(store, url):
    with transaction(store._engine, Access.WRITE) as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(StoreProblem, match="newer release") as problem:
        open_store(url)
    assert "update" in problem.value.help


def test_a_database_of_another_program_is_left_alone(bare_url):
    engine = open_engine(bare_url, make=True)
    with transaction(engine, Access.WRITE) as connection:
        connection.execute(sa.text("CREATE TABLE alembic_version (version_num VARCHAR(32))"))
        connection.execute(sa.text("INSERT INTO alembic_version VALUES ('724cde206c17')"))  # nbgrader's gradebook
    engine.dispose()
    with pytest.raises(StoreProblem, match="another program"):
        open_store(bare_url)


def test_several_that_make_a_store_at_once_make_one(bare_url):
    opening = "import sys; from grader.stores import open_store; sys.stdin.read(1); open_store(sys.argv[1]).close()"
    processes = [
        subprocess.Popen([sys.executable, "-c", opening, bare_url], cwd=ROOT, stdin=subprocess.PIPE) for _ in range(3)
    ]
    for process in processes:
        process.stdin.close()
    assert [process.wait(PATIENCE_SECONDS) for process in processes] == [0, 0, 0]
    with open_store(bare_url, make=False) as store:
        assert store.hand_ins() == []


@pytest.mark.parametrize("statement", [3, 9, 15])
def test_a_migration_killed_in_the_middle_leaves_nothing_behind(bare_url, statement):
    done = subprocess.run([sys.executable, "-c", ENDS, bare_url, str(statement)], cwd=ROOT, timeout=PATIENCE_SECONDS)
    assert done.returncode == -signal.SIGKILL
    assert not holds_class(bare_url)
    open_store(bare_url).close()
    assert holds_class(bare_url)


def test_nothing_is_made_where_a_class_was_expected(bare_url, tmp_path):
    with pytest.raises(StoreMissing):
        open_store(bare_url, make=False)
    assert not os.listdir(tmp_path)
