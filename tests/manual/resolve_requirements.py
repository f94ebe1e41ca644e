"""Resolves every group of requirements for each platform with pip's dry run, and writes what they bring along.

Run by hand, since it asks the package index some fifty times:

    .venv/bin/python tests/manual/resolve_requirements.py             resolve and print the table
    .venv/bin/python tests/manual/resolve_requirements.py --write     also renew requirements.txt and the download sizes

It fails where a group has no wheel on a platform. With `--write` the part of requirements.txt below the line
`# brought along` and `[tool.warpwise.download_mb]` in pyproject.toml are replaced.
"""

import argparse
import concurrent.futures
import json
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements.txt"
PYPROJECT = ROOT / "pyproject.toml"
BROUGHT_ALONG = "# brought along"
GROUPS = ("learn", "simt", "gpu", "gpu12", "class", "jupyter", "test")
LOCKED = ("learn", "simt", "gpu", "class", "jupyter")
PYTHONS = ("3.11", "3.13")

# pip takes `--platform` for wheel tags but evaluates markers for the machine it runs on; this gives it the target's.
PIP_FOR_TARGET = """
import json, sys
import pip._vendor.packaging.markers as markers
changes = json.loads(sys.argv.pop(1))
here = markers.default_environment()
markers.default_environment = lambda: {**here, **changes}
from pip._internal.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


@dataclass(frozen=True, slots=True)
class Platform:
    """A target: the wheel tags it accepts, best first, and the values of its environment markers."""

    name: str
    tags: tuple[str, ...]
    sys_platform: str
    machine: str

    def markers(self, python):
        system = {"linux": "Linux", "win32": "Windows", "darwin": "Darwin"}[self.sys_platform]
        return {
            "sys_platform": self.sys_platform,
            "platform_system": system,
            "platform_machine": self.machine,
            "os_name": "nt" if self.sys_platform == "win32" else "posix",
            "python_version": python,
            "python_full_version": f"{python}.0",
        }


def manylinux(machine):
    """The tags of a glibc 2.28 system, which every Linux distribution with Python 3.11 is at least."""
    return tuple(f"manylinux_2_{minor}_{machine}" for minor in range(28, 16, -1)) + (f"manylinux2014_{machine}",)


def macos(machine):
    return tuple(f"macosx_{major}_0_{kind}" for major in range(14, 10, -1) for kind in (machine, "universal2")) + (
        "macosx_10_9_universal2",
    )


PLATFORMS = (
    Platform("linux-x86_64", manylinux("x86_64"), "linux", "x86_64"),
    Platform("linux-aarch64", manylinux("aarch64"), "linux", "aarch64"),
    Platform("windows-amd64", ("win_amd64",), "win32", "AMD64"),
    Platform("macos-arm64", macos("arm64"), "darwin", "arm64"),
)


def requirements_of(group):
    return tomllib.loads(PYPROJECT.read_text())["project"]["optional-dependencies"][group]


def pinned_by_hand():
    return REQUIREMENTS.read_text().split(BROUGHT_ALONG)[0]


def resolve(platform, python, requirements, constraints):
    """The pip report's `install` list: every wheel that these requirements need on this platform."""
    with tempfile.TemporaryDirectory() as scratch:
        pins = Path(scratch, "constraints.txt")
        pins.write_text(constraints)
        command = [sys.executable, "-c", PIP_FOR_TARGET, json.dumps(platform.markers(python))]
        command += ["install", "--quiet", "--dry-run", "--ignore-installed", "--only-binary=:all:", "--report=-"]
        command += ["--target", str(Path(scratch, "target")), "--python-version", python, "--implementation", "cp"]
        command += [word for tag in platform.tags for word in ("--platform", tag)]
        command += ["--constraint", str(pins), *requirements]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{platform.name}, Python {python}: {' '.join(requirements)}\n{done.stderr}")
    return json.loads(done.stdout)["install"]


def size_mb(url):
    """Megabytes (10^6 bytes) of one wheel, asked of the server that would send it."""
    if url.startswith("file:"):
        return Path(urllib.request.url2pathname(url.removeprefix("file://"))).stat().st_size / 1e6
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=60) as answer:
        return int(answer.headers["Content-Length"]) / 1e6


def pin(entry):
    return re.sub(r"[-_.]+", "-", entry["metadata"]["name"]).lower(), entry["metadata"]["version"]


def marker(platforms):
    """The marker that names these platforms among PLATFORMS, or nothing for all of them."""
    systems = sorted({platform.sys_platform for platform in platforms})
    if systems == sorted({platform.sys_platform for platform in PLATFORMS}):
        return ""
    return "; " + " or ".join(f'sys_platform == "{system}"' for system in systems)


def brought_along(found, by_hand):
    """The lines of requirements.txt for packages that nobody names but that the named ones need."""
    named = {re.sub(r"[-_.]+", "-", name).lower() for name in re.findall(r"^([A-Za-z][\w.-]*)==", by_hand, re.M)}
    where = {}
    for platform, pins in found:
        for name, version in pins:
            where.setdefault(name, {}).setdefault(version, set()).add(platform)
    lines = []
    for name in sorted(where.keys() - named):
        if len(where[name]) > 1:
            raise SystemExit(f"{name} resolves to {sorted(where[name])}; pin one version by hand")
        ((version, platforms),) = where[name].items()
        lines.append(f"{name}=={version}{marker(platforms)}")
    return lines


def sizes_table(sizes):
    rows = [f"{group} = {{ " + ", ".join(f"{p} = {mb}" for p, mb in row.items()) + " }" for group, row in sizes.items()]
    return "[tool.warpwise.download_mb]\n" + "\n".join(rows) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="renew requirements.txt and the sizes in pyproject.toml")
    write = parser.parse_args().write
    by_hand = pinned_by_hand()
    pinned = by_hand if write else REQUIREMENTS.read_text()
    locked, found, sizes = {}, [], {group: {} for group in GROUPS}
    for platform in PLATFORMS:
        for python in PYTHONS:
            before = {}
            for group in GROUPS:
                constraints = "" if group == "gpu12" else pinned + "".join(f"{n}=={v}\n" for n, v in locked.items())
                entries = resolve(platform, python, requirements_of(group), constraints)
                new = {pin(entry): entry["download_info"]["url"] for entry in entries if pin(entry) not in before}
                with concurrent.futures.ThreadPoolExecutor(8) as pool:
                    mb = round(sum(pool.map(size_mb, new.values())))
                sizes[group][platform.name] = mb
                print(f"{platform.name:14} Python {python}  {group:6} {len(new):4} wheels {mb:5} MB", flush=True)
                if group != "gpu12":
                    before.update(new)
                if group in LOCKED:
                    found.append((platform, [pin(entry) for entry in entries]))
                    locked.update(pin(entry) for entry in entries)
    if write:
        lines = brought_along(found, by_hand)
        below = f"{BROUGHT_ALONG} by these, the same version on every platform\n" + "\n".join(lines) + "\n"
        REQUIREMENTS.write_text(f"{by_hand.rstrip()}\n\n{below}")
        text = re.sub(r"\[tool\.warpwise\.download_mb\]\n(?:\w+ = .*\n)+", "", PYPROJECT.read_text()).rstrip()
        PYPROJECT.write_text(f"{text}\n\n{sizes_table(sizes)}")


if __name__ == "__main__":
    main()
