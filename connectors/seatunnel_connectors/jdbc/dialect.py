"""The port between the generic part and a database that is read. A dialect is looked up by name and imported on use.

``sink`` leads to the other side, whose port is ``statements.target_dialect.TargetDialect``.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, cast

from seatunnel_connectors.jdbc.dataset_names import target_dataset
from seatunnel_connectors.jdbc.options import JdbcSinkOptions, JdbcSourceOptions
from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.jdbc.source.splits import Probe
from seatunnel_connectors.jdbc.source.table_request import TableRequest
from seatunnel_connectors.jdbc.target.job_targets import JobTargets
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    Batch,
    Dataset,
    JobMode,
    JobRegistry,
    NativeForm,
    NativeReader,
    Position,
    Rejected,
    Sink,
    SourceTable,
    Split,
    TableSchema,
    WriteContext,
    Writer,
)

MODULES = {
    "postgres": "seatunnel_connectors.jdbc.postgres.dialect",
    "sqlite": "seatunnel_connectors.jdbc.sqlite.dialect",
    "mysql": "seatunnel_connectors.jdbc.mysql.dialect",
    "sqlalchemy": "seatunnel_connectors.jdbc.generic.dialect",
}
_ARROW_MODULES = {
    "postgres": (
        "adbc_driver_manager._reader",
        "seatunnel_connectors.jdbc.postgres.read.arrow_conversion",
        "seatunnel_connectors.jdbc.postgres.write.writer",
    )
}
"""Modules that need Arrow, so that a driver imports none of them."""

PLANNED_ANEW = (
    "if the table was changed while the job ran, change it back and resume, or run the job again with --fresh"
)
"""Remedy for a table that has changed since planning."""


@dataclass(frozen=True, slots=True)
class SinkRequest:
    """Everything that a dialect needs to make a sink for one upstream table. ``targets``: of the whole job;
    ``continues``: another sink of the step has made the target and written the first rows."""

    address: Address
    options: JdbcSinkOptions
    table: TableSchema
    step: str
    job_id: str
    mode: JobMode
    targets: JobTargets = field(default_factory=JobTargets, compare=False, repr=False)
    continues: bool = False

    @property
    def keeps_no_record(self) -> bool:
        """True for a custom `query`: a unit leaves nothing but its rows in the target."""
        return bool(self.options.query) and not self.options.is_exactly_once


class TableSink(Sink):
    """A sink whose target is a table of a database."""

    request: SinkRequest

    def dataset(self) -> Dataset | None:
        place = self.target_place
        return None if place is None else target_dataset(self.request.address, place)

    @abstractmethod
    def check_names(self) -> None:
        """Raise ValueError if the target does not support a name. Sends no request to the database."""

    def repair_writer(self, context: WriteContext) -> Writer | None:
        from seatunnel_connectors.jdbc.target.load_decision import direct_setup  # which needs this module

        setup = direct_setup(context.setup)
        return None if setup is None else self.open(replace(context, setup=setup))


class Snapshot(ABC):
    """A consistent view that several readers share while it is open; also answers questions about it."""

    generation: str = ""

    @abstractmethod
    def probe(self, table: SourceTable, column: str) -> Probe:
        """Return a probe of one table's key column."""

    @abstractmethod
    def count(self, table: SourceTable) -> int:
        """Count the table's rows."""

    @abstractmethod
    def close(self) -> None:
        """Close the view; no reader uses it any more."""


class SourceDialect(ABC):
    """One kind of database. Stateless: connections live in the worker's pool."""

    name: ClassVar[str]

    @abstractmethod
    def answer(self, address: Address, *, writing: bool) -> Mapping[str, str]:
        """Describe the server for display: server with its version, user, and the user's privileges. ``writing``: those
        that a sink needs."""

    @abstractmethod
    def describe(self, address: Address, requests: Sequence[TableRequest], options: JdbcSourceOptions) -> list[Found]:
        """Describe every table in the requests, in as few queries as possible, and give the causes for tables that
        cannot be read. Raises one FatalError with all faults of the options. Hints follow ``source.Hints``."""

    @abstractmethod
    def snapshot(self, address: Address, tables: Sequence[SourceTable], registry: JobRegistry) -> Snapshot:
        """Open a view of these tables for planning splits, which readers can join where the database has such. Sources
        of one job share it through ``registry``."""

    @abstractmethod
    def read(
        self, address: Address, table: SourceTable, split: Split, start: Position | None, *, tolerant: bool = False
    ) -> Iterator[Batch | Rejected]:
        """Read one split in order, bounded in memory. ``tolerant``: a row with a value of another type than its
        column's is yielded as Rejected, if the database returns rows one by one; else its table is refused."""

    @abstractmethod
    def sink(self, request: SinkRequest) -> TableSink:
        """Make the sink of one upstream table; opens nothing."""

    def is_one_of(self, column: str, values: Sequence[str]) -> str:
        """SQL condition that finds all rows with one of these values, and perhaps a few others; empty: there is none.
        The values are integers or texts of the column, as text."""
        return ""

    def blocked_by(self, address: Address) -> Sequence[str]:
        """Sentences about sessions that block this job's sessions there, as far as the server reports them."""
        return ()

    def at_work(self, address: Address, seconds: float) -> Sequence[str] | None:
        """Activities of the server for this job's sessions that have lasted ``seconds`` or longer; None: not
        reported."""
        return None

    def native_form(self, table: SourceTable) -> NativeForm | None:
        """The database's own form of the table's rows, if it has one (``api.native``)."""
        return None

    def native_reader(self, address: Address, table: SourceTable) -> NativeReader:
        """A reader of the form that ``native_form`` returned."""
        raise ValueError(f"{self.name} has no native form, and so no native reader")

    def physical_splits(self, table: SourceTable, parts: int, generation: str) -> list[Split] | None:
        """Splits by place on disk, if the database supports it and it is faster than key ranges; None: use keys."""
        return None


def worker_modules(dialect: str) -> tuple[str, ...]:
    """The modules of a dialect that workers import in advance."""
    return MODULES[dialect], *_ARROW_MODULES.get(dialect, ())


def dialect_of(address: Address) -> SourceDialect:
    """The dialect of an address. ImportError where its client library is missing."""
    module = importlib.import_module(MODULES[address.dialect])
    return cast("SourceDialect", module.DIALECT)
