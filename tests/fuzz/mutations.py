"""Ways to spoil PTX: most leave it readable, so that the damage gets as far as translation and the run."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

from simt.engine.state import GLOBAL_BASE, LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW, WINDOW_BYTES
from tests.fuzz.instructions import any_instruction

__all__ = ["BYTE_MUTATIONS", "PTX_MUTATIONS", "mutated_bytes", "mutated_cuda", "mutated_ptx"]

Lines = list[str]
Mutation = Callable[[random.Random, Lines], None]

_TYPES = "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f16 f32 f64 bf16 f16x2 bf16x2 pred tf32 e4m3x2".split()
_MODS = (
    "v2 v4 v8 shared shared::cta shared::cluster global local const param volatile relaxed.gpu acquire.sys sync aligned"
    " sat rn rz ftz wide hi lo x1 x2 x4 trans row col add cas exch inc min nc L2::cache_hint uni cc async m8n8 noinc"
).split()
_NUMBERS = (
    "0 1 -1 2 3 7 15 16 31 32 33 63 64 127 255 256 4096 65535 65536 2147483647 2147483648 4294967295 4294967296"
    " 9223372036854775807 18446744073709551615 99999999999999999999 -2147483648 -9223372036854775808 0x7fffffffffffffff"
    " 0f7F800000 0fFFFFFFFF 0d7FF8000000000001 1e999 0777"
).split()
_EDGES = (
    0, 1, 0xFFFF, GLOBAL_BASE, GLOBAL_BASE + 4096, GLOBAL_BASE - (1 << 44), SHARED_WINDOW, SHARED_WINDOW + 1024,
    LOCAL_WINDOW, PARAM_WINDOW, SHARED_WINDOW + WINDOW_BYTES, LOCAL_WINDOW + WINDOW_BYTES, PARAM_WINDOW + WINDOW_BYTES,
    1 << 31, 1 << 32, 1 << 40, 1 << 63, (1 << 64) - 1, (1 << 64) - 256, 48 << 10, 1008, 1024, 4080,
)  # fmt: skip
_SIZES = "0 1 3 31 1000 49152 49153 65536 1048576 2147483647 4294967296 99999999999 281474976710656 1152921504606846976".split()
# Instructions for any kernel; {d} a 64-bit register, {r} 32-bit, {f} f32, {p} predicate, {e} an address at an edge.
_TEMPLATES = (
    "mov.u64 {d}, {e}; ld.global.u32 {r}, [{d}];",
    "mov.u64 {d}, {e}; ld.u32 {r}, [{d}+-4];",
    "mov.u64 {d}, {e}; st.global.v4.u32 [{d}-8], {{{r}, {r}, {r}, {r}}};",
    "mov.u64 {d}, {e}; st.v2.u64 [{d}], {{{d}, {d}}};",
    "mov.u64 {d}, {e}; ld.v8.f32 {{{f}, {f}, {f}, {f}, {f}, {f}, {f}, {f}}}, [{d}];",
    "mov.u64 {d}, {e}; atom.global.add.u64 {d}, [{d}], 1;",
    "mov.u64 {d}, {e}; atom.add.f32 {f}, [{d}], {f};",
    "mov.u64 {d}, {e}; atom.cas.b16 {r}, [{d}], {r}, {r};",
    "mov.u64 {d}, {e}; red.global.max.s32 [{d}], {r};",
    "mov.u64 {d}, {e}; prefetch.global.L2 [{d}];",
    "mov.u64 {d}, {e}; cp.async.ca.shared.global [{r}], [{d}], 4;",
    "mov.u64 {d}, {e}; cp.async.cg.shared.global [{r}], [{d}], 16, {r};",
    "cp.async.commit_group; cp.async.wait_group {n};",
    "cp.async.wait_all;",
    "mov.u32 {r}, {e}; ld.shared.u32 {r}, [{r}];",
    "mov.u32 {r}, {e}; st.shared.v4.f32 [{r}+{n}], {{{f}, {f}, {f}, {f}}};",
    "mov.u32 {r}, {e}; atom.shared.exch.b32 {r}, [{r}], {r};",
    "mov.u32 {r}, {e}; ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{{r}, {r}, {r}, {r}}}, [{r}];",
    "mov.u32 {r}, {e}; stmatrix.sync.aligned.m8n8.x1.shared.b16 [{r}], {{{r}}};",
    "mov.u64 {d}, {e}; ld.local.u32 {r}, [{d}];",
    "mov.u64 {d}, {e}; st.local.v4.u32 [{d}], {{{r}, {r}, {r}, {r}}};",
    "mov.u64 {d}, {e}; ld.const.u64 {d}, [{d}+{n}];",
    "ld.param.u64 {d}, [{n}];",
    "shfl.sync.idx.b32 {r}|{p}, {r}, {r}, {n}, {n};",
    "shfl.sync.bfly.b32 {r}, {r}, {n}, {r}, {r};",
    "vote.sync.ballot.b32 {r}, {p}, {n};",
    "match.any.sync.b32 {r}, {r}, {r};",
    "redux.sync.add.s32 {r}, {r}, {n};",
    "bar.sync {n};",
    "bar.sync {n}, {n};",
    "barrier.sync {r}, {r};",
    "bar.arrive {n}, {r};",
    "bar.red.popc.u32 {r}, {n}, {p};",
    "bar.warp.sync {r};",
    "@{p} bra.uni {l};",
    "@{p} exit;",
    "@{p} trap;",
    "nanosleep.u32 {n};",
    "mbarrier.init.shared.b64 [{r}], {n};",
    "mbarrier.arrive.shared.b64 {d}, [{r}];",
    "mbarrier.try_wait.parity.shared.b64 {p}, [{r}], {n};",
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{r}], [{d}], {n}, [{r}];",
    "cp.async.bulk.global.shared::cta.bulk_group [{d}], [{r}], {n};",
    "mapa.shared::cluster.u32 {r}, {r}, {n};",
    "mov.u32 {r}, {e}; mapa.shared::cluster.u32 {r}, {r}, {r}; ld.shared::cluster.u32 {r}, [{r}];",
    "mov.u32 {r}, {e}; st.shared::cluster.v2.u32 [{r}+{n}], {{{r}, {r}}};",
    "mov.u32 {r}, {e}; atom.shared::cluster.add.u32 {r}, [{r}], {n};",
    "barrier.cluster.arrive; barrier.cluster.wait;",
    "barrier.cluster.arrive.release.aligned;",
    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [{r}], [{d}, {{{r}, {r}}}], [{r}];",
    "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [{d}, {{{r}}}], [{r}];",
    "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [{d}], [{r}], {n};",
    "cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [{d}, {{{r}, {r}}}], [{r}];",
    "cp.async.bulk.shared::cta.shared::cluster.mbarrier::complete_tx::bytes [{r}], [{r}], {n}, [{r}];",
    "cp.async.bulk.commit_group; cp.async.bulk.wait_group.read {n};",
    "cp.async.mbarrier.arrive.noinc.shared.b64 [{r}];",
    "mbarrier.arrive.expect_tx.shared.b64 _, [{r}], {n};",
    "mbarrier.inval.shared.b64 [{r}];",
    "fence.proxy.async;",
    "wgmma.fence.sync.aligned; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned {n};",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{{f}, {f}, {f}, {f}}}, {d}, {d}, 1, 1, 1, 0, 0;",
    "wgmma.mma_async.sync.aligned.m64n8k32.s32.s8.s8 {{{r}, {r}, {r}, {r}}}, {{{r}, {r}, {r}, {r}}}, {d}, {p};",
    "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {{{f}, {f}, {f}, {f}}}, {{{r}, {r}, {r}, {r}}}, {{{r}, {r}}},"
    " {{{f}, {f}, {f}, {f}}};",
    "wmma.load.a.sync.aligned.row.m16n16k16.global.f16 {{{r}, {r}, {r}, {r}, {r}, {r}, {r}, {r}}}, [{d}], {r};",
    "wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [{r}], {{{f}, {f}, {f}, {f}, {f}, {f}, {f}, {f}}}, {n};",
    "setmaxnreg.inc.sync.aligned.u32 {n};",
    "mov.u32 {r}, %pm{n};",
    "mov.b64 {{{r}, {r}}}, {d};",
    "div.s32 {r}, {r}, {n}; rem.u64 {d}, {d}, {d};",
    "shl.b32 {r}, {r}, {n}; bfe.u32 {r}, {r}, {n}, {n}; bfi.b32 {r}, {r}, {r}, {n}, {n};",
    "cvt.rzi.s32.f32 {r}, {f}; cvt.rn.f32.u64 {f}, {d};",
    ".shared .align 16 .b8 hole[{s}];",
    ".local .b8 deep[{s}];",
    ".reg .b32 %many<{s}>;",
    ".loc {n} {n} {n}",
    ".loc 1 7 3, function_name $L__nothing, inlined_at 1 9 4",
)
_REGISTER = re.compile(r"%(?:rd|r|f|fd|p|rs|h|b)\d+\b")
_INSTRUCTION = re.compile(r"\s*(?:@!?%p\d+\s+)?[a-z][\w.:]*\s")


def _body(lines: Lines) -> list[int]:
    """Indices of lines that are instructions."""
    return [index for index, line in enumerate(lines) if line.rstrip().endswith(";") and _INSTRUCTION.match(line)]


def _pick(rng: random.Random, lines: Lines) -> int:
    found = _body(lines)
    return rng.choice(found) if found else rng.randrange(len(lines))


def _replace_one(rng: random.Random, text: str, pattern: str, new: str) -> str:
    """`text` with one of the pattern's matches replaced."""
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    match = rng.choice(found)
    return text[: match.start()] + new + text[match.end() :]


