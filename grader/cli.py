"""`python -m grader COMMAND …`: reads the command line, runs one command, turns its outcome into an exit status.

0 everything passed; 1 something did not pass; 2 usage or unreadable input; 3 not supported here; 4 our own failure.
"""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys
from collections.abc import Iterable, Sequence

from grader.commands.status import Refusal, Status
from grader.console import NoOutput, Output

__all__ = ["COMMANDS", "main"]

# Command → its module in `grader.commands`, loaded when the command is given.
COMMANDS = {
    "check": "check",
    "try": "try_kernel",
    "watch": "watch",
    "progress": "progress",
    "hint": "hint",
    "reset": "reset",
    "edit": "edit",
    "solution": "solution",
    "doctor": "doctor",
    "calibrate": "calibrate",
    "release": "release",
    "grade": "grade",
    "export": "export",
    "replay": "replay",
    "mark": "mark",
    "prove": "prove",
    "similar": "similar",
    "statistics": "statistics",
    "submit": "submit",
}

READ_ONLY = (errno.EACCES, errno.EPERM, errno.EROFS)
TRACEBACK = "WARPWISE_TRACEBACK"  # set to anything: an internal failure shows where it happened


class _Parser(argparse.ArgumentParser):
    """Errors in our own form and status; argparse would print the usage of everything."""

    def error(self, message: str):
        raise Refusal(message, f"`{self.prog} --help` shows how it is used")


def parser(names: Iterable[str]) -> argparse.ArgumentParser:
    """The parser of the commands called `names`."""
    top = _Parser(prog="grader", description="Checks CUDA answers of the course, with or without a GPU.")
    commands = top.add_subparsers(metavar="COMMAND", parser_class=_Parser, required=False)
    for name in names:
        importlib.import_module(f"grader.commands.{COMMANDS[name]}").add(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; returns its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    out = Output("--json" in given)
    if not os.environ.get(TRACEBACK):
        _quieten_log()
    try:
        return int(_dispatch(given, out))
    except Refusal as refusal:
        out.error(refusal.message, refusal.help)
        out.emit({"error": refusal.message, "help": refusal.help, "status": int(refusal.status)})
        return int(refusal.status)
    except KeyboardInterrupt:
        out.say("stopped; nothing was lost")
        return 130
    except BrokenPipeError:
        # Whoever read standard output has seen enough; Python would complain again at exit.
        sys.stdout = None
        return int(Status.PASSED)
    except NoOutput as error:
        sys.stdout = None
        out.error(f"cannot write to standard output: {error}", "make room, or send it elsewhere")
        return int(Status.INTERNAL)
    except OSError as error:
        return _read_only(error, out) if error.errno in READ_ONLY and error.filename else _internal(error, out)
    except Exception as error:
        return _internal(error, out)


def _quieten_log() -> None:
    """What failed is told in the report; Python would print it a second time where nobody listens to the log."""
    import logging

    logging.getLogger("grader").addHandler(logging.NullHandler())


def _dispatch(given: list[str], out: Output) -> int:
    if not given:
        out.say(parser(COMMANDS).format_help().rstrip())
        return Status.USAGE
    if given[0] in ("-h", "--help", "help"):
        parser(COMMANDS).print_help()
        return Status.PASSED
    if not given[0].startswith("-") and given[0] not in COMMANDS:
        raise Refusal(f"there is no command {given[0]!r}", f"there are: {', '.join(COMMANDS)}")
    parsed = parser([given[0]] if given[0] in COMMANDS else COMMANDS).parse_args(given)
    return parsed.run(parsed, out)


def _read_only(error: OSError, out: Output) -> int:
    """A place that may not be read or written, such as a copy of the course that is somebody else's, is no failure of ours."""
    message = f"{error.filename}: {error.strerror}"
    help = (
        "use a place, or a copy of the course, that is yours; for progress alone, WARPWISE_PROGRESS names another file"
    )
    out.error(message, help)
    out.emit({"error": message, "help": help, "status": int(Status.USAGE)})
    return int(Status.USAGE)


def _internal(error: Exception, out: Output) -> int:
    import traceback

    out.error(f"the grader failed: {type(error).__name__}: {error}", "your answer is untouched; please report this")
    if os.environ.get(TRACEBACK):
        out.say("".join(traceback.format_exception(error)))
    out.emit({"error": f"{type(error).__name__}: {error}", "status": int(Status.INTERNAL)})
    return int(Status.INTERNAL)
