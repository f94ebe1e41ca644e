"""What a lesson's widgets draw: one traced launch of the student's own kernel, and pictures of it.

    look("thread_mapping.map1d", map1d_src, n=70, room=96).thread_map("y")

A kernel that does not build or was refused is no error here: the picture's place then says why it is empty.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from grader.lesson import Shown
from grader.model import Case, Exercise, KernelAnswer, LaunchAnswer, RunResult
from simt.counters import Counters
from simt.events import Access, Budget, MemoryRequest, Scope, Status
from simt.launch import LaunchConfig

__all__ = ["Look", "look"]

# A picture of a few thousand threads; an endless loop ends after a moment, and while a slider moves nobody waits.
BUDGET = Budget(warp_instructions=20_000_000, seconds=2.0, printf_bytes=1 << 12, memory_bytes=1 << 26)
MOST_REQUESTS = 20_000


@dataclass(frozen=True, slots=True)
class Look:
    """One launch as widgets see it; `problem` says why there is none, "" when there is."""

    exercise: Exercise
    source: str = ""
    config: LaunchConfig | None = None
    inputs: Mapping[str, object] | None = None
    want: Mapping[str, np.ndarray] | None = None
    result: RunResult | None = None
    problem: str = ""

    @property
    def counters(self) -> Counters:
        """Of the launch; all zero when there was none."""
        return self.result.counters if self.result else Counters()

    @property
    def findings(self) -> str:
        """What the checks found, one line each; the reason when nothing ran."""
        if self.result is None:
            return self.problem
        errors = dict.fromkeys(f"{finding.check}: {finding.message}" for finding in self.result.errors)
        return "\n".join(errors) or "no findings"

    def thread_map(self, output: str, title: str = "", columns: int = 32):
        """Who wrote each element of `output`."""
        return self._drawn(lambda chart, run: chart.thread_map(
            self._writers(run, output), self.config.block.volume, title=title, columns=columns  # type: ignore[union-attr]
        ))  # fmt: skip

    def error_map(self, output: str, title: str = ""):
        """Where `output` differs from the reference."""
        return self._drawn(lambda chart, run: chart.error_map(
            run.outputs[output], self.want[output], written=self._writers(run, output) >= 0, title=title  # type: ignore[index]
        ))  # fmt: skip

    def access_map(self, array: str, title: str = "", access: str = "load", most: int = 8):
        """Which sectors the first requests for `array` touch."""
        return self._drawn(
            lambda chart, run: chart.access_map(self._requests(array, access)[:most], title=title, most_requests=most)
        )

    def load_map(self, array: str, title: str = "", most: float | None = None):
        """How many times each element of `array` was loaded from global memory."""
        return self._drawn(lambda chart, run: chart.heat_map(self.loads(array), "loads", title=title, most=most))

    def line_map(self, counter: str, title: str = ""):
        """The kernel's text with `counter` beside each line."""
        return self._drawn(lambda chart, run: chart.counters_by_line(self.source, run.by_line, counter, title=title))

    def loads(self, array: str) -> np.ndarray:
        """How many lanes loaded each element of `array`, in its shape."""
        data = np.asarray((self.inputs or {})[array])
        counts = np.zeros(data.size, np.int64)
        for request in self._requests(array, "load"):
            for offset in range(0, request.size, data.itemsize):
                index = (request.addresses[request.active] + offset) // data.itemsize
                np.add.at(counts, index[index < data.size].astype(np.int64), 1)
        return counts.reshape(data.shape)

    def _requests(self, array: str, access: str) -> list[MemoryRequest]:
        trace = self.result.trace if self.result else ()
        return [r for r in trace if r.scope is Scope.GLOBAL and r.access is Access(access) and r.buffer == array]

    def _writers(self, run: RunResult, output: str) -> np.ndarray:
        """Linear thread id of each element's writer; elements here are 4 bytes wide."""
        shape = run.outputs[output].shape
        return np.asarray((run.writers or {})[output])[: int(np.prod(shape))].reshape(shape)

    def _drawn(self, draw: Callable):
        from grader import charts

        if self.result is None:
            return _nothing(self.problem)
        return draw(charts, self.result)


def look(
    exercise_id: str, answer: str = "", launch: Mapping[str, object] | None = None, *, kernel: str = "", **sizes: int
) -> Look:
    """One launch of a kernel on inputs of an exercise, traced.

    Args:
        exercise_id: whose parameters, inputs and reference are used.
        answer: CUDA text; for an exercise that gives the kernels, "" takes the one called `kernel`.
        launch: a launch literal; the exercise's own without it.
        kernel: name of the kernel in the text, when it is another than the exercise's.
        sizes: of the case, each by its name.
    """
    from grader.exercises import exercise
    from grader.notebook.source import canonical

    row = exercise(exercise_id)
    case = Case("look", sizes, seed=1)
    match row.answer:
        case KernelAnswer(kernel=own, default_launch=default):
            return _run(row, case, canonical(answer), kernel or own, launch or default)
        case LaunchAnswer(kernels=kernels):
            return _run(row, case, canonical(answer or kernels[kernel]), kernel, launch or {})
    raise TypeError(f"{exercise_id} has no kernel to look at")


def _run(row: Exercise, case: Case, source: str, kernel: str, launch: Mapping[str, object]) -> Look:
    from grader.compile import BuildProblem, compile_text
    from grader.notebook.literals import LiteralProblem, launch_config, launch_spec
    from grader.preparing import prepare_case

    empty = Look(row, source)
    try:
        config = launch_config(launch_spec(launch), case.sizes)
    except LiteralProblem as problem:
        return replace(empty, problem=f"the launch cannot be read: {problem.message}")
    built = compile_text(source, kernel, "sm_80")
    if isinstance(built, BuildProblem):
        return replace(
            empty, problem=built.diagnostics[0].message if built.diagnostics else "the kernel does not compile"
        )
    prepared = prepare_case(row, case)
    program = _program(built.ptx, built.kernel, built.arch, source)
    result = program.launch(config, prepared.arguments, budget=BUDGET, want_writers=True, trace=MOST_REQUESTS)
    if result.blocks_run == 0 or result.status in (Status.REJECTED, Status.NOT_SUPPORTED):
        first = result.diagnostics[0].message if result.diagnostics else str(result.status)
        return replace(empty, config=config, problem=first)
    return Look(row, source, config, prepared.inputs, prepared.want, result)


@lru_cache(maxsize=16)
def _program(ptx: str, kernel: str, arch: str, source: str):
    """The translated kernel, kept while a slider moves."""
    from simt.program import Program

    return Program.from_ptx(ptx, kernel=kernel, arch=arch, source=source)


def _nothing(reason: str) -> Shown:
    return Shown(
        '<div style="border:1px dashed currentColor;border-radius:8px;padding:1em;opacity:0.75">'
        f"Nothing to draw yet: {html.escape(reason)}</div>",
        reason,
    )
