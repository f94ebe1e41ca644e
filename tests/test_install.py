"""`pip install '.[simt]'`: the simulator alone, for people with kernels of their own."""

import fnmatch
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))

# Of the course, its gradebook and its stores: nothing of it belongs to the simulator.
OF_THE_COURSE = {
    "marimo",
    "nbgrader",
    "sqlalchemy",
    "alembic",
    "altair",
    "rich",
    "jupyterlab",
    "notebook",
    "dask",
    "cupy",
}


def own_files(package):
    """Files of a package that are no Python text, from its folder."""
    found = (path for path in (ROOT / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return sorted(path.relative_to(ROOT / package).as_posix() for path in found if path.suffix != ".py")


@pytest.mark.parametrize("package", ["simt", "grader"])
def test_every_file_that_is_no_python_is_installed(package):
    patterns = PYPROJECT["tool"]["setuptools"]["package-data"].get(package, [])
    assert not [name for name in own_files(package) if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns)]


def test_every_folder_of_python_is_a_package():
    folders = {path.parent for package in ("simt", "grader") for path in (ROOT / package).rglob("*.py")}
    assert not [folder for folder in folders if not (folder / "__init__.py").exists()]


def test_the_command_loads_nothing_of_the_course():
    """Every module that `simt run` loads is the standard library's, its own, NumPy's or llvmlite's."""
    code = (
        "import sys, simt.cli, simt.cli_report, simt.cli_run, simt.sarif, simt.runner.launch, simt.engine.messages;"
        "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {code}"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    loaded = set(re.findall(r"'([\w]+)'", done.stdout)) - set(sys.stdlib_module_names)
    of_python = {"__main__", "_distutils_hack", "_virtualenv", "sitecustomize", "cython_runtime"}
    assert loaded - of_python == {"numpy", "llvmlite", "simt"}


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_a_fresh_environment_runs_a_kernel(tmp_path):
    """Installs from the index as a user does, and runs a kernel that includes a header of the prelude."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "env")], check=True)
    python = tmp_path / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run(
        [str(python), "-m", "pip", "install", "-q", f"{ROOT}[simt]"], check=True, cwd=tmp_path, env=environment
    )
    listed = subprocess.run(
        [str(python), "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True
    )
    names = {row["name"].lower() for row in json.loads(listed.stdout)}
    assert not names & OF_THE_COURSE and {"numpy", "llvmlite", "nvidia-cuda-nvrtc"} <= names
    source = '#include <cassert>\n#include <cstdint>\nextern "C" __global__ void k(int32_t* y) { assert(y); y[threadIdx.x] = 7; }'
    (tmp_path / "k.cu").write_text(source)
    (tmp_path / "l.toml").write_text('grid = 1\nblock = 32\n[[args]]\nname = "y"\ndtype = "int32"\nshape = [32]\n')
    words = [str(python), "-m", "simt", "run", "k.cu", "--launch", "l.toml", "--json"]
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["status"] == "ok"
