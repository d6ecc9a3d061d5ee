"""FakeSource: counts, determinism, resuming anywhere, values within their bounds."""

from __future__ import annotations

import base64
import pickle
from dataclasses import replace
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from seatunnel_connectors.fake.factory import FakeSourceFactory
from seatunnel_connectors.fake.source import FakeSource, block_rows
from seatunnel_py.api import Batch, Heartbeat, JobMode, Position, SourceTable, Split, StepContext

ALL_TYPES: dict[str, Any] = {
    "c_null": "null",
    "c_string": "string",
    "c_boolean": "boolean",
    "c_tinyint": "tinyint",
    "c_smallint": "smallint",
    "c_int": "int",
    "c_bigint": "bigint",
    "c_float": "float",
    "c_double": "double",
    "c_decimal": "decimal(38, 18)",
    "c_small_decimal": "decimal(5, 2)",
    "c_date": "date",
    "c_time": "time",
    "c_timestamp": "timestamp",
    "c_timestamp_tz": "timestamp_tz",
    "c_bytes": "bytes",
    "c_array": "array<int>",
    "c_map": "map<string, string>",
    "c_map_boolean": "map<boolean, array<int>>",
    "c_row": {"a": "int", "b": {"c": "map<int, string>"}},
    "v_float": "float_vector",
    "v_half": "float16_vector",
    "v_brain": "bfloat16_vector",
    "v_binary": "binary_vector",
    "v_sparse": "sparse_float_vector",
}


def fake(parallelism: int = 1, mode: JobMode = JobMode.BATCH, step: str = "fake", **options: Any) -> FakeSource:
    model = FakeSourceFactory.options.model_validate(options, context={"job_file": True})
    return FakeSourceFactory().create(model, StepContext(step, parallelism=parallelism, mode=mode))


def splits(source: FakeSource) -> list[tuple[SourceTable, Split]]:
    tables = source.tables()
    by_path = {table.schema.path: table for table in tables}
    return [(by_path[split.table], split) for split in source.enumerator(tables, None).discover()]


def batches(source: FakeSource, start: Position | None = None) -> list[Batch]:
    found = [element for table, split in splits(source) for element in source.reader(table).read(split, start)]
    return [element for element in found if isinstance(element, Batch)]


def table_of(source: FakeSource, start: Position | None = None) -> pa.Table:
    return pa.Table.from_batches([batch.data for batch in batches(source, start)])


FIELDS = {"fields": {"id": "int", "name": "string"}}


def test_rows_are_counted_per_reader() -> None:
    source = fake(parallelism=2, schema=FIELDS, **{"row.num": 3})

    assert table_of(source).num_rows == 6
    assert source.tables()[0].rows == 6


@pytest.mark.parametrize(
    ("rows", "number", "sizes"),
    [(5, 1, [5]), (5, 2, [3, 2]), (5, 4, [2, 2, 1]), (5, 9, [1, 1, 1, 1, 1]), (0, 3, [])],
)
def test_splits_are_equal_and_the_last_is_the_rest(rows: int, number: int, sizes: list[int]) -> None:
    source = fake(schema=FIELDS, **{"row.num": rows, "split.num": number})

    assert [split.rows for _, split in splits(source)] == sizes


def test_given_rows_come_once_per_split() -> None:
    rows = [{"kind": "INSERT", "fields": [1, "a"]}, {"fields": {"name": "b", "id": 2}}]
    source = fake(schema=FIELDS, rows=rows, **{"split.num": 3})

    assert table_of(source).to_pylist() == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}] * 3


def test_given_rows_keep_their_kinds() -> None:
    kinds = ["INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE"]
    source = fake(schema=FIELDS, rows=[{"kind": kind, "fields": [1, "a"]} for kind in kinds])

    (batch,) = batches(source)

    assert batch.kinds is not None
    assert batch.kinds.to_pylist() == [0, 1, 2, 3]


def test_rows_of_inserts_only_need_no_kinds() -> None:
    (batch,) = batches(fake(schema=FIELDS, rows=[{"fields": [1, "a"]}]))

    assert batch.kinds is None


