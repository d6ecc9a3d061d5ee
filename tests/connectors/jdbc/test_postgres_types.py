"""Values of PostgreSQL's types: from PostgreSQL to PostgreSQL they arrive as they were, whichever way the rows take and
however often the job runs; what a way cannot carry is refused by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

from seatunnel_py.api import FatalError
from seatunnel_py.plan.tables.conversions import conversions_of
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.copying import copy_tables, make_source

EXACT = {
    "numeric": ["0.12345678901234567890123", "1e-40", "NaN", "Infinity", "-1e300", "1.10", "0"],
    "numeric(60,40)": ["0.1234567890123456789012345678901234567891", "-99999999999999999999.5"],
    "numeric(100,60)": ["3.1", "1e-60"],
    "numeric(1000,500)": ["1e-400"],
    "numeric(76,0)": ["9" * 76],
    "numeric(5,-2)": ["12300"],
    "numeric(3,5)": ["0.00999"],
    "numeric(10,2)[]": ["{1.20,NULL,-3.00}", "{}"],
    "numeric(30,20)[]": ["{0.12345678901234567890}"],
    "numeric(100,60)[]": ["{1e-60}"],
    "numeric[]": ["{1e-60,NaN}"],
    "time with time zone": ["12:34:56.789+05:30", "00:00:00-12"],
    "time(0) with time zone": ["12:34:56+05:30"],
    "time with time zone[]": ["{12:34+05:30}"],
    "date": ["32768-01-01", "0044-03-15 BC", "5874897-12-31", "4713-01-01 BC"],
    "date[]": ["{0044-03-15 BC,10000-01-01,NULL}"],
    "timestamp without time zone": ["294246-12-31 23:59:59.999999", "0044-03-15 10:00 BC", "4714-11-24 00:00:00 BC"],
    "timestamp(3) without time zone": ["2024-01-01 00:00:00.123"],
    "timestamp with time zone[]": ["{2024-01-01 00:00:00.5+02}"],
    "time without time zone[]": ["{23:59:59.999999}"],
    "character(3)": ["a"],
    "character(3)[]": ["{a,NULL,abc}"],
    "character varying(5)[]": ['{abcde,NULL,""}'],
    "bytea[]": ['{"\\\\x00ff"}'],
    "bit(5)": ["10101"],
    "bit varying(5)": ["1"],
    "uuid[]": ["{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"],
    "json[]": ['{"{\\"a\\": 1.10, \\"a\\": 2}"}'],
    "jsonb": ['{"a": 1.10}'],
    "xml": ['<a b="c"/>'],
    "inet[]": ["{10.0.0.1,10.0.0.0/8}"],
    "interval(3)": ["1 year 2 mons -3 days 04:05:06.789"],
    "interval[]": ["{1 day,-1 year}"],
    "int4multirange": ["{[1,3),[5,9)}"],
    "tsvector": ["'a':1A 'it''s':2"],
    "double precision": ["NaN", "-0", "5e-324", "1.7976931348623157e308", "-Infinity"],
    "real": ["0.1", "3.4028235e38"],
}
ONLY_COPY = {
    "date": ["infinity"],
    "timestamp without time zone": ["-infinity", "294276-12-31 23:59:59.999999"],
    "timestamp with time zone": ["infinity"],
    "time without time zone": ["24:00:00"],
    "numeric(10,2)": ["NaN"],
    "integer[]": ["[0:1]={5,6}", "{{1,2},{3,4}}"],
    "text[]": ["{{a,b},{c,d}}"],
}
"""Values that PostgreSQL holds and no Arrow column: as COPY's bytes they pass, else their table is refused."""

CONVERTED = {
    "money": ("numeric(30,2)", "-$12.34", "-12.34"),
    "oid": ("bigint", "4294967295", "4294967295"),
    "name": ("text", "a", "a"),
    "a.mood": ("text", "happy", "happy"),
    "a.mood[]": ("text[]", "{happy,NULL}", "{happy,NULL}"),
    "a.pair": ("text", "(1,x)", "(1,x)"),
    "money[]": ("numeric(30,2)[]", "{$1.50}", "{1.50}"),
}
TYPES = "CREATE TYPE a.mood AS ENUM ('sad', 'happy'); CREATE TYPE a.pair AS (one int, other text)"


def fill(pg: PostgresPlace, name: str, kind: str, values: list[str]) -> None:
    pg.db.execute(f"CREATE TABLE a.{name} (id int PRIMARY KEY, v {kind})".encode())
    for at, value in enumerate([*values, None]):
        pg.db.execute(f"INSERT INTO a.{name} VALUES (%s, %s::{kind})".encode(), [at, value])
    pg.db.execute(f"ANALYZE a.{name}".encode())


def shown(pg: PostgresPlace, table: str) -> list[tuple[object, ...]]:
    """Ids, values as the server shows them, and their type."""
    kind = f"(SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '{table}'::regclass AND attname = 'v')"
    return pg.rows(f"SELECT id, v::text, {kind} FROM {table} ORDER BY id")


def test_every_value_arrives_as_it_was_in_the_first_run_and_in_the_second(pg: PostgresPlace, way: str) -> None:
    """T1, T5, T10, T11, T31, T32, P3-F3, P1-rounding; T9 for PostgreSQL."""
    names = {kind: f"t{at}" for at, kind in enumerate(EXACT)}
    for kind, name in names.items():
        fill(pg, name, kind, EXACT[kind])
    paths = [{"table_path": f"a.{name}"} for name in names.values()]
    for _ in range(2):
        copy_tables(pg.source(table_list=paths), pg.sink(table="b.{table}"))
        for kind, name in names.items():
            assert shown(pg, f"b.{name}") == shown(pg, f"a.{name}"), kind


