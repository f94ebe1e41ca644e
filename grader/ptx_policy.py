"""What compiled PTX may contain: the expected kernel with the expected parameters, and no way to outlive a launch.

Inline assembly can close a function and open another, so this looks at the parsed PTX, not at the CUDA text. An
exercise grants more by name in its `policy`: `device_globals`, `special_registers`, `cache_control`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.model import Param, Role
from simt.diagnostics import Diagnostic, diagnose

__all__ = ["check_ptx"]

MAX_PTX_CHARACTERS = 1 << 20
MAX_GLOBAL_BYTES = 1 << 20  # tables and strings; a megabyte is far above what a lesson needs
MAX_CONST_BYTES = 64 * 1024  # of all constant banks together
MAX_SHARED_BYTES = 232_448  # the largest a block may have on sm_90
MAX_LOCAL_BYTES = 16 * 1024  # per thread: reserved for every resident thread of a GPU
EXTERNAL = frozenset({"vprintf", "__assertfail"})

# Registers that say where or when a kernel runs: they let it tell a timed launch from a checked one.
REFUSED_REGISTERS = (
    "%gridid", "%globaltimer", "%clock", "%envreg", "%pm", "%smid", "%nsmid", "%nwarpid", "%reserved_smem",
)  # fmt: skip
REFUSED_OPCODES = ("createpolicy", "applypriority", "discard", "prefetchu", "isspacep.param")
STORES = ("st", "atom", "red", "cp", "multimem", "stmatrix")


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
    return tuple(_findings(module, kernel, params, policy))


def _finding(message: str, help: str = "", line: int | None = None) -> Diagnostic:
    return diagnose("ptx.policy", message, line=line, help=help)


def _findings(module, kernel: str, params: Sequence[Param], policy: frozenset[str]) -> Iterator[Diagnostic]:
    yield from _functions(module, kernel)
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
            yield _finding(f"{total} bytes of {space} variables, more than {most}", "use the buffers that are passed in")
    for function in module.functions.values():
        total = sum(variable.n_bytes for variable in function.variables if variable.space == "local")
        if total > MAX_LOCAL_BYTES:
            yield _finding(
                f"{total} bytes of local arrays a thread, more than {MAX_LOCAL_BYTES}",
                "a GPU reserves them for every resident thread: keep arrays in shared memory or in a buffer",
            )
    if "device_globals" in policy:
        return
    written = _written(module)
    for variable in everything:
        if variable.space == "global" and (variable.extern or not variable.init or variable.name in written):
            yield _finding(
                f"`{variable.name.partition('@')[0]}` is a __device__ variable that a launch can leave something in",
                "keep the state in a buffer; a table that never changes is declared __constant__ or const, with its values",
            )


def _written(module) -> set[str]:
    """Global variables whose address reaches a store, leaves through memory, or goes to an unknown function."""
    globals_ = {name for name, variable in module.variables.items() if variable.space == "global"}
    for function in module.functions.values():
        globals_ |= {variable.name for variable in function.variables if variable.space == "global"}
    written: set[str] = set()
    for function in module.functions.values():
        if function.body is not None and globals_:
            written |= _written_in(function, globals_)
    return written


def _written_in(function, globals_: set[str]) -> set[str]:
    """Follows each global's address through the function's registers until nothing new is reached."""
    from simt.ptx.syntax import Instruction

    code = [item for item in function.body if isinstance(item, Instruction)]
    carries: dict[str, set[str]] = {}
    written: set[str] = set()
    while True:
        before = sum(map(len, carries.values()))
        for instruction in code:
            first, rest = instruction.operands[:1], instruction.operands[1:]
            if instruction.name in STORES and instruction.mods[:1] != ("param",):
                written |= _names((first if instruction.name != "atom" else rest[:1]), carries, globals_)
                written |= _names(rest, carries, globals_) if instruction.name == "st" else set()
            elif instruction.name == "call":
                callee = getattr(instruction.operands[1], "name", "") if len(instruction.operands) > 1 else ""
                if callee not in EXTERNAL:
                    written |= _names(instruction.operands[2:], carries, globals_)
            elif instruction.name not in ("ld", "ldu"):
                sources = _names(rest, carries, globals_)
                for register in _registers(first):
                    carries.setdefault(register, set()).update(sources)
        if sum(map(len, carries.values())) == before:
            return written


def _registers(operands) -> Iterator[str]:
    from simt.ptx.syntax import Address, Pair, Register, Vector

    for operand in operands:
        match operand:
            case Register(name=name):
                yield name
            case Vector(items=items):
                yield from _registers(items)
            case Pair(first=first, second=second):
                yield from _registers((first, second))
            case Address(base=Register(name=name)):
                yield name


def _names(operands, carries: dict[str, set[str]], globals_: set[str]) -> set[str]:
    """Globals whose address one of `operands` is or carries."""
    from simt.ptx.syntax import Address, Symbol, Vector

    found: set[str] = set()
    for operand in operands:
        match operand:
            case Symbol(name=name) | Address(base=Symbol(name=name)) if name in globals_:
                found.add(name)
            case Vector(items=items):
                found |= _names(items, carries, globals_)
    for register in _registers(operands):
        found |= carries.get(register, set())
    return found


def _instructions(module, function, policy: frozenset[str]) -> Iterator[Diagnostic]:
    from simt.ptx.lines import student_line
    from simt.ptx.syntax import Instruction, Special

    seen: set[str] = set()
    for item in function.body or ():
        if not isinstance(item, Instruction):
            continue
        line = student_line(item.location, module)
        if "cache_control" not in policy and item.name in REFUSED_OPCODES and item.name not in seen:
            seen.add(item.name)
            yield _finding(f"the instruction {item.name}", "it changes the cache for later launches; delete it", line)
        if "special_registers" in policy:
            continue
        for operand in item.operands:
            if isinstance(operand, Special) and operand.name.startswith(REFUSED_REGISTERS) and operand.name not in seen:
                seen.add(operand.name)
                yield _finding(
                    f"the special register {operand.name}",
                    "it tells one launch or one place from another; an answer must not depend on that",
                    line,
                )
