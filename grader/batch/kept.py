"""Hand-ins out of a store, as `collect` gives them out of a folder: what was graded once can be graded elsewhere."""

from __future__ import annotations

from grader.collecting import Collected, HandIn
from grader.stores.sql_store import SqlStore

__all__ = ["kept_hand_ins"]


def kept_hand_ins(store: SqlStore) -> Collected:
    """Everybody in the store with every notebook that was ever handed in, at the newest of its times."""
    hand_ins = tuple(
        HandIn(one.student, one.file, one.place, store.blob(one.digest), one.latest, one.is_late, one.problem)
        for one in store.hand_ins()
    )
    return Collected(store.students(), hand_ins)
