"""CUDA C++ to PTX and machine code, in a sandboxed child process, cached by content.

A text that does not compile is a `Build` with diagnostics, never an exception; so is one that crashes the compiler or
runs into a limit. Exceptions are left for our own mistakes and for a machine without a compiler.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from simt.arch import arch as arch_of
from simt.diagnostics import Diagnostic, Severity, diagnose
from simt.kernel_names import kernel_line, plain_name
from simt.nvrtc_cache import BuildCache
from simt.nvrtc_log import KernelResources, LogReader, read_resources
from simt.nvrtc_server import Job, Reply, Stop, Stopped, WarmServer, compile_fresh
from simt.nvrtc_shared import shared_arrays
from simt.nvrtc_toolkit import CompilerMissing, Toolkit, find_toolkit
from simt.sandbox import Limits

__all__ = ["USER_CACHE", "Build", "CompilerMissing", "KernelResources", "compile_cuda", "find_toolkit", "prepare"]

CACHE_FORMAT = "1"
MOST_PTX_CHARACTERS = 4 * 1024 * 1024  # <cuda/barrier> with every instance a lesson makes stays below 0.3 MiB
# NVRTC's -minimal leaves out textures and the runtime's types, which saves a quarter of the time (40 → 30 ms). A text
# that might mention them is compiled in full; that the others give the same machine code was checked on 162 kernels.
NEEDS_EVERYTHING = re.compile(r"#\s*include|cuda|tex|surf|<<<|%:|\\\n")
LANGUAGE = ("-std=c++17", "-lineinfo", "-include=warpwise_prelude.h")

LIGHT = "-minimal"

USER_CACHE = BuildCache()
_WARM = WarmServer(Limits())


@dataclass(frozen=True, slots=True)
class Build:
    """What one text became.

    Attributes:
        ok: True when there is code to run; warnings do not matter.
        ptx, cubin: empty unless ok (the cubin also when none was wanted).
        log: what the compiler said, for a student to read; at most 8 KiB, printable.
        arch: as asked for.
        names: name expression → mangled name.
        resources: kernel's name in the PTX → what the assembler gave it; empty without a cubin.
        diagnostics: errors, then warnings, with lines of the text given.
        seconds: of this call; near zero from the cache.
        nvrtc_version: `13.5.37`.
        digest: of everything that the result depends on.
        notes: what a person who runs this machine should know, such as a cache that cannot be written.
    """

    ok: bool
    ptx: str
    cubin: bytes
    log: str
    arch: str
    names: dict[str, str]
    resources: dict[str, KernelResources]
    diagnostics: tuple[Diagnostic, ...]
    seconds: float
    nvrtc_version: str
    digest: str
    notes: tuple[str, ...] = ()


def prepare() -> None:
    """Starts the compile process in the background; the first compilation then need not wait for it."""
    _WARM.prepare(find_toolkit())


def compile_cuda(
    source: str,
    *,
    arch: str = "sm_80",
    options: Sequence[str] = (),
    include_dirs: Sequence[str | Path] = (),
    name_expressions: Sequence[str] = (),
    file_name: str = "kernel.cu",
    want_cubin: bool = True,
    limits: Limits | None = None,
    cache: BuildCache | None = USER_CACHE,
    toolkit: Toolkit | None = None,
) -> Build:
    """Compiles `source` for `arch`.

    Args:
        source: CUDA C++; lines in diagnostics count from 1 in it.
        arch: `sm_80`, `compute_90`, `sm_90a`…
        options: further NVRTC options.
        include_dirs: further folders that the text may include from.
        name_expressions: instances such as `gemm<128, 8>` to make and name.
        file_name: the text's name in messages.
        want_cubin: also assemble, which is what finds instructions that `arch` lacks, registers and spills.
        limits: None compiles in the shared warm process; limits are for a process of this job's own.
        cache: where to look first and to store; None compiles always.
        toolkit: another NVRTC than the installed 13.x, `find_toolkit(12)` for a GPU whose driver is older.

    Raises:
        CompilerMissing: this machine has no NVRTC, or cannot start it.
        UnknownArch: `arch` has no row in `simt.arch`.
    """
    started = time.perf_counter()
    arch_of(arch)
    tools = toolkit or find_toolkit()
    folders = tuple(Path(folder).absolute() for folder in include_dirs)
    job = _job(source, arch, options, (*folders, *tools.include_dirs), name_expressions, file_name, want_cubin)
    reader = LogReader(source, file_name, tuple(str(folder) for folder in (*folders, *tools.include_dirs)))
    task = _Task(job, tools, reader, limits, folders, cache, _digest(job, folders, tools))
    return _build(task, arch, started)


@dataclass(frozen=True, slots=True)
class _Task:
    """One call of `compile_cuda` with everything found out about it."""

    job: Job
    toolkit: Toolkit
    reader: LogReader
    limits: Limits | None
    folders: tuple[Path, ...]
    cache: BuildCache | None
    digest: str

    def run(self, job: Job) -> Reply | Stopped:
        """The compiler's answer to `job`; what fails without the rarer features is compiled once more with them."""
        answer = self._ask(job)
        if isinstance(answer, Reply) and answer.code and LIGHT in job.options:
            return self._ask(replace(job, options=tuple(option for option in job.options if option != LIGHT)))
        return answer

    def _ask(self, job: Job) -> Reply | Stopped:
        """In the warm process where neither limits nor folders ask for another."""
        if self.limits is None and not self.folders:
            return _WARM.compile(job, self.toolkit)
        return compile_fresh(job, self.toolkit, self.limits or Limits(), self.folders)


