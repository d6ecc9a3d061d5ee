"""Defines the sources MySQL-CDC and MariaDB-CDC: their tables, the copies of these, and the log that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from seatunnel_connectors.jdbc.options import JdbcSourceOptions, TableOptions
from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.mysql_cdc.copy import BinlogCopySource
from seatunnel_connectors.mysql_cdc.log_enumerator import BinlogEnumerator
from seatunnel_connectors.mysql_cdc.options import BinlogCdcOptions, BinlogStart
from seatunnel_connectors.mysql_cdc.reader import BinlogReader
from seatunnel_connectors.mysql_cdc.schema.definitions import DecodeOptions
from seatunnel_connectors.mysql_cdc.server_checks import require_row_log
from seatunnel_connectors.mysql_cdc.table_checks import checked_tables
from seatunnel_py.api import (
    Determinism,
    Enumerator,
    FatalError,
    FollowedTable,
    JobRegistry,
    LogSource,
    Plain,
    PrimaryKey,
    Reader,
    Source,
    SourceCapabilities,
    SourceTable,
    TableLeftOut,
    name_pattern,
)


@dataclass(frozen=True, slots=True)
class BinlogCdcSource(LogSource):
    """One MySQL-CDC or MariaDB-CDC entry of a job file."""

    address: Address
    options: BinlogCdcOptions
    server_id: int
    parallelism: int = 1
    registry: JobRegistry = field(default_factory=JobRegistry, compare=False, repr=False)

    def tables(self) -> Sequence[Found]:
        require_row_log(self.address)
        found = [self._chosen(one) for one in self._copy.tables()]
        found = list(checked_tables(self.address, self._keyed(found), exactly_once=self.options.exactly_once))
        if self.options.table_pattern is not None and all(isinstance(one, TableLeftOut) for one in found):
            raise FatalError(
                f"no table matches {self.options.table_pattern!r} in the chosen databases",
                "correct table-pattern, database-names and database-pattern",
            )
        return found

    def _chosen(self, one: Found) -> Found:
        """Exclude a table that the pattern matches in a database that is not chosen."""
        names, pattern = self.options.database_names, self.options.database_pattern
        if not isinstance(one, SourceTable) or self.options.table_pattern is None:
            return one
        database = one.schema.path.database
        if names and database not in names:
            return TableLeftOut(one.schema.path, "not in database-names")
        if pattern is not None and not name_pattern(pattern).fullmatch(database):
            return TableLeftOut(one.schema.path, "does not match database-pattern")
        return one

    def _keyed(self, found: Sequence[Found]) -> list[Found]:
        """The tables with the keys that the job file declares for those that have none of their own."""
        declared = {entry.table: entry.primary_keys for entry in self.options.table_config if entry.primary_keys}
        keyed = {}
        for one in found:
            if isinstance(one, SourceTable) and (key := declared.pop(one.schema.path.full_name, None)):
                if missing := set(key) - set(one.schema.names):
                    raise FatalError(
                        f"table {one.schema.path} has no column {', '.join(sorted(missing))}",
                        "correct primaryKeys in table-names-config",
                    )
                if one.schema.primary_key is None:
                    keyed[one.schema.path] = PrimaryKey(key, proved=False)
        if declared:
            raise FatalError(
                f"table-names-config names tables that are not read: {', '.join(sorted(declared))}",
                "correct table-names-config: full names are database.table",
            )
        return [
            replace(one, schema=replace(one.schema, primary_key=keyed[one.schema.path]))
            if isinstance(one, SourceTable) and one.schema.path in keyed
            else one
            for one in found
        ]

    @property
    def _copy(self) -> BinlogCopySource:
        return BinlogCopySource(self.address, _jdbc_options(self.options), self.parallelism, self.registry)

    def copy_source(self) -> Source | None:
        return self._copy if self.options.start is BinlogStart.INITIAL else None

    def copy_capabilities(self) -> SourceCapabilities:
        return SourceCapabilities(determinism=Determinism.DETERMINATE, overlaps_log=True)

    def log_enumerator(self, tables: Sequence[FollowedTable], state: Plain) -> Enumerator:
        return BinlogEnumerator(self.address, self.options, self.server_id, tables, known=state is not None)

    def log_reader(self, tables: Sequence[SourceTable]) -> Reader:
        zero_dates = "null" in self.address.parameters.get("zerodatetimebehavior", "").lower()
        decode = DecodeOptions(self.options.int_type_narrowing, zero_dates_are_null=zero_dates)
        follows = self.options.schema_changes
        return BinlogReader(self.address, tables, self.server_id, decode, follows_changes=follows)

    def blocked_by(self) -> Sequence[str]:
        return self._copy.blocked_by()


def _jdbc_options(options: BinlogCdcOptions) -> JdbcSourceOptions:
    """The tables as options of Jdbc, which describes and divides them."""
    given = {
        "url": options.url, "split.size": options.snapshot_split_size, "int_type_narrowing": options.int_type_narrowing,
        "enable_concurrent_read": options.concurrent_read,
    }  # fmt: skip
    if options.table_pattern is not None:
        return JdbcSourceOptions.model_validate({**given, "table_path": options.table_pattern, "use_regex": True})
    listed = [TableOptions.model_validate({"table_path": name}) for name in options.table_names]
    return JdbcSourceOptions.model_validate({**given, "table_list": listed})
