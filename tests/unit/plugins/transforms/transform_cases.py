"""Making tables, batches and transforms in one line each."""

from __future__ import annotations

import pickle
from typing import Any

import pyarrow as pa

from seatunnel_py.api import (
    Batch,
    Column,
    Position,
    PrimaryKey,
    StepContext,
    TablePath,
    TableSchema,
    Transform,
    TransformFactory,
    parse_type,
)


def table(path: str = "db.t", key: tuple[str, ...] = (), **columns: str) -> TableSchema:
    found = tuple(Column(name, parse_type(dtype)) for name, dtype in columns.items())
    return TableSchema(TablePath.parse(path), found, PrimaryKey(key, "pk") if key else None)


def rows(schema: TableSchema, *values: tuple[Any, ...], kinds: list[int] | None = None, **metadata: Any) -> Batch:
    """A batch that is a slice of a longer one, so that offsets matter, with a mask of absent cells."""
    arrow = schema.arrow()
    padded = [tuple(None for _ in schema.names), *values, tuple(None for _ in schema.names)]
    columns = [pa.array([row[at] for row in padded], field.type) for at, field in enumerate(arrow)]
    absent = [pa.array([(at + row) % 2 == 0 for row in range(len(padded))]) for at in range(len(columns))]
    count = len(values)
    return Batch(
        schema.path,
        pa.RecordBatch.from_arrays(columns, schema=arrow).slice(1, count),
        start=Position({"at": 0}),
        end=Position({"at": count}),
        kinds=pa.array([9, *kinds, 9], pa.uint8()).slice(1, count) if kinds else None,
        absent=pa.RecordBatch.from_arrays(absent, names=list(schema.names)).slice(1, count),
        metadata={name: pa.array(given) for name, given in metadata.items()},
    )


def make(factory: type[TransformFactory[Any]], schema: TableSchema, **options: Any) -> Transform:
    model = factory.options.model_validate(options, context={"job_file": True})
    return pickle.loads(pickle.dumps(factory().create(model, schema, StepContext("step"))))


def applied(transform: Transform, batch: Batch) -> list[Batch]:
    """What comes out; every batch keeps the promises that every transform makes."""
    found = []
    known = {one.path: one for one in (transform.output(), *transform.side_outputs()) if one is not None}
    for item in transform.apply(batch):
        assert isinstance(item, Batch)
        schema = known[item.table]
        item.data.validate(full=True)
        assert item.data.schema.equals(schema.arrow()), f"{item.data.schema} is not {schema.arrow()}"
        assert (item.start, item.end) == (batch.start, batch.end)
        assert item.kinds is None or len(item.kinds) == item.rows
        assert all(len(values) == item.rows for values in item.metadata.values())
        if item.absent is not None:
            assert item.absent.num_rows == item.rows
            assert tuple(item.absent.schema.names) == schema.names
        found.append(item)
    return found


def one(transform: Transform, batch: Batch) -> Batch:
    (found,) = applied(transform, batch)
    return found


def values(batch: Batch, *names: str) -> list[Any]:
    """The rows as tuples; of one column, its values."""
    columns = [batch.data.column(name).to_pylist() for name in names or batch.data.schema.names]
    return columns[0] if len(columns) == 1 else list(zip(*columns, strict=True))


EVERY: dict[str, dict[str, Any]] = {
    "columns.filter:FilterFactory": {"include_fields": ["s", "id"]},
    "columns.field_mapper:FieldMapperFactory": {"field_mapper": {"s": "text", "id": "id"}},
    "columns.copy_field:CopyFactory": {"fields": {"s2": "s", "n": "id"}},
    "columns.replace_text:ReplaceFactory": {"replace_field": "s", "pattern": "a", "replacement": "b"},
    "columns.split:SplitFactory": {"split_field": "s", "separator": ",", "output_fields": ["x", "y"]},
    "rows.filter_row_kind:FilterRowKindFactory": {"exclude_kinds": ["DELETE"]},
    "rows.row_kind_extractor:RowKindExtractorFactory": {},
    "columns.metadata:MetadataFactory": {"metadata_fields": {"Table": "t", "Delay": "d", "RowKind": "k"}},
    "tables.table_rename:TableRenameFactory": {"prefix": "p_"},
    "tables.table_merge:TableMergeFactory": {"table": "all"},
    "columns.field_rename:FieldRenameFactory": {"convert_case": "UPPER"},
    "tables.table_filter:TableFilterFactory": {"table_pattern": "t.*"},
    "columns.define_sink_type:DefineSinkTypeFactory": {"columns": [{"column": "s", "type": "clob"}]},
    "columns.regex_extract:RegexExtractFactory": {
        "source_field": "s",
        "regex_pattern": "(a)(b)?",
        "output_fields": ["g", "h"],
    },
    "rows.data_validator:DataValidatorFactory": {"field_rules": [{"field_name": "id", "rule_type": "NOT_NULL"}]},
    "columns.json_path:JsonPathFactory": {
        "columns": [{"src_field": "s", "path": "$.a", "dest_field": "j", "column_error_handle_way": "SKIP"}]
    },
}
"""A usual case of each transform, for what must hold of all of them."""
