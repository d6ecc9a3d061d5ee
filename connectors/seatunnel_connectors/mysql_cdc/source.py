"""Defines the sources MySQL-CDC and MariaDB-CDC: their tables, the copies of these, and the log that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from seatunnel_connectors.copied_rows import CopyReader
from seatunnel_connectors.jdbc.dataset_names import table_dataset
from seatunnel_connectors.jdbc.mysql.connection.session import explained, sessions
from seatunnel_connectors.jdbc.options import JdbcSourceOptions, TableOptions
from seatunnel_connectors.jdbc.source.findings import Found, described_for_log
from seatunnel_connectors.jdbc.source.source import JdbcSource
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.mysql_cdc.copy import BinlogCopySource
from seatunnel_connectors.mysql_cdc.dump.log_lag import lag_of
from seatunnel_connectors.mysql_cdc.dump.session import identity_of
from seatunnel_connectors.mysql_cdc.log_enumerator import BinlogEnumerator, gone_back, joined
from seatunnel_connectors.mysql_cdc.log_places import file_sizes
from seatunnel_connectors.mysql_cdc.log_split import BinlogPlace
from seatunnel_connectors.mysql_cdc.options import BinlogCdcOptions, BinlogStart, BinlogStop
from seatunnel_connectors.mysql_cdc.reader import BinlogReader
from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_connectors.mysql_cdc.schema.definitions import DecodeOptions
from seatunnel_connectors.mysql_cdc.server_checks import expire_seconds, require_row_log
from seatunnel_connectors.mysql_cdc.table_checks import checked_tables
from seatunnel_py.api import (
    BegunLog,
    Dataset,
    Determinism,
    Enumerator,
    FatalError,
    FollowedTable,
    JobMode,
    JobRegistry,
    LogLag,
    LogSource,
    Plain,
    Position,
    PrimaryKey,
    Reader,
    SchemaPolicy,
    Source,
    SourceCapabilities,
    SourceTable,
    TableLeftOut,
    TablePath,
    name_pattern,
)


@dataclass(frozen=True, slots=True)
class BinlogCdcSource(LogSource):
    """One MySQL-CDC or MariaDB-CDC entry of a job file."""

    address: Address
    options: BinlogCdcOptions
    server_id: int
    stop: BinlogStop = BinlogStop.NEVER
    parallelism: int = 1
    registry: JobRegistry = field(default_factory=JobRegistry, compare=False, repr=False)

    def tables(self) -> Sequence[Found]:
        require_row_log(self.address)
        return self.described()

    def datasets(self, table: SourceTable) -> Sequence[Dataset]:
        return (table_dataset(self.address, table.schema.path),)

    def described(self) -> Sequence[Found]:
        """The tables, without a look at the log."""
        found = [self._chosen(one) for one in described_for_log(self._copy.tables)]
        found = list(checked_tables(self.address, self._keyed(found), self.options))
        if self.options.table_pattern is not None and all(isinstance(one, TableLeftOut) for one in found):
            raise FatalError(
                f"no table matches {self.options.table_pattern!r} in the chosen databases",
                "correct table-pattern, database-names and database-pattern",
            )
        self.options.require_schema_tables(found)
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

    def current_rows(self) -> Source:
        return self._copy.current_rows()

    def copy_capabilities(self) -> SourceCapabilities:
        return SourceCapabilities(determinism=Determinism.DETERMINATE, overlaps_log=True)

    def log_enumerator(self, tables: Sequence[FollowedTable], state: Plain) -> Enumerator:
        return BinlogEnumerator(self.address, self.options, self.server_id, tables, self.stop, state)

    def join(self, begun: BegunLog, table: FollowedTable) -> BegunLog:
        return joined(self.address, begun, table, copies=self.copy_source() is not None)

    can_go_back = True

    def goes_back(self, begun: BegunLog, table: TablePath, place: Position) -> BegunLog:
        return gone_back(self.address, begun, table, BinlogPosition.of(place.value))

    def lag(self, begun: BegunLog) -> LogLag | None:
        place = BinlogPlace.of(begun.split.payload)
        position = place.begin if begun.position is None else BinlogPosition.of(begun.position.value)
        with explained(f"looking up the log of {self.address.display}"), sessions(self.address) as session:
            if (position.server or place.server) != identity_of(session):
                return None  # the reader goes on there first
            return lag_of(file_sizes(session), position, expire_seconds(session))

    @property
    def log_end(self) -> str:
        options = self.options
        at = (
            options.stop_timestamp
            if self.stop is BinlogStop.TIMESTAMP
            else f"{options.stop_file}:{options.stop_offset}"
        )
        return _ENDS[self.stop].format(at)

    def log_reader(self, tables: Sequence[SourceTable]) -> Reader:
        zero_dates = "null" in self.address.parameters.get("zerodatetimebehavior", "").lower()
        decode = DecodeOptions(self.options.int_type_narrowing, zero_dates_are_null=zero_dates)
        return BinlogReader(self.address, tables, self.server_id, decode, self.options.schema_policy_of)

    @property
    def schema_policy(self) -> SchemaPolicy:
        return self.options.schema_policy

    def schema_policy_of(self, table: TablePath) -> SchemaPolicy:
        return self.options.schema_policy_of(table)

    def blocked_by(self) -> Sequence[str]:
        return self._copy.blocked_by()


_ENDS = {
    BinlogStop.NEVER: "",
    BinlogStop.LATEST: "everything that is in the log when it is opened, then the job ends",
    BinlogStop.SPECIFIC: "everything up to {}, then the job ends",
    BinlogStop.TIMESTAMP: "everything up to {} ms since 1970, then the job ends",
}


def stop_of(options: BinlogCdcOptions, mode: JobMode) -> BinlogStop:
    """The end of a run of the job. Raises ValueError for a batch job that would have none."""
    if options.stop is BinlogStop.NEVER and mode is JobMode.BATCH:
        raise ValueError("stop.mode: never, but a job with job.mode = BATCH ends; leave it out, or set STREAMING")
    return options.stop or (BinlogStop.LATEST if mode is JobMode.BATCH else BinlogStop.NEVER)


@dataclass(frozen=True, slots=True)
class BinlogTablesSource(JdbcSource):
    """The tables of a step whose log is not followed (``startup.mode = snapshot-only``): read as by Jdbc."""

    of: BinlogCdcSource | None = None

    @staticmethod
    def made(of: BinlogCdcSource) -> BinlogTablesSource:
        return BinlogTablesSource(of.address, _jdbc_options(of.options), of.parallelism, of.registry, of)

    def tables(self) -> Sequence[Found]:
        assert self.of is not None, "it was made of a step"
        return self.of.described()

    def reader(self, table: SourceTable) -> Reader:
        return CopyReader(self.address, table)


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
