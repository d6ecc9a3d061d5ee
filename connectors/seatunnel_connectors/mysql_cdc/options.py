"""Options of the sources MySQL-CDC and MariaDB-CDC, under the names of SeaTunnel's job files."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, ClassVar

from pydantic import ValidationInfo, field_validator

from seatunnel_connectors.debezium_json.settings import Database, RowFormat
from seatunnel_connectors.debezium_json.source_options import SETTINGS_DOC, DocumentOptions
from seatunnel_connectors.jdbc.url import parse_url
from seatunnel_connectors.mysql_cdc.debezium_settings import check_settings
from seatunnel_connectors.mysql_cdc.server_id import given_server_id
from seatunnel_connectors.schema_change_options import SchemaChangeOptions
from seatunnel_py.api import Options, Rule, Secret, SourceOptions, exactly_one, name_pattern, option, required_when

FIRST_OFFSET = 4
"""The offset of a file's first event."""


class BinlogStart(StrEnum):
    """The rows that a job begins with."""

    INITIAL = "initial"
    LATEST = "latest"
    EARLIEST = "earliest"
    SPECIFIC = "specific"
    TIMESTAMP = "timestamp"
    SNAPSHOT_ONLY = "snapshot-only"


class BinlogStop(StrEnum):
    """The place at which a job ends by itself."""

    NEVER = "never"
    LATEST = "latest"
    SPECIFIC = "specific"
    TIMESTAMP = "timestamp"


class Cascades(StrEnum):
    """The treatment of tables whose rows a foreign key changes without the log."""

    ACCEPT = "accept"
    REFUSE = "refuse"


class CapturedTableConfig(Options):
    """One entry of ``table-names-config``."""

    table: str = option(doc="full name of the table")
    primary_keys: tuple[str, ...] = option((), key="primaryKeys", doc="columns that identify a row, if it has no key")
    split_column: str | None = option(
        None, key="snapshotSplitColumn", doc="accepted; tables are divided by their key, and read whole without one"
    )


