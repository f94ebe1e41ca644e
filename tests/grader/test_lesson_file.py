"""Answers in a lesson's file: found, edited and put back with every other byte as it was."""

import sys
from pathlib import Path

import pytest

from grader.edit import EditProblem, edit_text, editor_command
from grader.lesson_file import LessonProblem, find_literals, lesson_path, read_lesson, replace_literals, text_literal
from grader.notebook.source import canonical

LESSON = '''# A header with an ü
import marimo

__generated_with = "0.25.2"
app = marimo.App()


@app.cell
def _():
    # exercise: thread_mapping.map1d
    map1d_src = r"""
    extern "C" __global__ void f(float* y, int n) {   // größer als ß
        int i = threadIdx.x;

        if (i < n) y[i] = 1;
    }
    """
    map1d_launch = {
        "grid": "ceil_div(n, 256)",  # keep me
        "block": 256,
    }
    return map1d_launch, map1d_src


@app.cell
def _():
    x = 1;  other_src = "extern"
    return
'''


@pytest.fixture
def lesson(tmp_path):
    path = tmp_path / "01_thread_mapping.py"
    path.write_bytes(LESSON.encode())
    return path


def editor(tmp_path, body):
    """An editor that runs Python on the file's text `t`."""
    script = tmp_path / "editor.py"
    script.write_text(
        "import sys\nfrom pathlib import Path\np = Path(sys.argv[1])\nt = p.read_text(encoding='utf-8')\n"
        f"{body}\np.write_text(t, encoding='utf-8')\n"
    )
    return [sys.executable, str(script)]


def test_literal_is_read_as_the_running_notebook_has_it():
    found = find_literals(LESSON)
    assert found["map1d_launch"].value == {"grid": "ceil_div(n, 256)", "block": 256}
    assert found["map1d_src"].value.split("\n")[1].startswith('extern "C"')
    assert found["other_src"].line == 27


def test_replacing_by_the_same_text_changes_nothing():
    found = find_literals(LESSON)
    assert replace_literals(LESSON, {name: literal.text for name, literal in found.items()}) == LESSON


def test_only_the_named_literal_changes():
    changed = replace_literals(LESSON, {"map1d_launch": '{"grid": 1,\n "block": 32}'})
    before, _, rest = LESSON.partition("map1d_launch = ")
    assert changed.startswith(before + 'map1d_launch = {"grid": 1,\n     "block": 32}\n    return')
    assert changed.endswith(rest.partition("}\n    return")[2])


def test_windows_line_ends_stay(tmp_path):
    text = LESSON.replace("\n", "\r\n")
    changed = replace_literals(text, {"map1d_launch": "{\n}"})
    assert "\n" not in changed.replace("\r\n", "")


def test_name_assigned_twice_is_refused_with_both_lines():
    twice = LESSON.replace("other_src", "map1d_src")
    with pytest.raises(LessonProblem, match="line 11 and again in line 27"):
        find_literals(twice, ("map1d_src",))


def test_name_that_is_not_there_is_refused():
    with pytest.raises(LessonProblem, match="nothing assigns `gone_src`"):
        replace_literals(LESSON, {"gone_src": "''"})


@pytest.mark.parametrize("damage", ["def (:", "x = '", "\0"])
def test_file_that_does_not_parse_is_refused(damage):
    with pytest.raises(LessonProblem, match="parse"):
        find_literals(LESSON + damage)


def test_editor_changes_only_the_cuda_text(lesson, tmp_path):
    scratch = tmp_path / "edit" / "thread_mapping.map1d.cu"
    assert edit_text(lesson, "map1d_src", scratch, editor(tmp_path, "t = t.replace('= 1;', '= 2;\\n    // ü')"))
    assert read_lesson(lesson) == LESSON.replace("y[i] = 1;", "y[i] = 2;\n        // ü")
    assert not scratch.exists()


def test_editor_that_saves_nothing_leaves_the_file_untouched(lesson, tmp_path):
    before = lesson.stat().st_mtime_ns
    assert not edit_text(lesson, "map1d_src", tmp_path / "a.cu", editor(tmp_path, "t = t + '\\n  '"))
    assert lesson.stat().st_mtime_ns == before


def test_editor_sees_plain_cuda(lesson, tmp_path):
    edit_text(
        lesson, "map1d_src", tmp_path / "a.cu", editor(tmp_path, f"Path({str(tmp_path / 'seen')!r}).write_text(t)")
    )
    assert (tmp_path / "seen").read_text().startswith('extern "C" __global__')


def test_lesson_that_changed_meanwhile_is_not_overwritten(lesson, tmp_path):
    scratch = tmp_path / "a.cu"
    body = f"t = '// mine'\nPath({str(lesson)!r}).write_text('changed elsewhere')"
    with pytest.raises(EditProblem, match="meanwhile") as caught:
        edit_text(lesson, "map1d_src", scratch, editor(tmp_path, body))
    assert lesson.read_text() == "changed elsewhere"
    assert scratch.read_text() == "// mine" and str(scratch) in caught.value.help


def test_editor_that_fails_puts_nothing_back(lesson, tmp_path):
    with pytest.raises(EditProblem, match="status 3"):
        edit_text(lesson, "map1d_src", tmp_path / "a.cu", editor(tmp_path, "p.write_text('x'); sys.exit(3)"))
    assert read_lesson(lesson) == LESSON


@pytest.mark.parametrize(
    "cuda", ['printf("%d\\n", i);', "a = '\"';", 's = """;', "// back\\", "x\ty", 'ends in "', "// ü é"]
)
def test_text_comes_back_from_its_literal(cuda):
    if cuda.endswith("\\"):
        cuda += "\n}"
    literal = text_literal(cuda)
    changed = replace_literals(LESSON, {"map1d_src": literal})
    assert canonical(find_literals(changed)["map1d_src"].value).strip("\n") == cuda


def test_text_that_no_raw_string_holds_is_refused():
    with pytest.raises(LessonProblem, match="triple quotes"):
        text_literal("\"\"\" '''")


def test_editor_command_is_split_like_a_shell_does(monkeypatch):
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "code --wait")
    assert editor_command() == ["code", "--wait"]


def test_lesson_is_found_by_its_topic(tmp_path):
    (tmp_path / "04_tiling.py").touch()
    assert lesson_path(tmp_path, "tiling") == lesson_path(tmp_path, "04_tiling") == tmp_path / "04_tiling.py"
    with pytest.raises(LessonProblem, match="no lesson"):
        lesson_path(Path(tmp_path), "til")
