"""A gradebook in the formats that others read. One function a format: gradebook → bytes."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from grader.gradebook import Gradebook

__all__ = ["FORMATS", "export"]

# format -> module; its `write(book)` returns the file's bytes.
FORMATS = {
    "csv": "grader.exporters.table",
    "canvas": "grader.exporters.canvas",
    "moodle": "grader.exporters.moodle",
    "gradescope": "grader.exporters.gradescope",
    "parquet": "grader.exporters.parquet",
}


def export(book: Gradebook, format: str) -> bytes:
    """The gradebook in one of `FORMATS`; equal gradebooks give equal bytes.

    Raises:
        KeyError: no such format.
    """
    write: Callable[[Gradebook], bytes] = importlib.import_module(FORMATS[format]).write
    return write(book)
