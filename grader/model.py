"""Words of the course: exercises, answers, runs, reports. Frozen values; behaviour lives elsewhere.

An exercise takes one of three answers: a kernel (text and launch), a launch alone, or values (numbers and choices).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np

from grader.model_runs import Compiled, Resources, RunResult, TimedKernel, TimingPair
from grader.model_timing import Basis, Timing, TimingPlan
from simt.counters import Counters
from simt.diagnostics import Diagnostic

__all__ = [
    "Answer",
    "Basis",
    "Case",
    "CaseResult",
    "Compiled",
    "Exercise",
    "Fault",
    "Goal",
    "GoalResult",
    "GoalState",
    "KernelAnswer",
    "LaunchAnswer",
    "LaunchSpec",
    "Param",
    "Question",
    "Report",
    "Resources",
    "Role",
    "RunResult",
    "Submission",
    "Timed",
    "TimedKernel",
    "Timing",
    "TimingPair",
    "TimingPlan",
    "Tolerance",
    "Unreadable",
    "ValueAnswer",
    "Verdict",
]


class Verdict(enum.StrEnum):
    PASS = "pass"
    WRONG_ANSWER = "wrong_answer"
    INPUT_MODIFIED = "input_modified"
    MEMORY_FAULT = "memory_fault"
    RACE = "race"
    SYNC_ERROR = "sync_error"
    UNINITIALISED = "uninitialised"
    DEADLOCK = "deadlock"
    RUNTIME_ERROR = "runtime_error"
    TIMEOUT = "timeout"
    BUILD_FAILED = "build_failed"
    BUILD_LIMIT = "build_limit"
    SOURCE_REJECTED = "source_rejected"
    PTX_REJECTED = "ptx_rejected"
    LAUNCH_REJECTED = "launch_rejected"
    UNREADABLE = "unreadable"
    NOT_SUPPORTED = "not_supported"
    INTERNAL_ERROR = "internal_error"


class Role(enum.StrEnum):
    IN = "in"
    OUT = "out"
    INOUT = "inout"
    SCALAR = "scalar"


@dataclass(frozen=True, slots=True)
class Param:
    """One kernel parameter. `shape` entries are size names, ints or expressions over the case's sizes: ("m", "k")."""

    name: str
    dtype: str
    role: Role
    shape: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """One set of sizes; hidden cases never show sizes or data; a measured case is the one timing and counters use."""

    name: str
    sizes: Mapping[str, int]
    seed: int = 0
    hidden: bool = False
    measured: bool = False


