"""Compiling in a child process: one kept warm for the edit loop, or a fresh one for a single job.

What comes back is what NVRTC said (`Reply`) or how it was stopped (`Stopped`); reading it is left to `simt.nvrtc_log`.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import Enum
from functools import cache
from pathlib import Path

from simt.nvrtc_toolkit import CompilerMissing, Toolkit
from simt.sandbox import Child, ChildDied, ChildTimeout, Limits, Message
from simt.sandbox_fork import ForkServer, NoForkServer

__all__ = ["Job", "Reply", "Stop", "Stopped", "WarmServer", "compile_fresh", "confinement", "one_submission"]

CHILD = Path(__file__).with_name("nvrtc_child.py")
START_SECONDS = 60.0  # a cold disk under load; a warm one starts in a tenth of a second
TRIES = 3  # of a submission's text whose process is killed from outside
KILLED = -getattr(signal, "SIGKILL", 9)
JOBS_PER_CHILD = 500  # 240 jobs made it 0.2 MiB larger; a hostile text may do worse


@dataclass(frozen=True, slots=True)
class Job:
    """One compilation: text, its name in messages, options as NVRTC takes them, name expressions."""

    source: bytes
    file_name: str
    options: tuple[str, ...]
    names: tuple[str, ...] = ()

    def message(self) -> Message:
        """The job as the child reads it."""
        header = {"file_name": self.file_name, "options": self.options, "names": self.names}
        return json.dumps(header).encode(), self.source


@dataclass(frozen=True, slots=True)
class Reply:
    """NVRTC's answer: its result code (0 is success), lowered names, log, PTX, cubin."""

    code: int
    names: dict[str, str]
    log: str
    ptx: str
    cubin: bytes

    @classmethod
    def read(cls, message: Message) -> Reply:
        """The reply in a child's message; ValueError for anything else."""
        header, log, ptx, cubin = message
        values = json.loads(header)
        names = {str(key): str(value) for key, value in values["names"].items()}
        return cls(int(values["code"]), names, log.decode(errors="replace"), ptx.decode(errors="replace"), cubin)

    def message(self) -> Message:
        """The reply in the form that `read` takes."""
        header = json.dumps({"code": self.code, "names": self.names}).encode()
        return header, self.log.encode(), self.ptx.encode(), self.cubin


class Stop(Enum):
    """Why there is no reply."""

    TIME = "time"
    MEMORY = "memory"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Stopped:
    """The child was ended, or ended itself, before it replied."""

    stop: Stop
    detail: str


NVRTC_OUT_OF_MEMORY = 1  # nvrtc.h: NVRTC_ERROR_OUT_OF_MEMORY


class _Submission:
    """The compile process of one submission: started by its first text, replaced when it fails."""

    def __init__(self, limits: Limits):
        self._limits = limits
        self._child: Child | None = None
        self._toolkit: Toolkit | None = None

    def compile(self, job: Job, toolkit: Toolkit) -> Reply | Stopped:
        """The answer to `job`, asked again where the process was killed: no limit of ours does that, a short memory may."""
        for left in reversed(range(TRIES)):
            try:
                return _ask(self._ready(toolkit), job)
            except (ChildDied, ChildTimeout) as error:
                stopped = _stopped(error)
                if not (left and isinstance(error, ChildDied) and error.status == KILLED):
                    break
        return stopped

    def _ready(self, toolkit: Toolkit) -> Child:
        if self._child is None or not self._child.alive or toolkit != self._toolkit:
            self.close()
            self._child, self._toolkit = _begin(toolkit, self._limits, ()), toolkit
        return self._child

    def close(self) -> None:
        """Ends the process."""
        if self._child:
            self._child.kill()
            self._child = None


_SHARED = threading.local()


@contextlib.contextmanager
def one_submission(limits: Limits) -> Iterator[None]:
    """In the block, fresh compilations of this thread share one jailed process: texts of one submission, nobody else's."""
    _SHARED.submission = _Submission(limits)
    try:
        yield
    finally:
        _SHARED.submission.close()
        _SHARED.submission = None


def compile_fresh(job: Job, toolkit: Toolkit, limits: Limits, readable: Sequence[Path] = ()) -> Reply | Stopped:
    """Compiles in a process of its own, or of its submission's own; one of its own may also read `readable`.

    Raises:
        CompilerMissing: the process does not start.
    """
    submission = getattr(_SHARED, "submission", None)
    if submission is not None and not readable:
        return submission.compile(job, toolkit)
    child = None
    try:
        child = _begin(toolkit, limits, readable)
        return _ask(child, job)
    except (ChildDied, ChildTimeout) as error:
        return _stopped(error)
    finally:
        if child:
            child.kill()


