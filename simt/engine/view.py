"""A finished launch as messages see it: sites with lines, buffers and shared arrays with names, findings of all threads.

`LaunchView.of` reads it from the records that native code filled; tests make one by hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from simt.engine.findings import CHECKS
from simt.engine.state import Access, Scope, SegmentFlag

__all__ = ["BufferView", "Found", "LaunchView", "SharedView", "SiteView"]

# How C++ calls an element and its plural in running text.
TYPE_WORDS = {
    "float16": ("half", "halves"), "float32": ("float", "floats"), "float64": ("double", "doubles"),
    "int32": ("int", "ints"), "int8": ("signed char", "bytes"), "uint8": ("unsigned char", "bytes"),
}  # fmt: skip

_ASSIGNED = re.compile(r"\b([A-Za-z_]\w*)\s*[-+*]?=[^=]")


@dataclass(frozen=True, slots=True)
class SiteView:
    """One instruction; `counts` is `Site.counts` summed over native threads, `buffer` what it last reached."""

    line: int | None
    scope: int = Scope.GLOBAL
    access: int = Access.LOAD
    n_bytes: int = 4
    counts: tuple[int, ...] = (0,) * 12
    buffer: str | None = None
    opcode: str = ""
    order: int = 0  # place in the order of the program
    loops: frozenset[int] = frozenset()  # the loops it stands in

    @property
    def verb(self) -> str:
        return {Access.LOAD: "reads", Access.STORE: "writes", Access.ATOMIC: "updates"}[self.access]


@dataclass(frozen=True, slots=True)
class BufferView:
    name: str
    base: int
    n_bytes: int
    dtype: np.dtype = np.dtype(np.uint8)
    shape: tuple[int, ...] = ()
    flags: int = 0
    words: np.ndarray | None = None  # shadow as in Segment.words
    is_argument: bool = True

    @property
    def n_elements(self) -> int:
        return self.n_bytes // self.dtype.itemsize

    @property
    def is_output(self) -> bool:
        return bool(self.flags & SegmentFlag.UNINITIALISED)

    @property
    def is_input(self) -> bool:
        return bool(self.flags & SegmentFlag.INPUT)

    @property
    def sized(self) -> str:
        """`x` (1000 floats)."""
        return f"`{self.name}` ({count_of(self.n_elements, self.dtype)})"

    def element(self, address: int) -> str:
        """`x[1000]`, the element that a byte address lies in."""
        return f"{self.name}[{(address - self.base) // self.dtype.itemsize}]"


@dataclass(frozen=True, slots=True)
class SharedView:
    """A shared array by the name the student gave it."""

    name: str
    offset: int
    n_bytes: int
    dynamic: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A `Finding` of all native threads together: the first block's and warp's place, counts summed."""

    check: str
    site: int
    also_site: int
    warp: int
    lanes: int
    count: int
    block: int
    address: int
    low: int = 0
    high: int = 0

    @property
    def lane_numbers(self) -> tuple[int, ...]:
        return tuple(lane for lane in range(32) if self.lanes >> lane & 1)


@dataclass(frozen=True, slots=True)
class LaunchView:
    source: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    sites: tuple[SiteView, ...]
    buffers: tuple[BufferView, ...] = ()
    shared: tuple[SharedView, ...] = ()
    findings: tuple[Found, ...] = ()
    scalars: tuple[tuple[str, int], ...] = ()
    shared_bytes: int = 0
    local_bytes: int = 0
    finished: bool = True

    @classmethod
    def of(cls, source: str, raw) -> LaunchView:
        """Reads what `simt.runner.launch.run` left."""
        record = raw.launch.record
        return cls(
            source, tuple(record.grid), tuple(record.block), _sites(raw), tuple(map(_buffer, raw.memory.buffers)),
            _shared(raw.plan, record.shared_bytes), merge(f for t in raw.threads for f in _found(t)),
            _scalars(raw), record.shared_bytes, record.local_bytes, raw.outcome == "finished",
        )  # fmt: skip

    @property
    def n_threads(self) -> int:
        return int(np.prod(self.grid)) * int(np.prod(self.block))

    def line(self, site: int) -> int | None:
        """The line of a site, None when there is none."""
        if not 0 <= site < len(self.sites):
            return None
        view = self.sites[site]
        return self.line_of_value(view.line) if view.access == Access.LOAD and view.n_bytes else view.line

    def comes_before(self, site: int, other: int) -> bool:
        """Whether a thread passes `site` before `other` and never after it: no loop holds both."""
        if not (0 <= site < len(self.sites) and 0 <= other < len(self.sites)):
            return False
        one, two = self.sites[site], self.sites[other]
        return one.order < two.order and not one.loops & two.loops

    def line_of_value(self, line: int | None) -> int | None:
        """Where a value loaded at `line` was named: the compiler moves `v = *p;` down to `*q = v;`."""
        stored = re.search(r"[^=!<>]=\s*([A-Za-z_]\w*)\s*;\s*(?:\}|//|$)", self.text_of(line))
        if not stored or stored[1] in {array.name for array in (*self.shared, *self.buffers)}:
            return line
        named = re.compile(rf"\b{stored[1]}\s*=[^=]")
        return next((n for n in range(line - 1, max(line - 20, 0), -1) if named.search(self.text_of(n))), line)

    def computed_at(self, site: int) -> str:
        """The source line of a site without its comment, after the lines that gave its names their values."""
        line = self.line(site)
        own = self.text_of(line).partition("//")[0]
        names = set(re.findall(r"[A-Za-z_]\w*", own))
        before = [text.partition("//")[0] for text in self.source.split("\n")[: (line or 1) - 1]]
        given = [text for text in before if (found := _ASSIGNED.search(text)) and found[1] in names]
        return "\n".join([*given, own])

    def block_of(self, linear: int) -> tuple[int, int, int]:
        x, y, _ = self.grid
        return linear % x, linear // x % y, linear // (x * y)

    def thread_of(self, warp: int, lane: int) -> tuple[int, int, int]:
        x, y, _ = self.block
        thread = warp * 32 + lane
        return thread % x, thread // x % y, thread // (x * y)

    def buffer_at(self, address: int) -> BufferView | None:
        """The buffer nearest to an address, within the guard zone around it."""
        near = [(max(b.base - address, address - (b.base + b.n_bytes) + 1, 0), b) for b in self.buffers]
        return next((b for gap, b in sorted(near, key=lambda pair: pair[0])[:1] if gap <= 1 << 20), None)

    def shared_at(self, offset: int) -> SharedView | None:
        """The shared array that holds an offset, or the last one before it."""
        before = [array for array in self.shared if array.offset <= offset]
        return max(before, key=lambda array: array.offset, default=None)

    def text_of(self, line: int | None) -> str:
        lines = self.source.split("\n")
        return lines[line - 1] if line and line <= len(lines) else ""


