"""Compiles forms of the table into tiny functions, for one lane and for 32, to be compared with `eval`."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass

import llvmlite.binding as llvm
import numpy as np
from llvmlite import ir

from simt.codegen.emitter import Emitter, llvm_type
from simt.isa.op import Form
from simt.ptx.types import PtxType

__all__ = ["LANES", "Compiled", "assembly", "compiled"]

LANES = 32
POINTER, I32 = ir.PointerType(), ir.IntType(32)
CALL = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

llvm.initialize_native_target()
llvm.initialize_native_asmprinter()


def _stored(type_: PtxType) -> ir.Type:
    """The type of one lane in memory: NumPy keeps a bool in a byte."""
    return ir.IntType(8) if type_.bits == 1 else llvm_type(type_)


def _load(e: Emitter, pointer, type_: PtxType, lanes: int):
    lane = _stored(type_)
    value = e.builder.load(pointer, typ=ir.VectorType(lane, lanes) if lanes > 1 else lane, align=1)
    return e.icmp("!=", value, 0) if type_.bits == 1 else value


def _store(e: Emitter, value, pointer, type_: PtxType) -> None:
    e.builder.store(e.zext(value, 8) if type_.bits == 1 else value, pointer, align=1)


def _apply(e: Emitter, form: Form, pointers, lanes: int) -> None:
    """Loads the sources, runs `emit` and stores its results; `pointers` are results first."""
    shape = form.op.shape(form)
    n_results = len(shape.results)
    sources = [_load(e, p, t, lanes) for p, t in zip(pointers[n_results:], shape.sources, strict=True)]
    values = form.op.emit(e, form, *sources)
    values = values if isinstance(values, tuple) else (values,)
    for value, pointer, type_ in zip(values, pointers[:n_results], shape.results, strict=True):
        _store(e, value, pointer, type_)


def _define(module: ir.Module, form: Form, name: str, scalar: bool) -> None:
    """`name(void **operands)`: all lanes at once, or lane after lane through the scalar translation."""
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [POINTER]), name)
    entry = function.append_basic_block("entry")
    e = Emitter(ir.IRBuilder(entry))
    shape = form.op.shape(form)
    types = shape.results + shape.sources
    bases = []
    for index in range(len(types)):
        slot = e.builder.gep(function.args[0], [ir.Constant(I32, index)], source_etype=POINTER)
        bases.append(e.builder.load(slot, typ=POINTER))
    if not scalar:
        _apply(e, form, bases, LANES)
        e.builder.ret_void()
        return
    loop, end = function.append_basic_block("lane"), function.append_basic_block("end")
    e.builder.branch(loop)
    e.builder.position_at_end(loop)
    index = e.builder.phi(I32)
    index.add_incoming(ir.Constant(I32, 0), entry)
    pointers = [e.builder.gep(b, [index], source_etype=_stored(t)) for b, t in zip(bases, types, strict=True)]
    _apply(e, form, pointers, 1)
    following = e.add(index, 1)
    index.add_incoming(following, e.builder.block)
    e.builder.cbranch(e.icmp("==", following, LANES), end, loop)
    e.builder.position_at_end(end)
    e.builder.ret_void()


def _module(forms: Iterable[Form]) -> ir.Module:
    module = ir.Module()
    module.triple = llvm.get_default_triple()
    for form in forms:
        _define(module, form, f"vector:{form.opcode}", scalar=False)
        _define(module, form, f"scalar:{form.opcode}", scalar=True)
    return module


def assembly(forms: Iterable[Form], triple: str, cpu: str, features: str = "") -> str:
    """Machine code, as text, of the forms' functions for another CPU."""
    module = _module(forms)
    module.triple = triple
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=cpu, features=features, opt=0, reloc="static", codemodel="small")
    return machine.emit_assembly(llvm.parse_assembly(str(module)))


@dataclass(frozen=True)
class Compiled:
    """Functions in memory; `engine` owns them."""

    engine: llvm.ExecutionEngine

    def __call__(self, form: Form, sources: tuple[np.ndarray, ...], kind: str = "vector") -> tuple[np.ndarray, ...]:
        """The results of a form, compiled as `kind`, "vector" or "scalar", on (32,) sources."""
        shape = form.op.shape(form)
        results = tuple(np.zeros(LANES, type_.dtype) for type_ in shape.results)
        kept = results + tuple(np.ascontiguousarray(s, t.dtype) for s, t in zip(sources, shape.sources, strict=True))
        pointers = (ctypes.c_void_p * len(kept))(*(array.ctypes.data for array in kept))
        CALL(self.engine.get_function_address(f"{kind}:{form.opcode}"))(ctypes.addressof(pointers))
        return results


def compiled(forms: Iterable[Form], cpu: str = "", features: str = "", opt: int = 0) -> Compiled:
    """The forms' functions, compiled for this machine, or for an older CPU of its kind."""
    module = llvm.parse_assembly(str(_module(forms)))
    machine = llvm.Target.from_default_triple().create_target_machine(
        cpu=cpu or llvm.get_host_cpu_name(),
        features=features if cpu else llvm.get_host_cpu_features().flatten(),
        opt=opt,
    )
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return Compiled(engine)
