"""A private Redis server: `with RedisServer.running() as server: redis.Redis(port=server.port)`."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from tests.servers.ports import LOOPBACK
from tests.servers.private import PrivateServer
from tests.servers.process import find_program

PACKAGE = "redis-server"


def find(program: str) -> Path:
    """The server is a link to another program of the package and acts by the name that it is called by."""
    resolved = find_program(program, PACKAGE)
    return Path(shutil.which(program) or resolved)


class RedisServer(PrivateServer):
    """Without a password, over the loopback address only."""

    kind = "redis"
    accounts = ("redis",)
    stop_signal = signal.SIGTERM
    port_taken = "Address already in use"
    always: ClassVar = MappingProxyType({"bind": LOOPBACK, "appendonly": "yes", "save": "", "protected-mode": "no"})
    not_durable: ClassVar = MappingProxyType({"appendfsync": "no"})

    @property
    def dsn(self) -> str:
        return f"redis://{LOOPBACK}:{self.port}/0"

    def _is_ready(self) -> bool:
        return "Ready to accept connections" in self._logged_since_start()

    def _command(self) -> list[str]:
        options = [part for key, value in self.settings.items() for part in (f"--{key}", value)]
        return [str(find("redis-server")), "--dir", str(self.data), "--port", str(self.port), *options]

    def _initialise_command(self, directory: Path) -> list[str]:
        """Redis makes its files when it starts."""
        return [str(find("redis-server")), "--version"]
