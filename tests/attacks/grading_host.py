"""Grades many submissions in a row in one process, a tenth of them hostile, and says what that left behind.

    python -m tests.attacks.grading_host COUNT      prints one JSON object

Limits on hanging kernels and on compile bombs are short, so that the whole takes minutes; everything else is as in
grading: a jailed compile process and a jailed worker for each submission.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import simt.sandbox
from grader.answers import submit
from grader.devices.base import CASE_BUDGET
from grader.exercises import exercise
from grader.hidden import NO_SEEDS
from grader.pipeline import grade
from grader.report.json_form import from_json, to_json
from grader.worker.host import fresh_device
from simt.nvrtc_cache import cache_folder
from tests.attacks.table import ATTACKS

# Honest answers and honest mistakes, in turn; every tenth submission is a hostile one.
USUAL = (
    "c01_honest", "c02_honest_gridstride", "m11_partial_write", "c03_honest_const_table", "m08_oob_read",
    "c04_honest_local_array", "f14_error_html", "c05_honest_printf_once", "f01_inc_passwd_quote",
)  # fmt: skip
HOSTILE = (
    "d04_trap", "endless", "d06_printf_flood", "b03_macro_bomb", "null", "d08_nanosleep", "forged_verdict", "overloads",
    "barrier_one_lane", "b08_log_flood",
)  # fmt: skip
BUDGET = replace(CASE_BUDGET, warp_instructions=4_000_000)
COMPILE_CPU_SECONDS = 2


def main(count: int) -> dict[str, object]:
    """What grading `count` submissions left: wrong records, processes, files, threads, descriptors, memory in KiB.

    Memory is compared with what was resident after the first submission, process by process; the largest growth counts.
    """
    with tempfile.TemporaryDirectory() as folder:
        _settle(Path(folder))
        wrong, resident = [], []
        _submission(0, "c01_honest")
        before, first = _left(Path(folder)), _resident_kib()
        started = time.monotonic()
        for number in range(count):
            name = HOSTILE[number // 10 % len(HOSTILE)] if number % 10 == 9 else USUAL[number % 10]
            verdict = _submission(number, name)
            if verdict not in ATTACKS[name].verdicts:
                wrong.append([number, name, verdict])
            if number % max(1, count // 50) == 0 or number == count - 1:
                resident.append(_resident_kib())
        after = _left(Path(folder))
    return {
        "submissions": count,
        "seconds": round(time.monotonic() - started, 1),
        "wrong": wrong,
        "left": {key: sorted(after[key] - before[key]) for key in after},
        "resident_kib": [first, *resident],
        "growth": max(last / one for one, last in zip(first, resident[-1], strict=True)) - 1,
    }


def _settle(folder: Path) -> None:
    """Temporary files, locks and the cache of builds in `folder`; the simulator's own machine code is copied there."""
    runtime = cache_folder() / "runtime"
    if runtime.exists():
        shutil.copytree(runtime, folder / "cache" / "runtime")
    (folder / "tmp").mkdir()
    os.environ |= {"TMPDIR": str(folder / "tmp"), "WARPWISE_CACHE": str(folder / "cache")}
    tempfile.tempdir = None
    # Where the compile step asks for its usual limits.
    simt.sandbox.Limits = partial(simt.sandbox.Limits, cpu_seconds=COMPILE_CPU_SECONDS)  # type: ignore[misc, assignment]


def _submission(number: int, name: str) -> str:
    """The verdict on an attack as another text than before; its record is written out and read back."""
    attack = ATTACKS[name]
    answer = submit(attack.exercise, f"{attack.text}\n// submission {number}\n", attack.literal())
    with fresh_device() as device:
        report = grade(answer, exercise(attack.exercise.id), device, fresh=True, hidden=NO_SEEDS, budget=BUDGET)
    record = from_json(json.loads(json.dumps(to_json(report))))
    assert to_json(record) == to_json(report) and record.digest == answer.digest
    assert (record.score > 0) is (str(record.verdict) == "pass")
    return str(record.verdict)


def _left(folder: Path) -> dict[str, set[str]]:
    """Everything that a submission might leave behind, by name."""
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix not in (".build", ".lock")}
    return {
        "files": files,
        "processes": set(_children()),
        "threads": {thread.name for thread in threading.enumerate()},
        "descriptors": set(os.listdir("/proc/self/fd")),
    }


def _children(process: str = "self") -> list[str]:
    """Every process that this one started, and those that they did: a fork server's are among the latter."""
    tasks = Path(f"/proc/{process}/task")
    own = [pid for task in tasks.iterdir() for pid in (task / "children").read_text().split()]
    return [*own, *(pid for child in own for pid in _children(child))]


def _resident_kib() -> list[int]:
    """Of this process, then of each that it started and that is still there."""
    return [_resident_kib_of(process) for process in ("self", *sorted(_children()))]


def _resident_kib_of(process: str) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS"))


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
