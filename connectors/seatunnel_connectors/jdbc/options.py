"""Options of the Jdbc source and sink, under the names of SeaTunnel's job files."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from pydantic import ValidationInfo, field_validator

from seatunnel_connectors.jdbc.source.condition import condition_of
from seatunnel_connectors.jdbc.target import table_options
from seatunnel_connectors.jdbc.url import DIALECTS, parse_url
from seatunnel_connectors.save_modes import DataSaveMode, SchemaSaveMode
from seatunnel_py.api import (
    Naming,
    Options,
    Rule,
    Secret,
    SinkOptions,
    SourceOptions,
    at_least_one,
    at_most_one,
    name_pattern,
    option,
    required_when,
)

ROWS_PER_UNIT = 500_000
"""Default rows per split: about one unit's budget (env.unit.rows)."""
NO_KERBEROS = Rule(
    "{use_kerberos} must be false: give {username} and {password}, or a client certificate in {properties}",
    lambda given, known: str(known["use_kerberos"]).lower() in ("false", "no", "off", "0"),
)
RANGES_MAX = 100_000  # each costs the driver some 10 kB: a typing error should not use up its memory


class Recipe(StrEnum):
    """How rows arrive exactly once (docs/guarantees.md)."""

    AUTO = "auto"
    DIRECT = "direct"
    STAGED = "staged"
    PREPARED = "prepared"
    SHADOW = "shadow"


class CarryOver(StrEnum):
    """Parts of the source's definition for a created table, besides columns, keys and comments."""

    DEFAULTS = "defaults"
    IDENTITY = "identity"
    CHECKS = "checks"
    INDEXES = "indexes"


class FieldCase(StrEnum):
    """Spelling of column names in the target."""

    ORIGINAL = "ORIGINAL"
    UPPERCASE = "UPPERCASE"
    LOWERCASE = "LOWERCASE"


class TableKind(StrEnum):
    """Kind of a relation in a database."""

    TABLE = "table"
    VIEW = "view"
    MATERIALIZED_VIEW = "materialized_view"
    FOREIGN = "foreign"
    PARTITION = "partition"


def _is_condition(text: str | None) -> str | None:
    if text is not None:
        condition_of(text)
    return text


class TableOptions(Options):
    """One entry of ``table_list``."""

    table_path: str | None = option(None, doc="table to read; with query, the name for the query's rows")
    query: str | None = option(None, doc="statement to read from, instead of the whole table")
    where_condition: str | None = option(None, doc="condition for the rows of this table, beginning with 'where'")
    partition_column: str | None = option(None, doc="column whose ranges are read in parallel")
    partition_num: int | None = option(None, ge=1, le=RANGES_MAX, doc="number of ranges")
    partition_lower_bound: str | None = option(None, doc="smallest value to start dividing at; default: the smallest")
    partition_upper_bound: str | None = option(None, doc="largest value to stop dividing at; default: the largest")
    use_select_count: bool = option(False, doc="count the rows instead of trusting the database's statistics")
    skip_analyze: bool = option(False, doc="accepted; statistics are always used as they are")
    use_regex: bool = option(False, doc="table_path is a regular expression over full table names")

    rules: ClassVar[tuple[Rule, ...]] = (at_least_one("table_path", "query"),)

    _where_is_one = field_validator("where_condition")(_is_condition)


