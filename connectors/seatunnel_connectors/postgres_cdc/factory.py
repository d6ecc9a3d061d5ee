"""Declares the Postgres-CDC source: options and capabilities. No client library is imported before ``create``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from seatunnel_connectors.jdbc.url import resolve
from seatunnel_connectors.postgres_cdc.options import PostgresCdcOptions, StartupMode, StopMode
from seatunnel_py.api import Determinism, SourceCapabilities, SourceFactory, SourceOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seatunnel_connectors.jdbc.url import Address
    from seatunnel_py.api import OutputTransform, Plain, Source, StepContext


def _address(options: PostgresCdcOptions) -> Address:
    found = resolve(options.url, options.username, options.password, options.properties, None)
    return replace(found, connect_seconds=options.connect_seconds)


class PostgresCdcFactory(SourceFactory[PostgresCdcOptions]):
    """Copies tables of PostgreSQL, then follows their changes through logical replication."""

    name: ClassVar[str] = "Postgres-CDC"
    summary: ClassVar[str] = "Copies tables of PostgreSQL, then follows their changes"
    extra: ClassVar[str] = "postgres"
    options: ClassVar[type[SourceOptions]] = PostgresCdcOptions
    everything: ClassVar[Mapping[str, Plain]] = {"table-pattern": ".*"}

    def selecting(self, tables: Sequence[str]) -> Mapping[str, Plain]:
        return {"table-names": list(tables)}

    def modules(self, options: PostgresCdcOptions) -> tuple[str, ...]:
        from seatunnel_connectors.jdbc.dialect import worker_modules

        return ("seatunnel_connectors.postgres_cdc.source", *worker_modules("postgres"))

    def test_connection(self, options: PostgresCdcOptions) -> Mapping[str, str]:
        from seatunnel_connectors.jdbc.dialect import dialect_of
        from seatunnel_connectors.postgres_cdc.table_checks import require_logical_log

        address = _address(options)
        facts = dialect_of(address).answer(address, writing=False)
        require_logical_log(address)
        return {**facts, "wal_level": "logical"}

    def capabilities(self, options: PostgresCdcOptions, context: StepContext) -> SourceCapabilities:
        if options.start is StartupMode.SNAPSHOT_ONLY:
            return SourceCapabilities(determinism=Determinism.DETERMINATE)
        return SourceCapabilities(bounded=False, determinism=Determinism.DETERMINATE, parallel=False, resident=True)

    def output_transform(self, options: PostgresCdcOptions) -> OutputTransform | None:
        return options.output_transform()

    def create(self, options: PostgresCdcOptions, context: StepContext) -> Source:
        from seatunnel_connectors.postgres_cdc.source import PostgresCdcSource, TablesOnlySource, names_of, stop_of

        copies_only = options.start is StartupMode.SNAPSHOT_ONLY
        stop = StopMode.NEVER if copies_only else stop_of(options, context.mode)
        names = names_of(options, context.job_id, context.step, context.store)
        source = PostgresCdcSource(_address(options), options, names, stop, context.parallelism, context.registry)
        return TablesOnlySource.made(source) if copies_only else source
