"""Row-level security: PostgreSQL hides rows from a user without a word, so a table that may do so is refused.

A query is what it gives: whoever wants the rows that policies show writes one.
"""

from __future__ import annotations

from seatunnel_connectors.jdbc.postgres.connection.session import quote
from seatunnel_py.api import FatalError, TablePath


def of_source(path: TablePath, user: str) -> tuple[str, str]:
    """What is wrong with reading such a table, and what helps."""
    relation = quote(path.schema, path.table)
    return (
        f"policies of row-level security may hide rows of it from the user {user!r}",
        f"ALTER ROLE {quote(user)} BYPASSRLS; or read what the policies show by `query`: SELECT * FROM {relation}",
    )


def of_target(shown: str, user: str) -> FatalError:
    """Rows that are hidden could neither be counted, nor found by their keys."""
    return FatalError(
        f"the sink table {shown}: policies of row-level security apply to the user {user!r}, who may not see rows "
        "that are there",
        f"ALTER ROLE {quote(user)} BYPASSRLS; or write as the table's owner",
    )
