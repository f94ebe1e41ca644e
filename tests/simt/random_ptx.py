"""Random kernels in PTX: any exact form of the table, any control flow that ends, every space of memory.

`random_kernel(seed)` answers with the text; its parameters are those of `arguments`. Integer and float registers never mix,
so that the bits of a NaN, which the ISA leaves open, reach nothing but floats. Every register is stored at the end.
"""

from __future__ import annotations

import functools
import random

import numpy as np

from simt.events import Argument, Direction
from simt.isa.op import Form, forms_of
from simt.isa.table import INTERNAL, ROWS
from simt.ptx.types import Kind, PtxType

__all__ = ["BLOCKS", "arguments", "random_kernel"]

BLOCKS = ((32, 1, 1), (64, 1, 1), (48, 1, 1), (70, 1, 1), (8, 6, 1), (5, 4, 3), (33, 2, 1), (1, 1, 1))
WORDS = 256  # of each array that random addresses reach
EACH = 4  # registers of a class
# Class of registers -> how it is declared and stored.
CLASSES = {"r": "b32", "rd": "b64", "rs": "b16", "f": "f32", "d": "f64", "h": "b16", "hh": "b32", "p": "pred"}
INTEGERS = {16: "rs", 32: "r", 64: "rd"}
FLOATS = {"f32": "f", "f64": "d", "f16": "h", "f16x2": "hh"}
STORED = {"r": ("b32", "uint32"), "rd": ("b64", "uint64"), "rs": ("b16", "uint16"), "f": ("f32", "float32"),
          "d": ("f64", "float64"), "h": ("b16", "float16"), "hh": ("b32", "float16"), "p": ("b32", "uint32")}  # fmt: skip
SPECIALS = (
    "tid.x",
    "tid.y",
    "ctaid.x",
    "ntid.x",
    "nctaid.x",
    "laneid",
    "warpid",
    "lanemask_lt",
    "lanemask_ge",
    "nwarpid",
)
INDEX = {1: 1023, 2: 511, 4: 255, 8: 127, 16: 63}  # greatest element of WORDS words by its size, all ones in binary


def _class(type_: PtxType) -> str | None:
    """The registers that hold a type; None for types left out."""
    if type_.bits == 1:
        return "p"
    if type_.kind is Kind.BFLOAT or type_.name in ("bf16x2", "tf32", "e4m3x2", "e5m2x2"):
        return None
    return FLOATS.get(type_.name) or INTEGERS.get(type_.bits)


def _usable(form: Form) -> bool:
    """An exact form whose operands are all registers of the classes, or literals that are known how to write."""
    if form.op.name == "createpolicy" or form.op.ulp is not None:
        return False
    shape = form.op.shape(form)
    if shape.carry_in or shape.carry_out or any(_class(t) is None for t in (*shape.results, *shape.sources)):
        return False
    # An integer reading a float's bits, or the other way round, would tell one NaN from another.
    mixes = form.op.name in ("mov", "prmt", "lop3", "selp") or any(m.startswith(("pack", "unpack")) for m in form.mods)
    numbers = [t for t in (*shape.results, *shape.sources) if t.bits > 1]
    return not mixes or len({t.kind is Kind.FLOAT or t.name == "f16x2" for t in numbers}) == 1


@functools.cache
def _forms() -> dict[str, tuple[Form, ...]]:
    found: dict[str, list[Form]] = {}
    for row in ROWS:
        if row.eval is not None and row.emit is not None and row.shape is not None:
            found.setdefault(row.name, []).extend(form for form in forms_of(row) if _usable(form))
    return {name: tuple(forms) for name, forms in found.items() if forms}


