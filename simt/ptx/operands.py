"""Operand text → `Operand`, inside the scopes of one function.

Names of an inner `{ }` scope get the suffix `@N`, N the scope's number: "@" can't stand in a PTX name, so the result
is unique. Names declared at the top of the function keep their spelling.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from simt.ptx.lexer import PtxSyntaxError, integer, literal, split_top
from simt.ptx.syntax import (
    Address,
    Immediate,
    Operand,
    Pair,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
)
from simt.ptx.types import PtxType

__all__ = ["SPECIALS", "Budget", "Names"]

MAX_DEPTH = 64

_VECTOR_SPECIALS = (
    "tid", "ntid", "ctaid", "nctaid", "clusterid", "nclusterid", "cluster_ctaid", "cluster_nctaid",
)  # fmt: skip
_SCALAR_SPECIALS = (
    "laneid", "warpid", "nwarpid", "smid", "nsmid", "gridid", "is_explicit_cluster", "cluster_ctarank",
    "cluster_nctarank", "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt", "clock", "clock_hi",
    "clock64", "globaltimer", "globaltimer_lo", "globaltimer_hi", "reserved_smem_offset_begin",
    "reserved_smem_offset_end", "reserved_smem_offset_cap", "total_smem_size", "aggr_smem_size", "dynamic_smem_size",
    "current_graph_exec",
)  # fmt: skip
# PTX ISA, "Special Registers".
SPECIALS = frozenset(
    [f"%{name}" for name in _SCALAR_SPECIALS]
    + [f"%{name}{axis}" for name in _VECTOR_SPECIALS for axis in ("", ".x", ".y", ".z", ".w")]
    + [f"%envreg{number}" for number in range(32)]
    + [f"%pm{number}{width}" for number in range(8) for width in ("", "_64")]
    + [f"%reserved_smem_offset_{number}" for number in range(2)]
)

_SINK = Sink()
_WARP_SIZE = Immediate("int", 32)
_NAME = re.compile(r"(?a)[%A-Za-z_$][\w$]*+(?:\.[xyzw])?\Z")
_BASE_OFFSET = re.compile(r"(?a)\s*+([%A-Za-z_$][\w$.]*+)\s*+(?:([+-])\s*+(-?)\s*+(\w++)\s*+)?\Z")


@dataclass(slots=True)
class Budget:
    """How many more registers the file may declare: `.reg .b32 %r<999999999>` must not cost what it says."""

    registers: int


@dataclass(slots=True)
class _Scope:
    """One `{ }`: `suffix` makes its names unique; `cache` maps operand text; it is the outer one until it `owns` one.

    `n_declared` entries of an own cache come from declarations, the others from text that was asked for.
    """

    suffix: str
    cache: dict[str, Operand]
    owns: bool = False
    n_declared: int = 0
    names: dict[str, str] = field(default_factory=dict)


class Names:
    """The scopes of one function while its body is read: declarations, renaming and a cache of operands."""

    def __init__(self, registers: dict[str, PtxType], budget: Budget) -> None:
        self.registers = registers
        self.budget = budget
        self.line = 0
        self.cache: dict[str, Operand] = {}
        self._scopes = [_Scope("", self.cache, owns=True)]
        self._n_scopes = 0

    def error(self, message: str) -> PtxSyntaxError:
        return PtxSyntaxError(message, self.line)

    def open(self) -> None:
        if len(self._scopes) > MAX_DEPTH:
            raise self.error(f"more than {MAX_DEPTH} nested scopes")
        self._n_scopes += 1
        self._scopes.append(_Scope(f"@{self._n_scopes}", self.cache))

    def close(self) -> None:
        if len(self._scopes) == 1:
            raise self.error("'}' without '{'")
        self._scopes.pop()
        self.cache = self._scopes[-1].cache

    def declare(self, name: str) -> str:
        """The unique name of `name`, new in the innermost scope."""
        # At the top a name keeps its spelling, so what is cached stays right; this spares the cache at every label.
        scope = self._fresh() if len(self._scopes) > 1 else self._scopes[0]
        if name in scope.names:
            raise self.error(f"`{name}` is declared twice in one scope")
        scope.names[name] = unique = name + scope.suffix
        return unique

    def declare_register(self, name: str, kind: PtxType, count: int | None = None) -> None:
        """Declares one register, or with `count` the range `name0 … name(count-1)`."""
        self.budget.registers -= 1 if count is None else count
        if self.budget.registers < 0:
            raise self.error("more registers are declared than the file can use")
        scope = self._fresh()
        names = [name] if count is None else [f"{name}{index}" for index in range(count)]
        if not scope.names.keys().isdisjoint(names):
            raise self.error(f"a register `{name}` is declared twice in one scope")
        unique = [name + scope.suffix for name in names] if scope.suffix else names
        scope.names.update(zip(names, unique))
        scope.cache.update(zip(names, map(Register, unique)))
        scope.n_declared = len(scope.cache)
        self.registers.update(dict.fromkeys(unique, kind))

    def _fresh(self) -> _Scope:
        """The innermost scope with nothing in its cache that a new name could change."""
        scope = self._scopes[-1]
        if not scope.owns or len(scope.cache) != scope.n_declared:
            scope.owns, scope.n_declared = True, 0
            self.cache = scope.cache = {}
        return scope

    def resolve(self, name: str) -> str:
        """The unique name that `name` means here; itself when no scope declares it."""
        for scope in reversed(self._scopes):
            if name in scope.names:
                return scope.names[name]
        return name

    def register(self, name: str) -> str:
        """The unique name of a register, as a guard writes it."""
        unique = self.resolve(name)
        if unique not in self.registers:
            raise self.error(f"register `{name}` isn't declared")
        return unique

    def operand(self, text: str) -> Operand:
        """The operand that `text` writes; kept in the scope's cache."""
        found = self.cache.get(text)
        if found is None:
            found = self.cache[text] = self._parse(text.strip())
        return found

    def operands(self, text: str) -> tuple[Operand, ...]:
        """The operands of a comma list that may hold vectors and addresses with commas."""
        pieces = split_top(text)
        if pieces is None:
            raise self.error(f"unbalanced brackets in `{_short(text)}`")
        if pieces == [""]:
            return ()
        operand = self.operand
        return tuple([operand(piece) for piece in pieces])

    def _parse(self, text: str) -> Operand:
        first = text[:1]
        if first == "[":
            return self._address(text)
        if first == "{":
            return self._vector(text)
        if first == "!":
            return Register(self.register(text[1:].strip()), negated=True)
        if "|" in text:
            return self._pair(text)
        if first.isdigit() or first in "+-.":
            found = literal(text) if first else None
            if found is None:
                raise self.error(f"`{_short(text)}` is no number" if text else "an operand is missing")
            return found
        return self._named(text)

    def _named(self, text: str) -> Operand:
        if not _NAME.match(text):
            return self._offset_symbol(text)
        if text == "_":
            return _SINK
        unique = self.resolve(text)
        if unique in self.registers:
            return Register(unique)
        if text in SPECIALS:
            return Special(text)
        if text == "WARP_SZ":
            return _WARP_SIZE
        if text[0] == "%":
            raise self.error(f"register `{text}` isn't declared")
        return Symbol(unique)

    def _offset_symbol(self, text: str) -> Symbol:
        name, offset = self._base_offset(text)
        if self.resolve(name) in self.registers or name[0] == "%":
            raise self.error(f"`{_short(text)}` is no operand: an offset may follow a variable only")
        return Symbol(self.resolve(name), offset)

    def _base_offset(self, text: str) -> tuple[str, int]:
        match = _BASE_OFFSET.match(text)
        if match is None:
            raise self.error(f"`{_short(text)}` is no operand")
        return match[1], self._offset(match)

    def _offset(self, match: re.Match[str]) -> int:
        _, sign, minus, digits = match.groups()
        if digits is None:
            return 0
        offset = integer(digits)
        if offset is None:
            raise self.error(f"`{_short(digits)}` is no offset")
        return -offset if (sign == "-") != (minus == "-") else offset

    def _address(self, text: str) -> Address:
        if text[-1] != "]":
            raise self.error(f"`{_short(text)}` has no closing ']'")
        inner = text[1:-1]
        extra: tuple[Operand, ...] = ()
        if "," in inner:
            pieces = split_top(inner)
            if pieces is None:
                raise self.error(f"unbalanced brackets in `{_short(text)}`")
            inner, rest = pieces[0], pieces[1:]
            if any(piece[:1] == "[" for piece in rest):
                raise self.error(f"an address stands inside the address `{_short(text)}`")
            extra = tuple([self.operand(piece) for piece in rest])
        match = _BASE_OFFSET.match(inner)
        if match is None:
            number = integer(inner.strip())
            if number is None:
                raise self.error(f"`{_short(text)}` is no address")
            return Address(None, number, extra)
        name, offset = match[1], self._offset(match)
        unique = self.resolve(name)
        if unique in self.registers:
            return Address(Register(unique), offset, extra)
        if name[0] == "%":
            raise self.error(f"register `{name}` isn't declared")
        return Address(Symbol(unique), offset, extra)

    def _vector(self, text: str) -> Vector:
        inner = text[1:-1]
        if text[-1] != "}" or "{" in inner or "[" in inner:
            raise self.error(f"`{_short(text)}` is no vector")
        if not inner.strip():
            return Vector(())
        operand = self.operand
        return Vector(tuple([operand(item) for item in inner.split(",")]))

    def _pair(self, text: str) -> Pair:
        halves = [self._named(half.strip()) if half.strip() else None for half in text.split("|")]
        if len(halves) != 2:
            raise self.error(f"`{_short(text)}` is no pair `d|p`")
        first, second = halves
        if not isinstance(first, Register | Sink) or not isinstance(second, Register | Sink):
            raise self.error(f"`{_short(text)}` must pair two registers")
        return Pair(first, second)


def _short(text: str) -> str:
    text = " ".join(text[:200].split())
    return text if len(text) <= 60 else text[:57] + "..."
