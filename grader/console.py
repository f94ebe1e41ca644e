"""Where a command writes: JSON lines to standard output, everything for people to standard error."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from grader.stages import listening

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

__all__ = ["NoOutput", "Output"]

_STEERING = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # what a terminal would obey; the name of a file may hold it


class NoOutput(Exception):
    """Standard output takes nothing more, such as on a full disk."""


class Output:
    """One command's output; `json_lines` says whether standard output carries JSON (and nothing else)."""

    def __init__(self, json_lines: bool = False):
        self.json_lines = json_lines
        self._people: Console | None = None

    @property
    def people(self) -> Console:
        """The console on standard error; plain without a terminal, without colour under NO_COLOR."""
        if self._people is None:
            from rich.console import Console

            stream = sys.stderr or open(os.devnull, "w")  # without standard error what was said is lost, no more
            self._people = Console(file=stream, highlight=False, soft_wrap=not stream.isatty())
        return self._people

    def emit(self, record: Mapping[str, object]) -> None:
        """One JSON object on a line of standard output, only where JSON was asked for."""
        if not self.json_lines:
            return
        if sys.stdout is None:
            raise NoOutput("it is closed")
        try:
            sys.stdout.write(_line(record, sys.stdout.encoding) + "\n")
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise NoOutput(error.strerror) from None

    def say(self, words: RenderableType | str) -> None:
        """Something for people; brackets in it are text, not markup."""
        self.people.print(_shown(words) if isinstance(words, str) else words, markup=False)

    def error(self, message: str, help: str = "") -> None:
        """A refusal: what happened, then what to do."""
        from rich.text import Text

        self.people.print(Text.assemble(("error: ", "bold red"), _shown(message)))
        if help:
            self.people.print(Text(f"  help: {_shown(help)}"))

    @contextmanager
    def working(self, what: str) -> Iterator[None]:
        """Shows that something is under way and where it stands, on a terminal only."""
        if not (sys.stderr and sys.stderr.isatty() and self.people.is_terminal):
            yield
            return
        with self.people.status(what, spinner="dots") as line, listening(lambda stage: line.update(f"{what}: {stage}")):
            yield


def _shown(words: str) -> str:
    """The words with a sign for each character that would steer a terminal."""
    return _STEERING.sub("\N{REPLACEMENT CHARACTER}", words)


def _line(record: Mapping[str, object], encoding: str | None) -> str:
    """The record as JSON, its letters as they are where `encoding` has them all, else as escapes."""
    plain = json.dumps(record, ensure_ascii=False, allow_nan=False)
    try:
        plain.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(record, allow_nan=False)
    return plain
