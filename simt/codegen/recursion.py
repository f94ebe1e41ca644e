"""Functions that call themselves: one copy each in the kernel, with a stack in local memory.

Other calls are inlined. A recursive function becomes a stretch of the kernel that is jumped to: the caller moves arguments
into the registers of the function's parameters, saves what it still needs and the number of its call on the thread's stack,
and jumps; the function's end takes the number back and jumps behind that call (`brx.idx`), where lanes of different depth meet
again as they do at any block. The function's own local arrays lie on the stack too, so each activation has its own.

The pseudo-instruction `subcall` stands for the jump until liveness is known, `stack_check` ends a launch whose stack is full.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from simt.codegen.unsupported import Unsupported
from simt.engine.state import STACK_BYTES
from simt.ptx.cfg import build
from simt.ptx.liveness import liveness
from simt.ptx.reach import reachable
from simt.ptx.syntax import (
    Address,
    Function,
    Immediate,
    Instruction,
    Label,
    Module,
    Operand,
    Register,
    Symbol,
    Variable,
    Vector,
)
from simt.ptx.types import TYPES, PtxType
from simt.ptx.usedef import defs, uses

if TYPE_CHECKING:
    from simt.codegen.prepare import Body

__all__ = ["STACK_NAME", "call_sequence", "entry_label", "expand", "recursive_functions"]

STACK_NAME = "$stack"
POINTER = "%stack"  # the free end of the thread's stack, an address in local memory
_SITE = "%call_site"
_SLOT = 8  # bytes of a saved register
_ALIGN = 16
_COPIES = "%copied"


def recursive_functions(module: Module, kernel: str) -> frozenset[str]:
    """Functions that the kernel reaches and that reach themselves by calls."""
    if not _called(module.functions[kernel]):
        return frozenset()
    names = reachable(module, kernel).functions
    calls = {name: _called(module.functions[name]) for name in names}
    found = set()
    for name in names:
        seen, pending = set(), list(calls[name])
        while pending:
            target = pending.pop()
            if target not in seen:
                seen.add(target)
                pending += calls.get(target, ())
        if name in seen:
            found.add(name)
    return frozenset(found)


def _called(function: Function) -> set[str]:
    calls = (i for i in function.body or () if isinstance(i, Instruction) and i.name == "call")
    return {i.operands[1].name for i in calls if isinstance(i.operands[1], Symbol)}


def entry_label(name: str) -> str:
    """The label at which a function that calls itself begins."""
    return f"$enter${name}"


def _made(like: Instruction, opcode: str, *operands: Operand) -> Instruction:
    """An instruction at the place of another."""
    name, *mods = opcode.split(".")
    return Instruction(opcode, name, tuple(mods), tuple(operands), None, like.location, like.ptx_line)


def call_sequence(work: Body, call: Instruction, function: Function, tag: str) -> Iterator[Instruction]:
    """Arguments into the parameters of the one copy of `function`, the call, and results out of it.

    Raises:
        Unsupported: a parameter that is no `.param` variable, or another number of them.
    """
    returns, _, arguments = call.operands[:3]
    if len(returns.items) != len(function.returns) or len(arguments.items) != len(function.params):
        raise Unsupported(f"`{function.name}` called with another number of parameters", call)
    number = Immediate("int", len(work.registers))  # tells this call from others
    yield _made(
        call, "subsave", Symbol(function.name), number
    )  # before the parameters of an outer activation are overwritten
    for formal, actual in zip(function.params, arguments.items, strict=True):
        yield from _copy(work, call, formal, actual, formal.name + tag, into=True)
    yield _made(call, "subcall", Symbol(function.name), number)
    work.registers[f"{_COPIES}{len(work.registers)}"] = TYPES["b32"]
    for formal, actual in zip(function.returns, returns.items, strict=True):
        yield from _copy(work, call, formal, actual, formal.name + tag, into=False)


def _copy(
    work: Body, call: Instruction, formal: Variable, actual: Operand, name: str, into: bool
) -> Iterator[Instruction]:
    if formal.space != "param" or not isinstance(actual, Symbol) or formal.count > 1:
        raise Unsupported("a recursive call with a parameter that is no scalar", call)
    kind = TYPES[f"b{8 * formal.type.n_bytes}"]
    register = f"{_COPIES}{len(work.registers)}"
    work.registers[register] = TYPES["b16"] if kind.bits < 16 else kind
    ends = (actual, Symbol(name)) if into else (Symbol(name), actual)
    yield _made(call, f"ld.param.{kind.name}", Register(register), Address(ends[0], 0))
    yield _made(call, f"st.param.{kind.name}", Address(ends[1], 0), Register(register))


# --- from calls to jumps


def expand(work: Body, kernel: Function, returns: set[str]) -> dict[str, tuple[str, ...]]:
    """Turns every `subcall` and the end of every recursive function into jumps; answers with the targets of `brx.idx`.

    Args:
        returns: variables in which recursive functions return.

    Raises:
        Unsupported: a result that is written before a further call.
    """
    regions, owners = _regions(work.body), work.owners
    carriers = frozenset(
        name for name in work.registers if name.startswith("%") and name[1:].rpartition("+")[0] in returns
    )
    locals_of = {name: _own_locals(work, name, owners) for name in regions if name}
    formal = [row.name for row in work.variables if row.name.endswith(tuple(f"$of${name}" for name in regions if name))]
    kept = [name for name in formal if name not in owners]
    if kept:
        first = next(item for item in work.body if isinstance(item, Instruction) and item.name == "subcall")
        raise Unsupported(f"a recursive function whose parameter `{kept[0].partition('$')[0]}` lies in memory", first)
    work.variables = [row for row in work.variables if row.name not in owners or row.space != "local"]
    work.variables.append(Variable("local", TYPES["b8"], STACK_NAME, _ALIGN, STACK_BYTES))
    work.registers |= {POINTER: TYPES["b64"], _SITE: TYPES["b32"], "%saved": TYPES["b32"]}
    sites: dict[str, list[str]] = {}
    first = next(item for item in work.body if isinstance(item, Instruction))
    body: list[Instruction | Label] = [_made(first, "mov.u64", Register(POINTER), Symbol(STACK_NAME))]
    for name, items in regions.items():
        body += _region(work, kernel, name, items, locals_of.get(name, ({}, 0)), carriers, sites)
    work.body = body
    return {_targets_of(name): tuple(labels) for name, labels in sites.items()}


def _targets_of(name: str) -> str:
    return f"$returns${name}"


def _regions(body: list[Instruction | Label]) -> dict[str, list[Instruction | Label]]:
    """The kernel's own items under "", then those of each recursive function under its name."""
    found: dict[str, list[Instruction | Label]] = {"": []}
    here = ""
    for item in body:
        if isinstance(item, Label) and item.name.startswith("$enter$"):
            here = item.name.removeprefix("$enter$")
            found[here] = []
        found[here].append(item)
    return found


