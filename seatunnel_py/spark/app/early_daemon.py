"""The daemon that Python workers fork from begins beside the JVM, not behind it: its imports take most of a second.

Spark starts a daemon of its own when the first pack comes. It looks for the early one under a name of the kernel's
(``NAME_VARIABLE``), hands over its streams, arguments and environment, and from then on only ends when the early one
ends: to Spark the two are one process. Where nobody answers, since there is none or it was called before, Spark's
daemon is what it would have been. Runs before anything is imported, so it needs little itself.
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
CALLED = "early"  # the argument that tells an early daemon from Spark's
STREAMS = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class EarlyDaemon:
    """The driver's end. Until it is called the daemon ends with its standard input, so it never outlives us; then
    with Spark's."""

    process: subprocess.Popen[bytes]
    name: str

    @classmethod
    def start(cls, module: str, environment: Mapping[str, str]) -> EarlyDaemon | None:
        """``module`` calls ``serve`` when it is run. None where the system has no such names and no handles of
        processes."""
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
            stderr=subprocess.DEVNULL,  # whatever is wrong Spark's daemon will say once more, where it is read
            process_group=0,  # Ctrl-C is for the driver
        )
        threading.Thread(target=process.wait, name="early-daemon-ends", daemon=True).start()
        return cls(process, name)

    def stop(self) -> None:
        """Let it end if nobody has called it. Idempotent."""
        assert self.process.stdin is not None
        self.process.stdin.close()


def serve(preload: Callable[[], None]) -> None:
    """Import, wait to be called, and return as Spark's daemon. Ends the process where the driver has gone before."""
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
    """Let an early daemon do Spark's work and wait for its end; False where there is none."""
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
            return False  # it died before it had taken anything
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in STREAMS:
        os.dup2(nowhere, stream)  # the end of a pipe is seen when nobody holds it any more
    select.select([ending], [], [])
    return True


def _take_over(connection: socket.socket) -> None:
    """Become what the other side is: its streams, arguments and environment."""
    head, streams, _, _ = socket.recv_fds(connection, 8, len(STREAMS))
    with connection.makefile("rb") as rest:
        arguments, environment = json.loads(rest.read(*struct.unpack("!Q", head)))
    for stream, given in zip(STREAMS, streams, strict=True):
        os.dup2(given, stream)
        os.close(given)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[:] = arguments
    with contextlib.suppress(BrokenPipeError):  # killed meanwhile: the streams will say so
        connection.sendall(b"\0")


def _address(name: str) -> str:
    return f"\0seatunnel-{name}"  # a name that needs no file, and goes with its process


def _peer(connection: socket.socket) -> tuple[int, int]:
    """Process and user at the other end."""
    size = struct.calcsize("3i")
    pid, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return pid, user
