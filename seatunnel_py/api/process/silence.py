"""When a silent connection is given up: a peer that is gone without a word closes nothing."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

IDLE_SECONDS = 30  # without traffic, until the other end is asked whether it is there
PROBE_SECONDS = 10  # between such questions
PROBES = 3  # without an answer: the connection is lost
UNANSWERED_SECONDS = 60  # that data may go unacknowledged
LIBPQ = {
    "keepalives": 1,
    "keepalives_idle": IDLE_SECONDS,
    "keepalives_interval": PROBE_SECONDS,
    "keepalives_count": PROBES,
    "tcp_user_timeout": UNANSWERED_SECONDS * 1000,
}
"""The limits as parameters of libpq."""
T = TypeVar("T")


def watch(sock: socket.socket) -> None:
    """Set the limits on a socket, as far as the platform has them and nobody has set others."""
    limits = {
        "TCP_KEEPIDLE": IDLE_SECONDS,
        "TCP_KEEPINTVL": PROBE_SECONDS,
        "TCP_KEEPCNT": PROBES,
        "TCP_USER_TIMEOUT": UNANSWERED_SECONDS * 1000,
    }
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    with socket.socket() as usual:
        for name, value in limits.items():
            with suppress(OSError, AttributeError):
                option = socket.IPPROTO_TCP, getattr(socket, name)
                if sock.getsockopt(*option) == usual.getsockopt(*option):
                    sock.setsockopt(*option, value)


def watched(connect: Callable[[], T]) -> T:
    """Connect by a client library that does not show its sockets, and set the limits on them.

    Sockets that other threads open meanwhile get the limits too, which does no harm. Works on Linux; elsewhere the
    library's own parameters count.
    """
    before = _sockets()
    connection = connect()
    for number, _ in _sockets() - before:
        with suppress(OSError), socket.socket(fileno=os.dup(number)) as copy:
            watch(copy)
    return connection


def _sockets() -> set[tuple[int, str]]:
    """The process's sockets by file descriptor, and what tells each from a later one of the same number."""
    found = set()
    with suppress(OSError):
        for descriptor in Path("/proc/self/fd").iterdir():
            with suppress(OSError):  # the one that lists them is closed by now
                if (target := str(descriptor.readlink())).startswith("socket:"):
                    found.add((int(descriptor.name), target))
    return found


def cut(fileno: int) -> None:
    """End a connection, from any thread: whoever waits on it hears that it is gone."""
    with socket.socket(fileno=os.dup(fileno)) as copy, suppress(OSError):
        copy.shutdown(socket.SHUT_RDWR)
