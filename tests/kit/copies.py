"""Commands that begin at once: each is a copy of a process that has imported what commands import (``copy_server``).

A command of its own interpreter spends 1.5 s of computing on imports before it reads its job file. A copy spends none.
``Copies.begin`` returns a process with the interface of ``subprocess.Popen`` that tests use.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import IO

ROOT = Path(__file__).parents[2]
MODULE = "tests.kit.copy_server"
READ_BY_INTERPRETERS = ("PYTHON", "LD_", "MALLOC_", "OMP_")
"""Beginnings of variables that an interpreter reads once, at its start: a copy would come too late for them."""


@dataclass(slots=True)
class CopiedProcess:
    """A running copy. ``told`` is a pipe that says how it has ended; ``kept`` are files in memory with what it prints,
    as far as its caller has not given files. All are plain handles, closed when nothing refers to this any more."""

    args: Sequence[str]
    pid: int
    told: int
    kept: tuple[int | None, int | None]
    returncode: int | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def poll(self) -> int | None:
        """The exit code, negative for a signal; None while it runs."""
        with self.lock:
            if self.returncode is None and select.select([self.told], [], [], 0)[0]:
                self.returncode = _number(self.told)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired."""
        if self.returncode is None and not select.select([self.told], [], [], timeout)[0]:
            raise subprocess.TimeoutExpired(list(self.args), timeout or 0.0)
        code = self.poll()
        assert code is not None
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """All that it has printed, after its end."""
        self.wait(timeout)
        out, err = map(_text, self.kept)
        return out, err

    def send_signal(self, number: int) -> None:
        """Send a signal to a copy that has not ended yet."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def __del__(self) -> None:
        for handle in (self.told, *self.kept):
            if handle is not None:
                os.close(handle)


def _text(handle: int | None) -> str:
    return "" if handle is None else os.pread(handle, os.fstat(handle).st_size, 0).decode()


def _number(pipe: int) -> int:
    """The next line of the server."""
    line = b""
    while not line.endswith(b"\n"):
        part = os.read(pipe, 1)
        if not part:
            raise RuntimeError(f"{MODULE} has ended: its error stands in the output of the tests")
        line += part
    return int(line)


class Copies:
    """The process that is copied, begun with the first copy."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._control: socket.socket | None = None

    def begin(
        self,
        words: Sequence[str],
        home: Path,
        environment: Mapping[str, str],
        files: tuple[IO[str] | None, IO[str] | None],
        *,
        local: bool,
    ) -> CopiedProcess:
        """Begin a command in ``home``; ``files`` receive what it prints. Its environment is exactly this one; ``local``:
        its units run in its process."""
        out, err = (None if file else os.memfd_create("printed") for file in files)
        handles = [file.fileno() if file else kept for file, kept in zip(files, (out, err), strict=True)]
        told, tells = os.pipe()
        request = {"words": [*words], "home": str(home), "environment": {**environment}, "local": local}
        try:
            with self._lock:
                socket.send_fds(self._running(), [json.dumps(request).encode()], [*filter(None, handles), tells])
        finally:
            os.close(tells)
        return CopiedProcess(["seatunnel", *words], _number(told), told, (out, err))

    def _running(self) -> socket.socket:
        if self._control is None:
            self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            handle = theirs.fileno()
            with theirs:
                command = [sys.executable, "-m", MODULE, str(handle)]
                server = subprocess.Popen(command, cwd=ROOT, pass_fds=[handle], stdin=subprocess.DEVNULL)
            atexit.register(_end, self._control, server)
        return self._control


def _end(control: socket.socket, server: subprocess.Popen[bytes]) -> None:
    control.close()
    server.wait()


@cache
def copies() -> Copies:
    """Those of this process."""
    return Copies()


def can_be_copied(environment: Mapping[str, str]) -> bool:
    """Whether an interpreter that runs already is one that this environment would begin."""
    return all(
        environment.get(name) == os.environ.get(name)
        for name in {*environment, *os.environ}
        if name.startswith(READ_BY_INTERPRETERS)
    )
