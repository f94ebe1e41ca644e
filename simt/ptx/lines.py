"""From an instruction's `Location` to the line in the student's own file."""

from __future__ import annotations

from simt.ptx.syntax import Location, Module

__all__ = ["call_line", "frames", "student_line"]

# Longest chain that is followed; NVVM inlines a few dozen calls into each other at most.
_MAX_FRAMES = 256


def frames(location: Location | None) -> tuple[Location, ...]:
    """The chain of inlining, the innermost place first; empty for no location."""
    found: list[Location] = []
    while location is not None and len(found) < _MAX_FRAMES:
        found.append(location)
        location = location.inlined_at
    return tuple(found)


def student_line(location: Location | None, module: Module, file_name: str = "kernel.cu") -> int | None:
    """The 1-based line of the innermost place that lies in `file_name`, None when there is none.

    A line of a header never shows: from there the chain is followed outward to the student's call. Line 0 is the
    compiler's mark for code that belongs to no line.
    """
    return next((frame.line for frame in _student_frames(location, module, file_name)), None)


def call_line(location: Location | None, module: Module, file_name: str = "kernel.cu") -> int | None:
    """As `student_line` for inline PTX: the line that calls the student's function around it, where there is one."""
    own = _student_frames(location, module, file_name)
    wrapped = len(own) > 1 and own[0] is location
    return own[wrapped].line if own else None


def _student_frames(location: Location | None, module: Module, file_name: str) -> list[Location]:
    return [f for f in frames(location) if f.line and _is_file(module.files.get(f.file, ""), file_name)]


def _is_file(path: str, file_name: str) -> bool:
    return path == file_name or path.replace("\\", "/").endswith("/" + file_name)
