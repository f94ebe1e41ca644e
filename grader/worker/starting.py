"""How a worker is started: spawned or forked, with what of the parent's environment, and what is said when it fails."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path

from simt.nvrtc_cache import cache_folder
from simt.sandbox import Child, ChildDied, Limits
from simt.sandbox_fork import ForkServer, NoForkServer

__all__ = ["GPU_ENVIRONMENT", "START_SECONDS", "Start", "environment_for", "forked", "spawned", "why_not_started"]

Start = Callable[[str, Limits], Child]

LOG = logging.getLogger(__name__)
CHILD = Path(__file__).with_name("child.py")
ROOT = CHILD.parents[2]
START_SECONDS = 120.0  # a cold disk beside twenty others; a warm one starts in half a second

# All that a worker on a GPU gets of the environment: which GPUs this job may use and in what order they are counted
# (CUDA C++ Programming Guide, "CUDA Environment Variables"), and where CUDA's libraries lie.
GPU_ENVIRONMENT = ("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_PATH", "LD_LIBRARY_PATH")

MOST_LINE = 160  # characters: the reason and what to do fit into the 300 of a report's message
MOST_LINES = 6
# What a process that did not start wrote -> what to do about it; the first that fits.
ADVICE = (
    (
        r"MemoryError|Cannot allocate memory|bad_alloc|out of memory",
        "the machine or this job has too little memory; grade fewer at a time or give it more",
    ),
    (r"No space left on device", "free some of the disk that holds the cache and the temporary files"),
    (r"Too many open files|Resource temporarily unavailable", "raise the limits of this account (`ulimit -n`, `ulimit -u`)"),
    (r"SandboxError", "a fence of the sandbox cannot be switched on here; python3 course.py doctor names it"),
    (
        r"ModuleNotFoundError|ImportError|cannot open shared object",
        "a package is missing or broken; python3 course.py doctor names it",
    ),
    (r"PermissionError|Permission denied", "this account may not read or write the file that is named"),
)  # fmt: skip
OTHERWISE = "python3 course.py doctor looks at each part of this machine"


def environment_for(device: str) -> dict[str, str]:
    """The variables that a worker for `device` is given, each only where it is set here; none for the simulator."""
    names = () if device == "simulator" else GPU_ENVIRONMENT
    return {name: os.environ[name] for name in names if name in os.environ}


def spawned(device: str, limits: Limits) -> Child:
    """A worker in a process that loads everything itself."""
    setup = {"device": device, "limits": asdict(limits)}
    return Child(_command(str(cache_folder()), setup), limits, environment_for(device))


def forked(device: str, limits: Limits) -> Child:
    """A worker that a fork server begins; spawned where there is none, and on a GPU, whose driver does not survive a fork."""
    if device == "simulator":
        try:
            return _server(str(cache_folder())).child({"device": device, "limits": asdict(limits)}, limits)
        except NoForkServer as why:
            _say_once(str(why))
    return spawned(device, limits)


@cache
def _server(folder: str) -> ForkServer:
    """The one of this process for workers that use this cache folder."""
    return ForkServer(_command(folder, {}), START_SECONDS)


def _command(folder: str, setup: Mapping[str, object]) -> list[str]:
    facts = {"root": str(ROOT), "cache": folder, **setup}
    return [sys.executable, "-I", str(CHILD), json.dumps(facts)]


@cache
def _say_once(why: str) -> None:
    LOG.info("each worker loads everything itself: %s", why)


def why_not_started(died: ChildDied) -> str:
    """What is known of a worker that ended before it took any job, and the next step.

    Nothing of a submission was in that process: what it wrote is Python's, a library's or the driver's.
    """
    advice = next((says for pattern, says in ADVICE if re.search(pattern, died.errors)), OTHERWISE)
    lines = [line.strip()[:MOST_LINE] for line in died.errors.splitlines() if line.strip(" ^~")]
    *before, reason = lines[-MOST_LINES:] or [str(died)]
    what = f"the worker ended while it started: {reason}; {advice}"
    return f"{what}. Before that ({died}) it wrote: {' | '.join(before)}" if before else what
