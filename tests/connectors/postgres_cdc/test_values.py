"""Values out of the log are those that reading the table gives, in the same Arrow types, or their table is refused by
name: two routes, one contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block
from seatunnel_connectors.postgres_cdc.pgoutput.relations import TableRefused
from seatunnel_connectors.postgres_cdc.replication import connection
from seatunnel_py.api import Batch
from tests.connectors.jdbc.copying import make_source
from tests.connectors.jdbc.test_postgres_types import CONVERTED, EXACT, ONLY_COPY, TYPES
from tests.connectors.postgres_cdc.conftest import Log

PLAIN = {
    "boolean": ["true", "false"],
    "smallint": ["-32768", "32767"],
    "integer": ["-2147483648", "2147483647"],
    "bigint": ["-9223372036854775808", "9223372036854775807"],
    "numeric(10,2)": ["1.00", "-12345678.90", "0.01"],
    "numeric(38,10)": ["9999999999999999999999999999.9999999999"],
    "numeric(38,38)": ["-0.12345678901234567890123456789012345678"],
    "text": ["", "ä€😀", "a\tb\nc\\d\"e'f"],
    "character varying(5)": ["abc"],
    '"char"': ["x"],
    "bytea": ["\\x", "\\x00ff5c"],
    "timestamp without time zone": ["2024-02-29 12:34:56.000001", "0001-01-01 00:00:00"],
    "timestamp with time zone": ["2024-01-01 00:00:00.5+02", "10000-01-01 00:00:00+00"],
    "time without time zone": ["00:00:00", "23:59:59.999999"],
    "interval": ["-1 year 2 days 03:04:05.678"],
    "uuid": ["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"],
    "json": ['{"a": 1.10, "a": 2}'],
    "inet": ["10.0.0.1", "10.0.0.0/8", "::1"],
    "cidr": ["10.0.0.0/8"],
    "macaddr": ["08:00:2b:01:02:03"],
    "point": ["(1,2)"],
    "int4range": ["[1,5)", "empty"],
    "tsquery": ["'a' & 'b'"],
    "pg_lsn": ["16/B374D848"],
    "xid": ["7"],
    "regclass": ["pg_class"],
    "jsonpath": ['$."a"[*]'],
    "boolean[]": ["{t,NULL,f}"],
    "integer[]": ["{1,2,3}", "{}", "{NULL}"],
    "text[]": ['{a,"b,c","d\\"e\\\\",NULL,"NULL","",ä}'],
    "uuid[][]": ["{a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11}"],
    "double precision[]": ["{0.1,NaN,-Infinity}"],
    "a.price": ["12.50"],
    "a.price2": ["7.25"],
    "a.label": ["x"],
    "a.marks": ["{1,2}"],
    "a.pair[]": ['{"(1,x)","(2,\\"y z\\")"}'],
    "a.flags": ["{happy}"],
}
MORE = (
    "CREATE DOMAIN a.price AS numeric(10,2); CREATE DOMAIN a.price2 AS a.price CHECK (VALUE > 0); "
    "CREATE DOMAIN a.label AS varchar(5); CREATE DOMAIN a.marks AS int[]; CREATE DOMAIN a.flags AS a.mood[]"
)
ALL = {**EXACT, **{kind: [value] for kind, (_, value, _) in CONVERTED.items()}, **PLAIN}


def test_values_of_every_type_are_those_of_the_table(make_log: Callable[..., Log]) -> None:
    """More than a hundred values of more than eighty types, a null in each, two oids that only the catalog knows."""
    names = {kind: f"t{at}" for at, kind in enumerate(ALL)}
    log = make_log(
        "CREATE SCHEMA a", TYPES, MORE, *[f"CREATE TABLE a.{name} (id int PRIMARY KEY, v {kind})" for kind, name in names.items()]
    )  # fmt: skip
    for kind, name in names.items():
        for at, value in enumerate([*ALL[kind], None]):
            log.db.execute(f"INSERT INTO a.{name} VALUES (%s, %s::{kind})".encode(), [at, value])

    logged = log_columns(log)

    assert logged.keys() == set(names.values())
    for kind, name in names.items():
        read = table_column(log, name)
        assert logged[name].type == read.type, kind
        assert as_bits(logged[name]) == as_bits(read), kind


@pytest.mark.parametrize("output", ["hex", "escape"])
def test_bytes_in_both_of_the_servers_forms(
    make_log: Callable[..., Log], output: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = make_log("CREATE TABLE t (id int PRIMARY KEY, v bytea)")
    values = [bytes(range(256)), b"", b"\\x41", b"\\\\", None]
    for at, value in enumerate(values):
        log.db.execute("INSERT INTO t VALUES (%s, %s)", [at, value])
    monkeypatch.setattr(connection, "_SETTINGS", connection._SETTINGS.replace("=hex", f"={output}"))

    rows = log.rows()

    assert [row[2][1] for row in rows] == values


def test_boxes_in_arrays_are_divided_by_a_semicolon(make_log: Callable[..., Log]) -> None:
    """Their own texts hold commas. Reading the table divides them wrongly, so it is no yardstick here."""
    log = make_log("CREATE TABLE t (id int PRIMARY KEY, v box[])")
    log.run("INSERT INTO t VALUES (1, '{(1,1),(0,0);(3,3),(2,2)}'), (2, '{}')")

    assert [row[2][1] for row in log.rows()] == [["(1,1),(0,0)", "(3,3),(2,2)"], []]


@pytest.mark.parametrize("kind", ONLY_COPY)
def test_what_no_column_holds_refuses_its_table_and_no_other(make_log: Callable[..., Log], kind: str) -> None:
    log = make_log("CREATE SCHEMA a", f"CREATE TABLE a.t (id int PRIMARY KEY, v {kind})", "CREATE TABLE a.u (id int)")
    log.db.execute(f"INSERT INTO a.t VALUES (1, %s::{kind})".encode(), [ONLY_COPY[kind][0]])
    log.run("INSERT INTO a.u VALUES (1)")

    found = log.elements()
    (refused,) = [one for one in found if isinstance(one, TableRefused)]

    assert "table a.t, column 'v'" in refused.message
    assert refused.remedy
    assert {part.table.path.table for one in found if isinstance(one, Block) for part in one.rows} == {"u"}


def log_columns(log: Log) -> dict[str, Any]:
    found: dict[str, list[pa.Array]] = {}
    for one in log.elements():
        assert not isinstance(one, TableRefused), one
        if isinstance(one, Block):
            for part in one.rows:
                part.data.validate(full=True)
                found.setdefault(part.table.path.table, []).append(part.data.column("v"))
    return {name: pa.chunked_array(parts).combine_chunks() for name, parts in found.items()}


def table_column(log: Log, name: str) -> Any:
    source = make_source(log.place.source(table_path=f"a.{name}"))
    [table] = source.tables()
    parts = []
    for split in source.enumerator([table], None).discover():  # type: ignore[list-item]
        for one in source.reader(table).read(split, None):  # type: ignore[arg-type]
            assert isinstance(one, Batch), one
            parts.append(one.data)
    found = pa.Table.from_batches(parts).sort_by("id")
    return found.column("v").combine_chunks()


def as_bits(column: Any) -> Any:
    """Values that Python compares: dates and moments beyond its years as numbers, NaN as a text."""
    if pa.types.is_date32(column.type):
        return column.cast(pa.int32()).to_pylist()
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_pylist()
    if pa.types.is_list(column.type):
        return [None if not one.is_valid else as_bits(one.values) for one in column]
    return [repr(one) for one in column.to_pylist()]
