"""docs/security.md says what the code does: its commands run, its numbers are the code's, its names exist."""

import csv
import importlib
import re
import shlex
import subprocess
import sys

import pytest

from grader.compile import compile_text
from grader.devices.base import CASE_BUDGET
from grader.doctor_sandbox import ALWAYS
from grader.exercises import all_exercises
from grader.model import KernelAnswer
from grader.notebook import MAX_NOTEBOOK_BYTES
from grader.notebook.cells import MAX_WORDS
from grader.notebook.source import MAX_SOURCE_BYTES, canonical
from grader.preparing import MAX_THREADS
from grader.ptx_policy import MAX_LOCAL_BYTES, MAX_PTX_CHARACTERS
from grader.worker.health import MOST_FAILURES
from grader.worker.host import SPARE_SECONDS, limits_for
from grader.worker.starting import GPU_ENVIRONMENT
from simt.cpus import available_cpus
from simt.nvrtc_log import MOST_LOG_CHARACTERS
from simt.sandbox import Limits, layers
from tests.attacks.table import HERE
from tests.processes import PATIENCE_SECONDS

ROOT = HERE.parents[1]
PAGE = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
FLAT = re.sub(r"\s+", " ", PAGE)
GIB = 1 << 30

# Commands that end by themselves in a moment, with their exit status; the others are the tests themselves.
RUN = {
    "python3 course.py doctor --json": 0,
    "python3 course.py try selftest.map tests/attacks/f01_inc_passwd_quote.cu": 1,
    "python3 course.py try selftest.map tests/attacks/own/has_pasted.cu": 1,
    "python3 course.py try selftest.map tests/attacks/c01_honest.cu": 0,
}
ELSEWHERE = {"python3 course.py test tests/attacks --full", ".venv/bin/python -m tests.attacks.grading_host 500"}


def test_every_command_of_the_page_is_tried():
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    assert {line for block in blocks for line in block.splitlines()} == RUN.keys() | ELSEWHERE


@pytest.mark.parametrize("command", RUN)
def test_a_command_of_the_page_does_what_it_says(command):
    words = [sys.executable, "-m", "grader", *shlex.split(command)[2:]]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == RUN[command], done.stdout + done.stderr


COMPILER, SIMULATOR, GPU = Limits(), limits_for("simulator"), limits_for("cuda")


@pytest.mark.parametrize(
    "text",
    [
        f"| memory | {COMPILER.address_space_bytes // GIB} GiB of address space | "
        f"{SIMULATOR.address_space_bytes // GIB} GiB of address space | {GPU.data_bytes // GIB} GiB of heap |",
        f"| processor time | {COMPILER.cpu_seconds} s a text | "
        f"{SIMULATOR.cpu_seconds // available_cpus()} s a processor and job |",
        f"| wall time | {COMPILER.wall_seconds:g} s | the case's budget and {SPARE_SECONDS:g} s |",
        f"| open files | {COMPILER.open_files} | {SIMULATOR.open_files} |",
        f"files over {MAX_NOTEBOOK_BYTES >> 20} MB, texts over {MAX_SOURCE_BYTES >> 10} KiB, more than {MAX_WORDS:,} words",
        f"more than 2^{MAX_THREADS.bit_length() - 1} threads",
        f"at most {MOST_LOG_CHARACTERS >> 10} KiB, without control characters",
        f"more than {MAX_PTX_CHARACTERS >> 20} MiB of PTX or {MAX_LOCAL_BYTES >> 10} KiB of local memory",
        f"{CASE_BUDGET.warp_instructions // 10**6} million warp instructions, {CASE_BUDGET.seconds:g} s and "
        f"{CASE_BUDGET.memory_bytes >> 30} GiB a case",
        f"{ {3: 'Three'}[MOST_FAILURES] } failures in a row mark the GPU down",
    ],
)
def test_a_number_of_the_page_is_the_codes(text):
    assert text in FLAT


def test_the_environment_of_a_gpu_worker_is_the_one_of_the_page():
    listed = FLAT.split("Of the environment a worker gets only ")[1].split(". ")[0]
    assert tuple(re.findall(r"`(\w+)`", listed)) == GPU_ENVIRONMENT


def test_no_baseline_leaves_anything_in_local_memory():
    for row in all_exercises():
        if row.baseline and isinstance(row.answer, KernelAnswer):
            built = compile_text(canonical(row.baseline[0]), row.answer.kernel, "sm_90")
            assert built.resources.local_bytes == built.resources.spill_bytes == 0, row.id


def test_no_limit_is_missing_for_files():
    assert COMPILER.file_bytes == SIMULATOR.file_bytes == GPU.file_bytes == 0


def test_every_fence_that_doctor_names_is_explained():
    table = PAGE.split("## The fences")[1].split("## A GPU")[0].lower()
    assert not [layer.name for layer in (*ALWAYS, *layers()) if layer.name.lower() not in table]


def test_modules_and_files_that_the_page_names_exist():
    for name in re.findall(r"`((?:simt|grader)(?:\.\w+)+)`", PAGE):
        assert importlib.import_module(name)
    for path in re.findall(r"`(tests/[\w/.]+)`", PAGE):
        assert (ROOT / path).exists(), path


def test_every_subject_of_an_own_attack_is_named():
    with (HERE / "own_attacks.tsv").open(newline="", encoding="utf-8") as file:
        subjects = {row["row"] for row in csv.DictReader(file, delimiter="\t")}
    assert not [subject for subject in subjects if subject not in FLAT]
