"""Which registers an instruction writes and reads.

The rule: the first operand is what an instruction writes, unless it is an address or the opcode stands in the table
of those that only read. What differs from that is a row below.
"""

from __future__ import annotations

from simt.ptx.syntax import Address, Instruction, Operand, Pair, Register, Vector

__all__ = ["defs", "uses", "writes_first"]

# Opcodes whose operands are all read although the first may be a register.
_READ_ONLY = frozenset(
    [
        "applypriority", "bra", "brkpt", "brx", "cp", "discard", "exit", "fence", "griddepcontrol", "membar",
        "nanosleep", "pmevent", "prefetch", "prefetchu", "red", "ret", "setmaxnreg", "st", "stackrestore", "stmatrix",
        "sured", "sust", "trap",
    ]
)  # fmt: skip
# Families in which one form differs: opcode → the first modifiers of the forms that do write their first operand.
_WRITING_FORMS = {
    "bar": frozenset(["red"]),
    "barrier": frozenset(["red"]),
    "clusterlaunchcontrol": frozenset(["query_cancel"]),
    "mbarrier": frozenset(["arrive", "arrive_drop", "pending_count", "test_wait", "try_wait"]),
    "multimem": frozenset(["ld_reduce"]),
    "tcgen05": frozenset(["ld"]),
    "tensormap": frozenset(),
    "wgmma": frozenset(["mma_async"]),
    "wmma": frozenset(["load", "mma"]),
}


def writes_first(instruction: Instruction) -> bool:
    """Whether the first operand is a destination; a call's results count as one."""
    operands = instruction.operands
    if not operands or isinstance(operands[0], Address):
        return False
    name, mods = instruction.name, instruction.mods
    if name in _READ_ONLY:
        return False
    forms = _WRITING_FORMS.get(name)
    if forms is None:
        return True
    # `barrier.cta.red` and `bar.cta.red`: the scope may stand before the form.
    return any(mod in forms for mod in mods[:2])


def defs(instruction: Instruction) -> tuple[str, ...]:
    """The registers that the instruction may write, in order; under a guard it need not."""
    if not writes_first(instruction):
        return ()
    found: list[str] = []
    _collect(instruction.operands[0], found)
    return tuple(found)


def uses(instruction: Instruction) -> tuple[str, ...]:
    """The registers that the instruction reads, each once, its guard included."""
    found: list[str] = []
    if instruction.guard is not None:
        found.append(instruction.guard.register)
    operands = instruction.operands
    if operands and instruction.name != "wgmma" and writes_first(instruction):
        operands = operands[1:]  # `wgmma.mma_async` adds to its accumulators: it reads what it writes
    for operand in operands:
        if type(operand) is Register:
            found.append(operand.name)
        else:
            _collect(operand, found)
    return tuple(dict.fromkeys(found))


def _collect(operand: Operand, found: list[str]) -> None:
    """Appends the registers of one operand; an address holds at most a vector, and a vector no vector."""
    pending = [operand]
    while pending:
        item = pending.pop()
        if isinstance(item, Register):
            found.append(item.name)
        elif isinstance(item, Vector):
            pending += reversed(item.items)
        elif isinstance(item, Pair):
            pending += (item.second, item.first)
        elif isinstance(item, Address):
            pending += reversed(item.extra)
            if isinstance(item.base, Register):
                found.append(item.base.name)
