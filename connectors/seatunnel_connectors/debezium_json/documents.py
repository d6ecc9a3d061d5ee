"""Makes documents of changes: rows with a topic, a key and a value, as Debezium gives them to Kafka Connect.

Rules. (1) Both rows of an update are one document, and an update whose first row the log lacks has ``before`` = null.
An update of a key is a delete and an insert. (2) Documents do not depend on when or how often rows are read: ``ts_ms``
is the time of the commit, and null for a copied row. (3) A value that the log lacks (unchanged TOAST) is the
placeholder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.debezium_json.changes import RowChanges
from seatunnel_connectors.debezium_json.fields import Form, form_of
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
    TableSchema,
    Transform,
)

if TYPE_CHECKING:
    import pyarrow as pa

TEXT = DataType(Kind.STRING)
COLUMNS = (Column("topic", TEXT, nullable=False), Column("key", TEXT), Column("value", TEXT, nullable=False))
_TRANSACTION = {
    "type": "struct",
    "fields": [
        {"type": "string", "optional": False, "field": "id"},
        {"type": "int64", "optional": False, "field": "total_order"},
        {"type": "int64", "optional": False, "field": "data_collection_order"},
    ],
    "optional": True,
    "field": "transaction",
}


@dataclass(frozen=True, slots=True)
class DebeziumDocuments(Transform):
    """The documents of one table."""

    table: TableSchema
    options: DebeziumJsonOptions
    forms: tuple[Form, ...]
    source: SourceBlock
    result: TableSchema

    @staticmethod
    def made(table: TableSchema, options: DebeziumJsonOptions) -> DebeziumDocuments:
        """Raises ValueError for a column that documents cannot hold."""
        forms = tuple(form_of(column, options) for column in table.columns)
        source = SourceBlock(options.database, source_fields(options.database, options.server, table.path))
        return DebeziumDocuments(table, options, forms, source, TableSchema(table.path, COLUMNS))

    @property
    def topic(self) -> str:
        """The server's name and that of the table: with its database in MySQL, with its schema in PostgreSQL."""
        path = self.table.path
        place = path.schema if self.options.database == "postgresql" else path.database
        return ".".join(filter(None, (self.options.server, place, path.table)))

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
        return pc.if_else(absent, pa.scalar(self.options.placeholder, pa.string()).cast(values.type), values)

    def _keys(self, data: pa.RecordBatch) -> pa.Array:
        import pyarrow as pa

        if not self.table.key:
            return pa.nulls(data.num_rows, pa.string())
        keys = self._json(data, self.table.key)
        return _with_schema(self._row_schema(self.table.key, "Key"), keys) if self.options.key_schema else keys

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
        return _with_schema(self._envelope(), texts) if self.options.value_schema else texts

    def _json(self, data: pa.RecordBatch, names: Iterable[str]) -> pa.Array:
        from seatunnel_py.formats.messages.encode import json_messages

        forms = dict(zip(self.table.names, self.forms, strict=True))
        return json_messages([Column(name, forms[name].dtype) for name in names], data)

    # ------------------------------------------------------------ schemas

    def _row_schema(self, names: Iterable[str], what: str) -> dict[str, Any]:
        chosen = {*names}
        fields = [
            {**form.schema, "optional": column.nullable, "field": column.name}
            for column, form in zip(self.table.columns, self.forms, strict=True)
            if column.name in chosen
        ]
        return {"type": "struct", "fields": fields, "optional": False, "name": f"{self.topic}.{what}"}

    def _envelope(self) -> dict[str, Any]:
        row = {**self._row_schema(self.table.names, "Value"), "optional": True}
        fields = [
            {**row, "field": "before"},
            {**row, "field": "after"},
            self.source.schema,
            {"type": "string", "optional": False, "field": "op"},
            {"type": "int64", "optional": True, "field": "ts_ms"},
            _TRANSACTION,
        ]
        return {"type": "struct", "fields": fields, "optional": False, "name": f"{self.topic}.Envelope"}


def _with_schema(schema: Mapping[str, Any], payloads: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    text = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return pc.binary_join_element_wise(f'{{"schema":{text},"payload":', payloads, "}", "")
