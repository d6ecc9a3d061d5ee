"""Spells table names as the server stores them: in small letters if lower_case_table_names is 1, as created if it is 2.
Letter case distinguishes names only with 0."""

from __future__ import annotations

from seatunnel_connectors.jdbc.statements.target_dialect import StatementSession

SMALL, AS_GIVEN = 1, 2
_STORED = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE lower(table_schema) = lower(%s) AND lower(table_name) = lower(%s)"
)


def rule(session: StatementSession) -> int:
    """Value of lower_case_table_names on the server."""
    return int(session.ask("SELECT @@lower_case_table_names")[0][0])


def stored(session: StatementSession, database: str, table: str) -> tuple[str, str]:
    """Database and table as stored in information_schema; the table need not exist yet."""
    kept = rule(session)
    if kept == SMALL:
        return database.lower(), table.lower()
    found = session.ask(_STORED, (database, table)) if kept == AS_GIVEN else []
    return (str(found[0][0]), str(found[0][1])) if found else (database, table)
