"""Transforms of columns, kinds and names."""

from __future__ import annotations

import time
from typing import Any

import pytest
from pydantic import ValidationError
from transform_cases import applied, make, one, rows, table, values

from seatunnel_plugins.transforms.columns.copy_field import CopyFactory
from seatunnel_plugins.transforms.columns.define_sink_type import DefineSinkTypeFactory
from seatunnel_plugins.transforms.columns.field_mapper import FieldMapperFactory
from seatunnel_plugins.transforms.columns.field_rename import FieldRenameFactory
from seatunnel_plugins.transforms.columns.filter import FilterFactory
from seatunnel_plugins.transforms.columns.metadata import MetadataFactory
from seatunnel_plugins.transforms.rows.filter_row_kind import FilterRowKindFactory
from seatunnel_plugins.transforms.rows.row_kind_extractor import RowKindExtractorFactory
from seatunnel_plugins.transforms.tables.table_filter import TableFilterFactory
from seatunnel_plugins.transforms.tables.table_merge import TableMergeFactory
from seatunnel_plugins.transforms.tables.table_rename import TableRenameFactory
from seatunnel_py.api import Cardinality, Determinism

PEOPLE = table(key=("id",), id="int", name="string", age="int")
ALL_KINDS = [0, 1, 2, 3]


def people(**given: Any) -> Any:
    return rows(PEOPLE, (1, "a", 10), (2, None, 20), (3, "c", None), (4, "d", 40), **given)


# ---------------------------------------------------------------- Filter


@pytest.mark.parametrize("key", ["include_fields", "fields"])
def test_filter_keeps_fields_in_the_order_given(key: str) -> None:
    found = one(make(FilterFactory, PEOPLE, **{key: ["age", "id"]}), people(kinds=ALL_KINDS))

    assert found.data.schema.names == ["age", "id"]
    assert values(found)[0] == (10, 1)
    assert found.kinds.to_pylist() == ALL_KINDS
    assert found.absent.to_pylist()[0] == {"age": False, "id": False}


def test_filter_drops_keys_whose_columns_are_gone() -> None:
    without, with_key = (
        make(FilterFactory, PEOPLE, exclude_fields="id"),
        make(FilterFactory, PEOPLE, exclude_fields=["age"]),
    )

    assert without.output().primary_key is None
    assert without.output().names == ("name", "age")
    assert with_key.output().key == ("id",)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"include_fields": ["nam"]}, "table db.t has no field 'nam'; did you mean 'name'?"),
        ({"exclude_fields": ["x"]}, "exclude_fields: table db.t has no field 'x'"),
        ({"include_fields": ["id", "id"]}, "more than one output field would be called 'id'"),
        ({"exclude_fields": ["id", "name", "age"]}, "nothing is left"),
        ({"exclude_fields": ["id"], "include_fields": ["id"]}, "exactly one of include_fields or exclude_fields"),
        ({}, "exactly one of include_fields or exclude_fields"),
    ],
)
def test_filter_refuses(options: dict[str, Any], words: str) -> None:
    with pytest.raises((ValueError, ValidationError)) as caught:
        make(FilterFactory, PEOPLE, **options)

    assert words in str(caught.value)


# ---------------------------------------------------------------- FieldMapper, Copy


def test_field_mapper_orders_renames_and_drops() -> None:
    transform = make(FieldMapperFactory, PEOPLE, field_mapper={"age": "years", "id": "number"})

    found = one(transform, people())

    assert found.data.schema.names == ["years", "number"]
    assert values(found)[1] == (20, 2)
    assert transform.output().key == ("number",)


def test_field_mapper_may_swap_names() -> None:
    found = one(make(FieldMapperFactory, PEOPLE, field_mapper={"id": "age", "age": "id"}), people())

    assert values(found, "age", "id")[0] == (1, 10)


@pytest.mark.parametrize(
    ("mapping", "words"), [({"ide": "x"}, "did you mean 'id'?"), ({"id": "x", "age": "x"}, "would be called 'x'")]
)
def test_field_mapper_refuses(mapping: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match="field_mapper") as caught:
        make(FieldMapperFactory, PEOPLE, field_mapper=mapping)

    assert words in str(caught.value)


