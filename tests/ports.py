"""Ports for servers that a test starts."""

from __future__ import annotations

import itertools
import os
import socket

__all__ = ["free_port"]

# Linux gives ports from 32768 on (ip(7), ip_local_port_range) to whoever asks for any, and to each connection: one of those
# may be taken between looking and the server's start. These are nobody's, and each process of the suite looks at others.
FIRST, LAST, EACH = 10_000, 32_767, 64
_NEXT = itertools.count(os.getpid() * EACH)


def free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens; another one at each call."""
    for number in itertools.islice(_NEXT, LAST - FIRST):
        port = FIRST + number % (LAST - FIRST)
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)):
                return port
    raise OSError("every port is in use")
