"""Assert: every rule, on values that keep it and values that break it; counts over all tables."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import ValidationError

from seatunnel_connectors.assert_.counts import KEPT
from seatunnel_connectors.assert_.factory import AssertSinkFactory
from seatunnel_connectors.assert_.sink import AssertSink
from seatunnel_py.api import (
    Batch,
    Column,
    CommitContext,
    ConstraintKey,
    ConstraintType,
    FatalError,
    Piece,
    PrimaryKey,
    StepContext,
    TablePath,
    TableSchema,
    WriteContext,
    parse_type,
)

WRITE = WriteContext("job", "lineage", "assert", "data")


def table(path: str = "db.t", **columns: str) -> TableSchema:
    return TableSchema(TablePath.parse(path), tuple(Column(name, parse_type(dtype)) for name, dtype in columns.items()))


def sink(schema: TableSchema, **rules: Any) -> AssertSink:
    given = {name.replace("table_names", "table-names"): value for name, value in rules.items()}
    options = AssertSinkFactory.options.model_validate({"rules": given}, context={"job_file": True})
    return pickle.loads(pickle.dumps(AssertSinkFactory().create(options, schema, StepContext("assert"))))


def write(made: AssertSink, rows: Sequence[dict[str, Any]], kinds: list[int] | None = None) -> Piece:
    data = pa.RecordBatch.from_pylist(list(rows), schema=made.table.arrow())
    writer = made.open(WRITE)
    # A slice with a foreign row before it: masks must not be read from the parent's beginning.
    padded = pa.concat_batches([data.slice(0, 1), data]).slice(1) if rows else data
    writer.write(Batch(made.table.path, padded, kinds=pa.array(kinds, pa.uint8()) if kinds else None))
    return writer.stage()


def check(dtype: str, rule: dict[str, Any], *values: Any) -> None:
    made = sink(table(f=dtype), field_rules=[{"field_name": "f", "field_value": [rule]}])
    write(made, [{"f": value} for value in values])


NOW = datetime(2012, 12, 21, 12, 34, 56)  # noqa: DTZ001 - a column without a zone


@pytest.mark.parametrize(
    ("dtype", "rule", "value"),
    [
        ("int", {"rule_type": "NOT_NULL"}, 1),
        ("int", {"rule_type": "NULL"}, None),
        ("int", {"rule_type": "MIN", "rule_value": 3}, 3),
        ("int", {"rule_type": "MAX", "rule_value": "3"}, 3),
        ("decimal(10, 2)", {"rule_type": "MAX", "rule_value": 3.5}, Decimal("3.50")),
        ("bigint", {"rule_type": "MIN", "rule_value": -1e300}, -(2**63)),
        ("decimal(38, 38)", {"rule_type": "MAX", "rule_value": 0.1}, Decimal("0.1")),
        ("string", {"rule_type": "MIN_LENGTH", "rule_value": 2}, "äö"),
        ("string", {"rule_type": "MAX_LENGTH", "rule_value": 2}, "äö"),
        ("string", {"rule_type": "MAX_LENGTH", "rule_value": 0}, None),
        ("double", {"rule_type": "MAX_LENGTH", "rule_value": 3}, 1.0),
        ("string", {"equals_to": "x"}, None),
        ("string", {"equals_to": None}, None),
        ("string", {"equals_to": "x"}, "x"),
        ("boolean", {"equals_to": "true"}, True),
        ("float", {"equals_to": 3.1}, 3.1),
        ("decimal(30, 8)", {"equals_to": 99999.99999999}, Decimal("99999.99999999")),
        ("date", {"equals_to": "2012-12-21"}, date(2012, 12, 21)),
        ("time", {"equals_to": "12:34:56"}, time(12, 34, 56)),
        ("timestamp", {"equals_to": "2012-12-21T12:34:56"}, NOW),
        ("bytes", {"equals_to": "bWlJWmo="}, b"miIZj"),
        ("array<int>", {"equals_to": [0, 1]}, [0, 1]),
        ("map<date, string>", {"equals_to": {"2024-01-26": "v", "2024-01-27": "w"}}, None),
        (
            "map<string, int>",
            {"equals_to": {"a": 1, "b": 2}},
            [("b", 2), ("a", 1)],
        ),
        ("{a = int, b = array<float>}", {"equals_to": [1, [3.1]]}, {"a": 1, "b": [3.1]}),
        ("{a = int, b = string}", {"equals_to": {"a": 1}}, {"a": 1, "b": None}),
    ],
)
def test_a_value_keeps_the_rule(dtype: str, rule: dict[str, Any], value: Any) -> None:
    check(dtype, rule, value)


@pytest.mark.parametrize(
    ("dtype", "rule", "value"),
    [
        ("int", {"rule_type": "NOT_NULL"}, None),
        ("bigint", {"rule_type": "MAX", "rule_value": 9007199254740992}, 9007199254740993),
        ("decimal(38, 20)", {"rule_type": "MAX", "rule_value": 1}, Decimal("1.00000000000000000001")),
        ("int", {"rule_type": "NULL"}, 1),
        ("int", {"equals_to": None}, 1),
        ("int", {"rule_type": "MIN", "rule_value": 3}, 2),
        ("int", {"rule_type": "MIN", "rule_value": 3}, None),
        ("int", {"rule_type": "MAX", "rule_value": 3}, 4),
        ("double", {"rule_type": "MAX", "rule_value": 3}, float("nan")),
        ("decimal(10, 2)", {"rule_type": "MAX", "rule_value": 3.5}, Decimal("3.51")),
        ("string", {"rule_type": "MAX", "rule_value": 3}, "2"),
        ("string", {"rule_type": "MIN_LENGTH", "rule_value": 1}, None),
        ("string", {"rule_type": "MIN_LENGTH", "rule_value": 3}, "äö"),
        ("string", {"rule_type": "MAX_LENGTH", "rule_value": 1}, "äö"),
        ("int", {"rule_type": "NOT_NULL", "equals_to": 2}, 1),
        ("float", {"equals_to": 3.1}, 3.2),
        ("timestamp", {"equals_to": "2012-12-21T12:34:57"}, NOW),
        ("bytes", {"equals_to": "bWlJWmo="}, b"other"),
        ("array<int>", {"equals_to": [0, 1]}, [1, 0]),
        ("array<int>", {"equals_to": [0, 1]}, [0, 1, None]),
        ("map<string, int>", {"equals_to": {"a": 1}}, [("a", 2)]),
        ("{a = int, b = string}", {"equals_to": [1, "x"]}, {"a": 1, "b": None}),
    ],
)
def test_a_value_breaks_the_rule(dtype: str, rule: dict[str, Any], value: Any) -> None:
    with pytest.raises(FatalError):
        check(dtype, rule, value)


@pytest.mark.parametrize(
    ("actual", "wanted", "value", "passes"),
    [
        ("int", "int", 1, True),
        ("int", "bigint", 1, False),
        ("int", "bigint", None, True),
        ("null", "int", None, True),
        ("int", "null", None, True),
        ("int", "null", 1, False),
        ("decimal(10, 2)", "decimal(10, 2)", Decimal(1), True),
        ("decimal(10, 2)", "decimal(4, 2)", Decimal("99.99"), True),
        ("decimal(10, 2)", "decimal(4, 2)", Decimal("100.00"), False),
        ("decimal(10, 2)", "decimal(10, 3)", Decimal(1), False),
        ("array<int>", "array<int>", [1], True),
        ("array<int>", "array<bigint>", [1], False),
        ("map<string, {a = int}>", "map<string, {b = int}>", [("k", {"a": 1})], True),
        ("{a = int, b = string}", "{a = int}", {"a": 1, "b": "x"}, False),
    ],
)
def test_field_types(actual: str, wanted: str, value: Any, passes: bool) -> None:
    made = sink(table(f=actual), field_rules=[{"field_name": "f", "field_type": wanted}])
    if passes:
        write(made, [{"f": value}])
    else:
        with pytest.raises(FatalError, match="field_type"):
            write(made, [{"f": value}])


def test_a_nested_type_may_be_an_object() -> None:
    made = sink(
        table(f="{a = int, b = {c = date}}"),
        field_rules=[{"field_name": "f", "field_type": {"a": "int", "b": {"c": "date"}}}],
    )

    write(made, [{"f": {"a": 1, "b": {"c": None}}}])


def test_the_message_names_row_rule_value_and_table() -> None:
    rules = [{"rule_type": "NOT_NULL"}, {"rule_type": "MAX", "rule_value": 100}]
    made = sink(table(id="bigint", score="int"), field_rules=[{"field_name": "score", "field_value": rules}])

    with pytest.raises(FatalError) as caught:
        write(made, [{"id": 1, "score": 1}, {"id": 2, "score": 200}, {"id": 3, "score": None}], kinds=[0, 2, 0])

    assert caught.value.message == (
        "Assert: table db.t: row [2, 200] (UPDATE_AFTER) fails rule MAX 100 of field 'score': "
        "its value is 200, of type int"
    )


def test_an_empty_batch_breaks_nothing() -> None:
    made = sink(table(f="int"), field_rules=[{"field_name": "f", "field_value": [{"rule_type": "NOT_NULL"}]}])

    assert write(made, []).rows == 0


# ---------------------------------------------------------------- counts


def commit(made: AssertSink, *pieces: Piece, checkpoint: int = 1, final: bool = True, staging: str = "") -> None:
    context = CommitContext("job", "lineage", "assert", checkpoint, final=final, staging=staging)
    made.committer().commit(pieces, context)


EXACTLY_TWO = [{"rule_type": "MIN_ROW", "rule_value": 2}, {"rule_type": "MAX_ROW", "rule_value": 2}]


def rows(number: int) -> list[dict[str, Any]]:
    return [{"f": at} for at in range(number)]


@pytest.mark.parametrize(
    ("parts", "passes"), [((2,), True), ((1, 1), True), ((), False), ((1,), False), ((2, 1), False)]
)
def test_rows_are_counted_over_all_writers(parts: tuple[int, ...], passes: bool) -> None:
    made = sink(table(f="int"), row_rules=EXACTLY_TWO)
    pieces = [write(made, rows(number)) for number in parts]
    if passes:
        commit(made, *pieces)
    else:
        with pytest.raises(FatalError, match=r"rows? fails? rule M.._ROW 2"):
            commit(made, *pieces)


def test_no_rows_may_be_what_is_wanted() -> None:
    commit(sink(table(f="int"), row_rules=[{"rule_type": "MAX_ROW", "rule_value": 0}]))


def test_rows_of_earlier_commits_count_and_a_repeated_commit_counts_once(tmp_path: Path) -> None:
    """Also for a driver that has taken over: nothing of it is in the memory of the one before."""
    made = sink(table(f="int"), row_rules=EXACTLY_TWO)
    piece, staging = write(made, rows(1)), tmp_path.as_uri()

    commit(made, piece, checkpoint=1, final=False, staging=staging)
    commit(made, piece, checkpoint=1, final=False, staging=staging)
    commit(made, piece, checkpoint=2, staging=staging)
    commit(made, piece, checkpoint=1, final=False, staging=staging)
    commit(made, piece, checkpoint=2, staging=staging)

    with pytest.raises(FatalError, match="1 row fails rule MIN_ROW 2"):
        commit(made, piece, checkpoint=1, staging=staging)
    with pytest.raises(FatalError, match="3 rows fail rule MAX_ROW 2"):
        commit(made, piece, checkpoint=3, staging=staging)


def test_a_stream_keeps_the_sums_of_a_few_commits_only(tmp_path: Path) -> None:
    made = sink(table(f="int"), row_rules=[{"rule_type": "MAX_ROW", "rule_value": 100}])
    for checkpoint in range(1, 41):
        commit(made, write(made, rows(2)), checkpoint=checkpoint, final=False, staging=tmp_path.as_uri())

    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == KEPT
    commit(made, write(made, rows(20)), checkpoint=41, staging=tmp_path.as_uri())


def test_rules_of_one_table_hold_for_all_rows() -> None:
    entry = {"table_path": "db.elsewhere", "row_rules": EXACTLY_TWO}
    made = sink(table(f="int"), tables_configs=[entry])

    commit(made, write(made, rows(2)))


def test_rules_by_table() -> None:
    entries = [
        {"table_path": "db.a", "row_rules": EXACTLY_TWO},
        {"table_path": "db.b", "field_rules": [{"field_name": "f", "field_value": [{"rule_type": "NULL"}]}]},
    ]
    a, b = (sink(table(path, f="int"), tables_configs=entries) for path in ("db.a", "db.b"))
    of_b = write(b, [{"f": None}])

    commit(a, write(a, rows(2)), of_b)

    with pytest.raises(FatalError, match=r"table db\.a: 0 rows fail rule MIN_ROW 2"):
        commit(a, of_b)
    with pytest.raises(FatalError):
        write(b, rows(1))


def test_table_names() -> None:
    names = ["db.a", "db.b"]
    a, b = (sink(table(path, f="int"), table_names=names) for path in names)

    commit(a, write(a, rows(1)), write(b, rows(1)))

    with pytest.raises(FatalError, match=r"rows came of the tables db\.a; table-names wants db\.a, db\.b"):
        commit(a, write(a, rows(1)))


# ---------------------------------------------------------------- the table itself

KEYED = TableSchema(
    TablePath.parse("test.t"),
    (Column("id", parse_type("bigint"), nullable=False), Column("name", parse_type("string"), length=10)),
    PrimaryKey(("id",), "pk"),
    (ConstraintKey("u", ConstraintType.UNIQUE_KEY, (("id", "ASC"),)),),
)
CATALOG = {
    "table_identifier_rule": {"catalog_name": "FakeSource", "table": "test.t"},
    "primary_key_rule": {"primary_key_name": "pk", "primary_key_columns": ["id"]},
    "constraint_key_rule": [
        {
            "constraint_key_name": "u",
            "constraint_key_type": "UNIQUE_KEY",
            "constraint_key_columns": [{"constraint_key_column_name": "id", "constraint_key_sort_type": "ASC"}],
        }
    ],
    "column_rule": [
        {"name": "name", "type": "string", "column_length": 10},
        {"name": "id", "type": "bigint", "nullable": False},
    ],
}


def test_the_table_is_as_described() -> None:
    sink(KEYED, catalog_table_rule=CATALOG).plan_setup()


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"table_identifier_rule": {"catalog_name": "x", "table": "test.u"}}, "the table is test.t, not test.u"),
        ({"table_path": "test.u"}, "table_path: the table is test.t, not test.u"),
        ({"primary_key_rule": {"primary_key_name": "other"}}, "the key is called 'pk', not 'other'"),
        ({"primary_key_rule": {"primary_key_columns": ["id", "name"]}}, "its columns are [id], not [id, name]"),
        ({"constraint_key_rule": []}, "the constraints are"),
        ({"column_rule": [{"name": "id", "type": "bigint"}]}, "the columns are [id, name], not [id]"),
        (
            {"column_rule": [{"name": "id", "type": "int"}, {"name": "name", "type": "string"}]},
            "type of column 'id' is bigint, not int",
        ),
    ],
)
def test_the_table_is_not_as_described(rule: dict[str, Any], words: str) -> None:
    with pytest.raises(FatalError) as caught:
        sink(KEYED, catalog_table_rule=rule).plan_setup()

    assert words in caught.value.message


def test_a_table_rule_of_another_table_is_not_applied() -> None:
    entry = {"table_path": "db.other", "catalog_table_rule": {"primary_key_rule": {"primary_key_name": "x"}}}
    sink(KEYED, tables_configs=[entry]).plan_setup()


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({}, "at least one of row_rules"),
        ({"field_rules": [{"field_name": "g"}]}, "there is no column 'g'"),
        ({"field_rules": [{"field_name": "f", "field_value": [{"equals_to": "x"}]}]}, "'x' is not a int"),
        ({"field_rules": [{"field_name": "f", "field_value": [{"rule_type": "MIN"}]}]}, "rule_value is required"),
        ({"field_rules": [{"field_name": "f", "field_type": "innt"}]}, "did you mean 'int'?"),
        ({"rule_ruls": []}, "unknown option"),
    ],
)
def test_wrong_rules_are_refused(rules: dict[str, Any], words: str) -> None:
    with pytest.raises((ValidationError, ValueError)) as caught:
        sink(table(f="int"), **rules)

    assert words in str(caught.value)
