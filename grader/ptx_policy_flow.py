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
READS = frozenset({"prefetch", "ldmatrix", "tex", "tld4", "suld"})
SPACES = ("param", "local", "shared", "global", "const")


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
    flows = list(_flows(module, harmless))
    tables = {("", name) for name, variable in module.variables.items() if variable.relocations}
    addressing = _reached(tables, _ways((source, target) for source, target, _ in flows))
    # A load gives what lies in a table where its address may be a table's, or came out of one.
    back = _ways(
        (target, TABLES if loads else source) for source, target, loads in flows if not loads or source in addressing
    )
    return {name for _, name in _reached({WRITTEN}, back)} & names


def _ways(pairs: Iterable[tuple[Node, Node]]) -> dict[Node, set[Node]]:
    ways: dict[Node, set[Node]] = {}
    for source, target in pairs:
        ways.setdefault(source, set()).add(target)
    return ways


def _reached(start: set[Node], ways: dict[Node, set[Node]]) -> set[Node]:
    """`start` and all that can be reached from it."""
    found, pending = set(start), list(start)
    while pending:
        new = ways.get(pending.pop(), set()) - found
        found |= new
        pending += new
    return found


def _flows(module, harmless: frozenset[str]) -> Iterator[tuple[Node, Node, bool]]:
    """(source, target, False) where a value may go on as it is, (address, target, True) where one is loaded."""
    from simt.ptx.syntax import Instruction

    for variable in module.variables.values():
        yield from ((("", symbol), TABLES, False) for _, symbol, _ in variable.relocations)
    for function in module.functions.values():
        scope = _Scope(module, function)
        yield from ((scope.node(variable.name), INDIRECT, False) for variable in function.returns)
        for item in function.body or ():
            if isinstance(item, Instruction):
                if item.name in ("ld", "ldu"):
                    yield from _load(scope, item)
                else:
                    flows = _call(scope, item, harmless) if item.name == "call" else _instruction(scope, item)
                    yield from ((source, target, False) for source, target in flows)


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


def _load(scope: _Scope, instruction) -> Iterator[tuple[Node, Node, bool]]:
    """Where a load may find an address: a parameter, local memory, a table; a store to any other memory is one already."""
    space = _space(instruction)
    addresses = list(scope.nodes(instruction.operands[1:], addresses=True))
    for target in scope.nodes(instruction.operands[:1]):
        if space == "param":
            yield from ((source, target, False) for source in addresses)
        if space in ("", "local"):
            yield LOCAL, target, False
        if space in ("", "global", "const"):
            yield from ((source, target, True) for source in addresses)


def _space(instruction) -> str:
    """The state space that an access names, `param` for `param::func`, "" for a generic one."""
    spaces = (word.partition("::")[0] for word in instruction.mods)
    return next((space for space in spaces if space in SPACES), "")


def _instruction(scope: _Scope, instruction) -> Iterator[tuple[Node, Node]]:
    from simt.ptx.syntax import Address

    operands, name = instruction.operands, instruction.name
    space = _space(instruction)
    if name == "st" and (space == "local" or (space == "param" and _is_named(operands[0]))):
        targets = list(scope.nodes(operands[:1], addresses=True)) if space == "param" else [LOCAL]
        yield from ((source, target) for source in scope.nodes(operands[1:]) for target in targets)
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


def _is_named(operand) -> bool:
    """Whether a store goes to a parameter by its name; what a register holds may be any address."""
    from simt.ptx.syntax import Address, Symbol

    return isinstance(operand, Address) and isinstance(operand.base, Symbol)


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
    for argument, variable in zip(arguments.items, function.params):
        yield from ((source, (name, variable.name)) for source in scope.nodes([argument]))
    for result, variable in zip(returns.items, function.returns):
        yield from (((name, variable.name), target) for target in scope.nodes([result]))
