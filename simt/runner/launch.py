"""Runs one launch of a planned kernel on all cores and reads what it left.

Blocks are claimed one at a time by native threads that hold no interpreter lock. Kernels whose result could depend on
the order of blocks run on one thread in block order, so that every run gives the same answer.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from simt.codegen.jit import Code, compile_ir
from simt.codegen.lower import lower
from simt.codegen.plan import Plan
from simt.codegen.runtime import Runtime, runtime
from simt.cpus import available_cpus
from simt.engine.block import Outcome
from simt.engine.state import ATOMIC_TYPES, Access, CheckBit, SiteFlag
from simt.events import Argument, Budget
from simt.ptx.syntax import Instruction, Special
from simt.runner.buffers import Memory, bind
from simt.runner.states import LaunchState, ThreadState
from simt.runner.steps import PARTS
from simt.warp_trace import WarpRequest

__all__ = ["Kernel", "Raw", "check_bits", "run"]

CALL_FUEL = 4_000_000  # warp instructions of one native call, some tens of milliseconds
SLICE = 100_000  # warp instructions of a warp's turn
SPIN_SLICE = 2_000  # the same where lanes or warps wait for one another
GROUP_SPIN_SLICE = 200  # and where blocks do, which many more take turns
_FLOATS = frozenset(ATOMIC_TYPES[name] for name in ("f16", "bf16", "f32", "f64", "f16x2", "bf16x2"))


@dataclass
class Kernel:
    """A plan with its machine code; masked code is made when a warp first parts."""

    plan: Plan
    cache: Path | None = None
    level: int = 0
    full: Code | None = None
    masked: Code | None = None
    runtime: Runtime | None = None
    seconds: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def full_address(self) -> int:
        """Address of the full code, translated at the first call.

        Raises:
            Unsupported: an instruction that simt does not run.
        """
        if self.full is None:
            started = time.perf_counter()
            self.runtime = runtime(self.cache)
            self.plan.cache = self.cache
            self.full = compile_ir(lower(self.plan, masked=False), level=self.level)
            self.seconds += time.perf_counter() - started
        return self.full.address("full")

    def masked_address(self) -> int:
        with self._lock:
            if self.masked is None:
                started = time.perf_counter()
                self.masked = compile_ir(lower(self.plan, masked=True), level=self.level)
                self.seconds += time.perf_counter() - started
        return self.masked.address("masked")


@dataclass
class Raw:
    """What a launch left: the states that hold counts and findings, the buffers, and how it ended."""

    plan: Plan
    launch: LaunchState
    threads: list[ThreadState]
    memory: Memory
    outcome: str  # finished, stopped, instructions, seconds
    blocks_run: int
    seconds: float
    arguments: tuple[Argument, ...] = ()


def check_bits(checks: frozenset[str], want_writers: bool) -> int:
    """`Launch.checks` for names of checks."""
    bits = {
        "memcheck": CheckBit.MEMCHECK,
        "racecheck": CheckBit.RACE_SHARED | CheckBit.RACE_GLOBAL,
        "synccheck": CheckBit.SYNCCHECK,
        "initcheck": CheckBit.INITCHECK,
        "coverage": CheckBit.COVERAGE,
    }
    value = int(CheckBit.WRITERS) if want_writers else 0
    for name in checks:
        value |= int(bits.get(name, 0))
    return value


def _order_matters(plan: Plan) -> bool:
    """Whether the order of blocks or lanes may show in a result."""
    instructions = [i for block in plan.cfg.blocks for i in block.instructions]
    if plan.spins or any(i.name == "call" or _reads_clock(i) for i in instructions):
        return True
    return any(
        site.access == Access.ATOMIC
        and site.scope != 1
        and (site.flags & SiteFlag.RETURNS or site.atomic_type in _FLOATS or site.atomic in (6, 7))
        for site in plan.site_infos
    )


def _reads_clock(instruction: Instruction) -> bool:
    return any(isinstance(o, Special) and o.name.startswith(("%clock", "%globaltimer")) for o in instruction.operands)


def launch_state(
    kernel: Kernel,
    grid: Sequence[int],
    block: Sequence[int],
    shared_bytes: int,
    memory: Memory,
    *,
    checks: int,
    budget: Budget,
    trace: int,
    cluster: Sequence[int] | None = None,
    cooperative: bool = False,
) -> LaunchState:
    """The `Launch` record of a grid, ready for native threads to claim its blocks."""
    code, plan = kernel.full_address(), kernel.plan
    launch = LaunchState(plan, grid, block, shared_bytes, checks, cluster, cooperative)
    launch.set_memory(memory, budget.printf_bytes, trace)
    launch.record.full_code = code
    launch.record.spins = int(plan.spins)
    if plan.waiting:
        access = plan.waiting[0][0]
        launch.record.spin_site = plan.sites.get(id(access), -1)
        launch.record.spin_is_lock = int(access.name == "atom")
        launch.set_waiting({index for _, loop in plan.waiting for index in loop.blocks})
    turn = GROUP_SPIN_SLICE if launch.record.together else SPIN_SLICE
    launch.record.slice = min(turn if plan.spins else SLICE, max(budget.warp_instructions, 1))
    if kernel.masked is not None:
        launch.record.masked_code = kernel.masked_address()
    return launch


def run(
    kernel: Kernel,
    grid: Sequence[int],
    block: Sequence[int],
    shared_bytes: int,
    arguments: Sequence[Argument],
    *,
    checks: int,
    budget: Budget,
    threads: int | None = None,
    trace: int = 0,
    constants: dict[str, bytes] | None = None,
    steps: WarpRequest | None = None,
    cluster: Sequence[int] | None = None,
    cooperative: bool = False,
) -> Raw:
    """Runs the whole grid, or until a finding, a budget or the clock ends it."""
    kernel.full_address()  # which fills the plan's sites
    plan = kernel.plan
    if checks & CheckBit.RACE_GLOBAL or trace or _order_matters(plan):
        threads = 1
    if checks & CheckBit.SYNCCHECK and plan.is_asynchronous:
        checks |= CheckBit.FLIGHTS | (CheckBit.PROXIES if plan.reads_by_proxy else 0)
    writers, races = (bool(checks & bit) for bit in (CheckBit.WRITERS, CheckBit.RACE_GLOBAL))
    memory = bind(plan, arguments, want_writers=writers, races=races, constants=constants, workspace=cooperative)
    launch = launch_state(
        kernel, grid, block, shared_bytes, memory, checks=checks, budget=budget, trace=trace, cluster=cluster,
        cooperative=cooperative,
    )  # fmt: skip
    wanted = min(threads or available_cpus(), launch.record.last_block)
    if steps is not None:
        launch.set_steps(steps, PARTS)
    states = [ThreadState(launch, index) for index in range(wanted)]
    started = time.perf_counter()
    meter = _Meter(budget, started + budget.seconds)
    _run_all(states, lambda state: _drive(kernel, launch, state, meter))
    seconds = time.perf_counter() - started
    done = sum(int(state.thread.blocks_done) for state in states)
    return Raw(plan, launch, states, memory, meter.outcome, done, seconds, tuple(arguments))


class _Meter:
    """Instructions and time that all native threads of a launch share."""

    def __init__(self, budget: Budget, deadline: float):
        self.left, self.deadline = budget.warp_instructions, deadline
        self.outcome = "finished"
        self.lock = threading.Lock()

    def spend(self, amount: int) -> None:
        with self.lock:
            self.left -= amount

    def end(self, outcome: str, launch: LaunchState) -> None:
        with self.lock:
            if self.outcome == "finished":
                self.outcome = outcome
            launch.record.stop = launch.record.stop or 2


def _run_all(states: list[ThreadState], drive: Callable[[ThreadState], None]) -> None:
    failures: list[BaseException] = []

    def guarded(state: ThreadState) -> None:
        try:
            drive(state)
        except BaseException as error:  # handed to the caller's thread below
            failures.append(error)

    workers = [threading.Thread(target=guarded, args=(state,), daemon=True) for state in states[1:]]
    for worker in workers:
        worker.start()
    guarded(states[0])
    for worker in workers:
        worker.join()
    if failures:
        raise failures[0]


def _drive(kernel: Kernel, launch: LaunchState, state: ThreadState, meter: _Meter) -> None:
    """Calls native code until this thread has no block left."""
    addresses = runtime(kernel.cache).addresses
    start_warps = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(addresses["start_warps"])
    for block in state.blocks:
        start_warps(ctypes.addressof(block))
    run_grid = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(addresses["run_grid"])
    thread = state.thread
    while True:
        given = min(CALL_FUEL, max(meter.left, 1))
        thread.budget = given
        code = run_grid(state.block_address)
        meter.spend(given - thread.budget)
        if code == Outcome.FINISHED:
            return
        if code == Outcome.NEED_MASKED:
            launch.record.masked_code = kernel.masked_address()
        elif code == Outcome.STOPPED:
            meter.end("stopped", launch)
            return
        if meter.left <= 0:
            meter.end("instructions", launch)
            return
        if time.perf_counter() > meter.deadline:
            meter.end("seconds", launch)
            return
        if launch.record.stop:  # a failed assertion, or the end that another thread met
            meter.end("stopped", launch)
            return
