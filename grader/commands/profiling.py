"""`check --ncu`: what NVIDIA's own tools say of an answer, beside ours."""

from __future__ import annotations

from grader.commands.status import Refusal, Status
from grader.console import Output
from grader.model import Exercise, Report, Submission

__all__ = ["profiling_arch", "show_profile"]


def profiling_arch() -> str:
    """The GPU's architecture; refused where there is no GPU, or neither of the tools."""
    from grader.devices import DeviceMissing
    from grader.ncu_profile import missing_tools
    from grader.worker.host import WorkerDevice

    missing = missing_tools()
    if len(missing) == 2:
        raise Refusal(
            f"there is nothing to profile with: {'; '.join(missing.values())}",
            "leave --ncu out: simt's counters and findings need neither",
            Status.NOT_SUPPORTED,
        )
    device = WorkerDevice("cuda")
    try:
        return device.arch
    except DeviceMissing as problem:
        raise Refusal(
            f"there is no GPU to profile on: {problem}", "leave --ncu out, or run it on a machine with one",
            Status.NOT_SUPPORTED,
        ) from problem  # fmt: skip
    finally:
        device.close()


def show_profile(exercise: Exercise, answer: Submission, report: Report, arch: str, out: Output) -> None:
    """Runs the answer's measured case under the tools and shows what they said."""
    from grader.ncu_profile import lines, profiled

    with out.working(f"profiling {exercise.id}"):
        found = profiled(exercise, answer, report, arch)
    out.emit({"profiled": found.to_json()})
    if not out.json_lines:
        for line in lines(found):
            out.say(line)
        out.say("")
