"""Solutions → lessons: cleared, in marimo's own form, bundled without answers, merged without losing any."""

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from grader.lesson_file import find_literals
from grader.release.bundle import MANIFEST, write_bundle
from grader.release.clearing import ClearingError, clear, has_solution, solved
from grader.release.lessons import STARTERS, ReleaseError, build, compare, lesson_of, write
from grader.release.marimo_form import MARIMO_VERSION, NotebookFormError, emit, parse
from grader.release.merge import merge
from grader.release.names import definitions, references
from grader.release.starters import answers_by_exercise

ROOT = Path(__file__).resolve().parents[2]
SOLUTIONS = sorted((ROOT / "solutions").glob("*.py"))

SOLUTION = '''import marimo

__generated_with = "0.25.2"
app = marimo.App(width="medium", app_title="01 · Thread mapping")

with app.setup(hide_code=True):
    import numpy as np


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # Title with "quotes" and \\alpha
      indented

    end
    """)
    return


@app.cell
def _():
    import marimo as mo
    from grader import check

    return check, mo


@app.cell
def _():
    # exercise: thread_mapping.map1d
    map1d_src = r"""
    extern "C" __global__ void map1d(const float* x, float* y, int n) {
        int i = blockIdx.x * blockDim.x + threadIdx.x;
        // BEGIN SOLUTION
        if (i < n) y[i] = x[i];
        // STARTER
        // y[i] = x[i];  // TODO: guard
        //
        // // a comment stays one
        // END SOLUTION
    }
    """
    map1d_launch = {
        # BEGIN SOLUTION
        "grid": "ceil_div(n, 256)",
        "block": 256,
        # END SOLUTION
    }
    return map1d_launch, map1d_src


@app.cell
def _(check, map1d_launch, map1d_src):
    check("thread_mapping.map1d", map1d_src, map1d_launch)
    return


@app.cell
def _():
    some_rather_long_name_one = [q for q in range(3)]
    some_rather_long_name_two = 2
    some_rather_long_name_three = np.pi
    return (
        some_rather_long_name_one,
        some_rather_long_name_three,
        some_rather_long_name_two,
    )


@app.cell
def _(
    mo,
    some_rather_long_name_one,
    some_rather_long_name_three,
    some_rather_long_name_two,
):
    total = some_rather_long_name_one + some_rather_long_name_two
    mo.md(f"""x {total} {some_rather_long_name_three}""")
    return


@app.function
def area(r):
    return r * np.pi


@app.cell
def _():
    # nothing but a comment
    return


if __name__ == "__main__":
    app.run()
'''


def marimos_own(text):
    """The file that marimo writes for a notebook, in a process of its own."""
    script = (
        "import sys; from marimo._convert.converters import MarimoConvert;"
        "sys.stdout.write(MarimoConvert.from_py(sys.stdin.read()).to_py())"
    )
    return subprocess.run([sys.executable, "-c", script], input=text, capture_output=True, text=True, check=True).stdout


# --- clearing


def test_solution_block_becomes_one_line_to_do():
    assert (
        clear("a\n    // BEGIN SOLUTION\n    b\n    c\n    // END SOLUTION\nd") == "a\n    // TODO: your code here\nd"
    )


def test_python_block_gets_a_python_comment():
    assert clear("{\n  # BEGIN SOLUTION\n  1\n  # END SOLUTION\n}") == "{\n  # TODO: your answer here\n}"


def test_starter_takes_the_place_of_the_solution():
    text = "// BEGIN SOLUTION\nright();\n// STARTER\n// wrong();\n//     more();\n//\n// END SOLUTION"
    assert clear(text) == "wrong();\n    more();\n"


def test_solved_text_has_neither_markers_nor_starters():
    text = "a\n// BEGIN SOLUTION\nright();\n// STARTER\n// wrong();\n// END SOLUTION\nb"
    assert solved(text) == "a\nright();\nb"


def test_empty_starter_leaves_nothing():
    assert clear("a\n// BEGIN SOLUTION\nb\n// STARTER\n// END SOLUTION\nc") == "a\nc"