class JdbcSourceOptions(SourceOptions):
    """Options of the Jdbc source."""

    url: str = option(doc="address of the database: jdbc:postgresql://host/db, jdbc:mysql://…, jdbc:sqlite:…")
    driver: str | None = option(None, doc="class of the JDBC driver; only used to choose the dialect")
    username: str | None = option(None, fallback=("user",), doc="user to connect as")
    password: Secret | None = option(None, doc="password of the user")
    query: str | None = option(None, doc="statement whose rows are read")
    table_path: str | None = option(None, doc="table to read; with use_regex, a pattern")
    table_list: tuple[TableOptions, ...] = option((), doc="tables to read, each optionally with its own query")
    where_condition: str | None = option(None, doc="condition for the rows of every table, beginning with 'where'")
    use_regex: bool = option(False, doc="read table_path as a regular expression for full table names")
    kinds: tuple[TableKind, ...] = option(
        (TableKind.TABLE,),
        min_length=1,
        doc="kinds of relations that patterns match: table, view, materialized_view, foreign, partition; a "
        "partitioned table is a table, and is read with the rows of all its partitions",
    )
    exclude: tuple[str, ...] = option((), doc="regular expressions for full table names to exclude from patterns")
    compatible_mode: str | None = option(None, doc="accepted; `dialect` and the url choose the dialect")
    dialect: str | None = option(None, doc="dialect to use if the url does not determine it")
    connection_check_timeout_sec: int = option(30, ge=1, doc="timeout of a connection attempt, in seconds")
    connect_timeout_ms: int | None = option(
        None,
        ge=0,
        doc="timeout of a connection attempt, in milliseconds; overrides connection_check_timeout_sec; 0: one day",
    )
    socket_timeout_ms: int | None = option(None, ge=0, doc="accepted; statements have no time limit")
    fetch_size: int = option(0, ge=0, doc="accepted; rows are fetched in blocks of limited bytes")
    server_time_zone: str | None = option(
        None,
        doc="accepted; timestamps with a time zone (MySQL's TIMESTAMP) are read exactly, whatever the zone of "
        "server and session",
    )
    copy_enabled: bool = option(True, key="copy.enabled", doc="accepted; PostgreSQL is always read by COPY")
    copy_binary: bool = option(True, key="copy.binary", doc="accepted; COPY is always binary")
    properties: dict[str, str] = option({}, doc="parameters of the connection")
    split_size: int | None = option(
        None, key="split.size", ge=1, doc=f"rows per split; default: about {ROWS_PER_UNIT}, a unit's budget"
    )
    even_upper: float = option(
        100.0,
        key="split.even-distribution.factor.upper-bound",
        gt=0,
        doc="keys are even, and their range is divided, where (largest - smallest + 1) / rows is at most this, and at "
        "most 2",
    )
    even_lower: float = option(
        0.05,
        key="split.even-distribution.factor.lower-bound",
        gt=0,
        doc="keys are even, and their range is divided, where (largest - smallest + 1) / rows is at least this",
    )
    sample_threshold: int = option(
        1000, key="split.sample-sharding.threshold", ge=1, doc="accepted; a skewed key is always sampled"
    )
    inverse_sampling_rate: int = option(
        1000, key="split.inverse-sampling.rate", ge=1, doc="accepted; the sample size follows from the number of splits"
    )
    allow_sampling: bool = option(
        True,
        key="split.allow-sampling",
        doc="divide uneven keys by a sample of the rows; false: by all of them, which reads the table twice",
    )
    string_split_mode: str | None = option(
        None, key="split.string_split_mode", doc="accepted; text keys are divided at existing values"
    )
    string_strategy: str | None = option(
        None, key="split.string-strategy", doc="accepted; text keys are divided at existing values"
    )
    string_split_collate: str | None = option(
        None, key="split.string_split_mode_collate", doc="accepted; text keys are divided in their own collation"
    )
    concurrent_read: bool = option(
        True, key="enable_concurrent_read", doc="divide tables into splits; false: every table is one split"
    )
    partition_column: str | None = option(None, doc="column whose ranges are read in parallel")
    partition_num: int | None = option(None, ge=1, le=RANGES_MAX, doc="number of ranges")
    partition_lower_bound: str | None = option(
        None, doc="value to start dividing at; default: the smallest one. With query, rows below it are not read"
    )
    partition_upper_bound: str | None = option(
        None, doc="value to stop dividing at; default: the largest one. With query, rows above it are not read"
    )
    use_select_count: bool = option(False, doc="count rows instead of using the database's statistics")
    skip_analyze: bool = option(False, doc="accepted; the database's existing statistics are used")
    decimal_type_narrowing: bool = option(True, doc="accepted; a decimal stays a decimal (Oracle)")
    int_type_narrowing: bool = option(
        True, doc="read tinyint(1) as boolean (MySQL), and refuse numbers other than 0 and 1; false: read it as tinyint"
    )
    handle_blob_as_string: bool = option(False, doc="read binary large objects as text")
    use_kerberos: bool = option(False, doc="accepted as false; true is refused with a remedy")
    kerberos_principal: str | None = option(None, doc="accepted; see use_kerberos")
    kerberos_keytab_path: str | None = option(None, doc="accepted; see use_kerberos")
    krb5_path: str | None = option(None, doc="accepted; see use_kerberos")

    rules: ClassVar[tuple[Rule, ...]] = (
        at_least_one("query", "table_path", "table_list"),
        at_most_one("table_path", "table_list"),
        at_most_one("query", "table_list"),
        required_when("table_path", other="use_regex", equals=(True,)),
        NO_KERBEROS,
    )

    @field_validator("url")
    @classmethod
    def _url_is_known(cls, url: str) -> str:
        parse_url(url)
        return url

    @field_validator("exclude")
    @classmethod
    def _excluded_are_patterns(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            name_pattern(pattern)
        return patterns

    _where_is_one = field_validator("where_condition")(_is_condition)


class MultiTableConfig(Options):
    """Options for many tables at once."""

    primary_keys: dict[str, tuple[str, ...]] = option({}, doc="key columns by a pattern for whole upstream table names")

    @field_validator("primary_keys")
    @classmethod
    def _patterns_are_patterns(cls, keys: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        for pattern, columns in keys.items():
            try:
                name_pattern(pattern)
            except ValueError as error:
                raise ValueError(f"the pattern {error}") from None
            if not columns:
                raise ValueError(f"the pattern {pattern!r} has no columns")
        return keys


class JdbcSinkOptions(SinkOptions):
    """Options of the Jdbc sink."""

    url: str = option(doc="address of the database: jdbc:postgresql://host/db, jdbc:mysql://…, jdbc:sqlite:…")
    driver: str | None = option(None, doc="class of the JDBC driver; only used to choose the dialect")
    username: str | None = option(None, fallback=("user",), doc="user to connect as")
    password: Secret | None = option(None, doc="password of the user")
    query: str | None = option(None, doc="statement to run for each row, with ? or :field parameters")
    generate_sink_sql: bool = option(False, doc="write to `table` with generated statements")
    database: str | None = option(None, naming=Naming.PLAIN, doc="database of the target table")
    table: str | None = option(
        None,
        naming=Naming.TABLE,
        doc="target table, as table or schema.table; put a name with a dot in double quotes; default: ${table_name}",
    )
    target_schema: str | None = option(
        None,
        key="schema",
        naming=Naming.PLAIN,
        doc="schema of the target table, instead of one in `table`, where a database has schemas",
    )
    primary_keys: tuple[str, ...] | None = option(
        None, doc="columns that identify a row; default: the upstream's primary key, else its first unique key"
    )
    enable_upsert: bool = option(True, doc="insert or update by key; false: only insert")
    version_column: str | None = option(
        None, doc="column for late rows: a row replaces another one with its key only if its value here is not smaller"
    )
    batch_size: int = option(1000, ge=1, doc="rows per statement, for databases that are written by statements")
    batch_interval_ms: int = option(0, ge=0, doc="accepted; a unit is written when it is complete")
    max_retries: int = option(0, ge=0, doc="number of retries after a lost connection")
    is_exactly_once: bool = option(False, doc="write rows exactly once; they become visible with their checkpoint")
    exactly_once_recipe: Recipe = option(
        Recipe.AUTO,
        doc="how rows are written exactly once. staged: visible with each checkpoint; direct: visible at once; "
        "prepared: with PREPARE TRANSACTION; shadow: a new table is filled and replaces the target at the end",
    )
    xa_data_source_class_name: str | None = option(None, doc="accepted; no XA driver is needed")
    max_commit_attempts: int = option(3, ge=1, doc="accepted; a commit is retried until its outcome is known")
    transaction_timeout_sec: int = option(
        -1, ge=-1, doc="accepted; a transaction ends with its unit, or with its commit"
    )
    auto_commit: bool = option(True, doc="accepted; a unit is one transaction")
    field_ide: FieldCase = option(FieldCase.ORIGINAL, doc="spelling of column names in the target")
    server_time_zone: str | None = option(
        None, doc="accepted; timestamps are written in a UTC session, whatever the server's zone"
    )
    properties: dict[str, str] = option({}, doc="parameters of the connection")
    schema_save_mode: SchemaSaveMode = option(
        SchemaSaveMode.CREATE_SCHEMA_WHEN_NOT_EXIST,
        doc="what happens to the target table before the first row: create it, make it again, or refuse the job",
    )
    data_save_mode: DataSaveMode = option(
        DataSaveMode.APPEND_DATA,
        doc="what happens to rows that are there: add to them, delete them, run custom_sql, or refuse the job",
    )
    custom_sql: str | None = option(None, doc="statements to run before writing (CUSTOM_PROCESSING)")
    support_upsert_by_query_primary_key_exist: bool = option(
        False, doc="accepted; rows are looked up by key only if the database has no upsert"
    )
    support_upsert_by_insert_only: bool = option(False, doc="accepted; enable_upsert = false only inserts")
    is_primary_key_updated: bool = option(True, doc="accepted; a row whose key changes counts as another row")
    use_copy_statement: bool = option(False, doc="accepted; PostgreSQL is always written by COPY")
    oracle_insert_mode: str | None = option(None, doc="accepted; Oracle gets no hints")
    carry_over: tuple[CarryOver, ...] = option(
        (),
        doc="parts of the source's definition for a created table, if both databases are of the same kind: "
        "defaults, indexes, identity, checks (not MySQL's); `plan` lists the parts that are not carried over",
    )
    create_index: bool = option(True, doc="create keys and indexes with an auto-created table")
    compatible_mode: str | None = option(None, doc="accepted; `dialect` and the url select the SQL of a database")
    dialect: str | None = option(None, doc="dialect to use if the url does not name it")
    connection_check_timeout_sec: int = option(30, ge=1, doc="how long a connection attempt may take")
    connect_timeout_ms: int | None = option(None, ge=0, doc="the same in milliseconds, which wins; 0 waits for a day")
    socket_timeout_ms: int | None = option(None, ge=0, doc="accepted; a statement may take as long as it takes")
    table_prefix: str = option(
        "",
        key="tablePrefix",
        fallback=("table_prefix",),
        naming=Naming.PLAIN,
        doc="text in front of the name of each target table",
    )
    table_suffix: str = option(
        "",
        key="tableSuffix",
        fallback=("table_suffix",),
        naming=Naming.PLAIN,
        doc="text after the name of each target table",
    )
    table_options: dict[str, str] = option(
        {},
        doc="options of a created table. MySQL, MariaDB: engine, charset, collate; PostgreSQL: tablespace, and "
        "storage parameters such as fillfactor",
    )
    multi_table_config: MultiTableConfig = option(
        MultiTableConfig.model_construct(),
        doc="`primary_keys`: key columns by patterns of table names; the first match counts",
    )
    use_kerberos: bool = option(False, doc="accepted as false; true is refused with a remedy")
    kerberos_principal: str | None = option(None, doc="accepted; see use_kerberos")
    kerberos_keytab_path: str | None = option(None, doc="accepted; see use_kerberos")
    krb5_path: str | None = option(None, doc="accepted; see use_kerberos")

    rules: ClassVar[tuple[Rule, ...]] = (
        at_most_one("query", "table"),
        required_when("custom_sql", other="data_save_mode", equals=("CUSTOM_PROCESSING",)),
        NO_KERBEROS,
        Rule(
            "{max_retries} must be 0 with {is_exactly_once}",
            lambda given, known: not known["is_exactly_once"] or known["max_retries"] in (0, "0"),
        ),
        Rule(
            "{exactly_once_recipe} needs {is_exactly_once} = true",
            lambda given, known: bool(known["is_exactly_once"]) or known["exactly_once_recipe"] == Recipe.AUTO,
        ),
        Rule(
            "{exactly_once_recipe} must be auto or direct with {query}, which is run where its rows belong",
            lambda given, known: not known["query"] or known["exactly_once_recipe"] in (Recipe.AUTO, Recipe.DIRECT),
        ),
    )

    @field_validator("target_schema")
    @classmethod
    def _databases_have_schemas(cls, name: str | None, info: ValidationInfo) -> str | None:
        if name and "url" in info.data and (dialect := parse_url(info.data["url"]).dialect) in ("mysql", "sqlite"):
            raise ValueError(f"{dialect} has no schemas below a database; leave it out")
        return name

    @field_validator("table_options")
    @classmethod
    def _tables_have_these(cls, given: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        if "url" in info.data:
            dialect = DIALECTS.get((info.data.get("dialect") or "").lower()) or parse_url(info.data["url"]).dialect
            if wrong := table_options.problem(dialect, given):
                raise ValueError(wrong)
        return given

    @field_validator("url")
    @classmethod
    def _url_is_known(cls, url: str) -> str:
        parse_url(url)
        return url
