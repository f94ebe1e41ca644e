"""Makes `.venv` and installs what course.py asks for, group by group of pyproject.toml's optional dependencies.

Standard library only, in the syntax of Python 3.6, like course.py, which alone uses it.
"""

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
STATE = ROOT / ".course"
STAMP = VENV / "warpwise.json"
LOG = STATE / "install.log"

# What is lost where a group has no wheel; the other groups have to install.
WITHOUT = {
    "simt": "kernels can't be simulated here. Lessons, charts and predictions work; run kernels on Linux or Windows.",
    "gpu": "kernels run on the simulator, although there may be a GPU.",
}
WITHOUT["gpu12"] = WITHOUT["gpu"]


class SetupError(Exception):
    """What could not be set up or found, and what to do about it; shown as it is."""

    status = 3


def say(text):
    print(text, file=sys.stderr, flush=True)


def megabytes(n):
    return f"{n / 1000:.1f} GB" if n >= 1000 else f"{n} MB"


# --- the environment


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


# --- what is installed, and what is to be


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
        subprocess.call(
            [str(venv_python()), "-m", "compileall", "-qq", "simt", "grader"], cwd=str(ROOT), stdout=sys.stderr
        )
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


def platform_name():
    """This machine's column in the tables of download sizes."""
    system = {"Linux": "linux", "Windows": "windows", "Darwin": "macos"}.get(platform.system(), "unknown")
    return f"{system}-{platform.machine().lower()}"


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
