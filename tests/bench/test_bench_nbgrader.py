"""A class of 300 hand-ins of four kernels: `grader grade` beside `nbgrader autograde`, stock and with our preprocessors.

    pytest tests/bench/test_bench_nbgrader.py --benchmark-only -s -n0            12 hand-ins by nbgrader, 300 by `grade`
    pytest tests/bench/test_bench_nbgrader.py --benchmark-only -s -n0 --full     300 by all

Stock means nbgrader's own Execute: each notebook in a Jupyter kernel, whose test cells call the same `check`, with one warm
compiler and one warm worker a notebook. Nothing asserts a time: a table is printed, its figures are this machine's.

No side knows a text beforehand: each has a cache of its own, which the first hand-in fills with what is everybody's. What
nbgrader needs once, it needs in a run of one hand-in too; a further hand-in costs (sample − one) / (sample's size − 1). The
hand-ins with an endless kernel are kept out of the sample, timed by one of them, and counted as often as the class has them.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import nbformat
import pytest

from simt.nvrtc_cache import cache_folder
from tests.bench.class_set import EXERCISES, LESSON, ROOT, answers_of, assignment, students, write_class

CLASS, SAMPLE = 300, 12
CLASS_UNTIMED = 2
OURS = '"grader.nbgrader_plugin.GradeAnswers",'
STOCK = '"nbgrader.preprocessors.Execute",'

pytestmark = pytest.mark.timeout(7200)


@dataclass(frozen=True)
class Way:
    """One way of nbgrader's: its name in the table, and what judges a notebook; cells run where `runs` says so."""

    name: str
    judge: str
    runs: bool = False


WAYS = (
    Way("nbgrader, stock Execute", STOCK, runs=True),
    Way("nbgrader, bookkeeping alone", ""),
    Way("nbgrader, our preprocessors", OURS),
)


class Course:
    """A folder in which commands run, with a cache that knows no build."""

    def __init__(self, top: Path):
        self.top, self.folder = top, top / "course"
        self.folder.mkdir(parents=True)
        if (kept := cache_folder() / "runtime").exists():
            shutil.copytree(kept, top / "cache" / "runtime")

    def seconds(self, *arguments: str) -> float:
        """What a command takes, from start to end."""
        environment = os.environ | {
            "PYTHONPATH": str(ROOT), "WARPWISE_CACHE": str(self.top / "cache"), "WARPWISE_SLOTS": str(self.top / "slots"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "JUPYTER_CONFIG_DIR": str(self.top / "jupyter"), "JUPYTER_DATA_DIR": str(self.top / "jupyter"),
        }  # fmt: skip
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", *arguments], cwd=self.folder, env=environment, capture_output=True, text=True
        )
        taken = time.perf_counter() - started
        assert done.returncode in (0, 1) and "Traceback" not in done.stderr, done.stderr[-4000:]
        return taken


def nbgrader_course(top: Path, way: Way) -> Course:
    """A course whose assignment was made and whose autograde judges in `way`."""
    course = Course(top)
    config = (ROOT / "nbgrader" / "nbgrader_config.py").read_text()
    assert OURS in config
    (course.folder / "nbgrader_config.py").write_text(config.replace(OURS, way.judge))
    notebook = assignment()
    for cell in notebook.cells:
        if way.runs and cell.source.startswith("# check:"):
            mark, call = cell.source.split("\n")
            # Points of a speed goal have a cell of their own, which is left out.
            cell.source = f"{mark}\nmin({cell.metadata.nbgrader.points}, {call}.report.score)"
    source = course.folder / "source" / LESSON / f"{LESSON}.ipynb"
    source.parent.mkdir(parents=True)
    nbformat.write(notebook, source)
    course.seconds("nbgrader", "generate_assignment", LESSON)
    return course


