"""When a silent connection is given up: a peer that is gone without a word closes nothing."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from typing import Any

IDLE_SECONDS = 30  # without traffic, until the other end is asked whether it is there
PROBE_SECONDS = 10  # between such questions
PROBES = 3  # without an answer: the connection is lost
UNANSWERED_SECONDS = 60  # that data may go unacknowledged


def watch(sock: Any) -> None:
    """Set the limits on a socket, as far as the platform has them."""
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    limits = {
        "TCP_KEEPIDLE": IDLE_SECONDS,
        "TCP_KEEPINTVL": PROBE_SECONDS,
        "TCP_KEEPCNT": PROBES,
        "TCP_USER_TIMEOUT": UNANSWERED_SECONDS * 1000,
    }
    for name, value in limits.items():
        with suppress(OSError, AttributeError):
            sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def cut(fileno: int) -> None:
    """End a connection, from any thread: whoever waits on it hears that it is gone."""
    with socket.socket(fileno=os.dup(fileno)) as copy, suppress(OSError):
        copy.shutdown(socket.SHUT_RDWR)