def _own_locals(work: Body, name: str, owners: Mapping[str, str]) -> tuple[dict[str, int], int]:
    """(offset by local variable, bytes of all of them) of an activation."""
    places: dict[str, int] = {}
    offset = 0
    for row in work.variables:
        if owners.get(row.name) == name and row.space == "local":
            offset = -(-offset // row.align) * row.align
            places[row.name] = offset
            offset += row.n_bytes
    return places, -(-offset // _ALIGN) * _ALIGN


def _region(
    work: Body,
    kernel: Function,
    name: str,
    items: list[Instruction | Label],
    own: tuple[dict[str, int], int],
    carriers: frozenset[str],
    sites: dict[str, list[str]],
) -> Iterator[Instruction | Label]:
    places, n_bytes = own
    saved = _saved(work, kernel, items, carriers) if name else {}
    for item in items:
        if isinstance(item, Label):
            yield item
            if name and item.name == entry_label(name) and n_bytes:
                like = next(i for i in items if isinstance(i, Instruction))
                yield from _push(like, n_bytes)
        elif item.name == "subsave":
            yield from _save_all(item, saved.get(item.operands[1], ()), work.registers)
        elif item.name == "subcall":
            yield from _jump(item, saved.get(item.operands[1], ()), work.registers, sites)
        elif item.name == "subret":
            if n_bytes:
                yield _made(item, "sub.s64", Register(POINTER), Register(POINTER), Immediate("int", n_bytes))
            yield _made(item, "ld.local.u32", Register(_SITE), Address(Register(POINTER), -_SLOT))
            yield _made(item, "brx.idx", Register(_SITE), Symbol(_targets_of(name)))
        else:
            yield from _on_stack(item, places, n_bytes)
    if not name:
        yield _made(next(i for i in items if isinstance(i, Instruction)), "ret")


def _push(like: Instruction, n_bytes: int) -> Iterator[Instruction]:
    yield _made(like, "stack_check", Immediate("int", n_bytes), Register(POINTER))
    yield _made(like, "add.s64", Register(POINTER), Register(POINTER), Immediate("int", n_bytes))


def _on_stack(item: Instruction, places: Mapping[str, int], n_bytes: int) -> Iterator[Instruction]:
    """An instruction with the activation's own local variables found from the end of the stack."""

    def offset(symbol: Symbol) -> int:
        return places[symbol.name] + symbol.offset - n_bytes

    if item.name == "mov" and isinstance(item.operands[-1], Symbol) and item.operands[-1].name in places:
        bits = item.mods[-1][1:]
        away = Immediate("int", offset(item.operands[-1]))
        made = _made(item, f"add.s{bits}", item.operands[0], Register(POINTER), away)
        yield replace(made, guard=item.guard)
        return
    operands = []
    for operand in item.operands:
        base = operand.base if isinstance(operand, Address) else None
        if isinstance(base, Symbol) and base.name in places:
            assert isinstance(operand, Address)
            operand = Address(Register(POINTER), offset(base) + operand.offset, operand.extra)
        operands.append(operand)
    yield replace(item, operands=tuple(operands))


def _saved(
    work: Body, kernel: Function, items: list[Instruction | Label], carriers: frozenset[str]
) -> dict[Operand, tuple[str, ...]]:
    """For each call, by its number, what its function needs afterwards; not the registers that results travel in.

    Raises:
        Unsupported: the function's own result is set before a further call, which would overwrite it.
    """
    own = tuple(Register(name) for name in carriers if any(_writes(item, name) for item in items))
    told = [_telling(item, own, carriers) for item in items]
    cfg = build(replace(kernel, registers=work.registers, body=tuple(told)))
    live = liveness(cfg)
    found = {}
    for block in cfg.blocks:
        needed = set(live.live_out[block.index])
        behind = needed  # what is live once a call's results are taken
        for instruction in reversed(block.instructions):
            if instruction.name == "subcall":
                if any(register.name in behind for register in own):
                    raise Unsupported("a recursive function that sets its result before a further call", instruction)
                found[instruction.operands[1]] = tuple(sorted(needed - carriers - {POINTER}))
            takes_result = instruction.name == "mov" and not carriers.isdisjoint(uses(instruction))
            if instruction.guard is None:
                needed = needed - set(defs(instruction))
            needed = needed | set(uses(instruction))
            behind = behind if takes_result else needed
    return found


def _telling(item: Instruction | Label, own: tuple[Register, ...], carriers: frozenset[str]) -> Instruction | Label:
    """A call as what writes its function's results, the end as what reads its own; anything else as it is."""
    if isinstance(item, Label) or item.name not in ("subcall", "subret"):
        return item
    if item.name == "subret":
        return replace(item, operands=(Immediate("int", 0), *own))
    end = f"$of${item.operands[0].name}"
    results = tuple(Register(name) for name in sorted(carriers) if name.rpartition("+")[0].endswith(end))
    return replace(item, operands=(Vector(results), item.operands[1]))


def _writes(item: Instruction | Label, name: str) -> bool:
    return isinstance(item, Instruction) and name in defs(item)


def _jump(
    call: Instruction, saved: tuple[str, ...], registers: Mapping[str, PtxType], sites: dict[str, list[str]]
) -> Iterator[Instruction | Label]:
    """Jumps, and behind the call restores what was saved."""
    target = call.operands[0].name
    labels = sites.setdefault(target, [])
    behind = f"$behind${target}${len(labels)}"
    labels.append(behind)
    frame = _frame_bytes(saved)
    number = Immediate("int", len(labels) - 1)
    yield _made(call, "st.local.u32", Address(Register(POINTER), frame - _SLOT), number)
    yield _made(call, "add.s64", Register(POINTER), Register(POINTER), Immediate("int", frame))
    yield _made(call, "bra", Symbol(entry_label(target)))
    yield Label(behind)
    yield _made(call, "sub.s64", Register(POINTER), Register(POINTER), Immediate("int", frame))
    for index, name in enumerate(saved):
        yield from _restore(call, name, registers[name], _SLOT * index)


def _frame_bytes(saved: tuple[str, ...]) -> int:
    """What a call takes on the stack: the saved registers, and its number last."""
    return -(-(_SLOT * (len(saved) + 1)) // _ALIGN) * _ALIGN


def _save_all(call: Instruction, saved: tuple[str, ...], registers: Mapping[str, PtxType]) -> Iterator[Instruction]:
    yield _made(call, "stack_check", Immediate("int", _frame_bytes(saved)), Register(POINTER))
    for index, name in enumerate(saved):
        yield from _save(call, name, registers[name], _SLOT * index)


def _save(call: Instruction, name: str, kind: PtxType, offset: int) -> Iterator[Instruction]:
    place, register = Address(Register(POINTER), offset), Register(name)
    if kind.bits == 1:
        yield _made(call, "selp.u32", Register("%saved"), Immediate("int", 1), Immediate("int", 0), register)
        register, kind = Register("%saved"), TYPES["u32"]
    if kind.bits > 64:
        raise Unsupported("a recursive call in a function with 128-bit registers", call)
    yield _made(call, f"st.local.b{kind.bits}", place, register)


def _restore(call: Instruction, name: str, kind: PtxType, offset: int) -> Iterator[Instruction]:
    place = Address(Register(POINTER), offset)
    if kind.bits == 1:
        yield _made(call, "ld.local.u32", Register("%saved"), place)
        yield _made(call, "setp.ne.u32", Register(name), Register("%saved"), Immediate("int", 0))
    else:
        yield _made(call, f"ld.local.b{kind.bits}", Register(name), place)
