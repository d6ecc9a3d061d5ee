"""The block ``source`` of a document: the place of a change in the log, as the connector of that server names it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.copied_rows import SNAPSHOT_ROW
from seatunnel_connectors.debezium_json.settings import Database
from seatunnel_py.api import Batch, Column, DataType, Kind, TablePath

if TYPE_CHECKING:
    import pyarrow as pa

STRING, BIGINT, INT = DataType(Kind.STRING), DataType(Kind.BIGINT), DataType(Kind.INT)
EVENT_TIME = "EventTime"
_TYPES = {STRING: ("string", "string"), BIGINT: ("int64", "int64"), INT: ("int32", "int32")}


@dataclass(frozen=True, slots=True)
class SourceField:
    """A field of the source block. The value comes from ``metadata``, by name, else it is ``constant``. ``required``: a
    missing one is empty, or 0."""

    name: str
    dtype: DataType
    metadata: str = ""
    constant: str | None = None
    required: bool = True

    @property
    def column(self) -> Column:
        return Column(self.name, self.dtype, nullable=not self.required)

    @property
    def schema(self) -> dict[str, Any]:
        return {"type": _TYPES[self.dtype][0], "optional": not self.required, "field": self.name}

    def values(self, batch: Batch) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        kind = _TYPES[self.dtype][1]
        if not self.metadata:
            return pa.repeat(pa.scalar(self.constant, kind), batch.rows)
        found = batch.metadata.get(self.metadata)
        if found is None:
            found = pa.nulls(batch.rows, kind)
        found = found.cast(kind)
        return pc.fill_null(found, "" if self.dtype == STRING else 0) if self.required else found


_SNAPSHOT = Column("snapshot", STRING, nullable=False)


def source_fields(database: Database, server: str, path: TablePath) -> tuple[SourceField, ...]:
    """The fields of a table's documents, without ``snapshot``."""
    common = (
        SourceField("version", STRING, constant=version("seatunnel-py")),
        SourceField("connector", STRING, constant=database),
        SourceField("name", STRING, constant=server),
        SourceField("ts_ms", BIGINT, EVENT_TIME),
        SourceField("db", STRING, constant=path.database),
        SourceField("sequence", STRING, required=False),
    )
    if database == "postgresql":
        return (
            *common,
            SourceField("schema", STRING, constant=path.schema),
            SourceField("table", STRING, constant=path.table),
            SourceField("txId", BIGINT, "TransactionId", required=False),
            SourceField("lsn", BIGINT, "Lsn", required=False),
            SourceField("xmin", BIGINT, required=False),
        )
    return (
        *common,
        SourceField("table", STRING, constant=path.table, required=False),
        SourceField("server_id", BIGINT, "ServerId"),
        SourceField("gtid", STRING, "Gtid", required=False),
        SourceField("file", STRING, "BinlogFile"),
        SourceField("pos", BIGINT, "BinlogPos"),
        SourceField("row", INT, "BinlogRow"),
        SourceField("thread", BIGINT, required=False),
        SourceField("query", STRING, required=False),
    )


@dataclass(frozen=True, slots=True)
class SourceBlock:
    """The block of one table's documents."""

    database: Database
    fields: tuple[SourceField, ...]

    @property
    def metadata(self) -> frozenset[str]:
        """The metadata that its values come from."""
        return frozenset({SNAPSHOT_ROW, *(one.metadata for one in self.fields if one.metadata)})

    @property
    def schema(self) -> Mapping[str, Any]:
        """As Kafka Connect describes it."""
        facts = {"version": 1, "parameters": {"allowed": "true,last,false"}, "default": "false"}
        snapshot = {"type": "string", "optional": True, "name": "io.debezium.data.Enum", **facts, "field": "snapshot"}
        fields = [one.schema for one in self.fields]
        name = f"io.debezium.connector.{self.database}.Source"
        at = self._snapshot_at
        return {
            "type": "struct", "fields": [*fields[:at], snapshot, *fields[at:]], "optional": False, "name": name,
            "field": "source",
        }  # fmt: skip

    def documents(self, batch: Batch) -> pa.Array:
        """The block of each row, as JSON."""
        import pyarrow as pa

        from seatunnel_py.formats.messages.encode import json_messages

        columns = [one.column for one in self.fields]
        values = [one.values(batch) for one in self.fields]
        at = self._snapshot_at
        columns.insert(at, _SNAPSHOT)
        values.insert(at, snapshot_texts(batch))
        return json_messages(columns, pa.RecordBatch.from_arrays(values, names=[one.name for one in columns]))

    @property
    def _snapshot_at(self) -> int:
        return next(at for at, one in enumerate(self.fields, 1) if one.name == "ts_ms")


def copied(batch: Batch) -> pa.Array:
    """Whether each row was copied before the log."""
    import pyarrow as pa

    found = batch.metadata.get(SNAPSHOT_ROW)
    return pa.repeat(False, batch.rows) if found is None else found


def snapshot_texts(batch: Batch) -> pa.Array:
    import pyarrow.compute as pc

    return pc.if_else(copied(batch), "true", "false")
