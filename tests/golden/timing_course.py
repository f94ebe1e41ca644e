"""Parts of the timing's recording that go the whole way from an answer to its report, on a GPU in a worker."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from grader.answers import submit
from grader.devices import CASE_BUDGET, Device
from grader.exercises import exercise
from grader.model import Basis, GoalState, Report, Submission, Unreadable, ValueAnswer
from grader.notebook import read_notebook
from grader.pipeline import check_submission

__all__ = ["answers", "attacks", "course", "profiler"]

ROOT = Path(__file__).resolve().parents[2]
SPEED = Path(__file__).with_name("speed")  # right answers, a folder for each exercise
TAMPER = ("c01", "c02", "c06", "t01", "t03", "t05", "t07", "t08", "t09", "t10", "t11", "t12", "d04", "d08", "m02")
# Thresholds at which estimate and measurement are compared, besides those of the course's goals.
VIRTUAL = (0.5, 0.75, 1.1, 1.25, 1.5, 2.0, 3.0, 4.0, 8.0)


@contextmanager
def _devices(*names: str) -> Iterator[list[Device]]:
    from grader.worker.host import warm_device

    devices = [warm_device(name) for name in names]
    try:
        yield devices
    finally:
        for device in devices:
            device.close()


def _figures(report: Report) -> dict:
    timing = asdict(report.timing) if report.timing else None
    goals = [[g.metric, g.limit, g.value, str(g.state), str(g.basis)] for g in report.goals]
    said = [finding.message[:200] for finding in report.diagnostics[:2]]
    return {
        "verdict": str(report.verdict),
        "goals": goals,
        "timing": timing,
        "said": said,
        "message": report.message[:200],
    }


def attacks(end: float) -> dict:
    """Hostile kernels that tamper with time, graded and timed on the GPU."""
    from tests.attacks.table import ATTACKS

    rows = []
    with _devices("cuda") as (device,):
        for attack in ATTACKS.values():
            if not attack.id.startswith(TAMPER) or time.monotonic() > end:
                continue
            started = time.monotonic()
            report = check_submission(attack.submission(), device)
            rows.append({
                "id": attack.id, "expected": sorted(attack.verdicts), "as_expected": str(report.verdict) in attack.verdicts,
                "seconds": round(time.monotonic() - started, 2),
            } | _figures(report))  # fmt: skip
    shown = {
        row["id"]: [
            row["verdict"],
            row["as_expected"],
            row["timing"] and round(row["timing"]["ratio"], 4),
            row["seconds"],
        ]
        for row in rows
    }
    return {"summary": shown, "runs": rows}


def answers() -> Iterator[tuple[str, str, Submission | Unreadable]]:
    """(kind, name, answer) of every solution, starter, naive answer and mutant that is a kernel.

    And of further right answers to the exercises with a speed goal, some of them slow.
    """
    for kind, folder in (("solution", "solutions"), ("starter", "lessons")):
        for path in sorted((ROOT / folder).glob("[0-9]*.py")):
            for name, answer in read_notebook(path).answers.items():
                if not isinstance(exercise(name).answer, ValueAnswer):
                    yield kind, name, answer
    for path in sorted((ROOT / "solutions" / "naive").glob("*.cu")):
        yield "naive", path.stem, submit(exercise(path.stem), path.read_text(encoding="utf-8"))
    for path in sorted(SPEED.glob("*/*.cu")):
        name = path.parent.name
        yield f"right {path.stem}", name, submit(exercise(name), path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "solutions" / "mutants").glob("*/*.cu")):
        name = path.parent.name
        yield f"mutant {path.stem}", name, submit(exercise(name), path.read_text(encoding="utf-8"))


def course(end: float) -> dict:
    """What every answer's goals say on the simulator and on the GPU."""
    rows = []
    with _devices("simulator", "cuda") as (simulator, cuda):
        for kind, name, answer in answers():
            if time.monotonic() > end:
                break
            counted, measured = (_figures(check_submission(answer, device)) for device in (simulator, cuda))
            if measured["timing"] and not counted["timing"] and isinstance(answer, Submission):
                counted["timing"] = _estimated(answer, simulator)
            rows.append({"exercise": name, "kind": kind, "simulator": counted, "gpu": measured})
    return {"summary": agreement(rows), "rows": rows}


def _estimated(answer: Submission, simulator: Device) -> dict | None:
    """The simulator's timing, also where no goal asks for it."""
    from grader.compile import compile_text
    from grader.measure import measure
    from grader.model import Compiled, KernelAnswer, LaunchSpec
    from grader.notebook.literals import launch_spec

    row = exercise(answer.exercise_id)
    if not isinstance(row.answer, KernelAnswer) or row.baseline is None or not isinstance(answer.launch, LaunchSpec):
        return None
    built = [compile_text(text, row.answer.kernel, simulator.arch) for text in (row.baseline[0], answer.source)]
    assert isinstance(built[0], Compiled) and isinstance(built[1], Compiled)
    found = measure(simulator, row, (built[0], launch_spec(row.baseline[1])), (built[1], answer.launch))
    return asdict(found.timing) if found.timing else None