@dataclass(frozen=True, slots=True)
class Timed:
    """The case that a GPU times, and that no simulator runs in full: large enough for at least ten empty launches.

    Attributes:
        sizes: as a `Case` has them.
        flops: that any right kernel does, an expression over the sizes; "" where the memory is what limits it.
        kept: float inputs whose contents do not change from launch to launch, because their values mean something.
        tolerance: in place of the exercise's, where an error grows with the sizes.
    """

    sizes: Mapping[str, int]
    flops: str = ""
    kept: tuple[str, ...] = ()
    tolerance: Mapping[str, Tolerance] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Goal:
    """A limit on a counter ratio, a resource or `speedup`, worth points once the answer is right.

    `metric` names a row of `grader.score.METRICS`. `limit` is a number, or an expression over the case's sizes.
    """

    metric: str
    limit: float | str
    at_least: bool
    points: float
    why: str
    question: str = ""  # shown when missed: a hint that asks


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Error budget against the float64 reference: |got - want| <= absolute + relative * |want|; how it was derived."""

    relative: float = 0.0
    absolute: float = 0.0
    why: str = "exact"


@dataclass(frozen=True, slots=True)
class Fault:
    """A named wrong kernel that must be caught; the report's help then names it.

    It is caught by a finding whose slug fnmatches one of `checks` (and whose message `message` is found in, when
    given), or by an output that equals `wrong_reference(**inputs, **sizes)` where that differs from the reference.
    A match by output or by message is worth more than one by slug alone, and silences those. Findings whose slug
    fnmatches one of `absent` speak against it: a reader who came too early reads unset memory, one too late does not.
    """

    name: str
    checks: tuple[str, ...] = ()
    wrong_reference: Callable[..., Mapping[str, np.ndarray]] | None = None
    says: str = ""  # the sentence that teaches, put into `help`
    message: str = ""  # regular expression
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KernelAnswer:
    """The student edits CUDA text and (when `launch_editable`) the launch literal."""

    kernel: str
    default_launch: Mapping[str, object]
    launch_editable: bool = True


@dataclass(frozen=True, slots=True)
class LaunchAnswer:
    """The student gives launch literals only, one per given kernel: name -> CUDA text."""

    kernels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Question:
    """One value to predict: a number with tolerance, or one of `choices`. `explain` is the reveal."""

    name: str
    prompt: str
    expected: float | str
    tolerance: float = 0.0
    choices: tuple[str, ...] = ()
    points: float = 1.0
    explain: str = ""


@dataclass(frozen=True, slots=True)
class ValueAnswer:
    questions: tuple[Question, ...]


Answer = KernelAnswer | LaunchAnswer | ValueAnswer


@dataclass(frozen=True, slots=True)
class Exercise:
    """A row of the course; one pipeline runs them all.

    Attributes:
        inputs: (sizes, rng) -> {name: array or scalar} for IN, INOUT and SCALAR params.
        reference: (**inputs, sizes) -> {name: float64 or exact array} for OUT and INOUT params.
        requires: device capabilities such as "simulator" or "sm_90"; nobody asks which device it is.
        baseline: CUDA text and launch that `speedup` compares with.
        timed: what a GPU times it on; None where nothing is timed.
        policy: PTX permissions an exercise grants: "device_globals", "special_registers"…
        core: core or stretch; `minutes` is the planned time.
    """

    id: str
    lesson: str
    title: str
    answer: Answer
    params: tuple[Param, ...] = ()
    inputs: Callable[..., Mapping[str, object]] | None = None
    reference: Callable[..., Mapping[str, np.ndarray]] | None = None
    cases: tuple[Case, ...] = ()
    tolerance: Mapping[str, Tolerance] = field(default_factory=dict)
    goals: tuple[Goal, ...] = ()
    points: float = 1.0
    hints: tuple[str, ...] = ()
    requires: frozenset[str] = frozenset()
    baseline: tuple[str, Mapping[str, object]] | None = None
    timed: Timed | None = None
    faults: tuple[Fault, ...] = ()
    policy: frozenset[str] = frozenset()
    core: bool = True
    minutes: int = 10


@dataclass(frozen=True, slots=True)
class LaunchSpec:
    """A launch literal as written: dimensions are ints or strings over the case's sizes; not yet evaluated."""

    grid: tuple[int | str, ...]
    block: tuple[int | str, ...]
    shared_bytes: int | str = 0
    cluster: tuple[int | str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """The same value from a notebook cell and from a collected file; made by `grader.answers`.

    `source` is canonical CUDA text ("" for value answers), `launch` a LaunchSpec or {kernel: LaunchSpec}, `values`
    the values literal. `origin` is (file, 1-based line of the text's first line) or None. `problems` are findings
    made while reading: a launch that is no literal.
    """

    exercise_id: str
    source: str
    launch: LaunchSpec | Mapping[str, LaunchSpec] | None = None
    values: Mapping[str, object] = field(default_factory=dict)
    origin: tuple[str, int] | None = None
    digest: str = ""
    problems: tuple[Diagnostic, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An answer that reading could not turn into a `Submission`: what is wrong, in which lines of which file.

    `missing` is True when nothing was found at all, so that an earlier submission may stand.
    """

    exercise_id: str
    message: str
    help: str = ""
    file: str = ""
    lines: tuple[int, ...] = ()
    missing: bool = False


class GoalState(enum.StrEnum):
    MET = "met"
    MISSED = "missed"
    NOT_MEASURED = "not_measured"


@dataclass(frozen=True, slots=True)
class GoalResult:
    metric: str
    value: float | None
    limit: float
    at_least: bool
    state: GoalState
    basis: Basis
    points: float
    why: str = ""
    question: str = ""


@dataclass(frozen=True, slots=True)
class CaseResult:
    """`first_bad`: up to a few dicts {output, index, got, want, thread} - redacted, like sizes, for a hidden case."""

    name: str
    sizes: Mapping[str, int] | None
    verdict: Verdict
    first_bad: tuple[Mapping[str, object], ...] = ()
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The only thing that leaves grading; frozen, JSON round trip by `grader.report.json_form` (schema 1)."""

    exercise_id: str
    digest: str
    verdict: Verdict
    score: float
    max_score: float
    cases: tuple[CaseResult, ...] = ()
    goals: tuple[GoalResult, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    counters: Counters | None = None
    by_line: Mapping[int, Counters] = field(default_factory=dict)
    resources: Resources | None = None
    timing: Timing | None = None
    message: str = ""
    printed: str = ""
    device: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    when: datetime | None = None
    schema: int = 1

    @property
    def passed(self) -> bool:
        """Verdict pass and no goal missed: exit status, progress and unlocking use this."""
        return self.verdict is Verdict.PASS and not any(g.state is GoalState.MISSED for g in self.goals)
