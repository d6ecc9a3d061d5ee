"""Every type of MariaDB, at its edges: the log gives the values that the Jdbc source reads (F-C32, F-C35)."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import Any

import pyarrow as pa
import pymysql
import pytest

from seatunnel_connectors.mysql_cdc.failures import UnsupportedColumnError
from seatunnel_connectors.mysql_cdc.schema.definitions import DecodeOptions
from seatunnel_py.api import FatalError
from tests.connectors.mysql_cdc.log_place import LogPlace, blocks, cause_of, replayed, rows_of
from tests.round_trips.mariadb_kinds import KINDS

RANDOM_VALUES = 20
WHOLE = [kind for kind in KINDS if kind.edges]
"""Kinds whose values have a counterpart."""


def literal(value: str) -> str:
    if value.startswith("x:"):
        return f"x'{value[2:]}'"
    return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"


def inserted(log: LogPlace, words: str, values: list[str | None]) -> None:
    log.run(f"CREATE TABLE t (id INT PRIMARY KEY, v {words}, tail INT) CHARACTER SET utf8mb4")
    for number, value in enumerate(values):
        text = "NULL" if value is None else value if words.startswith(("bit", "year")) else literal(value)
        with suppress(pymysql.DataError, pymysql.OperationalError):  # a value that the server refuses
            log.run(f"INSERT INTO t VALUES ({number}, {text}, {number * 7})")


@pytest.mark.parametrize("number", range(len(WHOLE)), ids=[kind.words for kind in WHOLE])
@pytest.mark.parametrize("described", ["catalog", "log"])
def test_values_are_those_of_the_jdbc_source(log: LogPlace, number: int, described: str) -> None:
    kind = WHOLE[number]
    random = Random(number)
    log.run("SET SESSION sql_mode = 'STRICT_TRANS_TABLES'")
    values = [*kind.edges, *(kind.draw(random) for _ in range(RANDOM_VALUES)), None]
    inserted(log, kind.words, values)
    narrowing = kind.words != "tinyint(1)" or kind.edges == ("0", "1")
    options = DecodeOptions(int_type_narrowing=narrowing)

    found = blocks(list(log.changes(log.definitions("t") if described == "catalog" else None, options=options)))
    _, wanted = log.source("t", int_type_narrowing=narrowing)

    assert not any(block.rows.misfits for block in found)
    data = pa.Table.from_batches([block.rows.data for block in found])
    data.validate(full=True)
    if described == "catalog":
        assert data.schema.types == wanted.schema.types
    elif kind.words.startswith(("uuid", "inet", "tinyint(1)")):
        return  # the log alone does not say what these are
    assert _rows(data) == _rows(wanted)


def _rows(data: pa.Table) -> list[dict[str, Any]]:
    """Floats of four bytes with the digits that the server shows of them: the Jdbc source reads no others."""
    rows = data.to_pylist()
    if data.schema.field("v").type != pa.float32():
        return rows
    return [{**row, "v": None if row["v"] is None else float(f"{row['v']:.5g}")} for row in rows]


@pytest.mark.parametrize(
    ("words", "value", "shown"),
    [
        ("date", "'0000-00-00'", "0000-00-00"),
        ("date", "'2024-05-00'", "2024-05-00"),
        ("date", "'2024-02-31'", "2024-02-31"),
        ("datetime(3)", "'0000-00-00 00:00:00'", "0000-00-00 00:00:00.000"),
        ("datetime", "'2024-00-01 12:00:00'", "2024-00-01 12:00:00"),
        ("timestamp null", "'0000-00-00 00:00:00'", "0000-00-00 00:00:00"),
        ("time", "'838:59:59'", "838:59:59"),
        ("time", "'-00:00:01'", "-00:00:01"),
        ("time(1)", "'-00:00:00.1'", "-00:00:00.1"),
        ("time(2)", "'-01:02:03.45'", "-01:02:03.45"),
        ("time(3)", "'-838:59:58.999'", "-838:59:58.999"),
        ("time(4)", "'24:00:00.0001'", "24:00:00.0001"),
        ("time(5)", "'-00:00:59.99999'", "-00:00:59.99999"),
        ("time(6)", "'-00:00:00.000001'", "-00:00:00.000001"),
        ("tinyint(1)", "2", "2"),
        ("tinyint(1)", "-1", "-1"),
    ],
)  # fmt: skip
def test_a_value_without_counterpart_is_named(log: LogPlace, words: str, value: str, shown: str) -> None:
    """As the server shows it, with its column; the rows beside it are right."""
    log.run(f"CREATE TABLE t (id INT PRIMARY KEY, v {words})", "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'")
    log.run(f"INSERT INTO t VALUES (1, NULL), (2, {value}), (3, NULL)")

    [block] = blocks(list(log.changes(log.definitions("t"))))

    [misfit] = block.rows.misfits
    assert (misfit.row, misfit.column) == (1, "v")
    assert misfit.value.startswith(f"{shown}, which ")
    assert [row[1][0] for row in rows_of([block])] == [1, 2, 3]
    assert log.ask("SELECT CAST(v AS CHAR) FROM t WHERE id = 2") == [(shown,)]
    with pytest.raises(FatalError):
        log.source("t")


@pytest.mark.parametrize("words", ["date", "datetime(2)", "timestamp null"])
def test_zero_dates_may_be_null(log: LogPlace, words: str) -> None:
    log.run(f"CREATE TABLE t (id INT PRIMARY KEY, v {words})", "SET SESSION sql_mode = ''")
    log.run("INSERT INTO t VALUES (1, '0000-00-00'), (2, '2024-05-01')")

    [block] = blocks(list(log.changes(log.definitions("t"), options=DecodeOptions(zero_dates_are_null=True))))

    assert not block.rows.misfits
    assert [row[1][1] is None for row in rows_of([block])] == [True, False]


def test_geometries_are_those_of_the_jdbc_source(log: LogPlace) -> None:
    log.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v GEOMETRY, w POINT)",
        "INSERT INTO t VALUES (1, ST_GeomFromText('LINESTRING(1 2, 3 4)', 4326), POINT(1, -2)), (2, NULL, NULL)",
    )

    [block] = blocks(list(log.changes(log.definitions("t"))))

    assert block.rows.data.to_pylist() == log.source("t")[1].to_pylist()


def test_compressed_columns(log: LogPlace) -> None:
    """MariaDB's own: short values are stored as they are, long ones by zlib."""
    log.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(1000) COMPRESSED, w BLOB COMPRESSED, x LONGTEXT COMPRESSED)",
        "INSERT INTO t VALUES (1, REPEAT('ä', 500), REPEAT('y', 60000), REPEAT('ü', 99999)), (2, '', '', ''), "
        "(3, 'x', x'00', 'ö'), (4, NULL, NULL, NULL)",
    )

    [block] = blocks(list(log.changes(log.definitions("t"))))

    assert block.rows.data.to_pylist() == log.source("t")[1].to_pylist()


