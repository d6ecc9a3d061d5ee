"""The server's database as a schema of PostgreSQL: several servers may have it.

Rules. (1) A write locks the row of the lease first, so writes of all servers follow one another, and a server that was
overtaken cannot write between the check of its lease and its commit. (2) A server that stands still within a
transaction loses it after a third of the lease, so that no other one waits for long. (3) A read has one snapshot. (4)
Silence is limited: a server that is away is an error and not a wait.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import Any, Self

from sqlalchemy import URL, BigInteger, Connection, Engine, create_engine, func, select, text

from seatunnel_py.api.process import silence
from seatunnel_py.control.store.tables import LEASE, METADATA
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.redaction import redacted_text

VERSION_MIN = 14
READERS = 8
CONNECT_SECONDS = 5
ANSWER_SECONDS = 30.0
LEASE_SECONDS = 30.0
UNHURRIED_SECONDS = 180.0
MIGRATION_LOCK = 5_801_014
"""The number by which servers that migrate at the same moment wait for one another."""


@dataclass(frozen=True, slots=True)
class PostgresStore:
    """``StorePlace`` in PostgreSQL. ``url``: with its password; ``lease_seconds``: after so long without a renewal
    another server leads."""

    url: URL = field(repr=False)
    schema: str = "seatunnel"
    lease_seconds: float = LEASE_SECONDS

    @property
    def shown(self) -> str:
        plain = URL.create("postgresql", host=self.url.host, port=self.url.port, database=self.url.database)
        return f"{redacted_text(plain.render_as_string())} (schema {self.schema})"

    @property
    def kind(self) -> str:
        return "postgresql"

    @property
    def way_out(self) -> str:
        return (
            "look whether PostgreSQL runs, at `store` in server.conf, and at the rights of its user; jobs that run go "
            "on meanwhile"
        )

    @property
    def room(self) -> str:
        return "look at the log of PostgreSQL, and try again"

    def prepare(self) -> None:
        """Raises SeaTunnelError if the library is missing."""
        if find_spec("psycopg") is None:
            raise SeaTunnelError(
                f"the store {self.shown} needs psycopg, which is not installed",
                "pip install 'seatunnel-py[server,postgres]'",
            )

    def engines(self) -> tuple[Engine, Engine]:
        """Each statement of a write sees what the writes before it have committed; a read has one snapshot."""
        return self.engine(1), self.snapshots(READERS)

    def snapshots(self, size: int) -> Engine:
        """An engine whose transactions only read, and see one moment each."""
        return self.engine(
            size, "-c default_transaction_isolation=repeatable\\ read -c default_transaction_read_only=on"
        )

    def unhurried(self) -> Self:
        """Return this store with a longer lease, for an act that may take minutes on a slow disk while servers run."""
        return replace(self, lease_seconds=max(self.lease_seconds, UNHURRIED_SECONDS))

    def engine(self, size: int, more: str = "") -> Engine:
        """An engine with at most ``size`` connections."""
        limits = {
            "search_path": self.schema,
            "idle_in_transaction_session_timeout": _milliseconds(self.lease_seconds / 3),
            "lock_timeout": _milliseconds(self.lease_seconds),
            "statement_timeout": _milliseconds(max(ANSWER_SECONDS, self.lease_seconds)),
        }
        given = [f"-c {name}={value}" for name, value in limits.items()]
        options = " ".join(filter(None, [str(self.url.query.get("options", "")), *given, more]))
        unanswered = {"tcp_user_timeout": _milliseconds(self.lease_seconds)}
        arguments: dict[str, Any] = {"connect_timeout": CONNECT_SECONDS, **silence.LIBPQ, **unanswered}
        known = {name: value for name, value in arguments.items() if name not in self.url.query}
        return create_engine(
            self.url.set(drivername="postgresql+psycopg").difference_update_query(["options"]),
            connect_args={"application_name": "seatunnel server", **known, "options": options},
            pool_size=size,
            max_overflow=0,
            pool_pre_ping=True,
            hide_parameters=True,
        )

    def begin_migration(self, connection: Connection) -> None:
        """Raises SeaTunnelError for a server that is too old."""
        connection.execute(text("SELECT pg_advisory_xact_lock(:number)"), {"number": MIGRATION_LOCK})
        version = int((connection.dialect.server_version_info or (0,))[0])
        if version < VERSION_MIN:
            raise SeaTunnelError(
                f"{self.shown} is PostgreSQL {version}, and the store needs {VERSION_MIN} or newer",
                "name a newer server in `store` of server.conf",
            )
        known = "SELECT 1 FROM pg_namespace WHERE nspname = :name"
        if connection.execute(text(known), {"name": self.schema}).first() is None:
            connection.execute(text(f"CREATE SCHEMA {self.schema}"))

    def begin_write(self, connection: Connection) -> None:
        """Wait for the writes of other servers."""
        connection.execute(select(LEASE.c.id).with_for_update())

    def continue_numbers(self, connection: Connection) -> None:
        """Let the next row of each table have the number after its last one. A transaction that fails takes this back,
        which it does not for ``setval``."""
        for table in METADATA.sorted_tables:
            if "id" in table.c and isinstance(table.c.id.type, BigInteger):
                after = connection.execute(select(func.coalesce(func.max(table.c.id), 0) + 1)).scalar_one()
                connection.execute(text(f"ALTER TABLE {table.name} ALTER COLUMN id RESTART WITH {after:d}"))

    def require_writable(self, connection: Connection) -> None:
        """The lock at the begin was a write: a server that only reads has refused it."""


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1_000))
