"""The tests marked gpu, as they came out on an H200, and the reports on the lessons' solutions there."""

import json
import subprocess
import sys
from pathlib import Path

from tests.golden.gpu_tests import gpu_test_files

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = Path(__file__).with_name("h200") / "contract.json"
LESSONS = ROOT / "assets" / "recorded" / "h200"


def outcomes():
    return json.loads(CONTRACT.read_text(encoding="utf-8"))["tests"]


def present():
    """Ids of all tests marked gpu."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "gpu", "--device", "cuda"]
    done = subprocess.run([*command, *map(str, gpu_test_files())], cwd=ROOT, capture_output=True, text=True)
    return {line.strip() for line in done.stdout.splitlines() if "::" in line}


def test_every_gpu_test_passed_on_the_h200():
    assert outcomes() and set(outcomes().values()) == {"passed"}


def test_the_recording_is_of_the_present_gpu_tests():
    assert set(outcomes()) == present(), "run tests/golden/record_h200.py on a GPU again"


def test_every_solution_passed_on_the_h200():
    lines = (LESSONS / "solutions.jsonl").read_text(encoding="utf-8").splitlines()
    reports = [json.loads(line) for line in lines]
    assert reports and all(report["passed"] for report in reports)
    assert {report["gpu"] for report in reports} == {"NVIDIA H200"}
