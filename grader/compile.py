"""From a submission's text to a `Compiled`, or to the findings that stand in its way.

`simt.nvrtc` compiles in a process of its own and keeps results on disk by digest; this adds what a course needs:
the kernel of the exercise must be there, and what the assembler said about it.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.model import Compiled, Resources
from simt.diagnostics import Diagnostic, Severity, diagnose

__all__ = ["BuildProblem", "compile_text", "compiler_version"]


@dataclass(frozen=True, slots=True)
class BuildProblem:
    """Why there is no `Compiled`: findings (errors first) and the compiler's own words."""

    diagnostics: tuple[Diagnostic, ...]
    log: str = ""


def compile_text(
    source: str, kernel: str, arch: str, *, fresh: bool = False, options: tuple[str, ...] = ()
) -> Compiled | BuildProblem:
    """`source` compiled for `arch`, with `kernel` (a name, or a name expression such as `k<32>`) found in it.

    Args:
        source: canonical CUDA text.
        kernel: as the exercise looks it up.
        arch: `sm_80`…
        fresh: compile in a jailed process of this submission's own instead of the warm one.
        options: further compiler options.
    """
    from simt.kernel_names import missing_kernel
    from simt.nvrtc import CompilerMissing, compile_cuda
    from simt.sandbox import Limits

    names = (kernel,) if "<" in kernel else ()
    try:
        build = compile_cuda(
            source, arch=arch, name_expressions=names, options=options, limits=Limits() if fresh else None
        )
    except CompilerMissing as error:
        return BuildProblem((diagnose("ptx.unsupported", f"this machine cannot compile CUDA: {error}"),))
    if not build.ok:
        return BuildProblem(build.diagnostics, build.log)
    symbol = build.names.get(kernel, kernel)
    if absent := missing_kernel(symbol, build.ptx, source):
        return BuildProblem((absent, *build.diagnostics), build.log)
    warnings = tuple(finding for finding in build.diagnostics if finding.severity is not Severity.ERROR)
    return Compiled(
        build.ptx, build.cubin, symbol, arch, _resources(build, symbol), build.log, build.digest, source, warnings
    )


def _resources(build, symbol: str) -> Resources:
    row = build.resources.get(symbol)
    if row is None:
        return Resources(None, 0, 0, 0)
    spills = row.spill_store_bytes + row.spill_load_bytes
    return Resources(row.registers, spills, row.static_shared_bytes, row.stack_bytes)


def compiler_version() -> str:
    """Version of the CUDA compiler, or why there is none."""
    from simt.nvrtc_toolkit import CompilerMissing, find_toolkit

    try:
        return find_toolkit().version
    except CompilerMissing as error:
        return f"none ({error})"
