"""Refuses tables with row-level security, by which PostgreSQL may silently hide rows from a user.

A query is read as it is: use one to read the rows that policies allow.
"""

from __future__ import annotations

from seatunnel_connectors.jdbc.postgres.connection.session import quote
from seatunnel_py.api import FatalError, TablePath


def of_source(path: TablePath, user: str) -> tuple[str, str]:
    """Cause and remedy for a source table with policies."""
    relation = quote(path.schema, path.table)
    return (
        f"policies of row-level security may hide rows of it from the user {user!r}",
        f"ALTER ROLE {quote(user)} BYPASSRLS; or read what the policies show by `query`: SELECT * FROM {relation}",
    )


def of_target(shown: str, user: str) -> FatalError:
    """Error for a target: hidden rows can neither be counted, nor found by their keys."""
    return FatalError(
        f"the sink table {shown}: policies of row-level security apply to the user {user!r}, who may not see rows "
        "that are there",
        f"ALTER ROLE {quote(user)} BYPASSRLS; or write as the table's owner",
    )
