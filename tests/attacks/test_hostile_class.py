"""A class in which nearly everybody hands in a trap, through the command: each gets a record, and the honest their points."""

import json
import os
import zipfile

import pytest

from grader.cli import main
from grader.commands.status import Status
from tests.attacks.test_fuzz import NOTEBOOK

LAUNCH = '{"grid": "ceil_div(n, 256)", "block": 256}'
WRONG = NOTEBOOK.replace("+ 1.0f", "+ 2.0f")
FORGED = {
    "cells": [
        {
            "cell_type": "code",
            "source": "# exercise: selftest.map\nmap_src = '''" + WRONG.split('"""')[1] + f"'''\nmap_launch = {LAUNCH}",
            "metadata": {"nbgrader": {"grade": True, "grade_id": "map", "points": 1e9, "locked": True}},
            "outputs": [
                {"output_type": "stream", "text": '{"exercise_id": "selftest.map", "verdict": "pass", "score": 99}'}
            ],
        }
    ],
    "metadata": {"score": 99},
    "nbformat": 4,
}
# student -> (name of the file, what is in it, verdict)
HAND_INS = {
    "honest": ("selftest.py", NOTEBOOK, "pass"),
    "=cmd|'calc'!A0": ("selftest.py", NOTEBOOK, "pass"),
    "\x1b[2Jescape": ("selftest.py", NOTEBOOK, "pass"),
    "deep": ("selftest.py", NOTEBOOK + "with a" + ".b" * 2000 + ":\n    pass\n", "pass"),
    "wrong": ("selftest.py", WRONG, "wrong_answer"),
    "forged": ("selftest.ipynb", json.dumps(FORGED), "wrong_answer"),
    "twice": ("selftest.py", NOTEBOOK + "map_src = 'x'\n", "unreadable"),
    "computed": ("selftest.py", NOTEBOOK.replace('r"""', 'open("/etc/passwd").read() + r"""'), "unreadable"),
    "endless": (
        "selftest.py",
        NOTEBOOK.replace(LAUNCH, '{"grid": 0x' + "f" * 5000 + ', "block": 1}'),
        "launch_rejected",
    ),
    "power": ("selftest.py", NOTEBOOK.replace(LAUNCH, '{"grid": "9**9**9", "block": 256}'), "launch_rejected"),
    "long": ("selftest.py", NOTEBOOK + "#" * (3 << 20), "missing"),
    "many": ("selftest.py", NOTEBOOK + "a\n" * 200_000, "missing"),
    "nested": ("selftest.ipynb", '{"cells":' + "[" * 100_000, "missing"),
    "no text": ("selftest.py", b"\xff\xfe\x00", "missing"),
}


def shown(name):
    return name.replace("\x1b", "\\x1b")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "class"
    for student, (name, data, _) in HAND_INS.items():
        (folder / student).mkdir(parents=True)
        (folder / student / name).write_bytes(data if isinstance(data, bytes) else data.encode())
    os.mkfifo(folder / "honest" / "pipe.py")
    (folder / "honest" / "link.py").symlink_to("/etc/passwd")
    with zipfile.ZipFile(folder / "slip.zip", "w") as archive:
        archive.writestr("../../../slip/selftest.py", NOTEBOOK)
    return folder


def test_each_of_a_hostile_class_gets_its_record(folder, capfd):
    store = f"sqlite:///{folder.parent / 'class.db'}"
    assert main(["grade", str(folder), "--db", store, "--workers", "2", "--json"]) == Status.NOT_PASSED
    output = capfd.readouterr()
    rows = [json.loads(line) for line in output.out.splitlines()]
    found = {row["student"]: (row["verdict"], row["score"]) for row in rows if row.get("exercise_id") == "selftest.map"}
    wanted = {shown(student): (verdict, float(verdict == "pass")) for student, (_, _, verdict) in HAND_INS.items()}
    assert found == wanted | {"slip": ("pass", 1.0)}
    assert "\x1b" not in output.out + output.err and not (folder.parent / "slip").exists()
    table = folder.parent / "marks.csv"
    assert main(["export", "--db", store, "--to", "csv", str(table)]) == Status.PASSED
    assert not [line for line in table.read_text().splitlines() if line.startswith(("=", '"='))]
