"""Child processes with limits: what runs a compiler or a student's kernel runs in one of these.

A child starts with an empty environment in `/`, loads what it needs, calls `confine`, and only then accepts work over
its pipes. Not every machine has every layer; `layers` says which are here, and a child names those it switched on.

Parent and child exchange messages, each a tuple of byte strings (`Child.ask`, `serve`). The child's own standard
output is moved out of the way first, so nothing it prints can pass for an answer. Each question carries a fresh number
that the answer has to repeat, and the parent reads only while it waits, so that a child which speaks out of turn
neither answers a later question nor fills the parent's memory.

A child's error output is kept until it has said hello, and dropped from then on: it tells why a child did not start, and
holds nothing that a job wrote.
"""

from __future__ import annotations

import contextlib
import os
import platform
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Protocol

__all__ = ["Child", "ChildDied", "ChildTimeout", "Layer", "Limits", "confine", "extend_cpu_limit", "layers", "serve"]

Message = tuple[bytes, ...]

MIB = 1024 * 1024
NONCE_BYTES = 16
MOST_PARTS = 32
END_SECONDS = 10.0  # for the last of a child whose pipe is closed; a busy machine takes longer than a second
MOST_ERROR_BYTES = 4096  # of a child's error output: its end, where a traceback names the error


@dataclass(frozen=True, slots=True)
class Limits:
    """What a child may use. None leaves that resource alone.

    Attributes:
        address_space_bytes: virtual memory beyond what is mapped when the limits are set (where a GPU's driver is
            installed, NVRTC alone reserves 12 GiB); a CUDA context needs tens of GiB more, so a GPU worker sets None.
        data_bytes: heap and private mappings.
        cpu_seconds: processor time, of one job where the child is kept warm.
        wall_seconds: time from a question to its answer; the parent holds this one.
        file_bytes: largest file the child may write.
        open_files: file descriptors.
        message_bytes: largest answer that the parent reads.
    """

    address_space_bytes: int | None = 2048 * MIB
    data_bytes: int | None = None
    cpu_seconds: int | None = 20
    wall_seconds: float = 60.0  # thrice the processor time: others use the machine too
    file_bytes: int | None = 0
    open_files: int | None = 32
    message_bytes: int = 64 * MIB


@dataclass(frozen=True, slots=True)
class Layer:
    """One means of confinement: its name, whether this machine has it, and why (or why not)."""

    name: str
    available: bool
    why: str


class ChildDied(RuntimeError):
    """The child ended without an answer.

    Attributes:
        status: exit status; minus the signal's number where a signal ended it.
        errors: where it ended before it was ready, the end of its error output: at most 4 KiB, no control characters.
    """

    def __init__(self, status: int, detail: str = "", errors: str = ""):
        self.status, self.errors = status, errors
        super().__init__(detail or f"child ended with {_status_text(status)}")

    def __reduce__(self) -> tuple[type[ChildDied], tuple[int, str, str]]:
        return type(self), (self.status, str(self), self.errors)  # an exception is unpickled from its message alone


class ChildTimeout(RuntimeError):
    """No answer within the wall limit; the child has been killed."""


def layers() -> tuple[Layer, ...]:
    """Every layer in the order in which it is applied, as this machine has it."""
    from simt.sandbox_linux import landlock_version, seccomp_problem

    posix = os.name == "posix"
    landlock = landlock_version()
    problem = seccomp_problem()
    return (
        Layer("process", True, "own process, empty environment, killed with everything it started"),
        Layer("rlimits", posix, "memory, processor time, file size" if posix else "Windows has no resource limits"),
        Layer("landlock", landlock > 0, _landlock_text(landlock)),
        Layer("seccomp", not problem, problem or "no new programs, processes or sockets"),
    )


def _landlock_text(version: int) -> str:
    if version:
        return f"reads only the folders it needs, writes nothing (ABI {version})"
    if platform.system() != "Linux":
        return "Landlock is a Linux feature"
    return "the kernel is older than 5.13 or was started without Landlock"