def _build(task: _Task, arch: str, started: float) -> Build:
    reply: Reply | None = None
    findings = _text_findings(task.reader.source)
    if not findings:
        reply, findings = _reply(task)
    ok = not any(finding.severity is Severity.ERROR for finding in findings)
    kept = reply if ok else None
    return Build(
        ok=ok,
        ptx=kept.ptx if kept else "",
        cubin=kept.cubin if kept else b"",
        log=task.reader.text(reply.log) if reply else "",
        arch=arch,
        names=kept.names if kept else {},
        resources=read_resources(reply.log) if reply else {},
        diagnostics=findings,
        seconds=time.perf_counter() - started,
        nvrtc_version=task.toolkit.version,
        digest=task.digest,
        notes=(task.cache.problem,) if task.cache and task.cache.problem else (),
    )


def _job(
    source: str,
    arch: str,
    options: Sequence[str],
    folders: Sequence[Path],
    name_expressions: Sequence[str],
    file_name: str,
    want_cubin: bool,
) -> Job:
    number = arch.partition("_")[2]
    target = f"-arch={'sm' if want_cubin else 'compute'}_{number}"
    statistics = ["--ptxas-options=-v"] if want_cubin else []
    light = [] if options or NEEDS_EVERYTHING.search(source) else [LIGHT]
    every = (target, *LANGUAGE, *light, *statistics, *options, *(f"-I{folder}" for folder in folders))
    return Job(source.encode(errors="surrogatepass"), file_name, every, tuple(name_expressions))


def _digest(job: Job, folders: Sequence[Path], toolkit: Toolkit) -> str:
    """Of text, options, versions and, for the caller's own folders, what is in them."""
    options = [option for option in job.options if not option.startswith("-I")]
    facts = [CACHE_FORMAT, toolkit.digest, job.file_name, options, job.names, _headers(folders)]
    return hashlib.sha256(json.dumps(facts).encode() + b"\0" + job.source).hexdigest()


def _headers(folders: Sequence[Path]) -> list[tuple[str, int, int]]:
    """Name, size and time of every file that the caller's folders hold."""
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in files]


def _text_findings(source: str) -> tuple[Diagnostic, ...]:
    """What makes a text unfit to be handed to a C compiler."""
    place, what = source.find("\0"), "a NUL character"
    if place < 0:
        try:
            source.encode()
            return ()
        except UnicodeEncodeError as error:
            place, what = error.start, "half of a character"
    line = source.count("\n", 0, place) + 1
    return (diagnose("compile.error", f"the text holds {what}", line=line, help="delete it and type the line anew"),)


