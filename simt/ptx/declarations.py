"""Variable and register declarations."""

from __future__ import annotations

import re
from dataclasses import dataclass

from simt.ptx.initialisers import Relocations, initialiser
from simt.ptx.lexer import PtxSyntaxError, integer
from simt.ptx.syntax import Variable
from simt.ptx.types import TYPES, PtxType

__all__ = ["Declaration", "Declarator", "declaration", "variables"]

MAX_VARIABLE_BYTES = 1 << 48
MAX_DIMS = 16
_SPACES = frozenset(["reg", "param", "local", "shared", "global", "const"])
_OPAQUE = frozenset(["texref", "samplerref", "surfref"])
_LANES = {"v2": 2, "v4": 4, "v8": 8}
_MODIFIER = re.compile(r"(?a)\s*+\.([a-z]\w*+)(::\w++)?\s*+")
_ALIGN = re.compile(r"(?a)(\d{1,9})\s*+")
_BRACKET = re.compile(r"\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)\s*+")
_DECLARATOR = re.compile(r"(?a)\s*+([%A-Za-z_$][\w$]*+)\s*+(?:<\s*+(\d{1,9})\s*+>)?\s*+((?:\[\s*+\w*+\s*+\]\s*+)*+)\Z")


@dataclass(frozen=True, slots=True)
class Declarator:
    """One name of a declaration: `count` is None but for a register range `%r<10>`."""

    name: str
    count: int | None
    dims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Declaration:
    """`.shared .align 8 .v2 .f32 tile[4][8]` in parts; `lanes` is 1 unless the type is a vector."""

    space: str
    type: PtxType
    align: int
    lanes: int
    declarators: tuple[Declarator, ...]
    init: str


def declaration(text: str, line: int) -> Declaration:
    """The parts of a declaration's text, which begins at its state space and has no closing semicolon."""
    space, kind, align, lanes, position = "", None, 0, 1, 0
    is_pointer = False  # the alignment after `.ptr` is that of what it points at
    while match := _MODIFIER.match(text, position):
        word, position = match[1], match.end()
        if word in _SPACES:
            space = space or word
        elif word in TYPES:
            kind = TYPES[word]
        elif word in _LANES:
            lanes = _LANES[word]
        elif word == "align":
            found = _ALIGN.match(text, position)
            if found is None:
                raise PtxSyntaxError("`.align` needs a number", line)
            align, position = align if is_pointer else int(found[1]), found.end()
        elif word == "attribute":
            found = _BRACKET.match(text, position)
            if found is None:
                raise PtxSyntaxError("`.attribute` needs a list in brackets", line)
            position = found.end()
        elif word in _OPAQUE:
            raise PtxSyntaxError(f"variables of type `.{word}` aren't supported; use a texture object", line)
        elif word == "ptr":
            is_pointer = True
        else:
            raise PtxSyntaxError(f"`.{word}` is unknown in a declaration", line)
    if kind is None or not space:
        raise PtxSyntaxError(f"`{text.strip()[:60]}` declares nothing: a state space or a type is missing", line)
    names, _, init = text[position:].partition("=")
    declarators = tuple([_declarator(name, line) for name in names.split(",")])
    return Declaration(space, kind, _alignment(align, kind.n_bytes * lanes, line), lanes, declarators, init.strip())


def _alignment(align: int, natural: int, line: int) -> int:
    if align & (align - 1) or align > 1 << 20:
        raise PtxSyntaxError(f"alignment {align} is no power of two up to 1 MiB", line)
    return align or natural


def _declarator(text: str, line: int) -> Declarator:
    match = _DECLARATOR.match(text)
    if match is None:
        raise PtxSyntaxError(f"`{text.strip()[:60]}` can't be declared", line)
    dims = []
    for dim in match[3].replace("[", " ").split("]")[:-1]:
        size = integer(dim.strip()) if dim.strip() else 0
        if size is None or size < 0:
            raise PtxSyntaxError(f"`{dim.strip()[:20]}` is no array size", line)
        dims.append(size)
    if len(dims) > MAX_DIMS:
        raise PtxSyntaxError(f"`{match[1]}` has more than {MAX_DIMS} dimensions", line)
    return Declarator(match[1], int(match[2]) if match[2] else None, tuple(dims))


def variables(found: Declaration, line: int, *, extern: bool = False) -> list[Variable]:
    """The variables of a declaration that isn't one of registers."""
    result = []
    for item in found.declarators:
        if item.count is not None:
            raise PtxSyntaxError(f"`{item.name}<{item.count}>`: only registers are declared as a range", line)
        count = found.lanes
        for dim in item.dims:
            count *= dim
        init: bytes = b""
        relocations: Relocations = ()
        if found.init:
            dims = item.dims + ((found.lanes,) if found.lanes > 1 else ())
            init, relocations = initialiser(found.init, found.type, dims, line)
            if item.dims and not item.dims[0]:
                count = len(init) // found.type.n_bytes
        if count * found.type.n_bytes > MAX_VARIABLE_BYTES:
            raise PtxSyntaxError(f"`{item.name}` has {count * found.type.n_bytes} bytes", line)
        if len(init) > count * found.type.n_bytes:
            raise PtxSyntaxError(f"`{item.name}` has more initial values than elements", line)
        result.append(Variable(found.space, found.type, item.name, found.align, count, init, extern, relocations))
    return result
