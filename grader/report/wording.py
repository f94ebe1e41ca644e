"""The words every view shares: headline, where, goal, counters, what to do next; and what a viewer knows besides.

Views differ in form only, so a sentence is written here once. Functions read a `Report` and return plain text;
escaping belongs to the view.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from grader.model import CaseResult, GoalResult, GoalState, Report, ValueAnswer, Verdict
from grader.verdicts import verdict_of
from simt.counters import NCU, Counters
from simt.diagnostics import Diagnostic, Severity

__all__ = [
    "HEADLINES",
    "NO_CONTEXT",
    "Context",
    "CounterRow",
    "bad_text",
    "case_label",
    "counter_rows",
    "does_not_count",
    "element_text",
    "findings",
    "goal_text",
    "goal_value",
    "headline",
    "lanes_text",
    "metric_name",
    "next_step",
    "number",
    "points_of",
    "points_text",
    "sentence",
    "shape_text",
    "status",
    "thread_text",
    "value_text",
    "where",
]


@dataclass(frozen=True, slots=True)
class Context:
    """What a viewer knows besides the report; every field may be empty.

    Attributes:
        title: the exercise's title.
        source: canonical CUDA text that the report's lines count in.
        origin: (file, 1-based line of the text's first line in it), to say where to look.
        hints: every hint, in the order they are given.
        next_exercise: (id, title) of what comes after this one.
    """

    title: str = ""
    source: str = ""
    origin: tuple[str, int] | None = None
    hints: tuple[str, ...] = ()
    next_exercise: tuple[str, str] | None = None


NO_CONTEXT = Context()


@dataclass(frozen=True, slots=True)
class CounterRow:
    """One counter as shown: its group, label, value and the Nsight Compute metric it equals ("" for none)."""

    group: str
    label: str
    value: str
    ncu: str


HEADLINES: dict[Verdict, str] = {
    Verdict.PASS: "Passed",
    Verdict.WRONG_ANSWER: "Wrong answer",
    Verdict.INPUT_MODIFIED: "An input was changed",
    Verdict.MEMORY_FAULT: "Memory fault",
    Verdict.RACE: "Data race",
    Verdict.SYNC_ERROR: "Synchronisation error",
    Verdict.UNINITIALISED: "Uninitialised memory used",
    Verdict.DEADLOCK: "Deadlock",
    Verdict.RUNTIME_ERROR: "Runtime error",
    Verdict.TIMEOUT: "Out of time",
    Verdict.BUILD_FAILED: "Does not compile",
    Verdict.BUILD_LIMIT: "Compilation stopped at a limit",
    Verdict.SOURCE_REJECTED: "Source not accepted",
    Verdict.PTX_REJECTED: "Compiled code not accepted",
    Verdict.LAUNCH_REJECTED: "Launch not accepted",
    Verdict.UNREADABLE: "Answer not readable",
    Verdict.NOT_SUPPORTED: "Not supported here",
    Verdict.INTERNAL_ERROR: "The grader failed",
}

# What to do when no finding says it better.
NEXT_STEPS: dict[Verdict, str] = {
    Verdict.WRONG_ANSWER: "Take the first wrong element, work out by hand which thread writes it and from what.",
    Verdict.INPUT_MODIFIED: "Write only to the output; the inputs are the caller's.",
    Verdict.MEMORY_FAULT: "Guard the access: compare the index with the size before you use it.",
    Verdict.RACE: "Find the two accesses and put a barrier (or an atomic) between them.",
    Verdict.SYNC_ERROR: "Make every thread of the block reach the same __syncthreads().",
    Verdict.UNINITIALISED: "Give the value a start before its first use.",
    Verdict.DEADLOCK: "Ask who should wake the waiting warps, and whether that code still runs.",
    Verdict.RUNTIME_ERROR: "Read the message above; it names the statement that stopped the kernel.",
    Verdict.TIMEOUT: "Look for a loop whose condition never changes; then for work done many times over.",
    Verdict.BUILD_FAILED: "Fix the first error the compiler names; later ones often follow from it.",
    Verdict.BUILD_LIMIT: "Make the source smaller: fewer unrolled copies, no recursive templates.",
    Verdict.SOURCE_REJECTED: "Remove the construct named above; plain CUDA C++ is enough.",
    Verdict.PTX_REJECTED: "Remove the construct named above; plain CUDA C++ is enough.",
    Verdict.LAUNCH_REJECTED: "Change the launch so that it fits the limits named above.",
    Verdict.UNREADABLE: "Change the cell as the message says; then it can be judged.",
    Verdict.NOT_SUPPORTED: "Run it on a device that has what is named above (`doctor` lists what this machine has).",
    Verdict.INTERNAL_ERROR: "This is our fault, not yours: keep the answer and tell your instructor what is written above.",
}


def status(report: Report) -> str:
    """`pass`, `goal_missed`, or the verdict's own word: the card's `data-status`."""
    if report.verdict is Verdict.PASS:
        return "pass" if report.passed else "goal_missed"
    return str(report.verdict)


def is_waiting(report: Report) -> bool:
    """A prediction that is not typed or not locked in yet: there is nothing wrong about it."""
    from grader.exercises import UnknownExercise, exercise

    try:
        asks = isinstance(exercise(report.exercise_id).answer, ValueAnswer)
    except UnknownExercise:
        return False
    return asks and report.verdict is Verdict.UNREADABLE


def headline(report: Report) -> str:
    """The verdict in two or three words."""
    if is_waiting(report):
        return "Waiting for your prediction"
    return "Right, but a goal is missed" if status(report) == "goal_missed" else HEADLINES[report.verdict]


def points_text(report: Report) -> str:
    """`2 of 3 points`, with what could not be measured here said beside it."""
    text = f"{number(report.score)} of {points_of(report.max_score)}"
    open_points = sum(g.points for g in report.goals if g.state is GoalState.NOT_MEASURED)
    return f"{text} ({number(open_points)} more not measured here)" if open_points else text


def points_of(count: float) -> str:
    """`1 point`, `2 points`."""
    return f"{number(count)} point{'' if count == 1 else 's'}"


def next_step(report: Report, context: Context | None = None) -> str:
    """One sentence: what to do now."""
    if report.passed:
        following = context.next_exercise if context else None
        return f"Go on with {following[1]} ({following[0]})." if following else "Go on to what interests you next."
    if report.verdict is Verdict.PASS:
        missed = next(g for g in report.goals if g.state is GoalState.MISSED)
        return missed.question or f"Reach the goal: {goal_text(missed)}."
    if is_waiting(report):
        return "Do as the message says; what you predicted is judged after that."
    helps = (f.help for f in findings(report) if f.severity is Severity.ERROR and f.help)
    return sentence(next(helps, NEXT_STEPS[report.verdict]))


def sentence(words: str) -> str:
    """`words` with a capital at the front (a name before a colon stays as it is) and a full stop at the end."""
    named = words.partition(" ")[0].endswith(":")
    return (words if named else words[:1].upper() + words[1:]) + ("" if words.endswith((".", "?", "!")) else ".")


def findings(report: Report) -> tuple[Diagnostic, ...]:
    """Findings in reading order: what decided the verdict first, then the other errors, warnings, advice."""
    order = list(Severity)
    return tuple(
        sorted(report.diagnostics, key=lambda f: (order.index(f.severity), verdict_of(f) is not report.verdict))
    )


def where(finding: Diagnostic, context: Context | None = None) -> str:
    """`line 4 (thread_mapping.py:61), block (3,0,0), lanes 8-31 of warp 7`; "" when no place applies."""
    parts = []
    if finding.line:
        origin = context.origin if context else None
        parts.append(f"line {finding.line}" + (f" ({origin[0]}:{origin[1] + finding.line - 1})" if origin else ""))
    if finding.also_line and finding.also_line != finding.line:
        parts.append(f"with line {finding.also_line}")
    if finding.block is not None:
        parts.append("block ({},{},{})".format(*finding.block))
    if finding.lanes:
        warp = f" of warp {finding.warp}" if finding.warp is not None else ""
        parts.append(lanes_text(finding.lanes) + warp)
    return ", ".join(parts)


def lanes_text(lanes: tuple[int, ...]) -> str:
    """Lanes as ranges: `lanes 0-7, 9`."""
    runs: list[list[int]] = []
    for lane in sorted(lanes):
        if runs and lane == runs[-1][1] + 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    text = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
    return ("lane " if len(lanes) == 1 else "lanes ") + text


def case_label(case: CaseResult) -> str:
    """`n = 31`, `flat: n = 31` of one of several kernels, or the case's name when it is hidden or has no sizes."""
    if case.hidden or case.sizes is None:
        return case.name if "hidden" in case.name else f"{case.name} (hidden)" if case.hidden else case.name
    kernel, colon, _ = case.name.rpartition(": ")
    return kernel + colon + ", ".join(f"{name} = {size}" for name, size in case.sizes.items()) or case.name


def metric_name(metric: str) -> str:
    """A metric as people say it, by its row in `grader.score.METRICS`."""
    from grader.score import METRICS

    row = METRICS.get(metric)
    return row.title if row else metric.replace("_", " ")


def goal_text(goal: GoalResult) -> str:
    """`sectors per global load request ≤ 4`."""
    return f"{metric_name(goal.metric)} {'≥' if goal.at_least else '≤'} {number(goal.limit)}"


def thread_text(bad: Mapping[str, object]) -> str:
    """`written by thread (3,0,0) of block (1,0,0)`, `no thread wrote it`, or "" where it is not known."""
    thread = bad.get("thread")
    if thread is None:
        return ""
    return "no thread wrote it" if thread == -1 else f"written by {shape_text(thread)}"


def bad_text(bad: Mapping[str, object]) -> str:
    """`y[3] is 0.5, expected 2; no thread wrote it`."""
    words = f"{element_text(bad)} is {value_text(bad.get('got'))}, expected {value_text(bad.get('want'))}"
    who = thread_text(bad)
    return f"{words}; {who}" if who else words


def element_text(bad: Mapping[str, object]) -> str:
    """`C[0, 3]`; a question's name, which has no index, as it is."""
    output, index = bad.get("output", "output"), bad.get("index")
    return str(output) if index is None else f"{output}[{shape_text(index).strip('()')}]"


def value_text(value: object) -> str:
    """A value with the digits of a float; text as it is."""
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def goal_value(goal: GoalResult, report: Report) -> str:
    """`3.98, counted`, or why there is no number."""
    if goal.value is not None:
        return f"{number(goal.value)}, {goal.basis}" + does_not_count(goal, report)
    return "not measured here" if report.verdict is Verdict.PASS else "counts once the answer is right"


def does_not_count(goal: GoalResult, report: Report) -> str:
    """`, too near to the goal for an estimate`: why a value that is there decides nothing, or ""."""
    if goal.state is not GoalState.NOT_MEASURED or report.timing is None:
        return ""
    if goal.limit in report.timing.off:
        return ", which decides nothing: this goal's margins do not hold on this GPU"
    return ", which decides nothing now" if report.timing.problem else ", too near to the goal for an estimate"


def shape_text(value: object) -> str:
    """An index, size or thread as it is written in a sentence: `(3, 0, 0)`, `17`."""
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {shape_text(item)}" for key, item in value.items())
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(str(part) for part in value) + ")" if len(value) != 1 else str(value[0])
    return str(value)


_GROUPS: tuple[tuple[str, str], ...] = (
    ("global_load_", "Global loads"),
    ("global_store_", "Global stores"),
    ("local_load_", "Local loads"),
    ("local_store_", "Local stores"),
    ("shared_load_", "Shared loads"),
    ("shared_store_", "Shared stores"),
    ("atomic_global_", "Global atomics"),
    ("atomic_shared_", "Shared atomics"),
)
_RATIOS: tuple[tuple[str, str, str, str], ...] = (
    ("Global loads", "global_load_requests", "global_load_sectors_per_request", "sectors per request"),
    ("Global stores", "global_store_requests", "global_store_sectors_per_request", "sectors per request"),
    ("Shared loads", "shared_load_requests", "shared_load_ways", "ways"),
    ("Work", "instructions", "lane_efficiency", "lane efficiency"),
)


def counter_rows(counters: Counters) -> tuple[CounterRow, ...]:
    """Counters that are not zero and the ratios made of them, grouped in a fixed order."""
    rows = list(_plain_rows(counters)) + list(_ratio_rows(counters))
    order = [title for _, title in _GROUPS] + ["Work"]
    return tuple(sorted(rows, key=lambda row: order.index(row.group)))


def _plain_rows(counters: Counters) -> Iterator[CounterRow]:
    for name, value in counters.to_json().items():
        if not value:
            continue
        prefix, group = next(((p, g) for p, g in _GROUPS if name.startswith(p)), ("", "Work"))
        yield CounterRow(group, name.removeprefix(prefix).replace("_", " "), number(value), NCU.get(name, ""))


def _ratio_rows(counters: Counters) -> Iterator[CounterRow]:
    for group, needs, ratio, label in _RATIOS:
        if getattr(counters, needs):
            yield CounterRow(group, label, number(getattr(counters, ratio)), "")


def number(value: float) -> str:
    """A number as people read it: thousands grouped, at most three digits after the point, no trailing zeros."""
    if isinstance(value, int) or float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    if abs(value) >= 1e6 or 0 < abs(value) < 1e-3:
        return f"{value:.3g}"
    return f"{value:,.3f}".rstrip("0").rstrip(".")
