"""Defines the ``env`` block: the options of a whole job. SeaTunnel's keys keep their names and defaults."""

from __future__ import annotations

import re
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, model_validator

from seatunnel_py.api.factory import JobMode
from seatunnel_py.api.options import Options, Secret, option
from seatunnel_py.config import row_errors
from seatunnel_py.config.row_errors import DirtyCollector, RowErrorHandler


class RequiredGuarantee(StrEnum):
    """The weakest guarantee that a job accepts on any of its paths."""

    AT_LEAST_ONCE = "at-least-once"
    EXACTLY_ONCE = "exactly-once"


class FailurePolicy(StrEnum):
    """Effect of a failing table on the other tables of its job."""

    FAIL_FAST = "FAIL_FAST"
    CONTINUE_OTHER_TABLES = "CONTINUE_OTHER_TABLES"


class SaveModeLocation(StrEnum):
    """Place where SeaTunnel runs save modes; here they always run with the job."""

    CLUSTER = "CLUSTER"
    CLIENT = "CLIENT"


class Retain(StrEnum):
    """Whether channels keep the rows consumed since the last checkpoint."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


class Consistency(StrEnum):
    """Whether all splits of a table are read as of one moment."""

    SNAPSHOT = "snapshot"
    PER_SPLIT = "per-split"


class SqlDialect(StrEnum):
    """Dialect that defines SQL functions where the two differ."""

    SEATUNNEL = "seatunnel"
    SPARK = "spark"


class LogLevel(StrEnum):
    """Lowest level of messages that are logged."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARNING = "WARNING"
    ERROR = "ERROR"


ENDPOINT = "api/v1/lineage"
NAMESPACE = "seatunnel"
SERIES_MAX = 200  # tables with series of their own
RETAIN_AFTER_CANCEL = "checkpoint.retain-after-job-cancelled"
ALWAYS_RETAINED = (
    "without effect: a cancelled job keeps its checkpoints, for its targets remember them and would refuse the job "
    "without them; --fresh makes both forget"
)


def _days(value: Any) -> Any:
    match = re.fullmatch(r"\s*(\d{1,6})\s*d(?:ays?)?\s*", value) if isinstance(value, str) else None
    return match[1] if match else value


def _chosen_tables(value: str | None) -> str | None:
    if value is None or value == "all":
        return value
    top = re.fullmatch(r"top\(\s*(\d{1,6})\s*\)", value)
    names = [name for name in value.split(",") if name.strip()]
    if not (1 <= int(top[1]) <= SERIES_MAX if top else 0 < len(names) <= SERIES_MAX and "(" not in value):
        raise ValueError(f"use top(N) with N from 1 to {SERIES_MAX}, all, or up to {SERIES_MAX} names with commas")
    return value


