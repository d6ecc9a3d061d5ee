"""The port between the generic part and a database that is read. A dialect is looked up by name and imported on use.

``sink`` leads to the other side, whose port is ``statements.target_dialect.TargetDialect``.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, cast

from seatunnel_connectors.jdbc.options import JdbcSinkOptions, JdbcSourceOptions
from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.jdbc.source.splits import Probe
from seatunnel_connectors.jdbc.source.table_request import TableRequest
from seatunnel_connectors.jdbc.target.job_targets import JobTargets
from seatunnel_connectors.jdbc.url import Address
from seatunnel_py.api import (
    Batch,
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
)

MODULES = {
    "postgres": "seatunnel_connectors.jdbc.postgres.dialect",
    "sqlite": "seatunnel_connectors.jdbc.sqlite.dialect",
    "mysql": "seatunnel_connectors.jdbc.mysql.dialect",
    "sqlalchemy": "seatunnel_connectors.jdbc.generic.dialect",
}

PLANNED_ANEW = (
    "if the table was changed while the job ran, change it back and go on, or run it again with --fresh, planned anew"
)
"""What helps where a table is not any more what it was when the job was planned."""


@dataclass(frozen=True, slots=True)
class SinkRequest:
    """Everything that a dialect needs to make a sink for one upstream table. ``targets``: of the whole job."""

    address: Address
    options: JdbcSinkOptions
    table: TableSchema
    step: str
    job_id: str
    mode: JobMode
    targets: JobTargets = field(default_factory=JobTargets, compare=False, repr=False)

    @property
    def keeps_no_record(self) -> bool:
        """A `query` of people's own, of whose units nothing but its rows is left in the target."""
        return bool(self.options.query) and not self.options.is_exactly_once


class TableSink(Sink):
    """A sink whose target is a table of a database."""

    @abstractmethod
    def check_names(self) -> None:
        """ValueError where the target cannot have the name that it is given; nothing is asked for that."""


class Snapshot(ABC):
    """A consistent view that several readers share for as long as it is kept; also answers questions about it."""

    generation: str = ""

    @abstractmethod
    def probe(self, table: SourceTable, column: str) -> Probe:
        """Something that knows the key column of one table."""

    @abstractmethod
    def count(self, table: SourceTable) -> int:
        """Rows of the table, counted."""

    @abstractmethod
    def close(self) -> None:
        """Nobody reads under it any longer."""


class SourceDialect(ABC):
    """One kind of database. Stateless: connections live in the worker's pool."""

    name: ClassVar[str]

    @abstractmethod
    def answer(self, address: Address, *, writing: bool) -> Mapping[str, str]:
        """Who answers there, for people: server with its version, user, and what the user may do; ``writing`` as a sink
        would ask."""

    @abstractmethod
    def describe(self, address: Address, requests: Sequence[TableRequest], options: JdbcSourceOptions) -> list[Found]:
        """Every table that the requests name, looked up in as few questions as possible; why others cannot be read.
        Raises one FatalError that names everything that is wrong with the options. Hints follow ``source.Hints``."""

    @abstractmethod
    def snapshot(self, address: Address, tables: Sequence[SourceTable], registry: JobRegistry) -> Snapshot:
        """Open a view of these tables for planning splits, which readers can join where the database has such. Sources
        of one job share it through ``registry``."""

    @abstractmethod
    def read(
        self, address: Address, table: SourceTable, split: Split, start: Position | None, *, tolerant: bool = False
    ) -> Iterator[Batch | Rejected]:
        """Read one split in order, bounded in memory. ``tolerant``: a row with a value that is not of its column's type
        is yielded as Rejected, where the database hands out rows one by one; else its table is refused."""

    @abstractmethod
    def sink(self, request: SinkRequest) -> TableSink:
        """The sink of one upstream table; opens nothing."""

    def blocked_by(self, address: Address) -> Sequence[str]:
        """Who keeps our sessions there waiting, as far as the server says: a sentence for each."""
        return ()

    def at_work(self, address: Address, seconds: float) -> Sequence[str] | None:
        """What the server has been at for so long on behalf of our sessions there; None: it does not say."""
        return None

    def native_form(self, table: SourceTable) -> NativeForm | None:
        """The database's own form of the table's rows, where it has one (``api.native``)."""
        return None

    def native_reader(self, address: Address, table: SourceTable) -> NativeReader:
        """A reader of the form that ``native_form`` named."""
        raise ValueError(f"{self.name} has no native form, so nobody may ask for a reader of it")

    def physical_splits(self, table: SourceTable, parts: int, generation: str) -> list[Split] | None:
        """Splits by place on disk, where that beats key ranges and the database can; None: use keys."""
        return None


def dialect_of(address: Address) -> SourceDialect:
    """The dialect of an address. ImportError where its client library is missing."""
    module = importlib.import_module(MODULES[address.dialect])
    return cast("SourceDialect", module.DIALECT)
