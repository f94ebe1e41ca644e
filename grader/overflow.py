"""Where a 32-bit product is widened to 64 bits: the line that explains a result cut to 32 bits."""

from __future__ import annotations

from grader.model import Compiled

__all__ = ["product_line"]

PRODUCTS = ("mul", "mad", "shl")


def product_line(compiled: Compiled) -> int | None:
    """The line of the first 32-bit product whose result the kernel widens, None when there is none."""
    from simt.ptx.lines import student_line
    from simt.ptx.parser import PtxSyntaxError, parse
    from simt.ptx.syntax import Instruction, Register

    try:
        module = parse(compiled.ptx, roots=(compiled.kernel,))
    except PtxSyntaxError:
        return None
    made: dict[str, Instruction] = {}
    for item in module.functions[compiled.kernel].body or ():
        if not isinstance(item, Instruction) or not item.operands or not isinstance(item.operands[0], Register):
            continue
        if item.name in PRODUCTS and item.mods[-1] in ("s32", "u32", "b32") and "wide" not in item.mods:
            made[item.operands[0].name] = item
        elif item.name == "cvt" and item.mods[-2:] in (("s64", "s32"), ("u64", "u32")):
            source = item.operands[1]
            if isinstance(source, Register) and source.name in made:
                return student_line(made[source.name].location, module, "kernel.cu")
    return None
