#!/usr/bin/env python3
"""Sets the course up in `.venv` and starts it: `python3 course.py learn`.

Standard library only, since nothing is installed yet, and in the syntax of Python 3.6, so that an older Python still
reads far enough to name the one to install. What the course does once it is set up is the business of `grader`.
"""

import argparse
import contextlib
import ctypes
import errno
import hashlib
import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
LESSONS = ROOT / "lessons"
VENV = ROOT / ".venv"
STATE = ROOT / ".course"
STAMP = VENV / "warpwise.json"
LOG = STATE / "install.log"
OLDEST_PYTHON = (3, 11)
CLASS_COMMANDS = ("grade", "export", "mark", "replay", "similar", "statistics", "collect", "serve")

USAGE = """usage: python3 course.py learn [LESSON] [--no-browser] [--port N]   open the course
       python3 course.py test [pytest arguments]                   prove the project
       python3 course.py update [RELEASE.zip or folder]            move to a newer release, keep every answer
       python3 course.py COMMAND ...                               anything else: python -m grader COMMAND ...
"""

# What is lost where a group has no wheel; the other groups have to install.
WITHOUT = {
    "simt": "kernels can't be simulated here. Lessons, charts and predictions work; send kernels to a lab server.",
    "gpu": "kernels run on the simulator, although there may be a GPU.",
}
WITHOUT["gpu12"] = WITHOUT["gpu"]


class SetupError(Exception):
    """What could not be set up or found, and what to do about it; shown as it is."""

    status = 3


class UsageError(SetupError):
    """A command line that names nothing we have."""

    status = 2


def say(text):
    print(text, file=sys.stderr, flush=True)


def megabytes(n):
    return f"{n / 1000:.1f} GB" if n >= 1000 else f"{n} MB"


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


def platform_name():
    """This machine's column in the tables of download sizes."""
    system = {"Linux": "linux", "Windows": "windows", "Darwin": "macos"}.get(platform.system(), "unknown")
    return f"{system}-{platform.machine().lower()}"


# --- the virtual environment


def venv_bin():
    return VENV / ("Scripts" if os.name == "nt" else "bin")


def venv_python():
    return venv_bin() / ("python.exe" if os.name == "nt" else "python")


