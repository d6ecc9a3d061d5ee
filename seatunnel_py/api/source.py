"""Sources: a frozen description, an enumerator on the driver, readers on the workers.

A *Source* is picklable and holds nothing open. The driver asks it for its tables and for an *Enumerator* that finds
the splits; a worker asks it for a *Reader* that reads one split.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from seatunnel_py.api.batch import Element, Plain, Position
from seatunnel_py.api.names import Dataset
from seatunnel_py.api.schema import TablePath, TableSchema


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table of the source. ``rows`` and ``bytes`` are estimates (None: unknown) for packs and for display; ``hints``
    is plain data for the source's own enumerator and readers. ``notes``: parts of the table that are not copied, though
    nothing is refused; `plan` and the receipt show them. ``log_hints``: plain data for readers of a log, of the same
    version as the schema: checkpoints hold both. ``projection``: the schema that later steps get the rows of a log in,
    by names of columns, where changes of the source's schema do not reach the targets; None: ``schema``."""

    schema: TableSchema
    rows: int | None = None
    bytes: int | None = None
    hints: Mapping[str, Plain] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    log_hints: Mapping[str, Plain] = field(default_factory=dict)
    projection: TableSchema | None = None

    @property
    def output(self) -> TableSchema:
        """The schema of the rows that later steps get."""
        return self.projection or self.schema


@dataclass(frozen=True, slots=True)
class TableFailure:
    """A requested table that exists, but cannot be described or read. The table is isolated with this cause, and the
    other tables run. ``remedy`` is specific to the cause."""

    path: TablePath
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class TableLeftOut:
    """A table that matches a pattern of the source, but is not read on purpose. ``why`` is the same text for all tables
    with the same reason: `plan`, the receipt and `discover` group them by it."""

    path: TablePath
    why: str


@dataclass(frozen=True, slots=True)
class Split:
    """A part of one table that one reader reads in order. ``id`` is unique within the source step and the same after
    a restart. ``payload`` is plain, versioned data that only the source interprets. ``generation`` names the snapshot
    that the split belongs to: without that snapshot the rest of the split cannot be read."""

    id: str
    table: TablePath
    payload: Mapping[str, Plain] = field(default_factory=dict)
    rows: int | None = None
    bytes: int | None = None
    version: int = 1
    generation: str = ""


@dataclass(frozen=True, slots=True)
class RowSelection:
    """Some rows of a table: those that fulfil ``condition``, in the source's own language (empty: all), and have one of
    ``values`` in ``column`` (empty: any). The values are integers or texts of the column, as text."""

    condition: str = ""
    column: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ReadContext:
    """Parameters of the engine for one reading of a split.

    ``until``: an earlier attempt read up to this position, and an element must end there again, even if the source has
    more rows by now. If a reader ignores it, the engine stops by the number of rows, provided that the rows come in the
    same order again (``Determinism.DETERMINATE``). ``tolerant``: yield records that cannot be decoded as Rejected if
    reading can continue after them, else raise BadRowsError. ``with_metadata``: a step may use the metadata of batches;
    otherwise it may be missing. ``metadata``: the names that later steps declare (``TransformCapabilities.metadata``).
    ``before_images``: a later step uses the rows before updates, too; otherwise they may be missing."""

    until: Position | None = None
    tolerant: bool = False
    with_metadata: bool = True
    before_images: bool = False
    metadata: frozenset[str] = frozenset()


PLAIN_READ = ReadContext()
"""Parameters of a first reading without bad rows and metadata."""


class Reader(ABC):
    """Reads one split at a time, in a worker. Created, used and closed inside one unit: keep nothing open longer, and
    take connections from ``borrow``.

    The attributes ``until``, ``tolerant`` and ``with_metadata`` are deprecated: for one release they are set on readers
    whose ``read`` takes no context."""

    until: Position | None = None
    tolerant: bool = False
    with_metadata: bool = True

    @abstractmethod
    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        """Yield the split's elements after ``start`` (None: from its beginning), in order, with bounded memory.

        The engine stops when the unit's budget is used up. Reading continues later, in another process, at the ``end``
        of the last batch that was taken. If the iterator ends, the split has been read to its end. Raise RetriableError
        or FatalError for failures of the external system, naming table and split. The classic mistake: a batch whose
        ``end`` lies before rows of an earlier batch.
        """

    def confirm(self, position: Position) -> None:
        """Release everything of the external system before this position of the split. The position belongs to the
        oldest checkpoint that a restore may use (I40). Called before a unit that continues an open reader; a position
        may be missed or come again."""
        return

    def close(self) -> None:
        """Return borrowed connections to the pool. A worker that is killed does not call this method."""
        return


