"""Identifies the table that has a name in MySQL and MariaDB.

InnoDB numbers its tables. A rename keeps the number; TRUNCATE and statements that rebuild the table (some ALTER TABLE,
OPTIMIZE TABLE) change it. Users without the privilege PROCESS cannot read it. For them the table's creation time
replaces the number; in MariaDB a rename changes that as well.
"""

from __future__ import annotations

import pymysql

from seatunnel_connectors.jdbc.statements.load_plan import StatementLoad
from seatunnel_connectors.jdbc.statements.target_dialect import StatementSession

LOST_BY = "emptied by TRUNCATE, or rebuilt by ALTER TABLE or OPTIMIZE TABLE"
_CREATED = "created"
_LISTS = ("innodb_sys_tables", "innodb_tables")
"""The list of table numbers: in MariaDB and before MySQL 8; since MySQL 8."""
_NOT_TOLD = (1044, 1064, 1109, 1115, 1142, 1227, 1267)
"""The list is missing or not readable for this user; or the server does not spell names as files."""
_FILE = "CONVERT(CAST(CONVERT({} USING filename) AS BINARY) USING utf8mb4)"
_FILE_NAME = f"SELECT CONCAT({_FILE.format('%s')}, '/', {_FILE.format('%s')}), @@lower_case_table_names"
_BY_NAME = "BINARY name = BINARY %s OR BINARY LOWER(LEFT(name, %s)) = BINARY LOWER(%s)"


def told_by(session: StatementSession, database: str, table: str) -> str:
    """The list with the number, and the table's name there; or a marker that the creation time is used."""
    for one in _LISTS:
        try:
            [(name, folds)] = session.ask(_FILE_NAME, (database, table))
            session.ask(f"SELECT table_id FROM information_schema.{one} WHERE table_id = 0")
        except pymysql.Error as error:
            if not error.args or error.args[0] not in _NOT_TOLD:
                raise
        else:
            return f"{one} {name.lower() if folds else name}"
    return _CREATED


def table_id(session: StatementSession, load: StatementLoad) -> str | None:
    """The table's id; None: there is no such table."""
    shown, _, name = load.told_by.partition(" ")
    if name:
        parts = name + "#p#"  # each part of a partitioned table has its own number
        rows = session.ask(
            f"SELECT MIN(table_id) FROM information_schema.{shown} WHERE {_BY_NAME}", (name, len(parts), parts)
        )
        if rows[0][0] is not None:
            return f"id {rows[0][0]}"
    rows = session.ask(
        "SELECT create_time FROM information_schema.tables WHERE table_schema = %s AND table_name = %s",
        (load.database, load.table),
    )
    return f"{_CREATED} {rows[0][0]}" if rows else None


def name_of(session: StatementSession, load: StatementLoad, table_id: str) -> str | None:
    """The table's name; None: it no longer exists, or the server does not reveal it."""
    shown, _, known = load.told_by.partition(" ")
    kind, _, number = table_id.partition(" ")
    if not known or kind != "id":
        return None
    name = "CONVERT(CONVERT(BINARY SUBSTRING_INDEX({}, '/', {}) USING filename) USING utf8mb4)"
    rows = session.ask(
        f"SELECT CONCAT({name.format('name', 1)}, '.', {name.format('name', -1)}) FROM information_schema.{shown} "
        "WHERE table_id = %s",
        (int(number),),
    )
    return str(rows[0][0]) if rows else None
