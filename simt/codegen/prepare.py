"""PTX → PTX: what is easier to translate after being written another way.

Calls of functions with a body are inlined with fresh names, but for recursive ones (`recursion`); `.param` variables of
call sequences become registers (or local variables where their address is taken or their accesses overlap unevenly); a
reducing barrier becomes a barrier and `barrier_result`; `vprintf` and `__assertfail` become the pseudo-instructions
`call.vprintf` and `call.assertfail`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from simt.codegen.recursion import call_sequence, entry_label, expand, recursive_functions
from simt.codegen.unsupported import Unsupported
from simt.ptx.syntax import (
    Address,
    Function,
    Guard,
    Instruction,
    Label,
    Module,
    Operand,
    Pair,
    Register,
    Sink,
    Symbol,
    Variable,
    Vector,
)
from simt.ptx.types import TYPES, PtxType

__all__ = ["Unsupported", "prepare"]

MAX_INSTRUCTIONS = 150_000  # after inlining: half a minute of translation
MAX_DEPTH = 200  # of calls that are inlined into each other
RUNTIME = {"vprintf": "call.vprintf", "__assertfail": "call.assertfail"}


@dataclass
class Body:
    """A function under rewriting."""

    registers: dict[str, PtxType]
    variables: list[Variable]
    body: list[Instruction | Label]
    inlined: int = 0
    recursive: frozenset[str] = frozenset()  # functions that become stretches of their own
    wanted: list[str] = field(default_factory=list)  # those that are called, in the order they are met
    region: str = ""  # the one that is being written, "" for the kernel
    owners: dict[str, str] = field(default_factory=dict)  # local variable -> the recursive function it belongs to


def prepare(module: Module, kernel: Function) -> Function:
    """The kernel with every call inlined and every `.param` variable of a call gone."""
    work = Body(dict(kernel.registers) | {"%cc": TYPES["pred"]}, list(kernel.variables), [])
    work.recursive = recursive_functions(module, kernel.name)
    _inline(module, kernel, work, list(kernel.body or ()), (kernel.name,))
    for name in work.wanted:  # grows while it is gone through
        _stretch(module, kernel, work, module.functions[name])
    _split_guarded_barriers(work)
    _split_reductions(work)
    _lower_params(work)
    targets = dict(kernel.branch_targets)
    if work.wanted:
        returns = {row.name + _tag(name) for name in work.wanted for row in module.functions[name].returns}
        targets |= expand(work, kernel, returns)
    return replace(
        kernel, registers=work.registers, variables=tuple(work.variables), body=tuple(work.body), branch_targets=targets
    )


# --- calls


def _inline(module: Module, kernel: Function, work: Body, body: list, path: tuple[str, ...]) -> None:
    for item in body:
        if isinstance(item, Instruction) and item.name == "call":
            _call(module, kernel, work, item, path)
        else:
            work.body.append(item)
        if len(work.body) > MAX_INSTRUCTIONS:
            raise Unsupported(f"more than {MAX_INSTRUCTIONS} instructions after inlining", None)


def _call(module: Module, kernel: Function, work: Body, call: Instruction, path: tuple[str, ...]) -> None:
    returns, callee, arguments = call.operands[:3]
    if not isinstance(callee, Symbol):
        raise Unsupported("call through a function pointer", call)
    if callee.name in RUNTIME:
        operands = (*returns.items, *arguments.items)
        work.body.append(
            replace(call, opcode=RUNTIME[callee.name], mods=(RUNTIME[callee.name][5:],), operands=operands)
        )
        return
    function = module.functions.get(callee.name)
    if function is None or function.body is None:
        raise Unsupported(f"call of `{callee.name}`, which has no body", call)
    if callee.name in path or len(path) > MAX_DEPTH:
        raise Unsupported(f"call of `{callee.name}`, more than {MAX_DEPTH} functions deep", call)
    if len(returns.items) != len(function.returns) or len(arguments.items) != len(function.params):
        raise Unsupported(f"`{callee.name}` called with another number of parameters", call)
    work.inlined += 1
    tag = f"${work.inlined}"
    end = f"$return{tag}"
    if call.guard is not None:
        skip = Guard(call.guard.register, not call.guard.negated)
        work.body.append(Instruction("bra", "bra", (), (Symbol(end),), skip, call.location, call.ptx_line))
    if callee.name in work.recursive:
        if callee.name not in work.wanted:
            work.wanted.append(callee.name)
        work.body += [*call_sequence(work, call, function, _tag(callee.name)), Label(end)]
        return
    names = _bind(function, returns, arguments, work, tag)
    renamed = [_rename(item, function, names, tag, end) for item in function.body]
    _inline(module, kernel, work, renamed, (*path, callee.name))
    work.body.append(Label(end))


def _tag(name: str) -> str:
    """What sets the names of a recursive function's one copy apart."""
    return f"$of${name}"


