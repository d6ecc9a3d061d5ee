"""What MariaDB does with values and keys of others: it keeps each of them, or says so, or refuses the row."""

from __future__ import annotations

from typing import Any

import pytest

from seatunnel_py.api import FatalError
from seatunnel_py.plan.tables.conversions import conversions_of, words
from tests.connectors.jdbc.conftest import MariadbPlace, PostgresPlace
from tests.connectors.jdbc.copying import Copied, copy_tables, same_rows

pytestmark = pytest.mark.mariadb

KEYS = ["a", "A", "ä", "a ", "😀", "😁", "ß", "ss", "x\ty", ""]


def named(copied: Copied) -> dict[str, str]:
    from dataclasses import asdict

    found = conversions_of(copied.table.schema, copied.setup.conversions)
    return {one.column: words(asdict(one)) for one in found}


@pytest.mark.parametrize("local_infile", [1, 0])
@pytest.mark.parametrize("recipe", ["direct", "staged"])
def test_keys_that_differ_stay_apart(maria: MariadbPlace, pg: PostgresPlace, recipe: str, local_infile: int) -> None:
    """T2: 'a', 'A', 'ä' were one row; so were 'a' and 'a ', and all emoji."""
    maria.run(f"SET GLOBAL local_infile = {local_infile}", "ALTER DATABASE b COLLATE utf8mb4_general_ci")
    pg.db.execute("CREATE TABLE a.t (k text, n int, PRIMARY KEY (k, n))")
    for key in KEYS:
        pg.db.execute("INSERT INTO a.t VALUES (%s, 1)", (key,))

    for _ in range(2):
        copy_tables(
            pg.source(table_path="a.t"), maria.sink(table="t", is_exactly_once=True, exactly_once_recipe=recipe)
        )

    same_rows(maria.rows("SELECT k, n FROM b.t"), pg.rows("SELECT k, n FROM a.t"))


@pytest.mark.parametrize("local_infile", [1, 0])
@pytest.mark.parametrize("recipe", ["direct", "staged"])
@pytest.mark.parametrize("one", ["A", "a "])
def test_keys_that_a_target_takes_for_one_are_refused(
    maria: MariadbPlace, pg: PostgresPlace, recipe: str, local_infile: int, one: str
) -> None:
    """T2: a target of another collation; the pair may come in one unit, or meet a row that is there."""
    maria.run(
        f"SET GLOBAL local_infile = {local_infile}",
        "CREATE TABLE b.t (k varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY, n int)",
    )
    pg.db.execute("CREATE TABLE a.t (k text PRIMARY KEY, n int)")
    pg.db.execute("INSERT INTO a.t VALUES ('a', 1), ('b', 2)")
    options = {"table": "t", "is_exactly_once": True, "exactly_once_recipe": recipe}
    for _ in range(2):  # a row of its own is met again
        copy_tables(pg.source(table_path="a.t"), maria.sink(**options))
    pg.db.execute("UPDATE a.t SET n = 3 WHERE k = 'b'")
    pg.db.execute("INSERT INTO a.t VALUES (%s, 9)", (one,))

    with pytest.raises(FatalError, match="differ, and the target takes them for one") as error:
        copy_tables(pg.source(table_path="a.t"), maria.sink(**options))

    assert repr(one) in str(error.value) and "'a'" in str(error.value)
    assert maria.rows("SELECT k, n FROM b.t ORDER BY k") == [("a", 1), ("b", 2)]


