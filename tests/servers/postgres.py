"""A private PostgreSQL server: `with PostgresServer.running() as server: connect(server.dsn)`."""

from __future__ import annotations

import contextlib
import signal
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

from tests.servers.ports import LOOPBACK
from tests.servers.private import PrivateServer
from tests.servers.process import find_program, stop_process

PACKAGE = "postgresql"
USER = "postgres"
DATABASE = "postgres"


def find(program: str) -> Path:
    """A PostgreSQL program, of the newest version that the distribution has installed."""
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    newest_first = sorted(versions, key=lambda folder: float(folder.parent.name), reverse=True)
    return find_program(program, PACKAGE, newest_first)


class PostgresServer(PrivateServer):
    """Superuser `postgres` without a password, over the loopback address only."""

    kind = "postgres"
    accounts = ("postgres",)
    # "Fast" shutdown: open sessions are ended.
    stop_signal = signal.SIGINT
    port_taken = "could not bind"
    always: ClassVar = MappingProxyType(
        {
            "listen_addresses": LOOPBACK,
            # A socket's path is limited to 107 bytes, a test's directory is not.
            "unix_socket_directories": "",
            "max_connections": "100",
            "max_prepared_transactions": "64",
            "timezone": "UTC",
            "log_line_prefix": "%m [%p] ",
        }
    )
    not_durable: ClassVar = MappingProxyType({"fsync": "off", "full_page_writes": "off"})
    user: ClassVar = USER

    @property
    def dsn(self) -> str:
        return self.dsn_of(DATABASE)

    def dsn_of(self, database: str) -> str:
        """The address as libpq, psycopg and ADBC take it."""
        return f"postgresql://{USER}@{LOOPBACK}:{self.port}/{database}"

    def jdbc_url(self, database: str = DATABASE) -> str:
        return f"jdbc:postgresql://{LOOPBACK}:{self.port}/{database}"

    def _abandon(self) -> None:
        # "Immediate" shutdown: writes nothing, but gives back the shared memory, which a killed one would leave.
        if self._process is not None:
            stop_process(self._process, signal.SIGQUIT)
            self._process = None

    def _before_start(self) -> None:
        # A crashed postmaster leaves its file; reading "ready" from that one would be a lie.
        (self.data / "postmaster.pid").unlink(missing_ok=True)

    def _is_ready(self) -> bool:
        # The eighth line of the postmaster's own file says "starting" or "ready".
        with contextlib.suppress(OSError):
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return len(lines) >= 8 and lines[7].strip() == "ready"
        return False

    def _command(self) -> list[str]:
        options = [part for key, value in self.settings.items() for part in ("-c", f"{key}={value}")]
        return [str(find("postgres")), "-D", str(self.data), "-p", str(self.port), *options]

    def _initialise_command(self, directory: Path) -> list[str]:
        # C.UTF-8 so that results do not depend on the machine's language.
        return [
            str(find("initdb")), "-U", USER, "-A", "trust", "-E", "UTF8",
            "--locale=C.UTF-8", "--no-sync", "-D", str(directory),
        ]  # fmt: skip
