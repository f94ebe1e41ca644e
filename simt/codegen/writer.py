"""Writes one function, full or masked: registers, operands and the addresses of machine state.

Inside a basic block registers are LLVM values, vectors of 32 lanes or scalars where they are uniform; at its end those
that live on go to the warp's register file. Full code runs with all 32 lanes; masked code keeps the values of lanes
that are not running.
"""

from __future__ import annotations

import ctypes

from llvmlite import ir

from simt.codegen.emitter import I1, I8, I16, I32, I64, I128, Emitter
from simt.codegen.plan import Plan, symbol_address
from simt.codegen.prepare import Unsupported
from simt.engine.state import Block, Launch, Site, Thread, Warp
from simt.ptx.syntax import Immediate, Instruction, Operand, Register, Sink, Special, Symbol
from simt.ptx.types import Kind, PtxType

__all__ = ["PTR", "Writer", "storage"]

PTR = ir.PointerType()
LANES = 32
SITE_BYTES = ctypes.sizeof(Site.structure())
_INTS = {1: I1, 8: I8, 16: I16, 32: I32, 64: I64, 128: I128}


def storage(kind: PtxType) -> ir.IntType:
    """The integer a register of this type is held as."""
    return _INTS[1 if kind.bits == 1 else max(kind.bits, 16)]


def vector(lane: ir.Type) -> ir.VectorType:
    return ir.VectorType(lane, LANES)


class _Word(ir.Constant):
    """A constant written as one word, which llvmlite would spell out lane by lane."""

    def __init__(self, kind: ir.Type, word: str, lanes: list | None = None):
        self.type, self.word, self.constant = kind, word, word if lanes is None else lanes

    def _get_reference(self) -> str:
        return self.word


_FIRST_LANE = _Word(vector(I32), "zeroinitializer", [ir.Constant(I32, 0)] * LANES)


