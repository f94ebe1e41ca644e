"""What a launch would take of this machine, held against its budget and against what the architecture gives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from simt.arch import Arch
from simt.codegen.plan import Plan
from simt.diagnostics import Diagnostic, diagnose
from simt.events import Argument, Budget
from simt.launch import LaunchConfig, check_launch

__all__ = ["LOCAL_BYTES", "argument_findings", "plan_findings"]

LOCAL_BYTES = (
    512 << 10
)  # of one thread. Source: CUDA C++ Programming Guide, Technical Specifications per Compute Capability


def argument_findings(arguments: Sequence[Argument], budget: Budget) -> tuple[Diagnostic, ...]:
    """Arrays larger than the budget."""
    n_bytes = sum(a.value.nbytes for a in arguments if isinstance(a.value, np.ndarray))
    return tuple(_memory("the arguments take", n_bytes, budget, "run a smaller size; counters scale with it"))


def plan_findings(
    plan: Plan, config: LaunchConfig, arch: Arch, budget: Budget, *, assembled: bool
) -> tuple[Diagnostic, ...]:
    """What the text declares itself: variables of the module, shared and local memory.

    Args:
        assembled: an assembler has held shared memory against its limit already.
    """
    found = list(() if assembled else check_launch(config, arch, static_shared_bytes=plan.static_shared_bytes))
    if plan.local_bytes > LOCAL_BYTES:
        found.append(
            diagnose(
                "runtime.stack",
                f"a thread needs {plan.local_bytes} bytes of local memory, more than the {LOCAL_BYTES} that hardware gives it",
                help="keep large arrays in shared or global memory",
            )
        )
    module_bytes = sum(placed.variable.n_bytes for placed in plan.placed.values())
    found.extend(_memory("variables of the module take", module_bytes, budget, "declare smaller arrays"))
    local = plan.local_bytes * config.block.volume
    found.extend(_memory("local memory of a block takes", local, budget, "use smaller local arrays or blocks"))
    together = config.grid.volume if config.cooperative else config.cluster.volume if config.cluster else 1
    if together > 1:
        resident = together * (local + plan.static_shared_bytes + config.shared_bytes)
        found.extend(
            _memory(f"{together} blocks resident together take", resident, budget, "launch fewer blocks together")
        )
    return tuple(found)


def _memory(what: str, n_bytes: int, budget: Budget, help: str) -> Iterator[Diagnostic]:
    if n_bytes > budget.memory_bytes:
        yield diagnose(
            "launch.memory",
            f"{what} {n_bytes / 2**30:.1f} GiB, more than the {budget.memory_bytes / 2**30:.1f} GiB that this launch may use",
            help=help,
        )
