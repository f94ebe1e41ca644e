"""Device memory of a launch's arguments: each buffer between guard zones of NaN, outputs starting as NaN."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simt.diagnostics import Diagnostic, diagnose
from simt.events import Argument, Direction
from simt.tensor_map import TensorMap, backing_arguments
from simt.tensor_map_driver import encode

__all__ = ["GUARD_BYTES", "POISON", "Buffer", "Buffers", "guard_findings", "unwritten"]

GUARD_BYTES = 1 << 20
# NaN as float16, bfloat16, float32 and float64, whichever part of it a type sees; no count, index or class number.
POISON = 0xFFFEFFFD
TO_DEVICE, TO_HOST, ON_DEVICE = 1, 2, 3  # cudaMemcpyKind


@dataclass(slots=True)
class Buffer:
    """One allocation: guard, data, guard; and what belongs there before each launch."""

    argument: Argument
    memory: Any
    image: np.ndarray
    pristine: Any

    @property
    def address(self) -> int:
        """Where the data starts."""
        return self.memory.ptr + GUARD_BYTES

    @property
    def inside(self) -> slice:
        """The data within the bytes of the allocation."""
        assert isinstance(self.argument.value, np.ndarray)
        return slice(GUARD_BYTES, GUARD_BYTES + self.argument.value.nbytes)

    def data(self, found: np.ndarray) -> np.ndarray:
        """The array in the bytes of the allocation."""
        value = self.argument.value
        assert isinstance(value, np.ndarray)
        return found[self.inside].view(value.dtype).reshape(value.shape)


class Buffers:
    """Device memory of a launch's arguments.

    Attributes:
        rows: one for each array, in the order of the arguments; then those that only tensor maps reach.
        values: what the kernel is launched with; a tensor map is the 128 bytes that the driver encodes it in.
    """

    def __init__(self, cp, arguments: Sequence[Argument]):
        self._cp = cp
        self.rows: list[Buffer] = []
        self.values: list[object] = []
        for argument in arguments:
            if isinstance(argument.value, np.ndarray):
                row = self._buffer(argument)
                self.rows.append(row)
                self.values.append(np.uint64(row.address + argument.offset_bytes))
            else:
                self.values.append(argument.value)
        self.rows += [self._buffer(argument) for argument in backing_arguments(arguments)]
        places = {row.argument.name: row.address for row in self.rows}
        self.values = [encode(v, places[v.base]) if isinstance(v, TensorMap) else v for v in self.values]
        self.refresh()

    def __enter__(self) -> Buffers:
        return self

    def __exit__(self, *_: object) -> None:
        self.rows.clear()

    def _buffer(self, argument: Argument) -> Buffer:
        value = argument.value
        assert isinstance(value, np.ndarray)
        padded = -(-value.nbytes // 256) * 256
        image = np.full((padded + 2 * GUARD_BYTES) // 4, POISON, np.uint32).view(np.uint8)
        poisoned = argument.direction is Direction.OUT if argument.initialised is None else not argument.initialised
        if not poisoned:
            image[GUARD_BYTES : GUARD_BYTES + value.nbytes] = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        memory, pristine = self._cp.cuda.alloc(image.nbytes), self._cp.cuda.alloc(image.nbytes)
        self._cp.cuda.runtime.memcpy(pristine.ptr, image.ctypes.data, image.nbytes, TO_DEVICE)
        return Buffer(argument, memory, image, pristine)

    def refresh(self) -> None:
        """Puts every buffer back to what it held before the first launch."""
        for row in self.rows:
            self._cp.cuda.runtime.memcpyAsync(row.memory.ptr, row.pristine.ptr, row.image.nbytes, ON_DEVICE, 0)

    def read(self, row: Buffer) -> np.ndarray:
        """The whole allocation as bytes, guards included."""
        found = np.empty_like(row.image)
        self._cp.cuda.runtime.memcpy(found.ctypes.data, row.memory.ptr, found.nbytes, TO_HOST)
        return found


def unwritten(row: Buffer, data: np.ndarray) -> list[Diagnostic]:
    """A finding where an output still holds poison."""
    if row.argument.direction is not Direction.OUT or data.nbytes % 4:
        return []
    words = int(np.count_nonzero(data.view(np.uint32) == POISON))
    if not words:
        return []
    total = data.nbytes // 4
    message = f"{words} of {total} words of `{row.argument.name}` were never written"
    return [diagnose("coverage.unwritten-output", message, help="which thread should write them? Check grid and guard")]


def guard_findings(row: Buffer, found: np.ndarray) -> list[Diagnostic]:
    """A finding for the first changed byte before and behind a buffer."""
    findings = []
    for place, start, stop in (("before", 0, GUARD_BYTES), ("behind", row.inside.stop, found.size)):
        changed = np.flatnonzero(found[start:stop] != row.image[start:stop])
        if changed.size:
            distance = GUARD_BYTES - int(changed[-1]) if place == "before" else int(changed[0])
            end = "start" if place == "before" else "end"
            findings.append(
                diagnose(
                    "memcheck.global.write-oob",
                    f"a write {distance} bytes {place} the {end} of `{row.argument.name}`",
                    help="guard the store with the array's size",
                )
            )
    return findings
