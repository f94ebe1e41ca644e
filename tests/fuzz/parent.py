"""Starts the process that runs hostile texts, and a new one behind the case at which it ended."""

from __future__ import annotations

import collections
import json
import os
import queue
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Failure", "Outcome", "fuzz"]

ROOT = Path(__file__).resolve().parents[2]
SILENT_SECONDS = 240  # without a line: every case is over long before, even on a busy machine


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that should have ended otherwise: `what` is a traceback, or how the process ended."""

    index: int
    what: str


@dataclass
class Outcome:
    """How the cases of a batch ended: by word, and those that must not."""

    ended: collections.Counter[str] = field(default_factory=collections.Counter)
    failures: list[Failure] = field(default_factory=list)


def fuzz(seed: int, first: int, count: int, kind: str = "") -> Outcome:
    """Runs the cases `first` … `first + count - 1`."""
    outcome, end = Outcome(), first + count
    while first < end:
        last, ending = _child(seed, first, end - first, kind, outcome)
        if not ending:
            return outcome
        outcome.failures.append(Failure(last, ending))
        outcome.ended["ended the process"] += 1
        first = last + 1
    return outcome


def _child(seed: int, first: int, count: int, kind: str, outcome: Outcome) -> tuple[int, str]:
    """Follows one process; (the latest case begun, how the process ended at it or "")."""
    command = [sys.executable, "-m", "tests.fuzz.child", str(seed), str(first), str(count), kind]
    child = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
        start_new_session=True,
    )
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(
        target=lambda: [lines.put(line) for line in child.stdout] and None or lines.put(""), daemon=True
    ).start()
    errors: list[str] = []
    threading.Thread(target=lambda: errors.extend(child.stderr), daemon=True).start()
    last, finished = first, False
    while True:
        try:
            line = lines.get(timeout=SILENT_SECONDS)
        except queue.Empty:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return last, f"said nothing for {SILENT_SECONDS} seconds: it waits for something that never comes"
        if not line:
            break
        word, _, rest = line.partition(" ")
        if word == "begin":
            last = int(rest)
        elif word == "fail":
            index, _, text = rest.partition(" ")
            outcome.failures.append(Failure(int(index), json.loads(text)))
        elif word == "tally":
            finished = True
            outcome.ended.update(json.loads(rest))
    code = child.wait()
    if finished and not code:
        return last, ""
    return last, f"{_name(code)}\n{''.join(errors[-40:])}"


def _name(code: int) -> str:
    if code == -signal.SIGPROF:
        return "stuck: its processor time ran out"
    return f"ended by {signal.Signals(-code).name}" if code < 0 else f"left with exit status {code}"
