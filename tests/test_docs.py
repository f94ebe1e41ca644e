"""What the pages promise: every command that can run here is run, every link resolves, no page is out of step."""

import contextlib
import re
import shlex
import subprocess
import sys
import tomllib
import urllib.request
from pathlib import Path

import pytest

from simt.gpus import GPUS
from tests.ports import free_port
from tests.processes import PATIENCE_SECONDS, wait_until

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("**/*.md")])

# README commands that end by themselves, with the exit status that a fresh checkout gives.
RUN = {
    "python3 course.py check lessons/01_thread_mapping.py": 1,
    "python3 course.py progress": 0,
    "python3 course.py doctor": 0,
}

# The others, and where they are tried instead.
ELSEWHERE = {
    "python3 course.py learn": "test_learn_serves_the_lesson_that_was_asked_for",
    "python3 course.py learn tiling": "test_learn_serves_the_lesson_that_was_asked_for",
    "python3 course.py test": "this run",
    "python3 course.py watch lessons/01_thread_mapping.py": "tests of grader watch",
    "python3 course.py update": "tests/test_update.py, on a copy",
    "python3 course.py update RELEASE.zip": "tests/test_update.py, on a copy",
    "pip install '.[simt]'": "needs the package index; tests/test_bootstrap.py holds what the group brings",
    "python -m simt run KERNEL.cu --launch LAUNCH.toml": "tests/simt",
    "python -m simt estimate KERNEL.cu --launch LAUNCH.toml --gpu h200": "tests/simt/test_simt_page.py",
    "python3 course.py grade HAND-INS --db class.db": "tests/nbgrader_course/test_instructor_page.py",
    "python3 course.py export --db class.db --to csv MARKS.csv": "tests/nbgrader_course/test_instructor_page.py",
}


def commands(page):
    """The lines of a page's `sh` blocks."""
    blocks = re.findall(r"^```sh\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S)
    return [line for block in blocks for line in block.splitlines() if line.strip()]


def start(command, **options):
    words = shlex.split(command)
    return [sys.executable if words[0] == "python3" else words[0], *words[1:]], {"cwd": ROOT, **options}


def test_every_command_in_the_readme_is_tried_somewhere():
    assert set(commands(ROOT / "README.md")) == RUN.keys() | ELSEWHERE.keys()


@pytest.mark.parametrize("command", RUN)
def test_command_in_the_readme_does_what_it_says(command):
    words, options = start(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    done = subprocess.run(words, timeout=PATIENCE_SECONDS, **options)
    assert done.returncode == RUN[command], done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(("command", "lesson"), [("learn", "00_start_here"), ("learn tiling", "04_tiling")])
def test_learn_serves_the_lesson_that_was_asked_for(command, lesson):
    words, options = start(f"python3 course.py {command} --no-browser --port {free_port()}", stdin=subprocess.DEVNULL)
    server = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **options)
    try:
        address = next(found for line in server.stderr if (found := re.search(r"http://127\S+", line))).group()
        assert f'"filename": "{lesson}.py"' in fetch(address, server)
    finally:
        server.terminate()
        server.communicate(timeout=PATIENCE_SECONDS)


def fetch(address, server):
    """The page at an address, as soon as its server is up."""

    def page():
        assert server.poll() is None, "the server ended"
        with contextlib.suppress(OSError), urllib.request.urlopen(address, timeout=PATIENCE_SECONDS) as answer:
            return answer.read().decode()

    return wait_until(page)


def test_the_readme_gives_the_sizes_that_course_py_says():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["warpwise"]
    groups = [group for group in settings["disk_mb"] if group != "gpu12"]
    download = sum(settings["download_mb"][group]["linux-x86_64"] for group in ("learn", "simt"))
    disk = sum(settings["disk_mb"][group] for group in ("learn", "simt"))
    everything = sum(settings["disk_mb"][group] for group in groups) / 1000
    page = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert f"about {round(download, -1)} MB to download and {round(disk, -2)} MB on disk" in page
    assert f"needs {everything:.1f} GB in all" in page


def test_the_readme_counts_the_gpus_that_estimates_know():
    number = ("seven", "eight", "nine", "ten", "eleven", "twelve")[len(GPUS) - 7]
    assert f"for {number} GPUs" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_local_links_resolve(page):
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert not [target for target in targets if not (page.parent / target).exists()]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_scripts_named_in_commands_exist(page):
    words = [word for command in commands(page) for word in command.split()]
    paths = [word for word in words if re.fullmatch(r"(tests|lessons|docs)/[\w/.]+|\w+\.py", word)]
    # A page's commands may run in a folder that it made, such as a course for nbgrader.
    assert not [path for path in paths if not (ROOT / path).exists() and not (ROOT / "nbgrader" / path).exists()]


def test_architecture_page_gives_a_reason_for_every_dependency():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {re.match(r"[\w-]+", row).group() for rows in extras.values() for row in rows}
    table = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").split("## Dependencies")[1]
    stems = {"cupy-cuda13x": "cupy", "cupy-cuda12x": "cupy"}
    stems |= {name: "-" + name.split("-")[2] for name in named if name.startswith("nvidia-cuda-")}
    assert not [name for name in named if stems.get(name, name) not in table]


def test_architecture_page_names_every_layer():
    from tests.test_layers import LAYERS

    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    names = {entry.split(".")[1] for layer in LAYERS for entry in layer} - {"__init__", "__main__"}
    table = page.split("## Layers")[1].split("## Seams")[0]
    assert not [name for name in names if not re.search(rf"\b{name}\b", table)]
