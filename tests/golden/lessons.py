"""Records the lessons' solutions on a GPU: the grader's reports, and times of their kernels."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from grader.compile import compile_text
from grader.devices import Device, choose
from grader.measure import timed_case
from grader.model import Case, Compiled, Exercise, KernelAnswer, Submission, TimedKernel, TimingPair, TimingPlan
from grader.notebook import read_notebook
from grader.notebook.literals import launch_config, launch_spec
from grader.preparing import prepare_case
from grader.timing.statistics import Statistics, statistics_of
from grader.timing.tools import tools_for
from grader.timing.trace import Trace
from simt.events import Argument
from simt.launch import Dim3, LaunchConfig

__all__ = ["record_lessons"]

ROOT = Path(__file__).resolve().parents[2]
EMPTY = 'extern "C" __global__ void empty() {}'


def record_lessons(folder: Path, facts: Mapping[str, str]) -> None:
    """Writes solutions.jsonl, a report a line, and times.json."""
    folder.mkdir(parents=True, exist_ok=True)
    stamp = {"gpu": facts["gpu"], "recorded": facts["recorded"]}
    command = [sys.executable, "-m", "grader", "check", "solutions", "--device", "cuda", "--json"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    lines = [json.dumps(stamp | json.loads(line), ensure_ascii=False) + "\n" for line in done.stdout.splitlines()]
    (folder / "solutions.jsonl").write_text("".join(lines), encoding="utf-8")
    times = dict(facts) | {
        "empty_ns": round(_empty(choose("cuda")).student_ns),
        "kernels": list(_times(choose("cuda"))),
    }
    (folder / "times.json").write_text(json.dumps(times, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _times(device: Device) -> Iterator[dict[str, object]]:
    """The time of each kernel that a solution writes, cold, on the case that its exercise measures."""
    from grader.exercises import exercise

    for file in sorted((ROOT / "solutions").glob("[0-9]*.py")):
        for name, answer in read_notebook(file).answers.items():
            row = exercise(name)
            case = timed_case(row)
            if isinstance(answer, Submission) and isinstance(row.answer, KernelAnswer) and case:
                timing = _timing(device, row, answer, case)
                against = "baseline" if row.baseline else "itself"
                yield {"exercise": name, "sizes": dict(case.sizes), "against": against} | _figures(timing)


def _timing(device: Device, exercise: Exercise, answer: Submission, case: Case) -> Statistics:
    assert isinstance(exercise.answer, KernelAnswer)
    kernel = exercise.answer.kernel
    student = TimedKernel(_built(answer.source, kernel, device), launch_config(answer.launch, case.sizes))
    baseline = student
    if exercise.baseline:
        text, launch = exercise.baseline
        baseline = TimedKernel(_built(text, kernel, device), launch_config(launch_spec(launch), case.sizes))
    return _paired(device, baseline, student, prepare_case(exercise, case).arguments)


def _empty(device: Device) -> Statistics:
    """The time between two events around a launch that does nothing."""
    nothing = TimedKernel(_built(EMPTY, "empty", device), LaunchConfig(Dim3(1), Dim3(32)))
    return _paired(device, nothing, nothing, ())


def _built(source: str, kernel: str, device: Device) -> Compiled:
    compiled = compile_text(source, kernel, device.arch)
    assert isinstance(compiled, Compiled), compiled.log
    return compiled


def _paired(device: Device, baseline: TimedKernel, student: TimedKernel, arguments: tuple[Argument, ...]) -> Statistics:
    trace = device.time(TimingPair(baseline, student, arguments, tools=tools_for(device.arch)), TimingPlan())
    assert isinstance(trace, Trace)
    return statistics_of([trace])


def _figures(timing: Statistics) -> dict[str, object]:
    return {
        "student_ns": round(timing.student_ns), "baseline_ns": round(timing.baseline_ns),
        "speedup": round(timing.ratio, 4), "low": round(timing.low, 4), "high": round(timing.high, 4),
        "pairs": timing.used,
    }  # fmt: skip
