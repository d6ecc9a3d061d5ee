"""The tables of MySQL that jobs follow, on a MariaDB server that this run started, and the changes that they follow.

Columns are those of SeaTunnel's own tests: the jobs name no columns. Rows are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from e2e.conformance.content import Check, Left
from e2e.conformance.servers import Mysql, Servers

ROWS = 100
SOURCE = "mysql_cdc.mysql_cdc_e2e_source_table"
KEYLESS = f"{SOURCE}_no_primary_key"
SINK = "mysql_cdc.mysql_cdc_e2e_sink_table"
PRODUCTS = "shop.products"
PRODUCTS_COPY = "shop.mysql_cdc_e2e_sink_table_with_schema_change_exactly_once"
JOBS = {
    "mysqlcdc_to_mysql": (SOURCE, SINK),
    "mysqlcdc_to_mysql_with_multi_table_mode_one_table": (SOURCE, "mysql_cdc2.mysql_cdc_e2e_source_table"),
    "mysqlcdc_to_mysql_with_no_primary_key": (KEYLESS, SINK),
}
"""By job, the table and its copy."""
USERS = ("st_user_source", "st_user_sink")
COLUMNS = {
    "id": ("int(11) NOT NULL", "i"),
    "f_binary": ("binary(64)", "unhex(sha2(i, 256))"),
    "f_blob": ("blob", "unhex(sha1(i))"),
    "f_long_varbinary": ("mediumblob", "unhex(lpad(hex(i), 16, '00FF'))"),
    "f_longblob": ("longblob", "unhex(sha2(i, 512))"),
    "f_tinyblob": ("tinyblob", "unhex(lpad(hex(i), 8, '00FF'))"),
    "f_varbinary": ("varbinary(100)", "unhex(md5(i))"),
    "f_smallint": ("smallint(6)", "-(i % 200) * 160"),
    "f_smallint_unsigned": ("smallint(5) unsigned", "65535 - i"),
    "f_mediumint": ("mediumint(9)", "-(i % 200) * 40000"),
    "f_mediumint_unsigned": ("mediumint(8) unsigned", "16777215 - i"),
    "f_int": ("int(11)", "-(i % 200) * 10000000"),
    "f_int_unsigned": ("int(10) unsigned", "4294967295 - i"),
    "f_integer": ("int(11)", "i - 50"),
    "f_integer_unsigned": ("int(10) unsigned", "i"),
    "f_bigint": ("bigint(20)", "-i * 4611686018427387"),
    "f_bigint_unsigned": ("bigint(20) unsigned", "18446744073709551615 - i"),
    "f_numeric": ("decimal(10,0)", "i * -9999"),
    "f_decimal": ("decimal(10,0)", "i * 1000"),
    "f_float": ("float", "i * 0.5"),
    "f_double": ("double", "i / 3"),
    "f_double_precision": ("double", "i / 7"),
    "f_longtext": ("longtext", "repeat('long ', i)"),
    "f_mediumtext": ("mediumtext", "concat('medium ', i, ' 中文')"),
    "f_text": ("text", "concat('text ', i, ' \\'quoted\\' \"double\" \\\\ \\t \\n')"),
    "f_tinytext": ("tinytext", "concat('tiny ', i)"),
    "f_varchar": ("varchar(100)", "concat('v', i, '  ')"),
    "f_date": ("date", "date '1960-02-28' + interval i * 200 day"),
    "f_datetime": ("datetime", "timestamp '2001-02-03 04:05:06' + interval i hour"),
    "f_timestamp": ("timestamp NULL", "timestamp '2011-02-03 04:05:06' + interval i minute"),
    "f_bit1": ("bit(1)", "i % 2"),
    "f_bit64": ("bit(64)", "i * 72057594037927"),
    "f_char": ("char(1)", "'c'"),
    "f_enum": ("enum('enum1','enum2','enum3')", "1 + i % 3"),
    "f_mediumblob": ("mediumblob", "unhex(sha1(i + 1))"),
    "f_long_varchar": ("mediumtext", "concat('long varchar ', i)"),
    "f_real": ("double", "i * 0.25"),
    "f_time": ("time", "sec_to_time(i % 200 * 400)"),
    "f_tinyint": ("tinyint(4)", "-i % 128"),
    "f_tinyint_unsigned": ("tinyint(3) unsigned", "255 - i % 200"),
    "f_json": ("json", """concat('{"i": ', i, '}')"""),
    "f_year": ("year(4)", "1990 + i % 100"),
}
"""Type and value of each column, as SQL over the number i of the row."""
SHOWN = {"f_bit1": "f_bit1 + 0", "f_bit64": "lpad(hex(f_bit64), 16, '0')"}
"""Bits are stored as bytes in a table that the job creates."""


def tables(server: Any) -> None:
    """The databases of SeaTunnel's tests: tables with rows, and empty tables for their copies."""
    assert isinstance(server, Mysql), "these jobs use no other server"
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in COLUMNS.items())
    databases = ("mysql_cdc", "mysql_cdc2", "shop")
    server.execute(
        *(f"DROP DATABASE IF EXISTS {name}" for name in databases),
        *(f"CREATE DATABASE {name} CHARACTER SET utf8mb4" for name in databases),
        *(f"CREATE OR REPLACE USER {name} IDENTIFIED BY 'mysqlpw'" for name in USERS),
        *(f"GRANT ALL ON *.* TO {name}" for name in USERS),
        f"CREATE TABLE {SOURCE} ({columns}, PRIMARY KEY (id))",
        f"CREATE TABLE {KEYLESS} ({columns})",
        f"CREATE TABLE {SINK} ({columns}, PRIMARY KEY (id))",
        *(_insert(table, 1, ROWS) for table in (SOURCE, KEYLESS)),
        f"CREATE TABLE {PRODUCTS} (id int NOT NULL AUTO_INCREMENT PRIMARY KEY, name varchar(255) NOT NULL DEFAULT "
        "'SeaTunnel', description varchar(512), weight float)",
        f"INSERT INTO {PRODUCTS} SELECT seq, concat('name ', seq), concat('text ', seq), seq / 4 FROM {_numbers(1, ROWS)}",
    )


