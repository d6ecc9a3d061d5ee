"""Declares the sources MySQL-CDC and MariaDB-CDC: options and capabilities. No client library is imported before
``create``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from seatunnel_connectors.jdbc.url import resolve
from seatunnel_connectors.mysql_cdc.options import BinlogCdcOptions, BinlogStart, BinlogStop
from seatunnel_connectors.mysql_cdc.server_id import given_server_id, own_server_id
from seatunnel_py.api import Determinism, SourceCapabilities, SourceFactory, SourceOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from seatunnel_connectors.jdbc.url import Address
    from seatunnel_py.api import OutputTransform, Plain, Source, StepContext


def _address(options: BinlogCdcOptions) -> Address:
    found = resolve(options.url, options.username, options.password, options.properties, None)
    return replace(found, connect_seconds=options.connect_seconds)


class MysqlCdcFactory(SourceFactory[BinlogCdcOptions]):
    """Copies tables of MySQL, then follows their changes through the binary log."""

    name: ClassVar[str] = "MySQL-CDC"
    summary: ClassVar[str] = "Copies tables of MySQL, then follows their changes"
    extra: ClassVar[str] = "mysql"
    options: ClassVar[type[SourceOptions]] = BinlogCdcOptions
    everything: ClassVar[Mapping[str, Plain]] = {"table-pattern": ".*"}

    def selecting(self, tables: Sequence[str]) -> Mapping[str, Plain]:
        return {"table-names": list(tables)}

    def modules(self, options: BinlogCdcOptions) -> tuple[str, ...]:
        from seatunnel_connectors.jdbc.dialect import worker_modules

        return ("seatunnel_connectors.mysql_cdc.source", *worker_modules("mysql"))

    def test_connection(self, options: BinlogCdcOptions) -> Mapping[str, str]:
        from seatunnel_connectors.jdbc.dialect import dialect_of
        from seatunnel_connectors.mysql_cdc.server_checks import require_row_log

        address = _address(options)
        facts = dialect_of(address).answer(address, writing=False)
        return {**facts, **require_row_log(address)}

    def capabilities(self, options: BinlogCdcOptions, context: StepContext) -> SourceCapabilities:
        if options.start is BinlogStart.SNAPSHOT_ONLY:
            return SourceCapabilities(determinism=Determinism.DETERMINATE)
        return SourceCapabilities(bounded=False, determinism=Determinism.DETERMINATE, parallel=False, resident=True)

    def output_transform(self, options: BinlogCdcOptions) -> OutputTransform | None:
        return options.output_transform()

    def create(self, options: BinlogCdcOptions, context: StepContext) -> Source:
        from seatunnel_connectors.mysql_cdc.source import BinlogCdcSource, BinlogTablesSource, stop_of

        copies_only = options.start is BinlogStart.SNAPSHOT_ONLY
        stop = BinlogStop.NEVER if copies_only else stop_of(options, context.mode)
        own = own_server_id(context.job_id, context.step, context.store)
        server_id = own if options.server_id is None else given_server_id(options.server_id)
        source = BinlogCdcSource(_address(options), options, server_id, stop, context.parallelism, context.registry)
        return BinlogTablesSource.made(source) if copies_only else source


class MariadbCdcFactory(MysqlCdcFactory):
    """Copies tables of MariaDB, then follows their changes through the binary log."""

    name: ClassVar[str] = "MariaDB-CDC"
    summary: ClassVar[str] = "Copies tables of MariaDB, then follows their changes"