@pytest.mark.parametrize("kind", ONLY_COPY)
def test_a_value_that_only_copy_carries_passes_twice_or_is_refused(pg: PostgresPlace, way: str, kind: str) -> None:
    """T34 and "routes that differ": run one and run two give the same."""
    fill(pg, "t", kind, ONLY_COPY[kind])
    for _ in range(2):
        if way == "native":
            copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))
            assert shown(pg, "b.t") == shown(pg, "a.t")
        else:
            with pytest.raises(FatalError, match="column 'v'"):
                copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))


def test_a_second_run_of_copied_bytes_changes_what_changed(pg: PostgresPlace, way: str) -> None:
    """The merge by key: rows that are new, changed and the same, and duplicates within the unit's own key."""
    fill(pg, "t", "numeric", ["1e-40", "NaN", "2"])
    copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))
    pg.db.execute(
        "UPDATE a.t SET v = v + 1 WHERE id = 0; INSERT INTO a.t VALUES (9, 9e-30); DELETE FROM a.t WHERE id = 2"
    )
    [copied] = copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))
    assert shown(pg, "b.t") == sorted([*shown(pg, "a.t"), (2, "2", "numeric")])
    assert copied.rows == 4


@pytest.mark.parametrize("kind", CONVERTED)
def test_a_conversion_is_named_and_the_same_on_every_way(pg: PostgresPlace, way: str, kind: str) -> None:
    pg.db.execute(TYPES.encode())
    made, value, wanted = CONVERTED[kind]
    fill(pg, "t", kind, [value])
    for _ in range(2):
        [copied] = copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))
        assert shown(pg, "b.t") == [(0, wanted, made), (1, None, made)]
        [named] = conversions_of(copied.table.schema, copied.setup.conversions)
        assert (named.column, named.source, named.target) == ("v", kind, made)


def test_what_arrives_as_it_is_is_not_named(pg: PostgresPlace) -> None:
    for at, kind in enumerate(EXACT):
        fill(pg, f"t{at}", kind, [])
    for one in copy_tables(
        pg.source(table_list=[{"table_path": f"a.t{at}"} for at in range(len(EXACT))]), pg.sink(table="b.{table}")
    ):
        assert conversions_of(one.table.schema, one.setup.conversions) == ()


NARROWER = {
    ("numeric", "numeric(10,2)"): ("1.25", "1.23456"),
    ("double precision", "numeric(10,2)"): ("1.25", "0.123456789"),
    ("double precision", "money"): ("1.25", "1.005"),
    ("numeric(20,10)", "double precision"): ("0.1", "1234567890.1234567891"),
    ("numeric(20,10)", "real"): ("0.5", "0.123456789"),
    ("bigint", "double precision"): ("9007199254740992", "9007199254740993"),
    ("timestamp without time zone", "timestamp(0) without time zone"): (
        "2024-01-01 00:00:01",
        "2024-01-01 00:00:01.789",
    ),
    ("time without time zone", "time(3) without time zone"): ("00:00:00.125", "12:34:56.789123"),
    ("text", "date"): ("2024-02-01", "01/02/2024"),
    ("text", "timestamp with time zone"): ("2024-02-01T00:00:00+02", "2024-02-01 00:00:00"),
    ("bit varying", "bit(3)"): ("101", "10101"),
}
"""Pairs of types that a server rounds, cuts or guesses: a value that fits, and one that does not."""


@pytest.mark.parametrize(("source", "target"), NARROWER)
def test_into_a_narrower_column_a_value_arrives_whole_or_is_refused(
    pg: PostgresPlace, way: str, source: str, target: str
) -> None:
    """T29, T30, T36, T39."""
    good, bad = NARROWER[source, target]
    fill(pg, "t", source, [good])
    pg.db.execute(f"CREATE TABLE b.t (id int PRIMARY KEY, v {target})".encode())
    [copied] = copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))
    wanted = f"'{good}'::{target}" if target == "money" else f"(SELECT v FROM a.t WHERE id = 0)::{target}"
    assert pg.rows(f"SELECT v = {wanted} FROM b.t WHERE id = 0") == [(True,)]
    if target != "bit(3)":
        [named] = conversions_of(copied.table.schema, copied.setup.conversions)
        assert named.checked and named.column == "v"
    pg.db.execute(f"UPDATE a.t SET v = %s::{source} WHERE id = 0".encode(), [bad])
    before = shown(pg, "b.t")
    with pytest.raises(FatalError):
        copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))
    assert shown(pg, "b.t") == before


def test_a_column_that_keeps_fewer_digits_of_a_second_and_cannot_be_tested_is_refused(pg: PostgresPlace) -> None:
    fill(pg, "t", "interval", ["00:00:01.5"])
    pg.db.execute("CREATE TABLE b.t (id int PRIMARY KEY, v interval(0))")
    with pytest.raises(FatalError, match="digits of a second"):
        copy_tables(pg.source(table_path="a.t"), pg.sink(table="b.t"))


def test_a_column_read_as_text_says_what_it_was(pg: PostgresPlace) -> None:
    """`plan` of a sink that is no PostgreSQL: each column that is not what it was has its source type."""
    pg.db.execute("CREATE TABLE a.t (a int, b numeric, c timetz, d numeric(10,2), e text, f uuid, g numeric[])")
    [table] = make_source(pg.source(table_path="a.t")).tables()
    found = conversions_of(replace(table.schema), ())
    assert {(one.column, one.source, one.target) for one in found} == {
        ("b", "numeric", "number"),
        ("c", "time with time zone", "string"),
        ("f", "uuid", "string"),
        ("g", "numeric[]", "array<number>"),
    }