def equal(source: str, target: str) -> Check:
    """The copy holds the rows of the table, value by value, with the columns that the table has now."""

    def check(left: Left) -> None:
        server = left.servers.mysql
        assert server is not None
        database, table = source.split(".")
        described = "SELECT column_name FROM information_schema.columns WHERE table_schema = '{}' AND table_name = '{}'"
        names = [name for (name,) in server.rows(described.format(database, table))]
        there = {name for (name,) in server.rows(described.format(*target.split(".")))}
        assert there == {*names}, f"{target} has the columns {sorted(there)}, and {source} has {sorted(names)}"
        shown = ", ".join(SHOWN.get(name, name) for name in names)
        wanted, found = (server.rows(f"SELECT {shown} FROM {one} ORDER BY id") for one in (source, target))
        assert wanted, f"{source} is empty: the check would say nothing"
        lacking, surplus = (sorted({*one} - {*other}, key=str) for one, other in ((wanted, found), (found, wanted)))
        assert found == wanted, f"{target} lacks {lacking[:1]} and has {surplus[:1]} instead"

    return check


def changes(table: str) -> Iterator[Callable[[Servers], None]]:
    """Inserts, then updates of all columns and of the key, then deletes."""
    values = ", ".join(f"{name} = {_value(at, name, 1)}" for at, name in enumerate(COLUMNS) if name != "id")
    yield from _steps(
        [_insert(table, ROWS + 1, 2 * ROWS)],
        [
            f"UPDATE {table} JOIN (SELECT id AS own, id + 7 AS i FROM {table}) numbers ON id = own SET {values} "
            "WHERE id % 3 = 0",
            f"UPDATE {table} SET f_bigint = 10000 WHERE id % 3 = 1",
            f"UPDATE {table} SET id = id + 1000 WHERE id % 7 = 0",
        ],
        [
            f"DELETE FROM {table} WHERE id % 2 = 0",
            f"UPDATE {table} SET f_text = NULL, f_smallint = 0 WHERE id % 5 = 0",
            _insert(table, 2, 2),
        ],
    )


def altered() -> Iterator[Callable[[Servers], None]]:
    """Columns come, get another name or type, and go, with rows between the statements."""
    more = f"INSERT INTO {PRODUCTS} (id, name) SELECT seq, 'more' FROM {{}}"
    yield from _steps(
        [
            f"ALTER TABLE {PRODUCTS} ADD COLUMN add_column1 varchar(64) NOT NULL DEFAULT 'yy', "
            "ADD COLUMN add_column2 int NOT NULL DEFAULT 1",
            more.format(_numbers(201, 210)),
            f"ALTER TABLE {PRODUCTS} ADD COLUMN add_column3 datetime, ADD COLUMN add_column4 varchar(64)",
            f"UPDATE {PRODUCTS} SET add_column3 = '2024-05-06 07:08:09', add_column1 = 'x' WHERE id % 4 = 0",
        ],
        [
            f"ALTER TABLE {PRODUCTS} CHANGE COLUMN add_column2 add_column_two int NOT NULL DEFAULT 1",
            f"ALTER TABLE {PRODUCTS} MODIFY COLUMN add_column4 varchar(200)",
            f"UPDATE {PRODUCTS} SET add_column4 = repeat('long ', 30), weight = id WHERE id % 3 = 0",
        ],
        [
            f"ALTER TABLE {PRODUCTS} DROP COLUMN add_column3, DROP COLUMN add_column1",
            more.format(_numbers(301, 305)),
            f"DELETE FROM {PRODUCTS} WHERE id % 5 = 0",
        ],
    )


def _steps(*steps: Iterable[str]) -> Iterator[Callable[[Servers], None]]:
    for statements in steps:

        def change(servers: Servers, statements: Iterable[str] = statements) -> None:
            assert servers.mysql is not None
            servers.mysql.execute(*statements)

        yield change


def _numbers(first: int, last: int) -> str:
    return f"seatunnel.seq_{first}_to_{last}"


def _insert(table: str, first: int, last: int) -> str:
    values = ", ".join(_value(at, name, 0) for at, name in enumerate(COLUMNS))
    return f"INSERT INTO {table} SELECT {values} FROM (SELECT cast(seq AS signed) AS i FROM {_numbers(first, last)}) numbers"


def _value(at: int, name: str, shift: int) -> str:
    """Every third value is null where it may be."""
    kind, value = COLUMNS[name]
    return value if "NOT NULL" in kind else f"if((i + {at + shift}) % 3 > 0, {value}, NULL)"
