"""Which module variables a launch can write: where each one's address may flow, through the whole module at once.

Addresses are followed through registers, parameters, returns, local memory and tables of addresses. What is followed is
data, not control: a kernel that rebuilds an address bit by bit in branches is not found here, and gains nothing, since
timed launches get fresh contents and are verified. The work is linear in the text, which a hostile one can make long.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

__all__ = ["written_globals"]

Node = tuple[str, str]  # (function, or "" for the module; register, parameter or variable)

WRITTEN: Node = ("", "(written)")
TABLES: Node = ("", "(tables)")  # what an initialiser's addresses lead to
INDIRECT: Node = ("", "(indirect)")  # what a function called by address may return
LOCAL: Node = ("", "(local)")  # all local memory: a function may get the address of another's

# Reading through an address leaves what lies there alone; anything else that takes one counts as writing.
READS = frozenset({"ld", "ldu", "prefetch", "ldmatrix", "tex", "tld4", "suld"})
SPACES = ("param", "local", "shared", "global", "const")
# Where a load may find an address; a store of one to any other memory counts as writing already.
LOADED: dict[str, list[Node]] = {
    "": [TABLES, LOCAL], "local": [LOCAL], "global": [TABLES], "const": [TABLES], "shared": [],
}  # fmt: skip


def written_globals(module, harmless: frozenset[str]) -> set[str]:
    """Names of global variables whose address may reach a store, another memory, or a function that is not here.

    Args:
        module: parsed PTX.
        harmless: functions without a body that write through none of their arguments.
    """
    names = {name for name, variable in module.variables.items() if variable.space == "global"}
    for function in module.functions.values():
        names |= {variable.name for variable in function.variables if variable.space == "global"}
    if not names:
        return set()
    into: dict[Node, set[Node]] = {}  # target -> where its value may come from
    for source, target in _flows(module, harmless):
        into.setdefault(target, set()).add(source)
    found, pending = {WRITTEN}, [WRITTEN]
    while pending:
        for source in into.get(pending.pop(), ()):
            if source not in found:
                found.add(source)
                pending.append(source)
    return {name for _, name in found} & names


def _flows(module, harmless: frozenset[str]) -> Iterator[tuple[Node, Node]]:
    from simt.ptx.syntax import Instruction

    for variable in module.variables.values():
        yield from ((("", symbol), TABLES) for _, symbol, _ in variable.relocations)
    for function in module.functions.values():
        scope = _Scope(module, function)
        yield from ((scope.node(variable.name), INDIRECT) for variable in function.returns)
        for item in function.body or ():
            if isinstance(item, Instruction):
                yield from _call(scope, item, harmless) if item.name == "call" else _instruction(scope, item)


class _Scope:
    """Names as one function sees them."""

    def __init__(self, module, function):
        self.module = module
        self._function = function.name
        own = (*function.params, *function.returns, *function.variables)
        self._own = {variable.name for variable in own if variable.space != "global"}

    def node(self, name: str) -> Node:
        """The node of a register, parameter or variable; a module's variable is the same in every function."""
        is_module = name not in self._own and (name in self.module.variables or name in self.module.functions)
        return ("", name) if is_module else (self._function, name)

    def nodes(self, operands: Iterable, *, addresses: bool = False) -> Iterator[Node]:
        """Nodes of everything named in `operands`; of addresses in brackets only on demand."""
        from simt.ptx.syntax import Address, Pair, Register, Symbol, Vector

        for operand in operands:
            match operand:
                case Register(name=name) | Symbol(name=name):
                    yield self.node(name)
                case Vector(items=items):
                    yield from self.nodes(items, addresses=addresses)
                case Pair(first=first, second=second):
                    yield from self.nodes((first, second))
                case Address(base=Register(name=name) | Symbol(name=name)) if addresses:
                    yield self.node(name)


def _instruction(scope: _Scope, instruction) -> Iterator[tuple[Node, Node]]:
    from simt.ptx.syntax import Address

    operands, name = instruction.operands, instruction.name
    space = next((word for word in instruction.mods if word in SPACES), "")
    if name == "st" and space in ("param", "local"):
        targets = list(scope.nodes(operands[:1], addresses=True)) if space == "param" else [LOCAL]
        yield from ((source, target) for source in scope.nodes(operands[1:]) for target in targets)
        return
    if name in ("ld", "ldu"):
        sources = list(scope.nodes(operands[1:], addresses=True)) if space == "param" else LOADED[space]
        yield from ((source, target) for target in scope.nodes(operands[:1]) for source in sources)
        return
    through = [operand for operand in operands if isinstance(operand, Address)]
    reads = name in READS or (name == "wmma" and "load" in instruction.mods)
    if through and not reads:
        # cp copies: what comes after its target is only read.
        pointers = through[:1] if name == "cp" else through
        yield from ((source, WRITTEN) for source in scope.nodes(pointers, addresses=True))
        yield from ((source, WRITTEN) for source in scope.nodes(operands))
        return
    targets = list(scope.nodes(operands[:1]))
    yield from ((source, target) for source in scope.nodes(operands[1:]) for target in targets)


def _call(scope: _Scope, instruction, harmless: frozenset[str]) -> Iterator[tuple[Node, Node]]:
    from simt.ptx.syntax import Symbol

    returns, callee, arguments = instruction.operands[:3]
    given, wanted = list(scope.nodes([arguments])), list(scope.nodes([returns]))
    name = callee.name if isinstance(callee, Symbol) else ""
    function = scope.module.functions.get(name)
    if function is None or function.body is None:
        if name not in harmless:
            yield from ((source, WRITTEN) for source in given)
            yield from ((INDIRECT, target) for target in wanted)
        return
    yield from zip(given, [(name, variable.name) for variable in function.params])
    yield from zip([(name, variable.name) for variable in function.returns], wanted)
