"""Starts the daemon of the Python workers beside the JVM, not after it: its imports take most of a second.

Spark starts its own daemon when the first pack comes. The replacement looks for the early daemon under an abstract
socket name (``NAME_VARIABLE``), and hands over its streams, arguments and environment. From then on it only ends when
the early one ends: to Spark the two are one process. If no early daemon answers, because there is none or it was called
before, Spark's daemon does the work itself. Runs before anything is imported, so it needs little itself.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
import struct
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess

NAME_VARIABLE = "SEATUNNEL_EARLY_DAEMON"
CALLED = "early"  # the argument that distinguishes an early daemon from Spark's
STREAMS = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class EarlyDaemon:
    """The driver's end. Until the daemon is called it ends with its standard input, so it never outlives the driver;
    afterwards it ends with Spark's."""

    process: subprocess.Popen[bytes]
    name: str

    @classmethod
    def start(cls, module: str, environment: Mapping[str, str]) -> EarlyDaemon | None:
        """``module`` calls ``serve`` when it is run. Returns None if the system lacks such names or process handles."""
        import subprocess
        import threading

        if sys.platform != "linux":
            return None
        name = os.urandom(16).hex()
        process = subprocess.Popen(
            [sys.executable, "-m", module, CALLED],
            env={**environment, NAME_VARIABLE: name},
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # Spark's daemon will report the error again, where it is read
            process_group=0,  # Ctrl-C is for the driver
        )
        threading.Thread(target=process.wait, name="early-daemon-ends", daemon=True).start()
        return cls(process, name)

    def stop(self) -> None:
        """Let it end unless it was called. Idempotent."""
        assert self.process.stdin is not None
        self.process.stdin.close()


def serve(preload: Callable[[], None]) -> None:
    """Import, wait for the call, and return as Spark's daemon. Ends the process if the driver ends before."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(_address(os.environ[NAME_VARIABLE]))
        listening.listen(1)
        preload()
        while True:
            called, driver = listening.fileno(), STREAMS[0]
            if called not in select.select([driver, called], [], [])[0]:
                sys.exit()
            connection, _ = listening.accept()
            with connection:
                if _peer(connection)[1] == os.getuid():
                    _take_over(connection)
                    return


def hand_over() -> bool:
    """Let an early daemon do Spark's work and wait for its end; return False if there is none."""
    name = os.environ.get(NAME_VARIABLE)
    if not name:
        return False
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(_address(name))
            pid, user = _peer(connection)
            ending = os.pidfd_open(pid)
        except OSError:
            return False
        if user != os.getuid():
            return False
        text = json.dumps([sys.argv, dict(os.environ)]).encode()
        socket.send_fds(connection, [struct.pack("!Q", len(text))], STREAMS)
        connection.sendall(text)
        if connection.recv(1) != b"\0":
            return False  # it died before it took anything over
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in STREAMS:
        os.dup2(nowhere, stream)  # a pipe reports its end only when no process holds it any more
    select.select([ending], [], [])
    return True


def _take_over(connection: socket.socket) -> None:
    """Take over the other side's streams, arguments and environment."""
    head, streams, _, _ = socket.recv_fds(connection, 8, len(STREAMS))
    with connection.makefile("rb") as rest:
        arguments, environment = json.loads(rest.read(*struct.unpack("!Q", head)))
    for stream, given in zip(STREAMS, streams, strict=True):
        os.dup2(given, stream)
        os.close(given)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = arguments
    with contextlib.suppress(BrokenPipeError):  # killed meanwhile: the streams will show it
        connection.sendall(b"\0")


def _address(name: str) -> str:
    return f"\0seatunnel-{name}"  # a name without a file, which vanishes with its process


def _peer(connection: socket.socket) -> tuple[int, int]:
    """Process and user at the other end."""
    size = struct.calcsize("3i")
    pid, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return pid, user