def test_every_type_is_valid_arrow_of_the_table_schema() -> None:
    source = fake(schema={"fields": ALL_TYPES}, **{"row.num": 1000})

    for batch in batches(source):
        batch.data.validate(full=True)
        assert batch.data.schema.equals(source.tables()[0].schema.arrow())


def test_the_same_step_gives_the_same_rows_and_another_one_does_not() -> None:
    options = {"schema": {"fields": ALL_TYPES}, "row.num": 50}

    again = table_of(pickle.loads(pickle.dumps(fake(**options))))

    assert again.equals(table_of(fake(**options)))
    assert not again.equals(table_of(fake(step="other", **options)))
    assert not again.equals(table_of(fake(seed=1, **options)))


def test_splits_of_one_table_differ() -> None:
    first, second = batches(fake(parallelism=2, schema=FIELDS, **{"row.num": 20}))

    assert not first.data.equals(second.data)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 40_000))
def test_a_split_can_be_resumed_anywhere(offset: int) -> None:
    source = fake(schema={"fields": {"id": "bigint", "m": "map<tinyint, string>"}}, **{"row.num": 40_000})
    whole = table_of(source)

    rest = batches(source, Position({"offset": offset}))

    assert sum(batch.rows for batch in rest) == 40_000 - offset
    if rest:
        assert pa.Table.from_batches([batch.data for batch in rest]).equals(whole.slice(offset))


def test_positions_chain() -> None:
    found = batches(fake(schema=FIELDS, **{"row.num": 100_000}))

    assert len(found) > 1
    assert [batch.end for batch in found[:-1]] == [batch.start for batch in found[1:]]


def test_bounds_and_templates() -> None:
    source = fake(
        schema={"fields": {"i": "int", "l": "bigint", "d": "double", "s": "string", "t": "tinyint", "f": "float"}},
        **{
            "row.num": 5000,
            "int.min": 7,
            "int.max": 9,
            "bigint.min": -(2**63),
            "double.min": -1.7e308,
            "string.template": ["x", "y"],
            "tinyint": {"fake.mode": "template", "template": [4]},
            "float.template": [1.5],
        },
    )

    found = table_of(source)

    assert pc.unique(found["i"]).sort().to_pylist() == [7, 8, 9]
    assert pc.min(found["l"]).as_py() < 0
    assert pc.all(pc.is_finite(found["d"])).as_py()
    assert set(found["s"].to_pylist()) == {"x", "y"}
    assert set(found["t"].to_pylist()) == {4}
    assert set(found["f"].to_pylist()) == {1.5}


def test_lengths_and_sizes() -> None:
    columns = [
        {"name": "s", "type": "string", "columnLength": 9},
        {"name": "b", "type": "bytes"},
        {"name": "a", "type": "array<string>"},
        {"name": "m", "type": "map<bigint, int>"},
    ]
    options = {"string.length": 3, "bytes.length": 2, "array.size": 4, "map.size": 6}
    (row,) = table_of(fake(schema={"columns": columns}, **options, **{"row.num": 1})).to_pylist()

    assert len(row["s"]) == 9
    assert len(row["b"]) == 2
    assert [len(item) for item in row["a"]] == [3] * 4
    assert len(row["m"]) == 6


def test_a_columns_scale_is_a_vectors_dimension_and_a_numbers_digits() -> None:
    """As in SeaTunnel: one table may hold vectors of several dimensions, which one option could not say."""
    columns = [
        {"name": "two", "type": "float_vector", "columnScale": 2},
        {"name": "four", "type": "float_vector"},
        {"name": "half", "type": "float16_vector", "columnScale": 3},
        {"name": "brain", "type": "bfloat16_vector", "columnScale": 5},
        {"name": "bits", "type": "binary_vector", "columnScale": 16},
        {"name": "few", "type": "sparse_float_vector", "columnScale": 3},
        {"name": "price", "type": "double", "columnScale": 2},
        {"name": "huge", "type": "float", "columnScale": 2},
    ]
    (row,) = table_of(fake(schema={"columns": columns}, **{"row.num": 1, "double.max": 10.0})).to_pylist()

    sizes = {name: len(row[name]) for name in ("two", "four", "half", "brain", "bits", "few")}
    assert sizes == {"two": 2, "four": 4, "half": 3, "brain": 10, "bits": 2, "few": 3}
    assert row["price"] == round(row["price"], 2)
    assert 0 < row["huge"] < float("inf")


