"""Judgements of field cases, each made once a process: the tests of the cases and the page about them share them."""

from __future__ import annotations

import functools
from pathlib import Path

from grader.case_runs import Judgement, judge
from grader.worker.host import warm_device

__all__ = ["judged"]


@functools.cache
def judged(folder: Path, fixed: bool) -> Judgement:
    """What the simulator says of a case's fault, or of its repair."""
    return judge(folder, fixed, warm_device("simulator"))
