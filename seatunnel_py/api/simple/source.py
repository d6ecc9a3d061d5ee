"""A source in one class."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from seatunnel_py.api.batch import (
    Batch,
    Element,
    Heartbeat,
    Position,
    ReaderEvent,
    Rejected,
    SchemaChange,
    Skipped,
    TransactionEnd,
)
from seatunnel_py.api.capabilities import Determinism, SourceCapabilities
from seatunnel_py.api.factory import SourceFactory, StepContext
from seatunnel_py.api.options import SourceOptions
from seatunnel_py.api.schema import Column, PrimaryKey, TablePath, TableSchema
from seatunnel_py.api.simple.declaring import bound, declare_options
from seatunnel_py.api.simple.rows import batch_of_rows
from seatunnel_py.api.source import (
    PLAIN_READ,
    ReadContext,
    Reader,
    Source,
    SourceTable,
    Split,
    TableFailure,
    TableLeftOut,
)
from seatunnel_py.api.types import DataType, parse_type
from seatunnel_py.errors import FatalError

ROWS_A_BATCH = 1000

_ELEMENTS = (Batch, Rejected, Skipped, SchemaChange, Heartbeat, TransactionEnd, ReaderEvent)

FoundTable = SourceTable | TableSchema | TableFailure | TableLeftOut


def simple_table(name: str, columns: Mapping[str, str | DataType], key: Sequence[str] = ()) -> TableSchema:
    """Create a schema from column names and types: ``simple_table("users", {"id": "bigint"}, key=["id"])``."""
    types = {one: parse_type(kind) if isinstance(kind, str) else kind for one, kind in columns.items()}
    found = tuple(Column(one, dtype, nullable=one not in key) for one, dtype in types.items())
    return TableSchema(TablePath.parse(name), found, primary_key=PrimaryKey(tuple(key)) if key else None)


class SimpleSource(SourceFactory[Any]):
    """A bounded source in one class, which is its own factory::

        class Countdown(SimpleSource):
            name = "Countdown"
            columns = {"n": "bigint"}
            start: int = option(ge=1, doc="the first number")

            def read(self, split, start):
                return ({"n": n} for n in range(self.start, 0, -1))

    Annotated attributes are options; ``tables``, ``splits`` and ``read`` see their values. Alternatively set
    ``options`` to a model. ``columns`` declares one table with the plugin's name. Store nothing in ``self``: each
    method runs on a copy, in another process.

    One unit reads a whole split, and reads it again from the beginning if it fails, unless ``read`` yields a
    ``Batch`` with an ``end``. ``determinism`` is INDETERMINATE, so paths from this source are at-least-once; declare
    more if a second reading gives the same rows."""

    columns: ClassVar[Mapping[str, str | DataType]] = {}
    determinism: ClassVar[Determinism] = Determinism.INDETERMINATE
    plugin_output: str | None

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        declare_options(cls, SimpleSource, SourceOptions)

    def tables(self) -> Sequence[FoundTable]:
        """Return the tables, on the driver; by default one, of ``columns``. Unlike ``Source.tables`` it may return a
        ``TableSchema``."""
        if not self.columns:
            raise ValueError(f"{self.name} declares no table: its class needs `columns` or `tables`")
        return [simple_table(self.name, self.columns)]

    def splits(self, tables: Sequence[SourceTable]) -> Iterable[Split]:
        """Return the splits of these tables, on the driver; by default one per table."""
        return [Split(str(one.schema.path), one.schema.path, rows=one.rows, bytes=one.bytes) for one in tables]

    @abstractmethod
    def read(self, split: Split, start: Position | None) -> Iterable[Any]:
        """Yield the rows of a split, in a worker: dicts by column name, batches or tables of pyarrow, or any
        ``Element``. ``start`` is None, unless an earlier unit stopped at the ``end`` of a ``Batch``."""

    def capabilities(self, options: Any, context: StepContext) -> SourceCapabilities:
        return SourceCapabilities(determinism=self.determinism)

    def create(self, options: Any, context: StepContext) -> Source:
        return _SimpleSourceAdapter(bound(self, options))


@dataclass(frozen=True, slots=True)
class _SimpleSourceAdapter(Source):
    plugin: SimpleSource

    def tables(self) -> Sequence[SourceTable | TableFailure | TableLeftOut]:
        return [SourceTable(one) if isinstance(one, TableSchema) else one for one in self.plugin.tables()]

    def splits(self, tables: Sequence[SourceTable]) -> Iterable[Split]:
        return self.plugin.splits(tables)

    def reader(self, table: SourceTable) -> Reader:
        return _Reader(self.plugin, table.schema)


class _Reader(Reader):
    def __init__(self, plugin: SimpleSource, table: TableSchema) -> None:
        self._plugin, self._table = plugin, table

    def read(self, split: Split, start: Position | None, context: ReadContext = PLAIN_READ) -> Iterator[Element]:
        rows: list[Mapping[str, Any]] = []
        for item in self._plugin.read(split, start):
            if isinstance(item, Mapping):
                rows.append(item)
                if len(rows) < ROWS_A_BATCH:
                    continue
            if rows:
                yield self._batch(rows)
                rows = []
            if not isinstance(item, Mapping):
                yield from self._elements(item)
        if rows:
            yield self._batch(rows)

    def _batch(self, rows: list[Mapping[str, Any]]) -> Batch:
        return Batch(self._table.path, batch_of_rows(rows, self._table))

    def _elements(self, item: object) -> Iterator[Element]:
        if isinstance(item, _ELEMENTS):
            yield item
            return
        import pyarrow as pa

        if isinstance(item, pa.RecordBatch):
            yield Batch(self._table.path, item)
        elif isinstance(item, pa.Table):
            yield from (Batch(self._table.path, one) for one in item.to_batches())
        else:
            raise FatalError(
                f"read of the plugin {self._plugin.name} yields a {type(item).__name__}",
                "yield dicts, record batches or tables of pyarrow, or Batches",
            )
