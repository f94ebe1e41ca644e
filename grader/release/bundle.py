"""What a student gets in one file: lessons, pictures, grader, simulator and their pages; nothing that gives an answer away."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from grader.hidden import ENVIRONMENT

__all__ = ["MANIFEST", "BundleProblem", "bundled_files", "write_bundle"]

MANIFEST = "MANIFEST.json"
FOLDERS = ("assets", "docs", "grader", "lessons", "simt")
FILES = (
    "course.py", "course_install.py", "course_update.py", "requirements.txt", "pyproject.toml", "README.md", "CONTRIBUTING.md",
    "STYLE.md", "LICENSE",
)  # fmt: skip
_NEVER = {"__pycache__", "__marimo__", ".ipynb_checkpoints"}
# Zip files store local time; one fixed time makes equal contents equal bytes.
_WHEN = (1980, 1, 1, 0, 0, 0)


def bundled_files(top: Path) -> Iterator[Path]:
    """The files of a bundle, sorted; solutions, mutants, tests and a student's own files are never among them."""
    for name in FILES:
        if (top / name).is_file():
            yield top / name
    for folder in FOLDERS:
        for path in sorted((top / folder).rglob("*")):
            inside = path.relative_to(top)
            if path.is_file() and not path.is_symlink() and not _NEVER & set(inside.parts) and _wanted(inside):
                yield path


class BundleProblem(ValueError):
    """A bundle that would hold what is nobody's to see."""


def write_bundle(top: Path, target: Path, more: Mapping[str, bytes] | None = None) -> list[str]:
    """Writes the zip file; returns the names in it. Equal trees give equal bytes.

    Args:
        top: the course.
        target: the zip file.
        more: name → bytes of files that no tree holds.

    Raises:
        BundleProblem: the hidden seeds lie in a folder that is bundled.
    """
    paths = list(bundled_files(top))
    seeds = os.environ.get(ENVIRONMENT)
    if seeds and Path(seeds).resolve() in {path.resolve() for path in paths}:
        raise BundleProblem(f"the hidden seeds {seeds} lie among the files that students get; move them elsewhere")
    contents = {path.relative_to(top).as_posix(): path.read_bytes() for path in paths} | dict(more or {})
    contents[MANIFEST] = _manifest(contents.items())
    part = target.with_name(target.name + ".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name in sorted(contents):
            entry = zipfile.ZipInfo(f"warpwise/{name}", _WHEN)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name == "course.py" else 0o644) << 16
            bundle.writestr(entry, contents[name])
    part.replace(target)
    return sorted(contents)


def _wanted(inside: Path) -> bool:
    hidden = any(part.startswith(".") for part in inside.parts)
    # What an instructor recorded of the solutions tells their answers.
    recorded = inside.parts[0] == "assets" and inside.stem == "solutions"
    return not hidden and not recorded and not inside.name.endswith((".pyc", ".pyo", ".new.py", ".old.py"))


def _manifest(contents: Iterable[tuple[str, bytes]]) -> bytes:
    """sha256 of each file, by which an update tells a changed lesson from a shipped one."""
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in contents}
    return (json.dumps(digests, indent=1, sort_keys=True) + "\n").encode()
