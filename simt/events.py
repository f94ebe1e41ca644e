"""What a launch is asked to do and what it tells: arguments, budget, checks, records, result.

These are the values that pass between a caller and `simt.program`; the engine fills a `LaunchResult`.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

import numpy as np

from simt.counters import Counters
from simt.diagnostics import Diagnostic
from simt.warp_trace import WarpTrace

__all__ = [
    "ALL_CHECKS",
    "Access",
    "Argument",
    "Budget",
    "Direction",
    "LaunchResult",
    "MemoryRequest",
    "Scope",
    "Status",
]

ALL_CHECKS = frozenset({"memcheck", "racecheck", "synccheck", "initcheck", "coverage", "perf"})


class Direction(enum.StrEnum):
    IN = "in"
    OUT = "out"
    INOUT = "inout"
    SCALAR = "scalar"


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument.

    `value` is an ndarray for a buffer or a NumPy scalar. A buffer of direction OUT is poisoned (NaN payload bytes)
    and counts as uninitialised whatever `value` holds, unless `initialised`; only its shape and dtype matter. A plain
    Python float or int is accepted only as `python_scalar` and judged as CuPy would pass it: 8 bytes. `shadow` goes on
    where an earlier launch left the same buffer (`LaunchResult.shadows`): the values then stay, whatever the direction.
    """

    name: str
    direction: Direction
    value: object
    initialised: bool | None = None  # None: by direction (in, inout: yes; out: no)
    offset_bytes: int = 0  # the pointer passed lies that far into the buffer
    python_scalar: bool = False
    shadow: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of one launch; the first one met ends it with status `BUDGET`."""

    warp_instructions: int = 2_000_000_000
    seconds: float = 60.0
    printf_bytes: int = 1 << 20
    memory_bytes: int = 4 << 30


class Status(enum.StrEnum):
    OK = "ok"
    FINDINGS = "findings"  # ran to its end, with at least one error finding
    STOPPED = "stopped"  # ended by a finding that leaves nothing to run: trap, deadlock, divergent barrier
    BUDGET = "budget"
    NOT_SUPPORTED = "not_supported"
    REJECTED = "rejected"  # launch or arguments refused before anything ran
    BUILD_FAILED = "build_failed"
    UNREADABLE = "unreadable"  # of a whole command: a file it was given cannot be read


@dataclass(frozen=True, slots=True)
class LaunchResult:
    """What one launch gave.

    Attributes:
        outputs: OUT and INOUT buffers by name, as new arrays; IN buffers too when the kernel changed them.
        modified_inputs: names of IN buffers whose bytes changed.
        counters, by_line: totals, and per 1-based source line.
        diagnostics: findings, errors first, then by line.
        blocks_run, blocks_total, accesses_checked: how much was checked; zero blocks is never clean.
        writers: for OUT/INOUT buffers: (n_words,) int64 linear thread id (block * threads + thread) that last wrote
            each 4-byte word, or -1; None unless asked for.
        printed: text of device printf, capped.
        seconds: {"translate": s, "run": s}.
        trace: recorded `MemoryRequest`s when tracing was asked for.
        warp_trace: the steps of one warp when it was followed.
        shadows: by argument, (n_words,) uint8: which bytes hold a value and which words were read, for a next launch.
    """

    status: Status
    outputs: dict[str, np.ndarray]
    counters: Counters
    by_line: dict[int, Counters]
    diagnostics: tuple[Diagnostic, ...]
    blocks_run: int
    blocks_total: int
    accesses_checked: int
    modified_inputs: tuple[str, ...] = ()
    writers: dict[str, np.ndarray] | None = None
    printed: str = ""
    seconds: dict[str, float] = field(default_factory=dict)
    checks: frozenset[str] = ALL_CHECKS
    trace: tuple[MemoryRequest, ...] = ()
    shadows: dict[str, np.ndarray] = field(default_factory=dict)
    warp_trace: WarpTrace | None = None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return tuple(d for d in self.diagnostics if d.severity == "error")


class Scope(enum.StrEnum):
    GLOBAL = "global"
    SHARED = "shared"
    LOCAL = "local"


class Access(enum.StrEnum):
    LOAD = "load"
    STORE = "store"
    ATOMIC = "atomic"


@dataclass(frozen=True, slots=True)
class MemoryRequest:
    """One warp-level memory instruction as it reached memory.

    `addresses` is (32,) uint64: byte offsets into `buffer` (global), the block's shared memory or the thread's local
    memory; `active` is (32,) bool; `size` is bytes per lane.
    """

    scope: Scope
    access: Access
    line: int | None
    block: tuple[int, int, int]
    warp: int
    size: int
    addresses: np.ndarray
    active: np.ndarray
    buffer: str | None = None
