"""What `doctor` says of the fences around hostile submissions: those this machine has, and those that took hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from grader.doctor import LIMITED, MISSING, OK, Finding
from simt.sandbox import ChildDied, ChildTimeout, Layer, layers

if TYPE_CHECKING:
    from grader.worker.host import WorkerDevice

__all__ = ["describe", "marked_down", "sandbox_finding"]

# They need nothing of the machine.
ALWAYS = (
    Layer("source scan", True, "refuses text that reaches for files or misleads a reader, before a compiler sees it"),
    Layer("PTX policy", True, "one kernel, its own parameters, nothing that outlives a launch"),
    Layer("environment", True, "empty, in the folder /"),
    Layer("wall limit", True, "the parent kills what does not answer"),
)


def sandbox_finding() -> Finding:
    """The finding from a compile process and a simulator's worker that are started to be asked."""
    from grader.devices.base import DeviceLost
    from grader.worker.host import WorkerDevice
    from simt.nvrtc_server import confinement
    from simt.nvrtc_toolkit import CompilerMissing, find_toolkit

    holding: dict[str, Sequence[str]] = {}
    worker = WorkerDevice("simulator")
    try:
        holding["simulator"] = worker.layers
        holding["compiler"] = confinement(find_toolkit())
    except CompilerMissing:
        pass  # said by the finding on the compiler
    except (DeviceLost, ChildDied, ChildTimeout) as error:
        return Finding(
            "sandbox",
            MISSING,
            f"a confined process does not start: {error}",
            "lessons, charts and predictions",
            "please report this with the output of `doctor --json`",
        )
    finally:
        worker.close()
    return describe(layers(), holding)


def describe(found: Sequence[Layer], holding: dict[str, Sequence[str]]) -> Finding:
    """The finding that follows from this machine's layers and from those that took hold in each process."""
    every = (*ALWAYS, *found)
    facts: dict[str, object] = {layer.name: layer.available for layer in every}
    facts["why"] = {layer.name: layer.why for layer in every}
    facts["holding"] = {process: list(names) for process, names in holding.items()}
    here = ", ".join(layer.name for layer in every if layer.available)
    lacking = [f"{layer.name} ({layer.why})" for layer in every if not layer.available]
    loose = [
        f"{layer.name} does not hold in the {process}"
        for process, names in holding.items() for layer in found if layer.available and layer.name not in names
    ]  # fmt: skip
    if lacking or loose:
        return Finding(
            "sandbox",
            LIMITED,
            f"{here}; not here: {'; '.join([*lacking, *loose])}",
            "checking your own answers",
            "grade other people's work on Linux 5.13 or newer",
            facts,
        )
    return Finding("sandbox", OK, f"{here}; all hold in the {' and the '.join(holding)}", facts=facts)


def marked_down() -> Finding | None:
    """The finding on a GPU whose workers were lost and that is still not well; None where all is."""
    from grader.worker.health import marked
    from grader.worker.host import WorkerDevice

    if not marked("cuda"):
        return None
    worker = WorkerDevice("cuda")
    try:
        why = _why_unwell(worker)
    finally:
        worker.close()
    if not why:
        return None
    return Finding(
        "GPU",
        LIMITED,
        why,
        "every lesson, on the simulator",
        "restart what uses the GPU, or the machine, and run python3 course.py doctor again",
        {"marked_down": True},
    )


def _why_unwell(worker: WorkerDevice) -> str:
    """What is wrong with the worker's GPU if it has a mark, "" where all is well; other GPUs' marks are left alone."""
    from grader.devices.base import DeviceLost, DeviceMissing
    from grader.worker.health import Guarded, called_alike, mark_file, marked

    try:
        own = mark_file("cuda", worker.uuid).path
    except (DeviceLost, DeviceMissing) as error:
        return str(error)
    alike = {mark.path for mark in called_alike("cuda")}
    marks = [mark for mark in marked("cuda") if mark.path in alike | {own}]
    return next((why for mark in marks if (why := Guarded(worker, mark).look_again())), "")
