"""Answers read from notebooks: what is found, what is refused with its lines, and that nothing runs."""

import ast
import importlib.util
import json
from dataclasses import replace

import pytest

from grader.answers import submit
from grader.exercises import exercise
from grader.model import LaunchSpec, Submission, Unreadable
from grader.notebook import MAX_NOTEBOOK_BYTES, NotebookProblem, read_notebook
from grader.notebook.source import MAX_SOURCE_BYTES, canonical

MAP = replace(exercise("selftest.map"), id="topic.map1d")
DOT = replace(exercise("selftest.dot"), id="topic.dot")
ROWS = (MAP, DOT)

HEADER = "import marimo\n\n__generated_with = '0.25.2'\napp = marimo.App()\n\n\n"
CUDA = 'extern "C" __global__ void solve(const float* x, float* y, int n) {\n    if (n) y[0] = x[0];\n}\n'


def cell(body, name="_", decorator="@app.cell"):
    return (
        f"{decorator}\ndef {name}():\n"
        + "".join(f"    {line}\n" if line else "\n" for line in body.split("\n"))
        + "\n\n"
    )


def answer_cell(short="map1d", exercise_id="topic.map1d", text=CUDA):
    body = f'# exercise: {exercise_id}\n{short}_src = r"""\n{text}"""\n'
    return cell(body + f'{short}_launch = {{"grid": "ceil_div(n, 256)", "block": 256}}\nreturn')


def read(tmp_path, text, rows=ROWS, name="lesson.py", fixture=None):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    return read_notebook(path, rows, fixture)


def jupyter(*sources):
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


def test_both_formats_give_the_same_submission(tmp_path):
    marimo = read(tmp_path, HEADER + answer_cell()).answers["topic.map1d"]
    source = f'# exercise: topic.map1d\nmap1d_src = r"""\n{CUDA}"""\n'
    source += 'map1d_launch = {"grid": "ceil_div(n, 256)", "block": 256}'
    notebook = read(tmp_path, jupyter(source), name="lesson.ipynb").answers["topic.map1d"]
    assert isinstance(marimo, Submission) and isinstance(notebook, Submission)
    assert marimo.source == notebook.source == "\n" + CUDA
    assert marimo.launch == notebook.launch == LaunchSpec(("ceil_div(n, 256)",), (256,))
    assert marimo.digest == notebook.digest
    assert marimo.origin[1] == 10 and notebook.origin == (f"{tmp_path / 'lesson.ipynb'}, cell 1", 2)


TWO_LESSONS = (exercise("hello.predict"), exercise("thread_mapping.predict"))
PREDICTED = 'predict_values = {"answers": {"threads": 4}}'


@pytest.mark.parametrize("broken", ["", " +"])
@pytest.mark.parametrize(
    ("name", "marker", "answered"),
    [
        ("mine.py", "# exercise: thread_mapping.predict\n", "thread_mapping.predict"),
        ("mine.py", "# exercise: hello.predict\n", "hello.predict"),
        ("01_thread_mapping.py", "", "thread_mapping.predict"),
        ("00_start_here.py", "", "hello.predict"),
    ],
)
def test_an_answer_to_one_lesson_is_none_to_another_that_uses_its_name(tmp_path, name, marker, answered, broken):
    answers = read(tmp_path, HEADER + cell(f"{marker}{PREDICTED}{broken}\nreturn"), TWO_LESSONS, name).answers
    present = {exercise_id for exercise_id, answer in answers.items() if not getattr(answer, "missing", False)}
    assert present == {answered}


def test_a_line_of_the_text_is_a_line_of_the_file(tmp_path):
    text = HEADER + answer_cell()
    answer = read(tmp_path, text).answers["topic.map1d"]
    number = next(k for k, line in enumerate(answer.source.split("\n"), 1) if "y[0]" in line)
    assert "y[0]" in text.split("\n")[answer.origin[1] + number - 2]


def test_a_second_definition_stops_only_its_own_exercise(tmp_path):
    found = read(tmp_path, HEADER + answer_cell() + answer_cell("dot", "topic.dot") + answer_cell())
    problem = found.answers["topic.map1d"]
    assert isinstance(problem, Unreadable) and len(problem.lines) == 2
    assert all(f"line {line}" in problem.message for line in problem.lines)
    assert isinstance(found.answers["topic.dot"], Submission)


