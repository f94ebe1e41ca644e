"""CUDA text as an HTML listing: coloured, numbered, with marked lines and a note beside a line.

Everything from the student is escaped; colour is a class per token, so the page's style decides light and dark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from html import escape

__all__ = ["excerpt_lines", "highlighted", "listing"]

_KEYWORDS = (
    "alignas asm auto bool break case char class const constexpr continue default do double else enum extern float for "
    "half if inline int long namespace operator return short signed sizeof static static_cast struct switch template "
    "this typedef typename union unsigned using void volatile while __global__ __device__ __shared__ __constant__ "
    "__host__ __restrict__ __forceinline__ __noinline__ __launch_bounds__ size_t int4 int2 float2 float3 float4 double2 "
    "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t"
).split()
_TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?P<string>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
    r"|(?P<builtin>\b(?:threadIdx|blockIdx|blockDim|gridDim|warpSize)\b|\b__\w*sync\w*\b|\batomic[A-Z]\w*\b)"
    rf"|(?P<keyword>\b(?:{'|'.join(_KEYWORDS)})\b)"
    r"|(?P<number>\b(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?)[fFuUlL]*\b)"
    r"|(?P<directive>^[ \t]*\#\w+)",
    re.DOTALL | re.MULTILINE,
)


def highlighted(source: str) -> list[str]:
    """One HTML string a line; a comment over several lines is closed and opened again at each line end."""
    pieces, position = [], 0
    for match in _TOKEN.finditer(source):
        pieces.append(escape(source[position : match.start()]))
        pieces.append(_span(match.lastgroup or "", match.group()))
        position = match.end()
    pieces.append(escape(source[position:]))
    return "".join(pieces).split("\n")


def listing(
    source: str,
    marks: Mapping[int, str] | None = None,
    shown: Iterable[int] | None = None,
    notes: Mapping[int, str] | None = None,
    first_line: int = 1,
) -> str:
    """A `<pre>` of `source`.

    Args:
        source: canonical CUDA text.
        marks: 1-based line → kind of mark: "error", "also", "warning", "advice".
        shown: lines to show, all by default; a gap is drawn where lines are left out.
        notes: line → short text shown at the line's right.
        first_line: number that the first line is given.
    """
    marks, notes = marks or {}, notes or {}
    lines = highlighted(source)
    first, last = _written(source)
    wanted = sorted(
        line for line in set(shown if shown is not None else range(1, len(lines) + 1)) if first <= line <= last
    )
    rows, previous = [], None
    for number in wanted:
        if previous is not None and number > previous + 1:
            rows.append('<span class="ww-gap" aria-hidden="true">⋯</span>')
        rows.append(_row(number + first_line - 1, lines[number - 1], marks.get(number, ""), notes.get(number, "")))
        previous = number
    return f'<pre class="ww-code" tabindex="0" aria-label="CUDA source"><code>{"".join(rows)}</code></pre>'


def excerpt_lines(count: int, focus: Iterable[int], around: int = 2) -> set[int]:
    """The lines within `around` of any line in `focus`, of a text with `count` lines."""
    return {line for centre in focus for line in range(max(1, centre - around), min(count, centre + around) + 1)}


def _written(source: str) -> tuple[int, int]:
    """The first and the last line of a text that are not blank; (1, 0) where all are."""
    written = [number for number, line in enumerate(source.split("\n"), start=1) if line.strip()]
    return (written[0], written[-1]) if written else (1, 0)


def _row(number: int, html: str, mark: str, note: str) -> str:
    classes = "ww-line" + (f" ww-mark ww-{mark}" if mark else "")
    spoken = '<span class="ww-sr">marked line: </span>' if mark else ""
    beside = f'<span class="ww-note">{escape(note)}</span>' if note else ""
    return (
        f'<span class="{classes}"><span class="ww-no">{number}</span>{spoken}<span>{html or " "}</span>{beside}</span>'
    )


def _span(kind: str, text: str) -> str:
    opening, closing = f'<span class="ww-{kind}">', "</span>"
    return opening + f"{closing}\n{opening}".join(escape(text).split("\n")) + closing