def _stretch(module: Module, kernel: Function, work: Body, function: Function) -> None:
    """The one copy of a recursive function, behind all that stands so far."""
    tag, work.region = _tag(function.name), function.name
    for row in (*function.returns, *function.params):
        work.variables.append(replace(row, name=row.name + tag))
    formals = [Symbol(row.name + tag) for row in (*function.returns, *function.params)]
    n_returns = len(function.returns)
    names = _bind(function, Vector(tuple(formals[:n_returns])), Vector(tuple(formals[n_returns:])), work, tag)
    end = f"$leave{tag}"
    work.body.append(Label(entry_label(function.name)))
    renamed = [_rename(item, function, names, tag, end) for item in function.body or ()]
    _inline(module, kernel, work, renamed, (kernel.name,))
    first = next((item for item in function.body or () if isinstance(item, Instruction)), None)
    at = (first.location, first.ptx_line) if first else (None, function.ptx_line)
    work.body += [Label(end), Instruction("subret", "subret", (), (Symbol(function.name),), None, *at)]


def _bind(function: Function, returns: Vector, arguments: Vector, work: Body, tag: str) -> dict[str, Operand]:
    """What the callee's parameter names stand for, and its own registers and variables under new names."""
    names: dict[str, Operand] = {}
    formal = (*function.returns, *function.params)
    actual = (*returns.items, *arguments.items)
    for variable, operand in zip(formal, actual, strict=True):
        names[variable.name] = operand
    for name, kind in function.registers.items():
        if name not in names:
            work.registers[name + tag] = kind
    for variable in function.variables:
        if variable.space in ("local", "param"):
            work.variables.append(replace(variable, name=variable.name + tag))
            names[variable.name] = Symbol(variable.name + tag)
            if work.region:
                work.owners[variable.name + tag] = work.region
        elif all(variable.name != known.name for known in work.variables):
            work.variables.append(variable)
    return names


def _rename(item, function: Function, names: dict[str, Operand], tag: str, end: str):
    if isinstance(item, Label):
        return Label(item.name + tag)
    guard = item.guard and Guard(_register_name(item.guard.register, names, tag), item.guard.negated)
    if item.name == "ret":
        return Instruction("bra", "bra", (), (Symbol(end),), guard, item.location, item.ptx_line)
    if item.name in ("bra", "brx"):
        labels = tuple(
            Symbol(o.name + tag) if isinstance(o, Symbol) else _operand(o, names, tag) for o in item.operands
        )
        return replace(item, operands=labels, guard=guard)
    return replace(item, operands=tuple(_operand(o, names, tag) for o in item.operands), guard=guard)


def _register_name(name: str, names: dict[str, Operand], tag: str) -> str:
    bound = names.get(name)
    return bound.name if isinstance(bound, Register) else name + tag


def _operand(operand: Operand, names: dict[str, Operand], tag: str) -> Operand:
    match operand:
        case Register(name, negated):
            bound = names.get(name)
            if bound is None:
                return Register(name + tag, negated)
            return replace(bound, negated=negated) if isinstance(bound, Register) else bound
        case Symbol(name, offset) if name in names and isinstance(names[name], Symbol):
            return Symbol(names[name].name, names[name].offset + offset)
        case Address(base, offset, extra):
            return Address(
                None if base is None else _operand(base, names, tag),
                offset,
                tuple(_operand(e, names, tag) for e in extra),
            )
        case Vector(items):
            return Vector(tuple(_operand(i, names, tag) for i in items))
        case Pair(first, second):
            return Pair(_operand(first, names, tag), _operand(second, names, tag))
    return operand


# --- barriers


def _split_guarded_barriers(work: Body) -> None:
    """`@%p bar.sync 0` becomes a jump around the barrier: lanes that wait and lanes that go on must part."""
    out: list[Instruction | Label] = []
    for item in work.body:
        if (
            isinstance(item, Instruction)
            and item.guard
            and item.name in ("bar", "barrier")
            and "arrive" not in item.mods
        ):
            end = Label(f"$past{len(out)}")
            skip = Guard(item.guard.register, not item.guard.negated)
            out.append(Instruction("bra", "bra", (), (Symbol(end.name),), skip, item.location, item.ptx_line))
            out += [replace(item, guard=None), end]
        else:
            out.append(item)
    work.body = out


