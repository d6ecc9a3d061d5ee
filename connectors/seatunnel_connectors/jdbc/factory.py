"""Declares the Jdbc source and sink: options and capabilities. No client library is imported before ``create``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from seatunnel_connectors.jdbc.options import JdbcSinkOptions, JdbcSourceOptions, Recipe
from seatunnel_connectors.jdbc.url import resolve
from seatunnel_connectors.save_modes import DataSaveMode, SchemaSaveMode
from seatunnel_py.api import (
    Determinism,
    Guarantee,
    JobMode,
    SinkCapabilities,
    SinkFactory,
    SourceCapabilities,
    SourceFactory,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seatunnel_connectors.jdbc.url import Address
    from seatunnel_py.api import (
        Plain,
        Shorthand,
        Sink,
        SinkOptions,
        Source,
        SourceOptions,
        StepContext,
        TableSchema,
    )

SECONDS_OF_A_DAY = 86_400
EXTRAS = {"postgres": "postgres", "mysql": "mysql", "sqlalchemy": "sqlalchemy"}  # SQLite comes with Python


def _address(options: JdbcSourceOptions | JdbcSinkOptions) -> Address:
    found = resolve(options.url, options.username, options.password, options.properties, options.dialect)
    return replace(found, connect_seconds=_connect_seconds(options))


def _connect_seconds(options: JdbcSourceOptions | JdbcSinkOptions) -> int:
    """Timeout in whole seconds, as drivers count it; some take 0 for no timeout."""
    if options.connect_timeout_ms is None:
        return options.connection_check_timeout_sec
    return min(-(-options.connect_timeout_ms // 1000), SECONDS_OF_A_DAY) or SECONDS_OF_A_DAY


def _extras(options: JdbcSourceOptions | JdbcSinkOptions) -> tuple[str, ...]:
    """Extras for one database, not for all."""
    extra = EXTRAS.get(_address(options).dialect)
    return (extra,) if extra else ()


def _modules(options: JdbcSourceOptions | JdbcSinkOptions) -> tuple[str, ...]:
    from seatunnel_connectors.jdbc.dialect import worker_modules

    return ("seatunnel_connectors.jdbc.source.source", *worker_modules(_address(options).dialect))


def _answer(options: JdbcSourceOptions | JdbcSinkOptions, *, writing: bool) -> Mapping[str, str]:
    from seatunnel_connectors.jdbc.dialect import dialect_of

    address = _address(options)
    return dialect_of(address).answer(address, writing=writing)


class JdbcSourceFactory(SourceFactory[JdbcSourceOptions]):
    """Reads Reads tables and queries of relational databases."""

    name: ClassVar[str] = "Jdbc"
    summary: ClassVar[str] = "Reads tables and queries of relational databases"
    options: ClassVar[type[SourceOptions]] = JdbcSourceOptions
    everything: ClassVar[Mapping[str, Plain]] = {"table_path": ".*", "use_regex": True}

    def from_shorthand(self, end: Shorthand) -> Mapping[str, Plain] | None:
        from seatunnel_connectors.jdbc import shorthand

        return shorthand.reading(end, self.everything)

    def selecting(self, tables: Sequence[str]) -> Mapping[str, Plain]:
        from seatunnel_connectors.jdbc import shorthand

        return shorthand.naming(tables)

    def test_connection(self, options: JdbcSourceOptions) -> Mapping[str, str]:
        return _answer(options, writing=False)

    def extras(self, options: JdbcSourceOptions) -> tuple[str, ...]:
        return _extras(options)

    def modules(self, options: JdbcSourceOptions) -> tuple[str, ...]:
        return _modules(options)

    def capabilities(self, options: JdbcSourceOptions, context: StepContext) -> SourceCapabilities:
        return SourceCapabilities(determinism=Determinism.DETERMINATE)

    def create(self, options: JdbcSourceOptions, context: StepContext) -> Source:
        from seatunnel_connectors.jdbc.dialect import dialect_of
        from seatunnel_connectors.jdbc.source.source import JdbcSource

        address = _address(options)
        dialect_of(address)  # a missing library is reported now, not by a worker
        return JdbcSource(address, options, context.parallelism, context.registry)


class JdbcSinkFactory(SinkFactory[JdbcSinkOptions]):
    """Writes to tables of relational databases."""

    name: ClassVar[str] = "Jdbc"
    summary: ClassVar[str] = "Writes tables of relational databases"
    options: ClassVar[type[SinkOptions]] = JdbcSinkOptions

    def from_shorthand(self, end: Shorthand) -> Mapping[str, Plain] | None:
        from seatunnel_connectors.jdbc import shorthand

        return shorthand.writing(end, STAGING)

    def test_connection(self, options: JdbcSinkOptions) -> Mapping[str, str]:
        return _answer(options, writing=True)

    def extras(self, options: JdbcSinkOptions) -> tuple[str, ...]:
        return _extras(options)

    def modules(self, options: JdbcSinkOptions) -> tuple[str, ...]:
        return _modules(options)

    def capabilities(self, options: JdbcSinkOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
        return sink_capabilities(options, table, context)

    def create(self, options: JdbcSinkOptions, table: TableSchema, context: StepContext) -> Sink:
        from seatunnel_connectors.jdbc.dialect import SinkRequest, dialect_of
        from seatunnel_connectors.jdbc.target.job_targets import JobTargets

        address = _address(options)
        if options.query and options.is_exactly_once and address.dialect not in STAGING:
            raise ValueError("is_exactly_once with a query needs PostgreSQL, MySQL, MariaDB or SQLite")
        targets = context.registry.get(JobTargets)
        request = SinkRequest(
            address, options, table, context.step, context.job_id, context.mode, targets, context.continues
        )
        sink = dialect_of(address).sink(request)
        if not options.query:
            sink.check_names()
        return sink


STAGING = ("postgres", "mysql", "sqlite")
"""Dialects that can add staged rows to a target in the transaction of its ledger."""

RENAMING = ("mysql",)
"""Dialects whose DDL ends a transaction, so that renaming a table cannot be in the ledger's transaction."""

