"""Facts that views show besides a report, gathered from the course and the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.model import Exercise, Submission, Unreadable
from grader.report.wording import Context

if TYPE_CHECKING:
    from grader.report.device_card import DeviceFacts

__all__ = ["context_of", "describe_device"]


def context_of(exercise: Exercise, answer: Submission | Unreadable | None) -> Context:
    """What the views show besides the report: title, text, place, hints, what comes next."""
    from grader.exercises import all_exercises

    course = [row for row in all_exercises() if row.lesson != "selftest"]
    ids = [row.id for row in course]
    following = course[ids.index(exercise.id) + 1 :] if exercise.id in ids else []
    readable = answer if isinstance(answer, Submission) else None
    return Context(
        title=exercise.title,
        source=readable.source if readable else "",
        origin=readable.origin if readable and readable.source else None,
        hints=exercise.hints,
        next_exercise=(following[0].id, following[0].title) if following else None,
    )


def describe_device(name: str | None = None) -> DeviceFacts:
    """The device called `name`, the default for None, without starting a worker."""
    from grader.devices import DeviceMissing, choose
    from grader.report.device_card import DeviceFacts
    from simt.arch import arch

    try:
        device = choose(name)
    except DeviceMissing as missing:
        return DeviceFacts(name or "", missing=str(missing))
    try:
        limits = arch(device.arch)
        rows = (
            ("threads in a block", f"{limits.max_threads_per_block:,}"),
            ("shared memory of a block", f"{limits.max_shared_bytes_per_block:,} bytes"),
            ("registers of a block", f"{limits.registers_per_block:,}"),
            ("lanes of a warp", str(limits.warp_size)),
        )
        return DeviceFacts(device.name, device.arch, tuple(sorted(device.capabilities)), rows)
    finally:
        device.close()
