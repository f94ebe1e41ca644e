"""Goals: what a right kernel is held to beyond being right, and the points that follow.

`METRICS` is the whole list of what a goal can name. A value comes from counters (counted), from the assembler or
the occupancy rules (counted too), or from timing (measured or estimated). None means it could not be had here; the
goal is then not measured and its points leave the maximum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from grader.model import Basis, Exercise, Goal, GoalResult, GoalState, Resources, Timing, Verdict
from grader.notebook.literals import limit_value
from grader.timing.decision import Decision, decide
from simt.counters import Counters
from simt.diagnostics import Diagnostic
from simt.launch import LaunchConfig

__all__ = ["METRICS", "Evidence", "Metric", "UnknownMetric", "judge_goals", "needs", "points"]

# An estimate needs a wider margin than a measurement and must lie more than 25 % away from T.
ESTIMATE_MARGIN = 1.25


class UnknownMetric(LookupError):
    """A goal names a metric that `METRICS` has no row for."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of one right run of the measured case.

    Attributes:
        counters: of the student's kernel, None when they could not be counted.
        resources: of its machine code.
        sizes: of the case.
        config: its launch.
        arch: architecture it was compiled for.
        output_elements, output_bytes: of all OUT and INOUT parameters together.
        input_bytes: of all IN and INOUT parameters together.
        baseline: counters of the exercise's baseline on the same case, when it was run.
        timing: against the baseline, when it was timed.
        timing_findings: what timed launches were found to do wrong.
        resources_for: other architecture -> resources there, None when it does not compile for it.
    """

    counters: Counters | None
    resources: Resources | None
    sizes: Mapping[str, int]
    config: LaunchConfig
    arch: str
    output_elements: int = 0
    output_bytes: int = 0
    input_bytes: int = 0
    baseline: Counters | None = None
    timing: Timing | None = None
    timing_findings: tuple[Diagnostic, ...] = ()
    resources_for: Callable[[str], Resources | None] | None = None


Value = Callable[[Evidence], float | None]


@dataclass(frozen=True, slots=True)
class Metric:
    """One thing a goal can name; `needs` is "counters", "baseline" (both kernels' counters), "resources" or "timing"."""

    name: str
    title: str
    unit: str
    needs: str
    value: Value


def _ratio(a: float, b: float) -> float | None:
    """a / b; None when there is nothing to divide by, so that an empty kernel meets no goal."""
    return a / b if b else None


def _counted(function: Callable[[Counters, Evidence], float | None]) -> Value:
    return lambda e: None if e.counters is None else function(e.counters, e)


def _plain_counter(name: str) -> Value:
    return lambda e: None if e.counters is None else getattr(e.counters, name)


def _of_baseline(name: str) -> Value:
    def value(e: Evidence) -> float | None:
        if e.counters is None or e.baseline is None:
            return None
        return _ratio(getattr(e.counters, name), getattr(e.baseline, name))

    return value


def _resource(function: Callable[[Resources], float | None]) -> Value:
    return lambda e: None if e.resources is None else function(e.resources)


def _occupancy(arch_name: str | None) -> Value:
    def value(e: Evidence) -> float | None:
        from simt.arch import arch
        from simt.occupancy import occupancy

        name = arch_name or e.arch
        here = e.resources if name == e.arch or e.resources_for is None else e.resources_for(name)
        if here is None or here.registers is None:
            return None
        shared = here.static_shared_bytes + e.config.shared_bytes
        return occupancy(
            arch(name), registers=here.registers, shared_bytes=shared, threads=e.config.block.volume
        ).fraction

    return value


def _speedup(e: Evidence) -> float | None:
    return e.timing.ratio if e.timing and e.timing.ratio else None


def _threads(e: Evidence) -> int:
    return e.config.grid.volume * e.config.block.volume


# Values over counters: name, title, unit, value.
COUNTED: tuple[tuple[str, str, str, Callable[[Counters, Evidence], float | None]], ...] = (
    ("global_load_sectors_per_request", "sectors per global load request", "sectors",
     lambda c, e: _ratio(c.global_load_sectors, c.global_load_requests)),
    ("global_store_sectors_per_request", "sectors per global store request", "sectors",
     lambda c, e: _ratio(c.global_store_sectors, c.global_store_requests)),
    ("sectors_per_request", "sectors per global request", "sectors",
     lambda c, e: _ratio(c.global_load_sectors + c.global_store_sectors, c.global_load_requests + c.global_store_requests)),
    ("global_bytes_per_useful", "bytes moved per useful byte", "ratio",
     lambda c, e: _ratio(32 * (c.global_load_sectors + c.global_store_sectors), c.global_load_bytes + c.global_store_bytes)),
    ("bytes_per_needed", "bytes moved per byte of the inputs and outputs", "ratio",
     lambda c, e: _ratio(32 * (c.global_load_sectors + c.global_store_sectors), e.input_bytes + e.output_bytes)),
    ("loads_per_output", "elements loaded from global memory per output", "loads",
     lambda c, e: _ratio(c.global_load_bytes, e.output_bytes)),
    ("stores_per_output", "elements stored to global memory per output", "stores",
     lambda c, e: _ratio(c.global_store_bytes, e.output_bytes)),
    ("reads_per_input", "times each input byte is loaded", "loads",
     lambda c, e: _ratio(c.global_load_bytes, e.input_bytes)),
    ("shared_load_ways", "wavefronts per ideal wavefront of shared loads", "ways",
     lambda c, e: _ratio(c.shared_load_wavefronts, c.shared_load_wavefronts - c.shared_load_excess)),
    ("shared_excess", "excess wavefronts of shared loads and stores", "wavefronts",
     lambda c, e: c.shared_load_excess + c.shared_store_excess),
    ("shared_requests", "shared load and store requests", "requests",
     lambda c, e: c.shared_load_requests + c.shared_store_requests),
    ("shared_loads_per_fma", "shared load requests per warp-level FMA", "requests",
     lambda c, e: _ratio(32 * c.shared_load_requests, c.fma_lane_instructions)),
    ("lane_efficiency", "active lanes per issued instruction, of 32", "fraction",
     lambda c, e: _ratio(c.lane_instructions, 32 * c.instructions)),
    ("barriers_per_block", "barrier arrivals of each warp", "barriers",
     lambda c, e: _ratio(c.barriers, e.config.grid.volume * -(-e.config.block.volume // 32))),
    ("shuffles_per_warp", "shuffle instructions of each warp", "shuffles",
     lambda c, e: _ratio(c.shuffles, e.config.grid.volume * -(-e.config.block.volume // 32))),
    ("local_requests", "local memory load and store requests", "requests",
     lambda c, e: c.local_load_requests + c.local_store_requests),
    ("flops_per_byte", "arithmetic intensity by sectors moved", "FLOP/B",
     lambda c, e: _ratio(c.flops, 32 * (c.global_load_sectors + c.global_store_sectors))),
    ("outputs_per_thread", "outputs per launched thread", "outputs",
     lambda c, e: _ratio(e.output_elements, _threads(e))),
)  # fmt: skip

PLAIN = {
    "global_load_requests": "global load requests",
    "global_load_sectors": "global load sectors",
    "global_store_requests": "global store requests",
    "global_store_sectors": "global store sectors",
    "shared_load_requests": "shared load requests",
    "shared_store_requests": "shared store requests",
    "shared_load_wavefronts": "shared load wavefronts",
    "shared_store_wavefronts": "shared store wavefronts",
    "shared_load_excess": "excess wavefronts of shared loads",
    "shared_store_excess": "excess wavefronts of shared stores",
    "atomic_global_requests": "global atomic requests",
    "atomic_shared_requests": "shared atomic requests",
    "instructions": "warp instructions",
    "branches": "branches",
    "divergent_branches": "divergent branches",
    "barriers": "barrier arrivals of warps",
    "shuffles": "shuffle instructions",
    "tensor_instructions": "tensor instructions",
    "async_copies": "asynchronous copies",
}
AGAINST_BASELINE = ("instructions", "global_load_requests", "global_load_sectors", "shared_load_requests")
ARCHES = ("sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")


def _rows() -> Iterable[Metric]:
    for name, title, unit, function in COUNTED:
        yield Metric(name, title, unit, "counters", _counted(function))
    for name, title in PLAIN.items():
        yield Metric(name, title, "", "counters", _plain_counter(name))
    for name in AGAINST_BASELINE:
        title = f"{PLAIN[name]} over the baseline's"
        yield Metric(f"{name}_ratio", title, "ratio", "baseline", _of_baseline(name))
    yield Metric("registers", "registers a thread", "registers", "resources", _resource(lambda r: r.registers))
    yield Metric(
        "spill_bytes", "bytes of spilled registers a thread", "B", "resources", _resource(lambda r: r.spill_bytes)
    )
    yield Metric("local_bytes", "local memory a thread", "B", "resources", _resource(lambda r: r.local_bytes))
    yield Metric(
        "static_shared_bytes", "static shared memory a block", "B", "resources",
        _resource(lambda r: r.static_shared_bytes),
    )  # fmt: skip
    yield Metric(
        "shared_bytes", "shared memory a block", "B", "resources",
        lambda e: None if e.resources is None else e.resources.static_shared_bytes + e.config.shared_bytes,
    )  # fmt: skip
    yield Metric("occupancy", "occupancy", "fraction", "resources", _occupancy(None))
    for name in ARCHES:
        yield Metric(f"occupancy_{name}", f"occupancy on {name}", "fraction", "resources", _occupancy(name))
    yield Metric("speedup", "speed-up over the baseline", "×", "timing", _speedup)


METRICS: dict[str, Metric] = {row.name: row for row in _rows()}


def _metric(goal: Goal) -> Metric:
    try:
        return METRICS[goal.metric]
    except KeyError:
        import difflib

        near = difflib.get_close_matches(goal.metric, METRICS, n=3)
        raise UnknownMetric(f"no metric is called {goal.metric!r}; near ones: {', '.join(near) or 'none'}") from None


def needs(exercise: Exercise) -> frozenset[str]:
    """What judging the exercise's goals takes: counters, baseline, resources, timing."""
    return frozenset(_metric(goal).needs for goal in exercise.goals)


def judge_goals(exercise: Exercise, evidence: Evidence | None, sizes: Mapping[str, int]) -> tuple[GoalResult, ...]:
    """Each goal of the exercise, in order.

    Args:
        exercise: the row.
        evidence: None when the kernel is not right: then every goal is missed, whatever its counters.
        sizes: of the measured case.
    """
    return tuple(_judge(goal, _metric(goal), evidence, limit_value(goal.limit, sizes)) for goal in exercise.goals)


def _judge(goal: Goal, metric: Metric, evidence: Evidence | None, limit: float) -> GoalResult:
    value = metric.value(evidence) if evidence else None
    basis = evidence.timing.basis if metric.needs == "timing" and evidence and evidence.timing else Basis.COUNTED
    if evidence is None:
        state = GoalState.MISSED
    elif value is None:
        state = GoalState.NOT_MEASURED
    elif metric.needs == "timing" and evidence.timing:
        state = _timing_state(evidence.timing, limit)
    else:
        state = GoalState.MET if _holds(value, limit, goal.at_least) else GoalState.MISSED
    return GoalResult(goal.metric, value, limit, goal.at_least, state, basis, goal.points, goal.why, goal.question)


def _holds(value: float, limit: float, at_least: bool) -> bool:
    slack = 1e-9 * abs(limit)
    return value >= limit - slack if at_least else value <= limit + slack


def _timing_state(timing: Timing, limit: float) -> GoalState:
    """An estimate within 25 % of T decides nothing; a measured interval misses only where it lies below 0.95 T.

    What cannot be right earns nothing until somebody looked at it; what could not be measured is no miss.
    """
    if timing.basis is Basis.ESTIMATED:
        if timing.ratio > ESTIMATE_MARGIN * limit:
            return GoalState.MET
        return GoalState.MISSED if timing.ratio < limit / ESTIMATE_MARGIN else GoalState.NOT_MEASURED
    if timing.problem or limit in timing.off:
        return GoalState.NOT_MEASURED
    fails = timing.suspect or decide(timing.low, timing.high, limit) is Decision.FAIL
    return GoalState.MISSED if fails else GoalState.MET


def points(exercise: Exercise, verdict: Verdict, goals: Iterable[GoalResult]) -> tuple[float, float]:
    """(score, maximum): the exercise's points and those of each goal met; what was not measured is in neither."""
    goals = tuple(goals)
    most = exercise.points + sum(g.points for g in goals if g.state is not GoalState.NOT_MEASURED)
    if verdict is not Verdict.PASS:
        return 0.0, most
    return exercise.points + sum(g.points for g in goals if g.state is GoalState.MET), most