def autograde(course: Course, names: tuple[str, ...], seed: str) -> float:
    """Seconds that nbgrader takes for these hand-ins."""
    released = nbformat.read(course.folder / "release" / LESSON / f"{LESSON}.ipynb", as_version=4)
    shutil.rmtree(course.folder / "submitted", ignore_errors=True)
    write_class(course.folder / "submitted", names, released, seed)
    taken = course.seconds("nbgrader", "autograde", LESSON)
    assert {path.name for path in (course.folder / "autograded").iterdir()} >= set(names)
    return taken


def is_endless(name: str) -> bool:
    """Whether the student has a kernel that never ends."""
    return any(answer.kind == "endless" for answer in answers_of(name).values())


@dataclass(frozen=True)
class Cost:
    """Seconds: of a further hand-in, of one with an endless kernel, and of the class (worked out from both)."""

    each: float
    endless: float
    whole: float


def cost_of(top: Path, way: Way, names: tuple[str, ...], size: int) -> Cost:
    """What a class costs in one of nbgrader's ways, from `size` hand-ins spread over it."""
    course = nbgrader_course(top, way)
    endless = [name for name in names if is_endless(name)]
    usual = [name for name in names if not is_endless(name)]
    sample = tuple(usual[:: max(1, len(usual) // size)][:size])
    autograde(course, sample[:1], "fills the cache")
    one = autograde(course, sample[:1], "again")
    each = (autograde(course, sample, "") - one) / (len(sample) - 1)
    apart = autograde(course, tuple(endless[:1]), "") - one + each if endless else 0.0
    return Cost(each, apart, one + each * (len(usual) - 1) + apart * len(endless))


def grade_twice(top: Path, names: tuple[str, ...]) -> tuple[float, float]:
    """Seconds of `grader grade` with two processes, and of the same again with nothing changed."""
    course = Course(top)
    hand_ins = write_class(course.folder / "hand-ins", names, assignment())
    listed = json.dumps(list(EXERCISES))
    (hand_ins / "class.toml").write_text(f'name = "bench"\n[[assignments]]\nname = "{LESSON}"\nexercises = {listed}\n')
    command = ("grader", "grade", str(hand_ins), "--db", str(top / "class.db"), "--workers", "2", "--json")
    return course.seconds(*command), course.seconds(*command)


def table(costs: list[Cost], ours: float, again: float, count: int) -> str:
    """What each way costs, beside `grade` and its regrade."""
    lines = [f"{'':30}{'each':>9}{'endless':>9}{f'all {count}':>11}{'to grade':>10}{'to regrade':>11}"]
    for way, cost in zip(WAYS, costs, strict=True):
        ratios = f"{cost.whole / ours:>9.1f}x{cost.whole / again:>10.0f}x"
        lines.append(f"{way.name:30}{cost.each:>8.2f}s{cost.endless:>8.2f}s{cost.whole:>10.1f}s{ratios}")
    lines.append(f"{'grader grade, two processes':30}{ours / count:>8.2f}s{'':9}{ours:>10.1f}s{'1.0x':>10}")
    lines.append(
        f"{'grader grade, nothing changed':30}{again / count:>8.4f}s{'':9}{again:>10.1f}s{ours / again:>9.0f}x"
    )
    stock = costs[0].whole - costs[1].whole
    lines.append(f"stock without nbgrader's bookkeeping: {stock:.1f} s, {stock / ours:.1f} times `grade` with its own")
    return "\n".join(lines)


def test_grade_beside_nbgrader(benchmark, tmp_path, request):
    names = students(CLASS if benchmark.enabled else CLASS_UNTIMED)
    ours, again = benchmark.pedantic(grade_twice, args=(tmp_path / "grade", names), rounds=1)
    if not benchmark.enabled:
        autograde(nbgrader_course(tmp_path / "stock", WAYS[0]), names, "")
        return
    size = CLASS if request.config.getoption("--full") else SAMPLE
    costs = [cost_of(tmp_path / str(number), way, names, size) for number, way in enumerate(WAYS)]
    n_endless = sum(map(is_endless, names))
    print(
        f"\n{CLASS} hand-ins x {len(EXERCISES)} kernels, {n_endless} with an endless one; nbgrader from {size} of them"
    )
    print(table(costs, ours, again, CLASS))
