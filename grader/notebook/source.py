"""The canonical CUDA text of an answer: the one form in which a notebook's cell and a collected file agree.

marimo indents the inner lines of a triple-quoted string when it saves and takes that away when it loads, and an editor
may strip blanks at line ends. Canonical text has neither, and keeps the line count, so that line k of it is still
line k of the string in the file.
"""

from __future__ import annotations

__all__ = ["MAX_SOURCE_BYTES", "canonical", "text_problem"]

MAX_SOURCE_BYTES = 64 * 1024


def canonical(text: str) -> str:
    """`text` without a byte order mark, blanks at line ends and the indentation that all lines after the first share."""
    text = text.removeprefix("\ufeff")
    first, *rest = (line.rstrip() for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))
    margin = _shared_indent([line for line in rest if line])
    return "\n".join([first, *(line[len(margin) :] for line in rest)])


def _shared_indent(lines: list[str]) -> str:
    """The longest run of blanks and tabs that starts every line."""
    if not lines:
        return ""
    low, high = min(lines), max(lines)
    shared = 0
    for a, b in zip(low, high):
        if a != b or a not in " \t":
            break
        shared += 1
    return low[:shared]


def text_problem(text: str) -> tuple[str, str] | None:
    """What makes `text` unfit to be read as source, with the next step; None when it is fit."""
    if "\0" in text:
        return "the text holds a NUL character", "delete it; an editor that shows control characters helps"
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        return (
            f"the text holds half of a character ({text[error.start]!r}, at position {error.start})",
            "type the character again; a lone surrogate cannot be written to a file",
        )
    if size > MAX_SOURCE_BYTES:
        return f"the text is {size} bytes long, more than the {MAX_SOURCE_BYTES} that are read", "shorten it"
    return None
