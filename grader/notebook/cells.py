"""A notebook as cells of syntax trees, whichever format it came from; nothing in it is ever imported or run."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

__all__ = ["MAX_WORDS", "Cell", "NotebookProblem", "check_size", "marker_of", "parse"]

# Words and signs of Python in one notebook: a lesson has some 5,000. What Python's parser takes grows with them, and with
# their square inside an f-string: 2 MB of `{a}` keep it busy for minutes, 1.9 GB go to as many commas.
MAX_WORDS = 100_000
WORD = re.compile(r"\w+|[^\w\s]|\n")
MARKER = re.compile(r"\s*#\s*exercise:\s*([\w.\-]+)\s*$")


class NotebookProblem(Exception):
    """A file that cannot be read as a notebook at all: what is wrong, and what to do."""

    def __init__(self, message: str, help: str = ""):
        super().__init__(message)
        self.message, self.help = message, help


def check_size(texts: Iterable[str]) -> None:
    """Raises NotebookProblem where the Python in `texts` together is more than the parser should be given."""
    left = MAX_WORDS
    for text in texts:
        left -= sum(1 for _ in islice(WORD.finditer(text), left + 1))
        if left < 0:
            raise NotebookProblem(
                f"the notebook holds more than {MAX_WORDS} words and signs of Python",
                "take out what is not the lesson's",
            )


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell.

    Attributes:
        place: file, or file and cell number, as a reader would name it.
        line: line of the cell's first line in `place`.
        marker: exercise id of its `# exercise: ID` first line, or "".
        text: its Python text.
        body: its statements, with line numbers of `place`; empty when it does not parse.
        error: (line of `place`, message) of its syntax error, or None.
    """

    place: str
    line: int
    marker: str
    text: str
    body: tuple[ast.stmt, ...] = ()
    error: tuple[int, str] | None = None


def marker_of(text: str) -> str:
    """The exercise id in the first line of `text` that is not blank, or ""."""
    for line in text.split("\n"):
        if line.strip():
            match = MARKER.match(line)
            return match[1] if match else ""
    return ""


def parse(text: str, first_line: int = 1) -> tuple[ast.Module | None, tuple[int, str] | None]:
    """The syntax tree of `text` with lines counted from `first_line`, or (line, message) of what stops it.

    Hostile text ends here too: nesting that exhausts the parser, NUL characters, half characters.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError as error:
        return None, ((error.lineno or 1) + first_line - 1, error.msg)
    except (ValueError, MemoryError, RecursionError, OverflowError) as error:
        return None, (first_line, str(error) or type(error).__name__)
    if first_line != 1:
        ast.increment_lineno(tree, first_line - 1)
    return tree, None
