"""The tables that jobs follow, on a server that this run started, and the changes that they follow.

Columns are those of SeaTunnel's own tests: the jobs name no columns. Rows are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from e2e.conformance.content import Check, Left
from e2e.conformance.servers import Postgres, Servers

PG = "postgres_cdc"
PG_KEYLESS = "full_types_no_primary_key"
PG_JOBS = {
    "postgrescdc_to_postgres": {"postgres_cdc_table_1": "sink_postgres_cdc_table_1"},
    "postgrescdc_to_postgres_with_custom_primary_key": {PG_KEYLESS: "sink_postgres_cdc_table_1"},
    "pgcdc_to_pg_with_multi_table_mode_one_table": {"postgres_cdc_table_1": "sink_postgres_cdc_table_1"},
    "pgcdc_to_pg_with_multi_table_mode_two_table": {
        f"postgres_cdc_table_{number}": f"sink_postgres_cdc_table_{number}" for number in (1, 2)
    },
}
"""By job, the table with the copy of each table."""

ROWS = 100
# Type and value of each column, as SQL over the number i of the row.
PG_COLUMNS = {
    "id": ("int NOT NULL", "i"),
    "f_bytea": ("bytea", "decode(md5(i::text), 'hex') || '\\x00ff'::bytea"),
    "f_small": ("smallint", "32767 - i"),
    "f_int": ("int", "i * -65535"),
    "f_big": ("bigint", "i * 9223372036854775"),
    "f_real": ("real", "i * 0.1"),
    "f_double_precision": ("double precision", "i / 3.0"),
    "f_numeric": ("numeric(10, 5)", "i * -1.00001"),
    "f_decimal": ("decimal(10, 1)", "i * 404.4"),
    "f_boolean": ("boolean", "i % 2 = 0"),
    "f_text": ("text", "repeat('text ' || i || E' \\'quoted\\' \"double\" back\\\\slash\\ttab\\nline 中文', i)"),
    "f_char": ("char", "chr(97 + i % 26)"),
    "f_character": ("char(3)", "'c' || i % 10"),
    "f_character_varying": ("varchar(20)", "'v' || i || '  '"),
    "f_timestamp3": ("timestamp(3)", "timestamp '2020-07-17 18:00:22.123' + i * interval '1 hour'"),
    "f_timestamp6": ("timestamp(6)", "timestamp '1960-07-17 18:00:22.123456' + i * interval '1 day'"),
    "f_date": ("date", "date '1960-02-28' + i * 200"),
    "f_time": ("time(0)", "time '18:00:22' + i * interval '1 second'"),
    "f_default_numeric": ("numeric", "500 + i * 0.123456789"),
    "f_inet": ("inet", "('192.168.1.' || i % 256)::inet"),
}


def pg_tables(server: Any) -> None:
    """The database of SeaTunnel's tests: tables with rows, and empty tables for their copies."""
    assert isinstance(server, Postgres), "these jobs use no other server"
    if not server.rows(f"SELECT 1 FROM pg_database WHERE datname = '{PG}'"):
        server.execute(f"CREATE DATABASE {PG}")
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in PG_COLUMNS.items())
    statements = ["DROP SCHEMA IF EXISTS inventory CASCADE", "CREATE SCHEMA inventory"]
    for number in (1, 2):
        statements += (
            f"CREATE TABLE inventory.{name}postgres_cdc_table_{number} ({columns}, PRIMARY KEY (id))"
            for name in ("", "sink_")
        )
    statements.append(f"CREATE TABLE inventory.{PG_KEYLESS} ({columns})")
    for name in ("postgres_cdc_table_1", "postgres_cdc_table_2", PG_KEYLESS):
        statements += (f"ALTER TABLE inventory.{name} REPLICA IDENTITY FULL", _pg_insert(name, 1, ROWS))
    server.execute(*statements, database=PG)


def pg_equal(source: str, target: str) -> Check:
    """The copy holds the rows of the table, value by value."""

    def check(left: Left) -> None:
        server = left.servers.postgres
        assert server is not None
        names = ", ".join(f"{name}::text" for name in PG_COLUMNS)
        query = f"SELECT {names} FROM inventory.%s ORDER BY id"
        wanted, found = server.rows(query % source, PG), server.rows(query % target, PG)
        assert wanted, f"{source} is empty: the check would say nothing"
        lacking, surplus = sorted(set(wanted) - set(found), key=str), sorted(set(found) - set(wanted), key=str)
        assert found == wanted, f"{target} lacks {lacking[:1]} and has {surplus[:1]} instead"

    return check


def pg_changes(*tables: str) -> Iterator[Callable[[Servers], None]]:
    """Inserts, then updates of all columns and of the key, then deletes."""
    values = ", ".join(_pg_value(at, name, 1) for at, name in enumerate(PG_COLUMNS) if name != "id")
    names = ", ".join(name for name in PG_COLUMNS if name != "id")
    for statements in (
        [_pg_insert("%s", ROWS + 1, 2 * ROWS)],
        [
            f"UPDATE inventory.%s SET ({names}) = (SELECT {values} FROM (SELECT id + 7 AS i) number) WHERE id % 3 = 0",
            "UPDATE inventory.%s SET f_big = 10000 WHERE id % 3 = 1",
            "UPDATE inventory.%s SET id = id + 1000 WHERE id % 7 = 0",
        ],
        [
            "DELETE FROM inventory.%s WHERE id % 2 = 0",
            "UPDATE inventory.%s SET f_text = NULL, f_small = 0 WHERE id % 5 = 0",
            _pg_insert("%s", 2, 2),
        ],
    ):

        def change(servers: Servers, statements: list[str] = statements) -> None:
            assert servers.postgres is not None
            servers.postgres.execute(*(one.replace("%s", table) for table in tables for one in statements), database=PG)

        yield change


def pg_ended(left: Left) -> None:
    """The job leaves one slot and one publication, which nothing uses; they are dropped as the docs say."""
    server = left.servers.postgres
    assert server is not None
    slots = server.rows(f"SELECT slot_name, active FROM pg_replication_slots WHERE database = '{PG}'")
    publications = server.rows("SELECT pubname FROM pg_publication", PG)
    server.execute(
        *(f"SELECT pg_drop_replication_slot('{name}')" for name, _ in slots),
        *(f"DROP PUBLICATION {name}" for (name,) in publications),
        database=PG,
    )
    assert [(name, False) for (name,) in publications] == slots, f"it leaves slots {slots}, publications {publications}"
    assert len(slots) == 1, f"it leaves {len(slots)} slots"


def _pg_insert(table: str, first: int, last: int) -> str:
    values = ", ".join(_pg_value(at, name, 0) for at, name in enumerate(PG_COLUMNS))
    return f"INSERT INTO inventory.{table} SELECT {values} FROM generate_series({first}, {last}) i"


def _pg_value(at: int, name: str, shift: int) -> str:
    """Every third value is null where it may be."""
    kind, value = PG_COLUMNS[name]
    return value if "NOT NULL" in kind else f"CASE WHEN (i + {at + shift}) % 3 > 0 THEN {value} END"