_RENAMED = "a table that the run makes or empties is replaced at the end by one renaming"
_BESIDE = "each unit's transaction holds the record of the unit"
_HOW_ONCE = {
    Recipe.AUTO: f"rows become visible in the transaction that writes the ledger, or {_BESIDE}",
    Recipe.STAGED: "staged rows become visible in the transaction that writes the ledger",
    Recipe.PREPARED: "each unit is a prepared transaction that its checkpoint commits",
    Recipe.DIRECT: _BESIDE,
    Recipe.SHADOW: "the rows' table is filled beside its place, and takes it whole at the end",
}


def sink_capabilities(options: JdbcSinkOptions, table: TableSchema, context: StepContext) -> SinkCapabilities:
    """The sink's guarantees for one table, before any database is asked."""
    from seatunnel_connectors.jdbc.target.sink_key import wanted_key

    if options.query and options.is_exactly_once:
        return SinkCapabilities(Guarantee.TWO_PHASE_COMMIT, _BESIDE, fenced=True)
    if options.query:
        return SinkCapabilities(Guarantee.AT_LEAST_ONCE, "`query` runs whatever statement it holds", fenced=False)
    key, _ = wanted_key(options, table)
    renewed = options.schema_save_mode is SchemaSaveMode.RECREATE_SCHEMA
    emptied = context.mode is JobMode.BATCH and (renewed or options.data_save_mode is DataSaveMode.DROP_DATA)
    by_key = bool(key) and options.enable_upsert
    keys = key if by_key else ()
    versioned = by_key and options.version_column in table.names
    directly = options.exactly_once_recipe is Recipe.DIRECT and by_key
    if options.is_exactly_once and not directly and (emptied or _address(options).dialect in STAGING):
        how = _HOW_ONCE[options.exactly_once_recipe]
        chosen = options.exactly_once_recipe is Recipe.AUTO and context.mode is JobMode.BATCH
        if chosen and _address(options).dialect in RENAMING:
            how = f"{_RENAMED}; else {how}"
        return SinkCapabilities(Guarantee.TWO_PHASE_COMMIT, how, fenced=True, keys=keys, versioned=versioned)
    if by_key:
        return SinkCapabilities(
            Guarantee.IDEMPOTENT, f"rows are inserted or updated by key ({', '.join(key)})", fenced=True, keys=keys,
            versioned=versioned,
        )  # fmt: skip
    if context.mode is JobMode.BATCH and renewed:
        return SinkCapabilities(
            Guarantee.TWO_PHASE_COMMIT,
            f"this run creates the table again; {_BESIDE}",
            fenced=True,
        )
    why = "the table has no key" if not key else "enable_upsert = false leaves inserts what they are"
    return SinkCapabilities(Guarantee.AT_LEAST_ONCE, why, fenced=True)
