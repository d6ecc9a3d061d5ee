"""Accepts connections of workers to the driver, from tasks that receive more work than they started with.

A caller proves that it knows the key, which only this driver and its tasks have, and sends an expected name, once.
Strangers are rejected, and a caller that sends nothing blocks no other.
"""

from __future__ import annotations

import os
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Client, Connection, Listener, answer_challenge, deliver_challenge
from typing import Any

from seatunnel_py.api.process.egress.egress_guard import own_connections

NAME_BYTES_MAX = 256

Answer = Callable[[Connection], None]
"""Serves one connection, on its own thread, and closes it at the end."""

Run = Callable[[str, str, Any], str]
"""Runs the caller's task to its end: takes its job group, its purpose, its function. Returns why it ended, empty after
a normal end."""

OVER = b""
"""Received once the other side has hung up, or has died; also sent to end a connection normally."""


class WorkerListener:
    """Listens at ``host`` from the first expected call on."""

    def __init__(self, host: str, backlog: int) -> None:
        self.key = secrets.token_bytes(32)
        self._host, self._backlog = host, backlog
        self._lock = threading.Lock()
        self._expected: dict[str, Answer] = {}
        self._listener: Listener | None = None

    def expect(self, name: str, answer: Answer) -> tuple[str, int]:
        """Accept a caller of that name from now on; return the address to call."""
        with self._lock:
            self._expected[name] = answer
            if self._listener is None:
                self._listener = Listener((self._host, 0), backlog=self._backlog)
                thread = threading.Thread(target=self._listen, args=(self._listener,), name="switchboard", daemon=True)
                thread.start()
            address: tuple[str, int] = self._listener.address
            return address

    def forget(self, name: str) -> None:
        """Accept that name no more."""
        with self._lock:
            self._expected.pop(name, None)

    def close(self) -> None:
        """Accept no further call; open connections stay open."""
        with self._lock:
            self._expected.clear()
            listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(OSError), own_connections():
                Client(listener.address).close()  # closing it would not wake a thread in accept
            listener.close()

    def _listen(self, listener: Listener) -> None:
        while self._listener is listener:
            with suppress(OSError):
                line = listener.accept()
                threading.Thread(target=self._greet, args=(line,), name="line", daemon=True).start()

    def _greet(self, line: Connection) -> None:
        try:
            deliver_challenge(line, self.key)
            answer_challenge(line, self.key)
            name = line.recv_bytes(NAME_BYTES_MAX).decode()
            _at_once(line)
        except (AuthenticationError, OSError, EOFError, UnicodeDecodeError):
            line.close()
            return
        with self._lock:
            answer = self._expected.pop(name, None)
        if answer is None:
            line.close()
            return
        answer(line)


@contextmanager
def called(address: tuple[str, int], key: bytes, name: str) -> Iterator[Connection]:
    """The caller's end of a connection."""
    with own_connections():
        made = Client(address, authkey=key)
    with made as line:
        _at_once(line)
        line.send_bytes(name.encode())
        yield line


def heard(line: Connection) -> bytes:
    """The next message, or OVER."""
    try:
        return line.recv_bytes()
    except (EOFError, ConnectionError):
        return OVER


def _at_once(line: Connection) -> None:
    """Send messages immediately: after its own header a large one would wait for the other side."""
    with socket.socket(fileno=os.dup(line.fileno())) as same:
        same.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