class BinlogCdcOptions(SourceOptions, SchemaChangeOptions, DocumentOptions):
    """Options of the sources MySQL-CDC and MariaDB-CDC."""

    server: ClassVar[tuple[Database, str]] = ("mysql", "mysql_binlog_source")

    url: str = option(fallback=("base-url",), doc="address of the server: jdbc:mysql://host/db, jdbc:mariadb://host/db")
    username: str | None = option(
        None, fallback=("user",), doc="user to connect as; it needs SELECT and the privileges of a replica"
    )
    password: Secret | None = option(None, doc="password of the user")
    table_names: tuple[str, ...] = option((), key="table-names", doc="full names of tables: database.table")
    table_pattern: str | None = option(
        None, key="table-pattern", doc="regular expression for full names of tables, instead of table-names"
    )
    database_names: tuple[str, ...] = option(
        (), key="database-names", doc="databases that table-pattern may match; default: all"
    )
    database_pattern: str | None = option(
        None, key="database-pattern", doc="regular expression for databases that table-pattern may match; default: all"
    )
    table_config: tuple[CapturedTableConfig, ...] = option(
        (), key="table-names-config", doc="keys of tables that have none of their own"
    )
    start: BinlogStart = option(
        BinlogStart.INITIAL,
        key="startup.mode",
        doc="initial: copy the tables, then follow the log; latest, earliest, specific, timestamp: follow the log from "
        "now on, from its beginning, from startup.specific-offset.file and .pos, from startup.timestamp; "
        "snapshot-only: copy the tables, then end",
    )
    start_file: str | None = option(
        None, key="startup.specific-offset.file", doc="file of the log where startup.mode = specific begins"
    )
    start_offset: int | None = option(
        None, key="startup.specific-offset.pos", ge=FIRST_OFFSET, doc="position of a transaction's start in that file"
    )
    start_timestamp: int | None = option(
        None, key="startup.timestamp", ge=0, doc="milliseconds since 1970; the log itself has whole seconds"
    )
    stop: BinlogStop | None = option(
        None,
        key="stop.mode",
        doc="where the job ends by itself: never; latest: at the end that the log has when it is opened; specific: at "
        "stop.specific-offset.file and .pos; timestamp: after the last transaction of the second of stop.timestamp. "
        "The next run goes on from there. Default: latest with job.mode = BATCH, else never",
    )
    stop_file: str | None = option(
        None, key="stop.specific-offset.file", doc="file of the log where stop.mode = specific ends"
    )
    stop_offset: int | None = option(
        None, key="stop.specific-offset.pos", ge=FIRST_OFFSET,
        doc="position in that file; a transaction that holds it is read whole",
    )  # fmt: skip
    stop_timestamp: int | None = option(
        None, key="stop.timestamp", ge=0, doc="milliseconds since 1970; the log itself has whole seconds"
    )
    server_id: str | None = option(
        None,
        key="server-id",
        doc="id among the server's replicas, as 5400 or 5400-5408, of which the first is used; default: one made of "
        "job id and step",
    )
    snapshot_split_size: int | None = option(
        None, key="snapshot.split.size", ge=1, doc="smallest number of rows of a split of the copy"
    )
    concurrent_read: bool = option(
        True, key="enable_concurrent_read", doc="divide tables into splits; false: every table is one split"
    )
    int_type_narrowing: bool = option(True, doc="read tinyint(1) as boolean; false: read it as tinyint")
    exactly_once: bool = option(
        False,
        doc="true: refuse tables without a key. Copy and log overlap, which ends in the source's rows where a sink "
        "writes by key; a sink that only appends gets rows that change during the copy twice, whatever is set here",
    )
    cascade: Cascades = option(
        Cascades.ACCEPT,
        doc="tables with a foreign key whose CASCADE or SET NULL is not in the log. accept: they are followed, and the "
        "plan names the key; seatunnel reconcile finds rows that stay. refuse: they are left out of the job, with the "
        "key's name",
    )
    debezium: dict[str, str] = option(
        {}, doc=f"settings of Debezium; those that would change rows are refused with a remedy; {SETTINGS_DOC}"
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
        "UTC", key="server-time-zone", doc="accepted; a TIMESTAMP is an instant, a DATETIME has no zone"
    )
    even_upper: float = option(
        100.0, key="chunk-key.even-distribution.factor.upper-bound", gt=0,
        doc="accepted; even keys are divided by their range, others by their rows",
    )  # fmt: skip
    even_lower: float = option(
        0.05, key="chunk-key.even-distribution.factor.lower-bound", gt=0,
        doc="accepted; even keys are divided by their range, others by their rows",
    )  # fmt: skip
    sample_threshold: int = option(
        1000, key="sample-sharding.threshold", ge=1, doc="accepted; a skewed key is divided by its rows"
    )
    inverse_sampling_rate: int = option(
        1000, key="inverse-sampling.rate", ge=1, doc="accepted; a skewed key is divided by its rows"
    )
    allow_sampling: bool = option(True, key="split.allow-sampling", doc="accepted; a skewed key is divided by its rows")

    @property
    def connect_seconds(self) -> int:
        """The timeout of a connection attempt in whole seconds."""
        return max(1, -(-self.connect_timeout_ms // 1000))

    rules: ClassVar[tuple[Rule, ...]] = (
        exactly_one("table_names", "table_pattern"),
        required_when("start_file", other="start", equals=(BinlogStart.SPECIFIC,)),
        required_when("start_timestamp", other="start", equals=(BinlogStart.TIMESTAMP,)),
        required_when("start_offset", other="start", equals=(BinlogStart.SPECIFIC,)),
        required_when("stop_file", other="stop", equals=(BinlogStop.SPECIFIC,)),
        required_when("stop_offset", other="stop", equals=(BinlogStop.SPECIFIC,)),
        required_when("stop_timestamp", other="stop", equals=(BinlogStop.TIMESTAMP,)),
        *SchemaChangeOptions.schema_rules,
    )

    @field_validator("url")
    @classmethod
    def _url_is_of_mysql(cls, url: str) -> str:
        if parse_url(url).dialect != "mysql":
            raise ValueError("this source reads MySQL and MariaDB: jdbc:mysql://host/db, jdbc:mariadb://host/db")
        return url

    @field_validator("table_names")
    @classmethod
    def _names_are_whole(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if "," in name:
                parts = ", ".join(f'"{part.strip()}"' for part in name.split(","))
                raise ValueError(f"{name!r} holds several names; write [{parts}]")
        return names

    @field_validator("table_pattern", "database_pattern")
    @classmethod
    def _patterns_are_patterns(cls, pattern: str | None) -> str | None:
        if pattern is not None:
            name_pattern(pattern)
        return pattern

    @field_validator("server_id")
    @classmethod
    def _server_id_is_one(cls, text: str | None) -> str | None:
        if text is not None:
            given_server_id(text)
        return text

    @field_validator("start", mode="before")
    @classmethod
    def _snapshot_has_two_names(cls, chosen: Any) -> Any:
        return BinlogStart.SNAPSHOT_ONLY if str(chosen).lower() == "snapshot" else chosen

    @field_validator("debezium")
    @classmethod
    def _settings_are_known(cls, given: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        check_settings(given, info.data.get("format", RowFormat.DEFAULT))
        return given