def confine(limits: Limits, readable: Iterable[str] | None) -> tuple[str, ...]:
    """Limits the calling process for good; returns the names of the layers that took hold.

    Call it before starting a thread: Landlock and seccomp hold for this thread and its descendants.

    Args:
        limits: resource limits.
        readable: the only files and folders that stay readable, None to leave files alone.
    """
    from simt import sandbox_linux as linux

    applied = ["process"]
    if _limit_resources(limits):
        applied.append("rlimits")
    if readable is not None and linux.landlock_version():
        linux.restrict_files(path for path in readable if os.path.exists(path))
        applied.append("landlock")
    if not linux.seccomp_problem():
        linux.restrict_system_calls()
        applied.append("seccomp")
    return tuple(applied)


def _limit_resources(limits: Limits) -> bool:
    try:
        import resource
    except ImportError:
        return False
    wanted = {
        "RLIMIT_CORE": 0,
        "RLIMIT_AS": limits.address_space_bytes and limits.address_space_bytes + _mapped_bytes(),
        "RLIMIT_DATA": limits.data_bytes,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": limits.open_files,
    }
    for name, value in wanted.items():
        if value is not None and hasattr(resource, name):
            # macOS refuses some of these; the remaining ones still help.
            with contextlib.suppress(ValueError, OSError):
                resource.setrlimit(getattr(resource, name), (value, value))
    extend_cpu_limit(limits)
    return True


def _mapped_bytes() -> int:
    """Virtual memory that this process has mapped; 0 where the system does not say."""
    with contextlib.suppress(OSError, ValueError):
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    return 0


def extend_cpu_limit(limits: Limits) -> None:
    """Gives the calling process `cpu_seconds` from now on: a warm child calls it before each job.

    A timer rather than RLIMIT_CPU, which libnvrtc raises to its hard limit. SIGPROF ends the process.
    """
    if limits.cpu_seconds is not None and hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, limits.cpu_seconds)


class Process(Protocol):
    """What a `Child` needs of a process: the part of `subprocess.Popen` that others can have, too."""

    pid: int
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None
    stderr: IO[bytes] | None

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def kill(self) -> None: ...


class Child:
    """A child process that answers one message at a time.

    `ask` raises `ChildDied` or `ChildTimeout`, after which the child is gone. Not safe to share between threads
    without a lock.
    """

    def __init__(self, command: Sequence[str], limits: Limits, environment: Mapping[str, str] | None = None):
        """Starts `command` with no more environment than is given; its standard input and output carry messages."""
        self._begin(_started(command, environment), limits)

    @classmethod
    def of(cls, process: Process, limits: Limits) -> Child:
        """The child that `process` is, which somebody else started in a session of its own."""
        child = cls.__new__(cls)
        child._begin(process, limits)
        return child

    def _begin(self, process: Process, limits: Limits) -> None:
        self.limits = limits
        self._owner = os.getpid()
        self._process = process
        self._answers: queue.SimpleQueue[Message | str] = queue.SimpleQueue()
        self._wanted = threading.Semaphore(0)
        self._most_bytes = limits.message_bytes
        self._errors, self._is_ready = b"", False
        self._error_reader = threading.Thread(target=self._read_errors, daemon=True, name="sandbox-errors")
        for reader in (
            threading.Thread(target=self._read_answers, daemon=True, name="sandbox-reader"),
            self._error_reader,
        ):
            reader.start()

    def _read_errors(self) -> None:
        """Keeps the end of the error output; ends as soon as the child is ready."""
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            while chunk := os.read(stream.fileno(), MOST_ERROR_BYTES):
                self._errors = (self._errors + chunk)[-MOST_ERROR_BYTES:]

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        problem = ""
        with self._process.stdout as stream:
            try:
                while True:
                    self._wanted.acquire()
                    self._answers.put(read_message(stream, self._most_bytes))
            except ValueError as error:
                problem = f"child answered with {error}"
            except (EOFError, OSError):
                pass
        self._answers.put(problem)

    @property
    def alive(self) -> bool:
        """True while the child can be asked, by the process that started it."""
        return self._owner == os.getpid() and self._process.poll() is None

    def ask(self, message: Message, wall_seconds: float | None = None, most_bytes: int | None = None) -> Message:
        """The child's answer to `message`, of at most `most_bytes`; the limits' own hold where one is None.

        Raises:
            ChildTimeout: no answer after `wall_seconds`.
            ChildDied: the child ended, or answered with something that is no answer to this message.
        """
        assert self._process.stdin is not None
        nonce = os.urandom(NONCE_BYTES)
        self._most_bytes = (self.limits.message_bytes if most_bytes is None else most_bytes) + NONCE_BYTES
        try:
            with contextlib.suppress(BrokenPipeError):
                write_message(self._process.stdin, (*message, nonce))
            answer = self.wait(wall_seconds)
            if answer[-1:] != (nonce,):
                raise ChildDied(self.kill(), "child answered without having been asked")
            return answer[:-1]
        except BaseException:
            self.kill()
            raise

    def wait(self, wall_seconds: float | None = None) -> Message:
        """The next message of the child, for one that speaks first."""
        self._wanted.release()
        try:
            answer = self._answers.get(timeout=self.limits.wall_seconds if wall_seconds is None else wall_seconds)
        except queue.Empty:
            self.kill()
            raise ChildTimeout(f"no answer within {wall_seconds or self.limits.wall_seconds:g} s") from None
        if answer == "":
            # The pipe closes a moment before the status is there; the status says why it ended.
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_SECONDS)
        if isinstance(answer, str):
            status = self.kill()
            self._error_reader.join(END_SECONDS)
            raise ChildDied(status, answer, "" if self._is_ready else _printable(self._errors))
        self._is_ready = True
        return answer

    def kill(self) -> int:
        """Ends the child and all it started; returns its exit status."""
        if self._owner != os.getpid():
            return 0
        if os.name == "posix":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        else:
            self._process.kill()
        self._wanted.release()  # lets the reader see the end, so that it ends too
        with contextlib.suppress(OSError, ValueError):
            self._process.stdin.close()  # type: ignore[union-attr]
        return self._process.wait()


