"""Processes of this machine that do tasks side by side; one that ends in the middle is replaced and its task tried again."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import platform
import queue
import signal
import threading
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from grader.batch.work import TRIES, Outcome, Task, do
from grader.worker.cpus import MOST_THREADS

__all__ = ["TASK_SECONDS", "LocalPool"]

TASK_SECONDS = 300.0  # for each answer of a task: far beyond the budgets inside, so only a stuck process meets it


class LocalPool:
    """`Runner` with `workers` processes."""

    def __init__(self, workers: int):
        self._workers = max(1, workers)

    def outcomes(self, tasks: Sequence[Task]) -> Iterator[Outcome]:
        """One outcome for each task, as they are done; leaving early ends the processes."""
        todo: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        done: queue.SimpleQueue[Outcome | BaseException] = queue.SimpleQueue()
        lanes = [_Lane(todo, done) for _ in range(min(self._workers, len(tasks)))]
        for task in (*tasks, *([None] * len(lanes))):
            todo.put(task)
        try:
            for lane in lanes:
                lane.start()
            for _ in tasks:
                outcome = done.get()
                if isinstance(outcome, BaseException):
                    raise outcome
                yield outcome
        finally:
            for lane in lanes:
                lane.end()


class _Lane:
    """One process and the thread that feeds it."""

    def __init__(self, todo: queue.SimpleQueue, done: queue.SimpleQueue):
        self._thread = threading.Thread(target=self._feed, daemon=True, name="grading")
        self._todo, self._done = todo, done
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None
        self._ended = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Starts the thread; the process starts with its first task."""
        self._thread.start()

    def _feed(self) -> None:
        try:
            while (task := self._todo.get()) is not None and not self._ended:
                self._done.put(self._try(task))
        except BaseException as error:
            self._done.put(error)

    def _try(self, task: Task) -> Outcome:
        """The outcome; a process that ends in the middle is replaced, one that takes too long is not given a second chance."""
        why = ""
        for _ in range(TRIES):
            try:
                pipe, process = self._started()
                pipe.send(task)
                if not pipe.poll(TASK_SECONDS * len(task.answers)):
                    self._stop()
                    return Outcome(task, lost=f"no result within {TASK_SECONDS * len(task.answers):g} s")
                status, answer = pipe.recv()
                if status == "done":
                    return Outcome(task, answer, f"{platform.node()}:{process.pid}")
                return Outcome(task, lost=answer)
            except (EOFError, OSError) as error:
                why = f" ({error})" if str(error) else ""
            self._stop()
        return Outcome(task, lost=f"the grading process ended in the middle, {TRIES} times{why}")

    def _started(self) -> tuple[Connection, BaseProcess]:
        with self._lock:
            if self._ended:
                raise EOFError
            if self._process is None or self._pipe is None or not self._process.is_alive():
                self._pipe, self._process = _new_process()
            return self._pipe, self._process

    def _stop(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.kill()
                self._process.join()
            if self._pipe is not None:
                self._pipe.close()
            self._process = self._pipe = None

    def end(self) -> None:
        """Ends the process, in the middle of a task if need be."""
        self._ended = True
        self._stop()


def _new_process() -> tuple[Connection, BaseProcess]:
    """A process that waits for tasks, and our end of its pipe."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=False, name="grading")
    try:
        with theirs, _deaf_to_the_keyboard():
            process.start()
    except BaseException:
        ours.close()
        raise
    return ours, process


@contextlib.contextmanager
def _deaf_to_the_keyboard() -> Iterator[None]:
    """A process started in here does not hear Ctrl-C, which a terminal sends to everybody: its parent ends it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection) -> None:
    """The process: does tasks until the parent goes away, and ends with it even in the middle of one."""
    os.environ[MOST_THREADS] = "1"
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    threading.Thread(target=_watch_parent, daemon=True).start()
    try:
        while True:
            task = pipe.recv()
            try:
                pipe.send(("done", do(task)))
            except Exception as error:
                pipe.send(("failed", f"the grader failed: {type(error).__name__}: {str(error)[:300]}"))
    except (EOFError, OSError, KeyboardInterrupt):
        return


def _watch_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)
