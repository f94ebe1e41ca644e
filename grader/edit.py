"""An answer's CUDA out of a lesson into an editor and back, the rest of the file untouched byte for byte."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from grader.lesson_file import find_literals, read_lesson, replace_literals, text_literal
from grader.notebook.source import canonical
from grader.whole_file import write_whole

__all__ = ["EditProblem", "edit_text", "editor_command"]


class EditProblem(Exception):
    """Why the text was not edited or not put back; `help` says where the edited text lies."""

    def __init__(self, message: str, help: str = ""):
        super().__init__(message)
        self.help = help


def editor_command() -> list[str]:
    """The words of `$VISUAL` or `$EDITOR`, else the first editor that is found.

    Raises:
        EditProblem: there is none.
    """
    for variable in ("VISUAL", "EDITOR"):
        if words := shlex.split(os.environ.get(variable, ""), posix=os.name != "nt"):
            return words
    for name in ("sensible-editor", "nano", "vim", "vi", "notepad"):
        if found := shutil.which(name):
            return [found]
    raise EditProblem(
        "no editor is set", "set EDITOR, for example `export EDITOR=nano` or `export EDITOR='code --wait'`"
    )


def edit_text(path: Path, name: str, scratch: Path, editor: Sequence[str]) -> bool:
    """Lets `editor` change the CUDA text in `name = …` of the lesson at `path`; returns whether it did.

    Args:
        path: the lesson.
        name: the variable.
        scratch: .cu file that the editor is given; left in place where the text could not be put back.
        editor: command and its arguments.

    Raises:
        EditProblem: the editor failed, or the lesson changed while it was open.
        grader.lesson_file.LessonProblem: the answer is not where it should be, or no string can hold the new text.
    """
    before = read_lesson(path)
    literals = find_literals(before, (name,))
    old = _text_of(path, name, literals)
    scratch.parent.mkdir(parents=True, exist_ok=True)
    shown = canonical(old).strip("\n") + "\n"
    scratch.write_text(shown, encoding="utf-8")
    _run(editor, scratch)
    edited = scratch.read_text(encoding="utf-8")
    if canonical(edited).strip("\n") == shown.strip("\n"):
        scratch.unlink()
        return False
    if read_lesson(path) != before:
        raise EditProblem(f"{path} was changed meanwhile, so nothing was put back", f"your text is in {scratch}")
    write_whole(path, replace_literals(before, {name: text_literal(canonical(edited), like=old)}))
    scratch.unlink()
    return True


def _text_of(path: Path, name: str, literals) -> str:
    if name not in literals:
        raise EditProblem(f"nothing assigns `{name}` in {path}", "`reset` puts the answer's starter back")
    try:
        value = literals[name].value
    except (ValueError, SyntaxError, TypeError) as error:
        raise EditProblem(f"`{name}` in {path} is no plain string", 'write it as r"""…"""') from error
    if not isinstance(value, str):
        raise EditProblem(f"`{name}` in {path} is no string", 'write it as r"""…"""')
    return value


def _run(editor: Sequence[str], scratch: Path) -> None:
    try:
        done = subprocess.run([*editor, str(scratch)], check=False)
    except OSError as error:
        raise EditProblem(f"the editor {editor[0]} does not start: {error}", "set EDITOR to one that does") from error
    if done.returncode:
        raise EditProblem(
            f"the editor ended with status {done.returncode}; nothing was put back", f"your text is in {scratch}"
        )
