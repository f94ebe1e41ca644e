"""Loads, stores, atomics and conversions between address spaces."""

from __future__ import annotations

from llvmlite import ir

from simt.codegen.emitter import I32, I64
from simt.codegen.plan import SiteInfo, symbol_address
from simt.codegen.prepare import Unsupported
from simt.codegen.writer import Writer, storage, vector
from simt.engine.mbarriers import Operation
from simt.engine.state import (
    ATOMIC_CODES,
    ATOMIC_TYPES,
    LOCAL_WINDOW,
    PARAM_WINDOW,
    RANK_UNIT,
    SHARED_WINDOW,
    WINDOW_BYTES,
    Access,
    Scope,
    SiteFlag,
)
from simt.ptx.syntax import Address, Instruction, Operand, Register, Sink, Symbol, Vector
from simt.ptx.types import TYPES, Kind, PtxType

__all__ = ["HANDLERS", "address_of"]

_SPACES = {
    "global": Scope.GLOBAL,
    "shared": Scope.SHARED,
    "shared::cta": Scope.SHARED,
    "shared::cluster": Scope.SHARED,
    "local": Scope.LOCAL,
    "const": Scope.CONST,
    "param": Scope.CONST,
    "param::entry": Scope.CONST,
    "param::func": Scope.CONST,
}
_ORDERED = frozenset(["volatile", "relaxed", "acquire", "release", "acq_rel", "mmio"])
_B64 = TYPES["b64"]
_ALL_BITS = (1 << 64) - 1


def _scope(instruction: Instruction) -> Scope:
    for mod in instruction.mods:
        if mod in _SPACES:
            return _SPACES[mod]
    return Scope.GENERIC


def _type(instruction: Instruction) -> PtxType:
    kind = TYPES.get(instruction.mods[-1])
    if kind is None:
        raise Unsupported(f"`{instruction.opcode}`", instruction)
    return kind


def _count(instruction: Instruction) -> int:
    return next((int(m[1:]) for m in instruction.mods if m in ("v2", "v4", "v8")), 1)


def _flags(w: Writer, instruction: Instruction) -> int:
    mods = set(instruction.mods)
    flags = int(SiteFlag.VOLATILE) if _ORDERED & mods or id(instruction) in w.plan.seeds else 0
    flags |= int(SiteFlag.CLUSTER) if "shared::cluster" in mods else 0
    return flags | (int(SiteFlag.RELEASE) if mods & {"release", "acq_rel"} else 0)


def _site(w: Writer, instruction: Instruction, access: Access, kind: PtxType, **more) -> ir.Value:
    index = w.plan.site(
        instruction,
        lambda: SiteInfo(
            instruction,
            w.plan.line(instruction),
            int(_scope(instruction)),
            int(access),
            kind.n_bytes,
            _count(instruction),
            **({"flags": _flags(w, instruction)} | more),
        ),
    )
    return w.site_pointer(index)


def address_of(w: Writer, operand: Address, instruction: Instruction) -> ir.Value:
    """The byte address as i64, scalar where it is uniform."""
    base = operand.base
    if base is None:
        return ir.Constant(I64, operand.offset & _ALL_BITS)
    if isinstance(base, Symbol):
        place = symbol_address(w.plan, base.name)
        if place is None:
            raise Unsupported(f"address of `{base.name}`", instruction)
        return ir.Constant(I64, (place + base.offset + operand.offset) & _ALL_BITS)
    value = w.read(base.name)
    if w.e.width(value) < 64:
        narrow = value
        value = w.wide.get(narrow)
        if value is None:
            value = w.wide[narrow] = w.e.zext(narrow, 64)
    return w.e.add(value, operand.offset & _ALL_BITS) if operand.offset else value


def _spill(w: Writer, address: ir.Value) -> ir.Value:
    place = w.buffer("addresses", 256)
    w.b.store(w.spread(address), place, align=64)
    return place


