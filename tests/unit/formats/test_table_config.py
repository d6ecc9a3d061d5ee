"""The shared ``schema`` option: spellings, defaults, and errors that say what is wrong."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from seatunnel_py.api import ConstraintType, Options, TablePath, option
from seatunnel_py.formats.schema_option import (
    DeclaredSchema,
    SchemaOptions,
    check_unique,
    table_path,
    table_schema,
)


def read(**values: Any) -> SchemaOptions:
    return SchemaOptions.model_validate(values, context={"job_file": True})


def test_fields_are_nullable_columns_with_text_or_nested_types() -> None:
    schema = table_schema(read(fields={"id": "bigint", "c_row": {"a": "int", "b": {"c": "decimal(3, 1)"}}}), "out")

    assert [(c.name, str(c.dtype), c.nullable) for c in schema.columns] == [
        ("id", "bigint", True),
        ("c_row", "{a = int, b = {c = decimal(3, 1)}}", True),
    ]
    assert schema.path == TablePath("", "", "out")


def test_types_inside_a_row_may_be_quoted() -> None:
    """A row in text is an object of the configuration language, whose values are quoted where they hold a bracket."""
    declared = {"a": "map<string, {x = int, y = \"array<int>\", 'z-1' = 'decimal(3, 1)', w: \"string\"}>"}
    (column,) = table_schema(read(fields=declared)).columns

    assert str(column.dtype) == "map<string, {x = int, y = array<int>, z-1 = decimal(3, 1), w = string}>"


def test_columns_carry_length_default_comment_and_keys() -> None:
    schema = table_schema(
        read(
            table="db.t",
            comment="hello",
            columns=[
                {"name": "id", "type": "bigint", "nullable": False, "comment": "key"},
                {"name": "name", "type": "string", "columnLength": 20, "defaultValue": "x"},
            ],
            primaryKey={"name": "pk", "columnNames": ["id"]},
            constraintKeys=[
                {
                    "constraintName": "u",
                    "constraintType": "unique_key",
                    "constraintColumns": [{"columnName": "name", "sortType": "DESC"}],
                }
            ],
        )
    )

    assert schema.path == TablePath("db", "", "t")
    assert schema.columns[1].length == 20 and schema.columns[1].default == "x"
    assert schema.primary_key is not None and schema.primary_key.columns == ("id",)
    assert schema.constraints[0].type is ConstraintType.UNIQUE_KEY
    assert schema.constraints[0].columns == (("name", "DESC"),)


def test_keys_may_be_spelled_as_on_the_peers_page() -> None:
    """``columns`` of a primary key, ``KEY`` (which is also the default), and the words about vector indexes."""
    column = {"columnName": "v", "indexName": "idx", "indexType": "HNSW", "metricType": "L2"}
    schema = table_schema(
        read(
            columns=[{"name": "id", "type": "bigint"}, {"name": "v", "type": "float_vector", "columnScale": 4}],
            primaryKey={"name": "pk", "columns": ["id"]},
            constraintKeys=[
                {"constraintName": "a", "constraintType": "KEY", "constraintColumns": [{"columnName": "id"}]},
                {"constraintName": "b", "constraintColumns": [{"columnName": "id"}]},
                {"constraintName": "c", "constraintType": "VECTOR_INDEX_KEY", "constraintColumns": [column]},
            ],
        )
    )

    assert schema.primary_key is not None and schema.primary_key.columns == ("id",)
    assert [key.type for key in schema.constraints] == [
        ConstraintType.INDEX_KEY, ConstraintType.INDEX_KEY, ConstraintType.VECTOR_INDEX_KEY,
    ]  # fmt: skip


def test_identity_falls_back_to_the_output_name_and_then_to_default() -> None:
    assert table_path(None) == TablePath("default", "default", "default")
    assert table_path(read(fields={"a": "int"}), "fake") == TablePath("", "", "fake")
    assert table_path(read(table="a.b", schema_first=True)) == TablePath("", "a", "b")
    assert table_path(None, "a.b.c.d") == TablePath("", "", "a.b.c.d")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"fields": {"a": "int"}, "columns": [{"name": "a", "type": "int"}]},
            "only one of fields or columns",
        ),
        ({"fields": {"a": "decimal"}}, "decimal needs precision"),
        ({"fields": {"a": "strng"}}, "did you mean 'string'"),
        ({"fields": {"a": None}}, "in quotes"),
        ({"table": "a.b.c.d"}, "is not a table path"),
        ({"fields": {"a": "int"}, "primaryKey": {"name": "pk", "columnNames": ["b"]}}, "no column 'b'"),
        ({"fields": {"a": "int"}, "primaryKey": {"name": "pk"}}, "Field required"),
        ({"columns": [{"name": "a", "type": "int"}, {"name": "a", "type": "int"}]}, "declared twice: a"),
    ],
)
def test_errors_say_what_is_wrong(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        read(**values)


def test_an_empty_schema_is_refused_where_columns_are_needed() -> None:
    class Needs(Options):
        declared: DeclaredSchema = option(key="schema")

    with pytest.raises(ValidationError, match="Schema config can not be empty"):
        Needs.model_validate({"schema": {"table": "t"}})
    with pytest.raises(ValueError, match="Schema config can not be empty"):
        table_schema(read())


def test_two_tables_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="declared twice"):
        check_unique([TablePath("", "", "a"), TablePath("", "", "a")])