def delete_line(rng: random.Random, lines: Lines) -> None:
    del lines[_pick(rng, lines)]


def swap_lines(rng: random.Random, lines: Lines) -> None:
    one, other = _pick(rng, lines), _pick(rng, lines)
    lines[one], lines[other] = lines[other], lines[one]


def repeat_line(rng: random.Random, lines: Lines) -> None:
    lines.insert(_pick(rng, lines), lines[_pick(rng, lines)])


def other_register(rng: random.Random, lines: Lines) -> None:
    known = _REGISTER.findall("\n".join(lines))
    if known:
        at = _pick(rng, lines)
        lines[at] = _replace_one(rng, lines[at], _REGISTER.pattern, rng.choice(known))


def other_type(rng: random.Random, lines: Lines) -> None:
    at = _pick(rng, lines)
    lines[at] = _replace_one(rng, lines[at], r"\.(?:pred|bf16|[busf]\d+)\b", "." + rng.choice(_TYPES))


def other_modifier(rng: random.Random, lines: Lines) -> None:
    at = _pick(rng, lines)
    lines[at] = _replace_one(rng, lines[at], r"(?<=[a-z0-9])\.[a-z]\w*", "." + rng.choice(_MODS))


def more_modifiers(rng: random.Random, lines: Lines) -> None:
    at = _pick(rng, lines)
    lines[at] = _replace_one(rng, lines[at], r"(?<=[a-z0-9])(?=\.[a-z])", "." + rng.choice(_MODS))