def _reply(task: _Task) -> tuple[Reply | None, tuple[Diagnostic, ...]]:
    """NVRTC's answer, from the cache or the compiler, and all there is to say about it."""
    stored = task.cache.load(task.digest) if task.cache else None
    if stored:
        reply = Reply.read(stored)
        return reply, _findings(reply, task)
    answer = task.run(task.job)
    if isinstance(answer, Reply):
        if task.cache:
            task.cache.store(task.digest, answer.message())
        return answer, _findings(answer, task)
    if answer.stop is Stop.CRASH and task.job.names:
        return _after_crash(task, answer)
    return None, (_stopped(answer),)


def _after_crash(task: _Task, crash: Stopped) -> tuple[Reply | None, tuple[Diagnostic, ...]]:
    """What a second run without name expressions tells about a crash of the first.

    NVRTC ends with a segmentation fault when a name expression asks for a template kernel that does not parse.
    """
    plain = task.run(replace(task.job, names=()))
    if isinstance(plain, Stopped):
        return None, (_stopped(plain),)
    findings = _findings(plain, task)
    if plain.code:
        return plain, findings
    names = task.job.names
    crashed = diagnose(
        "compile.error",
        f"the compiler crashed on {', '.join(f'`{name}`' for name in names)} ({crash.detail})",
        line=kernel_line(task.reader.source, names[0].partition("<")[0].strip()),
        help="compare the template's parameters with this instance's arguments",
    )
    return plain, (crashed, *findings)


def _findings(reply: Reply, task: _Task) -> tuple[Diagnostic, ...]:
    """Errors and warnings of a reply; a failure always has at least one error."""
    found = list(task.reader.findings(reply.log, reply.ptx))
    if reply.code == 0 and len(reply.ptx) > MOST_PTX_CHARACTERS:
        found.insert(0, _too_much_ptx(len(reply.ptx)))
    if reply.code == 0:
        return tuple(found)
    shared = _shared_findings(reply, task.reader.source, task.job.options[0].partition("=")[2])
    if shared:
        found = [*shared, *(f for f in found if "shared data" not in f.message)]
    if not any(finding.severity is Severity.ERROR for finding in found):
        found.insert(0, diagnose("compile.error", f"NVRTC failed with code {reply.code} and no message"))
    return tuple(found)


def _shared_findings(reply: Reply, source: str, arch: str) -> list[Diagnostic]:
    most = arch_of(arch).default_shared_bytes_per_block
    return [
        _static_shared(kernel, row.static_shared_bytes, most, reply.ptx, source)
        for kernel, row in read_resources(reply.log).items()
        if row.static_shared_bytes > most
    ]


def _static_shared(kernel: str, size: int, most: int, ptx: str, source: str) -> Diagnostic:
    arrays = shared_arrays(ptx, source)
    largest = max(arrays, key=lambda array: array.size_bytes, default=None)
    name = f"; the largest is `{largest.name}` with {largest.size_bytes}" if largest and len(arrays) > 1 else ""
    return diagnose(
        "compile.static-shared-limit",
        f"`{plain_name(kernel)}` declares {size} bytes of static shared memory, more than the {most} that a block may "
        f"have without asking{name}",
        line=largest.line if largest else kernel_line(source, plain_name(kernel)),
        help="make the array dynamic (extern __shared__), pass its size as shared_bytes and allow it with "
        "max_dynamic_shared_size_bytes; or use a smaller tile",
    )


def _too_much_ptx(characters: int) -> Diagnostic:
    return diagnose(
        "compile.limit",
        f"the text becomes {characters} bytes of PTX, more than {MOST_PTX_CHARACTERS}",
        help="a large initialiser or a loop unrolled thousands of times is the usual cause",
    )


def _stopped(answer: Stopped) -> Diagnostic:
    what = {
        Stop.TIME: "compilation took too long",
        Stop.MEMORY: "compilation needed too much memory",
        Stop.CRASH: "the compiler crashed",
    }[answer.stop]
    return diagnose(
        "compile.limit",
        f"{what} ({answer.detail})",
        help="large unrolled loops, deep templates and macros, and huge arrays are the usual causes; make them smaller",
    )
