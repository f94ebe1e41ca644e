"""One instruction → a function of the warp and its running lanes, for the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from simt.codegen.prepare import Unsupported
from simt.isa import form_of, operands_of
from simt.isa.op import Role
from simt.ptx.syntax import Address, Instruction, Pair, Register, Sink, Vector
from simt.ptx.types import TYPES, PtxType
from tests.simt import reference_lanes as together
from tests.simt.reference_memory import LOCAL_BASE, SHARED_BASE, lanes_of

if TYPE_CHECKING:
    from tests.simt.reference import Machine

__all__ = ["step_of"]

Step = Callable[..., None]
U32, U64, PRED = TYPES["u32"], TYPES["u64"], TYPES["pred"]
SPACES = {"global": "global", "shared": "shared", "local": "local", "const": "const", "param": "const"}
WINDOWS = {"shared": SHARED_BASE, "local": LOCAL_BASE}
WINDOW_BYTES = 1 << 32
ATOMICS = {"add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec"}
NOTHING = {"membar", "fence", "nanosleep", "prefetch", "prefetchu", "pmevent", "discard", "applypriority", "griddepcontrol",
           "setmaxnreg"}  # fmt: skip


def step_of(m: Machine, i: Instruction) -> Step:
    """Raises `Unsupported` for what the interpreter does not run."""
    if i.name in NOTHING:
        return lambda warp, mask: None
    make = _TABLE.get(i.name)
    return make(m, i) if make else _pure(m, i)


def _pure(m: Machine, i: Instruction) -> Step:
    if i.mods[:1] == ("param",):
        i = replace(i, opcode=f"mov.{i.mods[1]}", mods=i.mods[1:])
    form = form_of(i)
    op = form.op
    if op.role is Role.NONE:
        return lambda warp, mask: None
    if form.has("special") or form.has("address"):
        kind = TYPES[f"b{TYPES[i.mods[-1]].bits}"]
        return lambda warp, mask: m.write(
            warp, i.operands[0], m.read(warp, i.operands[1], kind), kind, m.lanes(warp, i, mask)
        )
    if op.eval is None:
        raise Unsupported(f"`{i.opcode}` has no eval", i)
    shape = op.shape(form)
    targets, operands = operands_of(i, form)
    carry = Register("%cc")
    sources = (*operands, carry) if shape.carry_in else operands
    results = (*targets, carry) if shape.carry_out else targets

    def step(warp, mask):
        values = [m.read(warp, operand, kind) for operand, kind in zip(sources, shape.sources, strict=True)]
        answer = op.eval(form, *values)
        answer = answer if isinstance(answer, tuple) else (answer,)
        lanes = m.lanes(warp, i, mask)
        for operand, value, kind in zip(results, answer, shape.results, strict=True):
            value = np.ascontiguousarray(np.broadcast_to(value, 32)).astype(kind.dtype, copy=False)
            m.write(warp, operand, value, kind, lanes)

    return step


# --- memory


def _space(i: Instruction) -> str:
    return next((SPACES[mod.partition("::")[0]] for mod in i.mods if mod.partition("::")[0] in SPACES), "generic")


def _count(i: Instruction) -> int:
    return next((int(mod[1:]) for mod in i.mods if mod in ("v2", "v4", "v8")), 1)


def _addresses(m: Machine, warp, address: Address) -> np.ndarray:
    if address.base is None:
        return np.full(32, address.offset, np.uint64)
    base = m.read(warp, address.base, U64)
    return base + np.uint64(address.offset % (1 << 64))


def _items(operand) -> tuple:
    return operand.items if isinstance(operand, Vector) else (operand,)


def _plain(kind: PtxType) -> PtxType:
    return TYPES[f"b{kind.bits}"]


def _load(m: Machine, i: Instruction) -> Step:
    kind, space, line = TYPES[i.mods[-1]], _space(i), m.line(i)
    items, address = _items(i.operands[0]), i.operands[1]
    like = TYPES[f"s{kind.bits}"] if kind.is_signed else _plain(kind)

    def step(warp, mask):
        lanes = m.lanes(warp, i, mask)
        raw = m.memory.load(space, line, lanes, _addresses(m, warp, address), kind.n_bytes, len(items))
        for number, item in enumerate(items):
            value = np.ascontiguousarray(raw[:, number]).view(f"uint{kind.bits}").reshape(32)
            m.write(warp, item, value, like, lanes)

    return step


def _store(m: Machine, i: Instruction) -> Step:
    kind, space, line = TYPES[i.mods[-1]], _space(i), m.line(i)
    address, items = i.operands[0], _items(i.operands[1])

    def step(warp, mask):
        columns = [m.read(warp, item, _plain(kind)).view(np.uint8).reshape(32, 1, kind.n_bytes) for item in items]
        values = np.concatenate(columns, axis=1)
        m.memory.store(space, line, m.lanes(warp, i, mask), _addresses(m, warp, address), values)

    return step


def _atomic(m: Machine, i: Instruction) -> Step:
    kind, space, line = TYPES[i.mods[-1]], _space(i), m.line(i)
    name = next((mod for mod in i.mods if mod in ATOMICS), None)
    if name is None or _count(i) > 1:
        raise Unsupported(f"`{i.opcode}`", i)
    target = i.operands[0] if i.name == "atom" else Sink()
    address, *values = i.operands[i.name == "atom" :]
    number = np.dtype(f"uint{kind.bits}")

    def step(warp, mask):
        lanes, at = m.lanes(warp, i, mask), _addresses(m, warp, address)
        given = [m.read(warp, value, _plain(kind)) for value in values]
        old = np.full(32, -1, f"int{kind.bits}").view(number)
        m.memory.count(space, "atomic", line, lanes, at, kind.n_bytes)
        for lane in lanes_of(lanes):
            place = m.memory.place(space, lane, int(at[lane]), kind.n_bytes, True)
            if place is None:
                continue
            data, offset = place
            here = data[offset : offset + kind.n_bytes]
            old[lane] = here.view(number)[0]
            value, compare = int(given[-1][lane]), int(given[0][lane])
            flush = m.memory.space_of(space, int(at[lane])) != "shared"
            new = together.atomic_update(name, kind.name, kind.bits, int(old[lane]), value, compare, flush)
            here[:] = np.array([new], number).view(np.uint8)
        m.write(warp, target, old, TYPES[f"s{kind.bits}"] if kind.is_signed else _plain(kind), lanes)

    return step


def _convert_address(m: Machine, i: Instruction) -> Step:
    space = next(mod for mod in i.mods if mod != "to").partition("::")[0]
    window = np.uint64(WINDOWS.get(space, 0))
    back = "to" in i.mods

    def step(warp, mask):
        value = m.read(warp, i.operands[1], U64)
        m.write(warp, i.operands[0], value - window if back else value + window, U64, m.lanes(warp, i, mask))

    return step


def _is_space(m: Machine, i: Instruction) -> Step:
    space = i.mods[0].partition("::")[0]

    def step(warp, mask):
        value = m.read(warp, i.operands[1], U64).tolist()
        known = {"shared": "shared", "local": "local", "param": "const", "global": "global"}[space]
        answer = np.array([m.memory.space_of("generic", address) == known for address in value])
        m.write(warp, i.operands[0], answer, PRED, m.lanes(warp, i, mask))

    return step


# --- lanes together


def _two(operand) -> tuple:
    return (operand.first, operand.second) if isinstance(operand, Pair) else (operand, Sink())


def _shuffle(m: Machine, i: Instruction) -> Step:
    mode = next(mod for mod in i.mods if mod in ("up", "down", "bfly", "idx"))
    first, second = _two(i.operands[0])

    def step(warp, mask):
        lanes = m.lanes(warp, i, mask)
        out, inside = together.shuffle(mode, lanes, *(m.read(warp, o, U32) for o in i.operands[1:4]))
        m.write(warp, first, out, U32, lanes)
        m.write(warp, second, inside, PRED, lanes)

    return step


def _vote(m: Machine, i: Instruction) -> Step:
    kind = next(mod for mod in i.mods if mod in ("all", "any", "uni", "ballot"))

    def step(warp, mask):
        lanes = m.lanes(warp, i, mask)
        answer = together.vote(kind, lanes, m.read(warp, i.operands[1], PRED), m.read(warp, i.operands[2], U32))
        m.write(warp, i.operands[0], answer, U32 if kind == "ballot" else PRED, lanes)

    return step


def _match(m: Machine, i: Instruction) -> Step:
    first, second = _two(i.operands[0])
    kind = TYPES[i.mods[-1]]

    def step(warp, mask):
        lanes = m.lanes(warp, i, mask)
        values, members = m.read(warp, i.operands[1], kind), m.read(warp, i.operands[2], U32)
        out, truth = together.match("all" in i.mods, lanes, values, members)
        m.write(warp, first, out, U32, lanes)
        m.write(warp, second, truth, PRED, lanes)

    return step


def _redux(m: Machine, i: Instruction) -> Step:
    name = next(mod for mod in i.mods if mod in ("add", "min", "max", "and", "or", "xor"))

    def step(warp, mask):
        lanes = m.lanes(warp, i, mask)
        values, members = (m.read(warp, o, U32) for o in i.operands[1:3])
        m.write(
            warp, i.operands[0], together.redux(name, TYPES[i.mods[-1]].is_signed, lanes, values, members), U32, lanes
        )

    return step


def _elect(m: Machine, i: Instruction) -> Step:
    first, second = _two(i.operands[0])

    def step(warp, mask):
        lanes = m.lanes(warp, i, mask)
        members = int(m.read(warp, i.operands[-1], U32)[mask.argmax()])
        leader = next((lane for lane in lanes_of(lanes) if members >> lane & 1), 32)
        m.write(warp, first, np.full(32, leader, np.uint32), U32, lanes)
        m.write(warp, second, np.arange(32) == leader, PRED, lanes)

    return step


def _active(m: Machine, i: Instruction) -> Step:
    return lambda warp, mask: m.write(
        warp, i.operands[0], np.full(32, together.bits_of(mask), np.uint32), U32, m.lanes(warp, i, mask)
    )


# --- the rest


def _bar(m: Machine, i: Instruction) -> Step:
    if "warp" in i.mods:
        return lambda warp, mask: None  # lanes have met before the block began
    return lambda warp, mask: m.arrive(warp, i, m.lanes(warp, i, mask))


def _barrier_result(m: Machine, i: Instruction) -> Step:
    def step(warp, mask):
        true, threads = warp.barrier_true, warp.barrier_threads
        answers = {"popc": true, "and": true >= threads, "or": true > 0}
        kind = U32 if i.mods[0] == "popc" else PRED
        m.write(warp, i.operands[0], np.full(32, answers[i.mods[0]], kind.dtype), kind, m.lanes(warp, i, mask))

    return step


def _ends(m: Machine, i: Instruction) -> Step:
    from tests.simt.reference import Stopped

    def step(warp, mask):
        if m.lanes(warp, i, mask).any():
            raise Stopped(i.opcode)

    return step


def _call(m: Machine, i: Instruction) -> Step:
    if i.opcode == "call.assertfail":
        return _ends(m, i)
    if i.opcode != "call.vprintf":
        raise Unsupported(f"`{i.opcode}`", i)
    return lambda warp, mask: m.write(warp, i.operands[0], np.ones(32, np.uint32), U32, m.lanes(warp, i, mask))


_TABLE = {
    "ld": _load, "ldu": _load, "st": _store, "atom": _atomic, "red": _atomic, "cvta": _convert_address,
    "isspacep": _is_space, "shfl": _shuffle, "vote": _vote, "match": _match, "redux": _redux, "elect": _elect,
    "activemask": _active, "bar": _bar, "barrier": _bar, "barrier_result": _barrier_result, "trap": _ends, "brkpt": _ends,
    "call": _call,
}  # fmt: skip