def other_opcode(rng: random.Random, lines: Lines) -> None:
    at, source = _pick(rng, lines), lines[_pick(rng, lines)].split()
    words = lines[at].split(None, 1)
    if source and len(words) == 2:
        lines[at] = f"\t{source[0]} {words[1]}"


def other_number(rng: random.Random, lines: Lines) -> None:
    at = _pick(rng, lines)
    lines[at] = _replace_one(rng, lines[at], r"(?<=[ +\[])-?(?:0[xfd][0-9A-Fa-f]+|\d+)\b", rng.choice(_NUMBERS))


def other_offset(rng: random.Random, lines: Lines) -> None:
    at = _pick(rng, lines)
    lines[at] = _replace_one(rng, lines[at], r"(?:\+-?\d+)?\]", f"+{rng.choice(_NUMBERS)}]")


def other_operands(rng: random.Random, lines: Lines) -> None:
    """Drops, doubles or exchanges operands, inside vectors too."""
    at = _pick(rng, lines)
    parts = lines[at].rstrip().rstrip(";").split(",")
    action, index = rng.randrange(3), rng.randrange(len(parts))
    if action == 0 and len(parts) > 1:
        del parts[index]
    elif action == 1:
        parts.insert(index, parts[-1])
    else:
        parts[index], parts[-1] = parts[-1], parts[index]
    lines[at] = ",".join(parts) + ";"


