"""Every attack through the whole path on the simulator: none may pass that should not, and the controls must."""

import csv
import re
from pathlib import Path

import pytest

from grader.answers import submit
from grader.exercises import exercise
from grader.hidden import NO_SEEDS
from grader.model import Verdict
from grader.pipeline import grade
from grader.worker.host import WorkerDevice

HERE = Path(__file__).parent
with (HERE / "attacks.tsv").open(newline="") as file:
    ROWS = {row["id"]: row for row in csv.DictReader(file, delimiter="\t")}

# Each of these keeps a compiler busy until a limit ends it.
BOMBS = {"b03_macro_bomb", "b04_constexpr_many", "b06_string_bomb", "b07_unroll_barriers", "b09_big_init"}

WORDS = {
    "PASS": {"pass"},
    "REJECT_SOURCE": {"source_rejected"},
    "REJECT_PTX": {"ptx_rejected"},
    "REJECT_LAUNCH": {"launch_rejected"},
    "COMPILE_ERROR": {"build_failed"},
    "COMPILE_LIMIT": {"build_limit"},
    "MEM_FAULT": {"memory_fault"},
    "SYNC_ERROR": {"sync_error", "race", "deadlock"},
    "WRONG_ANSWER": {"wrong_answer"},
    "RUNTIME_ERROR": {"runtime_error"},
    "TIMEOUT": {"timeout"},
    # No gain is for timing to show; a rejection is as good.
    "PASS_NO_GAIN": {str(verdict) for verdict in Verdict} - {"internal_error"},
    "GPU_PASS": set(),
}
ALSO = {
    "m09_null_host_ptr": {"memory_fault"},
    "t01_skip_if_done": {"uninitialised"},
    "m10_uninit_shared": {"uninitialised"},
    "t10_unfinished_async": {"sync_error"},
    "d09_recursion": {"not_supported"},  # TODO(#3): runtime_error once calls may recurse
    "b07_unroll_barriers": {"ptx_rejected"},
}


def accepted(row):
    words = set().union(*(WORDS[word] for word in row["expected"].split("|")))
    return words | ALSO.get(row["id"], set())


def launch_of(text):
    """The launch literal of the table's `grid=(…) block=256 smem=…`; None for `default`."""
    if text == "default":
        return None
    parts = dict(re.findall(r"(\w+)=(\([^)]*\)|\S+)", text))
    literal = {"grid": _part(parts["grid"]), "block": _part(parts["block"])}
    return literal | ({"shared_bytes": _part(parts["smem"])} if "smem" in parts else {})


def _part(text):
    if text.startswith("("):
        return tuple(int(number) for number in text.strip("()").split(","))
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def exercise_of(row):
    state = "_state" if "allow_device_globals" in row["lesson_flags"] else ""
    return exercise({"MAP": "selftest.map", "DOT": "selftest.dot"}[row["contract"]] + state)


@pytest.fixture(scope="module")
def device():
    worker = WorkerDevice("simulator")
    yield worker
    worker.close()


def verdict_of(row, device):
    row_exercise = exercise_of(row)
    submission = submit(row_exercise, (HERE / row["file"]).read_text(), launch_of(row["launch"]))
    return grade(submission, row_exercise, device, fresh=row["id"] in BOMBS, hidden=NO_SEEDS)


@pytest.mark.parametrize("name", [name for name in ROWS if name not in BOMBS])
def test_attack_gets_its_verdict(name, device):
    report = verdict_of(ROWS[name], device)
    assert str(report.verdict) in accepted(ROWS[name]), (report.message, report.diagnostics)
    assert report.verdict is Verdict.PASS or report.score == 0


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(BOMBS & ROWS.keys()))
def test_bomb_ends_at_a_limit(name, device):
    report = verdict_of(ROWS[name], device)
    assert str(report.verdict) in accepted(ROWS[name]), (report.message, report.diagnostics)