def test_generated_and_invisible_columns_are_in_the_log(log: LogPlace) -> None:
    log.run(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT INVISIBLE DEFAULT 5, v INT AS (id + a) VIRTUAL, s INT AS (id * a) STORED)",
        "INSERT INTO t (id) VALUES (1), (2)",
    )

    assert rows_of(blocks(list(log.changes(log.definitions("t"))))) == [("+I", (1, 5, 6, 5)), ("+I", (2, 5, 7, 10))]


def test_a_partitioned_table(log: LogPlace) -> None:
    """F-C32."""
    log.run(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(10)) PARTITION BY HASH (id) PARTITIONS 4",
        "INSERT INTO t SELECT seq, seq FROM seq_1_to_50", "UPDATE t SET v = CONCAT(v, 'x') WHERE id % 2",
        "DELETE FROM t WHERE id > 40",
    )  # fmt: skip

    assert replayed(blocks(list(log.changes(log.definitions("t"))))) == {
        row[0]: row for row in log.ask("SELECT * FROM t")
    }


def test_many_columns_with_nulls(log: LogPlace) -> None:
    """More columns than a word of null bits, each null in some rows."""
    names = [f"c{i}" for i in range(150)]
    types = ["INT", "VARCHAR(20)", "DECIMAL(20,5)", "TEXT", "DATETIME(3)"]
    columns = ", ".join(f"{name} {types[i % 5]}" for i, name in enumerate(names))
    log.run(f"CREATE TABLE t (id INT PRIMARY KEY, {columns})")
    random = Random(1)
    for number in range(120):
        values = [random.choice(["NULL", f"'20{i % 90 + 10}-01-02'" if i % 5 == 4 else f"'{i}'"]) for i in range(150)]
        log.run(f"INSERT INTO t VALUES ({number}, {', '.join(values)})")

    found = blocks(list(log.changes(log.definitions("t"))))

    data = pa.Table.from_batches([block.rows.data for block in found])
    assert data.to_pylist() == log.source("t")[1].sort_by("id").to_pylist()


def test_old_formats_of_times(log: LogPlace) -> None:
    """Before MySQL 5.6, and of tables that MariaDB made so. Their fractions are refused with the way on."""
    log.run("SET GLOBAL mysql56_temporal_format = OFF")
    try:
        log.run(
            "CREATE TABLE t (id INT PRIMARY KEY, d DATETIME, t TIME, s TIMESTAMP NULL)", "CREATE TABLE u (v TIME(3))"
        )
        log.run(
            "SET SESSION sql_mode = ''",
            "INSERT INTO t VALUES (1, '2024-02-29 01:02:03', '23:59:59', '2024-02-29 01:02:03')",
        )
        log.run("INSERT INTO t VALUES (2, '0000-00-00', '-10:00:01', 0)")
        [block] = blocks(list(log.changes(log.definitions("t"))))
        log.run("INSERT INTO u VALUES ('01:02:03.004')")
        cause = cause_of(log.changes(log.definitions("t", "u")))
        assert isinstance(cause, UnsupportedColumnError)
        assert "ALTER TABLE a.u FORCE with mysql56_temporal_format = ON" in f"{cause.message} {cause.remedy}"
    finally:
        log.run("SET GLOBAL mysql56_temporal_format = ON")

    log.run("DELETE FROM t WHERE id = 2")
    assert block.rows.data.slice(0, 1).to_pylist() == log.source("t")[1].to_pylist()
    assert [one.value.split(",")[0] for one in block.rows.misfits] == [
        "0000-00-00 00:00:00",
        "-10:00:01",
        "0000-00-00 00:00:00",
    ]
