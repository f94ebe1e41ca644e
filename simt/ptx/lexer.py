"""The lowest layer of reading PTX: comments, literals and the patterns of a statement.

PTX is hostile input. Every pattern is possessive or has alternatives that begin with different characters, so that a
match costs time linear in what it reads; sizes are capped here and in the files above.
"""

from __future__ import annotations

import re
import struct

from simt.ptx.syntax import Immediate

__all__ = ["MAX_TEXT_BYTES", "STATEMENT", "PtxSyntaxError", "integer", "literal", "split_top", "strip_comments"]

# Longest text that is read at all; NVRTC's output for a large lesson kernel is about 0.2 MB.
MAX_TEXT_BYTES = 64 << 20


class PtxSyntaxError(ValueError):
    """PTX text that can't be read, with its 1-based line."""

    def __init__(self, message: str, line: int) -> None:
        self.message = message if len(message) <= 300 else message[:297] + "..."
        super().__init__(f"PTX line {line}: {self.message}")
        self.line = line


_COMMENT = re.compile(r'"[^"\n]*+"?|//[^\n]*+|/\*[\s\S]*?(?:\*/|\Z)')


def _blank(match: re.Match[str]) -> str:
    found = match[0]
    if found[0] == '"':
        return found
    return " " + "\n" * found.count("\n")


def strip_comments(text: str) -> str:
    """`text` with each comment replaced by a space and the line breaks that it held."""
    return _COMMENT.sub(_blank, text)


# One statement of a function body. The groups: 1 guard's "!", 2 guard, 3 opcode, 4 operands; 5 label; 6 .loc; 7 "{";
# 8 "}"; 9 name of another directive, 10 the rest of it; 11 anything else, which is an error.
STATEMENT = re.compile(
    r"(?a)\s*+(?:"
    r"(?:@\s*+(!?)\s*+([%\w$]++)\s++)?([a-z]\w*+(?:(?:\.|::)\w++)*+)(?!\s*+:)\s*+([^;]*+);"
    r"|([A-Za-z_$%][\w$]*+)\s*+:"
    r"|(\.loc\b[^\n;]*+)"
    r"|(\{)|(\})"
    r'|\.(\w++)((?:[^;"]|"[^"\n]*+")*+);'
    r"|(\S)|\Z)"
)

_INTEGER = re.compile(r"(?a)([+-]?)\s*+(?:0[xX]([0-9a-fA-F]{1,32})|0[bB]([01]{1,64})|0([0-7]{1,22})|(\d{1,20}))U?\Z")
_FLOAT_BITS = re.compile(r"(?a)([+-]?)\s*+0(?:[fF]([0-9a-fA-F]{8})|[dD]([0-9a-fA-F]{16}))\Z")
_DECIMAL = re.compile(r"(?a)[+-]?(?:\d{1,40}\.\d{0,40}|\.\d{1,40}|\d{1,40}(?=[eE]))(?:[eE][+-]?\d{1,4})?\Z")
_SMALL = {str(number): number for number in range(-1024, 4097)}


def integer(text: str) -> int | None:
    """The value of an integer literal (decimal, hex, octal or binary, `U` suffix), None when it's something else."""
    found = _SMALL.get(text)
    if found is not None:
        return found
    match = _INTEGER.match(text)
    if match is None:
        return None
    sign, hexadecimal, binary, octal, decimal = match.groups()
    if hexadecimal is not None:
        value = int(hexadecimal, 16)
    elif binary is not None:
        value = int(binary, 2)
    elif octal is not None:
        value = int(octal, 8)
    else:
        value = int(decimal)
    return -value if sign == "-" else value


def literal(text: str) -> Immediate | None:
    """The number that `text` writes, None when it's something else; a decimal fraction is an f64, as PTX has it."""
    value = integer(text)
    if value is not None:
        return Immediate("int", value)
    match = _FLOAT_BITS.match(text)
    if match is not None:
        sign, single, double = match.groups()
        bits = int(single or double, 16)
        if sign == "-":
            bits ^= 1 << (31 if single else 63)
        return Immediate("f32" if single else "f64", bits)
    if _DECIMAL.match(text):
        return Immediate("f64", struct.unpack("<Q", struct.pack("<d", float(text)))[0])
    return None


_PIECE = re.compile(
    r"(?a)\s*+((?:[^,{}\[\]()]++|\{[^{}]*+\}|\((?:[^(){}]++|\{[^{}]*+\})*+\)|\[(?:[^\[\]{}]++|\{[^{}]*+\})*+\])*+)(,|\Z)"
)


def split_top(text: str) -> list[str] | None:
    """The parts between the commas that stand in no bracket, None when the brackets don't match."""
    pieces: list[str] = []
    position, end = 0, len(text)
    while True:
        match = _PIECE.match(text, position)
        if match is None:
            return None
        pieces.append(match[1].rstrip())
        position = match.end()
        if not match[2]:
            return pieces if position == end else None