def read_with(reader: Reader, split: Split, start: Position | None, context: ReadContext) -> Iterator[Element]:
    """Call ``read`` with its context. A reader for the previous release takes none; its attributes are set instead."""
    if _takes_context(reader):
        return reader.read(split, start, context)
    reader.until, reader.tolerant, reader.with_metadata = context.until, context.tolerant, context.with_metadata
    return reader.read(split, start)


def _takes_context(reader: Reader) -> bool:
    try:
        inspect.signature(reader.read).bind("split", "start", "context")
    except TypeError:
        return False
    return True


class Enumerator(ABC):
    """Finds the splits, on the driver. One method is called at a time, from different threads. ``interval``: seconds
    between two calls of ``discover``, for a source that gets more splits while it runs; None: one call."""

    interval: float | None = None

    @abstractmethod
    def discover(self) -> Iterable[Split]:
        """Return splits that were not returned before; a bounded source returns all of them at the first call. Splits
        are durable, together with ``snapshot()``, before they are read. A split with a known id is ignored."""

    def renew(self, splits: Sequence[Split]) -> Sequence[Split]:
        """Return the same splits under a new ``generation``, because theirs is gone. Called only if the job allows
        splits that are read as of different moments."""
        return splits

    def on_reader_event(self, split: Split, event: Plain) -> Iterable[Split]:
        """Handle a ``ReaderEvent`` (a split to be divided, a log that has ended), and return new splits.
        The reader's unit counts only after this call, when the splits and ``snapshot()`` are durable; an exception
        fails the unit. A repeated unit repeats the call."""
        return ()

    def on_checkpoint_complete(self, positions: Mapping[str, Position]) -> None:
        """Release data of the external system before these positions, which are given by split id. The positions belong
        to the oldest checkpoint that a restore may use (I40). An exception is only logged: the next checkpoint calls
        again."""
        return

    def snapshot(self) -> Plain:
        """Return the state to pass to ``Source.enumerator`` after a restart. Called after each ``discover`` that found
        splits."""
        return None

    def close(self) -> None:
        """Close connections: the pipeline is done or stopped."""
        return


class FixedSplits(Enumerator):
    """Enumerator of a bounded source: returns all splits at the first call. ``splits`` may be a function, which is
    called once."""

    def __init__(self, splits: Iterable[Split] | Callable[[], Iterable[Split]]) -> None:
        self._splits: Iterable[Split] | Callable[[], Iterable[Split]] = splits

    def discover(self) -> Iterable[Split]:
        splits, self._splits = self._splits, ()
        return splits() if callable(splits) else splits


class Source(ABC):
    """Description of a source. Must be picklable; its constructor must not connect."""

    @abstractmethod
    def tables(self) -> Sequence[SourceTable | TableFailure | TableLeftOut]:
        """Return every table that this source will read, with its schema. Called once, on the driver, at plan time; may
        connect. Describe all tables in a few queries: one round trip for each of hundreds of tables is too slow.

        Return a TableFailure for each table that exists, but cannot be described (missing privilege, unsupported type,
        lock timeout). Raise if the options are wrong (a table or column that does not exist) or no table can be
        described: that refuses the whole job."""

    def splits(self, tables: Sequence[SourceTable]) -> Iterable[Split]:
        """Return the splits of these tables, for a bounded source that knows all of them at once; by default one per
        table."""
        return [Split(str(one.schema.path), one.schema.path, rows=one.rows, bytes=one.bytes) for one in tables]

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        """Create an enumerator of these tables; ``state`` is an earlier ``snapshot()``, or None. The default returns
        ``splits`` once. A source that gets more splits while it runs must override this method."""
        return FixedSplits(lambda: self.splits(tables))

    @abstractmethod
    def reader(self, table: SourceTable) -> Reader:
        """Create a reader for splits of that table, in a worker."""

    def datasets(self, table: SourceTable) -> Sequence[Dataset]:
        """Return the data outside of the job that the rows of this table come from, for lineage events: usually one,
        several if they are joined. Empty: it has no name there. Must not connect."""
        return ()

    def current_rows(self) -> Source | None:
        """Return a bounded source of the rows that the tables hold now, for comparisons with the target. The returned
        source must take the tables of this source, and change nothing anywhere: no slot, no mark. None: there is
        none."""
        return self

    def filtered(self, table: SourceTable, rows: RowSelection) -> SourceTable | None:
        """Return the table for readers that read these rows of it only, at least. None: the source cannot choose rows.
        Raise ValueError for a condition that is none."""
        return None

    def blocked_by(self) -> Sequence[str]:
        """Return a sentence for each session of others that this source waits for. Called from a separate thread while
        the source waits; must return within seconds."""
        return ()

    def at_work(self, seconds: float) -> Sequence[str] | None:
        """Return a sentence for each session of this source that has executed one statement, or waited for a lock, for
        so many seconds. None: unknown. If the job makes no progress and the list is empty, the connection counts as
        lost. Called like ``blocked_by``."""
        return None
