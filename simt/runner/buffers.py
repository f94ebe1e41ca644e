"""Arguments become segments of the virtual address space, and bytes of the parameter block.

Every buffer lies at a 256-byte aligned address with at least 1 MiB of nothing on both sides. Arguments are copied in;
an output without a value is poisoned with 0xFF bytes (NaN, or -1) and counts as not written.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from simt.codegen.plan import Plan
from simt.engine.races import RACE_WORD_BYTES
from simt.engine.shadow import READ
from simt.engine.state import GLOBAL_BASE, PARAM_WINDOW, Segment, SegmentFlag
from simt.events import Argument, Direction
from simt.runner.host_memory import host_bytes, zeroed
from simt.runner.tensor_maps import map_bytes
from simt.tensor_map import MAP_BYTES, TensorMap, backing_arguments

__all__ = ["Buffer", "Memory", "address_of", "bind"]

GAP = 1 << 20  # bytes of unmapped space on each side of a buffer
ALIGNMENT = 256  # what cudaMalloc promises
WORKSPACE_BYTES = 256  # more than the barrier of a grid in cooperative_groups/details/driver_abi.h


@dataclass
class Buffer:
    """One segment with its host bytes and shadows.

    `data` is (n_bytes,) uint8, `words` (n_words,) uint8 as `Segment.words` says, `writers` (n_words,) int64 or None.
    """

    name: str
    base: int
    data: np.ndarray
    words: np.ndarray
    flags: int
    writers: np.ndarray | None = None
    races: np.ndarray | None = None
    argument: Argument | None = None
    dtype: np.dtype = field(default_factory=lambda: np.dtype(np.uint8))
    shape: tuple[int, ...] = ()


@dataclass
class Memory:
    """All buffers by rising address, and the parameter block."""

    buffers: list[Buffer]
    params: np.ndarray
    segments: ctypes.Array
    workspace: int = 0  # address of what a cooperative launch is given for its barrier, 0 without


def address_of(array: np.ndarray | None) -> int | None:
    """The host address of an array's first byte, None for none."""
    return None if array is None or array.size == 0 else array.ctypes.data


