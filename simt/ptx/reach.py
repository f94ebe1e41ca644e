"""What a kernel uses of its module."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from simt.ptx.syntax import Address, Function, Instruction, Module, Operand, Pair, Symbol, Vector

__all__ = ["Reach", "mentioned", "reachable", "symbols"]


@dataclass(frozen=True, slots=True)
class Reach:
    """Names in the order of the file; `undefined` are functions without a body and names the module doesn't know."""

    functions: tuple[str, ...]
    variables: tuple[str, ...]
    undefined: tuple[str, ...]


def symbols(function: Function) -> frozenset[str]:
    """Every name that the body mentions: variables, functions, parameters and labels."""
    found: set[str] = set()
    for item in function.body or ():
        if isinstance(item, Instruction):
            for operand in item.operands:
                found.update(_names(operand))
    for targets in function.branch_targets.values():
        found.update(targets)
    return frozenset(found)


def mentioned(function: Function) -> frozenset[str]:
    """What the body mentions of the module: names of its own (labels, parameters, variables, lists) are left out."""
    own = {item.name for item in function.body or () if not isinstance(item, Instruction)}
    own.update(row.name for row in (*function.params, *function.returns, *function.variables))
    return symbols(function) - own - function.branch_targets.keys() - function.prototypes.keys()


def reachable(module: Module, kernel: str) -> Reach:
    """The functions and module variables that `kernel` uses, itself included, through calls and through addresses.

    An address in a variable's initialiser counts as used when the variable is. Raises `KeyError` for an unknown kernel.
    """
    pending = [kernel]
    module.functions[kernel]
    seen: set[str] = set()
    undefined: set[str] = set()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in module.functions:
            function = module.functions[name]
            if function.body is None:
                undefined.add(name)
            pending += mentioned(function)
        elif name in module.variables:
            pending += [symbol for _, symbol, _ in module.variables[name].relocations]
        else:
            undefined.add(name)
    return Reach(
        tuple([name for name in module.functions if name in seen]),
        tuple([name for name in module.variables if name in seen]),
        tuple(sorted(undefined)),
    )


def _names(operand: Operand) -> Iterator[str]:
    pending: list[Operand] = [operand]
    while pending:
        item = pending.pop()
        if isinstance(item, Symbol):
            yield item.name
        elif isinstance(item, Address):
            if isinstance(item.base, Symbol):
                yield item.base.name
            pending += item.extra
        elif isinstance(item, Vector):
            pending += item.items
        elif isinstance(item, Pair):
            pending += (item.first, item.second)