def test_text_without_markers_stays():
    text = "int a; // BEGIN SOLUTIONS of many\n# include <x>\n"
    assert clear(text) == text and not has_solution(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("// BEGIN SOLUTION\na", "line 1: BEGIN SOLUTION without"),
        ("a\n// END SOLUTION", "line 2"),
        ("// BEGIN SOLUTION\n// BEGIN SOLUTION\n// END SOLUTION", "inside the block of line 1"),
        ("// BEGIN SOLUTION\n// STARTER\nbare();\n// END SOLUTION", "line 3: a STARTER line begins with //"),
    ],
)
def test_marker_without_partner_is_refused_by_line(text, says):
    with pytest.raises(ClearingError, match=says):
        clear(text)


# --- marimo's form


def test_form_is_the_one_that_marimo_writes():
    assert emit(parse(SOLUTION)) == marimos_own(SOLUTION) == SOLUTION


def test_lesson_is_in_marimos_form():
    lesson = lesson_of(SOLUTION)
    assert lesson == marimos_own(lesson)


@pytest.mark.parametrize("path", SOLUTIONS, ids=lambda path: path.stem)
def test_every_lesson_is_in_marimos_form(path):
    lesson = lesson_of(path.read_text(encoding="utf-8"))
    assert lesson == marimos_own(lesson)


def test_version_is_the_installed_one():
    import marimo

    assert MARIMO_VERSION == marimo.__version__


def test_cell_that_is_one_function_is_refused():
    with pytest.raises(NotebookFormError, match="@app.function"):
        parse(SOLUTION.replace("    # nothing but a comment\n", "    def f():\n        return 1\n"))


@pytest.mark.parametrize("text", ["", "x = 1", "import marimo", "def (:"])
def test_file_that_is_no_notebook_is_refused(text):
    with pytest.raises(NotebookFormError):
        parse(text)


@pytest.mark.parametrize(
    ("code", "defined", "used"),
    [
        ("x = y", {"x"}, {"y"}),
        ("_x = y; z = _x", {"z"}, {"y"}),
        ("import a.b as c, d", {"c", "d"}, set()),
        ("def f(a): return a + g", {"f"}, {"g"}),
        ("class C(B):\n    z = q", {"C"}, {"B", "q"}),
        ("w = [i * k for i in range(3)]", {"w"}, {"k"}),
        ("x += 1", {"x"}, set()),
        ("print(len(v))", set(), {"v"}),
        ("try:\n    u = 1\nexcept ValueError as e:\n    print(e)", {"u"}, set()),
        ("f = lambda a, b=m: a + b + n", {"f"}, {"m", "n"}),
        ("with open(p) as h:\n    t = h.read()", {"h", "t"}, {"p"}),
        ("if (s := r): pass", {"s"}, {"r"}),
    ],
)
def test_names_of_a_cell_follow_python(code, defined, used):
    assert (definitions(code), references(code)) == (defined, used)


# --- the release


