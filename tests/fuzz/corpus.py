"""Good texts that hostile ones are made from: every kernel of the golden set, the field cases and the attacks."""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simt.nvrtc import compile_cuda

__all__ = ["Text", "cuda_texts", "ptx_texts"]

TESTS = Path(__file__).resolve().parents[1]
MOST_CHARACTERS = 60_000  # of PTX; larger texts spend the time on translation instead of on mutations


@dataclass(frozen=True, slots=True)
class Text:
    """One file: `name` from the tests folder, its CUDA text and what to compile it for."""

    name: str
    source: str
    arch: str


def _arch(path: Path) -> str:
    """What the description beside a kernel compiles it for."""
    launch, case = path.with_suffix(".toml"), path.with_name("case.json")
    if launch.is_file():
        return tomllib.loads(launch.read_text(encoding="utf-8")).get("arch", "sm_80")
    if case.is_file():
        return json.loads(case.read_text(encoding="utf-8")).get("arch", "sm_80")
    return "sm_80"


@functools.cache
def cuda_texts() -> tuple[Text, ...]:
    """Every CUDA text of the three sets, by name."""
    folders = (TESTS / "simt" / "kernels", TESTS / "cases" / "data", TESTS / "attacks")
    paths = sorted(path for folder in folders for path in folder.rglob("*.cu"))
    return tuple(Text(path.relative_to(TESTS).as_posix(), path.read_text(encoding="utf-8"), _arch(path)) for path in paths)


def _compiled() -> Iterator[tuple[str, str]]:
    for text in cuda_texts():
        if text.name.startswith("attacks/b"):
            continue  # bombs: seconds of compiler each, and no PTX
        build = compile_cuda(text.source, arch=text.arch, want_cubin=False)
        if build.ok and ".entry" in build.ptx and len(build.ptx) <= MOST_CHARACTERS:
            yield text.name, build.ptx


@functools.cache
def ptx_texts() -> tuple[tuple[str, str], ...]:
    """(name, PTX) of every text that compiles without the libcu++ headers."""
    return tuple(_compiled())
