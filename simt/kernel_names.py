"""Kernel names: those a PTX text defines, and what to say when the wanted one is not among them."""

from __future__ import annotations

import re

from simt.diagnostics import Diagnostic, diagnose

__all__ = ["find_kernels", "kernel_line", "kernel_start", "missing_kernel", "plain_name"]

ENTRY = re.compile(r"^\s*(?:\.(?:visible|weak)\s+)?\.entry\s+([\w$.]+)", re.MULTILINE)
MANGLED = re.compile(r"_ZN?(\d+)")


def find_kernels(ptx: str) -> tuple[str, ...]:
    """Names of the kernels in `ptx`, as they must be looked up, in its order."""
    return tuple(ENTRY.findall(ptx))


def plain_name(mangled: str) -> str:
    """The source name inside a C++ name: `saxpy` for `_Z5saxpyfPKfPfi`; other names are returned as they are."""
    match = MANGLED.match(mangled)
    if not match:
        return mangled
    start = match.end()
    length = int(match[1])
    rest = mangled[start + length :]
    inner = re.match(r"(\d+)", rest) if mangled.startswith("_ZN") else None
    return plain_name(f"_ZN{rest}") if inner else mangled[start : start + length]


def kernel_line(source: str, name: str) -> int | None:
    """Line on which the kernel `name` is declared, None when the text has no such kernel."""
    start = kernel_start(source, name)
    return source.count("\n", 0, start) + 1 if start is not None else None


def kernel_start(source: str, name: str) -> int | None:
    """Where the parameters of the kernel `name` begin in `source`, None when the text has no such kernel."""
    match = re.search(r"__global__[^;{]{0,500}?\b" + re.escape(name) + r"\s*\(", source)
    return match.end() if match else None


def missing_kernel(wanted: str, ptx: str, source: str) -> Diagnostic | None:
    """The finding for a kernel that is looked up under a name the module does not have; None when it has it."""
    names = find_kernels(ptx)
    if wanted in names:
        return None
    listed = ", ".join(f"`{name}`" for name in names) or "no kernel at all"
    message = f"no kernel is named `{wanted}`; the module has {listed}"
    same = [name for name in names if plain_name(name) == wanted]
    if same:
        return diagnose(
            "host.kernel-not-found",
            message,
            line=kernel_line(source, wanted),
            help=f'`{same[0]}` is the C++ name of `{wanted}`; extern "C" before __global__ keeps the plain name',
        )
    line = _nearest_line(wanted, names, source)
    return diagnose("host.kernel-not-found", message, line=line, help=_advice(wanted, names, source))


def _nearest_line(wanted: str, names: tuple[str, ...], source: str) -> int | None:
    base = wanted.partition("<")[0]
    return kernel_line(source, base) or next(
        (line for name in names if (line := kernel_line(source, plain_name(name)))), None
    )


def _advice(wanted: str, names: tuple[str, ...], source: str) -> str:
    base = wanted.partition("<")[0].strip()
    if _is_template(source, base):
        return f"`{base}` is a template: ask for one instance by a name expression such as `{base}<32>`"
    import difflib

    close = difflib.get_close_matches(wanted, [plain_name(name) for name in names], 1)
    if close:
        return f"did you mean `{close[0]}`?"
    if not names:
        return f'a kernel is a function marked __global__: extern "C" __global__ void {base}(...)'
    return "use one of these names, or rename the kernel"


def _is_template(source: str, name: str) -> bool:
    return bool(re.search(r"template\s*<[^;{]{0,500}?__global__[^;{]{0,500}?\b" + re.escape(name) + r"\s*\(", source))
