"""docs/instructor.md: its commands, run in its order, by an instructor and a student."""

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from course import CLASS_COMMANDS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "instructor.md").read_text(encoding="utf-8")
BLOCKS = [match.groups() for match in re.finditer(r"^```(sh|sh student)\n(.*?)^```$", PAGE, re.M | re.S)]
CLASS = re.search(r"^```toml class\.toml\n(.*?)^```$", PAGE, re.M | re.S)
CONFIG = re.search(r"^```python nbgrader_config.py\n(.*?)^```$", PAGE, re.M | re.S)
CLUSTER = re.search(r"^```sh cluster\n(.*?)^```$", PAGE, re.M | re.S)
SLURM = re.search(r"^```toml slurm\.toml\n(.*?)^```$", PAGE, re.M | re.S)


# nbgrader starts a dozen times: half a minute on a quiet machine.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def after(tmp_path_factory):
    """The folder that the page's commands leave, with what the student's part needs put in between."""
    top = tmp_path_factory.mktemp("instructor")
    exchange, student = top / "exchange", top / "ann"
    exchange.mkdir(mode=0o777)
    exchange.chmod(0o777)
    (student / "lessons").mkdir(parents=True)
    (student / "nbgrader_config.py").write_text(CONFIG.group(1).replace("/srv/nbgrader/exchange", str(exchange)))
    shutil.copy(ROOT / "solutions" / "00_start_here.py", student / "lessons")
    (top / "hand-ins" / "ann").mkdir(parents=True)
    shutil.copy(ROOT / "solutions" / "00_start_here.py", top / "hand-ins" / "ann")
    (top / "class.toml").write_text(CLASS.group(1), encoding="utf-8")
    # `python` is the course's, and its libraries are found whatever the folder.
    environment = os.environ | {
        "COURSE": str(ROOT), "EXCHANGE": str(exchange), "PYTHONPATH": str(ROOT), "JUPYTER_CONFIG_DIR": str(top / "jupyter"),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "WARPWISE_SEEDS": "",
    }  # fmt: skip
    for kind, block in BLOCKS:
        folder = student if kind == "sh student" else top
        done = subprocess.run(
            ["bash", "-e", "-c", block], cwd=folder, env=environment, capture_output=True, text=True, timeout=600
        )
        assert done.returncode == 0, f"{block}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        assert "SAWarning" not in done.stderr  # nbgrader's, nine lines for each student
    return top


def test_setting_up_installs_what_a_class_needs():
    command = re.search(r"^python3 \"\$COURSE/course.py\" (\w+) --help$", PAGE, re.M)
    assert command and command.group(1) in CLASS_COMMANDS


def test_gradebook_has_the_students_points(after):
    with open(after / "mycourse" / "grades.csv", newline="") as table:
        row = next(csv.DictReader(table))
    assert float(row["score"]) == 2


def test_feedback_is_one_page_that_needs_no_network(after):
    page = next((after / "mycourse" / "feedback").rglob("*.html")).read_text()
    assert 'data-status="pass"' in page and '<html class="light">' in page and "width=device-width" in page
    assert '<div class="light"><style>' in page  # formgrader's page, which shows the same, has no such class
    assert not re.search(r"""<(?!a\b)[^>]*\s(?:src|href)=["'](?:https?:)?//""", page)


def test_store_has_weights_and_what_a_person_gave(after):
    marks = (after / "marks.csv").read_text(encoding="utf-8-sig")
    assert "Åse, Ann" in marks
    assert json.loads((after / "results.json").read_text())["score"] >= 2


def test_bundle_and_key_are_there(after):
    assert (after / "students.zip").stat().st_size > 100_000 and (after / "students.key").exists()


def test_a_renamed_notebook_is_refused_while_its_owner_can_mend_it(after):
    student = after / "ann"
    (student / "00_start_here" / "00_start_here.ipynb").rename(student / "00_start_here" / "mine.ipynb")
    done = subprocess.run(
        [Path(sys.executable).with_name("nbgrader"), "submit", "00_start_here"], cwd=student, capture_output=True, text=True,
        env=os.environ | {"JUPYTER_CONFIG_DIR": str(after / "jupyter")}, timeout=120,
    )  # fmt: skip
    assert done.returncode != 0 and "missing notebooks" in done.stderr


def test_the_commands_of_a_cluster_are_understood(tmp_path):
    """Run they are in tests/grader/batch/test_cluster.py, on workers of another making."""
    from distributed.cli import dask_scheduler, dask_worker

    from grader.cli import parser
    from grader.cluster import SETTINGS, slurm_settings

    dask = {"scheduler": dask_scheduler.main, "worker": dask_worker.main}
    scheduler, *workers, grade = [shlex.split(line) for line in CLUSTER.group(1).splitlines()]
    given = [dask[words[1]].make_context(words[1], words[2:]).params for words in (scheduler, *workers)]
    assert [one.get("nthreads") for one in given] == [None, 1, 1]
    assert [one.get("resources") for one in given[1:]] == ["CPU=1", "GPU=1"]
    assert parser(["grade"]).parse_args(grade[3:]).cluster == "tcp://HOST:8786"
    (tmp_path / "slurm.toml").write_text(SLURM.group(1))
    assert slurm_settings(tmp_path / "slurm.toml").keys() == SETTINGS.keys()