@contextlib.contextmanager
def one_at_a_time():
    """Lets one course.py set up while the others wait for it."""
    STATE.mkdir(exist_ok=True)
    with open(str(STATE / "setup.lock"), "w") as lock:
        try:
            import fcntl
        except ImportError:
            yield  # On Windows pip itself refuses to replace files in use.
            return
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            say("Another course.py is setting up; waiting for it.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def make_venv():
    """Makes .venv, or makes it again when what stands there can't run pip."""
    if venv_python().exists():
        pip = [str(venv_python()), "-m", "pip", "--version"]
        if subprocess.call(pip, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 0:
            return
    say(f"Making a Python environment in {VENV}")
    done = subprocess.run(
        [sys.executable, "-m", "venv", "--clear", str(VENV)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        universal_newlines=True,
    )
    if done.returncode:
        hint = "apt install python3-venv" if "ensurepip" in done.stdout else "See the message above."
        raise SetupError(f"{done.stdout.strip()}\nPython could not make a virtual environment. {hint}")


def project():
    """pyproject.toml, read."""
    import tomllib

    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def digest_of(group, settings):
    """What a group installs here: changes when its names, the pins or this Python change."""
    names = settings["project"]["optional-dependencies"][group]
    text = json.dumps([names, (ROOT / "requirements.txt").read_text(encoding="utf-8"), sys.version_info[:2]])
    return hashlib.sha256(text.encode()).hexdigest()


def read_stamp():
    """Per group what was installed: {"digest": ..., "missing": reason or None}."""
    try:
        return json.loads(STAMP.read_text()) if venv_python().exists() else {}
    except (OSError, ValueError):
        return {}


def prepare(groups):
    """Installs those of these groups that are not there yet. A broken-off install goes on where it stopped."""
    settings = project()
    wanted = {group: digest_of(group, settings) for group in groups}

    def lacking():
        stamp = read_stamp()
        return [group for group in groups if stamp.get(group, {}).get("digest") != wanted[group]]

    if not lacking():
        link_packages()
        return
    with one_at_a_time():
        todo = lacking()
        if not todo:
            return
        announce(todo, settings["tool"]["warpwise"])
        make_venv()
        link_packages()
        for group in todo:
            say(f"Installing {group} ({todo.index(group) + 1} of {len(todo)})")
            missing = install(group, settings["project"]["optional-dependencies"][group])
            stamp = read_stamp()
            stamp[group] = {"digest": wanted[group], "missing": missing}
            STAMP.write_text(json.dumps(stamp, indent=1))
        # Bytecode is made here, so that no command has to; a folder that can't be written does without.
        subprocess.call([str(venv_python()), "-m", "compileall", "-qq", "simt", "grader"], cwd=str(ROOT), stdout=sys.stderr)
        if sys.platform == "darwin":
            say("There is no CUDA compiler for macOS: " + WITHOUT["simt"])
        say("Set up.")


def link_packages():
    """Makes `simt` and `grader` importable from anywhere in the environment, also after the folder was moved."""
    pattern = "Lib/site-packages" if os.name == "nt" else "lib/python*/site-packages"
    for site in VENV.glob(pattern):
        link = site / "warpwise.pth"
        if not link.exists() or link.read_text(encoding="utf-8").strip() != str(ROOT):
            link.write_text(str(ROOT) + "\n", encoding="utf-8")


def announce(groups, sizes):
    """Says what will be downloaded, and refuses where the disk can't hold it."""
    download = sum(sizes["download_mb"][group].get(platform_name(), 0) for group in groups)
    disk = sum(sizes["disk_mb"][group] for group in groups)
    free = shutil.disk_usage(str(ROOT)).free // 10**6
    amount = "about " + megabytes(download) if download else "an unknown amount"
    say(f"Setting up {', '.join(groups)}: {amount} to download, about {megabytes(disk)} on disk, once.")
    if free < disk:
        raise SetupError(f"The disk of {ROOT} has only {megabytes(free)} free. Free some and run this again.")


def install(group, names):
    """Runs pip for one group; returns why it is missing where the course can go on without it, else None."""
    start = LOG.stat().st_size if LOG.exists() else 0
    pip = [str(venv_python()), "-m", "pip"]
    command = pip + ["install", "--disable-pip-version-check", "--no-input", "--retries", "2", "--log", str(LOG)]
    command += ["--only-binary=:all:", "--constraint", str(ROOT / "requirements.txt")]
    if group.startswith("gpu"):
        other = "cupy-cuda13x" if group == "gpu12" else "cupy-cuda12x"
        subprocess.call(pip + ["uninstall", "--yes", "--quiet", other], stderr=subprocess.DEVNULL)
    if sys.stderr.isatty():
        status = subprocess.call(command + names, stdout=sys.stderr)
    else:
        status = call_quietly(command + names)
    if status == 0:
        return None
    with open(str(LOG), encoding="utf-8", errors="replace") as log:
        log.seek(start)
        reason, no_wheel = diagnose(log.read())
    if no_wheel and group in WITHOUT:
        say(f"{reason}: {WITHOUT[group]}")
        return reason
    raise SetupError(f"{reason}\nRun the same command again to go on from here. pip's own words: {LOG}")


def call_quietly(command):
    """Runs pip and passes on only the lines that tell progress: what a log file wants in place of moving bars."""
    pip = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    for line in pip.stdout:
        if re.match(r"\s*(Downloading \S+ \(|Installing collected)", line):
            say("  " + line.strip()[:150])
    return pip.wait()


def diagnose(log):
    """What stopped pip, in words, and whether it was a package that has no wheel here."""
    if re.search(r"No space left on device|Errno 28|WinError 112|Disk quota exceeded", log):
        return "The disk is full.", False
    if re.search(r"NewConnectionError|NameResolutionError|ConnectTimeout|Network is unreachable|ProxyError", log):
        return "The package index can't be reached: no network, or a proxy that pip does not know.", False
    if re.search(r"Read timed out|ConnectionResetError|IncompleteRead|ReadTimeoutError|ProtocolError", log):
        return "The network broke off during the download.", False
    found = re.search(r"(?:No matching distribution found for|ERROR: Cannot install) ([\w.\-]+)", log)
    if found:
        here = f"{platform_name()}, Python {platform.python_version()}"
        return f"{found.group(1)} has no package for this platform ({here})", True
    return "pip failed.", False


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
    parser.add_argument("--port", type=int, help="port on 127.0.0.1; default: a free one")
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