class _Kernel:
    """The text under way; `random` makes every choice."""

    def __init__(self, seed: int):
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.n_labels = 0
        self.n_targets = 0

    def put(self, text: str, guarded: bool = False) -> None:
        guard = ""
        if guarded and self.random.random() < 0.25:
            guard = f"@{'!' * self.random.getrandbits(1)}{self.register('p')} "
        self.lines.append(f"    {guard}{text};")

    def register(self, kind: str) -> str:
        return f"%{kind}{self.random.randrange(EACH)}"

    def literal(self, kind: str) -> str:
        choices = (0, 1, -1, 2, 5, 31, 32, 0x7FFFFFFF if kind != "rs" else 0x7FFF, self.random.getrandbits(15))
        return str(self.random.choice(choices))

    def source(self, type_: PtxType) -> str:
        kind = _class(type_) or "r"
        if kind in ("r", "rd", "rs") and self.random.random() < 0.2:
            return self.literal(kind)
        return self.register(kind)

    # --- instructions

    def pure(self) -> None:
        forms = _forms()
        form = self.random.choice(forms[self.random.choice(sorted(forms))])
        shape = form.op.shape(form)
        results = [self.register(_class(t) or "r") for t in shape.results]
        if len(set(results)) < len(results):
            return
        sources = [self.source(t) for t in shape.sources]
        if form.op.name == "lop3":
            sources[3] = str(self.random.getrandbits(8))
        opcode = ".".join(part for part in form.opcode.split(".") if part not in INTERNAL)
        if any(m.startswith("pack") for m in form.mods):
            operands = f"{results[0]}, {{{', '.join(self.register(_class(t) or 'r') for t in shape.sources)}}}"
        elif any(m.startswith("unpack") for m in form.mods):
            operands = f"{{{', '.join(results)}}}, {self.register(_class(shape.sources[0]) or 'r')}"
        else:
            operands = ", ".join(["|".join(results), *sources])
        self.put(f"{opcode} {operands}", guarded=True)

    def special(self) -> None:
        self.put(f"mov.u32 {self.register('r')}, %{self.random.choice(SPECIALS)}", guarded=True)

    def address(self, space: str, size: int) -> str:
        """Computes an aligned address inside the space's array; answers with its register."""
        if space == "local":
            self.put(f"and.b32 %a, {self.register('r')}, {64 // size - 1}")
            self.put(f"mul.lo.u32 %a, %a, {size}")
            self.put("cvt.u64.u32 %at, %a")
            self.put("add.s64 %at, %at, %local")
            return "%at"
        stride = self.random.choice((self.register("r"), "%t", "%t"))
        self.put(f"and.b32 %a, {stride}, {INDEX[size]}")
        self.put(f"mul.wide.u32 %at, %a, {size}")
        if space == "generic":
            self.put("add.s64 %other, %at, %out")
            self.put("add.s64 %at, %at, %generic")
            self.put(f"selp.b64 %at, %at, %other, {self.register('p')}")
        else:
            self.put(f"add.s64 %at, %at, %{'buffer' if space == 'global' else 'shared'}")
        return "%at"

    def memory(self) -> None:
        space = self.random.choice(("global", "shared", "shared", "local", "generic"))
        type_ = self.random.choice(("u8", "s8", "u16", "s16", "u32", "b32", "u64", "s32"))
        count = self.random.choice((1, 1, 2, 4))
        size = int(type_[1:]) // 8
        if count * size > 16:
            count = 1
        at = self.address(space, size * count)
        kind = {8: "rs", 16: "rs", 32: "r", 64: "rd"}[8 * size]
        items = self.random.sample([f"%{kind}{n}" for n in range(EACH)], count)
        value = items[0] if count == 1 else f"{{{', '.join(items)}}}"
        opcode = ".".join([*([] if space == "generic" else [space]), *([f"v{count}"] if count > 1 else []), type_])
        if self.random.random() < 0.5:
            self.put(f"ld.{opcode} {value}, [{at}]", guarded=True)
        else:
            self.put(f"st.{opcode} [{at}], {value}", guarded=True)

    def float_load(self) -> None:
        self.put(f"and.b32 %a, {self.register('r')}, {WORDS - 1}")
        self.put("mul.wide.u32 %at, %a, 4")
        self.put("add.s64 %at, %at, %floats")
        self.put(f"ld.global.f32 {self.register('f')}, [%at]", guarded=True)

    def atomic(self) -> None:
        space = self.random.choice(("global", "shared"))
        if self.random.random() < 0.2:
            at, name, kind = (
                self.address(space, 8),
                self.random.choice(("add.u64", "max.s64", "exch.b64", "xor.b64")),
                "rd",
            )
        else:
            at, kind = self.address(space, 4), "r"
            name = self.random.choice(
                ("add.u32", "add.s32", "min.s32", "max.u32", "and.b32", "or.b32", "xor.b32", "exch.b32", "inc.u32", "dec.u32",
                 "cas.b32")
            )  # fmt: skip
        values = ", ".join(self.register(kind) for _ in range(2 if name.startswith("cas") else 1))
        if name[:4] not in ("exch", "cas.") and self.random.random() < 0.4:
            self.put(f"red.{space}.{name} [{at}], {values}", guarded=True)
        else:
            self.put(f"atom.{space}.{name} {self.register(kind)}, [{at}], {values}", guarded=True)

    def together(self) -> None:
        self.put("activemask.b32 %m")
        choice = self.random.randrange(6)
        r, q = self.register, self.random.choice
        if choice < 2:
            mode = q(("up", "down", "bfly", "idx"))
            lane, clamp = q((r("r"), "1", "3", "16")), "0" if mode == "up" else q(("31", "0x181f", "0x101f"))
            target = f"{r('r')}|{r('p')}" if self.random.getrandbits(1) else r("r")
            self.put(f"shfl.sync.{mode}.b32 {target}, {r('r')}, {lane}, {clamp}, %m")
        elif choice == 2:
            self.put(f"vote.sync.{q(('all', 'any', 'uni'))}.pred {r('p')}, {r('p')}, %m")
        elif choice == 3:
            self.put(f"vote.sync.ballot.b32 {r('r')}, {q(('', '!'))}{r('p')}, %m")
        elif choice == 4 and self.random.getrandbits(1):
            self.put(f"match.any.sync.b32 {r('r')}, {r('r')}, %m")
        elif choice == 4:
            self.put(f"match.all.sync.b64 {r('r')}|{r('p')}, {r('rd')}, %m")
        else:
            self.put(f"redux.sync.{q(('add.u32', 'min.s32', 'max.u32', 'and.b32', 'xor.b32'))} {r('r')}, {r('r')}, %m")

    def instructions(self) -> None:
        kinds = (self.pure,) * 10 + (self.memory,) * 3 + (self.special, self.atomic, self.together, self.float_load)
        for _ in range(self.random.randint(1, 7)):
            self.random.choice(kinds)()

    # --- control flow

    def segment(self, number: int) -> None:
        """Blocks that jump among each other and end at one label; a budget of rounds ends every loop."""
        n_blocks = self.random.randint(1, 6)
        labels = [f"S{number}B{n}" for n in range(n_blocks + 1)]
        self.put(f"mov.u32 %left, {self.random.randint(2, 9)}")
        for n in range(n_blocks):
            self.lines.append(f"{labels[n]}:")
            self.instructions()
            self.jump(labels, n)
        self.lines.append(f"{labels[-1]}:")

    def jump(self, labels: list[str], here: int) -> None:
        ahead = labels[here + 1 :]
        choice = self.random.random()
        p = f"{'!' * self.random.getrandbits(1)}{self.register('p')}"
        if self.random.random() < 0.6:
            self.parting(p.removeprefix("!"))
        if choice < 0.3:
            self.put(f"@{p} bra {self.random.choice(ahead)}")
        elif choice < 0.5:
            self.put("sub.s32 %left, %left, 1")
            self.put(f"setp.gt.and.s32 %again, %left, 0, {p}")
            self.put(f"@%again bra {self.random.choice(labels[: here + 1])}")
        elif choice < 0.58:
            self.n_targets += 1
            several = [self.random.choice(ahead) for _ in range(3)]
            self.lines.append(f"T{self.n_targets}: .branchtargets {', '.join(several)};")
            self.put(f"rem.u32 %a, {self.register('r')}, 3")
            self.put(f"brx.idx %a, T{self.n_targets}")
        elif choice < 0.63:
            self.put(f"@{p} ret")
        elif choice < 0.7:
            self.put(f"bra.uni {self.random.choice(ahead)}")

    def parting(self, p: str) -> None:
        """A predicate that differs between lanes, after a few bits of the thread's number."""
        self.put(f"and.b32 %a, %t, {self.random.choice((1, 2, 3, 4, 7, 12, 16, 24, 31, 33))}")
        self.put(
            f"setp.{self.random.choice(('eq', 'ne', 'gt', 'le'))}.u32 {p}, %a, {self.random.choice((0, 0, 1, 2, 4))}"
        )

    def barrier(self) -> None:
        choice = self.random.randrange(5)
        if choice == 0:
            self.put(f"bar.red.popc.u32 {self.register('r')}, 0, {self.register('p')}")
        elif choice == 1:
            self.put(f"bar.red.{self.random.choice(('and', 'or'))}.pred {self.register('p')}, 0, {self.register('p')}")
        else:
            self.put("bar.sync 0")

    # --- the whole

    def text(self) -> str:
        for number in range(self.random.randint(1, 3)):
            if number:
                self.barrier()
            self.segment(number)
        return "\n".join([*_HEAD, *_declared(), *_START, *_initial(), *self.lines, *_stores(), "    ret;", "}", ""])


