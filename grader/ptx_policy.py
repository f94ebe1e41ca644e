"""What compiled PTX may contain: the expected kernel with the expected parameters, and no way to outlive a launch.

Inline assembly can close a function and open another, so this looks at the parsed PTX, not at the CUDA text. An
exercise grants more by name in its `policy`: `device_globals`, `special_registers`, `cache_control`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from grader.model import Param, Role
from grader.ptx_policy_flow import written_globals
from simt.diagnostics import Diagnostic, diagnose

__all__ = ["check_ptx"]

MAX_PTX_CHARACTERS = 1 << 20
MAX_GLOBAL_BYTES = 1 << 20  # tables and strings; a megabyte is far above what a lesson needs
MAX_CONST_BYTES = 64 * 1024  # of all constant banks together
MAX_SHARED_BYTES = 232_448  # the largest a block may have on sm_90
MAX_LOCAL_BYTES = 16 * 1024  # per thread: reserved for every resident thread of a GPU
EXTERNAL = frozenset({"vprintf", "__assertfail"})
MANAGED = re.compile(r"\.attribute\s*\([^)]*\.managed")

# Registers that say which thread this is and how the launch is shaped. The others (clocks, counters, the number of the
# grid, of the multiprocessor, %envreg…) let a kernel tell a timed launch from a checked one.
ACCEPTED_REGISTERS = frozenset(
    """
    tid ntid ctaid nctaid laneid lanemask_eq lanemask_le lanemask_lt lanemask_ge lanemask_gt clusterid nclusterid
    cluster_ctaid cluster_nctaid cluster_ctarank cluster_nctarank is_explicit_cluster dynamic_smem_size total_smem_size
    """.split()
)
REFUSED_OPCODES = frozenset(["createpolicy", "applypriority", "discard", "prefetchu"])
# A policy may also be a number that is written out, so that no createpolicy is needed for it.
REFUSED_HINTS = frozenset(["L2::cache_hint", "L2::evict_last"])
MAX_FINDINGS = 20  # of one text; a hostile one has thousands
MAX_MESSAGE = 1000  # characters; a name may have 50,000


def check_ptx(ptx: str, kernel: str, params: Sequence[Param], policy: frozenset[str]) -> tuple[Diagnostic, ...]:
    """Findings for everything in `ptx` that is not accepted; empty when all is.

    Args:
        ptx: the compiler's output.
        kernel: the only entry that may be in it.
        params: what the grader will pass; empty when the kernel's own list counts.
        policy: what the exercise grants.
    """
    if len(ptx) > MAX_PTX_CHARACTERS:
        return (
            _finding(
                f"the text becomes {len(ptx)} bytes of PTX, more than {MAX_PTX_CHARACTERS}",
                "a large initialiser or a fully unrolled loop is the usual cause",
            ),
        )
    from simt.ptx.parser import PtxSyntaxError, parse

    try:
        module = parse(ptx)
    except PtxSyntaxError as error:
        return (_finding(f"the PTX cannot be read: {error}", "look for inline assembly that is not closed"),)
    return tuple(islice(_findings(module, kernel, params, policy, ptx), MAX_FINDINGS))


def _finding(message: str, help: str = "", line: int | None = None) -> Diagnostic:
    cut = message if len(message) <= MAX_MESSAGE else message[:MAX_MESSAGE] + "…"
    return diagnose("ptx.policy", cut, line=line, help=help)


def _findings(module, kernel: str, params: Sequence[Param], policy: frozenset[str], ptx: str) -> Iterator[Diagnostic]:
    yield from _functions(module, kernel)
    if MANAGED.search(ptx):
        yield _finding("a __managed__ variable", "it is shared with the host; use the buffers that are passed in")
    if kernel in module.functions and params:
        yield from _parameters(module.functions[kernel], params)
    yield from _variables(module, policy)
    for function in module.functions.values():
        yield from _instructions(module, function, policy)


def _functions(module, kernel: str) -> Iterator[Diagnostic]:
    from simt.kernel_names import plain_name

    for function in module.functions.values():
        if function.is_entry and function.name != kernel:
            yield _finding(
                f"a second kernel, `{plain_name(function.name)}`, beside `{plain_name(kernel)}`",
                "keep only the kernel that is asked for; a helper is marked __device__",
            )
        elif function.body is None and not function.is_entry and function.name not in EXTERNAL:
            if not any(function.name == other.name and other.body is not None for other in module.functions.values()):
                yield _finding(
                    f"a call of `{function.name}`, which is outside the kernel's own text",
                    "a kernel here has no heap and launches nothing: use the buffers that it is given",
                )


def _parameters(entry, params: Sequence[Param]) -> Iterator[Diagnostic]:
    import numpy as np

    wanted = [8 if p.role is not Role.SCALAR else np.dtype(p.dtype).itemsize for p in params]
    found = [variable.n_bytes for variable in entry.params]
    if found == wanted:
        return
    signature = ", ".join(f"{_c_type(p)} {p.name}" for p in params)
    if len(found) != len(wanted):
        message = f"`{entry.name}` takes {len(found)} parameters; it is called with {len(wanted)}"
    else:
        k = next(i for i, pair in enumerate(zip(found, wanted)) if pair[0] != pair[1])
        message = f"parameter {k + 1} of `{entry.name}` has {found[k]} bytes; `{params[k].name}` has {wanted[k]}"
    yield _finding(message, f"declare it as {entry.name}({signature})")


C_NAMES = {
    "float32": "float", "float64": "double", "float16": "__half", "int32": "int", "uint32": "unsigned int",
    "int64": "long long", "uint64": "unsigned long long", "int8": "signed char", "uint8": "unsigned char",
    "int16": "short", "uint16": "unsigned short", "bool": "bool",
}  # fmt: skip


def _c_type(param: Param) -> str:
    name = C_NAMES.get(param.dtype, param.dtype)
    return name if param.role is Role.SCALAR else f"{'const ' if param.role is Role.IN else ''}{name}*"


def _variables(module, policy: frozenset[str]) -> Iterator[Diagnostic]:
    caps = {"global": MAX_GLOBAL_BYTES, "const": MAX_CONST_BYTES, "shared": MAX_SHARED_BYTES}
    everything = [*module.variables.values(), *(v for f in module.functions.values() for v in f.variables)]
    for space, most in caps.items():
        total = sum(variable.n_bytes for variable in everything if variable.space == space)
        if total > most:
            yield _finding(
                f"{total} bytes of {space} variables, more than {most}", "use the buffers that are passed in"
            )
    local = sum(v.n_bytes for function in module.functions.values() for v in function.variables if v.space == "local")
    if local > MAX_LOCAL_BYTES:
        yield _finding(
            f"{local} bytes of local arrays a thread, more than {MAX_LOCAL_BYTES}",
            "a GPU reserves them for every resident thread: keep arrays in shared memory or in a buffer",
        )
    if "device_globals" in policy:
        return
    written = written_globals(module, EXTERNAL)
    for variable in everything:
        # One that nothing writes is a constant; headers define hundreds, and PTX gives those of value 0 no initialiser.
        if variable.space == "global" and (variable.extern or variable.name in written):
            yield _finding(
                f"`{variable.name.partition('@')[0]}` is a __device__ variable that a launch can leave something in",
                "keep the state in a buffer; a table that never changes is declared __constant__ or const, with its values",
            )


def _instructions(module, function, policy: frozenset[str]) -> Iterator[Diagnostic]:
    from simt.ptx.lines import student_line
    from simt.ptx.syntax import Instruction

    seen: set[str] = set()
    for item in function.body or ():
        if not isinstance(item, Instruction):
            continue
        line = student_line(item.location, module)
        word = "" if "cache_control" in policy else _cache_control(item)
        if word and word not in seen:
            seen.add(word)
            yield _finding(f"the instruction {word}", "it changes the cache for later launches; delete it", line)
        if "special_registers" in policy:
            continue
        for name in _specials(item.operands):
            if not _is_accepted(name) and name not in seen:
                seen.add(name)
                yield _finding(
                    f"the special register {name}",
                    "it tells one launch or one place from another; an answer must not depend on that",
                    line,
                )


def _cache_control(instruction) -> str:
    """The instruction as it is to be named where it says what should stay in L2 after the launch, else ""."""
    if instruction.name in REFUSED_OPCODES:
        return instruction.name
    hint = next((word for word in instruction.mods if word in REFUSED_HINTS), "")
    return hint and f"{instruction.name} with .{hint}"


def _specials(operands) -> Iterator[str]:
    from simt.ptx.syntax import Special, Vector

    for operand in operands:
        if isinstance(operand, Special):
            yield operand.name
        elif isinstance(operand, Vector):
            yield from _specials(operand.items)


def _is_accepted(register: str) -> bool:
    """True for `%tid`, `%tid.x` and the like."""
    return register.removeprefix("%").partition(".")[0] in ACCEPTED_REGISTERS
