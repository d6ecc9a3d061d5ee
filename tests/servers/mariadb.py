"""A private MariaDB server: `with MariadbServer.running() as server: connect(**server.connection())`."""

from __future__ import annotations

import signal
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from tests.servers.ports import LOOPBACK
from tests.servers.private import PrivateServer
from tests.servers.process import find_program

PACKAGE = "mariadb-server"
USER = "root"
DATABASE = "test"


def find(program: str) -> Path:
    return find_program(program, PACKAGE)


ROW_LOG = {"log_bin": "log", "binlog_format": "ROW", "binlog_row_metadata": "FULL", "server_id": "7"}
"""Settings of a server whose log jobs follow."""


class MariadbServer(PrivateServer):
    """User `root` without a password, over the loopback address only."""

    kind = "mariadb"
    accounts = ("mysql",)
    stop_signal = signal.SIGTERM
    port_taken = "Bind on TCP/IP port"
    always: ClassVar = MappingProxyType(
        {
            "bind_address": LOOPBACK,
            # Relative to the data directory: a socket's path is limited to 107 bytes.
            "socket": "mariadb.sock",
            "pid_file": "mariadb.pid",
            "skip_name_resolve": "ON",
            "character_set_server": "utf8mb4",
            "collation_server": "utf8mb4_bin",
            "default_time_zone": "+00:00",
            "innodb_buffer_pool_size": "128M",
        }
    )
    # 2: written at commit, so a killed process loses nothing; 0 would keep the log in its memory.
    not_durable: ClassVar = MappingProxyType({"innodb_flush_log_at_trx_commit": "2", "sync_binlog": "0"})
    user: ClassVar = USER

    @property
    def dsn(self) -> str:
        return self.dsn_of(DATABASE)

    def dsn_of(self, database: str) -> str:
        return f"mysql://{USER}@{LOOPBACK}:{self.port}/{database}"

    def connection(self, database: str = DATABASE) -> dict[str, Any]:
        """The address as keyword arguments, as pymysql takes them. Without TLS: to load certificates takes longer than to
        connect."""
        address = {"host": LOOPBACK, "port": self.port, "user": USER, "password": "", "database": database}
        return address | {"ssl_disabled": True}

    def jdbc_url(self, database: str = DATABASE) -> str:
        return f"jdbc:mysql://{LOOPBACK}:{self.port}/{database}"

    def _is_ready(self) -> bool:
        # Not a connection: the listener opens before the server knows whether it can serve.
        return "ready for connections" in self._logged_since_start()

    def _command(self) -> list[str]:
        options = [f"--{key}={value}" for key, value in self.settings.items()]
        # A server that starts removes the temporary tables of all servers that share its tmpdir.
        places = [f"--datadir={self.data}", f"--tmpdir={self.data}"]
        return [str(find("mariadbd")), "--no-defaults", *places, f"--port={self.port}", *options]

    def _initialise_command(self, directory: Path) -> list[str]:
        return [
            str(find("mariadb-install-db")), "--no-defaults",
            "--auth-root-authentication-method=normal", "--skip-name-resolve",
            f"--datadir={directory}",
        ]  # fmt: skip