def count_of(n: int, dtype: np.dtype) -> str:
    """`1000 floats`; a type without a short plural is named as an element type."""
    words = TYPE_WORDS.get(dtype.name)
    if words is None:
        return f"{n} elements of {dtype.name}"
    return f"{n} {words[n != 1]}"


def merge(findings: Iterable[Found]) -> tuple[Found, ...]:
    """One per check and sites: counts summed, the place of the first block and warp, the range of all addresses."""
    merged: dict[tuple, Found] = {}
    for found in sorted(findings, key=lambda f: (f.block, f.warp)):
        key = (found.check, found.site, found.also_site)
        known = merged.get(key)
        if known is None:
            merged[key] = found
            continue
        fields = {name: getattr(known, name) for name in Found.__slots__}
        fields["count"] = known.count + found.count
        if known.check.startswith("memcheck"):
            fields |= {"low": min(known.low, found.low), "high": max(known.high, found.high)}
        merged[key] = Found(**fields)
    return tuple(merged.values())


def _found(thread) -> Iterable[Found]:
    for f in thread.findings[: thread.thread.n_findings]:
        yield Found(CHECKS[f.check], f.site, f.also_site, f.warp, f.lanes, f.count, f.block, f.address, f.low, f.high)


def _sites(raw) -> tuple[SiteView, ...]:
    rows = []
    addresses = {}
    places = _places(raw.plan)
    for index, info in enumerate(raw.plan.site_infos):
        sites = [thread.sites[index] for thread in raw.threads]
        counts = tuple(sum(site.counts[column] for site in sites) for column in range(12))
        reached = next((site.segment for site in sites if site.segment), None)
        if reached and not addresses:
            start, size = _table(raw.memory.segments)
            addresses = {start + size * number: buffer.name for number, buffer in enumerate(raw.memory.buffers)}
        n_bytes = info.element_bytes * info.n_elements
        order, loops = places.get(id(info.instruction), (0, frozenset()))
        rows.append(
            SiteView(
                info.line, info.scope, info.access, n_bytes, counts, addresses.get(reached), info.instruction.opcode, order,
                loops,
            )
        )  # fmt: skip
    return tuple(rows)


def _places(plan) -> dict[int, tuple[int, frozenset[int]]]:
    """Of each instruction, where it comes in the program and which loops it stands in."""
    found: dict[int, tuple[int, frozenset[int]]] = {}
    for block in plan.cfg.blocks:
        loops = frozenset(number for number, loop in enumerate(plan.cfg.loops) if block.index in loop.blocks)
        for instruction in block.instructions:
            found[id(instruction)] = (len(found), loops)
    return found


def _table(segments) -> tuple[int, int]:
    import ctypes

    return ctypes.addressof(segments), ctypes.sizeof(segments) // max(len(segments), 1)


def _buffer(buffer) -> BufferView:
    is_argument = buffer.argument is not None
    n_bytes = int(buffer.data.size)
    return BufferView(
        buffer.name,
        buffer.base,
        n_bytes,
        np.dtype(buffer.dtype),
        tuple(buffer.shape),
        buffer.flags,
        buffer.words,
        is_argument,
    )


def _scalars(raw) -> tuple[tuple[str, int], ...]:
    """Integer arguments by name, for help such as `if (i < n)`."""
    given = raw.arguments
    return tuple((a.name, int(a.value)) for a in given if isinstance(a.value, (int, np.integer)))


def _shared(plan, shared_bytes: int) -> tuple[SharedView, ...]:
    variables = {v.name: v for v in (*plan.module.variables.values(), *plan.function.variables)}
    found = []
    for symbol, offset in plan.shared.items():
        variable = variables.get(symbol)
        dynamic = variable is not None and (variable.extern or variable.count == 0)
        n_bytes = shared_bytes - offset if dynamic or variable is None else variable.n_bytes
        found.append(SharedView(student_name(symbol), offset, max(n_bytes, 0), dynamic))
    return tuple(sorted(found, key=lambda array: array.offset))


def student_name(symbol: str) -> str:
    """`total` for `_ZZ9normaliseE5total`: the last name of a mangled local variable."""
    for match in re.finditer(r"(?=(\d+)([A-Za-z_]\w*))", symbol):
        digits, rest = match.groups()
        name = rest[: int(digits)]
        if len(name) == int(digits) and re.fullmatch(r"(_\d+)?", rest[int(digits) :]):
            return name
    return symbol
