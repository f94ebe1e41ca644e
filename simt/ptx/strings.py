"""The names in a PTX file's `.debug_str` section, which `.loc … function_name` refers to."""

from __future__ import annotations

import re

__all__ = ["DebugStrings"]

_NUMBER = re.compile(r"\d{1,9}")
_ITEM = re.compile(r"([\w$.]+)\s*+:|\.b8([\d\s,]++)")


class DebugStrings:
    """Reads the section's text at the first use; most files are compiled without line information."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._data = b""
        self._labels: dict[str, int] | None = None

    def at(self, label: str, offset: int) -> str | None:
        """The string that begins `offset` bytes after `label`, None when the section lacks it."""
        if self._labels is None:
            self._labels = self._read()
        start = self._labels.get(label)
        if start is None or start + offset > len(self._data):
            return None
        start += offset
        end = self._data.find(b"\0", start)
        return self._data[start : end if end >= 0 else None].decode("utf-8", "replace")

    def _read(self) -> dict[str, int]:
        labels: dict[str, int] = {}
        data = bytearray()
        for match in _ITEM.finditer(self._text):
            label, numbers = match.groups()
            if label is not None:
                labels[label] = len(data)
            else:
                data += bytes([int(number) & 255 for number in _NUMBER.findall(numbers)])
        self._data = bytes(data)
        return labels
