"""Values of SQLite, where each has a type of its own: as declared, under a name, or refused by value."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from seatunnel_py.api import FatalError, ReadContext, Rejected
from seatunnel_py.plan.tables.conversions import conversions_of, words
from tests.connectors.jdbc.conftest import PostgresPlace
from tests.connectors.jdbc.copying import Copied, copy_tables, make_source
from tests.connectors.jdbc.test_sqlite import Files, files

__all__ = ["files"]


def named(copied: Copied) -> dict[str, str]:
    found = conversions_of(copied.table.schema, copied.setup.conversions)
    return {one.column: words(asdict(one)) for one in found}


STAYS = [  # (declared, a literal of SQLite, what `quote` gives in the target: "=" the same value, None: refused)
    ("INTEGER", "9223372036854775807", "9223372036854775807"),
    ("FLOATING POINT", "1.5", "1.5"),
    ("BIGINT UNSIGNED", "5", "5"),
    ("REAL", "0.30000000000000004", "="),
    ("REAL", "1e400", "="),
    ("REAL", "1.7976931348623157e308", "="),
    ("REAL", "5e-324", "="),
    ("NUMERIC", "1e-20", "'0.00000000000000000001'"),
    ("NUMERIC", "12", "'12'"),
    ("NUMERIC", "0.1", "'0.1'"),
    ("DECIMAL(10,2)", "1.5", "1.5"),
    ("DECIMAL(10,2)", "1.25", "1.25"),
    ("DECIMAL_TEXT(50,20)", "'123456789012345678901234567890.12345678901234567890'",
     "'123456789012345678901234567890.12345678901234567890'"),
    ("DATE", "'2024-01-31'", "'2024-01-31'"),
    ("DATE", "'2024-01-31 00:00:00'", "'2024-01-31'"),
    ("TIMESTAMP", "'2024-01-31 12:34:56.123456'", "'2024-01-31 12:34:56.123456'"),
    ("TIMESTAMP(9)", "'2024-01-31 12:34:56.123456789'", "'2024-01-31 12:34:56.123456789'"),
    ("TIMESTAMP_TZ", "'2024-01-31 12:34:56.1+05:30'", "'2024-01-31 07:04:56.100000+00:00'"),
    ("TIME", "'12:34:56.5'", "'12:34:56.500000'"),
    ("STRING", "'007x'", "'007x'"),
    ("STRING", "7", "'7'"),
    ("STRING", "0.1", "'0.1'"),
    ("", "'x'", "'x'"),
    ("", "12", "'12'"),
    ("POLYGON[]", "'p'", "'p'"),
    ("BLOB", "x'00ff'", "X'00FF'"),
    ("BLOB", "'text'", "X'74657874'"),
    ("BOOLEAN", "'yes'", None),
    ("BOOLEAN", "2", None),
    ("INTEGER", "1.5", None),
    ("INT", "3000000000", None),
    ("INTEGER", "1e20", None),
    ("UNSIGNED BIG INT", "18446744073709551615", None),
    ("DECIMAL(10,2)", "1.005", None),
    ("DECIMAL(10,2)", "2.675", None),
    ("DECIMAL(10,2)", "1e9", None),
    ("DECIMAL(10,2)", "'many'", None),
    ("NUMERIC", "'many'", None),
    ("DATE", "1706700000", None),
    ("TIMESTAMP", "1706700000123", None),
    ("TIMESTAMP", "1.5", None),
    ("DATE", "'2024-01-31 23:59:59'", None),
    ("TIMESTAMP", "'2024-01-31 12:34:56.1234567'", None),
    ("TIMESTAMP", "'2024-01-31 12:34:56+05:30'", None),
    ("TIME", "'2024-01-31 12:34:56'", None),
    ("TIME", "'24:00:01'", None),
    ("TEXT", "x'ff'", None),
    ("STRING", "x'ff'", None),
    ("BLOB", "5", None),
]  # fmt: skip


@pytest.mark.parametrize("neighbour", [False, True], ids=["alone", "beside a text"])
@pytest.mark.parametrize(("declared", "value", "wanted"), STAYS)
def test_a_value_stays_or_is_refused(
    files: Files, declared: str, value: str, wanted: str | None, neighbour: bool
) -> None:
    """T7, T8, T13, T16 and their kind. What a value is read as does not depend on the others of its batch."""
    files.run("a", f"CREATE TABLE t (id INTEGER PRIMARY KEY, x {declared}); INSERT INTO t VALUES (1, {value});")
    if neighbour:
        other = {"DATE": "'2024-01-01'", "TIMESTAMP": "'2024-01-01'", "DECIMAL(10,2)": "'1'", "TEXT": "'a'"}
        files.run("a", f"INSERT INTO t VALUES (2, {other.get(declared, 'NULL')})")

    if wanted is None:
        with pytest.raises(FatalError, match="column 'x' is declared as .*, but holds"):
            copy_tables(files.source(table_path="t"), files.sink(table="t"))
        return
    for table in ("t", "t"):  # the second run finds a target
        copy_tables(files.source(table_path="t"), files.sink(table=table, primary_keys=["id"]))
        assert_is(files, "t", wanted)
    back = {"url": f"jdbc:sqlite:{files.paths['b']}", "table_path": "t"}
    copy_tables(back, files.sink(table="back"))
    assert_is(files, "back", wanted)


def assert_is(files: Files, table: str, wanted: str) -> None:
    if wanted == "=":
        assert files.rows("b", f"SELECT x FROM {table} WHERE id = 1") == files.rows("a", "SELECT x FROM t WHERE id = 1")
    else:
        assert files.rows("b", f"SELECT quote(x) FROM {table} WHERE id = 1") == [(wanted,)]


@pytest.mark.parametrize(
    ("parameters", "value", "wanted"),
    [
        ("?date_class=integer&date_precision=seconds", "1706700000", "2024-01-31 11:20:00.000000"),
        ("?date_class=integer", "1706700000123", "2024-01-31 11:20:00.123000"),
        ("?date_class=integer&date_precision=milliseconds", "-1", "1969-12-31 23:59:59.999000"),
        ("?date_class=real", "2460340.5", "2024-01-31 00:00:00.000000"),
    ],
)
def test_numbers_are_moments_as_the_url_says(files: Files, parameters: str, value: str, wanted: str) -> None:
    """T8: days or microseconds, seconds or milliseconds: by size, and by the neighbours."""
    files.run(
        "a", f"CREATE TABLE t (id INT, x TIMESTAMP); INSERT INTO t VALUES (1, {value}), (2, '2024-02-03 04:05:06')"
    )
    source = files.source(table_path="t")
    source["url"] += parameters

    copy_tables(source, files.sink(table="t"))

    assert files.rows("b", "SELECT x FROM t ORDER BY id") == [(wanted,), ("2024-02-03 04:05:06.000000",)]


def test_columns_of_numbers_get_numbers(files: Files) -> None:
    """A real of 17 digits stays that real in a NUMERIC that is there, an integer of 64 bits an integer, and infinity a
    real: it became the text 'Infinity'."""
    files.run(
        "a",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n NUMERIC, d DECIMAL(18, 17));"
        "INSERT INTO t VALUES (1, 0.30000000000000004, 0.30000000000000004), (2, 9007199254740993, 1), (3, 1e300, 0.5),"
        "(4, 1e400, 0), (5, -1e400, 0)",
    )
    files.run("b", "CREATE TABLE t (id INTEGER PRIMARY KEY, n NUMERIC, d DECIMAL(18, 17))")

    copy_tables(files.source(table_path="t"), files.sink(table="t"))

    sql = "SELECT id, n, typeof(n), d, typeof(d) FROM t ORDER BY id"
    assert files.rows("b", sql) == files.rows("a", sql)


def test_plan_names_what_a_declared_type_does_not_say(files: Files) -> None:
    files.run(
        "a",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, s STRING, f, b BLOB, j JSON, d DOUBLE, n NUMERIC, t TEXT,"
        " p FLOATING POINT); INSERT INTO t VALUES (1, 1, 2, 'x', 1.1, 1.5, 1, 'x', 2)",
    )

    [copied] = copy_tables(files.source(table_path="t"), files.sink(table="t"))

    assert named(copied) == {
        "s": "STRING, each value as its text -> TEXT (numbers as their digits)",
        "f": "no type, each value as its text -> TEXT (numbers as their digits)",
        "b": "BLOB, a text as its bytes -> BLOB (texts as their UTF-8 bytes)",
        "j": "JSON, each value as its text -> TEXT (numbers as their digits)", "n": "NUMERIC -> DECIMAL_TEXT (its digits as text)", "d": "double -> DOUBLE (-0.0 is stored as 0)",
        "p": "FLOATING POINT, an integer as a real -> DOUBLE (integers as reals, -0.0 as 0)",
    }  # fmt: skip


@pytest.mark.parametrize("recipe", ["direct", "staged"])
@pytest.mark.parametrize(("collation", "one"), [("NOCASE", "A"), ("RTRIM", "a  ")])
def test_keys_that_a_target_takes_for_one_are_refused(files: Files, recipe: str, collation: str, one: str) -> None:
    """T2 in SQLite."""
    files.run("b", f"CREATE TABLE t (k TEXT COLLATE {collation} PRIMARY KEY, n INT)")
    files.run("a", "CREATE TABLE t (k TEXT PRIMARY KEY, n INT); INSERT INTO t VALUES ('a', 1), ('b', 2)")
    sink = files.sink(table="t", is_exactly_once=True, exactly_once_recipe=recipe)
    for _ in range(2):
        copy_tables(files.source(table_path="t"), sink)
    files.run("a", f"INSERT INTO t VALUES ('{one}', 9)")

    with pytest.raises(FatalError, match="differ, and the target takes them for one"):
        copy_tables(files.source(table_path="t"), sink)

    assert files.rows("b", "SELECT k, n FROM t ORDER BY k") == [("a", 1), ("b", 2)]


@pytest.mark.postgres
def test_values_of_postgresql(files: Files, pg: PostgresPlace) -> None:
    """T25, T9: NaN became null, years of five digits another text."""
    pg.db.execute(
        "CREATE TABLE a.t (id int PRIMARY KEY, f float8, d date, ts timestamptz, n numeric, t time, w numeric(20,5))"
    )
    pg.db.execute(
        "INSERT INTO a.t VALUES (1, 'Infinity', '9999-12-31', '2024-01-01 02:00+02', 1e-30, '12:34:56.5', "
        "123456789012345.12345)"
    )
    for table in ("t", "t"):
        copy_tables(pg.source(table_path="a.t"), files.sink(table=table))
    assert files.rows("b", "SELECT f, d, ts, n, t, w FROM t") == [
        (float("inf"), "9999-12-31", "2024-01-01 00:00:00.000000+00:00", "0." + "0" * 29 + "1", "12:34:56.500000",
         "123456789012345.12345"),
    ]  # fmt: skip
    for column, value in (("f", "NaN"), ("d", "10000-01-01"), ("d", "0044-03-15 BC"), ("ts", "10000-01-01 00:00Z")):
        pg.db.execute("DELETE FROM a.t")
        pg.db.execute(f"INSERT INTO a.t (id, {column}) VALUES (2, '{value}')".encode())
        with pytest.raises(FatalError, match=f"column '{column}'"):
            copy_tables(pg.source(table_path="a.t"), files.sink(table="t"))


@pytest.mark.postgres
@pytest.mark.parametrize(
    ("there", "kind", "stays", "changes"),
    [
        ("NUMERIC(30,10)", "numeric(30,10)", "1.5", "12345678901234567890.1234567891"),
        ("NUMERIC", "numeric", "123456789012345678", "12345678901234567890"),
        ("JSON", "text", "{}", "1.10"),
        ("STRING", "text", "x7", "007"),
        ("DECIMAL(38,2)", "numeric(20,4)", "1.2500", "1.2345"),
        ("TEXT", "float8", "0.1", None),
    ],
)  # fmt: skip
def test_what_sqlite_would_change_is_refused_by_value(
    files: Files, pg: PostgresPlace, there: str, kind: str, stays: Any, changes: Any
) -> None:
    """T29, T37 in SQLite: a column of numbers makes a float of long digits and of texts that look like numbers."""
    files.run("b", f"CREATE TABLE t (id INTEGER PRIMARY KEY, x {there})")
    pg.db.execute(f"CREATE TABLE a.t (id int PRIMARY KEY, x {kind})".encode())
    pg.db.execute("INSERT INTO a.t VALUES (1, %s)", (stays,))
    copy_tables(pg.source(table_path="a.t"), files.sink(table="t"))
    [(found,)] = files.rows("b", "SELECT x FROM t")
    assert str(found) == stays or float(found) == float(stays)
    if changes is None:
        return
    pg.db.execute("UPDATE a.t SET x = %s", (changes,))

    with pytest.raises(FatalError, match="column 'x'"):
        copy_tables(pg.source(table_path="a.t"), files.sink(table="t"))

    assert files.rows("b", "SELECT x FROM t") == [(found,)]


def test_rows_of_other_values_are_set_aside_where_the_job_allows_it(files: Files) -> None:
    """The others of their batch arrive, and the position behind all of them is reached."""
    files.run(
        "a",
        "CREATE TABLE t (id INTEGER PRIMARY KEY, n INT, d DATE);"
        "INSERT INTO t VALUES (1, 1, '2024-01-01'), (2, 1.5, '2024-01-01'), (3, 3, 7), (4, 4, NULL), (5, 'x', x'00')",
    )
    source = make_source(files.source(table_path="t"))
    [table] = source.tables()
    [split] = source.enumerator([table], None).discover()
    reader = source.reader(table)

    *good, rejected = reader.read(split, None, ReadContext(tolerant=True))

    assert [row for one in good for row in one.data["id"].to_pylist()] == [1, 4]  # type: ignore[union-attr]
    assert isinstance(rejected, Rejected) and rejected.end and rejected.end.value == {"after": 5}
    assert [reason.partition("column ")[2][:40] for reason in rejected.reasons] == [
        "'n' is declared as int, but holds 1.5", "'d' is declared as date, but holds 7; de",
        "'n' is declared as int, but holds 'x'",
    ]  # fmt: skip
    assert rejected.data["raw"].to_pylist()[2] == b'{"id": 5, "n": "x", "d": "00"}'
