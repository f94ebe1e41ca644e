"""Wrong command lines: each is refused by its exit status, in words that say what, where and what to do next.

The statuses are those of docs/simt.md and of `grader.cli`.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import course
import grader.cli
import simt.cli

ROOT = Path(__file__).resolve().parents[1]
KERNEL = 'extern "C" __global__ void k(int* y) {\n    y[threadIdx.x] = 1;\n}\n'
LAUNCH = 'grid = 1\nblock = 32\n[[args]]\nname = "y"\ndtype = "int32"\nshape = [32]\ndir = "out"\n'
FILES = {
    "k.cu": KERNEL.encode(), "k.toml": LAUNCH.encode(), "text.txt": b"hello", "open.toml": b"grid = [1\n",
    "four.toml": b'grid = "four"\nblock = 32\n', "blok.toml": b"grid = 1\nblok = 32\n", "open.json": b'{"grid": ',
    "none.json": b"{}", "raw.py": b"\xff\xfe\x00", "open.py": b"x = (", "open.ipynb": b'{"cells": [', "raw.cu": b"\xff\xfe",
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Lines are given in a folder that holds these files."""
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)


def outcome(main, line, capsys):
    """(exit status, all that was said)."""
    try:
        status = main(line.split())
    except SystemExit as end:
        status = end.code
    said = "".join(capsys.readouterr())
    assert "Traceback" not in said
    return status, said


# the command line: exit status, words
SIMT = {
    "rum k.cu": (2, ("rum", "coverage")),
    "run k.cu": (2, ("--launch",)),
    "run k.cu --launch none/k.toml": (2, ("none/k.toml", "No such file", "as seen from")),
    "run k.cu --launch empty": (2, ("empty", "directory", "as seen from")),
    "run k.cu --launch open.toml": (1, ("open.toml", "not TOML", "key = value")),
    "run k.cu --launch four.toml": (1, ("four.toml", "the text 'four'", "grid = 256")),
    "run k.cu --launch blok.toml": (1, ("blok.toml", "`blok`", "did you mean `block`?")),
    "run empty --launch k.toml": (2, ("empty", "directory", "as seen from")),
    "run open.py --launch k.toml": (2, ("open.py", "holds no CUDA", ".cu or .ptx")),
    "run raw.cu --launch k.toml": (2, ("raw.cu", "UTF-8", ".cu or .ptx")),
    "run k.cu --launch k.toml --arch sm_77": (1, ("sm_77", "sm_90")),
    "run k.cu --launch k.toml --check memchek": (2, ("memchek", "memcheck")),
    "run k.cu --launch k.toml --out text.txt/x": (2, ("text.txt", "choose another place")),
    "run k.cu --launch k.toml --suppress open.toml": (1, ("open.toml", "not TOML", "[[suppress]]")),
    "run k.cu --launch k.toml --trace 1": (2, ("BLOCK:WARP", "0:1")),
    "estimate k.cu --launch k.toml --gpu h2000": (1, ("h2000", "h200")),
    "estimate open.py --launch k.toml --gpu h200": (2, ("open.py", "holds no CUDA", ".cu or .ptx")),
    "compare text.txt none.json": (2, ("text.txt", "not JSON", "simt run")),
    "compare none.json none.json": (2, ("none.json", "no counters", "simt run")),
}
GRADER = {
    "chek k.cu": (2, ("'chek'", "check, try")),
    "check": (2, ("PATH", "--help")),
    "check none/a.py": (2, ("none/a.py", ".py or .ipynb")),
    "check empty": (2, ("empty", "folder of the lessons")),
    "check text.txt": (2, ("text.txt", "notebook itself")),
    "check raw.py": (2, ("raw.py", "UTF-8")),
    "check open.py": (2, ("open.py", "line 1", "lesson's .py")),
    "check open.ipynb": (2, ("open.ipynb", "not readable as JSON", "save it again")),
    "check open.py --exercise tiling.stencl": (2, ("tiling.stencl", "did you mean tiling.stencil")),
    "check open.py --device gpu": (2, ("'gpu'", "simulator")),
    "check open.py --device remote": (3, ("no lab server", "--device simulator")),
    "try selftest.map none/a.cu": (2, ("none/a.cu", "No such file", "as seen from")),
    "try selftest.map empty": (2, ("empty", "directory")),
    "try selftest.map raw.cu": (2, ("raw.cu", "UTF-8")),
    "try selftest.map k.cu --launch open.json": (2, ("open.json", "grid")),
    "watch text.txt": (2, ("text.txt", "notebook itself")),
    "hint": (2, ("ID", "--help")),
    "solution tilng.stencil": (2, ("tilng.stencil", "did you mean tiling.stencil")),
    "submit text.txt": (2, ("text.txt", ".py file")),
    "grade none/class --db sqlite:///x.db": (2, ("none/class", "hand-ins")),
    "grade empty --db sqlite:///x.db --cluster lab": (2, ("'lab' names no cluster", "slurm:CONFIG.toml")),
    "grade empty --db sqlite:///x.db --cluster slurm:none.toml": (2, ("none.toml", "No such file")),
    "export --db sqlite:///x.db --to csv out.csv": (2, ("x.db", "grade DIR --db URL")),
    "release --bundle none/x.zip": (2, ("none", "make it")),
}
COURSE = {
    "learn 77": (2, ("77", "04_tiling")),
    "learn --port 99999": (2, ("99999", "65535")),
}


@pytest.mark.parametrize("line", SIMT)
def test_simt_refuses_in_words(line, capsys):
    status, words = SIMT[line]
    got, said = outcome(simt.cli.main, line, capsys)
    assert got == status and all(word in said for word in words), said


@pytest.mark.parametrize("line", GRADER)
def test_the_grader_refuses_in_words(line, capsys):
    status, words = GRADER[line]
    got, said = outcome(grader.cli.main, line, capsys)
    assert got == status and all(word in said for word in words), said
    assert "0 of 0" not in said


@pytest.mark.parametrize("line", [line for line in GRADER if line.startswith(("check", "try", "chek"))])
def test_with_json_the_refusal_is_one_object(line, capsys):
    status = grader.cli.main([*line.split(), "--json"])
    (record,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert status == GRADER[line][0] and record["error"] and (record.get("help") or record.get("next"))


@pytest.mark.parametrize("line", COURSE)
def test_the_course_refuses_in_words(line, capsys):
    status, words = COURSE[line]
    got, said = outcome(course.main, line, capsys)
    assert got == status and all(word in said for word in words), said


@pytest.mark.parametrize("command", ["simt coverage", "grader progress --json"])
@pytest.mark.parametrize("redirection", ["> /dev/full", ">&-"])
def test_standard_output_that_takes_nothing_is_said(command, redirection):
    line = f"{sys.executable} -m {command} {redirection}"
    done = subprocess.run(["sh", "-c", line], cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr
    if "full" in redirection:
        assert done.returncode in (4, 5) and "standard output: No space left on device" in done.stderr
