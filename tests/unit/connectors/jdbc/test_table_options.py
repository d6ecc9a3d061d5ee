"""``table_options`` as clauses of CREATE TABLE, and what is refused; keys by patterns of table names."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from seatunnel_connectors.jdbc.options import JdbcSinkOptions, JdbcSourceOptions
from seatunnel_connectors.jdbc.target.sink_key import key_of
from seatunnel_connectors.jdbc.target.table_options import mysql_ending, postgres_ending
from seatunnel_py.api import Column, FatalError, PrimaryKey, TablePath, TableSchema
from seatunnel_py.api.types import BIGINT
from seatunnel_py.config import UpstreamNames, expand_options

COLUMNS = tuple(Column(name, BIGINT) for name in ("id", "a", "b"))


def sink(url: str = "jdbc:mysql://h/d", **more: Any) -> JdbcSinkOptions:
    return JdbcSinkOptions.model_validate({"url": url, **more})


def table(name: str, key: tuple[str, ...] = ("id",)) -> TableSchema:
    return TableSchema(TablePath("d", "s", name), COLUMNS, PrimaryKey(key))


def test_options_become_clauses() -> None:
    """An engine with transactions is the default; a table that is being filled keeps autovacuum away."""
    assert mysql_ending({}) == " ENGINE=InnoDB"
    assert mysql_ending({"Engine": "RocksDB", "charset": "latin1"}) == " ENGINE=RocksDB DEFAULT CHARSET=latin1"
    assert postgres_ending({}, filling=False) == ""
    assert postgres_ending({"fillfactor": "70"}, filling=True) == " WITH (fillfactor = 70, autovacuum_enabled = off)"
    assert postgres_ending({"tablespace": "fast"}, filling=False) == ' TABLESPACE "fast"'


@pytest.mark.parametrize(
    ("url", "given", "said"),
    [
        ("jdbc:mysql://h/d", {"enginee": "InnoDB"}, "did you mean engine"),
        ("jdbc:mysql://h/d", {"charset": "utf8; DROP TABLE t"}, "not a single word"),
        ("jdbc:postgresql://h/d", {"fillfactor": "70) TABLESPACE x --"}, "not a single word"),
        ("jdbc:postgresql://h/d", {"with (a)": "1"}, "neither tablespace nor"),
        ("jdbc:postgresql://h/d", {"autovacuum_enabled": "off"}, "neither tablespace nor"),
        ("jdbc:sqlite:x.db", {"strict": "true"}, "only MySQL, MariaDB and PostgreSQL"),
    ],
)
def test_what_a_table_cannot_have_is_refused_before_anything_is_opened(
    url: str, given: dict[str, str], said: str
) -> None:
    """By name, with the nearest one; no value can be a statement."""
    with pytest.raises(ValidationError, match=said):
        sink(url, table_options=given)


def test_the_first_pattern_that_fits_the_whole_name_says_the_key() -> None:
    """In the order written; else primary_keys, else the upstream's own key."""
    keys = {"^mtc_2$": ["b"], "mtc_1": ["a", "b"], "mtc_.*": ["a"]}
    options = sink(primary_keys=["id"], multi_table_config={"primary_keys": keys})

    found = [key_of(options, table(name)) for name in ("mtc_1", "mtc_2", "mtc_11", "other")]

    assert found == [("a", "b"), ("b",), ("a",), ("id",)]
    assert key_of(sink(multi_table_config={"primary_keys": keys}), table("other", ("b",))) == ("b",)


def test_a_pattern_may_add_columns_to_the_upstream_s_key() -> None:
    """Beside other columns a placeholder is filled in as one text."""
    options = sink(multi_table_config={"primary_keys": {".*": ["${primary_key}", "b"]}})
    names = UpstreamNames(primary_key=("id", "a"))

    assert key_of(expand_options(options, names), table("t")) == ("id", "a", "b")


def test_a_key_that_a_table_does_not_have_names_its_pattern() -> None:
    """Where several patterns stand, the table alone would not say which one is wrong."""
    options = sink(multi_table_config={"primary_keys": {"t.*": ["nope"]}})

    with pytest.raises(FatalError, match=r"multi_table_config.primary_keys.'t\.\*' names nope"):
        key_of(options, table("t1"))
    for wrong in ({"(": ["a"]}, {"x": []}):
        with pytest.raises(ValidationError, match=r"regular expression|no columns"):
            sink(multi_table_config={"primary_keys": wrong})


@pytest.mark.parametrize("model", [JdbcSinkOptions, JdbcSourceOptions])
def test_kerberos_is_refused_and_not_forgotten(model: Any) -> None:
    """Who asks for it would else be connected without."""
    with pytest.raises(ValidationError, match="must be false: give"):
        model.model_validate({"url": "jdbc:postgresql://h/d", "query": "select 1", "use_kerberos": True})