def _words(n_bytes: int, initialised: bool) -> np.ndarray:
    words = host_bytes(-(-n_bytes // 4) + 16)
    words[:] = 0x0F if initialised else 0
    return words


def _argument_buffer(argument: Argument, base: int, in_place: bool) -> Buffer:
    array = np.ascontiguousarray(argument.value)
    if in_place:
        raw = array.reshape(-1).view(np.uint8)
        flags, nothing = int(SegmentFlag.WRITABLE), np.empty(0, np.uint8)
        return Buffer(argument.name, base, raw, nothing, flags, None, None, argument, array.dtype, array.shape)
    out = argument.direction is Direction.OUT
    initialised = argument.initialised if argument.initialised is not None else not out
    data = host_bytes(array.nbytes)
    if initialised or argument.shadow is not None:
        data[:] = array.reshape(-1).view(np.uint8)
    else:
        data[:] = 0xFF
    flags = int(SegmentFlag.WRITABLE)
    flags |= 0 if initialised else int(SegmentFlag.UNINITIALISED)
    flags |= int(SegmentFlag.INPUT) if argument.direction is Direction.IN else 0
    words = _words(array.nbytes, initialised)
    if argument.shadow is not None:
        words[: argument.shadow.size] = argument.shadow
    return Buffer(
        argument.name, base, data, words, flags, None, None, argument, array.dtype, np.asarray(argument.value).shape
    )


def _scalar(argument: Argument, plan: Plan, name: str) -> np.ndarray:
    """The bytes of a scalar, as many as its parameter takes; (at most its width,) uint8."""
    width = next(variable.n_bytes for variable in plan.function.params if variable.name == name)
    return np.frombuffer(scalar_bytes(argument)[:width], np.uint8)


def _workspace(base: int) -> Buffer:
    """Where the blocks of a cooperative launch meet."""
    flags = int(SegmentFlag.WRITABLE)
    return Buffer("workspace of the grid", base, zeroed(WORKSPACE_BYTES), _words(WORKSPACE_BYTES, True), flags)


def _variable_buffers(plan: Plan, constants: dict[str, bytes]) -> list[Buffer]:
    found = []
    for name, placed in plan.placed.items():
        variable = placed.variable
        data = host_bytes(max(variable.n_bytes, 1))
        data[:] = 0
        init = constants.get(name, variable.init)
        data[: len(init)] = np.frombuffer(init, np.uint8)
        for offset, symbol, addend in variable.relocations:
            # A function has no address here: a table of them may stand there, and a call through it is refused by name.
            target = plan.placed[symbol].address + addend if symbol in plan.placed else 0
            data[offset : offset + 8] = np.frombuffer(target.to_bytes(8, "little"), np.uint8)
        flags = int(SegmentFlag.WRITABLE) if variable.space == "global" else 0
        found.append(Buffer(name, placed.address, data, _words(data.size, True), flags, None, None, None))
    return found


def bind(
    plan: Plan,
    arguments: Sequence[Argument],
    *,
    want_writers: bool,
    races: bool,
    constants: dict[str, bytes] | None = None,
    in_place: bool = False,
    workspace: bool = False,
) -> Memory:
    """Lays out buffers and parameters. The arguments have been checked against the kernel's parameters before.

    With `in_place` the kernel works in the caller's arrays, without shadows: for runs that check nothing.
    """
    buffers = _variable_buffers(plan, constants or {})
    params = zeroed(plan.param_bytes)
    base = GLOBAL_BASE
    places: dict[str, int] = {}
    maps: list[tuple[TensorMap, int]] = []
    rows = [*zip(arguments, plan.params.items(), strict=True), *((a, ("", -1)) for a in backing_arguments(arguments))]
    for argument, (name, offset) in rows:
        if isinstance(argument.value, TensorMap):
            maps.append((argument.value, offset))
            continue
        if argument.direction is Direction.SCALAR:
            raw = _scalar(argument, plan, name)
            params[offset : offset + raw.size] = raw
            continue
        buffer = _argument_buffer(argument, base, in_place)
        places[argument.name] = base
        if offset >= 0:
            pointer = base + argument.offset_bytes
            params[offset : offset + 8] = np.frombuffer(pointer.to_bytes(8, "little"), np.uint8)
        else:
            buffer.words |= READ  # of what only maps reach, a kernel may take some boxes
        base = -(-(base + buffer.data.size + 2 * GAP) // ALIGNMENT) * ALIGNMENT
        buffers.append(buffer)
    for tensor_map, offset in maps:
        params[offset : offset + MAP_BYTES] = np.frombuffer(map_bytes(tensor_map, places[tensor_map.base]), np.uint8)
    buffers.append(Buffer("parameters", PARAM_WINDOW, params[: plan.param_bytes], _words(plan.param_bytes, True), 0))
    if workspace:
        buffers.append(_workspace(base))
    buffers.sort(key=lambda b: b.base)
    return Memory(buffers, params, _segments(buffers, want_writers, races), base if workspace else 0)


def scalar_bytes(argument: Argument) -> bytes:
    """A scalar as CuPy would pass it: a plain Python number is 8 bytes wide."""
    if argument.python_scalar:
        return np.asarray(argument.value, np.float64 if isinstance(argument.value, float) else np.int64).tobytes()
    return np.asarray(argument.value).tobytes()


def _segments(buffers: list[Buffer], want_writers: bool, races: bool) -> ctypes.Array:
    segments = (Segment.structure() * len(buffers))()
    for index, (buffer, segment) in enumerate(zip(buffers, segments, strict=True)):
        n_words = -(-buffer.data.size // 4)
        writable = buffer.flags & SegmentFlag.WRITABLE
        if want_writers and writable and buffer.argument is not None:
            buffer.writers = host_bytes(8 * n_words).view(np.int64)
            buffer.writers[:] = -1
        if races and writable:
            buffer.races = zeroed(max(n_words, 1) * RACE_WORD_BYTES).view(np.uint64)
        segment.base, segment.n_bytes = buffer.base, buffer.data.size
        segment.host = address_of(buffer.data)
        segment.words = address_of(buffer.words)
        segment.writers = address_of(buffer.writers)
        segment.races = address_of(buffer.races)
        segment.flags, segment.index = buffer.flags, index
    return segments