def register_for_number(rng: random.Random, lines: Lines) -> None:
    at = _pick(rng, lines)
    lines[at] = _replace_one(rng, lines[at], _REGISTER.pattern, rng.choice(_NUMBERS))


def other_target(rng: random.Random, lines: Lines) -> None:
    labels = re.findall(r"^(\$?\w+):", "\n".join(lines), re.M) or ["$nowhere"]
    jumps = [index for index in _body(lines) if "bra" in lines[index]]
    if jumps:
        at = rng.choice(jumps)
        lines[at] = re.sub(r"[$\w]+;", rng.choice([*labels, "$nowhere"]) + ";", lines[at])


def other_guard(rng: random.Random, lines: Lines) -> None:
    at = _pick(rng, lines)
    plain = re.sub(r"@!?%\w+\s+", "", lines[at])
    registers = re.findall(r"%p\d+\b", "\n".join(lines)) or _REGISTER.findall("\n".join(lines)) or ["%p0"]
    lines[at] = f"@{rng.choice(['', '!'])}{rng.choice(registers)} {plain.strip()}"


def other_size(rng: random.Random, lines: Lines) -> None:
    sized = [index for index, line in enumerate(lines) if re.search(r"\[\d+\]|<\d+>|\.align \d+|\.version", line)]
    if sized:
        at = rng.choice(sized)
        lines[at] = _replace_one(rng, lines[at], r"(?<=[\[< ])\d+", rng.choice(_SIZES))


def other_parameter(rng: random.Random, lines: Lines) -> None:
    rows = [index for index, line in enumerate(lines) if ".param ." in line]
    if rows:
        lines[rng.choice(rows)] += rng.choice([",", "[4]", "[0]", " .align 512"])
        at = rng.choice(rows)
        lines[at] = _replace_one(rng, lines[at], r"\.(?:[busf]\d+)\b", "." + rng.choice(_TYPES))


def _registers(rng: random.Random, lines: Lines) -> Callable[[str], str]:
    """Chooses a register that the text has, of a stem if it has such."""
    text = "\n".join(lines)
    return lambda stem: rng.choice(re.findall(rf"%{stem}\d+\b", text) or _REGISTER.findall(text) or ["%none"])


def inject_any(rng: random.Random, lines: Lines) -> None:
    """Instructions of the simulator's own table."""
    made = any_instruction(rng, _registers(rng, lines), lambda: rng.choice(_NUMBERS))
    lines.insert(_pick(rng, lines), "\t" + made)


def inject(rng: random.Random, lines: Lines) -> None:
    """Instructions of the table above, with registers that the text has."""
    text, register = "\n".join(lines), _registers(rng, lines)
    made = rng.choice(_TEMPLATES)
    for key, choose in {
        "d": lambda: register("rd"), "r": lambda: register("r"), "f": lambda: register("f"), "p": lambda: register("p"),
        "e": lambda: str(rng.choice(_EDGES) + rng.choice((0, 0, -4, 4, 1, -16, 12))), "n": lambda: rng.choice(_NUMBERS),
        "s": lambda: rng.choice(_SIZES),
        "l": lambda: rng.choice(re.findall(r"^(\$?\w+):", text, re.M) or ["$nowhere"]),
    }.items():  # fmt: skip
        while f"{{{key}}}" in made:
            made = made.replace(f"{{{key}}}", choose(), 1)
    lines.insert(_pick(rng, lines), "\t" + made.replace("{{", "{").replace("}}", "}"))


def print_anything(rng: random.Random, lines: Lines) -> None:
    """A printf whose format and arguments lie wherever."""
    head = next((index for index, line in enumerate(lines) if ".entry" in line), 0)
    at = _pick(rng, lines)
    places = [
        str(rng.choice((*_EDGES, (1 << 63) + LOCAL_WINDOW - 8)) + rng.choice((0, 0, -4, 8, -64))) for _ in range(2)
    ]
    lines[at] += (
        "\n{ .param .b64 p0; .param .b64 p1; .param .b32 r0; .local .b8 own[16];"
        f" st.param.b64 [p0], {places[0]}; st.param.b64 [p1], {places[1]}; call.uni (r0), vprintf, (p0, p1); }}"
    )
    lines.insert(head, ".extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);")


