"""What native code left behind → diagnostics, printed text and traced requests."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from simt.counters import Counters
from simt.diagnostics import Diagnostic, Severity, diagnose
from simt.engine.services import A_STRING, PRINT_BYTES, PRINT_HEAD, PrintRecord
from simt.engine.state import Access as NativeAccess
from simt.engine.state import Scope as NativeScope
from simt.events import Access, MemoryRequest, Scope
from simt.runner.launch import Raw

if TYPE_CHECKING:
    from simt.program import Program

__all__ = ["read_diagnostics", "read_printed", "read_trace"]

_RECORD = PrintRecord.structure()
_SPEC = re.compile(
    r"%(?P<flags>[-+ #0]*)(?P<width>\*|\d+)?(?:\.(?P<precision>\*|\d*))?"
    r"(?P<length>hh|h|ll|l|z|j|t)?(?P<kind>[diouxXcfFeEgGaAsp%])"
)
MAX_PRINTED = 64 << 10
MAX_WIDTH = 1024  # of one printed value; a format may ask for 2^31 characters


def read_diagnostics(
    program: Program, raw: Raw, checks: frozenset[str], by_line: Mapping[int, Counters]
) -> tuple[Diagnostic, ...]:
    """Findings of a launch, errors first, then by line and code."""
    from simt.engine.messages import LaunchView, diagnostics

    view = LaunchView.of(program.source, raw)
    found = list(diagnostics(view, checks, by_line))
    found.extend(_budget(raw))
    order = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.ADVICE: 2}
    return tuple(sorted(found, key=lambda d: (order[d.severity], d.line or 0, d.code)))


def _budget(raw: Raw) -> list[Diagnostic]:
    """The finding of a launch that a budget ended: the line it was spending its time on."""
    if raw.outcome not in ("instructions", "seconds"):
        return []
    line = _busiest_line(raw)
    what = "its budget of instructions" if raw.outcome == "instructions" else "its time limit"
    message = f"stopped after {raw.blocks_run} of {raw.launch.n_blocks} blocks: the launch used up {what}"
    return [
        diagnose(
            "runtime.budget", message + (f" around line {line}" if line else ""), line=line,
            help="does the loop there end for every thread? Print or check its counter and bound",
        )
    ]  # fmt: skip


def _busiest_line(raw: Raw) -> int | None:
    """The line of the loop that ran most often."""
    plan = raw.plan
    runs = np.sum([thread.block_runs.astype(np.int64) for thread in raw.threads], axis=0).reshape(-1, 4)
    totals = runs[:, 0] + runs[:, 1]
    loops = [loop.header for loop in plan.cfg.loops]
    if not loops:
        return None
    header = max(loops, key=lambda index: totals[index])
    loop = next(loop for loop in plan.cfg.loops if loop.header == header)
    lines = [plan.line(i) for index in loop.blocks for i in plan.cfg.blocks[index].instructions]
    return min((line for line in lines if line), default=None)


# --- printf


def read_printed(raw: Raw) -> str:
    """The text of device printf in the order it was asked for, by block then thread then call, capped."""
    used = min(raw.launch.record.printf_used, raw.launch.record.printf_bytes)
    if not used:
        return ""
    calls: list[tuple[int, int, int, int, bytes]] = []
    strings: dict[int, dict[int, str]] = {}
    for start in range(0, used - PRINT_HEAD - PRINT_BYTES + 1, PRINT_HEAD + PRINT_BYTES):
        body = start + PRINT_HEAD
        record = _RECORD.from_buffer_copy(bytes(raw.launch.printf[start:body]))
        data = bytes(raw.launch.printf[body : body + record.n_bytes])
        if record.thread == A_STRING:
            strings.setdefault(record.block, {})[record.text] = _until_zero(data)
        else:
            calls.append((record.block, record.thread, start, record.text, data))
    pieces = []
    for _, _, start, address, values in sorted(calls):
        string = partial(_string, raw, strings.get(start, {}))
        pieces.append(_formatted(string, string(address), values))
    text = "".join(pieces)
    dropped = raw.launch.record.printf_used > raw.launch.record.printf_bytes
    if len(text) > MAX_PRINTED or dropped:
        return text[:MAX_PRINTED] + "\n[more output was dropped]\n"
    return text


def string_at(raw: Raw, address: int) -> str:
    """The zero-ended string at a virtual address, "" when it lies in no buffer."""
    for buffer in raw.memory.buffers:
        offset = address - buffer.base
        if 0 <= offset < buffer.data.size:
            return _until_zero(bytes(buffer.data[offset : offset + 4096]))
    return ""


def _string(raw: Raw, kept: Mapping[int, str], address: int) -> str:
    """The string at an address that a call named: as it was `kept` then, or of a buffer as it is now."""
    return kept[address] if address in kept else string_at(raw, address)


def _until_zero(data: bytes) -> str:
    return data.partition(b"\0")[0].decode("utf-8", "replace")


def _formatted(string: Callable[[int], str], text: str, values: bytes) -> str:
    """A format with its values; `string` gives what stands at an address."""
    position = 0

    def take(size: int) -> bytes:
        nonlocal position
        position = -(-position // size) * size
        piece = values[position : position + size].ljust(size, b"\0")
        position += size
        return piece

    def value(match: re.Match) -> str:
        kind = match["kind"]
        if kind == "%":
            return "%"
        width, precision = (
            struct.unpack("<i", take(4))[0] if match[part] == "*" else _number(match[part])
            for part in ("width", "precision")
        )
        form = "%" + match["flags"] + ("" if width is None else str(max(-MAX_WIDTH, min(width, MAX_WIDTH))))
        if precision is not None and precision >= 0:
            form += f".{min(precision, MAX_WIDTH)}"
        return _one(string, form, kind, match["length"] or "", take)

    return _SPEC.sub(value, text)


def _number(digits: str | None) -> int | None:
    """The number in a format, cut before it grows beyond what Python reads; `%.f` has the precision 0."""
    return None if digits is None else int(digits[:9] or 0)


def _one(string: Callable[[int], str], form: str, kind: str, length: str, take) -> str:
    if kind in "fFeEgGaA":
        number = struct.unpack("<d", take(8))[0]
        return (form + kind.replace("a", "e").replace("A", "E")) % number
    if kind == "s":
        return (form + "s") % string(struct.unpack("<Q", take(8))[0])
    if kind == "p":
        return hex(struct.unpack("<Q", take(8))[0])
    if kind == "c":
        return chr(struct.unpack("<i", take(4))[0] & 0xFF)
    wide = length in ("l", "ll", "z", "j", "t")
    signed = kind in "di"
    code = ("q" if signed else "Q") if wide else ("i" if signed else "I")
    return (form + ("d" if kind in "diu" else kind)) % struct.unpack("<" + code, take(8 if wide else 4))[0]


# --- trace


def read_trace(raw: Raw) -> tuple[MemoryRequest, ...]:
    """Traced requests with addresses relative to their buffer."""
    scopes = {NativeScope.SHARED: Scope.SHARED, NativeScope.LOCAL: Scope.LOCAL}
    accesses = {NativeAccess.LOAD: Access.LOAD, NativeAccess.STORE: Access.STORE, NativeAccess.ATOMIC: Access.ATOMIC}
    grid = tuple(raw.launch.record.grid)
    found = []
    for record in raw.launch.trace[: min(raw.launch.record.trace_count, raw.launch.record.trace_limit)]:
        info = raw.plan.site_infos[record.site]
        addresses = np.array(record.addresses, np.uint64)
        active = (record.mask >> np.arange(32)) & 1 == 1
        scope, name = scopes.get(record.scope, Scope.GLOBAL), None
        if scope is Scope.GLOBAL:
            addresses, name = _relative(raw, addresses, active)
        block = (record.block % grid[0], record.block // grid[0] % grid[1], record.block // (grid[0] * grid[1]))
        size = info.element_bytes * info.n_elements
        found.append(
            MemoryRequest(scope, accesses[info.access], info.line, block, record.warp, size, addresses, active, name)
        )
    return tuple(found)


def _relative(raw: Raw, addresses: np.ndarray, active: np.ndarray) -> tuple[np.ndarray, str | None]:
    """Offsets into the buffer that the first active lane reaches."""
    first = int(addresses[active.argmax()])
    for buffer in raw.memory.buffers:
        if buffer.base <= first < buffer.base + max(buffer.data.size, 1):
            return addresses - np.uint64(buffer.base), buffer.name
    return addresses, None
