"""Pointer types that a kernel declares beside those it is called with.

PTX knows only 64-bit addresses, so a `double*` over floats runs; the source tells. It may be meant (bits of a float as
an int), so this is help for a run that failed already, never a reason to refuse a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from grader.model import Compiled, Exercise, Param, Role
from grader.ptx_policy import C_NAMES
from simt.diagnostics import Diagnostic, Severity
from simt.kernel_names import kernel_start, plain_name

__all__ = ["other_type", "with_declared_types"]

# (kind, bytes) of an element; `long` is left out, whose size depends on the system, and so are types of the student's.
ELEMENTS = {
    "float": ("f", 4), "double": ("f", 8), "__half": ("f", 2), "half": ("f", 2), "__nv_bfloat16": ("bf", 2),
    "char": ("i", 1), "signed char": ("i", 1), "unsigned char": ("i", 1), "bool": ("i", 1), "short": ("i", 2),
    "unsigned short": ("i", 2), "int": ("i", 4), "unsigned": ("i", 4), "unsigned int": ("i", 4), "long long": ("i", 8),
    "unsigned long long": ("i", 8), "size_t": ("i", 8), "int8_t": ("i", 1), "uint8_t": ("i", 1), "int16_t": ("i", 2),
    "uint16_t": ("i", 2), "int32_t": ("i", 4), "uint32_t": ("i", 4), "int64_t": ("i", 8), "uint64_t": ("i", 8),
}  # fmt: skip
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_QUALIFIER = re.compile(r"\b(const|volatile|__restrict__|__restrict|restrict)\b")


def other_type(exercise: Exercise, source: str, kernel: str) -> str:
    """One sentence on the first pointer declared with another element type than it is given, "" when there is none."""
    declared = _parameters(source, plain_name(kernel))
    if len(declared) != len(exercise.params):
        return ""
    for text, param in zip(declared, exercise.params, strict=True):
        if param.role is Role.SCALAR or param.dtype not in C_NAMES:
            continue
        base, star, name = _QUALIFIER.sub("", text).partition("*")
        base = " ".join(base.split())
        if star and base in ELEMENTS and ELEMENTS[base] != ELEMENTS[C_NAMES[param.dtype]]:
            return _sentence(name.strip() or param.name, base, param)
    return ""


def _sentence(name: str, base: str, param: Param) -> str:
    wanted = C_NAMES[param.dtype]
    size, given = ELEMENTS[base][1], ELEMENTS[wanted][1]
    steps = f": {name}[i] is then {size} bytes wide, an element {given}" if size != given else ""
    const = "const " if param.role is Role.IN else ""
    wrong = f"the kernel declares `{base}* {name}`, but gets {wanted}s{steps}"
    return f"{wrong}; unless that is meant, declare `{const}{wanted}* {name}`"


def _parameters(source: str, kernel: str) -> list[str]:
    """The declarations between a kernel's parentheses; none where the kernel or its end is not found."""
    text = _COMMENT.sub(lambda match: " " * len(match[0]), source)
    start = kernel_start(text, kernel)
    if start is None:
        return []
    parts, depth = [""], 0
    for letter in text[start:]:
        depth += (letter in "([{<") - (letter in ")]}>")
        if depth < 0:
            return [part.strip() for part in parts if part.strip()]
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return []


def with_declared_types(
    exercise: Exercise, compiled: Compiled, findings: Iterable[Diagnostic]
) -> tuple[Diagnostic, ...]:
    """`findings`; where a declared type differs, errors of memory and results say so before anything else they suggest."""
    found = tuple(findings)
    failed = any(_shows_types(finding) for finding in found)
    sentence = other_type(exercise, compiled.source, compiled.kernel) if failed else ""
    if not sentence:
        return found
    return tuple(replace(f, help=sentence) if _shows_types(f) else f for f in found)


def _shows_types(finding: Diagnostic) -> bool:
    starts = ("memcheck.", "wrong-result", "coverage.unwritten", "initcheck.global")
    return finding.severity is Severity.ERROR and finding.check.startswith(starts)