@pytest.fixture
def course(tmp_path):
    (tmp_path / "solutions" / "mutants" / "thread_mapping.map1d").mkdir(parents=True)
    (tmp_path / "solutions" / "mutants" / "thread_mapping.map1d" / "no_guard.cu").write_text("mutant")
    (tmp_path / "solutions" / "01_thread_mapping.py").write_text(SOLUTION, encoding="utf-8")
    for name in ("grader", "simt", "assets", "tests"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("# something\n")
    (tmp_path / "course.py").write_text("# start\n")
    return tmp_path


def test_release_writes_lessons_and_starters(course):
    edition = "nbgrader/source/01_thread_mapping/01_thread_mapping.ipynb"
    assert write(course, build(course)) == ["lessons/01_thread_mapping.py", edition, STARTERS]
    lesson = (course / "lessons" / "01_thread_mapping.py").read_text()
    assert "y[i] = x[i];  // TODO: guard" in lesson
    assert "SOLUTION" not in lesson and "if (i < n)" not in lesson
    starters = json.loads((course / STARTERS).read_text())
    assert set(starters["thread_mapping.map1d"]) == {"map1d_src", "map1d_launch"}


def test_second_release_writes_nothing(course):
    write(course, build(course))
    assert write(course, build(course)) == []
    assert list(compare(course, build(course))) == []


def test_difference_is_named(course):
    write(course, build(course))
    lesson = course / "lessons" / "01_thread_mapping.py"
    lesson.write_text(lesson.read_text() + "\n")
    (course / "lessons" / "99_old.py").write_text("")
    (course / STARTERS).unlink()
    found = {(difference.path, difference.what) for difference in compare(course, build(course))}
    assert found == {
        ("lessons/01_thread_mapping.py", "stale"), (STARTERS, "missing"),
        ("lessons/99_old.py", "not derived from any solution"),
    }  # fmt: skip


def test_fault_in_a_solution_names_the_file(course):
    path = course / "solutions" / "01_thread_mapping.py"
    path.write_text(SOLUTION.replace("        // END SOLUTION\n", ""))
    with pytest.raises(
        ReleaseError, match=r"01_thread_mapping\.py: in the cell `# exercise: thread_mapping\.map1d`, line 11"
    ):
        build(course)


def test_repository_is_released():
    assert list(compare(ROOT, build(ROOT))) == []


# --- the bundle


def test_bundle_holds_what_students_need_and_no_answer(course):
    write(course, build(course))
    (course / "lessons" / "01_thread_mapping.new.py").write_text("mine")
    (course / "grader" / "__pycache__").mkdir()
    (course / "grader" / "__pycache__" / "a.pyc").write_text("")
    (course / "assets" / "recorded").mkdir()
    (course / "assets" / "recorded" / "solutions.jsonl").write_text("{}")
    (course / ".course").mkdir()
    (course / ".course" / "progress.json").write_text("{}")
    names = write_bundle(course, course / "bundle.zip")
    assert "lessons/01_thread_mapping.py" in names and "course.py" in names and MANIFEST in names
    unwanted = ("solutions", "mutants", "tests", "__pycache__", ".course", ".new.py")
    assert not [name for name in names if any(part in name for part in unwanted)]


def test_manifest_tells_a_changed_lesson_from_a_shipped_one(course):
    import hashlib

    write(course, build(course))
    write_bundle(course, course / "bundle.zip")
    with zipfile.ZipFile(course / "bundle.zip") as bundle:
        manifest = json.loads(bundle.read(f"warpwise/{MANIFEST}"))
        for name, digest in manifest.items():
            assert hashlib.sha256(bundle.read(f"warpwise/{name}")).hexdigest() == digest


def test_equal_trees_give_equal_bundles(course):
    write(course, build(course))
    write_bundle(course, course / "one.zip")
    copy = course.parent / "copy"
    shutil.copytree(course, copy)
    write_bundle(copy, copy / "two.zip")
    assert (course / "one.zip").read_bytes() == (copy / "two.zip").read_bytes()


# --- merging


def student(lesson, src="        if (i < n) y[i] = 2;\n"):
    return lesson.replace("        y[i] = x[i];  // TODO: guard\n", src)


def values(text):
    return {name: literal.text for name, literal in find_literals(text).items()}


def test_answer_moves_into_the_new_text():
    old = lesson_of(SOLUTION)
    new = old.replace("# Title", "# Better title")
    merged = merge(student(old), new, answers_by_exercise(old))
    assert "# Better title" in merged.text
    assert values(merged.text)["map1d_src"] == values(student(old))["map1d_src"]
    assert merged.carried == ("thread_mapping.map1d",)


def test_untouched_starter_gives_way_to_the_new_one():
    old = lesson_of(SOLUTION)
    new = old.replace("// TODO: guard", "// TODO: guard every edge")
    merged = merge(old, new, answers_by_exercise(old))
    assert (merged.text, merged.carried) == (new, ())


def test_answer_of_an_exercise_that_is_gone_is_kept_at_the_end():
    old = lesson_of(SOLUTION)
    new = old.replace("thread_mapping.map1d", "thread_mapping.other").replace("map1d", "other")
    merged = merge(student(old), new, answers_by_exercise(old))
    assert merged.kept_aside == ("thread_mapping.map1d",)
    assert values(merged.text)["map1d_src"] == values(student(old))["map1d_src"]
    assert "thread_mapping.map1d" not in answers_by_exercise(merged.text)


def test_merged_lesson_is_in_marimos_form():
    old = lesson_of(SOLUTION)
    new = old.replace("thread_mapping.map1d", "thread_mapping.other").replace("map1d", "other")
    merged = merge(student(old), new, answers_by_exercise(old)).text
    assert merged == marimos_own(merged)


def test_merging_twice_changes_nothing_more():
    old = lesson_of(SOLUTION)
    once = merge(student(old), old, answers_by_exercise(old)).text
    assert merge(once, old, answers_by_exercise(old)).text == once


def test_broken_lesson_is_refused():
    with pytest.raises(ValueError):
        merge(lesson_of(SOLUTION) + "def (:", lesson_of(SOLUTION), {})
