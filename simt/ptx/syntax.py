"""The parsed form of PTX: plain frozen values, no behaviour.

Nothing here knows what an instruction means; `simt.isa` does. Register names are unique inside a function: the
parser renames registers of inner `{ }` scopes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from simt.ptx.types import PtxType

__all__ = [
    "Address",
    "Function",
    "Guard",
    "Immediate",
    "Instruction",
    "Label",
    "Location",
    "Module",
    "Operand",
    "Pair",
    "Register",
    "Sink",
    "Special",
    "Symbol",
    "Variable",
    "Vector",
]


@dataclass(frozen=True, slots=True)
class Location:
    """Where an instruction comes from: a `.loc` with its chain of inlining.

    `inlined_at` is the call site; the outermost location of the chain lies in the kernel itself.
    """

    file: int
    line: int
    column: int
    function: str | None = None
    inlined_at: Location | None = None


@dataclass(frozen=True, slots=True)
class Register:
    name: str  # "%r1"
    negated: bool = False  # "!%p1"


@dataclass(frozen=True, slots=True)
class Immediate:
    """A literal. `value` is an int for integers, else the bits of the float: `kind` is int, f32 or f64."""

    kind: str
    value: int


@dataclass(frozen=True, slots=True)
class Special:
    name: str  # "%tid.x", "%laneid", "%clock64"


@dataclass(frozen=True, slots=True)
class Symbol:
    """A variable, function, parameter or label by name, plus a constant byte offset (`mov %rd, table+8`)."""

    name: str
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Address:
    """`[base+offset]`; base is a register, a variable or parameter, or None for an absolute address.

    `extra` holds what else stands in the brackets, such as tensor coordinates: `[map, {x, y}]`.
    """

    base: Register | Symbol | None
    offset: int = 0
    extra: tuple[Operand, ...] = ()


@dataclass(frozen=True, slots=True)
class Vector:
    """`{a, b, c, d}`."""

    items: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """`d|p`: a value and a predicate written together."""

    first: Register | Sink
    second: Register | Sink


@dataclass(frozen=True, slots=True)
class Sink:
    """`_`: a result nobody wants."""


Operand = Register | Immediate | Special | Symbol | Address | Vector | Pair | Sink


@dataclass(frozen=True, slots=True)
class Guard:
    register: str
    negated: bool


@dataclass(frozen=True, slots=True)
class Instruction:
    """One statement: `@!%p1 ld.global.v4.f32 {...}, [%rd1+16];`.

    `opcode` is the whole dotted name, `name` its first part, `mods` the rest in order. A call keeps its callee, return
    and argument lists in `operands` as
    (Vector(returns), Symbol(callee) or Register, Vector(arguments)[, Symbol(prototype)]).
    """

    opcode: str
    name: str
    mods: tuple[str, ...]
    operands: tuple[Operand, ...]
    guard: Guard | None = None
    location: Location | None = None
    ptx_line: int = 0


@dataclass(frozen=True, slots=True)
class Label:
    name: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A declared variable in some state space.

    `space` is global, const, shared, local or param. `count` is the number of elements (1 for a scalar, 0 for an
    unsized extern array); `init` holds the little-endian bytes of the initialiser or b"". `relocations` are
    (byte offset, symbol, addend) of initialisers that hold addresses.
    """

    space: str
    type: PtxType
    name: str
    align: int
    count: int
    init: bytes = b""
    extern: bool = False
    relocations: tuple[tuple[int, str, int], ...] = ()

    @property
    def n_bytes(self) -> int:
        return self.type.n_bytes * self.count


@dataclass(frozen=True, slots=True)
class Function:
    """An `.entry` or `.func`; `body` is None for a declaration.

    `directives` holds performance directives such as ("maxntid", (256, 1, 1)); `branch_targets` the lists that
    `brx.idx` names; `prototypes` the `.callprototype` texts by label.
    """

    name: str
    is_entry: bool
    params: tuple[Variable, ...]
    returns: tuple[Variable, ...]
    registers: dict[str, PtxType]
    variables: tuple[Variable, ...]
    body: tuple[Instruction | Label, ...] | None
    directives: dict[str, tuple[int, ...]] = field(default_factory=dict)
    branch_targets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    prototypes: dict[str, str] = field(default_factory=dict)
    ptx_line: int = 0


@dataclass(frozen=True, slots=True)
class Module:
    """A whole PTX file. `files` maps the index in `.loc` to its path."""

    version: tuple[int, int]
    target: str
    address_bits: int
    files: dict[int, str]
    variables: dict[str, Variable]
    functions: dict[str, Function]
