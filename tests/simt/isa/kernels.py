"""A small PTX kernel around any pure form, so that its test rows can be replayed on a real GPU.

Thread `i` of the entry loads element `i` of every source, executes the form once and stores element `i` of every result.
Parameters are pointers: results first, then the sources that are not written out as constants. A predicate and a carry
flag are bytes, 0 or 1; everything else has the layout of its NumPy dtype.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from simt.isa.op import Form, Shape
from simt.isa.table import INTERNAL
from simt.ptx.types import Kind, PtxType

__all__ = ["IMMEDIATES", "entry", "module_for", "ptx_for"]

# Sources that PTX wants as a literal: (name of the instruction, index of the source) -> values worth a kernel each.
IMMEDIATES = {
    ("lop3", 3): (0x00, 0x01, 0x1B, 0x40, 0x80, 0x96, 0xC0, 0xCA, 0xE2, 0xE8, 0xEA, 0xF8, 0xFE, 0xFF),
    ("createpolicy", 0): (0x3F800000,),
}


def _register(type_: PtxType) -> str:
    """The register type that holds an operand."""
    if type_.bits == 1:
        return "pred"
    if type_.kind is Kind.FLOAT and type_.bits > 16:
        return type_.name
    return f"b{type_.bits}"


def _load(register: str, type_: PtxType, index: int) -> list[str]:
    address = f"[%at{index}]"
    if type_.bits == 1:
        return [f"ld.global.u8 %byte, {address};", f"setp.ne.u16 {register}, %byte, 0;"]
    if type_.bits == 128:
        return [f"ld.global.v2.b64 {{%low, %high}}, {address};", f"mov.b128 {register}, {{%low, %high}};"]
    return [f"ld.global.b{type_.bits} {register}, {address};"]


def _store(register: str, type_: PtxType, index: int) -> list[str]:
    address = f"[%at{index}]"
    if type_.bits == 1:
        return [f"selp.u16 %byte, 1, 0, {register};", f"st.global.u8 {address}, %byte;"]
    if type_.bits == 128:
        return [f"mov.b128 {{%low, %high}}, {register};", f"st.global.v2.b64 {address}, {{%low, %high}};"]
    return [f"st.global.b{type_.bits} {address}, {register};"]


def _operands(form: Form, results: list[str], sources: list[str]) -> str:
    """The operands as the instruction spells them."""
    mods = set(form.mods)
    if not INTERNAL.isdisjoint(mods) and any(mod.startswith("pack") for mod in mods):
        return f"{results[0]}, {{{', '.join(sources)}}}"
    if any(mod.startswith("unpack") for mod in mods):
        return f"{{{', '.join(results)}}}, {sources[0]}"
    return ", ".join(["|".join(results), *sources])


def _opcode(form: Form) -> str:
    return ".".join(part for part in form.opcode.split(".") if part not in INTERNAL)


def _with_carry(form: Form, shape: Shape, results: list[str], sources: list[str]) -> list[str]:
    """The instruction between what sets the condition code and what reads it back."""
    lines = []
    subtracts = form.op.name.startswith("sub")
    if shape.carry_in:
        flag = sources.pop()
        lines.append(f"selp.u32 %set, 1, 0, {flag};")
        lines.append("sub.cc.u32 %set, 0, %set;" if subtracts else "add.cc.u32 %set, %set, -1;")
    flag = results.pop() if shape.carry_out else None
    lines.append(f"{_opcode(form)} {_operands(form, results, sources)};")
    if flag is not None:
        lines.append("subc.u32 %set, 0, 0;" if subtracts else "addc.u32 %set, 0, 0;")
        lines.append(f"setp.ne.u32 {flag}, %set, 0;")
    return lines


def entry(form: Form, name: str, constants: Mapping[int, int] | None = None) -> str:
    """The `.entry` called `name`; `constants` maps the index of a source to the literal that stands for it."""
    constants = constants or {}
    shape = form.op.shape(form)
    results = [f"%d{index}" for index in range(len(shape.results))]
    sources = [f"%s{index}" for index in range(len(shape.sources))]
    loaded = [index for index in range(len(sources)) if index not in constants]
    types = [*shape.results, *(shape.sources[index] for index in loaded)]
    parameters = ", ".join(f".param .u64 p{index}" for index in range(len(types)))
    declared = zip((*results, *sources), (*shape.results, *shape.sources), strict=True)
    body = [f".reg .{_register(type_)} {register};" for register, type_ in declared]
    body += [
        f".reg .b64 %at<{len(types)}>, %low, %high;",
        ".reg .b32 %thread, %block, %size, %set;",
        ".reg .b16 %byte;",
    ]
    body += [
        "mov.u32 %thread, %tid.x;",
        "mov.u32 %block, %ctaid.x;",
        "mov.u32 %size, %ntid.x;",
        "mad.lo.u32 %thread, %block, %size, %thread;",
    ]
    for index, type_ in enumerate(types):
        body.append(f"ld.param.u64 %at{index}, [p{index}];")
        body.append(f"mad.wide.u32 %at{index}, %thread, {type_.n_bytes}, %at{index};")
    for position, index in enumerate(loaded):
        body += _load(sources[index], shape.sources[index], len(results) + position)
    spelled = [
        (f"0f{constants[i]:08X}" if shape.sources[i].is_float else str(constants[i])) if i in constants else source
        for i, source in enumerate(sources)
    ]
    body += _with_carry(form, shape, list(results), spelled)
    for index, type_ in enumerate(shape.results):
        body += _store(results[index], type_, index)
    return "\n    ".join([f".visible .entry {name}({parameters})\n{{", *body, "ret;"]) + "\n}\n"


def _header(version: str, target: str) -> str:
    return f".version {version}\n.target {target}\n.address_size 64\n\n"


def module_for(entries: Iterable[str], version: str = "9.0", target: str = "sm_90") -> str:
    """A PTX file of several entries."""
    return _header(version, target) + "\n".join(entries)


def ptx_for(form: Form, constants: Mapping[int, int] | None = None, version: str = "9.0", target: str = "sm_90") -> str:
    """A PTX file whose one entry, `form`, executes the form."""
    return module_for([entry(form, "form", constants)], version, target)
