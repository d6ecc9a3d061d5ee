"""Defines the Postgres-CDC source: its tables, their copies, and the log that they share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from seatunnel_connectors.jdbc.options import JdbcSourceOptions, TableOptions
from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.postgres_cdc.claim import LogClaims, LogNames, own_name
from seatunnel_connectors.postgres_cdc.copy import CopySource
from seatunnel_connectors.postgres_cdc.log_enumerator import LogEnumerator
from seatunnel_connectors.postgres_cdc.options import PostgresCdcOptions, PublicationMode, StartupMode
from seatunnel_connectors.postgres_cdc.reader import SlotReader
from seatunnel_connectors.postgres_cdc.table_checks import checked, require_logical_log
from seatunnel_py.api import (
    Determinism,
    Enumerator,
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
)


@dataclass(frozen=True, slots=True)
class PostgresCdcSource(LogSource):
    """One Postgres-CDC entry of a job file."""

    address: Address
    options: PostgresCdcOptions
    names: LogNames
    parallelism: int = 1
    registry: JobRegistry = field(default_factory=JobRegistry, compare=False, repr=False)

    def tables(self) -> Sequence[Found]:
        require_logical_log(self.address)
        found = [self._keyed(self._in_schemas(one)) for one in self._copy_of(None).tables()]
        found = list(checked(self.address, found))
        paths = [one.schema.path for one in found if isinstance(one, SourceTable)]
        self.registry.get(LogClaims).tables[self.names.slot] = paths
        return found

    def _in_schemas(self, one: Found) -> Found:
        schemas = self.options.schema_names
        path = one.schema.path if isinstance(one, SourceTable) else one.path
        return one if not schemas or path.schema in schemas else TableLeftOut(path, "schema-names leaves them out")

    def _keyed(self, one: Found) -> Found:
        """The table with the key that the job file declares for it, if it has none of its own."""
        if not isinstance(one, SourceTable) or one.schema.primary_key is not None:
            return one
        for entry in self.options.table_config:
            if entry.primary_keys and entry.table == one.schema.path.full_name:
                key = PrimaryKey(entry.primary_keys, proved=False)
                return replace(one, schema=replace(one.schema, primary_key=key))
        return one

    def copy_source(self) -> Source | None:
        return self._copy_of(self.names) if self._copies else None

    @property
    def _copies(self) -> bool:
        return self.options.start is StartupMode.INITIAL

    def _copy_of(self, names: LogNames | None) -> CopySource:
        options = _jdbc_options(self.options)
        return CopySource(self.address, options, self.parallelism, self.registry, names, self.options.slot_wait_seconds)

    def copy_capabilities(self) -> SourceCapabilities:
        return SourceCapabilities(determinism=Determinism.DETERMINATE)

    def log_enumerator(self, tables: Sequence[FollowedTable], state: Plain) -> Enumerator:
        return LogEnumerator(
            self.address, self.names, self.registry, tables, copies=self._copies, known=state is not None,
            wait_seconds=self.options.slot_wait_seconds,
        )  # fmt: skip

    def log_reader(self, tables: Sequence[SourceTable]) -> Reader:
        return SlotReader(self.address, tables)

    def blocked_by(self) -> Sequence[str]:
        return self._copy_of(None).blocked_by()


def names_of(options: PostgresCdcOptions, job_id: str, step: str, store: str) -> LogNames:
    """The names of the step's slot and publication."""
    own = own_name(job_id, step, store)
    creates = options.publication_mode is PublicationMode.FILTERED
    reuse = options.slot_reuse or options.start in (StartupMode.COMMITTED, StartupMode.EARLIEST)
    return LogNames(
        options.slot_name or own, options.publication_name or own, options.slot_name is None, creates, reuse
    )


def _jdbc_options(options: PostgresCdcOptions) -> JdbcSourceOptions:
    """The tables as options of Jdbc, which describes and divides them."""
    given = {"url": options.url, "split.size": options.snapshot_split_size}
    if options.table_pattern is not None:
        return JdbcSourceOptions.model_validate({**given, "table_path": options.table_pattern, "use_regex": True})
    listed = [TableOptions.model_validate({"table_path": name}) for name in options.table_names]
    return JdbcSourceOptions.model_validate({**given, "table_list": listed})
