#!/usr/bin/env python3
"""Sets the course up in `.venv` and starts it: `python3 course.py learn`.

Standard library only, since nothing is installed yet, and in the syntax of Python 3.6, so that an older Python still
reads far enough to name the one to install. What the course does once it is set up is the business of `grader`.
"""

import argparse
import ctypes
import errno
import os
import platform
import shutil
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))  # which `python -P` leaves out
from course_install import VENV, SetupError, prepare, say, venv_bin, venv_python  # noqa: E402

LESSONS = ROOT / "lessons"
OLDEST_PYTHON = (3, 11)
CLASS_COMMANDS = ("grade", "export", "mark", "replay", "similar", "statistics")

USAGE = """usage: python3 course.py learn [LESSON] [--no-browser] [--port N]   open the course
       python3 course.py test [pytest arguments]                   prove the project
       python3 course.py update [RELEASE.zip or folder]            move to a newer release, keep every answer
       python3 course.py COMMAND ...                               anything else: python -m grader COMMAND ...
"""


class UsageError(SetupError):
    """A command line that names nothing we have."""

    status = 2


def require_python():
    """Refuses an older Python and names the one to use or to install."""
    if sys.version_info[:2] >= OLDEST_PYTHON:
        return
    here = f"The course needs Python 3.{OLDEST_PYTHON[1]} or newer; this is Python {platform.python_version()}.\n"
    for name in ("python3.14", "python3.13", "python3.12", "python3.11"):
        if shutil.which(name):
            raise SetupError(f"{here}This machine has {name}; start the course with it: {name} course.py learn")
    raise SetupError(
        f"{here}Install Python 3.13 and start the course with it: python3.13 course.py learn\n"
        "  Debian, Ubuntu   apt install python3 python3-venv\n"
        "  macOS            brew install python@3.13\n"
        "  Windows          winget install Python.Python.3.13"
    )


# --- what this machine is


def cuda_driver():
    """The CUDA version that the driver of a usable GPU speaks, as (13, 0); None without such a GPU.

    Asks the driver's own library: what this process can't load, CuPy can't load either.
    """
    try:
        driver = ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return None
    version, devices = ctypes.c_int(), ctypes.c_int()
    if driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(devices)) or not devices.value:
        return None
    driver.cuDriverGetVersion(ctypes.byref(version))
    return version.value // 1000, version.value % 1000 // 10


def gpu_group(driver):
    """The group of requirements that runs kernels under this driver, or None."""
    if driver is None or driver < (12, 0):
        return None
    return "gpu12" if driver[0] == 12 else "gpu"


def become(arguments, cwd=None):
    """Goes on as the environment's Python with these arguments; its exit status is ours."""
    path = str(venv_bin()) + os.pathsep + os.environ.get("PATH", "")
    command = [str(venv_python())] + arguments
    if cwd is not None:
        os.chdir(str(cwd))
    if os.name == "nt":
        sys.exit(subprocess.call(command, env=dict(os.environ, VIRTUAL_ENV=str(VENV), PATH=path)))
    os.execve(command[0], command, dict(os.environ, VIRTUAL_ENV=str(VENV), PATH=path))


# --- learn, test, anything else


def lesson_file(name):
    """The file of a lesson called `04`, `tiling`, `04_tiling` or by its path."""
    files = sorted(path for path in LESSONS.glob("[0-9]*.py") if "." not in path.stem)
    wanted = Path(name).stem
    for path in files:
        if wanted in (path.stem, path.stem.split("_")[0], path.stem.partition("_")[2]):
            return path
    names = ", ".join(path.stem for path in files) or "none"
    raise UsageError(f"No lesson is called {name}. There are: {names}")


def port_number(text):
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise argparse.ArgumentTypeError(f"{text} is no port: a number from 1 to 65535")
    return int(text)


def free_port(first=2718):
    """The first port from marimo's own on that nothing listens on, else any free one."""
    for port in list(range(first, first + 50)) + [0]:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return probe.getsockname()[1]
    raise SetupError("No free port on 127.0.0.1.")


OPEN_WHEN_UP = """
import socket, sys, time, webbrowser
for _ in range(300):
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", int(sys.argv[1]))) == 0:
            webbrowser.open(sys.argv[2])
            break
    time.sleep(0.2)
"""


def prepare_for_lessons(*more):
    """Installs what lessons need on this machine, and these groups besides."""
    driver = cuda_driver()
    group = gpu_group(driver)
    if driver and not group:
        say("The GPU's driver is older than CUDA 12.0, too old to use; kernels run on the simulator.")
    prepare(("learn", "simt") + ((group,) if group else ()) + more)


def learn(arguments):
    parser = argparse.ArgumentParser(prog="course.py learn")
    parser.add_argument("lesson", nargs="?", default="00_start_here", help="04, tiling or 04_tiling")
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    parser.add_argument("--port", type=port_number, help="port on 127.0.0.1; default: a free one")
    options = parser.parse_args(arguments)
    lesson = lesson_file(options.lesson)
    prepare_for_lessons()
    if str(ROOT).startswith(("/tmp/", "/var/tmp/")):
        say("The course lies in a temporary folder, where marimo saves nothing by itself: move it, or press Ctrl+S.")
    port = options.port or free_port()
    address = f"http://127.0.0.1:{port}/?file={lesson.name}"
    say(f"{lesson.stem} opens at {address}   (Ctrl+C ends the course)")
    if not options.no_browser:
        subprocess.Popen([str(venv_python()), "-c", OPEN_WHEN_UP, str(port), address])
    marimo = ["-m", "marimo", "edit", str(LESSONS), "--headless", "--no-token", "--skip-update-check"]
    become(marimo + ["--host", "127.0.0.1", "--port", str(port)], cwd=ROOT)


# The whole suite, a file at a time on each processor; what is asked for by name runs in order, and benchmarks alone.
IN_PARALLEL = ["-n", "auto", "--maxprocesses", "4", "--dist", "loadfile"]


def test(arguments):
    if not (ROOT / "tests").is_dir():
        raise SetupError("This copy of the course holds no tests; the course's public repository does.")
    prepare(("learn", "simt", gpu_group(cuda_driver()) or "gpu", "class", "jupyter", "test"))
    become(["-m", "pytest"] + (arguments or IN_PARALLEL), cwd=ROOT)


def hand_over(arguments):
    prepare_for_lessons(*(["class", "jupyter"] if arguments[0] in CLASS_COMMANDS else []))
    become(["-P", "-m", "grader"] + arguments)


def update(arguments):
    """Runs apart from this file, which it may replace."""
    sys.exit(subprocess.call([sys.executable, str(ROOT / "course_update.py")] + arguments))


COMMANDS = {"learn": learn, "test": test, "update": update}


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(USAGE, end="")
        return 0 if arguments else UsageError.status
    try:
        require_python()
        if arguments[0] in COMMANDS:
            return COMMANDS[arguments[0]](arguments[1:])
        return hand_over(arguments)
    except SetupError as error:
        say(str(error))
        return error.status
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        say("The disk is full. Free some and run the same command again to go on from here.")
        return SetupError.status
    except KeyboardInterrupt:
        say("\nStopped. Run the same command again to go on from here.")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
