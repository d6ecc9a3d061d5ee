"""Defines a chain: the steps of one vertex that a worker runs as one function, ``head -> transforms -> tail``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seatunnel_py.api.batch import Plain
from seatunnel_py.api.capabilities import Cardinality
from seatunnel_py.api.log_source import LogSource
from seatunnel_py.api.schema import TablePath, TableSchema
from seatunnel_py.api.sink import Sink
from seatunnel_py.api.source import PLAIN_READ, ReadContext, Reader, Source, SourceTable
from seatunnel_py.api.transform import Transform
from seatunnel_py.work.bad_rows.limits import ErrorLimits


@dataclass(frozen=True, slots=True)
class ChainSource:
    """The head of a chain that reads splits; ``resident``: its readers stay open between units; ``ordered``: every read
    returns the same rows in the same order. ``log_tables``: all tables of a log; ``table`` is their first.
    ``context``: what later steps need of the rows."""

    step: str
    source: Source
    table: SourceTable
    resident: bool = False
    ordered: bool = True
    log_tables: tuple[SourceTable, ...] = ()
    context: ReadContext = PLAIN_READ

    @property
    def tables(self) -> tuple[SourceTable, ...]:
        """All tables that it reads."""
        return self.log_tables or (self.table,)

    def reader(self) -> Reader:
        """Make a reader of its splits."""
        if isinstance(self.source, LogSource):
            return self.source.log_reader(self.tables)
        return self.source.reader(self.table)


@dataclass(frozen=True, slots=True)
class ChainChannel:
    """The head of a chain that reads slices from a channel, or the tail of one that writes them."""

    channel: str
    location: str


@dataclass(frozen=True, slots=True)
class ChainTransform:
    """A transform bound to the table ``table``; batches of other tables bypass it. ``cardinality`` defines the balance
    of its input and output rows (design, section 6)."""

    step: str
    table: TablePath
    transform: Transform
    cardinality: Cardinality = Cardinality.ONE_TO_ONE


@dataclass(frozen=True, slots=True)
class ChainSql:
    """A narrow query between two stages of a chain; only an engine with Catalyst can run it. ``query`` names the
    rows of ``table`` as ``name``."""

    step: str
    table: TableSchema
    name: str
    query: str
    output: TableSchema


@dataclass(frozen=True, slots=True)
class ChainQuery:
    """The head of a vertex that is a wide query. ``inputs`` are (channel id, name in the query, schema)."""

    step: str
    query: str
    inputs: tuple[tuple[str, str, TableSchema], ...]
    output: TableSchema


@dataclass(frozen=True, slots=True)
class ChainSink:
    """A sink bound to the upstream table ``table``. ``setup`` is the result of its ``plan_setup``."""

    step: str
    table: TablePath
    sink: Sink
    setup: Mapping[str, Plain] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChainRetry:
    """Rejected rows of the chain's one transform go along ``channel``, back to it, at most so many ``times``."""

    channel: str
    times: int


@dataclass(frozen=True, slots=True)
class Chain:
    """Everything that a worker needs for the units of one vertex; picklable, shipped once per pack. Without ``errors``
    no row may be bad. ``plugins`` are the names of the steps' plugins, for messages."""

    vertex: str
    job_id: str
    lineage: str
    incarnation: int
    head: ChainSource | ChainChannel | ChainQuery
    transforms: tuple[ChainTransform | ChainSql, ...] = ()
    sinks: tuple[ChainSink, ...] = ()
    output: ChainChannel | None = None
    staging: str = ""
    errors: ErrorLimits | None = None
    retry: ChainRetry | None = None
    plugins: Mapping[str, str] = field(default_factory=dict)
