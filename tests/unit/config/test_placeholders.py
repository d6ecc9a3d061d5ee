"""Placeholders of a sink, once per upstream table."""

from __future__ import annotations

import pytest

from seatunnel_py.api.options import Secret, SinkOptions, option
from seatunnel_py.config import UpstreamNames, expand, expand_options
from seatunnel_py.config.variables import Variables

NAMES = UpstreamNames("db", "s", "t", primary_key=("id", "k"), field_names=("id", "k", "v"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("ods_${table_name}", "ods_t"),
        ("${table_full_name}", "db.s.t"),
        ("${schema_full_name}", "db.s"),
        ("${primary_key}", "id,k"),
        ("${unique_key}", "${unique_key}"),
        ("${unique_key: u }", "u"),
        ("${table_name:x}", "t"),
        ("${other}", "${other}"),
        ("${comment}", "${comment}"),
        ("${now}-${database_name}", "${now}-db"),
        (["${primary_key}"], ["id", "k"]),
        (("${field_names}",), ("id", "k", "v")),
        (["${primary_key}", "x"], ["id,k", "x"]),
        (["${unique_key}"], ["${unique_key}"]),
        (["${unique_key:u}"], ["u"]),
        ({"a": "${table_name}", "b": ["${primary_key}"]}, {"a": "t", "b": ["id", "k"]}),
        (5, 5),
        (None, None),
    ],
)
def test_expansion(value: object, expected: object) -> None:
    """Texts, lists of one placeholder, maps; what is no placeholder stays."""
    assert expand(value, NAMES) == expected


def test_full_names_leave_out_what_is_missing() -> None:
    """A table without a schema has no double dot."""
    assert expand("${table_full_name} ${schema_full_name}", UpstreamNames("db", "", "t")) == "db.t db"


def test_options_are_expanded_and_secrets_left_alone() -> None:
    """The original options stay as they are: the next table needs them."""

    class Target(SinkOptions):
        table: str = option("${table_name}")
        keys: tuple[str, ...] = option(("${primary_key}",))
        password: Secret = option(Secret("${table_name}"))

    options = Target()
    expanded = expand_options(options, NAMES)

    assert (expanded.table, expanded.keys) == ("t", ("id", "k"))
    assert expanded.password.get_secret_value() == "${table_name}"
    assert options.table == "${table_name}"


def test_a_tables_comment_is_a_placeholder_whose_name_stays_free() -> None:
    assert expand("of ${comment}", UpstreamNames(table="t", comment="orders")) == "of orders"
    assert Variables({"comment": "mine"}, {}).substitute("of ${comment}") == "of mine"
