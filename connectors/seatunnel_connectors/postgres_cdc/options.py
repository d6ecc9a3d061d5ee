"""Options of the Postgres-CDC source, under the names of SeaTunnel's job files."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar

from pydantic import ValidationInfo, field_validator, model_validator

from seatunnel_connectors.debezium_json.settings import Database
from seatunnel_connectors.debezium_json.source_options import SETTINGS_DOC, DocumentOptions
from seatunnel_connectors.jdbc.url import parse_url
from seatunnel_connectors.postgres_cdc.debezium_settings import check_settings, meant
from seatunnel_connectors.postgres_cdc.replication.lsn import lsn_of
from seatunnel_connectors.schema_change_options import SchemaChangeOptions
from seatunnel_py.api import Options, Rule, Secret, SourceOptions, exactly_one, name_pattern, option, required_when

SLOT_NAME_BYTES_MAX = 63
_SNAPSHOT = "snapshot"
"""Another spelling of ``snapshot-only`` in SeaTunnel's job files."""
_NO_STARTS = {
    "timestamp": "a slot has no times: use committed-offset, or specific with startup.specific-offset.lsn",
}


class StartupMode(StrEnum):
    """The rows that a job begins with."""

    INITIAL = "initial"
    LATEST = "latest"
    COMMITTED = "committed-offset"
    EARLIEST = "earliest"
    SPECIFIC = "specific"
    SNAPSHOT_ONLY = "snapshot-only"


FOLLOWS_A_SLOT = (StartupMode.COMMITTED, StartupMode.EARLIEST, StartupMode.SPECIFIC)
"""Modes that read an existing slot."""


_MAKES_NONE = frozenset({*FOLLOWS_A_SLOT, StartupMode.SNAPSHOT_ONLY, _SNAPSHOT})


def _drops(known: Mapping[str, object]) -> bool:
    return str(known.get("slot_drop")).lower() == SlotDrop.WHEN_FINISHED


def _makes_a_slot(known: Mapping[str, object]) -> bool:
    reuses = str(known.get("slot_reuse")).lower() == "true"
    return not reuses and str(known.get("start")).lower() not in _MAKES_NONE


class TableConfig(Options):
    """One entry of ``table-names-config``."""

    table: str = option(doc="full name of the table")
    primary_keys: tuple[str, ...] = option(
        (), key="primaryKeys", doc="columns that identify a row; the replica identity must hold them"
    )
    split_column: str | None = option(
        None, key="snapshotSplitColumn", doc="column whose ranges are copied in parallel; default: the key"
    )


class StopMode(StrEnum):
    """The place at which a job ends by itself."""

    NEVER = "never"
    LATEST = "latest"
    SPECIFIC = "specific"
    TIMESTAMP = "timestamp"


class SlotDrop(StrEnum):
    """When the slot and the publication that the job has made are dropped."""

    NEVER = "never"
    WHEN_FINISHED = "when-finished"


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


