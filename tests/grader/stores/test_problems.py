"""A store that cannot be used: each reason in words, with what to do, and never a password."""

import json
import sqlite3
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa

from grader.batch import pool
from grader.cli import main
from grader.commands.status import Status
from grader.stores import Grading, StoreProblem, open_store, sql_engine
from tests.grader.batch.classes import make_class
from tests.grader.batch.fake_runner import FakeRunner
from tests.grader.stores.conftest import database

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def verdict(key="k1", size=1):
    return Grading(key, "x", "a", {"verdict": "pass", "message": "m" * size})


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://user@host/name", "sqlite or postgresql"), ("://x", "is no URL"), ("", "no name"),
        ("no-such-folder/class.db", "there is no folder"), ("sqlite:////no/such/folder/class.db", "there is no folder"),
        ("/", "is a folder"), ("sqlite+nothing:///class.db", "is no URL"),
        ("postgresql://user:secret@127.0.0.1:1/name?connect_timeout=1", "127.0.0.1"),
        ("postgresql://user@127.0.0.1:1/name?password=secret&connect_timeout=1", "127.0.0.1"),
        ("postgresql://user:secret@127.0.0.1:port/name", "is no URL"),
        ("postgresql://user:se@secret@127.0.0.1/name", "an @ in its password"),
        ("postgresql://user:se/secret@[::1/name", "is no URL"),
    ],
)  # fmt: skip
def test_a_store_that_cannot_be_opened_says_why(url, words, capsys):
    with pytest.raises(StoreProblem, match=words) as problem:
        open_store(url)
    assert problem.value.help and not problem.value.in_use
    assert main(["statistics", "--db", url, "--json"]) == Status.USAGE
    assert "secret" not in f"{problem.value} {problem.value.help} {capsys.readouterr()}"


@pytest.mark.parametrize("contents", [b"hello\n" * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_file_that_is_no_database_stays_as_it_is(tmp_path, contents):
    (tmp_path / "notes.txt").write_bytes(contents)
    with pytest.raises(StoreProblem, match="not a database|malformed"):
        open_store(str(tmp_path / "notes.txt"))
    assert (tmp_path / "notes.txt").read_bytes() == contents


def test_tables_of_something_else_stay_as_they_are(bare_url):
    engine = sa.create_engine(bare_url)
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE student (x INTEGER)"))
    with pytest.raises(StoreProblem, match="already exists") as problem:
        open_store(bare_url)
    assert "something else" in problem.value.help
    assert sa.inspect(engine).get_table_names() == ["student"]
    engine.dispose()


def test_a_file_that_cannot_be_written_says_so(tmp_path):
    path = tmp_path / "class.db"
    open_store(str(path)).close()
    with (
        pytest.raises(StoreProblem, match="readonly") as problem,
        open_store(f"sqlite:///file:{path}?mode=ro&uri=true") as store,
    ):
        store.record([verdict()], [])
    assert "writable" in problem.value.help


def test_a_full_disk_keeps_what_was_kept(tmp_path):
    with open_store(str(tmp_path / "class.db")) as store:
        store.record([verdict()], [])
        with store._engine.connect() as connection:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count={pages + 4}")
        with pytest.raises(StoreProblem, match="disk is full") as problem:
            store.record([verdict(f"k{number}", 1000) for number in range(2, 100)], [])
        assert "make room" in problem.value.help and problem.value.in_use
        assert store.final_keys() == {"k1"}


def test_a_store_that_another_program_holds_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(sql_engine, "BUSY_SECONDS", 0.1)
    with open_store(str(tmp_path / "class.db")) as store:
        other = sqlite3.connect(tmp_path / "class.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        assert store.final_keys() == set()  # reading goes on
        with pytest.raises(StoreProblem, match="locked") as problem:
            store.record([verdict()], [])
        other.execute("ROLLBACK")
        other.close()
        store.record([verdict()], [])
    assert "let that end" in problem.value.help


def test_a_server_that_drops_the_connection_costs_one_transaction(postgres):
    server, run = postgres
    run("CREATE DATABASE dropped")
    with open_store(database(server, "dropped")) as store:
        drop = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'dropped' AND pid <> pg_backend_pid()"
        with pytest.raises(StoreProblem, match="terminating|closed") as problem, store._writing() as connection:
            run(drop)
            connection.execute(sa.text("SELECT 1"))
        assert problem.value.in_use and "run the same command again" in problem.value.help
        store.record([verdict()], [], "worker", NOON)
        run(drop)  # between two transactions nobody notices
        assert store.final_keys() == {"k1"}


class Interrupted(FakeRunner):
    """Does something in the middle of a run: after its first outcome."""

    def __init__(self, event):
        super().__init__()
        self.event = event

    def outcomes(self, tasks):
        for number, outcome in enumerate(super().outcomes(tasks)):
            yield outcome
            if number == 0:
                self.event()


def test_a_server_that_goes_away_in_the_middle_ends_the_run_and_the_next_goes_on(
    postgres, tmp_path, monkeypatch, capsys
):
    server, run = postgres
    run("CREATE DATABASE gone")
    url, folder = database(server, "gone"), make_class(tmp_path / "class", ["ann", "bob", "cy"])

    def goes_away():
        run("ALTER DATABASE gone ALLOW_CONNECTIONS false")
        run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'gone'")

    def grade(runner):
        monkeypatch.setattr(pool, "LocalPool", lambda workers: runner)
        status = main(["grade", str(folder), "--db", url, "--json"])
        return status, json.loads(capsys.readouterr().out.splitlines()[-1])

    status, line = grade(Interrupted(goes_away))
    assert status == Status.INTERNAL and "run the same command again" in line["help"]
    run("ALTER DATABASE gone ALLOW_CONNECTIONS true")
    runner = FakeRunner()
    status, line = grade(runner)
    assert len(runner.judged) == line["summary"]["graded_now"] == 2 and line["summary"]["known"] == 1
    with open_store(url) as store:
        assert len({key for key, _, _ in store.attempts()}) == len(store.attempts()) == 3
