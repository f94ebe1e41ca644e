"""Every attack through the whole path on the simulator: none may pass that should not, and the controls must."""

import json
import subprocess
import sys

import pytest

from grader.hidden import NO_SEEDS
from grader.model import Verdict
from grader.pipeline import grade
from grader.worker.host import fresh_device
from tests.attacks.table import ATTACKS, BOMBS, HERE
from tests.processes import PATIENCE_SECONDS

QUICK = sorted(ATTACKS.keys() - BOMBS)


def report_of(attack):
    """As a class is graded: a jailed compile process and a jailed worker of this submission's own."""
    with fresh_device() as device:
        return grade(attack.submission(), attack.exercise, device, fresh=True, hidden=NO_SEEDS)


@pytest.mark.parametrize("name", QUICK)
def test_attack_gets_its_verdict(name):
    report = report_of(ATTACKS[name])
    assert str(report.verdict) in ATTACKS[name].verdicts, (report.message, report.diagnostics)
    assert report.verdict is Verdict.PASS or report.score == 0


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(BOMBS))
def test_bomb_ends_at_a_limit(name):
    report = report_of(ATTACKS[name])
    assert str(report.verdict) in ATTACKS[name].verdicts, (report.message, report.diagnostics)


def tried(attack, folder):
    """The report that `grader try` prints for the attack."""
    launch = []
    if (literal := attack.literal()) is not None:
        (folder / "launch.json").write_text(json.dumps(literal))
        launch = ["--launch", str(folder / "launch.json")]
    command = [sys.executable, "-m", "grader", "try", attack.exercise.id, str(attack.file), *launch, "--json"]
    done = subprocess.run(command, cwd=HERE.parents[1], capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    return done.returncode, json.loads(done.stdout)


@pytest.mark.full
@pytest.mark.parametrize("name", sorted(ATTACKS))
def test_the_command_gives_an_attack_the_same_verdict(name, tmp_path):
    status, report = tried(ATTACKS[name], tmp_path)
    assert report["verdict"] in ATTACKS[name].verdicts, report
    assert (status == 0) is (report["verdict"] == "pass") is report["passed"]


@pytest.mark.parametrize("name", ["c01_honest", "f01_inc_passwd_quote", "l01_launch", "p01_asm_breakout", "d04_trap"])
def test_the_command_tells_each_kind_of_verdict(name, tmp_path):
    status, report = tried(ATTACKS[name], tmp_path)
    assert report["verdict"] in ATTACKS[name].verdicts and status == (0 if report["verdict"] == "pass" else 1)


def test_every_kernel_of_the_tables_is_there():
    assert all(attack.file.exists() for attack in ATTACKS.values())
    used = {attack.file for attack in ATTACKS.values()}
    assert {*HERE.glob("*.cu"), *(HERE / "own").glob("*.cu")} == used