def _split_reductions(work: Body) -> None:
    """`bar.red.popc.u32 %r, 0, %p` becomes the barrier itself and `barrier_result.popc %r`, read after the release."""
    out: list[Instruction | Label] = []
    for item in work.body:
        if isinstance(item, Instruction) and item.name in ("bar", "barrier") and "red" in item.mods:
            kind = next(m for m in item.mods if m in ("popc", "and", "or"))
            out.append(replace(item, operands=item.operands[1:]))
            name = "barrier_result"
            out.append(replace(item, opcode=f"{name}.{kind}", name=name, mods=(kind,), operands=item.operands[:1]))
        else:
            out.append(item)
    work.body = out


# --- parameters of calls


def _lower_params(work: Body) -> None:
    params = {v.name: v for v in work.variables if v.space == "param"}
    if not params:
        return
    in_memory = _kept_in_memory(work.body, params)
    out: list[Instruction | Label] = []
    for item in work.body:
        out.extend(_param_access(item, params, in_memory, work) if isinstance(item, Instruction) else [item])
    work.body = out
    work.variables = [
        replace(v, space="local", align=max(v.align, 8)) if v.name in in_memory else v
        for v in work.variables
        if v.space != "param" or v.name in in_memory
    ]


def _base(item: Instruction, params: dict[str, Variable]) -> Address | None:
    """The address of a `.param` variable that an ld or st reaches, if it does."""
    for operand in item.operands:
        if isinstance(operand, Address) and isinstance(operand.base, Symbol) and operand.base.name in params:
            return operand
    return None


def _kept_in_memory(body, params: dict[str, Variable]) -> set[str]:
    """Parameters whose address is taken or whose accesses differ in offset and size."""
    pieces: dict[str, dict[int, int]] = {}
    kept: set[str] = set()
    for item in body:
        if isinstance(item, Label):
            continue
        address = _base(item, params)
        if address is None:
            if not item.name == "call":
                kept |= {o.name for o in item.operands if isinstance(o, Symbol) and o.name in params}
            continue
        size, count = _size(item), _count(item)
        for index in range(count):
            offset = address.offset + address.base.offset + index * size
            if pieces.setdefault(address.base.name, {}).setdefault(offset, size) != size:
                kept.add(address.base.name)
    for name, known in pieces.items():
        ends = sorted(known.items())
        if any(a + size > b for (a, size), (b, _) in zip(ends, ends[1:], strict=False)):
            kept.add(name)
    return kept


def _size(item: Instruction) -> int:
    return TYPES[item.mods[-1]].n_bytes


def _count(item: Instruction) -> int:
    return next((int(m[1:]) for m in item.mods if m in ("v2", "v4", "v8")), 1)


def _param_access(item: Instruction, params, in_memory: set[str], work: Body) -> list[Instruction]:
    if item.opcode in RUNTIME.values():
        operands = tuple(
            _piece(o.name, 0, 8 if i else 4, work) if isinstance(o, Symbol) and o.name in params else o
            for i, o in enumerate(item.operands)
        )
        return [replace(item, operands=operands)]
    address = _base(item, params)
    if address is None:
        return [item]
    name, offset = address.base.name, address.offset + address.base.offset
    if name in in_memory:
        mods = tuple("local" if m.startswith("param") else m for m in item.mods)
        return [replace(item, opcode=".".join((item.name, *mods)), mods=mods)]
    kind = TYPES[item.mods[-1]]
    moves = []
    values = [o for o in item.operands if o is not address][0]
    for index, value in enumerate(values.items if isinstance(values, Vector) else (values,)):
        piece = _piece(name, offset + index * kind.n_bytes, kind.n_bytes, work)
        pair = (value, piece) if item.name == "ld" else (piece, value)
        if isinstance(pair[0], Sink):
            continue
        opcode = f"mov.param.{kind.name}"
        moves.append(replace(item, opcode=opcode, name="mov", mods=("param", kind.name), operands=pair))
    return moves


def _piece(name: str, offset: int, size: int, work: Body) -> Register:
    register = f"%{name}+{offset}"
    work.registers.setdefault(register, TYPES[f"b{8 * max(size, 2)}" if size < 4 else f"b{8 * size}"])
    return Register(register)
