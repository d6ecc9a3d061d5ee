"""Finds what depends on a table before another one takes its name.

A server shows only what the user has privileges for. Hidden triggers would be lost silently, so if they may be hidden,
they count as existing. A foreign key of a hidden table follows the old table, which then cannot be dropped; that is
reported.
"""

from __future__ import annotations

from seatunnel_connectors.jdbc.mysql.connection.session import quote
from seatunnel_connectors.jdbc.statements.target_dialect import StatementSession

_HOST = "substring_index(current_user(), '@', -1)"
_ME = f"""concat("'", left(current_user(), length(current_user()) - length({_HOST}) - 1), "'@'", {_HOST}, "'")"""
"""SQL for the current user, spelt as in information_schema's privileges."""


def ties(session: StatementSession, database: str, table: str, *, kept: bool) -> tuple[str, ...]:
    """Losses of this table or others if another one takes its name. ``kept``: the other one copies its structure, for
    which LIKE is incomplete."""
    place = (database, table)
    referring = session.ask(
        "SELECT DISTINCT constraint_schema, table_name FROM information_schema.referential_constraints "
        "WHERE unique_constraint_schema = %s AND referenced_table_name = %s",
        place,
    )
    found = [f"the foreign key of {'.'.join(row)}" for row in referring if row != place]
    [(kind, engine)] = session.ask(
        "SELECT table_type, engine FROM information_schema.tables WHERE table_schema = %s AND table_name = %s", place
    )
    if kind != "BASE TABLE":
        return (*found, f"that it is a {kind.lower()} table" if "VERSION" in kind else f"that it is a {kind.lower()}")
    if not kept:
        return tuple(found)
    keys = session.ask(
        "SELECT constraint_name FROM information_schema.table_constraints WHERE table_schema = %s AND table_name = %s "
        "AND constraint_type = 'FOREIGN KEY'",
        place,
    )
    triggers = session.ask(
        "SELECT trigger_name FROM information_schema.triggers "
        "WHERE event_object_schema = %s AND event_object_table = %s",
        place,
    )
    found += [f"its foreign key {name}" for (name,) in keys] + [f"its trigger {name}" for (name,) in triggers]
    if not triggers and not _sees_triggers(session, database, table):
        found.append("triggers, which this user may not see (grant TRIGGER)")
    if engine != "InnoDB":
        found.append(f"that its engine is {engine}")
    if "DIRECTORY=" in session.ask(f"SHOW CREATE TABLE {quote(database, table)}")[0][1].replace(" ", ""):
        found.append("its DATA DIRECTORY")
    return tuple(found)


def _sees_triggers(session: StatementSession, database: str, table: str) -> bool:
    """True if triggers are visible. A privilege by a role is not found here, and counts as missing."""
    mine = f"privilege_type = 'TRIGGER' AND grantee = {_ME}"
    sql = (
        f"SELECT 1 FROM information_schema.user_privileges WHERE {mine} UNION "
        f"SELECT 1 FROM information_schema.schema_privileges WHERE {mine} AND %s LIKE table_schema UNION "
        f"SELECT 1 FROM information_schema.table_privileges WHERE {mine} AND table_schema = %s AND table_name = %s"
    )
    return bool(session.ask(sql, (database, database, table)))


def shape(
    session: StatementSession, database: str, table: str
) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    """Columns and indexes, for comparison with a table created from it."""
    columns = session.ask(
        "SELECT column_name, column_type, is_nullable, column_default, extra FROM information_schema.columns "
        "WHERE table_schema = %s AND table_name = %s ORDER BY ordinal_position",
        (database, table),
    )
    indexes = session.ask(
        "SELECT index_name, seq_in_index, column_name, non_unique FROM information_schema.statistics "
        "WHERE table_schema = %s AND table_name = %s ORDER BY 1, 2",
        (database, table),
    )
    return columns, indexes
