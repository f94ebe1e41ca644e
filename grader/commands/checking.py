"""What `check`, `try` and `watch` share: a device, a report for an answer that is readable or not, and its display."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from grader.commands.status import Refusal, Status
from grader.console import Output
from grader.devices import device_names
from grader.devices.base import Device
from grader.model import Exercise, Report, Submission, Unreadable
from grader.report.wording import Context
from grader.views import context_of

__all__ = ["add_device_option", "context_of", "find_exercise", "judge", "opened_device", "show"]

REMOTE = "remote"  # a lab server's device, refused by name until there is one


def add_device_option(parser: argparse.ArgumentParser) -> None:
    """`--device` and `--json`, the same everywhere."""
    parser.add_argument("--device", choices=(*device_names(), REMOTE), help="what runs the kernels")
    parser.add_argument("--json", action="store_true", help="one JSON object a line on standard output")


@contextmanager
def opened_device(name: str | None, *, fresh: bool = False) -> Iterator[Device]:
    """The device that jobs are given to, in a process of its own; it ends with the block, also on Ctrl-C.

    Args:
        name: as `--device` takes it.
        fresh: processes of this block's own, not those that this process keeps warm.
    """
    from grader.devices import DeviceMissing
    from grader.worker.host import fresh_device, warm_device

    if name == REMOTE:
        help = "take --device simulator, or cuda where there is a GPU"
        raise Refusal(
            "no kernel can be sent to another machine: this release has no lab server", help, Status.NOT_SUPPORTED
        )
    with ExitStack() as stack:
        try:
            device = stack.enter_context(fresh_device(name)) if fresh else warm_device(name)
        except DeviceMissing as missing:
            raise Refusal(str(missing), "`doctor` says what this machine has", Status.NOT_SUPPORTED) from missing
        stack.callback(device.close)
        yield device


def find_exercise(exercise_id: str) -> Exercise:
    """The exercise, or a refusal that names near ids."""
    from grader.exercises import UnknownExercise, exercise

    try:
        return exercise(exercise_id)
    except UnknownExercise as unknown:
        raise Refusal(str(unknown), "`progress` lists the exercises") from unknown


def judge(answer: Submission | Unreadable, device: Device | str | None, *, fresh: bool = False) -> Report:
    """The report on one answer, compiled in a process of its own when `fresh`; an unreadable one is a verdict too."""
    from grader.pipeline import check_submission

    return check_submission(answer, device, fresh=fresh)


def show(report: Report, context: Context, out: Output, file: str = "") -> None:
    """The report as a JSON line, or as text for people."""
    from grader.report.json_form import to_json
    from grader.report.text import renderable
    from grader.report.wording import next_step

    if out.json_lines:
        out.emit(({"file": file} if file else {}) | to_json(report) | {"next": next_step(report, context)})
    else:
        out.say(renderable(report, context))
        out.say("")