def test_map_keys_are_distinct() -> None:
    found = table_of(fake(schema={"fields": {"m": "map<boolean, int>"}}, **{"row.num": 200}))

    for entries in found["m"].to_pylist():
        assert len(entries) == len({key for key, _ in entries})


def test_defaults_and_current_words() -> None:
    columns = [
        {"name": "s", "type": "string", "defaultValue": "same"},
        {"name": "n", "type": "decimal(5, 2)", "defaultValue": "1.5"},
        {"name": "b", "type": "bytes", "defaultValue": "raw"},
        {"name": "d", "type": "date", "defaultValue": "CURRENT_DATE"},
        {"name": "a", "type": "array<string>", "defaultValue": "x"},
    ]
    source = fake(schema={"columns": columns}, **{"row.num": 3, "array.size": 2})
    now = datetime.fromisoformat(str(source.tables()[0].hints["now"]))

    found = table_of(source).to_pylist()

    assert found == [{"s": "same", "n": Decimal("1.50"), "b": b"raw", "d": now.date(), "a": ["x", "x"]}] * 3


def test_given_values_are_converted() -> None:
    fields = {
        "t": "timestamp",
        "d": "date",
        "c": "time",
        "b": "bytes",
        "m": "map<date, string>",
        "r": {"a": "int", "b": "array<decimal(4, 2)>"},
        "l": "boolean",
        "j": "string",
    }
    values = [
        "2012-12-21T12:34:56",
        "2012/12/21",
        "12:34:56.5",
        base64.b64encode(b"mIIZj").decode(),
        {"2024-01-26": "v0"},
        [1, ["10.55"]],
        "true",
        {"k": [1, None]},
    ]

    (row,) = table_of(fake(schema={"fields": fields}, rows=[{"fields": values}])).to_pylist()

    assert row == {
        "t": datetime(2012, 12, 21, 12, 34, 56),  # noqa: DTZ001 - a column without a zone
        "d": date(2012, 12, 21),
        "c": time(12, 34, 56, 500_000),
        "b": b"mIIZj",
        "m": [(date(2024, 1, 26), "v0")],
        "r": {"a": 1, "b": [Decimal("10.55")]},
        "l": True,
        "j": '{"k":[1,null]}',
    }


def test_dates_lie_in_this_year_and_templates_may_move_them() -> None:
    source = fake(schema={"fields": {"d": "date"}}, **{"row.num": 300})
    year = datetime.fromisoformat(str(source.tables()[0].hints["now"])).year
    moved = fake(
        schema={"fields": {"d": "date", "t": "time"}},
        **{
            "date.year.template": [2023],
            "date.month.template": [2],
            "date.day.template": [31],
            "time.hour.template": [7],
        },
    )

    assert {found.year for found in table_of(source)["d"].to_pylist()} == {year}
    assert all(found.day <= 28 for found in table_of(source)["d"].to_pylist())
    assert set(table_of(moved)["d"].to_pylist()) == {date(2023, 2, 28)}
    assert {found.hour for found in table_of(moved)["t"].to_pylist()} == {7}


def test_auto_increment_counts_over_all_splits() -> None:
    schema = {"fields": {"n": "int", "id": "bigint"}, "primaryKey": {"name": "pk", "columnNames": ["id"]}}
    options = {"auto.increment.enabled": True, "auto.increment.start": 100, "row.num": 40, "split.num": 4}

    found = table_of(fake(parallelism=2, schema=schema, **options))

    assert sorted(found["id"].to_pylist()) == list(range(100, 180))
    assert len(set(found["n"].to_pylist())) > 1


def test_several_tables_take_the_outer_options_as_defaults() -> None:
    entries = [
        {"schema": {"table": "db.a", **FIELDS}},
        {"schema": {"table": "db.b", **FIELDS}, "row.num": 2},
    ]

    source = fake(tables_configs=entries, **{"row.num": 7})

    assert [(str(table.schema.path), table.rows) for table in source.tables()] == [("db.a", 7), ("db.b", 2)]
    only_b = [table for table in source.tables() if table.schema.path.table == "b"]
    assert {str(split.table) for split in source.enumerator(only_b, None).discover()} == {"db.b"}


