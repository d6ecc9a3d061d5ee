"""Limits after which a silent connection counts as lost, because a crashed server never closes it."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

IDLE_SECONDS = 30  # without traffic, before the first keepalive probe
PROBE_SECONDS = 10  # between probes
PROBES = 3  # unanswered ones, before the connection is lost
UNANSWERED_SECONDS = 60  # for sent data without acknowledgement
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
    """Set the limits on a socket, if the platform supports them and none are set."""
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
    """Connect through a client library that hides its sockets, and set the limits on its new sockets.

    Sockets that other threads open meanwhile get the limits too, which is harmless. Works on Linux only; elsewhere the
    library's own parameters apply.
    """
    before = _sockets()
    connection = connect()
    for number, _ in _sockets() - before:
        with suppress(OSError), socket.socket(fileno=os.dup(number)) as copy:
            watch(copy)
    return connection


def _sockets() -> set[tuple[int, str]]:
    """Sockets of the process: descriptor and inode, which distinguishes a later socket with the same descriptor."""
    found = set()
    with suppress(OSError):
        for descriptor in Path("/proc/self/fd").iterdir():
            with suppress(OSError):  # the one that lists them is closed by now
                if (target := str(descriptor.readlink())).startswith("socket:"):
                    found.add((int(descriptor.name), target))
    return found


def cut(fileno: int) -> None:
    """Shut a connection down, from any thread; pending calls on it fail."""
    with socket.socket(fileno=os.dup(fileno)) as copy, suppress(OSError):
        copy.shutdown(socket.SHUT_RDWR)
