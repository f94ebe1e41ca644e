"""One grading run without a command line: `python -m tests.grader.batch.grading DIR URL [STATEMENT]` for a process to kill."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from grader.batch.course import find_class, open_course
from grader.batch.run import carry_out, make_plan
from grader.collecting import collect
from grader.gradebook import facts_of, make_gradebook
from grader.stores import open_store
from tests.grader.batch.fake_runner import FakeRunner


def grade_folder(folder: Path, store, runner=None):
    """(plan, what was lost) of one run."""
    class_file = find_class(None, folder)
    course = open_course(store, class_file, "simulator")
    skipped = [*class_file.packs, folder / "class.toml"]
    plan = make_plan(store, collect(folder, ["selftest"], [path.resolve() for path in skipped]), course)
    return plan, carry_out(store, plan, course, runner or FakeRunner(), lambda outcome: None)


def gradebook(store, folder: Path):
    """The gradebook by the folder's class.toml."""
    class_file = find_class(None, folder)
    return make_gradebook(facts_of(store), class_file, open_course(store, class_file, "simulator").rows)


def _kill_at(engine, statement: int) -> None:
    """Ends this process with −9 right before its n-th SQL statement: no handler, no clean-up."""
    from sqlalchemy import event

    left = [statement]

    def count(*_):
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(engine, "before_cursor_execute", count)
    event.listen(engine, "commit", count)


if __name__ == "__main__":
    with open_store(sys.argv[2]) as opened:
        if len(sys.argv) > 3:
            _kill_at(opened._engine, int(sys.argv[3]))
        grade_folder(Path(sys.argv[1]), opened)