@pytest.mark.parametrize("local_infile", [1, 0])
def test_both_routes_store_the_same_numbers(maria: MariadbPlace, pg: PostgresPlace, local_infile: int) -> None:
    """T22: a float in a wider column had other digits by LOAD DATA than by INSERT; the same for numbers as text."""
    maria.run(
        f"SET GLOBAL local_infile = {local_infile}",
        "CREATE TABLE b.t (id int PRIMARY KEY, f double, g float, d double, ft varchar(60), dt varchar(400), "
        "nt varchar(60), bt varchar(5), it varchar(30), tt varchar(40), zt varchar(40), at varchar(40))",
    )
    pg.db.execute(
        "CREATE TABLE a.t (id int PRIMARY KEY, f real, g real, d float8, ft real, dt float8, nt numeric(30,20), "
        "bt boolean, it bigint, tt timestamp, zt timestamptz, at date)"
    )
    for at, value in enumerate(("0.1", "1e-40", "3.4028235e38", "-16777217", "1e20")):
        pg.db.execute(
            "INSERT INTO a.t VALUES (%s, %s, %s, %s::float8 / 3, %s, %s, 1e-20, true, 9223372036854775807, "
            "'2024-01-02 03:04:05.6', '2024-01-02 03:04:05+02', '2024-02-29')",
            (at, value, value, value, value, value),
        )

    [copied] = copy_tables(pg.source(table_path="a.t"), maria.sink(table="t"))

    wanted = pg.rows("SELECT f::float8, g::float8, d FROM a.t ORDER BY id")
    assert maria.rows("SELECT f, g + 0e0, d FROM b.t ORDER BY id") == wanted
    texts = maria.rows("SELECT ft, dt, nt, bt, it, tt, zt, at FROM b.t ORDER BY id")
    for (ft, dt, nt, bt, it, tt, zt, day), (f, d) in zip(
        texts, pg.rows("SELECT ft::text, dt::float8 FROM a.t ORDER BY id"), strict=True
    ):
        assert (float(ft), float(dt)) == (float(f), d) and "e" not in ft + dt
        assert (nt, bt, it) == ("0.00000000000000000001", "true", "9223372036854775807")
        assert (tt, zt, day) == ("2024-01-02 03:04:05.600000", "2024-01-02 01:04:05.000000Z", "2024-02-29")
    said = named(copied)
    assert said["ft"] == "float -> varchar(60) (its digits as text)" and "true and false as text" in said["bt"]
    assert "-0.0 is stored as 0" in said["d"]  # T42


@pytest.mark.parametrize("local_infile", [1, 0])
def test_bits_are_no_digits(maria: MariadbPlace, local_infile: int) -> None:
    """A bit(1) that is there took the character '1' by LOAD DATA; the end of the day is a time in MariaDB too."""
    maria.run(
        f"SET GLOBAL local_infile = {local_infile}",
        "CREATE TABLE a.t (id int PRIMARY KEY, b bit(1), w bit(10))", "INSERT INTO a.t VALUES (1, 1, 515), (2, 0, 1), (3, NULL, NULL)",
        "CREATE TABLE b.t LIKE a.t",
    )  # fmt: skip
    for _ in range(2):
        copy_tables(maria.source(table_path="a.t"), maria.sink(table="t"))

        assert maria.rows("SELECT b + 0, w + 0 FROM b.t ORDER BY id") == [(1, 515), (0, 1), (None, None)]


def test_decimals_beyond_those_of_mariadb_are_text(maria: MariadbPlace, pg: PostgresPlace) -> None:
    """T26: decimal(38, 38) became decimal(38, 30), and 1e-38 zero. A numeric without bounds is text as well."""
    pg.db.execute(
        "CREATE TABLE a.t (id int PRIMARY KEY, s numeric(38,38), w numeric(76,2), n numeric, g numeric(60,30))"
    )
    wide = "12345678901234567890123456789012345678901234567890.12"
    pg.db.execute(f"INSERT INTO a.t VALUES (1, 1e-38, {wide}, 1e-40, 1e-30)".encode())

    [copied] = copy_tables(pg.source(table_path="a.t"), maria.sink(table="t"))

    assert maria.rows("SELECT s, w, n, CAST(g AS CHAR) FROM b.t") == [
        ("0." + "0" * 37 + "1", wide, "0." + "0" * 39 + "1", "0." + "0" * 29 + "1"),
    ]  # fmt: skip
    said = named(copied)
    assert said["s"] == "decimal(38, 38) -> longtext (its digits as text)"
    assert said.keys() == {"s", "w", "n"}