_HEAD = (
    ".version 9.0", ".target sm_90", ".address_size 64", ".visible .entry k(",
    ",\n".join(f"    .param .u64 {name}" for name in ("buffer", "out", "floats", *(f"all_{kind}" for kind in CLASSES))), ")", "{",
)  # fmt: skip
_START = (
    f"    .shared .align 16 .b8 s[{4 * WORDS}];", "    .local .align 16 .b8 l[64];",
    "    .reg .b32 %a, %t, %n, %m, %left;", "    .reg .b64 %at, %other, %buffer, %out, %floats, %shared, %generic, %local, %to;",
    "    .reg .pred %again;", "    ld.param.u64 %buffer, [buffer];", "    ld.param.u64 %out, [out];",
    "    ld.param.u64 %floats, [floats];", "    mov.u64 %shared, s;", "    cvta.shared.u64 %generic, %shared;",
    "    mov.u64 %local, l;", "    mov.u32 %a, %tid.z;", "    mov.u32 %n, %ntid.y;", "    mov.u32 %t, %tid.y;",
    "    mad.lo.u32 %t, %a, %n, %t;", "    mov.u32 %n, %ntid.x;", "    mov.u32 %a, %tid.x;", "    mad.lo.u32 %t, %t, %n, %a;",
)  # fmt: skip