class PostgresCdcOptions(SourceOptions, SchemaChangeOptions, DocumentOptions):
    """Options of the Postgres-CDC source."""

    server: ClassVar[tuple[Database, str]] = ("postgresql", "postgres_cdc_source")

    url: str = option(fallback=("base-url",), doc="address of the database: jdbc:postgresql://host/db")
    username: str | None = option(None, fallback=("user",), doc="user to connect as; it needs the right to replicate")
    password: Secret | None = option(None, doc="password of the user")
    table_names: tuple[str, ...] = option((), key="table-names", doc="full names of tables: database.schema.table")
    table_pattern: str | None = option(
        None, key="table-pattern", doc="regular expression for full names of tables, instead of table-names"
    )
    database_names: tuple[str, ...] = option(
        (), key="database-names", doc="databases, of which the url's must be one: a slot belongs to one database"
    )
    database_pattern: str | None = option(
        None, key="database-pattern", doc="regular expression that the name of the url's database must match"
    )
    schema_names: tuple[str, ...] = option(
        (), key="schema-names", doc="schemas whose tables are read; default: all schemas"
    )
    table_config: tuple[TableConfig, ...] = option(
        (), key="table-names-config", doc="keys and split columns of single tables"
    )
    start: StartupMode = option(
        StartupMode.INITIAL,
        key="startup.mode",
        doc="initial: copy the tables, then follow the log; latest: follow the log from now on; committed-offset and "
        "earliest: follow an existing slot from where it stands; specific: follow it from startup.specific-offset.lsn; "
        "snapshot-only: copy the tables, then end",
    )
    start_lsn: str | None = option(
        None, key="startup.specific-offset.lsn", doc="position from which startup.mode = specific follows the slot"
    )
    stop: StopMode | None = option(
        None,
        key="stop.mode",
        doc="where the job ends by itself: never; latest: after everything that was committed before the log was "
        "opened; specific: at stop.specific-offset.lsn; timestamp: after the last transaction up to stop.timestamp. "
        "The next run goes on from there. Default: latest with job.mode = BATCH, else never",
    )
    stop_lsn: str | None = option(
        None, key="stop.specific-offset.lsn", doc="transactions that commit before this position are read"
    )
    stop_timestamp: int | None = option(
        None, key="stop.timestamp", ge=0, doc="milliseconds since 1970; transactions that committed up to then are read"
    )
    slot_name: str | None = option(
        None, key="slot.name", doc="replication slot; default: a name made of job id and step, which the job creates"
    )
    slot_reuse: bool = option(
        False, key="slot.reuse", doc="use an existing slot of that name, which then moves with this job"
    )
    slot_drop: SlotDrop = option(
        SlotDrop.NEVER,
        key="slot.drop",
        doc="never: the slot and the publication that the job has made stay until `seatunnel jobs drop`; "
        "when-finished: a job that ends by itself is finished then, and drops them: no later run goes on with it",
    )
    slot_max_lag: int | None = option(
        None,
        key="slot.max-lag",
        ge=1,
        doc="bytes of log that the slot may keep; more is a warning; default: no limit",
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
    int_type_narrowing: bool = option(True, doc="accepted; PostgreSQL has no type for which it counts")
    even_upper: float = option(
        100.0, key="chunk-key.even-distribution.factor.upper-bound", gt=0,
        doc="keys are even, and their range is divided, where (largest - smallest + 1) / rows is at most this",
    )  # fmt: skip
    even_lower: float = option(
        0.05, key="chunk-key.even-distribution.factor.lower-bound", gt=0,
        doc="keys are even, and their range is divided, where (largest - smallest + 1) / rows is at least this",
    )  # fmt: skip
    sample_threshold: int = option(
        1000, key="sample-sharding.threshold", ge=1, doc="accepted; a skewed key is always sampled"
    )
    inverse_sampling_rate: int = option(
        1000, key="inverse-sampling.rate", ge=1, doc="accepted; the sample size follows from the number of splits"
    )
    allow_sampling: bool = option(
        True,
        key="split.allow-sampling",
        doc="divide uneven keys by a sample of the rows; false: by all of them, which reads the table twice",
    )
    concurrent_read: bool = option(
        True, key="enable_concurrent_read", doc="divide tables into splits; false: every table is one split"
    )
    debezium: dict[str, str] = option(
        {},
        doc="settings of Debezium: slot.name, publication.name, publication.autocreate.mode, plugin.name and "
        "snapshot.mode mean the options; settings that would change rows are refused with a remedy; " + SETTINGS_DOC,
    )

    @property
    def connect_seconds(self) -> int:
        """The timeout of a connection attempt in whole seconds."""
        return max(1, -(-self.connect_timeout_ms // 1000))

    rules: ClassVar[tuple[Rule, ...]] = (
        exactly_one("table_names", "table_pattern"),
        required_when("start_lsn", other="start", equals=(StartupMode.SPECIFIC,)),
        required_when("slot_name", other="start", equals=(StartupMode.SPECIFIC,)),
        Rule(
            "{slot_drop} = when-finished drops a slot that the job has made; {slot_reuse} and {start} = "
            "committed-offset, earliest, specific or snapshot-only make none",
            lambda given, known: not _drops(known) or _makes_a_slot(known),
        ),
        required_when("stop_lsn", other="stop", equals=(StopMode.SPECIFIC,)),
        required_when("stop_timestamp", other="stop", equals=(StopMode.TIMESTAMP,)),
        *SchemaChangeOptions.schema_rules,
    )

    @model_validator(mode="before")
    @classmethod
    def _settings_mean_options(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and isinstance(given := data.get("debezium"), Mapping):
            return {**meant({str(name): str(value) for name, value in given.items()}), **data}
        return data

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

    @field_validator("database_names")
    @classmethod
    def _names_hold_the_database(cls, names: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        database = parse_url(info.data["url"]).database if "url" in info.data else ""
        if names and database and database not in names:
            raise ValueError(f"the url names the database {database!r}; a step for each other database reads that one")
        return names

    @field_validator("database_pattern")
    @classmethod
    def _pattern_matches_the_database(cls, pattern: str | None, info: ValidationInfo) -> str | None:
        database = parse_url(info.data["url"]).database if "url" in info.data else ""
        if pattern is not None and database and not name_pattern(pattern).fullmatch(database):
            raise ValueError(f"the url names the database {database!r}; a step for each other database reads that one")
        return pattern

    @field_validator("start", mode="before")
    @classmethod
    def _start_is_a_place(cls, chosen: Any) -> Any:
        if remedy := _NO_STARTS.get(str(chosen).lower()):
            raise ValueError(f"{chosen} is not supported; {remedy}")
        return StartupMode.SNAPSHOT_ONLY if str(chosen).lower() == _SNAPSHOT else chosen

    @field_validator("start_lsn", "stop_lsn")
    @classmethod
    def _position_is_one(cls, text: str | None) -> str | None:
        if text is not None:
            lsn_of(text)
        return text

    @field_validator("debezium")
    @classmethod
    def _settings_are_known(cls, given: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        check_settings(given, info.data)
        return given

    @field_validator("table_config")
    @classmethod
    def _tables_are_named_once(cls, entries: tuple[TableConfig, ...], info: ValidationInfo) -> tuple[TableConfig, ...]:
        twice = [one.table for at, one in enumerate(entries) if one.table in [other.table for other in entries[:at]]]
        if twice:
            raise ValueError(f"{twice[0]} stands in it twice")
        if info.data.get("table_pattern") and (divided := [one.table for one in entries if one.split_column]):
            raise ValueError(f"{divided[0]}: snapshotSplitColumn needs table-names; table-pattern divides by the key")
        return entries

    @field_validator("slot_name", "publication_name")
    @classmethod
    def _name_fits(cls, name: str | None) -> str | None:
        if name is not None and (not name or len(name.encode()) > SLOT_NAME_BYTES_MAX):
            raise ValueError(f"use 1 to {SLOT_NAME_BYTES_MAX} bytes")
        return name
