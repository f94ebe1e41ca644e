"""Coverage: output elements that no thread wrote and input elements that no thread read, from the word shadow."""

from __future__ import annotations

import re

import numpy as np

from simt.diagnostics import Diagnostic, diagnose
from simt.engine.view import BufferView, LaunchView

__all__ = ["coverage"]

READ = 0x10
SHOWN_RANGES = 3
LEAST_UNREAD = 0.1  # of the elements: an edge that a stencil or an offset leaves out is no mistake


def coverage(view: LaunchView, known: tuple[Diagnostic, ...] = ()) -> list[Diagnostic]:
    """Findings of a launch that ran to its end, but for buffers that `known` findings of memcheck already concern."""
    refused = {_owner(view, d) for d in known if d.check.startswith("memcheck")}
    found = []
    for buffer in view.buffers:
        if buffer.words is None or not buffer.is_argument or not buffer.n_elements or buffer.name in refused:
            continue
        if buffer.is_output:
            missing = ~_elements(buffer, _byte_set(buffer))
            if missing.any():
                found.append(_unwritten(view, buffer, missing))
        elif buffer.is_input:
            missing = ~_elements(buffer, np.repeat(buffer.words & READ != 0, 4)[: buffer.n_bytes])
            if missing.mean() >= LEAST_UNREAD:
                found.append(_unread(view, buffer, missing))
    return found


def _owner(view: LaunchView, known: Diagnostic) -> str:
    buffer = view.buffer_at(known.address) if known.address else None
    return buffer.name if buffer else ""


def _byte_set(buffer: BufferView) -> np.ndarray:
    """(n_bytes,) bool: the byte holds a value."""
    bits = (buffer.words[:, None] >> np.arange(4)) & 1
    return bits.reshape(-1)[: buffer.n_bytes] == 1


def _elements(buffer: BufferView, by_byte: np.ndarray) -> np.ndarray:
    """(n_elements,) bool: true where any byte of the element is."""
    size = buffer.dtype.itemsize
    return by_byte[: buffer.n_elements * size].reshape(-1, size).any(axis=1)


def ranges(name: str, missing: np.ndarray) -> str:
    """`y[768:1000]` for each run of missing elements, the first few."""
    edges = np.flatnonzero(np.diff(np.concatenate(([0], missing.astype(np.int8), [0]))))
    runs = [f"{name}[{a}]" if b == a + 1 else f"{name}[{a}:{b}]" for a, b in edges.reshape(-1, 2)[:SHOWN_RANGES]]
    n_more = len(edges) // 2 - len(runs)
    return ", ".join(runs) + (f" and {n_more} more ranges" if n_more else "")


def _unwritten(view: LaunchView, buffer: BufferView, missing: np.ndarray) -> Diagnostic:
    n = int(missing.sum())
    message = (
        f"{ranges(buffer.name, missing)} never written: {n} of the {buffer.n_elements} elements of `{buffer.name}`"
    )
    axis, line = _idle_axis(view)
    if axis:
        block = ",".join(map(str, view.block))
        return diagnose(
            "coverage.unwritten-output", message, line=line,
            help=f"the block is ({block}), so threadIdx.{axis} is always 0 although the kernel uses it: launch a block with "
            f"more than one thread in {axis}, or index with threadIdx.x alone",
        )  # fmt: skip
    return diagnose("coverage.unwritten-output", message, help=_unwritten_help(view, buffer, missing))


def _idle_axis(view: LaunchView) -> tuple[str, int | None]:
    """An axis in which the block has one thread although the kernel indexes with it, and the first access that does."""
    for axis, extent in zip("yz", view.block[1:], strict=True):
        pattern = re.compile(rf"\bthreadIdx\s*\.\s*{axis}\b")
        if extent > 1 or not pattern.search(view.source):
            continue
        lines = sorted({site.line for site in view.sites if site.line and site.n_bytes})
        return axis, next((line for line in lines if pattern.search(view.text_of(line))), None)
    return "", None


def _unwritten_help(view: LaunchView, buffer: BufferView, missing: np.ndarray) -> str:
    n, threads, width = buffer.n_elements, view.n_threads, view.block[0]
    name = next((name for name, value in view.scalars if value == n), "n")
    first = int(missing.argmax())
    if threads < n and first == threads and missing[first:].all():
        return (
            f"{threads} threads were launched for {n} elements: round the number of blocks up, "
            f"({name} + {width - 1}) / {width}, and guard with `if (i < {name})`"
        )
    if missing.all():
        return "does any thread reach the store? Look at the guard and at the index"
    if threads < n:
        return f"{threads} threads were launched for {n} elements: each must write more than one, or launch more"
    return "which thread should write these? Compare the index expression with the shape of the output"


def _unread(view: LaunchView, buffer: BufferView, missing: np.ndarray) -> Diagnostic:
    n = int(missing.sum())
    line = next((site.line for site in view.sites if site.buffer == buffer.name and site.line), None)
    message = f"{ranges(buffer.name, missing)} never read: {n} of the {buffer.n_elements} elements of `{buffer.name}`"
    return diagnose(
        "coverage.unread-input", message, line=line,
        help="does the index cover the whole input? threadIdx.x alone stays inside one block",
    )  # fmt: skip
