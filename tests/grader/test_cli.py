"""The commands as a script meets them: exit status, JSON alone on standard output, people's text on standard error."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from grader.cli import COMMANDS, main
from grader.commands.status import Status, status_of
from grader.model import GoalResult, GoalState, Report, Verdict
from grader.report.json_form import from_json
from tests.processes import PATIENCE_SECONDS, children, ended, wait_until

ROOT = Path(__file__).resolve().parents[2]
RIGHT = """extern "C" __global__ void solve(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}
"""
NO_GUARD = RIGHT.replace("if (i < n) ", "")
WRONG = RIGHT.replace("+ 1.0f", "+ 2.0f")
ENDLESS = RIGHT.replace("if (i < n)", "while (y != nullptr) if (i < n)")


@pytest.fixture(autouse=True)
def progress_file(tmp_path, monkeypatch):
    path = tmp_path / "progress" / "progress.json"
    monkeypatch.setenv("WARPWISE_PROGRESS", str(path))
    return path


@pytest.fixture
def kernel(tmp_path):
    def save(text, name="kernel.cu"):
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return save


def run(capsys, *arguments):
    """(exit status, JSON objects of standard output, standard error) of one command."""
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    records = [json.loads(line) for line in captured.out.splitlines()] if "--json" in arguments else captured.out
    return status, records, captured.err


# --- the command line itself


def test_unknown_command_names_those_there_are(capsys):
    status, _, said = run(capsys, "chek")
    assert status == 2
    assert all(name in said for name in COMMANDS)


def test_no_command_shows_them(capsys):
    status, _, said = run(capsys)
    assert status == 2 and all(name in said for name in COMMANDS)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_explains_itself(name, capsys):
    with pytest.raises(SystemExit) as ended:
        main([name, "--help"])
    assert ended.value.code == 0


@pytest.mark.parametrize(
    "arguments",
    [("check",), ("check", "/no/such/path"), ("try", "selftest.map"), ("try", "selftest.map", "/no.cu"), ("hint", "no.such")]
    + [("check", "x.py", "--device", "toaster"), ("release", "--merge", "a.py", "b.py"), ("solution",), ("reset", "a.b.c")],
)  # fmt: skip
def test_usage_error_is_status_2_with_a_next_step(arguments, capsys):
    status, records, said = run(capsys, *arguments, "--json")
    assert status == 2
    assert len(records) == 1 and records[0]["error"] and records[0]["status"] == 2
    assert "help:" in said


def test_near_exercise_is_suggested(capsys):
    status, _, said = run(capsys, "hint", "selftest.mapp")
    assert status == 2 and "selftest.map" in said


def report(verdict=Verdict.PASS, state=None):
    from grader.model import Basis

    goals = (GoalResult("speedup", 1.0, 2.0, True, state, Basis.MEASURED, 1.0),) if state else ()
    return Report("a.b", "d", verdict, 0.0, 1.0, goals=goals)


@pytest.mark.parametrize(
    ("reports", "status"),
    [
        ([report()], Status.PASSED),
        ([report(state=GoalState.NOT_MEASURED)], Status.PASSED),
        ([report(state=GoalState.MISSED)], Status.NOT_PASSED),
        ([report(), report(Verdict.RACE)], Status.NOT_PASSED),
        ([report(Verdict.UNREADABLE)], Status.USAGE),
        ([report(), report(Verdict.UNREADABLE)], Status.NOT_PASSED),
        ([report(), report(Verdict.NOT_SUPPORTED)], Status.NOT_SUPPORTED),
        ([report(Verdict.RACE), report(Verdict.NOT_SUPPORTED)], Status.NOT_PASSED),
        ([report(Verdict.RACE), report(Verdict.INTERNAL_ERROR)], Status.INTERNAL),
        ([], Status.PASSED),
    ],
)
def test_status_follows_from_all_reports(reports, status):
    assert status_of(reports) is status


# --- try


def test_right_kernel_passes_with_one_json_line(capsys, kernel):
    status, records, _ = run(capsys, "try", "selftest.map", kernel(RIGHT), "--json")
    assert status == 0
    assert len(records) == 1
    found = from_json(records[0])
    assert found.passed and found.score == found.max_score > 0


def test_fault_names_the_line_of_the_file(capsys, kernel):
    path = kernel(NO_GUARD)
    status, _, said = run(capsys, "try", "selftest.map", path)
    assert status == 1
    assert f"{path}:3" in "".join(said.split("\n"))
    assert "next:" in said


def test_wrong_answer_says_what_to_do_next(capsys, kernel):
    status, records, _ = run(capsys, "try", "selftest.map", kernel(WRONG), "--json")
    assert status == 1
    assert records[0]["verdict"] == "wrong_answer" and records[0]["next"]


def test_compile_error_is_a_verdict(capsys, kernel):
    status, records, _ = run(capsys, "try", "selftest.map", kernel("int x = ;"), "--json")
    assert (status, records[0]["verdict"]) == (1, "build_failed")


def test_kernel_without_extern_c_says_so(capsys, kernel):
    status, records, _ = run(capsys, "try", "selftest.map", kernel(RIGHT.replace('extern "C" ', "")), "--json")
    assert status == 1
    assert "extern" in json.dumps(records[0]["diagnostics"])


def test_launch_of_its_own_is_used(capsys, kernel):
    launch = kernel('{"grid": 1, "block": 2048}', "launch.json")
    status, records, _ = run(capsys, "try", "selftest.map", kernel(RIGHT), "--launch", launch, "--json")
    assert (status, records[0]["verdict"]) == (1, "launch_rejected")


def test_launch_that_is_no_json_is_a_usage_error(capsys, kernel):
    status, _, said = run(capsys, "try", "selftest.map", kernel(RIGHT), "--launch", kernel("{", "launch.json"))
    assert status == 2 and "JSON" in said


def test_kernel_of_ten_gigabytes_is_refused_in_numbers(capsys, kernel):
    launch = kernel('{"grid": 1, "block": 32, "shared_bytes": 10000000000}', "launch.json")
    status, records, _ = run(capsys, "try", "selftest.map", kernel(RIGHT), "--launch", launch, "--json")
    assert (status, records[0]["verdict"]) == (1, "launch_rejected")
    assert "10000000000" in json.dumps(records[0]["diagnostics"]).replace(",", "")


# --- check


def notebook(source, name="map_src"):
    body = "\n".join(f"    {line}" if line else "" for line in source.rstrip().split("\n"))
    return (
        'import marimo\n\n__generated_with = "0.25.2"\napp = marimo.App()\n\n\n@app.cell\ndef _():\n'
        f'    # exercise: selftest.map\n    {name} = r"""\n{body}\n    """\n'
        '    map_launch = {"grid": "ceil_div(n, 256)", "block": 256}\n'
        f"    return map_launch, {name}\n"
    )


def test_notebook_gives_the_verdict_of_its_kernel_and_the_line_in_the_file(capsys, tmp_path):
    path = tmp_path / "lesson.py"
    path.write_text(notebook(NO_GUARD))
    status, records, _ = run(capsys, "check", path, "--exercise", "selftest.map", "--json")
    assert status == 1
    assert records[0]["verdict"] == "memory_fault" and records[0]["file"] == str(path)
    _, _, said = run(capsys, "check", path, "--exercise", "selftest.map")
    line = path.read_text().split("\n").index("        y[i] = x[i] * x[i] + 1.0f;") + 1
    assert f"lesson.py:{line}" in "".join(said.split("\n"))


def test_one_text_has_one_digest_in_every_way_in(capsys, tmp_path, kernel):
    (tmp_path / "lesson.py").write_text(notebook(RIGHT))
    _, from_file, _ = run(capsys, "check", tmp_path / "lesson.py", "--exercise", "selftest.map", "--json")
    _, tried, _ = run(capsys, "try", "selftest.map", kernel("\n" + RIGHT), "--json")
    assert from_file[0]["digest"] == tried[0]["digest"]
    assert from_file[0]["counters"] == tried[0]["counters"]


def test_unreadable_notebook_costs_no_other(capsys, tmp_path):
    (tmp_path / "a.py").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "b.py").write_text(notebook(RIGHT))
    status, records, said = run(capsys, "check", tmp_path, "--exercise", "selftest.map", "--json")
    assert status == 2
    assert [record["verdict"] for record in records] == ["unreadable", "pass"]
    assert "UTF-8" in said


def test_folder_without_notebooks_is_a_usage_error(capsys, tmp_path):
    status, _, said = run(capsys, "check", tmp_path)
    assert status == 2 and ".ipynb" in said


def test_marimos_own_folders_are_not_read(tmp_path):
    from grader.commands.check import notebook_paths

    for name in ("__marimo__/x.py", "a.new.py", "a.old.py", ".ipynb_checkpoints/y.ipynb", "lesson.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert [path.name for path in notebook_paths(tmp_path)] == ["lesson.py"]


def test_every_lesson_is_checked_from_another_folder(tmp_path):
    lessons = sorted(str(path) for path in (ROOT / "lessons").glob("[0-9]*.py") if "." not in path.stem)
    command = [sys.executable, "-P", "-m", "grader", "check", *lessons, "--json"]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    reports = [from_json(json.loads(line)) for line in done.stdout.splitlines()]
    assert done.returncode == Status.NOT_PASSED, done.stderr
    assert len(reports) > len(lessons) and not any(report.passed for report in reports)
    assert Verdict.INTERNAL_ERROR not in {report.verdict for report in reports}


def test_another_folders_answers_are_not_this_students_progress(capsys, tmp_path, progress_file):
    (tmp_path / "lesson.py").write_text(notebook(RIGHT))
    run(capsys, "check", tmp_path / "lesson.py", "--exercise", "selftest.map")
    assert not progress_file.exists()


def test_untouched_starter_is_no_attempt(capsys, progress_file):
    status, _, _ = run(capsys, "check", ROOT / "lessons" / "00_start_here.py", "--exercise", "hello.double_it")
    assert status == 1 and not progress_file.exists()


# --- hint, progress, solution, reset


def exercise_with_hints():
    from grader.exercises import all_exercises
    from grader.model import KernelAnswer

    return next(row for row in all_exercises() if len(row.hints) == 3 and isinstance(row.answer, KernelAnswer))


def test_hints_come_one_after_the_other_then_all_again(capsys):
    row = exercise_with_hints()
    seen = [[record["hint"] for record in run(capsys, "hint", row.id, "--json")[1]] for _ in range(4)]
    assert seen == [[1], [2], [3], [1, 2, 3]]


def test_progress_lists_every_exercise(capsys):
    from grader.exercises import all_exercises

    status, records, said = run(capsys, "progress", "--json")
    assert status == 0 and said == ""
    assert [record["exercise_id"] for record in records] == [r.id for r in all_exercises() if r.lesson != "selftest"]


def test_progress_names_the_damaged_file_that_it_kept(capsys, progress_file):
    progress_file.parent.mkdir(parents=True)
    progress_file.write_text("{")
    status, _, said = run(capsys, "progress")
    assert status == 0 and "damaged" in said


def test_solution_is_locked_until_the_score_is_frozen(capsys):
    row = exercise_with_hints()
    status, _, said = run(capsys, "solution", row.id)
    assert status == 1 and "--freeze" in said
    status, records, _ = run(capsys, "solution", row.id, "--freeze", "--json")
    assert status == 0 and records[-1]["reference"]
    assert run(capsys, "solution", row.id)[0] == 0


def test_reset_puts_the_starter_back_and_keeps_the_old_text(capsys, tmp_path):
    from grader.lesson_file import find_literals, lesson_path, replace_literals

    row = exercise_with_hints()
    lesson = lesson_path(ROOT / "lessons", row.lesson)
    copy = tmp_path / lesson.name
    name = f"{row.id.split('.')[1]}_src"
    copy.write_text(replace_literals(lesson.read_text(), {name: 'r"""\nint mine;\n"""'}))
    status, records, _ = run(capsys, "reset", row.id, "--file", copy, "--json")
    kept = Path(records[0]["kept"])
    try:
        assert status == 0
        assert copy.read_text() == lesson.read_text()
        assert "int mine;" in kept.read_text() and name in find_literals(lesson.read_text())
    finally:
        kept.unlink()
    assert "already" in run(capsys, "reset", row.id, "--file", copy)[2]


# --- a process of its own


def start(*arguments, **options):
    command = [sys.executable, "-m", "grader", *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def test_no_colour_without_a_terminal(kernel):
    process = start("try", "selftest.map", kernel(NO_GUARD), env=os.environ | {"FORCE_COLOR": ""})
    out, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert out == "" and "\x1b" not in said


def test_ctrl_c_ends_at_once_and_leaves_no_process(kernel):
    process = start("try", "selftest.map", kernel(ENDLESS), start_new_session=True)
    started = wait_until(lambda: children(process.pid))
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode in (130, -signal.SIGINT), said
    assert "Traceback" not in said
    assert all(ended(pid) for pid in started)


def test_reader_that_goes_away_is_no_error(kernel):
    command = f"{sys.executable} -m grader progress --json | head -n 1"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert "Traceback" not in done.stderr and "BrokenPipe" not in done.stderr


def test_watch_checks_again_after_a_save(tmp_path):
    path = tmp_path / "lesson.py"
    path.write_text(notebook(WRONG))
    process = start("watch", path, "--json", start_new_session=True)
    try:
        verdicts = (json.loads(line) for line in process.stdout)
        verdicts = (record["verdict"] for record in verdicts if record["exercise_id"] == "selftest.map")
        assert next(verdicts) == "wrong_answer"
        (tmp_path / "saved").write_text(notebook(RIGHT))
        os.replace(tmp_path / "saved", path)
        assert next(verdicts) == "pass"
    finally:
        os.killpg(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0 and re.search("watching ended", said)


# --- release and doctor


def test_merge_keeps_the_answer_and_takes_the_new_starters(capsys, tmp_path):
    from grader.lesson_file import find_literals, lesson_path, replace_literals

    row = exercise_with_hints()
    lesson = lesson_path(ROOT / "lessons", row.lesson).read_text(encoding="utf-8")
    name = f"{row.id.split('.')[1]}_src"
    (tmp_path / "old.py").write_text(replace_literals(lesson, {name: 'r"""\nint mine;\n"""'}), encoding="utf-8")
    (tmp_path / "new.py").write_text(lesson.replace("## Why", "## Why, in short"), encoding="utf-8")
    paths = ("--merge", tmp_path / "old.py", tmp_path / "new.py", "--out", tmp_path / "out.py")
    status, records, _ = run(capsys, "release", *paths, "--json")
    merged = (tmp_path / "out.py").read_text(encoding="utf-8")
    assert status == 0 and records[0]["carried"] == [row.id]
    assert "## Why, in short" in merged and "int mine;" in find_literals(merged)[name].text


def test_merge_of_a_broken_lesson_writes_nothing(capsys, tmp_path):
    (tmp_path / "old.py").write_text("def (:")
    paths = ("--merge", tmp_path / "old.py", tmp_path / "old.py", "--out", tmp_path / "out.py")
    status, _, said = run(capsys, "release", *paths)
    assert status == 2 and "nothing was written" in said
    assert not (tmp_path / "out.py").exists()


def test_release_check_names_what_differs(capsys):
    status, records, _ = run(capsys, "release", "--check", "--json")
    assert (status == 0) == (records == [])
    assert all(record["path"] and record["what"] for record in records)


def test_doctor_runs_a_kernel_and_says_what_works_nevertheless(capsys):
    status, records, _ = run(capsys, "doctor", "--json")
    found = {record["what"]: record for record in records}
    assert set(found) >= {"course", "packages", "compiler", "GPU", "sandbox", "machine", "cache", "self-test"}
    assert status == 0, records
    assert found["self-test"]["facts"]["verdict"] == "pass"
    for record in records:
        assert record["health"] == "ok" or record["nevertheless"] and record["next_step"]