def _declared() -> list[str]:
    return [f"    .reg .{type_} %{kind}<{EACH}>;" for kind, type_ in CLASSES.items()]


def _initial() -> list[str]:
    """Different values in every register, some of them alike in all lanes."""
    lines = []
    for n in range(EACH):
        lines += [f"    mul.lo.u32 %a, %t, {(1, 7, 0, 0x9E3779B1)[n]};", f"    add.u32 %r{n}, %a, {n * n};"]
        lines += [f"    mul.wide.u32 %rd{n}, %r{n}, {(3, 0x10001, 5, 77777)[n]};", f"    cvt.u16.u32 %rs{n}, %r{n};"]
        lines += [f"    cvt.rn.f32.s32 %f{n}, %r{n};", f"    mul.f32 %f{n}, %f{n}, 0f3D800000;"]
        lines += [
            f"    cvt.f64.f32 %d{n}, %f{n};",
            f"    cvt.rn.f16.f32 %h{n}, %f{n};",
            f"    mov.b32 %hh{n}, {{%h{n}, %h0}};",
        ]
        lines += [f"    setp.{('lt', 'gt', 'eq', 'ne')[n]}.u32 %p{n}, %a, {20 * n};"]
    return lines


def _stores() -> list[str]:
    lines = ["    mov.u32 %a, %ctaid.x;", "    mov.u32 %n, %ntid.x;", "    mul.lo.u32 %a, %a, %n;", "    mov.u32 %n, %ntid.y;",
             "    mul.lo.u32 %a, %a, %n;", "    mov.u32 %n, %ntid.z;", "    mad.lo.u32 %t, %a, %n, %t;"]  # fmt: skip
    for kind, (type_, _) in STORED.items():
        size = int(type_[1:]) // 8
        lines += [f"    ld.param.u64 %to, [all_{kind}];", f"    mad.wide.u32 %to, %t, {EACH * size}, %to;"]
        for n in range(EACH):
            value = f"%{kind}{n}"
            if kind == "p":
                lines.append(f"    selp.b32 %a, 1, 0, {value};")
                value = "%a"
            lines.append(f"    st.global.{type_} [%to+{n * size}], {value};")
    return lines


def random_kernel(seed: int) -> str:
    """The PTX text of a kernel called `k`."""
    return _Kernel(seed).text()


def arguments(seed: int, n_threads: int) -> list[Argument]:
    """Arguments for `n_threads` threads in the whole grid."""
    generator = np.random.default_rng(seed)
    words = [generator.integers(0, 1 << 32, WORDS, np.uint32) for _ in range(2)]
    given = [Argument(name, Direction.INOUT, array) for name, array in zip(("buffer", "out"), words, strict=True)]
    given.append(Argument("floats", Direction.IN, generator.standard_normal(WORDS).astype(np.float32)))
    for kind, (type_, dtype) in STORED.items():
        n_bytes = n_threads * EACH * int(type_[1:]) // 8
        array = np.empty(n_bytes // np.dtype(dtype).itemsize, dtype)
        given.append(Argument(f"all_{kind}", Direction.OUT, array))
    return given