def _load(w: Writer, instruction: Instruction) -> None:
    target, source = instruction.operands[0], instruction.operands[1]
    if not isinstance(source, Address):
        raise Unsupported(f"`{instruction.opcode}` without an address", instruction)
    kind, guard = _type(instruction), w.guard(instruction)
    items = list(target.items) if isinstance(target, Vector) else [target]
    if _is_parameter(w, source, kind.n_bytes * len(items)):
        return _load_param(w, instruction, source, items, kind, guard)
    address = address_of(w, source, instruction)
    site = _site(w, instruction, Access.LOAD, kind)
    lanes = w.guarded_mask(guard)
    element = ir.IntType(8 * kind.n_bytes)
    out = w.buffer("out", 32 * 16 * max(1, len(items)))
    alone = (
        _scope(instruction) in (Scope.GLOBAL, Scope.SHARED, Scope.CONST) and "shared::cluster" not in instruction.mods
    )
    if alone and not isinstance(address.type, ir.VectorType):
        w.native("load_uniform", ir.VoidType(), w.warp, site, lanes, address, out)
        for number, item in enumerate(items):
            value = w.b.load(w.at(out, number * kind.n_bytes), typ=element, align=1)
            _put(w, item, value, kind, guard)
        return
    w.native("load", ir.VoidType(), w.warp, site, lanes, _spill(w, address), out)
    for number, item in enumerate(items):
        value = w.b.load(w.at(out, number * 32 * kind.n_bytes), typ=vector(element), align=min(64, 32 * kind.n_bytes))
        _put(w, item, value, kind, guard)


def _put(w: Writer, item: Operand, value: ir.Value, kind: PtxType, guard: ir.Value | None) -> None:
    """A loaded integer into its register; wider registers are extended by the type's sign."""
    if isinstance(item, Sink):
        return
    bits = storage(w.kind(item.name)).width
    w.write(item.name, w.e.resize(value, bits, kind.is_signed), guard)


def _is_parameter(w: Writer, source: Address, n_bytes: int) -> bool:
    """Whether these are bytes of the parameters, at a place known here; whatever else is checked at run time."""
    if not isinstance(source.base, Symbol) or source.base.name not in w.plan.params:
        return False
    start = w.plan.params[source.base.name] + source.base.offset + source.offset
    return 0 <= start <= w.plan.param_bytes - n_bytes


def _load_param(w: Writer, instruction, source: Address, items, kind: PtxType, guard) -> None:
    """A kernel parameter at a fixed place: the same for everybody."""
    start = w.plan.params[source.base.name] + source.base.offset + source.offset
    for number, item in enumerate(items):
        place = w.at(w.params, start + number * kind.n_bytes)
        value = w.b.load(place, typ=ir.IntType(8 * kind.n_bytes), align=1)
        _put(w, item, value, kind, guard)


def _data(w: Writer, operands: list[Operand], kind: PtxType, instruction: Instruction, name: str) -> ir.Value:
    """Values to store, element by element, 32 lanes each."""
    place = w.buffer(name, 32 * 16 * max(1, len(operands)))
    plain = TYPES[f"b{kind.bits}"] if kind.kind is not Kind.BFLOAT else TYPES["b16"]
    for number, operand in enumerate(operands):
        value = w.spread(w.typed(operand, plain, instruction))
        w.b.store(value, w.at(place, number * 32 * kind.n_bytes), align=min(64, 32 * kind.n_bytes))
    return place


def _store(w: Writer, instruction: Instruction) -> None:
    if "async" in instruction.mods:
        return _store_async(w, instruction)
    target, source = instruction.operands[0], instruction.operands[1]
    if not isinstance(target, Address):
        raise Unsupported(f"`{instruction.opcode}` without an address", instruction)
    kind = _type(instruction)
    items = list(source.items) if isinstance(source, Vector) else [source]
    site = _site(w, instruction, Access.STORE, kind)
    data = _data(w, items, kind, instruction, "data")
    addresses = _spill(w, address_of(w, target, instruction))
    w.native("store", ir.VoidType(), w.warp, site, w.guarded_mask(w.guard(instruction)), addresses, data)


def _store_async(w: Writer, instruction: Instruction) -> None:
    """`st.async`: the bytes arrive at once, and the mbarrier beside them hears so."""
    target, source, barrier = instruction.operands
    kind = _type(instruction)
    items = list(source.items) if isinstance(source, Vector) else [source]
    site = _site(w, instruction, Access.STORE, kind)
    lanes = w.guarded_mask(w.guard(instruction))
    data = _data(w, items, kind, instruction, "data")
    w.native("store", ir.VoidType(), w.warp, site, lanes, _spill(w, address_of(w, target, instruction)), data)
    _complete(w, instruction, barrier, lanes, kind.n_bytes * len(items))


