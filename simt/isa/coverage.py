"""The coverage page: which PTX instructions run, since when they exist, and which do not run yet."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

from simt.isa.op import Op, Role
from simt.isa.table import INTERNAL, ROWS, choices

__all__ = ["CoverageRow", "coverage", "missing", "rows"]

# PTX ISA 9.0, "Instructions": every instruction, by section.
_INSTRUCTIONS = {
    "Integer arithmetic": "add sub mul mad mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi szext bmsk "
    "dp4a dp2a",
    "Extended precision": "add.cc addc sub.cc subc mad.cc madc",
    "Floating point": "testp copysign fma rcp sqrt rsqrt sin cos lg2 ex2 tanh",
    "Comparison and selection": "set setp selp slct",
    "Logic and shift": "and or xor not cnot lop3 shf shl shr",
    "Data movement and conversion": "mov shfl prmt ld ldu st st.async st.bulk multimem prefetch prefetchu applypriority discard "
    "createpolicy isspacep cvta cvt mapa getctarank",
    "Asynchronous copies": "cp.async cp.reduce tensormap",
    "Textures and surfaces": "tex tld4 txq istypep suld sust sured suq",
    "Control flow": "bra brx call ret exit",
    "Synchronization and communication": "bar barrier barrier.cluster membar fence fence.proxy atom red red.async vote match "
    "activemask redux griddepcontrol elect mbarrier clusterlaunchcontrol",
    "Matrix": "wmma mma ldmatrix stmatrix movmatrix wgmma tcgen05",
    "Stack": "stacksave stackrestore alloca",
    "Video": "vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2 vadd4 vsub4 "
    "vavrg4 vabsdiff4 vmin4 vmax4 vset4",
    "Miscellaneous": "brkpt nanosleep pmevent trap setmaxnreg",
}

_WORDS = {
    "three": "three sources",
    "pair": "p|q",
    "special": "of a special register",
    "address": "of a variable's address",
    "pack2": "{a, b}",
    "pack4": "{a, b, c, d}",
    "unpack2": "to {a, b}",
    "unpack4": "to {a, b, c, d}",
}


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """One row of the table for readers; `n_forms` counts the exact opcodes that its patterns stand for."""

    name: str
    forms: tuple[str, ...]
    n_forms: int
    since: tuple[str, int]
    section: str
    precision: str
    note: str


def _readable(pattern: str) -> str:
    """A pattern without the table's own words, which PTX cannot spell: they are told in brackets."""
    told = []

    def drop(match: re.Match) -> str:
        items = match[1].removeprefix(".").replace("{", "").replace("}", "").split(",")
        told.extend(items)
        return ""

    words = "|".join(sorted(INTERNAL, key=len, reverse=True))
    optional = re.sub(r"\{\.pair\}", "", pattern)
    plain = re.sub(rf"\.(\{{(?:{words})(?:,(?:{words}))*\}}|{words})(?![\w])", drop, optional)
    return f"{plain} ({', '.join(_WORDS[word] for word in told)})" if told else plain


def _precision(op: Op) -> str:
    if op.role is not Role.PURE:
        return ""
    return "exact" if op.ulp is None else "within the ISA's bound"


def rows() -> tuple[CoverageRow, ...]:
    """Every row of the table, in its order."""
    return tuple(
        CoverageRow(
            op.name,
            tuple(map(_readable, op.forms)),
            sum(prod(len(items) for items in choices(pattern)) for pattern in op.forms),
            op.since,
            op.section,
            _precision(op),
            op.note,
        )
        for op in ROWS
    )


def _known() -> set[str]:
    """Instruction names as the list above spells them: `add.cc` is one of its own."""
    names = {op.name for op in ROWS}
    return names | {f"{op.name}.cc" for op in ROWS for pattern in op.forms if ".cc." in pattern}


def missing() -> dict[str, tuple[str, ...]]:
    """Instructions that do not run, by section."""
    known = _known()
    lists = {
        section: tuple(name for name in names.split() if name not in known) for section, names in _INSTRUCTIONS.items()
    }
    return {section: names for section, names in lists.items() if names}


def _line(row: CoverageRow) -> str:
    version, sm = row.since
    since = f"PTX {version}" + (f", sm_{sm}" if sm else "")
    forms = "<br>".join(f"`{form.replace('|', chr(92) + '|')}`" for form in row.forms)
    return f"| {forms} | {row.n_forms} | {since} | {row.precision} | {row.note} |"


def coverage() -> str:
    """The page as Markdown."""
    lines = [
        "# PTX coverage",
        "",
        "Made by `python -m simt coverage`. In a pattern `{a,b}` stands for one of its items; a group whose items start with a",
        "dot may be left out. Anything that is not here stops a launch with the name of the instruction.",
        "",
    ]
    table = rows()
    chapters = [row.section.partition(":")[0] for row in table]
    for chapter in dict.fromkeys(chapters):
        lines += [f"## {chapter}", "", "| forms | opcodes | since | result | note |", "|---|---|---|---|---|"]
        lines += [_line(row) for row, own in zip(table, chapters, strict=True) if own == chapter]
        lines.append("")
    lines += ["## Not run", ""]
    lines += [f"- {section}: {', '.join(f'`{name}`' for name in names)}" for section, names in missing().items()]
    return "\n".join(lines)