@pytest.mark.parametrize(
    "again",
    ["map1d_src += 'x'", "for map1d_src in (1, 2): pass", "(map1d_src := 'x')", "del map1d_src", "import os as map1d_src",
     "def map1d_src(): pass", "with open('x') as map1d_src: pass", "a, map1d_src = 1, 2", "global map1d_src",
     "match {}:\n    case {**map1d_src}: pass"],
)  # fmt: skip
def test_any_other_binding_counts_as_a_second_definition(tmp_path, again):
    found = read(tmp_path, HEADER + answer_cell() + cell(again))
    assert isinstance(found.answers["topic.map1d"], Unreadable)


def test_an_answer_inside_a_condition_is_not_read(tmp_path):
    text = HEADER + cell("if True:\n    map1d_src = ''\nmap1d_launch = {'grid': 1, 'block': 1}")
    problem = read(tmp_path, text).answers["topic.map1d"]
    assert isinstance(problem, Unreadable)


def test_a_computed_text_says_how_to_write_it(tmp_path):
    text = HEADER + cell('map1d_src = f"""int a = {3};"""\nmap1d_launch = {"grid": 1, "block": 1}')
    problem = read(tmp_path, text).answers["topic.map1d"]
    assert "f-string" in problem.message and 'r"""' in problem.help and problem.lines == (9,)


def test_a_launch_that_is_no_literal_is_a_finding_beside_the_text(tmp_path):
    text = HEADER + cell('map1d_src = "int a;"\nmap1d_launch = {"grid": N // 2, "block": 1}')
    answer = read(tmp_path, text).answers["topic.map1d"]
    assert isinstance(answer, Submission) and answer.launch is None
    assert answer.problems[0].check == "launch.literal" and "quotes" in answer.problems[0].help


def test_a_cell_that_marimo_could_not_parse_costs_only_itself(tmp_path):
    broken = (
        'app._unparsable_cell(\n    r"""\n    # exercise: topic.map1d\n    map1d_src = (\n    """,\n    name="_"\n)\n\n'
    )
    found = read(tmp_path, HEADER + broken + answer_cell("dot", "topic.dot"))
    problem = found.answers["topic.map1d"]
    assert isinstance(problem, Unreadable) and problem.lines == (10,), problem
    assert isinstance(found.answers["topic.dot"], Submission)


def test_a_file_broken_by_hand_loses_only_the_broken_cell(tmp_path):
    broken = answer_cell().replace("map1d_launch = {", "map1d_launch = {{{")
    found = read(tmp_path, HEADER + broken + answer_cell("dot", "topic.dot"))
    problem = found.answers["topic.map1d"]
    assert isinstance(problem, Unreadable) and "does not parse" in problem.message
    assert isinstance(found.answers["topic.dot"], Submission)


def test_an_emptied_file_is_called_suspicious(tmp_path):
    found = read(tmp_path, HEADER)
    assert "emptied" in found.suspicious
    assert all(answer.missing for answer in found.answers.values())


def test_a_marker_with_a_wrong_id_names_the_near_one(tmp_path):
    found = read(tmp_path, HEADER + cell("# exercise: selftest.mapp\nx = 1"), rows=())
    assert "selftest.map" in found.notes[0]


@pytest.mark.parametrize(
    "text",
    [
        b"\xff\xfe\x00", b"a" * (MAX_NOTEBOOK_BYTES + 1), "[" * 5000 + "]" * 5000, "x = " + "(" * 300 + ")" * 300,
        "x = " + "-" * 50000 + "1", "x = 'a'\0", "x = " + "'a' " * 300_000, "\ud800", "x = 9**9**9", "a." * 20000 + "b",
    ],
)  # fmt: skip
def test_hostile_python_is_a_problem_or_nothing_found(tmp_path, text):
    try:
        found = read(tmp_path, text)
    except NotebookProblem as problem:
        assert problem.message
    else:
        assert all(isinstance(answer, Unreadable) for answer in found.answers.values())


@pytest.mark.parametrize(
    "text",
    [
        "{}", "[]", "[" * 100_000, '{"cells": [], "cells": []}', '{"worksheets": []}', "nothing", '{"cells": 3}',
        '{"cells": [{"cell_type": "code", "source": 3}, 4, null, {"cell_type": "code", "source": ["a", 3]}]}',
        jupyter('map1d_src = "\ud800"'), jupyter("%%bash\nrm -rf /"), '{"cells": [{"a": ' + "9" * 5000 + "}]}",
    ],
)  # fmt: skip
def test_hostile_json_is_a_problem_or_nothing_found(tmp_path, text):
    try:
        found = read(tmp_path, text, name="lesson.ipynb")
    except NotebookProblem as problem:
        assert problem.message
    else:
        assert all(isinstance(answer, Unreadable) for answer in found.answers.values())