def _complete(w: Writer, instruction: Instruction, barrier: Operand, lanes: ir.Value, n_bytes: int) -> None:
    """Tells an mbarrier of the cluster that bytes came."""
    info = SiteInfo(
        instruction,
        w.plan.call_line(instruction),
        int(Scope.SHARED),
        int(Access.ATOMIC),
        8,
        flags=int(SiteFlag.CLUSTER),
    )
    site = w.site_pointer(w.plan.site(instruction, lambda: info, part=2))
    amounts = w.buffer("sizes", 256)
    w.b.store(w.spread(ir.Constant(I32, n_bytes)), amounts, align=64)
    w.native(
        "mbarrier_operation", ir.VoidType(), w.warp, site, lanes, ir.Constant(I32, int(Operation.COMPLETE)),
        _spill(w, address_of(w, barrier, instruction)), amounts, w.buffer("out", 512),
    )  # fmt: skip


def _atomic(w: Writer, instruction: Instruction) -> None:
    returns = instruction.name == "atom"
    operands = list(instruction.operands)
    barrier = operands.pop() if "async" in instruction.mods else None
    target = operands.pop(0) if returns else None
    address, *values = operands
    kind = _type(instruction)
    name = next((m for m in instruction.mods if m in ATOMIC_CODES), None)
    if name is None or kind.name not in ATOMIC_TYPES or _count(instruction) > 1:
        raise Unsupported(f"`{instruction.opcode}`", instruction)
    used = returns and not isinstance(target, Sink) and id(instruction) not in w.plan.blind
    flags = _flags(w, instruction) | (int(SiteFlag.RETURNS) if used else 0)
    code = ATOMIC_CODES[name]
    site = _site(w, instruction, Access.ATOMIC, kind, flags=flags, atomic=code, atomic_type=ATOMIC_TYPES[kind.name])
    first = _data(w, values[:1], kind, instruction, "data")
    second = _data(w, values[1:2], kind, instruction, "more") if len(values) > 1 else first
    operand, compare = (second, first) if name == "cas" else (first, first)
    out = w.buffer("out", 512)
    guard = w.guard(instruction)
    lanes = w.guarded_mask(guard)
    addresses = _spill(w, address_of(w, address, instruction))
    w.native("atomic", ir.VoidType(), w.warp, site, lanes, addresses, operand, compare, out)
    if barrier is not None:
        return _complete(w, instruction, barrier, lanes, kind.n_bytes)
    if isinstance(target, Register):
        element = ir.IntType(8 * kind.n_bytes)
        value = w.b.load(out, typ=vector(element), align=min(64, 32 * kind.n_bytes))
        _put(w, target, value, kind, guard)


_WINDOWS = {"shared": SHARED_WINDOW, "shared::cta": SHARED_WINDOW, "local": LOCAL_WINDOW, "param": PARAM_WINDOW}


def _convert_address(w: Writer, instruction: Instruction) -> None:
    """`cvta`: a space's own address to a generic one or back."""
    kind = _type(instruction)
    back = "to" in instruction.mods
    space = next(m for m in instruction.mods if m not in ("to", kind.name))
    value = w.typed(instruction.operands[1], TYPES[f"b{kind.bits}"], instruction)
    window = _WINDOWS.get(space.partition("::")[0], 0) if not space.startswith("param") else 0
    if window:
        if kind.bits != 64:
            raise Unsupported(f"`{instruction.opcode}`: 32-bit generic addresses", instruction)
        value = w.e.sub(value, window) if back else w.e.add(value, window)
    w.assign(instruction.operands[0], value, TYPES[f"b{kind.bits}"], w.guard(instruction))


def _is_space(w: Writer, instruction: Instruction) -> None:
    """`isspacep`: whether a generic address lies in a space's window."""
    value = w.typed(instruction.operands[1], _B64, instruction)
    space = instruction.mods[0].partition("::")[0]
    if space in ("shared", "local", "param"):
        most = RANK_UNIT if instruction.mods[0] in ("shared", "shared::cta") else WINDOW_BYTES
        inside = w.e.icmp("<", w.e.sub(value, _WINDOWS[space]), most)
    elif space == "global":
        inside = w.e.icmp(">=", value, PARAM_WINDOW + WINDOW_BYTES)
    else:
        inside = w.e.const(value, 0, 1)
    w.assign(instruction.operands[0], inside, TYPES["pred"], w.guard(instruction))


HANDLERS = {
    "ld": _load,
    "ldu": _load,
    "st": _store,
    "atom": _atomic,
    "red": _atomic,
    "cvta": _convert_address,
    "isspacep": _is_space,
}
