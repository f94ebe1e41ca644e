"""A launch in a file: how `grader.ncu` hands it to the process that a profiler watches."""

from __future__ import annotations

import json
from pathlib import Path

from grader.worker.wire import Launch, pack_launch, unpack_launch

__all__ = ["read_job", "write_job"]


def write_job(path: Path, launch: Launch) -> None:
    """Lengths of the message's parts in the first line, then the parts."""
    parts = pack_launch(launch)
    path.write_bytes(json.dumps([len(part) for part in parts]).encode() + b"\n" + b"".join(parts))


def read_job(path: Path) -> Launch:
    """What `write_job` wrote."""
    head, _, body = path.read_bytes().partition(b"\n")
    parts, start = [], 0
    for length in json.loads(head):
        parts.append(body[start : start + length])
        start += length
    return unpack_launch(tuple(parts))
