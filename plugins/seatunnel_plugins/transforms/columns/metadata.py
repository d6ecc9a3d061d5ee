"""Metadata: adds columns from the metadata of rows."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seatunnel_plugins.transforms.rows.row_kind_extractor import KindStyle, kind_texts
from seatunnel_plugins.transforms.shared.batches import distinct, put, with_added
from seatunnel_plugins.transforms.shared.column_lineages import computed
from seatunnel_py.api import (
    Batch,
    Column,
    ColumnLineage,
    DataType,
    Determinism,
    Kind,
    Rejected,
    StepContext,
    TableSchema,
    Transform,
    TransformCapabilities,
    TransformFactory,
    TransformOptions,
    option,
    to_arrow,
)

if TYPE_CHECKING:
    import pyarrow as pa

STRING, BIGINT, INT = DataType(Kind.STRING), DataType(Kind.BIGINT), DataType(Kind.INT)
BOOLEAN = DataType(Kind.BOOLEAN)

KEYS = {
    "Database": STRING,
    "Schema": STRING,
    "Table": STRING,
    "RowKind": STRING,
    "EventTime": BIGINT,
    "Delay": BIGINT,
    "Partition": STRING,
    "Topic": STRING,
    "Offset": BIGINT,
    "Key": STRING,
    "SourceTimestamp": BIGINT,
    "BinlogFile": STRING,
    "BinlogPos": BIGINT,
    "BinlogRow": INT,
    "Gtid": STRING,
    "ServerId": BIGINT,
    "Lsn": BIGINT,
    "TransactionId": STRING,
    "TransactionOrder": BIGINT,
    "SnapshotRow": BOOLEAN,
    "FilePath": STRING,
    "FileCreateTime": BIGINT,
    "FileUpdateTime": BIGINT,
    "FileSize": BIGINT,
    "FileType": STRING,
    "Attempt": INT,
}
"""Metadata keys and the types of their columns. Times are milliseconds since 1970."""
EVENT_TIME, DELAY = "EventTime", "Delay"


ROW_KIND = "RowKind"
NAMES = ("Database", "Schema", "Table")
"""Keys whose values are the same for all rows of a table."""


class MetadataOptions(TransformOptions):
    metadata_fields: dict[str, str] = option(
        {}, doc=f"`key = column` for each of: {', '.join(KEYS)} (upper and lower case matter)"
    )


@dataclass(frozen=True, slots=True)
class Metadata(Transform):
    table: TableSchema
    result: TableSchema
    fields: tuple[tuple[str, str], ...]

    def output(self) -> TableSchema:
        return self.result

    def column_lineage(self) -> ColumnLineage:
        return computed(self.result, {field: () for _, field in self.fields})

    def apply(self, batch: Batch) -> Iterable[Batch | Rejected]:
        yield put(batch, self.result, {field: self._values(batch, key) for key, field in self.fields})

    def _values(self, batch: Batch, key: str) -> pa.Array:
        import pyarrow as pa

        arrow = to_arrow(KEYS[key])
        path = self.table.path
        match key:
            case _ if key in NAMES:
                named = {"Database": path.database, "Schema": path.schema, "Table": path.table}[key]
                return pa.repeat(pa.scalar(named or None, arrow), batch.rows)
            case _ if key == ROW_KIND:
                return kind_texts(batch, KindStyle.SHORT)
            case _ if key == DELAY and EVENT_TIME in batch.metadata:
                return _delays(batch.metadata[EVENT_TIME])
            case _ if key in batch.metadata:
                return batch.metadata[key].cast(arrow)
            case _:
                return pa.nulls(batch.rows, arrow)


def _delays(times: pa.Array) -> pa.Array:
    """Milliseconds from each time until now; 0 for a time in the future."""
    import pyarrow as pa
    import pyarrow.compute as pc

    now = pa.scalar(time.time_ns() // 1_000_000, pa.int64())
    return pc.max_element_wise(pc.subtract(now, times), pa.scalar(0, pa.int64()), skip_nulls=False)


class MetadataFactory(TransformFactory[MetadataOptions]):
    name = "Metadata"
    summary = "Adds columns with a row's table, kind, time and other metadata of its source"
    options = MetadataOptions

    def capabilities(self, options: MetadataOptions) -> TransformCapabilities:
        keys = options.metadata_fields.keys()
        needed = frozenset({EVENT_TIME if key == DELAY else key for key in keys} - {*NAMES, ROW_KIND})
        return TransformCapabilities(
            # The delay of a row is another one if its unit is repeated.
            Determinism.INDETERMINATE if DELAY in keys else Determinism.DETERMINATE,
            depends_on_change=not keys <= {*NAMES},
            metadata=needed,
        )

    def create(self, options: MetadataOptions, table: TableSchema, context: StepContext) -> Metadata:
        fields = options.metadata_fields
        for key in fields:
            if key not in KEYS:
                near = difflib.get_close_matches(key, KEYS, n=1, cutoff=0.4)
                hint = f"did you mean {near[0]!r}?" if near else f"the keys are {', '.join(KEYS)}"
                raise ValueError(f"metadata_fields: there is no metadata {key!r}; {hint}")
        distinct(list(fields.values()), "metadata_fields")
        result = with_added(table, [Column(field, KEYS[key]) for key, field in fields.items()])
        return Metadata(table, result, tuple(fields.items()))
