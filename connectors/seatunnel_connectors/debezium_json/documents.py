"""Makes documents of changes: rows with a topic, a key and a value, as Debezium gives them to Kafka Connect.

Rules. (1) Both rows of an update are one document, and an update whose first row the log lacks has ``before`` = null.
An update of a key is a delete and an insert. (2) Documents do not depend on when or how often rows are read: ``ts_ms``
is the time of the commit, and null for a copied row. (3) A value that the log lacks (unchanged TOAST) is the
placeholder.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seatunnel_connectors.debezium_json.changes import RowChanges
from seatunnel_connectors.debezium_json.fields import Form, form_of
from seatunnel_connectors.debezium_json.schemas import beginning, envelope_schema, key_schema
from seatunnel_connectors.debezium_json.settings import DebeziumJsonOptions
from seatunnel_connectors.debezium_json.source_block import EVENT_TIME, SourceBlock, copied, source_fields
from seatunnel_py.api import (
    Batch,
    Column,
    ColumnLineage,
    ColumnUse,
    DataType,
    FatalError,
    Kind,
    LineageKind,
    Rejected,
    TablePath,
    TableSchema,
    Transform,
)

if TYPE_CHECKING:
    import pyarrow as pa

TEXT = DataType(Kind.STRING)
COLUMNS = (Column("topic", TEXT, nullable=False), Column("key", TEXT), Column("value", TEXT, nullable=False))


@dataclass(frozen=True, slots=True)
class DebeziumDocuments(Transform):
    """The documents of one table. ``before_keys`` and ``before_values``: the text before each, with its schema; empty
    without one."""

    table: TableSchema
    topic: str
    forms: tuple[Form, ...]
    source: SourceBlock
    placeholder: str
    before_keys: str
    before_values: str
    result: TableSchema

    @staticmethod
    def made(table: TableSchema, options: DebeziumJsonOptions) -> DebeziumDocuments:
        """Raises ValueError for a column that documents cannot hold."""
        topic, forms = topic_of(table.path, options), tuple(form_of(column, options) for column in table.columns)
        source = SourceBlock(options.database, source_fields(options.database, options.server, table.path))
        return DebeziumDocuments(
            table, topic, forms, source, options.placeholder,
            beginning(key_schema(topic, table, forms)) if options.key_schema else "",
            beginning(envelope_schema(topic, table, forms, source.schema)) if options.value_schema else "",
            TableSchema(table.path, COLUMNS),
        )  # fmt: skip

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        key = tuple(ColumnUse(name, LineageKind.TRANSFORMATION) for name in self.table.key)
        every = tuple(ColumnUse(name, LineageKind.TRANSFORMATION) for name in self.table.names)
        return ColumnLineage({"topic": (), "key": key, "value": every})

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        import pyarrow as pa

        data = self._converted(batch)
        changes = RowChanges.of(batch)
        values = self._values(batch, data, changes)
        keys = self._keys(data)
        columns = [pa.repeat(pa.scalar(self.topic), batch.rows), keys, values]
        found = pa.RecordBatch.from_arrays(columns, schema=self.result.arrow())
        kept = pa.array(changes.kept)
        yield Batch(
            batch.table, found.filter(kept), batch.end, batch.start, schema_version=batch.schema_version,
            metadata={name: one.filter(kept) for name, one in batch.metadata.items()},
        )  # fmt: skip

    # ------------------------------------------------------------ documents

    def _converted(self, batch: Batch) -> pa.RecordBatch:
        """The columns in the form of documents."""
        import pyarrow as pa

        columns = []
        for column, form in zip(self.table.columns, self.forms, strict=True):
            values = form.convert(batch.data.column(column.name))
            if batch.absent is not None:
                values = self._with_placeholder(column, form, values, batch.absent.column(column.name))
            columns.append(values)
        return pa.RecordBatch.from_arrays(columns, names=list(self.table.names))

    def _with_placeholder(self, column: Column, form: Form, values: pa.Array, absent: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not pc.any(absent).as_py():
            return values
        if form.dtype.kind not in (Kind.STRING, Kind.BYTES):
            path = self.table.path
            raise FatalError(
                f"table {path}: an update leaves a large value of column {column.name!r} unchanged, which the log "
                f"lacks, and a document has no placeholder for the type {column.dtype}",
                f"ALTER TABLE {path.schema}.{path.table} REPLICA IDENTITY FULL",
            )
        return pc.if_else(absent, pa.scalar(self.placeholder, pa.string()).cast(values.type), values)

    def _keys(self, data: pa.RecordBatch) -> pa.Array:
        import pyarrow as pa

        if not self.table.key:
            return pa.nulls(data.num_rows, pa.string())
        return _after(self.before_keys, self._json(data, self.table.key))

    def _values(self, batch: Batch, data: pa.RecordBatch, changes: RowChanges) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        rows = self._json(data, self.table.names)
        before = pc.if_else(pa.array(changes.went), rows, "null")
        paired = pa.array(changes.paired)
        if changes.paired.any():
            earlier = pa.concat_arrays([pa.array(["null"]), rows.slice(0, len(rows) - 1)])
            before = pc.if_else(paired, earlier, before)
        after = pc.if_else(pa.array(changes.went), "null", rows)
        times = batch.metadata.get(EVENT_TIME)
        times = pa.nulls(batch.rows, pa.int64()) if times is None else times
        stamps = pc.fill_null(times.cast(pa.string()), "null")
        texts = pc.binary_join_element_wise(
            '{"before":', before, ',"after":', after, ',"source":', self.source.documents(batch), ',"op":"',
            pa.array(changes.operations(copied(batch))), '","ts_ms":', stamps, ',"transaction":null}', "",
        )  # fmt: skip
        return _after(self.before_values, texts)

    def _json(self, data: pa.RecordBatch, names: Iterable[str]) -> pa.Array:
        from seatunnel_py.formats.messages.encode import json_messages

        forms = dict(zip(self.table.names, self.forms, strict=True))
        return json_messages([Column(name, forms[name].dtype) for name in names], data)


def topic_of(table: TablePath, options: DebeziumJsonOptions) -> str:
    """The server's name and that of the table: with its database in MySQL, with its schema in PostgreSQL."""
    place = table.schema if options.database == "postgresql" else table.database
    return ".".join(filter(None, (options.server, place, table.table)))


def _after(beginning: str, contents: pa.Array) -> pa.Array:
    """Documents with their schema; without one the content is all."""
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(beginning, contents, "}", "") if beginning else contents
