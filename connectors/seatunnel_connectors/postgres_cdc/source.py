"""Defines the Postgres-CDC source: its tables, their copies, and the log that they share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from seatunnel_connectors.copied_rows import CopyReader
from seatunnel_connectors.jdbc.dataset_names import table_dataset
from seatunnel_connectors.jdbc.options import JdbcSourceOptions, TableOptions
from seatunnel_connectors.jdbc.postgres.connection.session import statements
from seatunnel_connectors.jdbc.source.findings import Found, described_for_log
from seatunnel_connectors.jdbc.source.source import JdbcSource
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.postgres_cdc.claim import LogClaims, LogNames, own_name
from seatunnel_connectors.postgres_cdc.copy import MADE, CopySource
from seatunnel_connectors.postgres_cdc.declared_keys import declared_keys, logged_by_key, whole_path
from seatunnel_connectors.postgres_cdc.log_enumerator import (
    LogEnumerator,
    LogPlace,
    copied_at,
    gone_back,
    joined,
    made_in,
)
from seatunnel_connectors.postgres_cdc.log_rows import place_of
from seatunnel_connectors.postgres_cdc.options import (
    FOLLOWS_A_SLOT,
    PostgresCdcOptions,
    PublicationMode,
    SlotDrop,
    StartupMode,
    StopMode,
)
from seatunnel_connectors.postgres_cdc.reader import SlotReader
from seatunnel_connectors.postgres_cdc.replication.leftovers import PUBLICATION, SLOT, Leftovers
from seatunnel_connectors.postgres_cdc.replication.slot_lag import find_retention, lag_of
from seatunnel_connectors.postgres_cdc.replication.slots import check_start, find_slot
from seatunnel_connectors.postgres_cdc.slot_snapshots import consistent_point
from seatunnel_connectors.postgres_cdc.table_checks import checked, require_logical_log
from seatunnel_py.api import (
    BegunLog,
    Dataset,
    Determinism,
    Enumerator,
    FollowedTable,
    JobMode,
    JobRegistry,
    Leftover,
    LogLag,
    LogSource,
    Plain,
    Position,
    Reader,
    SchemaPolicy,
    Source,
    SourceCapabilities,
    SourceTable,
    Split,
    TableLeftOut,
    TablePath,
)


@dataclass(frozen=True, slots=True)
class PostgresCdcSource(LogSource):
    """One Postgres-CDC entry of a job file."""

    address: Address
    options: PostgresCdcOptions
    names: LogNames
    stop: StopMode = StopMode.NEVER
    parallelism: int = 1
    registry: JobRegistry = field(default_factory=JobRegistry, compare=False, repr=False)

    def tables(self) -> Sequence[Found]:
        require_logical_log(self.address)
        found = checked(self.address, self.described)
        found = [logged_by_key(one) if isinstance(one, SourceTable) else one for one in found]
        paths = [one.schema.path for one in found if isinstance(one, SourceTable)]
        self.registry.get(LogClaims).tables[self.names.slot] = paths
        return found

    def datasets(self, table: SourceTable) -> Sequence[Dataset]:
        return (table_dataset(self.address, table.schema.path),)

    def described(self) -> Sequence[Found]:
        """The tables, without a look at the log."""
        found = [self._in_schemas(one) for one in described_for_log(self._copy_of(None).tables)]
        self.options.require_schema_tables(found)
        return declared_keys(self.options.table_config, self.address.database, found)

    def _in_schemas(self, one: Found) -> Found:
        schemas = self.options.schema_names
        path = one.schema.path if isinstance(one, SourceTable) else one.path
        return one if not schemas or path.schema in schemas else TableLeftOut(path, "schema-names leaves them out")

    def copy_source(self) -> Source | None:
        return self._copy_of(self.names) if self._copies else None

    @property
    def _copies(self) -> bool:
        return self.options.start is StartupMode.INITIAL

    def _copy_of(self, names: LogNames | None) -> CopySource:
        options = _jdbc_options(self.options, self.address.database)
        return CopySource(self.address, options, self.parallelism, self.registry, names, self.options.slot_wait_seconds)

    def current_rows(self) -> Source:
        return self._copy_of(None).current_rows()

    def copy_capabilities(self) -> SourceCapabilities:
        return SourceCapabilities(determinism=Determinism.DETERMINATE)

    def log_enumerator(self, tables: Sequence[FollowedTable], state: Plain) -> Enumerator:
        return LogEnumerator(self.address, self.names, self.registry, tables, self.options, self.stop, state)

    def join(self, begun: BegunLog, table: FollowedTable) -> BegunLog:
        start = copied_at(table) if self._copies else self._published()
        return joined(begun, table.table.schema.path, start)

    can_go_back = True

    def goes_back(self, begun: BegunLog, table: TablePath, place: Position) -> BegunLog:
        with statements(self.address) as db:
            check_start(find_slot(db, self.names.slot), self.names.slot, _end_of(place, begun.split))
        return gone_back(begun, table, place)

    def log_bytes(self, split: Split, earlier: Position, later: Position) -> int:
        return _end_of(later, split) - _end_of(earlier, split)

    def leftovers(self, splits: Sequence[Split]) -> Sequence[Leftover]:
        with statements(self.address) as db:
            return tuple(left for one in self._left(splits) for left in one.found(db))

    def drop(self, splits: Sequence[Split]) -> None:
        with statements(self.address) as db:
            for one in self._left(splits):
                one.drop(db, self.options.slot_wait_seconds)

    def _left(self, splits: Sequence[Split]) -> Iterator[Leftovers]:
        """Of the job, and of the job with whose savepoint it began, from whose slot it reads."""
        names = self.names
        own = {SLOT: names.own_slot, PUBLICATION: names.own_publication and self.options.publication_name is None}
        known = made_in(one for one in splits if one.payload.get(SLOT) == names.slot)
        yield Leftovers(names.slot, names.publication, {*known, *(kind for kind in own if own[kind])})
        pairs = [(one.payload.get(SLOT), one.payload.get(PUBLICATION)) for one in splits if MADE in one.payload]
        for slot, publication in dict.fromkeys(pairs):
            if isinstance(slot, str) and isinstance(publication, str) and slot != names.slot:
                made = made_in(one for one in splits if one.payload.get(SLOT) == slot)
                yield Leftovers(slot, publication, made)

    @property
    def drops_when_finished(self) -> bool:
        return self.options.slot_drop is SlotDrop.WHEN_FINISHED

    def _published(self) -> int:
        """Publish the tables of the step; return a position from which the log has all of their changes. The
        publication's log lacks earlier changes, and those of transactions that run now."""
        claims = self.registry.get(LogClaims)
        claims.claim(self.address, self.names, known=True, wait_seconds=self.options.slot_wait_seconds)
        return consistent_point(self.address, self.options.slot_wait_seconds)

    def lag(self, begun: BegunLog) -> LogLag | None:
        slot = LogPlace.of(begun.split.payload).slot
        position = 0 if begun.position is None else place_of(begun.position).end
        with statements(self.address) as db:
            found = find_retention(db, slot)
        return None if found is None else lag_of(found, slot, position, self.options.slot_max_lag)

    @property
    def log_end(self) -> str:
        end = _ENDS[self.stop].format(self.options.stop_lsn or self.options.stop_timestamp)
        return f"{end}, and its replication slot is dropped" if self.drops_when_finished else end

    def log_reader(self, tables: Sequence[SourceTable]) -> Reader:
        return SlotReader(self.address, tables, self.options.schema_policy_of)

    @property
    def schema_policy(self) -> SchemaPolicy:
        return self.options.schema_policy

    def schema_policy_of(self, table: TablePath) -> SchemaPolicy:
        return self.options.schema_policy_of(table)

    def blocked_by(self) -> Sequence[str]:
        return self._copy_of(None).blocked_by()