TAKEN = [  # (MariaDB's column, PostgreSQL's column, a value that stays, values that the server would change)
    ("varchar(3)", "text", "abc", ["abc "]),
    ("char(3)", "text", "a", ["a ", "abc "]),
    ("tinytext", "text", "x", ["x" * 255 + " "]),
    ("binary(3)", "bytea", b"a\0 ", [b"a", b"ab"]),
    ("enum('a','b')", "text", "a", ["A", "a ", "1", ""]),
    ("set('x','y')", "text", "x,y", ["y,x", "x,x", "X"]),
    ("year", "int", "2155", ["24", "70"]),
    ("uuid", "text", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", ["A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11"]),
    ("float(7,2)", "real", "1.5", ["1.234"]),
    ("double(7,2)", "float8", "1.5", ["1.234"]),
    ("datetime", "timestamp", "2024-01-02 03:04:05", ["2024-01-02 03:04:05.5"]),
    ("datetime(3)", "timestamp", "2024-01-02 03:04:05.123", ["2024-01-02 03:04:05.1234"]),
    ("time", "time", "12:34:56", ["12:34:56.5"]),
    ("date", "date", "9999-12-31", ["10000-01-01", "0044-03-15 BC"]),
    ("decimal(38,2)", "numeric", "1.5", ["1.555", "1e40"]),
    ("decimal(10,2)", "float8", "1.5", ["1.555", "1e20"]),
    ("double", "numeric(20,10)", "0.5", ["1234567890.1234567891"]),
]


@pytest.mark.parametrize("local_infile", [1, 0])
@pytest.mark.parametrize(("there", "kind", "stays", "changes"), TAKEN, ids=[one[0] for one in TAKEN])
def test_what_the_server_would_change_is_refused_by_value(
    maria: MariadbPlace, pg: PostgresPlace, there: str, kind: str, stays: Any, changes: list[Any], local_infile: int
) -> None:
    """T29, T30, T37 and their kind: padding, cut blanks, rounding, words by collation, years of two digits."""
    maria.run(
        f"SET GLOBAL local_infile = {local_infile}",
        f"CREATE TABLE b.t (id int PRIMARY KEY, x {there} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci)"
        if there.startswith(("enum", "set", "char", "varchar", "tinytext"))
        else f"CREATE TABLE b.t (id int PRIMARY KEY, x {there})",
    )
    pg.db.execute(f"CREATE TABLE a.t (id int PRIMARY KEY, x {kind})".encode())
    pg.db.execute("INSERT INTO a.t VALUES (1, %s)", (stays,))
    copy_tables(pg.source(table_path="a.t"), maria.sink(table="t"))
    before = maria.rows("SELECT HEX(x), CAST(x AS CHAR) FROM b.t")
    pg.db.execute("TRUNCATE a.t")
    for value in changes:
        pg.db.execute("INSERT INTO a.t VALUES (1, %s) ON CONFLICT (id) DO UPDATE SET x = excluded.x", (value,))

        with pytest.raises(FatalError, match="column 'x'"):
            copy_tables(pg.source(table_path="a.t"), maria.sink(table="t"))

    assert maria.rows("SELECT HEX(x), CAST(x AS CHAR) FROM b.t") == before


def test_types_of_the_same_name_stay(maria: MariadbPlace, pg: PostgresPlace) -> None:
    """PostgreSQL's uuid and json have columns of that type; what has none is text, and named."""
    pg.db.execute("CREATE TABLE a.t (u uuid PRIMARY KEY, j json, b jsonb, i inet, v interval)")
    pg.db.execute(
        "INSERT INTO a.t VALUES ('a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{\"b\":1.10, \"a\":1e400}', "
        "'{\"b\":1.10}', '10.0.0.0/8', '1 day')"
    )

    [copied] = copy_tables(pg.source(table_path="a.t"), maria.sink(table="t"))

    assert [row[:2] for row in maria.rows("SHOW COLUMNS FROM b.t")] == [
        ("u", "uuid"), ("j", "longtext"), ("b", "longtext"), ("i", "longtext"), ("v", "longtext")
    ]  # fmt: skip
    assert "json_valid(`j`)" in maria.rows("SHOW CREATE TABLE b.t")[0][1]
    assert maria.rows("SELECT u, j, b, i FROM b.t") == [
        ("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", '{"b":1.10, "a":1e400}', '{"b": 1.10}', "10.0.0.0/8"),
    ]  # fmt: skip
    assert {"u", "j"}.isdisjoint(named(copied)) and {"i", "v"} <= named(copied).keys()


def test_a_plan_says_the_same_of_the_second_run(maria: MariadbPlace, pg: PostgresPlace) -> None:
    """P1-words of a second run: MariaDB calls a column that was made as JSON longtext, and types were in other letters."""
    pg.db.execute(
        'CREATE TABLE a.t (id int PRIMARY KEY, j json, b jsonb, "q`s" json, n numeric, i int[], at timestamptz, m money, f bool)'
    )
    pg.db.execute("""INSERT INTO a.t VALUES (1, '{"a": 1}', '[]', '1', 1.50, '{1}', now(), 1, true)""")

    [first] = copy_tables(pg.source(table_path="a.t"), maria.sink(table="t"))
    [second] = copy_tables(pg.source(table_path="a.t"), maria.sink(table="t"))

    assert named(first) == named(second) and {"j", "q`s"}.isdisjoint(named(second))
    assert "b" in named(second) and named(second)["f"] == "boolean -> tinyint(1) (true as 1, false as 0)"
