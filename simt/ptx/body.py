"""The statements of one function body → instructions, labels and declarations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from simt.ptx.declarations import declaration, variables
from simt.ptx.lexer import STATEMENT, PtxSyntaxError, split_top
from simt.ptx.operands import Budget, Names
from simt.ptx.strings import DebugStrings
from simt.ptx.syntax import (
    Guard,
    Instruction,
    Label,
    Location,
    Operand,
    Register,
    Symbol,
    Variable,
    Vector,
)
from simt.ptx.types import PtxType

__all__ = ["Body", "Shared", "read_body"]

# Longest chain of inlining that is kept; comparing two locations walks it.
_MAX_CHAIN = 200

_LOC = re.compile(
    r"(?a)\.loc\s++(\d{1,9})\s++(\d{1,9})(?:\s++(\d{1,9}))?\s*+"
    r"(?:,\s*+function_name\s++([\w$.]++)(?:\s*+\+\s*+(\d{1,9}))?\s*+)?"
    r"(?:,\s*+inlined_at\s++(\d{1,9})\s++(\d{1,9})\s++(\d{1,9})\s*+)?\Z"
)
_BRANCHES = frozenset(["bra", "brx"])


@dataclass(slots=True)
class _Draft:
    """An `Instruction` that isn't frozen yet: same slots, so that it turns into one by changing its class.

    A frozen dataclass takes 3.2 us to build where this takes 1.1, a fifth of all the time that reading takes.
    """

    opcode: str
    name: str
    mods: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None
    location: Location | None
    ptx_line: int

    def frozen(self) -> Instruction:
        self.__class__ = Instruction  # type: ignore[assignment]
        return self  # type: ignore[return-value]


@dataclass(slots=True)
class Shared:
    """What the bodies of one file have in common: split opcodes, the strings that `.loc` names, the budget."""

    strings: DebugStrings
    budget: Budget
    opcodes: dict[str, tuple[str, tuple[str, ...]]] = field(default_factory=dict)


@dataclass(slots=True)
class Body:
    """What a function body holds, as it is read; `code` becomes `Function.body`."""

    registers: dict[str, PtxType]
    code: list[Instruction | Label] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Scope:
    """Labels of an open `{ }`, and the jumps in it whose target may still be declared: positions in `Body.code`."""

    labels: dict[str, str] = field(default_factory=dict)
    jumps: list[int] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)


class _Reader:
    """State of one body: where it is, the open scopes, and the locations that a chain of inlining may refer to."""

    def __init__(self, body: Body, line: int, shared: Shared) -> None:
        self.body = body
        self.names = Names(body.registers, shared.budget)
        self.names.line = line
        self.opcodes = shared.opcodes
        self.strings = shared.strings
        self.location: Location | None = None
        self.scopes = [_Scope()]
        self._latest: dict[tuple[int, int, int], Location] = {}
        self._locations: dict[str, tuple[Location, bool]] = {}

    def error(self, message: str) -> PtxSyntaxError:
        return self.names.error(message)

    def instruction(self, negated: str, guard: str | None, opcode: str, rest: str) -> Instruction:
        names = self.names
        parts = self.opcodes.get(opcode)
        if parts is None:
            first, *mods = opcode.split(".")
            parts = self.opcodes[opcode] = (first, tuple(mods))
        name = parts[0]
        if name == "call":
            operands = self.call(rest)
        elif not rest:
            operands = ()
        elif "{" in rest or "(" in rest:
            operands = names.operands(rest)
        else:
            get, parse = names.cache.get, names.operand
            try:
                operands = tuple([get(piece) or parse(piece) for piece in rest.replace(", ", ",").split(",")])
            except PtxSyntaxError:
                if "[" not in rest:
                    raise
                operands = names.operands(rest)  # `[a, b]`: a comma that parts no operands
        if name in _BRANCHES and len(self.scopes) > 1:
            self.scopes[-1].jumps.append(len(self.body.code))
        found = None
        if guard is not None:
            found = Guard(names.register(guard), bool(negated))
        return _Draft(opcode, name, parts[1], operands, found, self.location, names.line).frozen()

    def call(self, rest: str) -> tuple[Operand, ...]:
        """`(r), f, (a, b), prototype` with every list made explicit."""
        pieces = split_top(rest)
        if not pieces or not pieces[0]:
            raise self.error("`call` names no function")
        returns = self.list(pieces.pop(0)) if pieces[0][0] == "(" else Vector(())
        callee = self.names.operand(pieces.pop(0)) if pieces else None
        if not isinstance(callee, Register | Symbol):
            raise self.error("`call` names no function")
        arguments = self.list(pieces.pop(0)) if pieces and pieces[0][:1] == "(" else Vector(())
        prototypes = [self.names.operand(piece) for piece in pieces]
        if len(prototypes) > 1:
            raise self.error("`call` has too many operands")
        return (returns, callee, arguments, *prototypes)

    def list(self, text: str) -> Vector:
        if text[-1] != ")":
            raise self.error("a list of `call` isn't closed")
        return Vector(self.names.operands(text[1:-1]))

    def other(self, kind: int, match: re.Match[str]) -> None:
        """A statement that is no instruction; `kind` is a group of `STATEMENT`."""
        if kind == 5:
            self.label(match[5])
        elif kind == 6:
            self.set_location(match[6])
        elif kind == 7:
            self.open()
        elif kind == 8:
            self.close()
        elif kind == 10:
            self.directive(match[9], match[10])
        else:
            start = match.start(kind)
            raise self.error(f"can't read `{match.string[start : start + 40].split(chr(10))[0]}`")

    def label(self, name: str) -> None:
        scope = self.scopes[-1]
        if name in scope.labels:
            raise self.error(f"label `{name}` is declared twice in one scope")
        scope.labels[name] = unique = self.names.declare(name)
        self.body.code.append(Label(unique))

    def set_location(self, text: str) -> None:
        text = text.rstrip()
        match = _LOC.match(text)
        if match is None:
            raise self.error(f"`{text[:60]}` is no location")
        file, line, column, function, offset, *site = match.groups()
        key = (int(file), int(line), int(column or 0))
        location, is_site = self._locations.get(text, (None, False))
        parent = None
        if site[0]:
            at = (int(site[0]), int(site[1]), int(site[2]))
            parent = self._latest.get(at) or Location(*at)
            if location is not None and parent is not self.location:
                parent = location.inlined_at  # a chain is spelt out once: without it the place is the one of before
        if location is None or location.inlined_at is not parent:
            name = self.strings.at(function, int(offset or 0)) if function else None
            location = Location(*key, name, parent)
            is_site = not _has(parent, key)
            self._locations[text] = location, is_site
        self.location = location
        if is_site:
            self._latest[key] = location

    def directive(self, name: str, rest: str) -> None:
        if name == "pragma":
            return
        if name in ("branchtargets", "calltargets", "callprototype"):
            self.labelled(name, rest.strip())
            return
        names = self.names
        found = declaration(f".{name}{rest}", names.line)
        if found.space == "reg":
            if found.lanes > 1:
                raise self.error("vector registers aren't supported")
            for item in found.declarators:
                if item.dims:
                    raise self.error(f"register `{item.name}` has an array size")
                names.declare_register(item.name, found.type, item.count)
            return
        for variable in variables(found, names.line):
            self.body.variables.append(replace(variable, name=names.declare(variable.name)))

    def labelled(self, name: str, rest: str) -> None:
        """A directive that belongs to the label before it, which is then no place to jump to."""
        code = self.body.code
        if not code or not isinstance(code[-1], Label):
            raise self.error(f"`.{name}` needs a label")
        label = code.pop().name
        if name == "callprototype":
            self.body.prototypes[label] = rest
            return
        targets = tuple([target.strip() for target in rest.split(",")])
        self.body.branch_targets[label] = targets
        if name == "branchtargets":
            self.scopes[-1].lists.append(label)

    def open(self) -> None:
        self.names.open()
        self.scopes.append(_Scope())

    def close(self) -> None:
        """Ends a scope: its labels are all known, so jumps to them get their unique names; others wait outside."""
        self.names.close()
        scope = self.scopes.pop()
        outer = self.scopes[-1]
        code, targets = self.body.code, self.body.branch_targets
        for position in scope.jumps:
            code[position] = _renamed(code[position], scope.labels)
        for label in scope.lists:
            targets[label] = tuple([scope.labels.get(target, target) for target in targets[label]])
        if len(self.scopes) > 1:
            outer.jumps += scope.jumps
            outer.lists += scope.lists


def _renamed(jump: Instruction | Label, labels: dict[str, str]) -> Instruction | Label:
    if not labels or isinstance(jump, Label):
        return jump
    operands = tuple(
        [
            Symbol(labels[item.name], item.offset) if isinstance(item, Symbol) and item.name in labels else item
            for item in jump.operands
        ]
    )
    return replace(jump, operands=operands)


def _has(location: Location | None, key: tuple[int, int, int]) -> bool:
    """Whether `key` is a place of the chain, or the chain is at its longest.

    Such a place can't be what a later `inlined_at` means: recursion inlined into itself would make the chain endless.
    """
    for _ in range(_MAX_CHAIN):
        if location is None:
            return False
        if (location.file, location.line, location.column) == key:
            return True
        location = location.inlined_at
    return True


def read_body(
    text: str,
    span: tuple[int, int],
    line: int,
    registers: dict[str, PtxType],
    params: Iterable[str],
    shared: Shared,
) -> Body:
    """Reads `text[span]`, what stands between the braces of a function that begins in `line`.

    Args:
        registers: registers among the parameters; the body's are added.
        params: names of the parameters and results, so that a body can't declare them again.
    """
    reader = _Reader(Body(registers), line, shared)
    names, append, build = reader.names, reader.body.code.append, reader.instruction
    for name in params:
        names.declare(name)
    count, last = text.count, span[0]
    for match in STATEMENT.finditer(text, *span):
        kind = match.lastindex
        if kind is None:
            break
        start = match.start(kind)
        if start > last:
            names.line += count("\n", last, start)
            last = start
        if kind == 4:
            append(build(match[1], match[2], match[3], match[4].rstrip()))
        else:
            reader.other(kind, match)
    if len(reader.scopes) > 1:
        raise reader.error("'{' without '}'")
    return reader.body