def test_copy_appends_and_replaces_in_place() -> None:
    found = one(make(CopyFactory, PEOPLE, fields={"name2": "name", "age": "id"}), people())

    assert found.data.schema.names == ["id", "name", "age", "name2"]
    assert values(found)[0] == (1, "a", 1, "a")
    assert found.absent.to_pylist()[0] == {"id": False, "name": True, "age": False, "name2": True}


def test_copy_may_swap() -> None:
    found = one(make(CopyFactory, PEOPLE, fields={"id": "age", "age": "id"}), people())

    assert values(found, "id", "age")[0] == (10, 1)


def test_copy_in_its_older_form() -> None:
    found = one(make(CopyFactory, PEOPLE, src_field="name", dest_field="name1"), people())

    assert values(found, "name", "name1")[0] == ("a", "a")


def test_copy_of_a_nested_column() -> None:
    schema = table(r="{a = int, b = {c = int}}")

    found = one(make(CopyFactory, schema, fields={"r2": "r"}), rows(schema, ({"a": 1, "b": {"c": 2}},)))

    assert values(found, "r2") == [{"a": 1, "b": {"c": 2}}]


# ---------------------------------------------------------------- kinds


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"exclude_kinds": ["DELETE"]}, [1, 2, 3]),
        ({"include_kinds": ["insert", "UPDATE_AFTER"]}, [1, 3]),
        ({"exclude_kinds": ["INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE"]}, []),
    ],
)
def test_kinds_are_filtered(options: dict[str, Any], wanted: list[int]) -> None:
    found = applied(make(FilterRowKindFactory, PEOPLE, **options), people(kinds=ALL_KINDS, Delay=[1, 2, 3, 4]))

    assert [row[0] for batch in found for row in values(batch)] == wanted
    assert [delay for batch in found for delay in batch.metadata["Delay"].to_pylist()] == wanted


def test_a_batch_of_inserts_passes_or_goes_whole() -> None:
    keeps = make(FilterRowKindFactory, PEOPLE, include_kinds=["INSERT"])
    drops = make(FilterRowKindFactory, PEOPLE, exclude_kinds=["INSERT"])

    assert [batch.rows for batch in applied(keeps, people())] == [4]
    assert applied(drops, people()) == []
    model = FilterRowKindFactory.options.model_validate({"include_kinds": ["INSERT"]})
    assert FilterRowKindFactory().capabilities(model).cardinality is Cardinality.FILTER


@pytest.mark.parametrize(
    ("style", "words"),
    [("SHORT", ["+I", "-U", "+U", "-D"]), ("full", ["INSERT", "UPDATE_BEFORE", "UPDATE_AFTER", "DELETE"])],
)
def test_the_kind_becomes_a_column_and_rows_inserts(style: str, words: list[str]) -> None:
    found = one(make(RowKindExtractorFactory, PEOPLE, transform_type=style), people(kinds=ALL_KINDS))

    assert values(found, "row_kind") == words
    assert found.kinds is None


def test_the_kind_of_inserts_and_a_name_of_its_own() -> None:
    found = one(make(RowKindExtractorFactory, PEOPLE, custom_field_name="name"), people())

    assert found.data.schema.names == ["id", "name", "age"]
    assert values(found, "name") == ["+I"] * 4


# ---------------------------------------------------------------- Metadata


def test_metadata_becomes_columns() -> None:
    schema = table("db.sch.t", id="int")
    names = {"Database": "d", "Schema": "s", "Table": "t", "RowKind": "k", "EventTime": "e", "Delay": "w"}
    transform = make(MetadataFactory, schema, metadata_fields=names)

    found = values(one(transform, rows(schema, (1,), (2,), kinds=[0, 3], EventTime=[1700, None])))

    assert [row[:-1] for row in found] == [(1, "db", "sch", "t", "+I", 1700), (2, "db", "sch", "t", "-D", None)]
    assert abs(found[0][-1] - (time.time() * 1000 - 1700)) < 60_000 and found[1][-1] is None


