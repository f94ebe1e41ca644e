"""Lint and types, so that the test command alone proves the project."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(*command):
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ruff_finds_nothing():
    run("ruff", "check", "--output-format", "concise")


def test_types_agree():
    run("mypy", "--no-error-summary")


@pytest.mark.parametrize("edition", ["lessons", "solutions"])
def test_notebooks_are_in_order_for_marimo(edition):
    notebooks = sorted(str(path) for path in (ROOT / edition).glob("[0-9]*.py") if "." not in path.stem)
    assert notebooks
    run("marimo", "check", "--strict", *notebooks)
