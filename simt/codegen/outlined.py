"""Long computing instructions as functions of their own, optimised once and kept on disk.

Division, square roots, transcendental functions and directed rounding take dozens to hundreds of LLVM instructions for
32 lanes. Written out at each use they would dominate translation; as functions on arrays of 32 values they cost a call.
"""

from __future__ import annotations

from pathlib import Path

from llvmlite import ir

from simt.codegen.emitter import I1, Emitter
from simt.codegen.jit import Code, add_symbols, compile_ir
from simt.isa.op import Form

__all__ = ["fits", "is_long", "long_function"]

LONG = frozenset(["ex2", "lg2", "sin", "cos", "tanh", "rsqrt", "rcp", "sqrt", "div", "rem"])
DIRECTED = frozenset(["rm", "rp", "rz"])
_MAY_ROUND = frozenset(["fma", "add", "sub", "mul", "mad"])
PTR = ir.PointerType()

_known: dict[str, Code] = {}


def is_long(form: Form) -> bool:
    """Whether a form is worth a call."""
    return form.op.name in LONG or (form.op.name in _MAY_ROUND and not DIRECTED.isdisjoint(form.mods))


def long_function(form: Form, results: list[ir.Type], sources: list[ir.Type], cache: Path | None) -> str:
    """The name of `void f(out…, in…)` for a form, all pointers to 32 values; compiled when first asked for."""
    name = f"form.{form.opcode}"
    if name not in _known:
        code = compile_ir(_text(name, form, results, sources), level=2, optimise=True, cache=cache)
        add_symbols({name: code.address(name)})
        _known[name] = code
    return name


def _text(name: str, form: Form, results: list[ir.Type], sources: list[ir.Type]) -> str:
    module = ir.Module(name=name)
    count = len(results) + len(sources)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [PTR] * count), name)
    b = ir.IRBuilder(function.append_basic_block("entry"))
    places = function.args[: len(results)]
    values = [
        b.load(place, typ=ir.VectorType(kind, 32), align=32)
        for place, kind in zip(function.args[len(results) :], sources, strict=True)
    ]
    emit = form.op.emit
    if emit is None:
        raise ValueError(f"`{form.opcode}` has no translation")
    answer = emit(Emitter(b), form, *values)
    for place, value in zip(places, answer if isinstance(answer, tuple) else (answer,), strict=True):
        b.store(value, place, align=32)
    b.ret_void()
    return str(module)


def fits(kinds: list[ir.Type]) -> bool:
    """Whether all operands can be kept in arrays: everything but predicates."""
    return all(kind not in (I1, ir.VectorType(I1, 32)) for kind in kinds)