class Writer:
    """State while one function is written."""

    def __init__(self, module: ir.Module, plan: Plan, name: str, masked: bool):
        self.module, self.plan, self.masked = module, plan, masked
        self.function = ir.Function(module, ir.FunctionType(I32, [PTR]), name)
        self.entry = self.function.append_basic_block("entry")
        self.b = ir.IRBuilder(self.entry)
        self.e = Emitter(self.b)
        self.warp = self.function.args[0]
        self.values: dict[str, ir.Value] = {}
        self.dirty: dict[str, None] = {}
        self.masks: dict[str, ir.Value] = {}  # undefined lanes of doubtful registers set in this block
        self.states: dict[str, ir.Value] = {}  # states of registers of wgmma set in this block
        self.wide: dict[ir.Value, ir.Value] = {}  # 64-bit addresses of 32-bit ones, within a block
        self.mask: ir.Value = ir.Constant(I32, 0xFFFFFFFF)
        self.lane_mask: ir.Value | None = None  # the mask as <32 x i1>, None in full code
        self.buffers: dict[tuple[str, int], ir.Value] = {}
        self.block_ptr = self.load_field(Warp, self.warp, "block", PTR)
        self.thread = self.load_field(Warp, self.warp, "thread", PTR)
        self.launch = self.load_field(Block, self.block_ptr, "launch", PTR)
        self.registers = self.load_field(Warp, self.warp, "registers", PTR)
        self.sites = self.load_field(Thread, self.thread, "sites", PTR)
        self.runs = self.load_field(Thread, self.thread, "block_runs", PTR)
        self.params = self.load_field(Launch, self.launch, "params", PTR)

    # --- machine state

    def field(self, record, pointer: ir.Value, name: str) -> ir.Value:
        index = ir.Constant(I32, record.index(name))
        return self.b.gep(pointer, [ir.Constant(I32, 0), index], source_etype=record.llvm_struct())

    def load_field(self, record, pointer: ir.Value, name: str, kind: ir.Type) -> ir.Value:
        return self.b.load(self.field(record, pointer, name), typ=kind)

    def store_field(self, record, pointer: ir.Value, name: str, value: ir.Value | int) -> None:
        if isinstance(value, int):
            value = ir.Constant(record.fields[name].llvm, value)
        self.b.store(value, self.field(record, pointer, name))

    def site_pointer(self, index: int) -> ir.Value:
        return self.at(self.sites, index * SITE_BYTES)

    def at(self, pointer: ir.Value, offset: int | ir.Value) -> ir.Value:
        """`pointer` plus bytes."""
        if isinstance(offset, int) and offset == 0:
            return pointer
        offset = ir.Constant(I64, offset) if isinstance(offset, int) else offset
        return self.b.gep(pointer, [offset], source_etype=I8)

    def buffer(self, name: str, n_bytes: int) -> ir.Value:
        """A named piece of stack, made once per function for each name and size."""
        known = self.buffers.get((name, n_bytes))
        if known is None:
            with self.b.goto_block(self.entry):
                self.b.position_at_start(self.entry)
                known = self.b.alloca(ir.ArrayType(I8, n_bytes), name=name)
                known.align = 64
                known.type = PTR  # llvmlite would else insist on storing byte arrays there
            self.buffers[name, n_bytes] = known
        return known

    def native(self, name: str, result: ir.Type, *arguments: ir.Value) -> ir.Value:
        """Calls a function of the native runtime."""
        known = self.module.globals.get(name)
        if known is None:
            known = ir.Function(self.module, ir.FunctionType(result, [a.type for a in arguments]), name)
            known.attributes.add("nounwind")
        return self.b.call(known, arguments)

    # --- registers

    def enter_block(self, mask: ir.Value | None) -> None:
        """Forgets values of the block before; `mask` are the running lanes of masked code."""
        self.values, self.dirty, self.wide, self.masks, self.states = {}, {}, {}, {}, {}
        if mask is not None:
            self.mask = mask
            self.lane_mask = self.b.bitcast(mask, vector(I1))

    def leave_block(self, live_out: frozenset[str]) -> None:
        """Stores what lives on."""
        for name in self.dirty:
            if name in live_out:
                self._store(name, self.values[name])
        for name, state in self.states.items():
            self.b.store(state, self.at(self.registers, self.plan.states[name]))
        for name, bits in self.masks.items():
            place = self.at(self.registers, self.plan.undefined[name])
            if self.masked:
                old = self.b.load(place, typ=I32)
                bits = self.b.or_(self.b.and_(bits, self.mask), self.b.and_(old, self.b.not_(self.mask)))
            self.b.store(bits, place)

    def undefined(self, name: str) -> ir.Value:
        """Lanes in which a register holds nothing that was ever written."""
        if name not in self.plan.doubtful:
            return ir.Constant(I32, 0)
        if name in self.masks:
            return self.masks[name]
        return self.b.load(self.at(self.registers, self.plan.undefined[name]), typ=I32)

    def set_undefined(self, name: str, bits: ir.Value) -> None:
        self.masks[name] = bits

    def kind(self, name: str) -> PtxType:
        return self.plan.function.registers[name]

    def read(self, name: str) -> ir.Value:
        value = self.values.get(name)
        if value is None:
            value = self.values[name] = self._load(name)
        return value

    def write(self, name: str, value: ir.Value, keep: ir.Value | None = None) -> None:
        """Sets a register; where `keep` (a guard) is false it keeps its old value."""
        if keep is not None:
            old = self.read(name)
            if value.type != old.type or isinstance(keep.type, ir.VectorType):
                value, old = self.spread(value), self.spread(old)
                keep = self.spread(keep)
            value = self.b.select(keep, value, old)
        self.values[name] = value
        self.dirty[name] = None

    def _slot(self, name: str) -> ir.Value | None:
        offset = self.plan.slots.get(name)
        return None if offset is None else self.at(self.registers, self.plan.undefined_bytes + offset)

    def _load(self, name: str) -> ir.Value:
        kind, slot = storage(self.kind(name)), self._slot(name)
        if slot is None:  # read, but nothing ever wrote it
            return ir.Constant(kind if self.plan.is_uniform(name) else vector(kind), None)
        if self.plan.is_uniform(name):
            wide = self.b.load(slot, typ=I8 if kind is I1 else kind)
            return self.b.trunc(wide, I1) if kind is I1 else wide
        if kind is I1:
            return self.b.bitcast(self.b.load(slot, typ=I32), vector(I1))
        return self.b.load(slot, typ=vector(kind), align=32)

    def _store(self, name: str, value: ir.Value) -> None:
        slot = self._slot(name)
        if self.plan.is_uniform(name):
            if isinstance(value.type, ir.VectorType):  # would overwrite the registers behind it
                raise ValueError(f"{name} has one value for the whole warp, and is given one for each lane")
            self.b.store(self.b.zext(value, I8) if value.type == I1 else value, slot)
            return
        value = self.spread(value)
        if self.masked:
            old = self._load(name)
            value = self.b.select(self.lane_mask, value, old)
        if value.type.element == I1:
            self.b.store(self.b.bitcast(value, I32), slot)
        else:
            self.b.store(value, slot, align=32)

    def spread(self, value: ir.Value) -> ir.Value:
        """A scalar as a vector of 32 equal lanes; a vector as it is."""
        if isinstance(value.type, ir.VectorType):
            return value
        wide = vector(value.type)
        if isinstance(value, ir.Constant) and value.constant is not None and not isinstance(value.constant, str):
            return self.e.const(ir.Constant(wide, ir.Undefined), value.constant)
        poison = _Word(wide, "poison")
        one = self.b.insert_element(poison, value, ir.Constant(I32, 0))
        return self.b.shuffle_vector(one, poison, _FIRST_LANE)

    # --- operands

    def raw(self, operand: Operand, kind: PtxType, instruction: Instruction) -> ir.Value:
        """An operand as an integer (or i1) of its register's own width; immediates take the width of `kind`."""
        match operand:
            case Register(name, negated):
                value = self.read(name)
                return (
                    self.e.xor(value, 1)
                    if negated and value.type in (I1, vector(I1))
                    else (self.e.not_(value) if negated else value)
                )
            case Immediate():
                return ir.Constant(storage(kind), _immediate(operand, kind))
            case Special(name):
                from simt.codegen.specials import special

                return special(self, name, instruction)
            case Symbol(name, offset):
                address = symbol_address(self.plan, name)
                if address is None:
                    raise Unsupported(f"address of `{name}`", instruction)
                return ir.Constant(storage(kind), (address + offset) & ((1 << storage(kind).width) - 1))
        raise Unsupported(f"operand {operand!r} of `{instruction.opcode}`", instruction)

    def typed(self, operand: Operand, kind: PtxType, instruction: Instruction) -> ir.Value:
        """An operand as a value of the type the form gives it."""
        value = self.raw(operand, kind, instruction)
        if kind.bits == 1:
            return value
        width = self.e.width(value)
        if width == 1:
            raise Unsupported(f"a predicate where `{instruction.opcode}` wants {kind.name}", instruction)
        if width > kind.bits:
            value = self.e.trunc(value, kind.bits)
        elif width < kind.bits:
            value = self.e.resize(value, kind.bits, kind.is_signed)
        return self.e.of_bits(value) if kind.kind is Kind.FLOAT else value

    def assign(self, operand: Operand, value: ir.Value, kind: PtxType, keep: ir.Value | None) -> None:
        """Puts a typed value into a destination, extended to the register's width as `kind` says."""
        if isinstance(operand, Sink):
            return
        if not isinstance(operand, Register):
            raise ValueError(f"{operand!r} is no destination")
        if kind.kind is Kind.FLOAT:
            value = self.e.bits(value)
        wanted = storage(self.kind(operand.name)).width
        if kind.bits != 1:
            value = self.e.resize(value, wanted, kind.is_signed)
        self.write(operand.name, value, keep)

    def first_lane(self, value: ir.Value) -> ir.Value:
        """The value of the first running lane, as a scalar."""
        if not isinstance(value.type, ir.VectorType):
            return value
        counted = self.native("llvm.cttz.i32", I32, self.mask, ir.Constant(I1, 0))
        index = self.b.and_(counted, ir.Constant(I32, 31))
        return self.b.extract_element(value, index)

    def bits32(self, predicate: ir.Value) -> ir.Value:
        """A predicate as a mask of 32 bits."""
        if isinstance(predicate.type, ir.VectorType):
            return self.b.bitcast(predicate, I32)
        return self.b.select(predicate, ir.Constant(I32, 0xFFFFFFFF), ir.Constant(I32, 0))

    def guard(self, instruction: Instruction) -> ir.Value | None:
        """The guard predicate of an instruction, or None."""
        if instruction.guard is None:
            return None
        value = self.read(instruction.guard.register)
        return self.e.xor(value, 1) if instruction.guard.negated else value

    def guarded_mask(self, guard: ir.Value | None) -> ir.Value:
        """Lanes that run an instruction."""
        if guard is None:
            return self.mask
        return self.b.and_(self.mask, self.bits32(guard))


def _immediate(operand: Immediate, kind: PtxType) -> int:
    """The bits of a literal in the width the operand wants."""
    value = operand.value
    if operand.kind == "f64" and kind.kind is Kind.FLOAT and kind.bits == 32:
        import struct

        return struct.unpack("<I", struct.pack("<f", struct.unpack("<d", struct.pack("<Q", value))[0]))[0]
    return value & ((1 << storage(kind).width) - 1)
