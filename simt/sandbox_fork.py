"""Children that start at once: forks of a process that has loaded what they need, each confined after the fork.

Loading Python, NumPy and a compiler takes longer than judging a small kernel. A *fork server* is started once, by the
same command as a child, with the same empty environment. It loads, stays single-threaded, and from then on only
forks: it never sees a job, so a child finds in its memory what a freshly started one would have loaded itself, and
nothing of any other job. Each fork gets pipes of its own, a session of its own, no other file, and dies with the server.

Only Linux: elsewhere, and where a server cannot be had, `ForkServer.child` raises `NoForkServer` and the caller starts
a child in the ordinary way.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import IO, Any, NoReturn

from simt.sandbox import Child, Limits

__all__ = ["ForkServer", "Forked", "NoForkServer", "serve_forks"]

MOST_REQUEST_BYTES = 64 * 1024  # a request names folders and limits; an answer is a number
PR_SET_PDEATHSIG = 1  # linux/prctl.h
FIRST_OTHER_FILE = 3
POLL_SECONDS = (0.0002, 0.01)  # first and longest pause between two looks at a process that is ending


class NoForkServer(RuntimeError):
    """No fork server can be had here; the message says why."""


class Forked:
    """A child of a fork server, with the part of `subprocess.Popen` that `Child` uses."""

    def __init__(self, pid: int, status: Callable[[int], int | None], files: Sequence[IO[bytes]]):
        self.pid = pid
        self.returncode: int | None = None
        self.stdin: IO[bytes] | None
        self.stdout: IO[bytes] | None
        self.stderr: IO[bytes] | None
        self.stdin, self.stdout, self.stderr = files
        self._status = status
        self._asking = threading.Lock()

    def poll(self) -> int | None:
        """The exit status as `Popen` gives it, None while the process runs."""
        with self._asking:  # a second thread that asks of a child that was collected would end its server
            if self.returncode is None:
                self.returncode = self._status(self.pid)
            return self.returncode

    def kill(self) -> None:
        """Ends the process; `Child` ends its whole session."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """The exit status, once there is one.

        Raises:
            subprocess.TimeoutExpired: there is none after `timeout` seconds.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        pause, longest = POLL_SECONDS
        while (status := self.poll()) is None:
            if deadline is not None and time.monotonic() > deadline:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
            time.sleep(pause)
            pause = min(2 * pause, longest)
        return status


class ForkServer:
    """Starts children as forks of one process; safe to use from several threads.

    A server that ended takes its children along; the next child is given by another one.

    Args:
        command: starts a process that calls `serve_forks`.
        start_seconds: how long it may take to load.
    """

    def __init__(self, command: Sequence[str], start_seconds: float):
        self._command, self._start_seconds = command, start_seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen | None = None
        self._control: socket.socket | None = None
        atexit.register(self.close)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget)

    def child(self, setup: object, limits: Limits) -> Child:
        """A fork that does what the server's script does with `setup`, any value that JSON can hold.

        Raises:
            NoForkServer: this system has no fork, or the server does not start.
        """
        if platform.system() != "Linux":
            raise NoForkServer("fork servers are for Linux")
        pipes = [os.pipe() for _ in range(3)]
        theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        ours = [pipes[0][1], pipes[1][0], pipes[2][0]]
        try:
            pid = self._forked(setup, theirs)
        except BaseException:
            for handle in ours:
                os.close(handle)
            raise
        finally:
            for handle in theirs:
                os.close(handle)
        server = self._process
        files = [os.fdopen(handle, mode) for handle, mode in zip(ours, ("wb", "rb", "rb"), strict=True)]
        return Child.of(Forked(pid, lambda number: self._status(number, server), files), limits)

    def close(self) -> None:
        """Ends the server and with it every child that still runs."""
        with self._lock:
            self._end()

    def _forked(self, setup: object, files: Sequence[int]) -> int:
        """The pid of a new child; asks a second server where the first one is gone."""
        request = json.dumps({"setup": setup}).encode()
        with self._lock:
            for _ in range(2):
                control = self._started()
                with contextlib.suppress(OSError, ValueError):
                    socket.send_fds(control, [request], files)
                    return int(control.recv(MOST_REQUEST_BYTES))
                self._end()
        raise NoForkServer("the fork server ends when it is asked for a child")

    def _status(self, pid: int, server: subprocess.Popen | None) -> int | None:
        """How the child ended; that it was killed where its server is gone, which takes it along."""
        with self._lock:
            if self._process is not server or self._control is None:
                return -signal.SIGKILL
            try:
                self._control.send(json.dumps({"status": pid}).encode())
                return json.loads(self._control.recv(MOST_REQUEST_BYTES))
            except (OSError, ValueError):
                self._end()
                return -signal.SIGKILL

    def _started(self) -> socket.socket:
        if self._control is not None:
            return self._control
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                self._command, stdin=theirs.fileno(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=os.sep, env={},
                start_new_session=True,
            )  # fmt: skip
        self._control.settimeout(self._start_seconds)
        said = b""
        with contextlib.suppress(OSError):
            said = self._control.recv(MOST_REQUEST_BYTES)
        if said != READY:
            self._end()
            raise NoForkServer(said.decode(errors="replace") or "the fork server does not start")
        return self._control

    def _end(self) -> None:
        if self._control is not None:
            self._control.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._control = self._process = None

    def _forget(self) -> None:
        """Leaves the server to the parent of a fork; this side starts its own."""
        if self._control is not None:
            self._control.close()
        self._lock, self._control, self._process = threading.Lock(), None, None


READY = b"ready"


def serve_forks(begin: Callable[[Any], None]) -> NoReturn:
    """The server's side: forks a child for each request until the parent goes away, and runs `begin(setup)` in it.

    Call it when everything is loaded. A process with a second thread does not fork: what that thread holds would be
    held for ever in the child.
    """
    control = socket.socket(fileno=os.dup(0))
    threads = len(os.listdir("/proc/self/task"))
    if threads != 1:
        control.send(f"the fork server has {threads} threads".encode())
        os._exit(1)
    gc.collect()
    gc.freeze()  # so that a child's collector does not write to pages that it shares
    control.send(READY)
    while True:
        data, files, _, _ = socket.recv_fds(control, MOST_REQUEST_BYTES, 3)
        if not data:
            os._exit(0)
        request = json.loads(data)
        if "status" in request:
            control.send(json.dumps(_status_of(request["status"])).encode())
        else:
            control.send(str(_fork(begin, request["setup"], files)).encode())


def _status_of(pid: int) -> int | None:
    """The exit status of a child, None while it runs; a child is reaped here alone, so its number stays its own."""
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _fork(begin: Callable[[Any], None], setup: object, files: Sequence[int]) -> int:
    """The pid of a child that has a session of its own by the time this returns."""
    server = os.getpid()
    ready, is_leader = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _become_child(server, files)
            begin(setup)
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    for handle in (is_leader, *files):
        os.close(handle)
    os.read(ready, 1)
    os.close(ready)
    return pid


def _become_child(server: int, files: Sequence[int]) -> None:
    """Leaves the server's session and files behind; what was the write end of its pipe closes with them."""
    os.setsid()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != server:  # it ended before the line above
        os._exit(1)
    for number, handle in enumerate(files):
        os.dup2(handle, number)
    for name in os.listdir("/proc/self/fd"):
        if int(name) >= FIRST_OTHER_FILE:
            with contextlib.suppress(OSError):  # the one that listed them
                os.close(int(name))
    gc.enable()
