"""The native runtime as machine code: compiled once per machine, then loaded from the cache."""

from __future__ import annotations

import functools
import hashlib
from pathlib import Path

import simt.engine
from simt.codegen.jit import Code, add_symbols, compile_ir, keep

__all__ = ["Runtime", "runtime"]

_NAMES = "; called by name: "  # the first line of the kept text


class Runtime:
    """Addresses of the native functions; generated code calls them by name."""

    def __init__(self, code: Code, names: tuple[str, ...]):
        self._code = code
        self.addresses = {name: code.address(name) for name in names}
        add_symbols(self.addresses)


@functools.cache
def runtime(cache: Path | None = None) -> Runtime:
    """The runtime for this process. `cache` is the folder that keeps its machine code, or None."""
    text, names = _ir_text(cache)
    return Runtime(compile_ir(text, level=2, optimise=True, cache=cache), names)


def _ir_text(cache: Path | None) -> tuple[str, tuple[str, ...]]:
    """The runtime's IR and the functions it offers.

    Building the IR takes longer than loading the machine code, so the text itself is kept too, by digest of the sources.
    """
    kept = cache / f"{_DIGEST}.ll" if cache is not None else None
    if kept is not None and kept.is_file():
        text = kept.read_text()
    else:
        text = _build()
        if kept is not None and _source_digest() == _DIGEST:  # else the sources were edited meanwhile
            keep(kept, text.encode())
    return text, tuple(text.partition("\n")[0].removeprefix(_NAMES).split())


def _source_digest() -> str:
    sources = [Path(__file__), *sorted(Path(simt.engine.__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in sources)).hexdigest()[:32]


_DIGEST = _source_digest()  # of what this process imports


def _build() -> str:
    from simt.engine.entry import ENTRY_POINTS
    from simt.engine.native_compiler import build_module

    names = " ".join(function.name for function in ENTRY_POINTS)
    return f"{_NAMES}{names}\n{build_module(ENTRY_POINTS)}"