@pytest.mark.parametrize("text", ["a\\0b", "\\ud800", "x" * (MAX_SOURCE_BYTES + 1)])
def test_an_unfit_text_is_unreadable(tmp_path, text):
    problem = read(tmp_path, HEADER + cell(f'map1d_src = "{text}"\nmap1d_launch = {{}}')).answers["topic.map1d"]
    assert isinstance(problem, Unreadable) and problem.help


def test_nothing_of_a_notebook_is_run(tmp_path):
    witness = tmp_path / "witness"
    spell = f"__import__('pathlib').Path({str(witness)!r}).write_text('ran')"
    read(tmp_path, HEADER + f"{spell}\n" + cell(f"{spell}\nmap1d_src = {spell}\nmap1d_launch = {{'grid': {spell}}}"))
    read(tmp_path, jupyter(f"{spell}\nmap1d_src = {spell}"), name="lesson.ipynb")
    assert not witness.exists()


@pytest.mark.parametrize(
    "expression",
    ["a" + ".b" * 2000, "a" + "[0]" * 2000, "+".join(["a"] * 2000), "app.setup" + ".b" * 900, "app.setup" + "()" * 900],
    ids=["attributes", "subscripts", "a sum", "attributes of a setup", "calls of a setup"],
)
def test_a_deep_expression_beside_an_answer_costs_it_nothing(tmp_path, expression):
    found = read(tmp_path, HEADER + answer_cell() + f"with {expression}:\n    pass\n")
    assert isinstance(found.answers["topic.map1d"], Submission)


@pytest.mark.parametrize(
    "number",
    ["0x" + "f" * 5000, "-0x" + "f" * 5000, "(1, 0x" + "f" * 400_000 + ")"],
    ids=["long", "negative", "in a tuple"],
)
@pytest.mark.parametrize("key", ["grid", "block", "shared_bytes", "cluster", "other"])
def test_a_number_that_python_would_not_write_out_costs_only_its_launch(tmp_path, key, number):
    launch = {"grid": "1", "block": "256"} | {key: number}
    literal = "{" + ", ".join(f'"{name}": {value}' for name, value in launch.items()) + "}"
    text = answer_cell().replace('{"grid": "ceil_div(n, 256)", "block": 256}', literal)
    found = read(tmp_path, HEADER + text + answer_cell("dot", "topic.dot"))
    assert "bits" in found.answers["topic.map1d"].problems[0].message
    assert not found.answers["topic.dot"].problems


@pytest.mark.parametrize("shape", ["{}", '{{"grid": {}, "block": 1}}', '{{"grid": [{}], "block": 1}}'])
def test_such_a_number_in_a_running_notebook_is_a_finding(shape):
    launch = ast.literal_eval(shape.format(hex(1 << 20_000)))
    (finding,) = submit(MAP, CUDA, launch).problems
    assert finding.check == "launch.literal" and "thousands of digits" in finding.message


SHAPES = [
    "int a;\nint b;\n", "\nint a;\n  int b;\n\n\tint c;\n", "  a\n b\n", "", "\n", "a  \nb\t\n\n\n",
    "\n    a\n\n        b  \n    ",
]  # fmt: skip


@pytest.mark.parametrize("text", SHAPES)
def test_a_text_on_disk_and_in_a_running_notebook_have_one_canonical_form(tmp_path, text):
    """marimo indents inner lines on disk and dedents them on load."""
    path = tmp_path / "lesson.py"
    path.write_text(HEADER + cell(f'map1d_src = r"""{text}"""\nmap1d_launch = {{"grid": 1, "block": 1}}\nreturn'))
    static = read_notebook(path, (MAP,)).answers["topic.map1d"].source
    loader = importlib.util.spec_from_file_location("lesson_as_it_runs", path)
    lesson = importlib.util.module_from_spec(loader)
    loader.loader.exec_module(lesson)
    _, defs = lesson.app.run()
    assert canonical(defs["map1d_src"]) == static
    assert static.count("\n") == text.count("\n")


def test_canonical_text_is_its_own_canonical_form():
    for text in SHAPES:
        assert canonical(canonical(text)) == canonical(text)


@pytest.mark.parametrize("text", ["x = f'" + "{a}" * 600_000 + "'", "x = [" + "a, " * 600_000 + "]", "x\n" * 900_000])
def test_python_that_would_keep_a_parser_busy_is_not_parsed(tmp_path, text):
    with pytest.raises(NotebookProblem, match="words and signs"):
        read(tmp_path, text)


def test_the_cells_of_a_notebook_count_together(tmp_path):
    cells = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": "x\n" * 20_000}
    ] * 3
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    with pytest.raises(NotebookProblem, match="words and signs"):
        read(tmp_path, text, name="lesson.ipynb")
