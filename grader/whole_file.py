"""A file that is replaced in one step: whoever reads it, or a crash, meets the old text or the new one, never a part."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

__all__ = ["write_whole"]


def write_whole(path: Path, text: str) -> None:
    """Writes UTF-8 with the text's own line ends and keeps the file's permissions; raises OSError and leaves the old file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}", suffix=".tmp")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as sink:
            sink.write(text)
            sink.flush()
            os.fsync(sink.fileno())
        if path.exists():
            os.chmod(name, path.stat().st_mode & 0o777)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