def test_one_schema_makes_a_table_per_name() -> None:
    source = fake(schema={"table": "x.y", "fields": {"a": "int"}}, **{"table-names": ["t.a", "t.b"], "row.num": 3})

    assert [(str(table.schema.path), table.rows) for table in source.tables()] == [("t.a", 3), ("t.b", 3)]
    assert {str(split.table) for _, split in splits(source)} == {"t.a", "t.b"}


def test_streaming_gives_the_splits_once_and_pauses_between() -> None:
    source = fake(mode=JobMode.STREAMING, schema=FIELDS, **{"row.num": 2, "split.num": 2, "split.read-interval": 120})
    tables = source.tables()
    enumerator = source.enumerator(tables, None)
    first, second = enumerator.discover()

    elements = list(source.reader(tables[0]).read(second, None))

    assert [type(element) for element in elements] == [Heartbeat, Heartbeat, Batch]
    assert all(isinstance(element, Batch) for element in source.reader(tables[0]).read(first, None))
    assert list(enumerator.discover()) == []
    assert list(source.enumerator(tables, enumerator.snapshot()).discover()) == []


def test_wide_rows_make_small_blocks() -> None:
    source = fake(schema={"fields": {"s": "string"}}, **{"row.num": 100, "string.length": 2**20})

    assert block_rows(source.fakes[0]) == 15
    assert table_of(source).num_rows == 100


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "exactly one of schema or tables_configs"),
        ({"schema": FIELDS, "string.fake.mode": "template"}, "string.template is required"),
        ({"schema": FIELDS, "int.min": 5, "int.max": 4}, "int.min: 5 is above int.max, 4"),
        ({"schema": FIELDS, "rows": [{"fields": ["x", "y"]}]}, "rows: row 1, id: 'x' is not a int"),
        ({"schema": FIELDS, "rows": [{"fields": [3_000_000_000, "y"]}]}, "beyond the range of int"),
        ({"schema": FIELDS, "rows": [{"fields": {"nam": "y"}}]}, "did you mean 'name'?"),
        ({"schema": FIELDS, "rows": [{"fields": [1, "a", 2]}]}, "3 values for the 2 columns"),
        ({"schema": FIELDS, "date.month.template": [13]}, "date.month.template: 13 is not within 1 to 12"),
        ({"tables_configs": [{"schema": FIELDS}, {"schema": FIELDS}]}, "declared twice"),
        ({"schema": FIELDS, "table-names": ["a", "a"]}, "declared twice"),
        ({"tables_configs": [{"schema": FIELDS}], "table-names": ["a"]}, "only one of table-names or tables_configs"),
        (
            {"schema": {"columns": [{"name": "v", "type": "binary_vector", "columnScale": 4}]}},
            "columnScale of 'v', its bits, is 4, no multiple of 8",
        ),
        (
            {"schema": {"columns": [{"name": "i", "type": "int", "nullable": False}]}, "rows": [{"fields": [None]}]},
            "declared not nullable",
        ),
    ],
)
def test_mistakes_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, ValidationError)) as caught:
        fake(**options)

    assert words in str(caught.value)


def test_a_driver_that_goes_on_makes_the_rows_of_the_one_before() -> None:
    """Its splits come out of the record; when it was started itself does not matter."""
    source = fake(schema={"fields": {"d": "date", "t": "timestamp"}}, **{"row.num": 3})
    before, after = source.tables(), source.tables()
    old = replace(before[0], hints={"now": "2001-02-03T04:05:06"})
    (split,) = source.enumerator([old], None).discover()
    now = replace(after[0], hints={"now": "2031-02-03T04:05:06"})

    first, second = (
        [element.data.to_pylist() for element in source.reader(table).read(split, None) if isinstance(element, Batch)]
        for table in (old, now)
    )

    assert first == second
    assert {row["d"].year for row in first[0]} == {2001}
