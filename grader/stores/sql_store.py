"""A store in SQLite or PostgreSQL. Every write is one transaction and can be repeated: a run killed at any point goes on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from grader.collecting import HandIn, Student
from grader.stores import sql_tables as tables
from grader.stores.records import Grading, Mark, Result, StoredHandIn, StoreProblem
from grader.stores.sql_engine import Access, open_engine, transaction
from grader.stores.sql_schema import migrate

__all__ = ["SqlStore"]

MOST_NAMES = 500  # in one IN (…): SQLite takes 999 variables in old builds


class SqlStore:
    """What `grader.stores.open_store` returns."""

    def __init__(self, url: str, *, make: bool = True):
        """Opens or migrates the database; makes it where `make` says so.

        Raises:
            StoreProblem: it cannot be reached, a newer release made it, or it is not there.
        """
        try:
            self._engine = open_engine(url, make=make)
            migrate(self._engine, make=make)
        except ImportError as missing:
            raise StoreProblem(
                f"this store needs the package {missing.name}", "pip install -r requirements.txt"
            ) from missing
        except StoreProblem as problem:
            problem.in_use = False
            raise

    def close(self) -> None:
        """Ends all connections."""
        self._engine.dispose()

    def __enter__(self) -> SqlStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Hand-ins

    def add_hand_ins(self, students: Iterable[Student], hand_ins: Sequence[HandIn]) -> None:
        """Keeps students and hand-ins; the same one twice is one row, with the earliest and the newest of its times."""
        with self._writing() as connection:
            have = self._students(connection)
            rows = [
                {"id": new.id, "name": new.name or old.name, "platform_id": new.platform_id or old.platform_id,
                 "team": new.team or old.team}
                for new in students
                if (old := have.get(new.id, Student(new.id))) != new or new.id not in have
            ]  # fmt: skip
            self._put(connection, tables.student, rows, ("id",), ("name", "platform_id", "team"))
            known = self._known_blobs(connection, [one.digest for one in hand_ins])
            blobs = {
                one.digest: {"digest": one.digest, "data": one.data} for one in hand_ins if one.digest not in known
            }
            self._put(connection, tables.blob, list(blobs.values()), ("digest",))
            self._put_hand_ins(connection, hand_ins)

    def _put_hand_ins(self, connection: sa.Connection, hand_ins: Sequence[HandIn]) -> None:
        """New rows, and new times of those that are there."""
        times = {(row.student, row.file, row.digest): (row.received, row.latest) for row in self._hand_ins(connection)}
        rows: dict[tuple[str, str, str], dict] = {}
        for one in hand_ins:
            key = (one.student, one.file, one.digest)
            seen = times.get(key, ())
            if seen and seen[0] <= one.received <= seen[1]:
                continue
            times[key] = (min(one.received, *seen), max(one.received, *seen)) if seen else (one.received, one.received)
            rows[key] = {
                "student": one.student, "file": one.file, "blob": one.digest, "received": _iso(times[key][0]),
                "latest": _iso(times[key][1]), "is_late": one.is_late, "place": one.place, "problem": one.problem,
            }  # fmt: skip
        self._put(connection, tables.hand_in, list(rows.values()), ("student", "file", "blob"), ("received", "latest"))

    def hand_ins(self) -> list[StoredHandIn]:
        """All of them, by student; the newest of a student last."""
        with self._reading() as connection:
            return self._hand_ins(connection)

    def _hand_ins(self, connection: sa.Connection) -> list[StoredHandIn]:
        rows = connection.execute(sa.select(tables.hand_in))
        found = [
            StoredHandIn(
                r.id, r.student, r.file, r.blob, _time(r.received), _time(r.latest), r.is_late, r.place, r.problem
            )
            for r in rows
        ]
        # Databases sort text by their own rules; Python's order is the same everywhere.
        return sorted(found, key=lambda one: (one.student, one.latest, one.received, one.place, one.digest))

    def students(self) -> dict[str, Student]:
        """Everyone, by id, sorted."""
        with self._reading() as connection:
            return self._students(connection)

    def _students(self, connection: sa.Connection) -> dict[str, Student]:
        rows = sorted(connection.execute(sa.select(tables.student)), key=lambda row: row.id)
        return {row.id: Student(row.id, row.name, row.platform_id, row.team) for row in rows}

    def blob(self, digest: str) -> bytes:
        """The bytes with this digest.

        Raises:
            LookupError: there are none.
        """
        with self._reading() as connection:
            data = connection.execute(sa.select(tables.blob.c.data).where(tables.blob.c.digest == digest)).scalar()
        if data is None:
            raise LookupError(f"nothing with the digest {digest} is kept")
        return bytes(data)

    def blobs(self) -> int:
        """How many different contents are kept."""
        with self._reading() as connection:
            return connection.execute(sa.select(sa.func.count()).select_from(tables.blob)).scalar_one()

    def copy_to(self, other: SqlStore) -> None:
        """Puts every row into the empty store `other`, some at a time: a class's notebooks may not fit into memory."""
        some = {"yield_per": MOST_NAMES}
        with self._reading() as source, other._writing() as target:
            for table in tables.METADATA.sorted_tables:
                for rows in source.execute(sa.select(table), execution_options=some).mappings().partitions():
                    target.execute(sa.insert(table), [dict(row) for row in rows])

    # Readings

    def readings(self, reader: str) -> dict[tuple[str, str], dict]:
        """(blob, file) → what this reader found in it."""
        table = tables.reading
        with self._reading() as connection:
            rows = connection.execute(
                sa.select(table.c.blob, table.c.file, table.c.data).where(table.c.reader == reader)
            )
            return {(row.blob, row.file): row.data for row in rows}

    def add_readings(self, reader: str, found: Mapping[tuple[str, str], Mapping]) -> None:
        """Keeps what this reader found."""
        rows = [
            {"blob": digest, "file": file, "reader": reader, "data": dict(data)}
            for (digest, file), data in found.items()
        ]
        with self._writing() as connection:
            self._put(connection, tables.reading, rows, ("blob", "file", "reader"))

    # Verdicts

    def record(
        self, gradings: Sequence[Grading], results: Sequence[Result], worker: str = "", at: datetime | None = None
    ) -> None:
        """Keeps verdicts, and which hand-ins they are for, in one transaction.

        A verdict that is already there stays, unless it was our own failure.
        """
        with self._writing() as connection:
            self._put_gradings(connection, gradings)
            if at is not None and gradings:
                connection.execute(
                    sa.insert(tables.attempt),
                    [
                        {"key": g.key, "worker": worker, "outcome": str(g.report["verdict"]), "at": _iso(at)}
                        for g in gradings
                    ],
                )
            self._put_results(connection, results, ("key", "problem", "is_missing"))

    def await_verdicts(self, results: Sequence[Result]) -> None:
        """Keeps results that have no verdict yet; one that is there already stays, whoever kept it."""
        with self._writing() as connection:
            self._put_results(connection, results, ())

    def _put_results(self, connection: sa.Connection, results: Sequence[Result], newer: Sequence[str]) -> None:
        rows = {
            (r.hand_in, r.exercise_id): {"hand_in": r.hand_in, "exercise_id": r.exercise_id, "key": r.key,
                                         "problem": r.problem, "is_missing": r.is_missing}
            for r in results
        }  # fmt: skip
        self._put(connection, tables.result, list(rows.values()), ("hand_in", "exercise_id"), newer)

    def _put_gradings(self, connection: sa.Connection, gradings: Sequence[Grading]) -> None:
        rows = [
            {"key": g.key, "exercise_id": g.exercise_id, "answer": g.answer, "report": dict(g.report), "seeds": g.seeds,
             "thresholds": g.thresholds, "device": g.device, "is_final": g.is_final}
            for g in gradings
        ]  # fmt: skip
        ours = tables.grading.c.is_final.is_(False)
        self._put(connection, tables.grading, rows, ("key",), ("report", "is_final"), ours)

    def final_keys(self) -> set[str]:
        """Keys of every verdict that need not be reached again."""
        with self._reading() as connection:
            return set(connection.execute(sa.select(tables.grading.c.key).where(tables.grading.c.is_final)).scalars())

    def gradings(self, keys: Iterable[str]) -> dict[str, Grading]:
        """The verdicts with these keys."""
        table, wanted = tables.grading, sorted(set(keys))
        with self._reading() as connection:
            rows = [row for part in _parts(wanted)
                    for row in connection.execute(sa.select(table).where(table.c.key.in_(part)))]  # fmt: skip
        return {row.key: Grading(*row) for row in rows}

    def gradings_of(self, prefix: str) -> list[Grading]:
        """Verdicts whose key or answer's digest starts with `prefix`, sorted by key."""
        table = tables.grading
        chosen = table.c.key.startswith(prefix, autoescape=True) | table.c.answer.startswith(prefix, autoescape=True)
        with self._reading() as connection:
            rows = connection.execute(sa.select(table).where(chosen).order_by(table.c.key))
            return [Grading(*row) for row in rows]

    def results(self) -> list[Result]:
        """Which verdict each exercise of each hand-in got."""
        with self._reading() as connection:
            return [Result(*row) for row in connection.execute(sa.select(tables.result))]

    def attempts(self) -> list[tuple[str, str, str]]:
        """(key, worker, outcome) of each time that work was done, in that order."""
        table = tables.attempt
        with self._reading() as connection:
            rows = connection.execute(sa.select(table.c.key, table.c.worker, table.c.outcome).order_by(table.c.id))
            return [(row.key, row.worker, row.outcome) for row in rows]

    # Thresholds, marks by hand, the class

    def freeze(self, exercise_id: str, digest: str, data: Mapping[str, object], *, renew: bool = False) -> None:
        """Fixes what an exercise is held to; the first freeze stays unless it is renewed."""
        with self._writing() as connection:
            row = {"digest": digest, "exercise_id": exercise_id, "data": dict(data)}
            self._put(connection, tables.thresholds, [row], ("digest",))
            fixed = {"exercise_id": exercise_id, "digest": digest}
            self._put(connection, tables.frozen, [fixed], ("exercise_id",), ("digest",) if renew else ())

    def frozen(self) -> dict[str, tuple[str, dict]]:
        """Exercise → (digest, data) of the thresholds that hold."""
        join = tables.frozen.join(tables.thresholds)
        columns = (tables.frozen.c.exercise_id, tables.frozen.c.digest, tables.thresholds.c.data)
        with self._reading() as connection:
            return {row[0]: (row[1], row[2]) for row in connection.execute(sa.select(*columns).select_from(join))}

    def thresholds(self, digest: str) -> dict | None:
        """Thresholds that hold or held, None for unknown ones."""
        with self._reading() as connection:
            return connection.execute(
                sa.select(tables.thresholds.c.data).where(tables.thresholds.c.digest == digest)
            ).scalar()

    def add_mark(self, mark: Mark) -> None:
        """Keeps what a person gave; earlier marks stay in the history."""
        with self._writing() as connection:
            row = {
                "student": mark.student, "exercise_id": mark.exercise_id, "score": mark.score, "comment": mark.comment,
                "author": mark.author, "at": _iso(mark.when),
            }  # fmt: skip
            connection.execute(sa.insert(tables.mark).values(row))

    def marks(self) -> list[Mark]:
        """Every mark given by hand, oldest first."""
        table = tables.mark
        with self._reading() as connection:
            rows = connection.execute(sa.select(table).order_by(table.c.id))
            return [Mark(r.student, r.exercise_id, r.score, r.comment, r.author, _time(r.at)) for r in rows]

    def save_class(self, text: str, folder: str, at: datetime) -> None:
        """Keeps a class.toml, unless the newest one is the same."""
        if self.class_file() == (text, folder):
            return
        with self._writing() as connection:
            connection.execute(sa.insert(tables.class_file).values({"text": text, "folder": folder, "at": _iso(at)}))

    def class_file(self) -> tuple[str, str]:
        """(text, folder) of the newest class.toml; empty without one."""
        table = tables.class_file
        with self._reading() as connection:
            row = connection.execute(
                sa.select(table.c.text, table.c.folder).order_by(table.c.id.desc()).limit(1)
            ).one_or_none()
        return (row.text, row.folder) if row else ("", "")

    # SQL

    def _reading(self) -> AbstractContextManager[sa.Connection]:
        return transaction(self._engine, Access.READ)

    def _writing(self) -> AbstractContextManager[sa.Connection]:
        return transaction(self._engine, Access.WRITE)

    def _known_blobs(self, connection: sa.Connection, digests: Sequence[str]) -> set[str]:
        found: set[str] = set()
        for part in _parts(sorted(set(digests))):
            found |= set(
                connection.execute(sa.select(tables.blob.c.digest).where(tables.blob.c.digest.in_(part))).scalars()
            )
        return found

    def _put(
        self, connection: sa.Connection, table: sa.Table, rows: list[dict], key: Sequence[str],
        newer: Sequence[str] = (), where: sa.ColumnElement[bool] | None = None,
    ) -> None:  # fmt: skip
        """Inserts rows; where the key is there already, the columns `newer` follow the new row, if `where` holds."""
        if not rows:
            return
        statement = (postgresql if self._engine.dialect.name == "postgresql" else sqlite).insert(table)
        if newer:
            follow = {name: statement.excluded[name] for name in newer}
            statement = statement.on_conflict_do_update(index_elements=list(key), set_=follow, where=where)
        else:
            statement = statement.on_conflict_do_nothing(index_elements=list(key))
        connection.execute(statement, rows)


def _iso(when: datetime) -> str:
    return when.astimezone(UTC).isoformat(timespec="microseconds")


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _parts(names: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(names), MOST_NAMES):
        yield names[start : start + MOST_NAMES]