def test_metadata_names_what_it_needs() -> None:
    """A source gives only that: the rest would cost time for each row."""
    options = MetadataFactory.options(metadata_fields={"Table": "t", "RowKind": "k", "Lsn": "l", "Delay": "w"})
    found = MetadataFactory().capabilities(options)

    assert found.metadata == {"Lsn", "EventTime"} and found.determinism is Determinism.INDETERMINATE
    assert RowKindExtractorFactory().capabilities(RowKindExtractorFactory.options()).before_images
    kinds = [{"include_kinds": ["UPDATE_BEFORE"]}, {"include_kinds": ["INSERT"]}, {"exclude_kinds": ["DELETE"]}]
    asked = [FilterRowKindFactory().capabilities(FilterRowKindFactory.options(**one)) for one in kinds]
    assert [one.before_images for one in asked] == [True, False, False]


@pytest.mark.parametrize(
    ("fields", "words"),
    [({"database": "d"}, "did you mean 'Database'?"), ({"Table": "x", "Delay": "x"}, "would be called 'x'")],
)
def test_metadata_refuses(fields: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match="metadata_fields") as caught:
        make(MetadataFactory, PEOPLE, metadata_fields=fields)

    assert words in str(caught.value)


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"convert_case": "UPPER", "prefix": "CDC_", "suffix": "_TABLE"}, "CDC_USER_SHOP_TABLE"),
        (
            {
                "convert_case": "UPPER",
                "prefix": "CDC_",
                "suffix": "_TABLE",
                "replacements_with_regex": [{"replace_from": "user", "replace_to": "U"}],
            },
            "CDC_U_SHOP_TABLE",
        ),
        ({"replacements_with_regex": [{"replace_from": "[aeiou]", "replace_to": ""}]}, "sr_shp"),
        (
            {"replacements_with_regex": [{"replace_from": "user_shop", "replace_to": "x", "is_regex": False}]},
            "x",
        ),
        ({"replacements_with_regex": [{"replace_from": "user", "replace_to": "x", "is_regex": False}]}, "user_shop"),
        (
            {
                "replacements_with_regex": [
                    {"replace_from": "user", "replace_to": "x"},
                    {"replace_from": "shop", "replace_to": "y"},
                    {"replace_from": "nowhere", "replace_to": "z"},
                ]
            },
            "user_y",
        ),
    ],
)
def test_tables_are_renamed(options: dict[str, Any], name: str) -> None:
    schema = table("db.s.user_shop", id="int")
    transform = make(TableRenameFactory, schema, **options)

    assert str(transform.output().path) == f"db.s.{name}"
    assert str(one(transform, rows(schema, (1,))).table) == f"db.s.{name}"


def test_fields_are_renamed_with_their_keys() -> None:
    transform = make(
        FieldRenameFactory,
        PEOPLE,
        convert_case="UPPER",
        prefix="F_",
        specific=[{"field_name": "name", "target_name": "label"}, {"field_name": "elsewhere", "target_name": "x"}],
    )

    found = one(transform, people())

    assert found.data.schema.names == ["F_ID", "label", "F_AGE"]
    assert transform.output().key == ("F_ID",)


def test_two_fields_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="would be called 'x'"):
        make(FieldRenameFactory, PEOPLE, replacements_with_regex=[{"replace_from": ".+", "replace_to": "x"}])


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({"database_pattern": "db", "table_pattern": "user_\\d+"}, True),
        ({"database_pattern": "db", "table_pattern": "user_"}, False),
        ({"table_pattern": "user_\\d+", "pattern_mode": "EXCLUDE"}, False),
        ({"schema_pattern": "x", "pattern_mode": "EXCLUDE"}, True),
        ({}, True),
    ],
)
def test_tables_are_kept_by_name(options: dict[str, Any], kept: bool) -> None:
    schema = table("db.user_12", id="int")
    transform = make(TableFilterFactory, schema, **options)

    assert (transform.output() is not None) is kept
    assert len(applied(transform, rows(schema, (1,)))) == kept


def test_tables_merge_under_one_name() -> None:
    schema = table("db.user_1", id="int")
    transform = make(TableMergeFactory, schema, database="all", table="users")

    assert str(one(transform, rows(schema, (1,))).table) == "all.users"


def test_sink_types_stand_in_the_schema() -> None:
    transform = make(DefineSinkTypeFactory, PEOPLE, columns=[{"column": "name", "type": "nvarchar2(10)"}])

    assert transform.output().column("name").native == "nvarchar2(10)"
