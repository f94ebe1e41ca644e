"""The text after `=` in a variable's declaration → bytes and the addresses among them."""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field

from simt.ptx.lexer import PtxSyntaxError, integer, literal
from simt.ptx.types import Kind, PtxType

__all__ = ["Relocations", "initialiser"]

Relocations = tuple[tuple[int, str, int], ...]

# An initialiser is at most 8 bytes for each character that writes it, and this much more where short rows are filled.
_FILL_BYTES = 64 << 10
_ADDRESS_BYTES = 8
_INTEGERS = (Kind.UNSIGNED, Kind.SIGNED, Kind.BITS)
_TOKEN = re.compile(r"(?a)\s*+([{}]|[^{},]++)\s*+,?")
_NAME = r"[%A-Za-z_$][\w$]*+"
_SYMBOL = re.compile(rf"(?a)(?:generic\s*+\(\s*+({_NAME})\s*+\)|({_NAME}))\s*+(?:([+-])\s*+(\w++))?\Z")
_MASKED = re.compile(r"(?a)(0[xX]FF(?:00){0,7}+)\s*+\((.*)\)\Z", re.DOTALL | re.IGNORECASE)
_FLOAT_CODE = {16: "<e", 32: "<f", 64: "<d"}


def initialiser(text: str, kind: PtxType, dims: tuple[int, ...], line: int) -> tuple[bytes, Relocations]:
    """The little-endian bytes that `text` writes (what follows them is zero), and where addresses go into them.

    Args:
        dims: sizes of the array, outermost first; a nested row that is short is filled with zeros.
    """
    if kind.kind in _INTEGERS and text[:1] == "{" and text.count("{") == 1:
        plain = _plain_integers(text, kind.n_bytes)
        if plain is not None:
            return plain, ()
    values = _Values(kind, dims, line, 8 * len(text) + _FILL_BYTES)
    position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        values.take(match[1].rstrip())
    if position != len(text) or values.starts:
        raise PtxSyntaxError("an initialiser isn't closed", line)
    return bytes(values.data), values.finished()


def _plain_integers(text: str, size: int) -> bytes | None:
    """The bytes of `{1, 2, 3}`, None when it holds anything but decimal numbers."""
    if text[-1] != "}":
        return None
    items = [item.strip() for item in text[1:-1].split(",")]
    mask = (1 << 8 * size) - 1
    if not all(item.isdecimal() and len(item) <= 20 and (item[0] != "0" or item == "0") for item in items):
        return None
    values = [int(item) & mask for item in items]
    return bytes(values) if size == 1 else b"".join([value.to_bytes(size, "little") for value in values])


@dataclass(slots=True)
class _Values:
    """The values read so far; `starts` holds where each open row began, `masked` the next byte of an address."""

    kind: PtxType
    dims: tuple[int, ...]
    line: int
    limit: int
    data: bytearray = field(default_factory=bytearray)
    index: int = 0
    starts: list[int] = field(default_factory=list)
    relocations: list[tuple[int, str, int]] = field(default_factory=list)
    masked: int = 0

    def error(self, message: str) -> PtxSyntaxError:
        return PtxSyntaxError(message, self.line)

    def take(self, token: str) -> None:
        if token == "{":
            self.starts.append(self.index)
            if len(self.starts) > max(1, len(self.dims)):
                raise self.error("an initialiser nests deeper than its array")
        elif token == "}":
            self.end_row()
        else:
            self.put(self.value(token))

    def end_row(self) -> None:
        """Moves to the element after a closing brace: a short row is filled up."""
        if not self.starts:
            raise self.error("'}' without '{' in an initialiser")
        depth, start = len(self.starts) - 1, self.starts.pop()
        if depth:
            row = 1
            for dim in self.dims[depth:]:
                row *= dim
            self.index = max(self.index, start + row)

    def put(self, value: bytes) -> None:
        size = self.kind.n_bytes
        begin = self.index * size
        if begin + size > self.limit:
            raise self.error(f"an initialiser leaves more than {_FILL_BYTES} bytes open between its rows")
        self.data.extend(bytes(begin - len(self.data)))
        self.data += value
        self.index += 1

    def value(self, text: str) -> bytes:
        """The bytes of one element; of an address zeros, with a relocation."""
        number = literal(text)
        if number is None:
            self.address(text)
            return bytes(self.kind.n_bytes)
        if number.kind == "int" and self.kind.kind in _INTEGERS:
            return (number.value & ((1 << 8 * self.kind.n_bytes) - 1)).to_bytes(self.kind.n_bytes, "little")
        return self.float_bytes(number.kind, number.value)

    def float_bytes(self, written: str, value: int) -> bytes:
        """A number as an element; `value` is an int or the bits of an f32 or f64, as `written` says."""
        kind = self.kind
        if written != "int" and kind.bits == (32 if written == "f32" else 64):
            return value.to_bytes(kind.n_bytes, "little")
        if not kind.is_float:
            raise self.error(f"a number of type {written} can't initialise an element of type {kind.name}")
        if written == "int":
            number = float(value)
        else:
            code, whole = ("<f", "<I") if written == "f32" else ("<d", "<Q")
            number = struct.unpack(code, struct.pack(whole, value))[0]
        try:
            return struct.pack(_FLOAT_CODE[kind.bits], number)
        except OverflowError:
            raise self.error(f"{number!r} is too large for {kind.name}") from None

    def address(self, text: str) -> None:
        """Notes `generic(x)+8`, or one byte of it written as `0xFF00(generic(x)+8)`."""
        mask = _MASKED.match(text)
        match = _SYMBOL.match(mask[2].strip() if mask else text)
        if match is None or self.kind.bits not in ((8,) if mask else (32, 64)):
            raise self.error(f"`{text[:60]}` can't initialise an element of type {self.kind.name}")
        addend = integer(match[4]) if match[4] else 0
        if addend is None:
            raise self.error(f"`{match[4][:20]}` is no offset")
        byte = (len(mask[1]) - 4) // 2 if mask else 0
        begin = self.index * self.kind.n_bytes - byte
        found = (begin, match[1] or match[2], -addend if match[3] == "-" else addend)
        if byte and (byte != self.masked or not self.relocations or self.relocations[-1] != found):
            raise self.error(f"`{text[:60]}` doesn't continue an address")
        if mask:
            self.masked = (byte + 1) % _ADDRESS_BYTES
        if not byte:
            self.relocations.append(found)

    def finished(self) -> Relocations:
        if self.masked:
            raise self.error("an address among bytes isn't complete")
        return tuple(self.relocations)