def agreement(rows: list[dict]) -> dict:
    """Goals decided on both sides, those that disagree; of these, speed goals; the same for estimates at `VIRTUAL` thresholds.

    A speed goal is decided on both where its state rests on an estimate here and on a measurement there. One of a kernel
    that is wrong rests on neither.
    """
    both, differ, estimates, wrong = 0, [], 0, []
    speed: dict[str, list] = {}
    for row in rows:
        for here, there in zip(row["simulator"]["goals"], row["gpu"]["goals"]):
            states = (here[3], there[3])
            if str(GoalState.NOT_MEASURED) not in states:
                both += 1
                differ += [[row["exercise"], row["kind"], *here, *there]] if states[0] != states[1] else []
                if (here[4], there[4]) == (str(Basis.ESTIMATED), str(Basis.MEASURED)):
                    speed[f"{row['exercise']} {row['kind']}"] = [here[1], here[2], here[3], there[2], there[3]]
        guessed, timed = row["simulator"]["timing"], row["gpu"]["timing"]
        if guessed and timed and not timed["problem"]:
            for limit in VIRTUAL:
                if not limit / 1.25 <= guessed["ratio"] <= 1.25 * limit:
                    estimates += 1
                    if (guessed["ratio"] > limit) != (timed["high"] >= 0.95 * limit):
                        wrong.append([row["exercise"], row["kind"], limit, guessed["ratio"], timed["ratio"]])
    timed_rows = [row for row in rows if row["gpu"]["timing"]]
    return {
        "answers": len(rows), "same_verdict": sum(r["simulator"]["verdict"] == r["gpu"]["verdict"] for r in rows),
        "goals_decided_on_both": both, "goals_that_differ": differ,
        "speed_goals": sum(goal[0] == "speedup" for row in rows for goal in row["gpu"]["goals"]),
        "speed_goals_decided_on_both": speed, "speed_goals_that_differ": [k for k, g in speed.items() if g[2] != g[4]],
        "estimates_decided_at_virtual_thresholds": estimates, "of_these_wrong": wrong,
        "timed": {f"{r['exercise']} {r['kind']}": _both(r) for r in timed_rows},
    }  # fmt: skip


# A race, and a write past the end of y by the last thread.
RACY = """extern "C" __global__ void solve(const float* x, float* y, int n) {
    __shared__ float tile[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) tile[threadIdx.x] = x[i];
    y[i + 1] = tile[255 - threadIdx.x];
}"""


def _both(row: dict) -> list:
    """Estimated and measured ratio, and why the latter decides nothing."""
    guessed, timed = row["simulator"]["timing"], row["gpu"]["timing"]
    return [guessed and round(guessed["ratio"], 4), round(timed["ratio"], 4), timed["problem"]]


def profiler(end: float) -> dict:
    """Nsight's counters beside simt's, and compute-sanitizer's findings, with what the tools print word for word."""
    from grader import ncu
    from grader.worker.wire import Launch

    found: dict = {"counters": {}, "findings": {}, "said": {}}
    real, texts = ncu._run, found["said"]

    def run(command, launch: Launch) -> str:
        said = real(command, launch)
        texts[f"{Path(command[0]).name} {launch.compiled.kernel} {' '.join(command[1:4])}"] = said[:60_000]
        return said

    ncu._run = run
    with _devices("simulator") as (simulator,):
        for name, text in (("tiling.gemm_tiled", None), ("selftest.map", RACY)):
            launch, counters = _launch(name, text, simulator)
            try:
                found["counters"][name] = [asdict(row) for row in ncu.compared(counters, ncu.profile(launch))]
            except ncu.ToolMissing as missing:
                found["counters"][name] = str(missing)
            for tool in ncu.CHECKS:
                try:
                    found["findings"][f"{name} {tool}"] = [asdict(finding) for finding in ncu.sanitize(launch, tool)]
                except ncu.ToolMissing as missing:
                    found["findings"][f"{name} {tool}"] = str(missing)
    return {"summary": {"counters": str(found["counters"])[:600], "findings": str(found["findings"])[:600]}} | found


def _launch(name: str, text: str | None, simulator: Device):
    """The measured case of an exercise as a launch for the GPU, and simt's counters of it."""
    from grader.compile import compile_text
    from grader.model import Compiled, KernelAnswer
    from grader.notebook.literals import launch_config, launch_spec
    from grader.preparing import prepare_case
    from grader.worker.wire import Launch

    row = exercise(name)
    assert isinstance(row.answer, KernelAnswer)
    solved = read_notebook(ROOT / "solutions" / f"{row.lesson}.py").answers[name] if text is None else None
    source = text or (solved.source if isinstance(solved, Submission) else "")
    case = next(case for case in row.cases if case.measured)
    config = launch_config(launch_spec(row.answer.default_launch), case.sizes)
    arguments = prepare_case(row, case).arguments
    built = [compile_text(source, row.answer.kernel, arch) for arch in (simulator.arch, "sm_90")]
    assert isinstance(built[0], Compiled) and isinstance(built[1], Compiled)
    counters = simulator.run(built[0], config, arguments).counters
    return Launch(built[1], config, arguments, CASE_BUDGET, False, None), counters
