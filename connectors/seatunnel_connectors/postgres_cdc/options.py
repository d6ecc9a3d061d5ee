"""Options of the Postgres-CDC source, under the names of SeaTunnel's job files."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from pydantic import field_validator

from seatunnel_connectors.jdbc.url import parse_url
from seatunnel_py.api import Options, Rule, Secret, SourceOptions, exactly_one, name_pattern, option

SLOT_NAME_BYTES_MAX = 63


class StartupMode(StrEnum):
    """The rows that a job begins with."""

    INITIAL = "initial"
    LATEST = "latest"
    COMMITTED = "committed-offset"
    EARLIEST = "earliest"


class TableConfig(Options):
    """One entry of ``table-names-config``."""

    table: str = option(doc="full name of the table")
    primary_keys: tuple[str, ...] = option((), key="primaryKeys", doc="columns that identify a row, if it has no key")


class PublicationMode(StrEnum):
    """Whether the source creates its publication."""

    FILTERED = "filtered"
    DISABLED = "disabled"


class OutputPlugin(StrEnum):
    """Output plugins that job files name."""

    PGOUTPUT = "pgoutput"
    DECODERBUFS = "decoderbufs"
    WAL2JSON = "wal2json"
    WAL2JSON_RDS = "wal2json_rds"
    WAL2JSON_STREAMING = "wal2json_streaming"
    WAL2JSON_RDS_STREAMING = "wal2json_rds_streaming"


class PostgresCdcOptions(SourceOptions):
    """Options of the Postgres-CDC source."""

    url: str = option(fallback=("base-url",), doc="address of the database: jdbc:postgresql://host/db")
    username: str | None = option(None, fallback=("user",), doc="user to connect as; it needs the right to replicate")
    password: Secret | None = option(None, doc="password of the user")
    table_names: tuple[str, ...] = option((), key="table-names", doc="full names of tables: database.schema.table")
    table_pattern: str | None = option(
        None, key="table-pattern", doc="regular expression for full names of tables, instead of table-names"
    )
    database_names: tuple[str, ...] = option(
        (), key="database-names", doc="accepted; the url names the database, and a slot belongs to one"
    )
    schema_names: tuple[str, ...] = option(
        (), key="schema-names", doc="schemas whose tables are read; default: all schemas"
    )
    table_config: tuple[TableConfig, ...] = option(
        (), key="table-names-config", doc="keys of tables that have none of their own"
    )
    start: StartupMode = option(
        StartupMode.INITIAL,
        key="startup.mode",
        doc="initial: copy the tables, then follow the log; latest: follow the log from now on; committed-offset and "
        "earliest: follow an existing slot from where it stands",
    )
    slot_name: str | None = option(
        None, key="slot.name", doc="replication slot; default: a name made of job id and step, which the job creates"
    )
    slot_reuse: bool = option(
        False, key="slot.reuse", doc="use an existing slot of that name, which then moves with this job"
    )
    plugin: OutputPlugin = option(
        OutputPlugin.PGOUTPUT,
        key="decoding.plugin.name",
        doc="accepted; pgoutput is always used: it is part of every server",
    )
    publication_name: str | None = option(
        None, key="publication.name", doc="publication of the tables; default: a name like the slot's"
    )
    publication_mode: PublicationMode = option(
        PublicationMode.FILTERED,
        key="publication.autocreate.mode",
        doc="filtered: create the publication with the tables of the job; disabled: it exists",
    )
    snapshot_split_size: int | None = option(
        None, key="snapshot.split.size", ge=1, doc="smallest number of rows of a split of the copy"
    )
    slot_wait_seconds: int = option(
        60, key="slot.wait-seconds", ge=1, doc="time limit for creating a slot, which waits for running transactions"
    )
    properties: dict[str, str] = option({}, doc="parameters of the connection")
    connect_timeout_ms: int = option(
        30_000, key="connect.timeout.ms", ge=1, doc="timeout of a connection attempt, in milliseconds"
    )
    connect_retries: int = option(
        3, key="connect.max-retries", ge=0, doc="accepted; env.job.retry.times limits all attempts"
    )
    pool_size: int = option(20, key="connection.pool.size", ge=1, doc="accepted; one connection reads the log")
    fetch_size: int = option(1024, key="snapshot.fetch.size", ge=1, doc="accepted; rows are fetched in blocks of bytes")
    log_parallelism: int = option(
        1, key="incremental.parallelism", ge=1, doc="accepted; one reader reads the log, which keeps its order"
    )
    server_time_zone: str = option(
        "UTC", key="server-time-zone", doc="accepted; timestamps with a time zone are read exactly"
    )
    exactly_once: bool = option(False, doc="accepted; copy and log are always joined exactly")

    @property
    def connect_seconds(self) -> int:
        """The timeout of a connection attempt in whole seconds."""
        return max(1, -(-self.connect_timeout_ms // 1000))

    rules: ClassVar[tuple[Rule, ...]] = (exactly_one("table_names", "table_pattern"),)

    @field_validator("url")
    @classmethod
    def _url_is_of_postgresql(cls, url: str) -> str:
        address = parse_url(url)
        if address.dialect != "postgres":
            raise ValueError("Postgres-CDC reads PostgreSQL: jdbc:postgresql://host/db")
        if not address.database:
            raise ValueError("it names no database, and a replication slot belongs to one: jdbc:postgresql://host/db")
        return url

    @field_validator("table_names")
    @classmethod
    def _names_are_single(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if "," in name:
                parts = ", ".join(f'"{part.strip()}"' for part in name.split(","))
                raise ValueError(f"{name!r} holds several names; write [{parts}]")
        return names

    @field_validator("table_pattern")
    @classmethod
    def _pattern_is_one(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            name_pattern(pattern)
        return pattern

    @field_validator("slot_name", "publication_name")
    @classmethod
    def _name_fits(cls, name: str | None) -> str | None:
        if name is not None and (not name or len(name.encode()) > SLOT_NAME_BYTES_MAX):
            raise ValueError(f"use 1 to {SLOT_NAME_BYTES_MAX} bytes")
        return name
