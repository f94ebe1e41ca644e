"""What native code left behind → diagnostics, printed text and traced requests."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from simt.counters import Counters
from simt.diagnostics import Diagnostic, Severity, diagnose
from simt.engine.services import PrintRecord
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
    size = 24 + 256
    pieces = []
    for start in range(0, used - size + 1, size):
        record = _RECORD.from_buffer_copy(bytes(raw.launch.printf[start : start + 24]))
        values = bytes(raw.launch.printf[start + 24 : start + 24 + record.n_bytes])
        pieces.append((record.block, record.thread, start, _formatted(raw, record.text, values)))
    text = "".join(piece[3] for piece in sorted(pieces))
    dropped = raw.launch.record.printf_used > raw.launch.record.printf_bytes
    if len(text) > MAX_PRINTED or dropped:
        return text[:MAX_PRINTED] + "\n[more output was dropped]\n"
    return text


def string_at(raw: Raw, address: int) -> str:
    """The zero-ended string at a virtual address, "" when it lies in no buffer."""
    for buffer in raw.memory.buffers:
        offset = address - buffer.base
        if 0 <= offset < buffer.data.size:
            return bytes(buffer.data[offset : offset + 4096]).partition(b"\0")[0].decode("utf-8", "replace")
    return ""


def _formatted(raw: Raw, text: int, values: bytes) -> str:
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
        return _one(raw, form, kind, match["length"] or "", take)

    return _SPEC.sub(value, string_at(raw, text))


def _number(digits: str | None) -> int | None:
    """The number in a format, cut before it grows beyond what Python reads; `%.f` has the precision 0."""
    return None if digits is None else int(digits[:9] or 0)


def _one(raw: Raw, form: str, kind: str, length: str, take) -> str:
    if kind in "fFeEgGaA":
        number = struct.unpack("<d", take(8))[0]
        return (form + kind.replace("a", "e").replace("A", "E")) % number
    if kind == "s":
        return (form + "s") % string_at(raw, struct.unpack("<Q", take(8))[0])
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