def _started(command: Sequence[str], environment: Mapping[str, str] | None) -> subprocess.Popen[bytes]:
    # Windows loads no library without this variable.
    needed = {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ and os.name == "nt"}
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=os.path.abspath(os.sep),
        env=needed | dict(environment or {}),
        start_new_session=os.name == "posix",
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
    )


def _printable(output: bytes) -> str:
    """`output` as text in which no character steers a terminal."""
    text = output.decode(errors="replace").strip()
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text.expandtabs())


def _status_text(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-status).name
    return f"signal {-status}"


def serve(answer: Callable[[Message], Message], hello: Callable[[], Message]) -> None:
    """The child's side: says `hello()`, then answers messages until the parent goes away.

    Standard output is replaced before `hello` runs, error output once it has. The parent's end is watched from a thread
    of its own, so that the process ends at once when the parent does, even in the middle of a job.
    """
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    greeting = hello()
    os.dup2(null, 2)
    os.close(null)
    write_message(replies, greeting)
    jobs: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threading.Thread(target=_watch_parent, args=(jobs,), daemon=True).start()
    while True:
        *message, nonce = jobs.get()
        write_message(replies, (*answer(tuple(message)), nonce))


def _watch_parent(jobs: queue.SimpleQueue[Message]) -> None:
    source = sys.stdin.buffer
    try:
        while True:
            jobs.put(read_message(source, 2**62))
    finally:
        os._exit(0)


def write_message(stream: IO[bytes], message: Message) -> None:
    """Writes the number of parts, the length of each, and the parts."""
    lengths = [len(part) for part in message]
    data = memoryview(struct.pack(f"<{len(lengths) + 1}Q", len(lengths), *lengths) + b"".join(message))
    while data:
        data = data[stream.write(data) :]
    stream.flush()


def read_message(stream: IO[bytes], most_bytes: int) -> Message:
    """The next message of `stream`.

    Raises:
        EOFError: the stream ended.
        ValueError: it is longer than `most_bytes`, or no message at all.
    """
    (parts,) = struct.unpack("<Q", _read(stream, 8))
    if parts > MOST_PARTS:
        raise ValueError(f"a message of {parts} parts")
    lengths = struct.unpack(f"<{parts}Q", _read(stream, 8 * parts))
    if sum(lengths) > most_bytes:
        raise ValueError(f"a message of {sum(lengths)} bytes, more than {most_bytes}")
    return tuple(_read(stream, length) for length in lengths)


def _read(stream: IO[bytes], size: int) -> bytes:
    return b"".join(_chunks(stream, size))


def _chunks(stream: IO[bytes], size: int) -> Iterator[bytes]:
    while size:
        chunk = stream.read(min(size, MIB))
        if not chunk:
            raise EOFError
        size -= len(chunk)
        yield chunk
