"""Solution text → starter text, for every edition: one function, aware of the answer's language.

A marked block is cut out and its place taken by what the student starts with. The markers are comments of the
language that the answer is written in, so a solved notebook runs as it stands:

    // BEGIN SOLUTION                         # BEGIN SOLUTION
    if (i < n) y[i] = x[i];                   "grid": "ceil_div(n, 256)",
    // STARTER                                # STARTER
    // y[i] = x[i];  // TODO: guard           # "grid": 1,  # TODO: cover n
    // END SOLUTION                           # END SOLUTION

The part from `STARTER` on is optional: its comment lines, less the comment sign and one space, are the starter (code
with a fault to find, say). Without it the block becomes one `TODO` line at the block's indentation.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["ClearingError", "Language", "clear", "has_solution", "solved"]


class Language(enum.Enum):
    """Language of an answer, by its line comment and the line that stands for a missing solution."""

    CUDA = ("//", "// TODO: your code here")
    PYTHON = ("#", "# TODO: your answer here")

    @property
    def comment(self) -> str:
        return self.value[0]

    @property
    def placeholder(self) -> str:
        return self.value[1]


class ClearingError(ValueError):
    """A solution block that is not closed, not opened, nested, or a starter line that is not a comment."""


@dataclass(frozen=True, slots=True)
class _Marker:
    word: str  # "BEGIN", "STARTER" or "END"
    language: Language
    indent: str


_MARKER = re.compile(r"^(?P<indent>[ \t]*)(?P<sign>//|#)[ \t]*(?P<word>BEGIN SOLUTION|STARTER|END SOLUTION)[ \t]*$")


def has_solution(text: str) -> bool:
    """Whether any line of `text` is a marker."""
    return any(_marker(line) for line in text.split("\n"))


def clear(text: str) -> str:
    """`text` with every solution block replaced by its starter.

    Raises:
        ClearingError: naming the 1-based line of the marker that has no partner.
    """
    return "\n".join(line for block in _blocks(text) for line in block.starter)


def solved(text: str) -> str:
    """`text` as a student would have written it: solutions in place, markers and starters gone.

    Raises:
        ClearingError: as for `clear`.
    """
    return "\n".join(line for block in _blocks(text) for line in block.solution)


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines of the solved and of the cleared text; the same ones outside a solution block."""

    solution: list[str]
    starter: list[str]


def _blocks(text: str) -> Iterator[_Block]:
    opened: tuple[int, _Marker] | None = None
    solution: list[str] = []
    starter: list[str] | None = None
    for number, line in enumerate(text.split("\n"), start=1):
        marker = _marker(line)
        if opened is None:
            if marker is None:
                yield _Block([line], [line])
            elif marker.word == "BEGIN":
                opened, solution, starter = (number, marker), [], None
            else:
                raise ClearingError(f"line {number}: {line.strip()!r} without a BEGIN SOLUTION before it")
        elif marker is None:
            if starter is None:
                solution.append(line)
            else:
                starter.append(_uncommented(line, number, opened[1].language))
        elif marker.word == "BEGIN":
            raise ClearingError(f"line {number}: BEGIN SOLUTION inside the block of line {opened[0]}")
        elif marker.word == "STARTER":
            starter = []
        else:
            begin = opened[1]
            yield _Block(solution, [begin.indent + begin.language.placeholder] if starter is None else starter)
            opened = None
    if opened is not None:
        raise ClearingError(f"line {opened[0]}: BEGIN SOLUTION without an END SOLUTION")


def _marker(line: str) -> _Marker | None:
    match = _MARKER.match(line)
    if match is None:
        return None
    language = Language.CUDA if match["sign"] == "//" else Language.PYTHON
    return _Marker(match["word"].split()[0], language, match["indent"])


def _uncommented(line: str, number: int, language: Language) -> str:
    """A starter line without its comment sign and the one space after it; indentation before the sign stays."""
    bare = line.lstrip()
    if not bare:
        return line
    if not bare.startswith(language.comment):
        raise ClearingError(f"line {number}: a STARTER line begins with {language.comment}, got {bare!r}")
    rest = bare[len(language.comment) :].removeprefix(" ")
    return line[: len(line) - len(bare)] + rest if rest else ""
