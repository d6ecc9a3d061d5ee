"""Tables of a CDC source have policies of their own for changes of their schemas."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from seatunnel_connectors.mysql_cdc.options import BinlogCdcOptions
from seatunnel_connectors.postgres_cdc.options import PostgresCdcOptions
from seatunnel_connectors.schema_change_options import SchemaChangeOptions
from seatunnel_py.api import (
    FatalError,
    Options,
    SchemaBehavior,
    SchemaEvent,
    SchemaPolicy,
    SourceTable,
    TableLeftOut,
    TablePath,
    TableSchema,
)

POSTGRES = TablePath("shop", "public", "orders_eu")
MYSQL = TablePath("shop", "", "orders_eu")
OTHER = TablePath("shop", "public", "lines")


def of_postgres(**given: Any) -> PostgresCdcOptions:
    return PostgresCdcOptions.model_validate({"url": "jdbc:postgresql://h/shop", "table-pattern": ".*", **given})


def of_mysql(**given: Any) -> BinlogCdcOptions:
    return BinlogCdcOptions.model_validate({"url": "jdbc:mysql://h/shop", "table-pattern": ".*", **given})


def entries(*own: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"schema-changes.enabled": True, "schema-changes.tables": list(own), **more}


def test_the_first_entry_that_matches_counts() -> None:
    found = of_postgres(
        **entries(
            {"table-pattern": r"shop\.public\.orders_.*", "behavior": "INBOX"},
            {"table-pattern": ".*", "behavior": "ignore"},
        )
    )
    assert found.schema_policy_of(POSTGRES).behavior is SchemaBehavior.INBOX
    assert found.schema_policy_of(OTHER).behavior is SchemaBehavior.IGNORE
    assert found.schema_policy.behavior is SchemaBehavior.EVOLVE


def test_an_entry_takes_what_it_lacks_from_the_source() -> None:
    more = {"schema-changes.behavior": "lenient", "schema-changes.exclude": ["drop.column"],
            "schema-changes.log.max-bytes": 7}  # fmt: skip
    found = of_mysql(**entries({"table-pattern": r"shop\.orders_.*", "exclude": ["truncate.table"]}, **more))
    excluded = frozenset({SchemaEvent.TRUNCATE_TABLE})
    assert found.schema_policy_of(MYSQL) == SchemaPolicy(SchemaBehavior.LENIENT, frozenset(), excluded, 7)
    assert found.schema_policy_of(OTHER) == found.schema_policy


@pytest.mark.parametrize("of", [of_postgres, of_mysql])
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"schema-changes.tables": [{"table-pattern": "a", "behavior": "inbox"}]},
            "need schema-changes.enabled = true",
        ),
        (entries({"table-pattern": "a"}), "at least one of behavior, include or exclude"),
        (entries({"behavior": "inbox"}), "table_pattern"),
        (entries({"table-pattern": "a(", "behavior": "inbox"}), "table_pattern"),
        (entries({"table-pattern": "a", "behavior": "inbx"}), "inbox"),
        (
            entries({"table-pattern": "a", "include": ["add.column"], "exclude": ["ADD.COLUMN"]}),
            "include and exclude name the same change",
        ),
    ],
)
def test_an_entry_that_contradicts_itself_is_refused(of: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=re.escape(said)):
        of(**given)


def test_an_entry_that_matches_no_table_is_refused_with_the_nearest_one() -> None:
    found = of_postgres(**entries({"table-pattern": r"shop\.public\.order_eu", "behavior": "inbox"}))
    read = [SourceTable(TableSchema(POSTGRES, ())), SourceTable(TableSchema(OTHER, ()))]
    with pytest.raises(FatalError) as error:
        found.require_schema_tables(read)
    assert "no table that is read matches 'shop\\\\.public\\\\.order_eu'" in error.value.message
    assert "the nearest table is shop.public.orders_eu;" in error.value.remedy
    matched = TableLeftOut(TablePath("shop", "public", "order_eu"), "not chosen")
    with pytest.raises(FatalError):
        found.require_schema_tables([*read, matched])


@pytest.mark.parametrize("of", [of_postgres, of_mysql])
def test_a_table_can_stop_while_others_are_followed(of: Any) -> None:
    found = of(**entries({"table-pattern": ".*orders_eu", "behavior": "exception"}))
    assert isinstance(found, Options)
    assert found.schema_policy_of(POSTGRES).stops  # type: ignore[attr-defined]
    assert not found.schema_policy_of(OTHER).stops  # type: ignore[attr-defined]


@pytest.mark.parametrize("made", [of_postgres, of_mysql])
def test_the_older_name_of_schema_changes_counts_where_it_stands_alone(
    made: Callable[..., SchemaChangeOptions],
) -> None:
    on, off = ({"debezium": {"include.schema.changes": value}} for value in (True, "false"))

    assert [made(**given).schema_changes for given in (on, off, {})] == [True, False, False]
    assert made(debezium={"include": {"schema": {"changes": "TRUE"}}}).schema_changes
    newer = "schema-changes.enabled"
    assert [made(**on, **{newer: False}).schema_changes, made(**off, **{newer: True}).schema_changes] == [False, True]
