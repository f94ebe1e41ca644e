"""Good texts that hostile ones are made from: golden kernels, field cases, attacks, and the pair of each diagnostic code.

Only texts that a case picks are compiled, and the cases of one stretch share a few dozen, so that a short run is not spent on
the compiler.
"""

from __future__ import annotations

import functools
import json
import random
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simt.nvrtc import compile_cuda
from tests.attacks.table import BOMBS
from tests.simt.diagnostic_pairs import pairs

__all__ = ["Text", "cuda_texts", "pick", "pick_ptx"]

TESTS = Path(__file__).resolve().parents[1]
FOLDERS = ("simt/kernels", "cases/data", "attacks")
MOST_CHARACTERS = 60_000  # of PTX; larger texts spend the time on translation instead of on mutations
STRETCH, N_SHARED = 500, 60  # cases that share texts, and how many


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
    """Every CUDA text, by name; without those that keep a compiler busy on purpose."""
    paths = sorted(path for folder in FOLDERS for path in (TESTS / folder).rglob("*.cu") if path.stem not in BOMBS)
    return (*map(_file, paths), *_pairs())


def _file(path: Path) -> Text:
    """With the files that lie beside it and that it includes."""
    source = path.read_bytes().decode("utf-8", "replace")
    for name in re.findall(r'^#include "([\w.]+)"$', source, re.MULTILINE):
        source = source.replace(f'#include "{name}"', path.with_name(name).read_text(encoding="utf-8"))
    return Text(path.relative_to(TESTS).as_posix(), source, _arch(path))


def _pairs() -> Iterator[Text]:
    """Both kernels of each code, where they are CUDA text of their own."""
    for code, pair in pairs().items():
        if code != "CO004" and "case" not in pair.plain and pair.plain.get("via", "map") == "map":
            for side in ("wrong", "right"):
                yield Text(f"{code}.{side}", pair.text(side), _launch_arch(pair.part(side, "launch")))


def _launch_arch(launch: str) -> str:
    try:
        return tomllib.loads(launch).get("arch", "sm_90")
    except tomllib.TOMLDecodeError:
        return "sm_90"


@functools.cache
def _shared(seed: int, stretch: int) -> tuple[Text, ...]:
    return tuple(random.Random(f"{seed}/{stretch}").sample(cuda_texts(), N_SHARED))


@functools.cache
def _ptx(text: Text) -> str:
    """Its PTX, "" where it does not compile, has no kernel or is too large."""
    build = compile_cuda(text.source, arch=text.arch, want_cubin=False)
    return build.ptx if build.ok and ".entry" in build.ptx and len(build.ptx) <= MOST_CHARACTERS else ""


def pick(rng: random.Random, seed: int, index: int) -> Text:
    """A CUDA text for one case."""
    return rng.choice(_shared(seed, index // STRETCH))


def pick_ptx(rng: random.Random, seed: int, index: int) -> tuple[str, str]:
    """(name, PTX) for one case."""
    while True:
        text = pick(rng, seed, index)
        if _ptx(text):
            return text.name, _ptx(text)
