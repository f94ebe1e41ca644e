"""Variable and register declarations with their initialisers."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass

from simt.ptx.lexer import PtxSyntaxError, integer, literal
from simt.ptx.syntax import Variable
from simt.ptx.types import TYPES, Kind, PtxType

__all__ = ["Declaration", "Declarator", "declaration", "variables"]

# An initialiser is at most 8 bytes for each character that writes it, and this much more where short rows are filled.
_FILL_BYTES = 64 << 10
MAX_VARIABLE_BYTES = 1 << 48
_SPACES = frozenset(["reg", "param", "local", "shared", "global", "const"])
_OPAQUE = frozenset(["texref", "samplerref", "surfref"])
_LANES = {"v2": 2, "v4": 4, "v8": 8}
_MODIFIER = re.compile(r"(?a)\s*+\.([a-z]\w*+)(::\w++)?\s*+")
_ALIGN = re.compile(r"(?a)(\d{1,9})\s*+")
_BRACKET = re.compile(r"\([^()]*+(?:\([^()]*+\)[^()]*+)*+\)\s*+")
_DECLARATOR = re.compile(r"(?a)\s*+([%A-Za-z_$][\w$]*+)\s*+(?:<\s*+(\d{1,9})\s*+>)?\s*+((?:\[\s*+\w*+\s*+\]\s*+)*+)\Z")
_RELOCATION = re.compile(
    r"(?a)(?:generic\s*+\(\s*+([%A-Za-z_$][\w$]*+)\s*+\)|([%A-Za-z_$][\w$]*+))\s*+(?:([+-])\s*+(\w++))?\Z"
)
_INIT_TOKEN = re.compile(r"(?a)\s*+([{}]|[^{},]++)\s*+,?")
_FLOAT_CODE = {16: "<e", 32: "<f", 64: "<d"}


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
        relocations: tuple[tuple[int, str, int], ...] = ()
        if found.init:
            dims = item.dims + ((found.lanes,) if found.lanes > 1 else ())
            init, relocations = _initialiser(found.init, found.type, dims, line)
            if item.dims and not item.dims[0]:
                count = len(init) // found.type.n_bytes
        if count * found.type.n_bytes > MAX_VARIABLE_BYTES:
            raise PtxSyntaxError(f"`{item.name}` has {count * found.type.n_bytes} bytes", line)
        if len(init) > count * found.type.n_bytes:
            raise PtxSyntaxError(f"`{item.name}` has more initial values than elements", line)
        result.append(Variable(found.space, found.type, item.name, found.align, count, init, extern, relocations))
    return result


def _initialiser(
    text: str, kind: PtxType, dims: tuple[int, ...], line: int
) -> tuple[bytes, tuple[tuple[int, str, int], ...]]:
    """The bytes of `= text`, as far as they are written (the rest is zero), and the addresses among them."""
    size = kind.n_bytes
    if kind.kind in (Kind.UNSIGNED, Kind.SIGNED, Kind.BITS) and text.count("{") == 1 and text[0] == "{":
        plain = _plain_integers(text, size)
        if plain is not None:
            return plain, ()
    data, relocations = bytearray(), []
    limit = 8 * len(text) + _FILL_BYTES
    index, starts = 0, []
    position = 0
    while match := _INIT_TOKEN.match(text, position):
        token, position = match[1].rstrip(), match.end()
        if token == "{":
            starts.append(index)
            if len(starts) > max(1, len(dims)):
                raise PtxSyntaxError("an initialiser nests deeper than its array", line)
        elif token == "}":
            if not starts:
                raise PtxSyntaxError("'}' without '{' in an initialiser", line)
            index = _row_end(starts, dims, index)
        elif token:
            value, symbol = _initial_value(token, kind, line)
            if symbol is not None:
                relocations.append((index * size, *symbol))
            end = (index + 1) * size
            if end > limit:
                raise PtxSyntaxError(f"an initialiser leaves more than {_FILL_BYTES} bytes open between its rows", line)
            data.extend(bytes(max(0, end - len(data))))
            data[end - size : end] = value
            index += 1
    if position != len(text) or starts:
        raise PtxSyntaxError("an initialiser isn't closed", line)
    return bytes(data), tuple(relocations)


def _plain_integers(text: str, size: int) -> bytes | None:
    """The bytes of `{1, 2, 3}`, None when it holds anything but decimal numbers."""
    if text[-1] != "}":
        return None
    items = text[1:-1].split(",")
    try:
        mask = (1 << 8 * size) - 1
        values = [int(item) & mask for item in items if len(item) < 64]
    except ValueError:
        return None
    if len(values) != len(items) or any(item.lstrip(" +-\t\n")[:1] == "0" and len(item.strip()) > 1 for item in items):
        return None
    if size == 1:
        return bytes(values)
    return b"".join([value.to_bytes(size, "little") for value in values])


def _row_end(starts: list[int], dims: tuple[int, ...], index: int) -> int:
    """Where the element after a closing brace goes: a short row is filled up."""
    depth, start = len(starts) - 1, starts.pop()
    row = 1
    for dim in dims[depth:]:
        row *= dim
    return max(index, start + row) if depth else index


def _initial_value(text: str, kind: PtxType, line: int) -> tuple[bytes, tuple[str, int] | None]:
    number = literal(text)
    if number is not None:
        if number.kind == "int" and not kind.is_float:
            return (number.value & ((1 << 8 * kind.n_bytes) - 1)).to_bytes(kind.n_bytes, "little"), None
        return _float_bytes(number.kind, number.value, kind, line), None
    match = _RELOCATION.match(text)
    if match is None:
        raise PtxSyntaxError(f"`{text[:60]}` is no initial value that is supported", line)
    addend = integer(match[4]) if match[4] else 0
    if addend is None:
        raise PtxSyntaxError(f"`{match[4][:20]}` is no offset", line)
    return bytes(kind.n_bytes), (match[1] or match[2], -addend if match[3] == "-" else addend)


def _float_bytes(written: str, value: int, kind: PtxType, line: int) -> bytes:
    """A number as an element of type `kind`; `value` is an int or the bits of an f32 or f64, as `written` says."""
    if written == "int":
        number = float(value)
    elif kind.bits == (32 if written == "f32" else 64):
        return value.to_bytes(kind.n_bytes, "little")
    else:
        code, whole = ("<f", "<I") if written == "f32" else ("<d", "<Q")
        number = struct.unpack(code, struct.pack(whole, value))[0]
    if not kind.is_float:
        raise PtxSyntaxError(f"a {written} can't initialise an element of type {kind.name}", line)
    try:
        return struct.pack(_FLOAT_CODE[kind.bits], number)
    except OverflowError:
        raise PtxSyntaxError(f"{number!r} is too large for {kind.name}", line) from None