class WarmServer:
    """A compile process that is started once and replaced when it fails; safe to use from several threads."""

    def __init__(self, limits: Limits):
        self._limits = limits
        self._lock = threading.Lock()
        self._child: Child | None = None
        self._toolkit: Toolkit | None = None
        self._jobs = 0
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def compile(self, job: Job, toolkit: Toolkit) -> Reply | Stopped:
        """The answer to `job`, after those of other threads."""
        with self._lock:
            try:
                return _ask(self._ready(toolkit), job)
            except (ChildDied, ChildTimeout) as error:
                return _stopped(error)

    def prepare(self, toolkit: Toolkit) -> None:
        """Starts the process in the background, so that the first job need not wait for it."""
        threading.Thread(target=self._prepare, args=(toolkit,), daemon=True, name="nvrtc-start").start()

    def _prepare(self, toolkit: Toolkit) -> None:
        with self._lock, contextlib.suppress(CompilerMissing):
            self._ready(toolkit)

    def _ready(self, toolkit: Toolkit) -> Child:
        if self._jobs >= JOBS_PER_CHILD or toolkit != self._toolkit or (self._child and not self._child.alive):
            self.close()
        if self._child is None:
            with _starting():
                self._child, _ = _start(toolkit, self._limits, ())
            self._toolkit, self._jobs = toolkit, 0
        self._jobs += 1
        return self._child

    def _forget(self) -> None:
        """Leaves the process to the parent of a fork; this side starts its own."""
        self._lock, self._child = threading.Lock(), None

    def close(self) -> None:
        """Ends the process; the next job starts another."""
        if self._child:
            self._child.kill()
            self._child = None


def confinement(toolkit: Toolkit) -> tuple[str, ...]:
    """The sandbox's layers that hold in a compile process of this machine, as one that was started says.

    Raises:
        ChildDied: it does not start.
        ChildTimeout: it does not answer.
    """
    child, hello = _start(toolkit, Limits(), ())
    child.kill()
    return tuple(json.loads(hello[0])["layers"])


def _start(toolkit: Toolkit, limits: Limits, readable: Sequence[Path]) -> tuple[Child, Message]:
    """A process that is ready for jobs, and what it said of itself."""
    return _greeted(Child(_command(_libraries(toolkit) | _fences(toolkit, limits, readable)), limits))


def _begin(toolkit: Toolkit, limits: Limits, readable: Sequence[Path]) -> Child:
    """A process for one submission, which has the compiler loaded when it begins; a started one where none can be forked."""
    with _starting():
        try:
            child = _fork_server(toolkit).child(_fences(toolkit, limits, readable), limits)
        except NoForkServer:
            return _start(toolkit, limits, readable)[0]
        return _greeted(child)[0]


@contextlib.contextmanager
def _starting() -> Iterator[None]:
    """Raises CompilerMissing for a process that ends before it takes a text: that is no text's fault."""
    try:
        yield
    except (ChildDied, ChildTimeout) as error:
        raise CompilerMissing(
            f"the compiler's process does not start ({_why(error)}); is there memory for it, and is it installed whole?"
        ) from None


@cache
def _fork_server(toolkit: Toolkit) -> ForkServer:
    return ForkServer(_command(_libraries(toolkit)), START_SECONDS)


def _libraries(toolkit: Toolkit) -> dict[str, object]:
    return {"library": str(toolkit.library), "builtins": str(toolkit.builtins) if toolkit.builtins else None}


def _fences(toolkit: Toolkit, limits: Limits, readable: Sequence[Path]) -> dict[str, object]:
    folders = (*toolkit.include_dirs, toolkit.library.parent, *readable)
    return {"limits": asdict(limits), "readable": [str(folder) for folder in folders]}


def _command(setup: dict[str, object]) -> list[str]:
    return [sys.executable, "-I", "-S", str(CHILD), json.dumps(setup)]


def _greeted(child: Child) -> tuple[Child, Message]:
    try:
        return child, child.wait(START_SECONDS)
    except BaseException:
        child.kill()
        raise


def _ask(child: Child, job: Job) -> Reply | Stopped:
    try:
        reply = Reply.read(child.ask(job.message()))
    except (ValueError, KeyError, TypeError) as error:
        child.kill()
        return Stopped(Stop.CRASH, f"the compile process answered nonsense ({type(error).__name__})")
    if reply.code == NVRTC_OUT_OF_MEMORY or "catastrophic error: out of memory" in reply.log:
        return Stopped(Stop.MEMORY, f"more than {_mebibytes(child.limits)} MiB of memory")
    return reply


def _stopped(error: ChildDied | ChildTimeout) -> Stopped:
    if isinstance(error, ChildTimeout):
        return Stopped(Stop.TIME, str(error))
    if error.status == -getattr(signal, "SIGPROF", 0):
        return Stopped(Stop.TIME, "the limit of processor time was reached")
    return Stopped(Stop.CRASH, _why(error))


def _why(error: ChildDied | ChildTimeout) -> str:
    """How the process ended, with the last line that it wrote."""
    last_line = error.errors.rpartition("\n")[2] if isinstance(error, ChildDied) else ""
    return f"{error}: {last_line}" if last_line else str(error)


def _mebibytes(limits: Limits) -> int:
    return (limits.address_space_bytes or 0) // (1024 * 1024)
