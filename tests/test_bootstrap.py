"""course.py, course_install.py and course_update.py: set-up from nothing, once; what they say when they can't.

The set-up runs for real, in a folder of its own, with tiny wheels from a local folder in the place of the index.
"""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import course
import course_install
from tests.processes import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = ("course.py", "course_install.py", "course_update.py")
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
GROUPS = {name: [Requirement(r) for r in rows] for name, rows in PYPROJECT["project"]["optional-dependencies"].items()}
PINS = [
    Requirement(line)
    for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def make_wheel(folder, name, code):
    """A wheel of one module that is its own `python -m` program."""
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{name}.py", code)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def make_course(folder, groups):
    """A small course: the real scripts, these groups of requirements, two lessons and a `grader` that echoes."""
    for name in SCRIPTS:
        shutil.copy(ROOT / name, folder / name)
    rows = "\n".join(f"{group} = {json.dumps(names)}" for group, names in groups.items())
    mb = "\n".join(f"{group} = 1" for group in groups)
    sizes = "\n".join(f"{group} = {{}}" for group in groups)
    (folder / "pyproject.toml").write_text(
        f"[project.optional-dependencies]\n{rows}\n[tool.warpwise.download_mb]\n{sizes}\n[tool.warpwise.disk_mb]\n{mb}\n"
    )
    (folder / "requirements.txt").write_text("marimo==1.0\n")
    (folder / "lessons").mkdir()
    (folder / "lessons" / "00_start_here.py").write_text("first = 0\n")
    (folder / "lessons" / "04_tiling.py").write_text("tile = 0\n")
    (folder / "grader").mkdir()
    (folder / "grader" / "__main__.py").write_text("import sys\nprint('grader got', sys.argv[1:])\nsys.exit(7)\n")


def run(folder, *arguments, **environment):
    """course.py in that folder, with only local wheels to install."""
    settings = {"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder / "wheels")}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    return subprocess.run(
        [sys.executable, str(folder / "course.py"), *arguments],
        env={**kept, **settings, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A course that was set up once, with the words of that run."""
    folder = tmp_path_factory.mktemp("course")
    make_course(folder, {"learn": ["marimo"], "simt": ["nowhere"], "gpu": [], "class": ["nbgrader"], "jupyter": []})
    (folder / "wheels").mkdir()
    make_wheel(folder / "wheels", "marimo", "import sys\nprint('marimo got', sys.argv[1:])\n")
    return folder, run(folder, "learn", "--no-browser", "--port", "4711", PYTHONDONTWRITEBYTECODE="1")


# --- set-up


def test_learn_sets_up_and_opens_the_lessons_on_localhost(installed):
    folder, first = installed
    assert first.returncode == 0, first.stderr
    assert "Setting up learn, simt" in first.stderr and "to download" in first.stderr
    assert "http://127.0.0.1:4711/?file=00_start_here.py" in first.stderr
    assert re.search(r"marimo got .*'edit', '.*lessons', '--headless', '--no-token'.*'--port', '4711'", first.stdout)


def test_set_up_leaves_bytecode_where_python_would_write_none(installed):
    folder, _ = installed
    assert list((folder / "grader" / "__pycache__").glob("__main__.*.pyc"))


def test_group_without_a_wheel_is_left_out_and_said(installed):
    _, first = installed
    assert "nowhere has no package for this platform" in first.stderr
    assert "kernels can't be simulated here" in first.stderr


def test_set_up_does_nothing_twice(installed):
    folder, _ = installed
    again = run(folder, "learn", "tiling", "--no-browser")
    assert again.returncode == 0
    assert "Setting up" not in again.stderr and "Installing" not in again.stderr
    assert "?file=04_tiling.py" in again.stderr


def test_other_words_go_to_the_grader_with_its_exit_status(installed):
    folder, _ = installed
    done = run(folder, "check", "lessons/04_tiling.py", "--json")
    assert (done.stdout, done.returncode) == ("grader got ['check', 'lessons/04_tiling.py', '--json']\n", 7)


def test_broken_environment_is_made_again(installed):
    folder, _ = installed
    (folder / ".venv" / "warpwise.json").write_text("{ broken off")
    shutil.rmtree(next((folder / ".venv").glob("[Ll]ib*/**/site-packages/pip")))
    again = run(folder, "learn", "--no-browser")
    assert again.returncode == 0, again.stderr
    assert "Making a Python environment" in again.stderr and "marimo got" in again.stdout


def test_group_that_must_install_stops_with_the_package_named(installed):
    folder, _ = installed
    done = run(folder, "grade")
    assert done.returncode == 3
    assert "nbgrader has no package for this platform" in done.stderr
    assert "Run the same command again" in done.stderr and "Traceback" not in done.stderr


def test_full_disk_is_said_before_anything_is_downloaded(tmp_path):
    make_course(tmp_path, {"learn": ["marimo"], "simt": [], "gpu": [], "class": [], "jupyter": []})
    settings = tmp_path / "pyproject.toml"
    settings.write_text(settings.read_text().replace("learn = 1", "learn = 1000000000000"))
    done = run(tmp_path, "learn", "--no-browser")
    assert done.returncode == 3 and "MB free" in done.stderr or "GB free" in done.stderr
    assert not (tmp_path / ".venv").exists()


@pytest.mark.parametrize(
    ("log", "words", "no_wheel"),
    [
        ("OSError: [Errno 28] No space left on device", "disk is full", False),
        ("NewConnectionError(...)\nERROR: No matching distribution found for marimo", "can't be reached", False),
        ("ProxyError(...)\nERROR: No matching distribution found for x", "can't be reached", False),
        ("urllib3.exceptions.ReadTimeoutError: Read timed out.", "broke off", False),
        ("ERROR: No matching distribution found for llvmlite>=0.50", "llvmlite has no package", True),
        ("ERROR: Cannot install cupy-cuda13x because these package versions", "cupy-cuda13x has no package", True),
        ("something else", "pip failed", False),
    ],
)
def test_pip_failure_is_put_in_words(log, words, no_wheel):
    reason, is_missing = course_install.diagnose(log)
    assert words in reason and is_missing is no_wheel


@pytest.mark.parametrize(
    ("driver", "group"),
    [(None, None), ((11, 8), None), ((12, 0), "gpu12"), ((12, 9), "gpu12"), ((13, 0), "gpu"), ((14, 1), "gpu")],
)
def test_cupy_follows_the_driver(driver, group):
    assert course.gpu_group(driver) == group


@pytest.mark.parametrize("name", SCRIPTS)
def test_script_parses_under_an_old_python_and_imports_only_the_standard_library(name):
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"), feature_version=(3, 6))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert names - {"course_install"} <= sys.stdlib_module_names


def test_unknown_lesson_lists_those_there_are(installed):
    folder, _ = installed
    done = run(folder, "learn", "99")
    assert done.returncode == 2 and "00_start_here, 04_tiling" in done.stderr


def test_copy_without_tests_installs_nothing_to_run_them(tmp_path):
    make_course(tmp_path, {})
    done = subprocess.run(
        [sys.executable, "course.py", "test"], cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert done.returncode == 3 and "holds no tests" in done.stderr
    assert not (tmp_path / ".venv").exists()


def test_no_arguments_show_the_usage_as_an_error(tmp_path):
    done = subprocess.run([sys.executable, str(ROOT / "course.py")], capture_output=True, text=True)
    assert done.returncode == 2 and "course.py learn" in done.stdout


# --- requirements


def test_every_requirement_is_pinned_once():
    assert all(re.fullmatch(r"==[\w.]+", str(pin.specifier)) for pin in PINS)
    names = [canonicalize_name(pin.name) for pin in PINS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("group", ["learn", "simt", "gpu", "class", "jupyter"])
def test_group_agrees_with_its_pins(group):
    pins = {canonicalize_name(pin.name): pin for pin in PINS}
    for named in GROUPS[group]:
        pin = pins[canonicalize_name(named.name)]
        assert next(iter(pin.specifier)).version in named.specifier, named
        assert str(pin.marker) == str(named.marker), named


@pytest.mark.parametrize("group", ["gpu12", "test"])
def test_group_outside_the_student_install_is_pinned(group):
    assert all(re.fullmatch(r"==[\w.]+", str(named.specifier)) for named in GROUPS[group])


def test_simulator_alone_brings_numpy_llvmlite_and_the_compiler_only():
    names = {named.name for named in GROUPS["simt"]}
    assert {name for name in names if not name.startswith("nvidia-cuda-")} == {"numpy", "llvmlite"}


def test_every_group_has_its_sizes():
    sizes = PYPROJECT["tool"]["warpwise"]
    assert set(sizes["download_mb"]) == set(sizes["disk_mb"]) == set(GROUPS)