def nest(rng: random.Random, lines: Lines) -> None:
    depth, at = rng.choice((1, 3, 63, 64, 65, 5000)), _pick(rng, lines)
    lines[at] = "{ " * depth + lines[at] + " }" * depth


def long_token(rng: random.Random, lines: Lines) -> None:
    at, long = _pick(rng, lines), rng.choice('%x$9.{[(,;@"') * rng.choice((100, 5000, 100_000))
    lines[at] = _replace_one(rng, lines[at], r"[\w%]+", long)


PTX_MUTATIONS: tuple[Mutation, ...] = (
    delete_line, swap_lines, repeat_line, other_register, other_type, other_modifier, more_modifiers, other_opcode,
    other_number, other_offset, other_operands, register_for_number, other_target, other_guard, other_size,
    other_parameter, print_anything, inject, inject, inject, inject, inject, inject_any, inject_any, inject_any, nest, long_token,
)  # fmt: skip


def mutated_ptx(rng: random.Random, text: str) -> str:
    """`text` after a few mutations."""
    lines = text.split("\n")
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        rng.choice(PTX_MUTATIONS)(rng, lines)
        lines = lines or [""]
    return "\n".join(lines)


def flip(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.choice((1, 4, 30))):
        if data:
            data[rng.randrange(len(data))] = rng.randrange(256)


def cut(rng: random.Random, data: bytearray) -> None:
    start = rng.randrange(len(data) + 1)
    del data[start : start + rng.choice((1, 20, 2000, len(data)))]


def stuff(rng: random.Random, data: bytearray) -> None:
    piece = rng.choice(
        (b"\xff\xfe", b"\0", b"\xc3\x28", b"/*", b'"', b"\r", b"\x1b[31m", "\u202e".encode(), b"{" * 400)
    )
    start = rng.randrange(len(data) + 1)
    data[start:start] = piece


def copy_piece(rng: random.Random, data: bytearray) -> None:
    start, to = rng.randrange(len(data) + 1), rng.randrange(len(data) + 1)
    data[to:to] = data[start : start + rng.choice((3, 40, 900))]


BYTE_MUTATIONS: tuple[Callable[[random.Random, bytearray], None], ...] = (flip, cut, stuff, copy_piece)


def mutated_bytes(rng: random.Random, text: str) -> bytes:
    """The bytes of `text`, some of them changed; often not UTF-8 any more."""
    data = bytearray(text, "utf-8")
    for _ in range(rng.choice((1, 1, 2, 4))):
        rng.choice(BYTE_MUTATIONS)(rng, data)
    return bytes(data)


# What a mutation of CUDA text looks for, and what may stand there instead; most texts still compile.
_CUDA_PIECES = (
    (r"(?<![\w.])\d+(?![\w.])", "0 1 2 3 7 31 32 33 64 255 1023 4096 65537 -1 2147483647 4294967296".split()),
    (r"__syncthreads\(\);|__syncwarp\(\);", ["", "if (threadIdx.x & 1) __syncthreads();", "return;", "__trap();", "continue;"]),
    (r"(?<=[\w\]) ]) ?[+*<>-] ?(?=[\w(])", [" + ", " * ", " - ", " < ", " > ", " << ", " % "]),
    (r"\bif \(", ["if (!", "while ("]),
    (r"\b(?:blockIdx|threadIdx|blockDim)\.x", ["threadIdx.x", "blockIdx.x", "threadIdx.y", "blockDim.x", "gridDim.x", "clock()"]),
    (r"\b(?:int|float|unsigned)\b(?= \w)", ["int", "float", "unsigned", "long long", "double", "char", "volatile int"]),
    (r"(?<=\[)[^\[\]]+(?=\])", ["0", "threadIdx.x", "-1", "1 << 20", "threadIdx.x * 33", "clock() % 7"]),
)  # fmt: skip


def mutated_cuda(rng: random.Random, text: str) -> bytes:
    """CUDA text with a few words exchanged; one in four has bytes changed instead."""
    if rng.random() < 0.25:
        return mutated_bytes(rng, text)
    for _ in range(rng.choice((1, 1, 2, 3))):
        pattern, instead = rng.choice(_CUDA_PIECES)
        text = _replace_one(rng, text, pattern, rng.choice(instead))
    return text.encode("utf-8", "surrogateescape")
