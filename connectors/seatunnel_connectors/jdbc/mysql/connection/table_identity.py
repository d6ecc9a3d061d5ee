"""Which table stands at a name of MySQL and MariaDB.

InnoDB numbers its tables: another name keeps the number; TRUNCATE and what builds the table anew (some ALTER TABLE,
OPTIMIZE TABLE) change it. A user without the right PROCESS is not told. Then the time at which the table was made
stands for the number; in MariaDB another name changes that as well.
"""

from __future__ import annotations

import pymysql

from seatunnel_connectors.jdbc.statements.load_plan import Load
from seatunnel_connectors.jdbc.statements.target_dialect import Session

LOST_BY = "emptied by TRUNCATE, or rebuilt by ALTER TABLE or OPTIMIZE TABLE"
_CREATED = "created"
_LISTS = ("innodb_sys_tables", "innodb_tables")
"""In MariaDB and before MySQL 8; since."""
_NOT_TOLD = (1044, 1064, 1109, 1115, 1142, 1227, 1267)
"""The list is not there or not for this user; or the server does not spell names as files."""
_FILE = "CONVERT(CAST(CONVERT({} USING filename) AS BINARY) USING utf8mb4)"
_FILE_NAME = f"SELECT CONCAT({_FILE.format('%s')}, '/', {_FILE.format('%s')}), @@lower_case_table_names"
_BY_NAME = "BINARY name = BINARY %s OR BINARY LOWER(LEFT(name, %s)) = BINARY LOWER(%s)"


def told_by(session: Session, database: str, table: str) -> str:
    """The list that has the number, and the table's name there; or that it goes by the time."""
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


def table_id(session: Session, load: Load) -> str | None:
    """None: there is no such table."""
    shown, _, name = load.told_by.partition(" ")
    if name:
        parts = name + "#p#"  # of a table in parts each has a number
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


def name_of(session: Session, load: Load, table_id: str) -> str | None:
    """None: there is no such table any more, or the server does not tell."""
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