def _end_of(place: Position, split: Split) -> int:
    """The end of the last whole transaction before a place of the log; where none was read, the oldest start."""
    return place_of(place).end or min(start for _, start in LogPlace.of(split.payload).starts)


_ENDS = {
    StopMode.NEVER: "",
    StopMode.LATEST: "everything that was committed before the log is opened, then the job ends",
    StopMode.SPECIFIC: "everything that was committed before {}, then the job ends",
    StopMode.TIMESTAMP: "everything that was committed up to {} ms since 1970, then the job ends",
}


def stop_of(options: PostgresCdcOptions, mode: JobMode) -> StopMode:
    """The end of a run of the job. Raises ValueError for a batch job that would have none."""
    if options.stop is StopMode.NEVER and mode is JobMode.BATCH:
        raise ValueError("stop.mode: never, but a job with job.mode = BATCH ends; leave it out, or set STREAMING")
    stop = options.stop or (StopMode.LATEST if mode is JobMode.BATCH else StopMode.NEVER)
    if options.slot_drop is SlotDrop.WHEN_FINISHED and stop is StopMode.NEVER:
        raise ValueError(
            "slot.drop: when-finished, but the job does not end by itself; set job.mode = BATCH or a stop.mode, or "
            "leave it out, and drop the slot with `seatunnel jobs drop`"
        )
    return stop


@dataclass(frozen=True, slots=True)
class TablesOnlySource(JdbcSource):
    """The tables of a step whose log is not followed (``startup.mode = snapshot-only``): read as by Jdbc."""

    of: PostgresCdcSource | None = None

    @staticmethod
    def made(of: PostgresCdcSource) -> TablesOnlySource:
        options = _jdbc_options(of.options, of.address.database)
        return TablesOnlySource(of.address, options, of.parallelism, of.registry, of)

    def tables(self) -> Sequence[Found]:
        assert self.of is not None, "it was made of a step"
        return self.of.described()

    def reader(self, table: SourceTable) -> Reader:
        return CopyReader(self.address, table)


def names_of(options: PostgresCdcOptions, job_id: str, step: str, store: str) -> LogNames:
    """The names of the step's slot and publication."""
    own = own_name(job_id, step, store)
    creates = options.publication_mode is PublicationMode.FILTERED
    reuse = options.slot_reuse or options.start in FOLLOWS_A_SLOT
    return LogNames(
        options.slot_name or own, options.publication_name or own, options.slot_name is None, creates, reuse
    )


def _jdbc_options(options: PostgresCdcOptions, database: str) -> JdbcSourceOptions:
    """The tables as options of Jdbc, which describes and divides them."""
    given = {
        "url": options.url,
        "split.size": options.snapshot_split_size,
        "split.even-distribution.factor.upper-bound": options.even_upper,
        "split.even-distribution.factor.lower-bound": options.even_lower,
        "split.allow-sampling": options.allow_sampling,
        "enable_concurrent_read": options.concurrent_read,
    }
    if options.table_pattern is not None:
        return JdbcSourceOptions.model_validate({**given, "table_path": options.table_pattern, "use_regex": True})
    columns = {whole_path(one.table, database): one.split_column for one in options.table_config}
    listed = [
        TableOptions.model_validate({"table_path": name, "partition_column": columns.get(whole_path(name, database))})
        for name in options.table_names
    ]
    return JdbcSourceOptions.model_validate({**given, "table_list": listed})
