"""Numbered migrations of the server's database. Rule: they only add; an older one is never changed, because databases
of its release exist. The statements are written for SQLite; ``store_place.py`` has the differences of PostgreSQL."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, insert, inspect, select, text
from sqlalchemy.sql.functions import max as highest

from seatunnel_py.control.store.places.store_place import ddl_of
from seatunnel_py.control.store.tables import SCHEMA_VERSION
from seatunnel_py.errors import SeaTunnelError

_VERSIONS = "CREATE TABLE schema_version (version INTEGER NOT NULL PRIMARY KEY, at FLOAT NOT NULL)"
_FIRST = (
    """CREATE TABLE definition (id VARCHAR NOT NULL PRIMARY KEY, revision INTEGER NOT NULL, directory VARCHAR NOT NULL,
    created_at FLOAT NOT NULL, created_by VARCHAR NOT NULL, deleted_at FLOAT)""",
    """CREATE TABLE revision (definition VARCHAR NOT NULL, number INTEGER NOT NULL, text VARCHAR NOT NULL,
    digest VARCHAR NOT NULL, author VARCHAR NOT NULL, comment VARCHAR NOT NULL, at FLOAT NOT NULL,
    PRIMARY KEY (definition, number))""",
    """CREATE TABLE wish (definition VARCHAR NOT NULL PRIMARY KEY, policy VARCHAR NOT NULL, run VARCHAR,
    failures INTEGER NOT NULL, cause VARCHAR NOT NULL, position VARCHAR NOT NULL, same INTEGER NOT NULL,
    held VARCHAR NOT NULL, at FLOAT NOT NULL)""",
    """CREATE TABLE intent (id INTEGER NOT NULL PRIMARY KEY, run VARCHAR NOT NULL, definition VARCHAR NOT NULL,
    revision INTEGER NOT NULL, kind VARCHAR NOT NULL, state VARCHAR NOT NULL, options VARCHAR NOT NULL, key VARCHAR,
    body_digest VARCHAR NOT NULL, asked_by VARCHAR NOT NULL, at FLOAT NOT NULL, previous_driver VARCHAR NOT NULL,
    pid INTEGER, exit_code INTEGER, signal INTEGER, ended_at FLOAT)""",
    "CREATE UNIQUE INDEX intent_key ON intent (key)",
    "CREATE INDEX intent_run ON intent (run)",
    "CREATE INDEX intent_state ON intent (state)",
    "CREATE TABLE queue (intent INTEGER NOT NULL PRIMARY KEY, priority INTEGER NOT NULL, at FLOAT NOT NULL)",
    """CREATE TABLE token (id VARCHAR NOT NULL PRIMARY KEY, name VARCHAR NOT NULL, role VARCHAR NOT NULL,
    data INTEGER NOT NULL, digest VARCHAR NOT NULL, created_at FLOAT NOT NULL, created_by VARCHAR NOT NULL,
    expires_at FLOAT NOT NULL, used_at FLOAT, revoked_at FLOAT)""",
    "CREATE UNIQUE INDEX token_digest ON token (digest)",
    """CREATE TABLE audit (id INTEGER NOT NULL PRIMARY KEY, at FLOAT NOT NULL, actor VARCHAR NOT NULL,
    address VARCHAR NOT NULL, act VARCHAR NOT NULL, object VARCHAR NOT NULL, revision INTEGER, digest VARCHAR NOT NULL,
    announced VARCHAR NOT NULL, result VARCHAR NOT NULL, request VARCHAR NOT NULL)""",
    "CREATE TABLE setting (name VARCHAR NOT NULL PRIMARY KEY, value VARCHAR NOT NULL)",
)
_SESSIONS = (
    """CREATE TABLE session (digest VARCHAR NOT NULL PRIMARY KEY, id VARCHAR NOT NULL, token VARCHAR NOT NULL,
    address VARCHAR NOT NULL, created_at FLOAT NOT NULL, expires_at FLOAT NOT NULL, used_at FLOAT NOT NULL)""",
    "CREATE UNIQUE INDEX session_id ON session (id)",
    "CREATE INDEX session_token ON session (token)",
    """CREATE TABLE login_code (digest VARCHAR NOT NULL PRIMARY KEY, token VARCHAR NOT NULL,
    created_by VARCHAR NOT NULL, expires_at FLOAT NOT NULL)""",
)
_SERIES = tuple(
    statement
    for table in ("series_5s", "series_1m")
    for statement in (
        f"""CREATE TABLE {table} (run VARCHAR NOT NULL, at FLOAT NOT NULL, rows_read INTEGER NOT NULL,
        rows_written INTEGER NOT NULL, PRIMARY KEY (run, at)) WITHOUT ROWID""",
        f"CREATE INDEX {table}_at ON {table} (at)",
    )
)
_KEYS = (
    """CREATE TABLE kept_key (key VARCHAR NOT NULL PRIMARY KEY, digest VARCHAR NOT NULL, made VARCHAR NOT NULL,
    driver VARCHAR NOT NULL, at FLOAT NOT NULL)""",
)
_SCHEDULES = (
    """CREATE TABLE schedule (id VARCHAR NOT NULL PRIMARY KEY, definition VARCHAR NOT NULL, number INTEGER NOT NULL,
    cron VARCHAR NOT NULL, zone VARCHAR NOT NULL, every INTEGER NOT NULL, overlap VARCHAR NOT NULL,
    missed VARCHAR NOT NULL, begins FLOAT, ends FLOAT, options VARCHAR NOT NULL, paused INTEGER NOT NULL,
    anchor FLOAT NOT NULL, decided FLOAT NOT NULL, queued FLOAT, created_at FLOAT NOT NULL,
    created_by VARCHAR NOT NULL, changed_at FLOAT NOT NULL)""",
    "CREATE INDEX schedule_definition ON schedule (definition)",
    """CREATE TABLE schedule_fire (schedule VARCHAR NOT NULL, due FLOAT NOT NULL, at FLOAT NOT NULL,
    outcome VARCHAR NOT NULL, why VARCHAR NOT NULL, run VARCHAR NOT NULL, PRIMARY KEY (schedule, due)) WITHOUT ROWID""",
)
_OUTBOX = (
    """CREATE TABLE outbox_event (id INTEGER NOT NULL PRIMARY KEY, event VARCHAR NOT NULL, kind VARCHAR NOT NULL,
    run VARCHAR NOT NULL, definition VARCHAR NOT NULL, job VARCHAR NOT NULL, at FLOAT NOT NULL,
    body VARCHAR NOT NULL)""",
    "CREATE UNIQUE INDEX outbox_event_id ON outbox_event (event)",
    """CREATE TABLE outbox_delivery (id INTEGER NOT NULL PRIMARY KEY, event INTEGER NOT NULL, target VARCHAR NOT NULL,
    state VARCHAR NOT NULL, attempts INTEGER NOT NULL, at FLOAT NOT NULL, tried_at FLOAT, ended_at FLOAT, code INTEGER,
    error VARCHAR NOT NULL)""",
    "CREATE INDEX outbox_delivery_target ON outbox_delivery (target, state, id)",
    "CREATE INDEX outbox_delivery_ended ON outbox_delivery (ended_at)",
    "CREATE INDEX outbox_delivery_event ON outbox_delivery (event)",
    """CREATE TABLE outbox_target (name VARCHAR NOT NULL PRIMARY KEY, failures INTEGER NOT NULL, failing_since FLOAT,
    next_at FLOAT, tried_at FLOAT, sent_at FLOAT, code INTEGER, error VARCHAR NOT NULL, disabled VARCHAR NOT NULL)""",
    """CREATE TABLE notice_cursor (run VARCHAR NOT NULL PRIMARY KEY, position VARCHAR NOT NULL, begun VARCHAR NOT NULL,
    ended VARCHAR NOT NULL, stalled VARCHAR NOT NULL, at FLOAT NOT NULL)""",
    """CREATE TABLE trouble (subject VARCHAR NOT NULL PRIMARY KEY, event VARCHAR NOT NULL, run VARCHAR NOT NULL,
    driver VARCHAR NOT NULL, position VARCHAR NOT NULL, reported VARCHAR NOT NULL, at FLOAT NOT NULL)""",
)
_FORCED_ENDS = (
    """CREATE TABLE forced_end (run VARCHAR NOT NULL PRIMARY KEY, driver VARCHAR NOT NULL, actor VARCHAR NOT NULL,
    address VARCHAR NOT NULL, request VARCHAR NOT NULL, at FLOAT NOT NULL, seconds FLOAT NOT NULL)""",
)
_LEASE = (
    """CREATE TABLE lease (id INTEGER NOT NULL PRIMARY KEY, number INTEGER NOT NULL, holder VARCHAR NOT NULL,
    address VARCHAR NOT NULL, renewed_at FLOAT NOT NULL, expires_at FLOAT NOT NULL)""",
    "INSERT INTO lease (id, number, holder, address, renewed_at, expires_at) VALUES (1, 0, '', '', 0, 0)",
    "ALTER TABLE intent ADD COLUMN fence INTEGER",
)
MIGRATIONS: Sequence[Sequence[str]] = (
    _FIRST,
    _SESSIONS,
    _SERIES,
    _KEYS,
    _SCHEDULES,
    _OUTBOX,
    _FORCED_ENDS,
    _LEASE,
)
"""Statements by version, which counts from 1."""


class NewerDatabaseError(SeaTunnelError):
    """A newer release has written the database."""


def version_of(connection: Connection) -> int:
    """The version of a database; 0: it is empty."""
    if not inspect(connection).has_table(SCHEMA_VERSION.name):
        return 0
    return int(connection.execute(select(highest(SCHEMA_VERSION.c.version))).scalar() or 0)


def known_version(connection: Connection, shown: str) -> int:
    """The version of a database; 0: it is empty. Raises NewerDatabaseError; ``shown``: its name in messages."""
    found = version_of(connection)
    if found > len(MIGRATIONS):
        raise NewerDatabaseError(
            f"{shown} has version {found}, and this release knows only up to {len(MIGRATIONS)}",
            "start the release that wrote it, or give back the copy from before the upgrade",
        )
    return found


def migrate(connection: Connection, at: float, shown: str, version: int | None = None) -> None:
    """Bring a database to a version, by default that of this release, in the transaction of ``connection``. Raises
    NewerDatabaseError; ``shown``: its name in messages."""
    before = known_version(connection, shown)
    if before == 0:
        connection.execute(text(ddl_of(_VERSIONS, connection)))
    for number in range(before + 1, (version or len(MIGRATIONS)) + 1):
        for statement in MIGRATIONS[number - 1]:
            connection.execute(text(ddl_of(statement, connection)))
        connection.execute(insert(SCHEMA_VERSION).values(version=number, at=at))
