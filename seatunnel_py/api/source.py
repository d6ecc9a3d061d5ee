"""Sources: a frozen description, an enumerator on the driver, readers on the workers.

A *Source* is what the job file describes: picklable, with nothing open. The driver asks it for its tables
and for an *Enumerator* that finds the splits; a worker asks it for a *Reader* that reads one split.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from seatunnel_py.api.batch import Element, Plain, Position
from seatunnel_py.api.schema import TablePath, TableSchema


@dataclass(frozen=True, slots=True)
class SourceTable:
    """A table as the source found it. ``rows`` and ``bytes`` are estimates (None: unknown) for packing and for
    people; ``hints`` is plain data that the source wants to see again in its enumerator and readers. ``notes`` tell
    people what of the table does not come along though nothing is refused: `plan` and the receipt show them."""

    schema: TableSchema
    rows: int | None = None
    bytes: int | None = None
    hints: Mapping[str, Plain] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TableFailure:
    """A table that the source was asked for and found, and that it cannot describe or read. It is isolated with this
    cause, and the other tables run. ``remedy`` says what helps against this cause and no other."""

    path: TablePath
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class TableLeftOut:
    """A table that a pattern of the source matches and that is not read, on purpose. ``why`` is the same text for all
    that are left out for one reason: `plan`, the receipt and `discover` count them by it."""

    path: TablePath
    why: str


@dataclass(frozen=True, slots=True)
class Split:
    """A part of one table that one reader reads in order. ``id`` is unique within the source step and stays the
    same over restarts. ``payload`` is plain, versioned data that only the source understands. ``generation`` names what
    the split is valid for (an exported snapshot): what is not yet read of it is worth nothing once that is gone."""

    id: str
    table: TablePath
    payload: Mapping[str, Plain] = field(default_factory=dict)
    rows: int | None = None
    bytes: int | None = None
    version: int = 1
    generation: str = ""


@dataclass(frozen=True, slots=True)
class ReadContext:
    """The wishes of the engine for one reading of a split.

    ``until``: the rows were read before, up to this position, and an element has to end there again, whatever the
    source holds by now. A reader that ignores it is stopped there by the number of rows, if its rows come in the same
    order again (``Determinism.DETERMINATE``). ``tolerant``: bad rows are set aside; yield what cannot be decoded as
    Rejected if reading can go on after it, else raise BadRowsError. ``with_metadata``: a step may look at the metadata
    of batches; otherwise batches may come without."""

    until: Position | None = None
    tolerant: bool = False
    with_metadata: bool = True


PLAIN_READ = ReadContext()
"""No wishes."""


class Reader(ABC):
    """Reads one split at a time, in a worker. Made, used and closed inside one unit: keep nothing open longer;
    connections come from ``borrow``.

    ``until``, ``tolerant`` and ``with_metadata`` are deprecated: they are set, for one release, on readers whose
    ``read`` takes no context."""

    until: Position | None = None
    tolerant: bool = False
    with_metadata: bool = True

    @abstractmethod
    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        """Yield the split's elements after ``start`` (None: from its beginning), in order, bounded in memory.

        The engine stops taking elements when a budget is spent and goes on later, in another process, at the ``end``
        of the last batch that it took; an iterator that ends has read the split to its end. Raise RetriableError or
        FatalError for the outside world's failures, naming table and split. The classic mistake: a batch whose ``end``
        lies before rows that an earlier batch held.
        """

    def close(self) -> None:
        """Give back what was borrowed. Not guaranteed to be called: a worker may be killed."""
        return


def read_with(reader: Reader, split: Split, start: Position | None, context: ReadContext) -> Iterator[Element]:
    """Call ``read`` with its context. A reader of the release before takes none and finds it in its attributes."""
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
    """Finds the splits, on the driver. Dynamic: that of an unbounded source may find more at any time. It is asked one
    thing at a time, from threads that change. ``interval``: seconds after which it is asked again for more; None:
    never."""

    interval: float | None = None

    @abstractmethod
    def discover(self) -> Iterable[Split]:
        """Splits that were not returned before. A bounded source returns all of them at the first call. What is
        returned is durable before anybody reads of it, together with ``snapshot()``; an id that is known already is
        ignored."""

    def renew(self, splits: Sequence[Split]) -> Sequence[Split]:
        """What these splits are valid for is gone (their ``generation``): the same splits, under what is valid now.
        Asked only where people accept that splits are read as of different moments."""
        return splits

    def on_reader_event(self, split: Split, event: Plain) -> Iterable[Split]:
        """A reader reported something (``ReaderEvent``: a split to be divided, a log that ended); returns new splits.
        The reader's unit counts once this has returned, and the splits and ``snapshot()`` are durable; what it raises
        fails the unit. It is said again where a unit is repeated."""
        return ()

    def on_checkpoint_complete(self, positions: Mapping[str, Position]) -> None:
        """A checkpoint is durable: the outside may forget what lies before these positions, by split id. They are those
        of the oldest checkpoint that can be gone back to (I40). A failure is told, and nothing follows from it: with
        the next checkpoint this is called again."""
        return

    def snapshot(self) -> Plain:
        """State to be given to ``Source.enumerator`` after a restart. Asked after each ``discover`` that found
        something."""
        return None

    def close(self) -> None:
        """The pipeline is done or is being stopped."""
        return


class FixedSplits(Enumerator):
    """All splits at the first call, and no more: the enumerator of a bounded source. ``splits`` may be a function,
    which is called once, when the splits are asked for."""

    def __init__(self, splits: Iterable[Split] | Callable[[], Iterable[Split]]) -> None:
        self._splits: Iterable[Split] | Callable[[], Iterable[Split]] = splits

    def discover(self) -> Iterable[Split]:
        splits, self._splits = self._splits, ()
        return splits() if callable(splits) else splits


class Source(ABC):
    """The description. Must be picklable and must open nothing when it is made."""

    @abstractmethod
    def tables(self) -> Sequence[SourceTable | TableFailure | TableLeftOut]:
        """Every table that this source will read, schemas included. Called once, on the driver, at plan time; may
        connect. Look all tables up together: with hundreds of them a round trip each is too slow.

        Return a TableFailure for each table that exists and cannot be described (no privilege, a type that cannot be
        read, a lock that did not go). Raise where the options are wrong (a table that does not exist, an option that
        names no column) or nothing at all can be looked up: that refuses the whole job."""

    def splits(self, tables: Sequence[SourceTable]) -> Iterable[Split]:
        """The splits of some of the tables, for a bounded source that knows all of them at once: by default each table
        is one."""
        return [Split(str(one.schema.path), one.schema.path, rows=one.rows, bytes=one.bytes) for one in tables]

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        """An enumerator over some of the tables; ``state`` is an earlier ``snapshot()``, or None. By default it gives
        ``splits`` once. A source that finds more while it runs has one of its own."""
        return FixedSplits(lambda: self.splits(tables))

    @abstractmethod
    def reader(self, table: SourceTable) -> Reader:
        """A reader for splits of that table, in a worker."""

    def blocked_by(self) -> Sequence[str]:
        """Who keeps sessions of this source waiting, for people: a sentence for each. Asked from a thread of its own,
        while the source waits; must give up within seconds."""
        return ()

    def at_work(self, seconds: float) -> Sequence[str] | None:
        """Sessions for which the server has been at one statement, or which have waited for a lock, for so long: a
        sentence for each. None: nobody can tell. Where nothing moves and the server says that it does nothing, the
        connection is taken for lost. Asked as ``blocked_by`` is."""
        return None
