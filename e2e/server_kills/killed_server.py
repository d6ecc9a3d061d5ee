"""The server that is killed and begun again, at one address."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from tests.servers.process_tree import is_alive

ROOT = Path(__file__).parents[2]
READY_SECONDS = 120.0


@dataclass
class KilledServer:
    """``refused``: starts of the server that ended by themselves; ``ready_seconds``: how long each start took."""

    folder: Path
    port: int = field(default_factory=lambda: _free_port())
    pid: int = 0
    refused: list[str] = field(default_factory=list)
    ready_seconds: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "e2e.server_kills.fork_server", str(self.home), str(self.port)]
        self._fork_server = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return self.folder / "server.log"

    def begin(self) -> None:
        """Start it, and do not wait."""
        assert self._fork_server.stdin is not None and self._fork_server.stdout is not None
        self._fork_server.stdin.write(f"{self.log}\n")
        self._fork_server.stdin.flush()
        self.pid = int(self._fork_server.stdout.readline())

    def is_ready(self) -> bool:
        """Wait until it answers. False: it has ended by itself."""
        began = time.monotonic()
        while time.monotonic() - began < READY_SECONDS:
            try:
                if httpx.get(f"{self.url}/readyz", timeout=5, trust_env=False).status_code == 200:
                    self.ready_seconds.append(time.monotonic() - began)
                    return True
            except httpx.TransportError:
                pass
            if not is_alive(self.pid):
                return False
            time.sleep(0.02)
        raise AssertionError(f"no answer within {READY_SECONDS} s: {self.tail()}")

    def kill(self) -> None:
        """Kill -9; one that has ended by itself is noted."""
        if not is_alive(self.pid):
            self.refused.append(self.tail())
            return
        os.kill(self.pid, signal.SIGKILL)
        while is_alive(self.pid):
            time.sleep(0.005)

    def tail(self) -> str:
        """The end of its log."""
        return self.log.read_text()[-2_000:] if self.log.exists() else ""

    def end(self) -> None:
        """Leave no process."""
        if self.pid and is_alive(self.pid):
            os.kill(self.pid, signal.SIGKILL)
        assert self._fork_server.stdin is not None and self._fork_server.stdout is not None
        self._fork_server.stdin.close()
        self._fork_server.wait()
        self._fork_server.stdout.close()


def _free_port() -> int:
    """One that no client gets as its own: it could be connected to itself while no server listens."""
    while True:
        port = random.randrange(20_000, 30_000)
        with closing(socket.socket()) as found, suppress(OSError):
            found.bind(("127.0.0.1", port))
            return port
