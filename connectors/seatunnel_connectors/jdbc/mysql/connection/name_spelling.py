"""Names of tables as the server keeps them: with lower_case_table_names = 1 in small letters, with 2 as they were given
first. Letter case tells names apart only with 0."""

from __future__ import annotations

from seatunnel_connectors.jdbc.statements.target_dialect import Session

SMALL, AS_GIVEN = 1, 2
_STORED = (
    "SELECT table_schema, table_name FROM information_schema.tables "
    "WHERE lower(table_schema) = lower(%s) AND lower(table_name) = lower(%s)"
)


def rule(session: Session) -> int:
    """lower_case_table_names of the server."""
    return int(session.ask("SELECT @@lower_case_table_names")[0][0])


def stored(session: Session, database: str, table: str) -> tuple[str, str]:
    """Database and table as they are found in information_schema; a table need not be there yet."""
    kept = rule(session)
    if kept == SMALL:
        return database.lower(), table.lower()
    found = session.ask(_STORED, (database, table)) if kept == AS_GIVEN else []
    return (str(found[0][0]), str(found[0][1])) if found else (database, table)
