"""Where a check stands: a stage that takes long says its name, and a view that shows progress listens.

Nothing depends on it: where nobody listens, as in a batch, the words go nowhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["announce", "listening"]

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Within the block, `listener` is given the words of each stage that begins in this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def announce(stage: str) -> None:
    """Says what begins now: `estimating its speed`."""
    listener = _listener.get()
    if listener is not None:
        listener(stage)