def require_url(url: str) -> str:
    """Return the address of a lineage server. Raises ValueError for another text."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("url must be the address of a lineage server, such as http://host:5000")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ValueError("url must hold no user, query or fragment: use api-key or headers")
    return url


class LineageTransport(StrEnum):
    """How lineage events are delivered."""

    HTTP = "http"
    FILE = "file"
    CONSOLE = "console"


class OpenLineageOptions(Options):
    """Delivery of the lineage events of a job."""

    transport: LineageTransport | None = option(
        None, doc="how events are delivered: http, file or console; default: by url or file"
    )
    url: str | None = option(None, doc="address of the lineage server; default: OPENLINEAGE_URL")
    endpoint: str | None = option(None, doc=f"path below the address; default: OPENLINEAGE_ENDPOINT, {ENDPOINT}")
    api_key: Secret | None = option(
        None, key="api-key", doc="key that is sent as a bearer token; default: OPENLINEAGE_API_KEY"
    )
    headers: dict[str, Secret] = option({}, doc="further headers of each request")
    file: str | None = option(None, doc="file that events are appended to, one JSON object a line")
    namespace: str | None = option(None, doc=f"namespace of the job; default: OPENLINEAGE_NAMESPACE, {NAMESPACE}")
    sql: bool = option(False, doc="send the texts of queries, too; a text may hold values of rows")
    disabled: bool | None = option(None, doc="send nothing; default: OPENLINEAGE_DISABLED")
    wait_seconds: float = option(
        5.0, ge=0, le=600, key="wait-seconds", doc="seconds that the end of a run waits for events to be delivered"
    )

    @model_validator(mode="after")
    def _check_url(self) -> OpenLineageOptions:
        if self.url is not None:
            require_url(self.url)
        return self


class EnvOptions(Options):
    """Every key of the ``env`` block. Times are milliseconds unless the key or its text names another unit."""

    job_name: str = option("SeaTunnel_Job", key="job.name", doc="name in logs, receipts and the Spark UI")
    job_mode: JobMode = option(JobMode.BATCH, key="job.mode", doc="whether the job ends with its sources")
    parallelism: int = option(
        1, ge=1, le=10_000, fallback=("execution.parallelism",), doc="readers per source that sets none"
    )
    strict: bool = option(True, doc="unknown keys are errors")
    guarantee: RequiredGuarantee | None = option(None, doc="refuse a job with any weaker path")

    checkpoint_interval: int | None = option(
        None,
        ge=10,
        key="checkpoint.interval",
        fallback=("execution.checkpoint.interval",),
        doc="ms between checkpoints; streaming jobs: 10000, batch jobs: progress checkpoints only",
    )
    checkpoint_timeout: int = option(
        60_000,
        ge=10,
        key="checkpoint.timeout",
        fallback=("execution.checkpoint.timeout",),
        doc="ms after which a checkpoint is skipped",
    )
    checkpoint_min_pause: int = option(
        0,
        ge=0,
        key="checkpoint.min-pause",
        fallback=("min-pause",),
        doc="ms between the end of a checkpoint and the next",
    )
    checkpoint_tolerable_failures: int = option(
        3, ge=0, key="checkpoint.tolerable-failures", doc="failed checkpoints in a row before the job fails"
    )
    checkpoint_max_concurrent: int = option(1, ge=1, key="checkpoint.max-concurrent", doc="concurrent checkpoints")
    checkpoint_max_retained: int = option(
        3, ge=1, key="checkpoint.max-retained", doc="completed checkpoints that are kept"
    )
    checkpoint_max_uncommitted: int = option(
        2,
        ge=1,
        key="checkpoint.max-uncommitted",
        doc="completed, unconfirmed checkpoints at which no other is started and sources pause",
    )
    checkpoint_alignment_timeout: int = option(
        10_000,
        ge=-1,
        key="checkpoint.alignment-timeout",
        doc="ms of alignment before a checkpoint goes unaligned; 0: always unaligned, -1: never",
    )
    checkpoint_location: str | None = option(
        None, key="checkpoint.location", doc="address of the checkpoint store; default: under SEATUNNEL_HOME"
    )
    checkpoint_retain_after_cancel: bool = option(
        False,
        key=RETAIN_AFTER_CANCEL,
        doc="accepted; a cancelled job always keeps its checkpoints",
    )

    exchange_location: str | None = option(
        None, key="exchange.location", doc="address of the data between steps; default: under SEATUNNEL_HOME"
    )
    exchange_max_bytes: int = option(
        10 * 1024**3, ge=1, key="exchange.max-bytes", doc="bytes held there before sources pause"
    )
    channel_capacity: int = option(16, ge=1, key="channel.capacity", doc="batches that a channel holds")
    channel_retain: Retain = option(Retain.AUTO, key="channel.retain", doc="keep consumed batches for restarts")
    unit_rows: int = option(500_000, ge=1, key="unit.rows", doc="rows after which a unit of work stops")
    unit_seconds: float | None = option(
        None,
        gt=0,
        key="unit.seconds",
        doc="seconds after which a unit stops; 5, at most a quarter of the checkpoint interval; streaming: 0.2",
    )

    state_max_bytes: int = option(
        2**20,
        ge=1024,
        key="state.max-bytes",
        doc="bytes that a position or a split's payload may take; a warning comes from a sixteenth of it",
    )

    unit_stall_seconds: float = option(
        60.0,
        gt=0,
        key="unit.stall-seconds",
        doc="seconds in which nothing moves and no server works for a unit, until its connection is taken for lost",
    )
    read_limit_rows: int | None = option(
        None, ge=1, key="read_limit.rows_per_second", doc="rows per second of a whole source"
    )
    read_limit_bytes: int | None = option(
        None, ge=1, key="read_limit.bytes_per_second", doc="bytes per second of a whole source"
    )
    job_retry_times: int = option(3, ge=0, key="job.retry.times", doc="restarts of a failing step")
    job_retry_interval: float = option(3, ge=0, key="job.retry.interval.seconds", doc="seconds before a restart")
    job_retry_reset_after: float = option(
        600, ge=0, key="job.retry.reset-after", doc="stable seconds that clear the count of restarts"
    )
    failure_policy: FailurePolicy = option(
        FailurePolicy.CONTINUE_OTHER_TABLES,
        key="multi_table.failure_policy",
        fallback=("env.multi_table.failure_policy",),
        doc="whether other tables continue when one fails",
    )
    source_consistency: Consistency = option(
        Consistency.SNAPSHOT, key="source.consistency", doc="whether splits may be read as of different moments"
    )
    table_park_bytes: int = option(0, ge=0, key="table.park-bytes", doc="bytes of changes kept for an isolated table")
    ledger_retention_days: Annotated[int, BeforeValidator(_days)] = option(
        30, ge=1, key="ledger.retention", doc="days for which targets remember a job whose tables have all arrived"
    )
    error_max_rows: int = option(0, ge=0, key="error.max-rows", doc="bad rows quarantined before a table fails")
    error_max_ratio: float = option(
        0.0, ge=0, le=1, key="error.max-ratio", doc="share of bad rows quarantined before a table fails"
    )
    error_location: str | None = option(
        None, key="error.location", doc="place of the quarantine; default: under SEATUNNEL_HOME"
    )
    error_handler: RowErrorHandler = option(
        RowErrorHandler.model_construct(),
        key="error_handler",
        fallback=("env.error_handler",),
        doc="SeaTunnel's handling of row errors; see error.*",
    )
    sink_error_handler: RowErrorHandler = option(RowErrorHandler.model_construct(), doc="as error_handler")
    transform_error_handler: RowErrorHandler = option(RowErrorHandler.model_construct(), doc="as error_handler")
    dirty_collector: DirtyCollector = option(
        DirtyCollector.model_construct(), key="dirty.collector", doc="SeaTunnel's handling of dirty rows; see error.*"
    )
    dirty_validator: dict[str, str] = option(
        {},
        key="dirty.validator",
        doc="accepted without effect: a class of Java; the transform DataValidator checks rows",
    )

    metrics_textfile: str | None = option(
        None,
        key="metrics.textfile",
        doc="file for the live metrics of the job, in the text format of Prometheus; each job needs its own",
    )
    metrics_tables: Annotated[str | None, AfterValidator(_chosen_tables)] = option(
        None,
        key="metrics.tables",
        doc="tables with series of their own: top(N) with N up to 200, all, or names with commas; default: none",
    )

    openlineage: OpenLineageOptions = option(
        OpenLineageOptions.model_construct(), doc="lineage events of the job; see openlineage.*"
    )
    sql_dialect: SqlDialect = option(
        SqlDialect.SEATUNNEL, key="sql.dialect", doc="dialect of the functions in Sql transforms"
    )
    log_level: LogLevel = option(LogLevel.INFO, key="log.level", doc="lowest level of logged messages")
    shade_identifier: str = option("default", key="shade.identifier", doc="cipher of encrypted options")
    shade_options: tuple[str, ...] = option(
        (), key="shade.options", doc="options that are encrypted beside the usual ones; a name, or a dotted path"
    )
    shade_properties: dict[str, str] = option({}, key="shade.properties", doc="properties of that cipher")
    savemode_location: SaveModeLocation = option(
        SaveModeLocation.CLUSTER, key="savemode.execute.location", doc="accepted; save modes run with the job"
    )
    sink_flush_interval: int = option(
        0, ge=0, key="sink.flush.interval", doc="accepted; rows show with each checkpoint, as the sink promises"
    )
    jars: str | None = option(None, doc="accepted without effect: connectors are Python packages")
    custom_parameters: dict[str, Any] = option({}, doc="accepted; nothing reads them")
    tag_filter: dict[str, str] = option({}, doc="accepted without effect: Spark places the work")
    spark: dict[str, str] = option({}, doc="spark.*: the Spark configuration, without the prefix")
    flink: dict[str, str] = option({}, doc="flink.*: accepted without effect")
    execution: dict[str, str] = option({}, doc="execution.*: the rest of an older spelling, without effect")

    @property
    def bad_rows_allowed(self) -> tuple[int, float]:
        """How many rows, and which share of them, may be quarantined before a table fails."""
        handlers = (
            self.error_handler, self.sink_error_handler, self.transform_error_handler, self.dirty_collector,
        )  # fmt: skip
        return row_errors.allowed((self.error_max_rows, self.error_max_ratio), handlers)


WITHOUT_EFFECT = (
    "flink", "jars", "tag_filter", "execution", "table_park_bytes", "dirty_validator", "sink_flush_interval",
    "custom_parameters",
)  # fmt: skip
"""Attributes that are accepted so that a job file runs unchanged, and reported as a note. Changes for an isolated table
are parked where one reader feeds many tables: no source of ours does that yet."""
