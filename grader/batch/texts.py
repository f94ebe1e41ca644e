"""The CUDA texts that count in a class, with what was released to everybody."""

from __future__ import annotations

import ast

from grader.answers import answer_names
from grader.batch.course import class_of_store, open_course
from grader.batch.reading import submissions_in
from grader.gradebook import Gradebook
from grader.model import Exercise, Submission
from grader.notebook.source import canonical
from grader.release.starters import starters
from grader.stores.sql_store import SqlStore

__all__ = ["counted_texts"]


def counted_texts(store: SqlStore, book: Gradebook) -> dict[str, tuple[dict[str, str], str]]:
    """Exercise → ({student: CUDA text}, the starter's text) for every exercise that takes a kernel.

    In a group only the one who handed in counts.
    """
    course = open_course(store, class_of_store(store), "simulator")
    by_digest: dict[str, Submission] = {}
    owners: dict[str, set[str]] = {}
    for one in store.hand_ins():
        for digest, answer in submissions_in(one.file, store.blob(one.digest), course).items():
            by_digest[digest] = answer
            owners.setdefault(digest, set()).add(one.student)
    found: dict[str, tuple[dict[str, str], str]] = {}
    for row in book.rows:
        for entry in row.entries:
            counted = by_digest.get(entry.digest)
            if counted is not None and counted.source and row.student in owners[entry.digest]:
                texts, _ = found.setdefault(entry.exercise_id, ({}, _starter(course.rows[entry.exercise_id])))
                texts[row.student] = counted.source
    return found


def _starter(exercise: Exercise) -> str:
    """The released text of an exercise, "" for one of a pack."""
    literal = starters().get(exercise.id, {}).get(answer_names(exercise).source)
    return canonical(str(ast.literal_eval(literal))) if literal else ""
