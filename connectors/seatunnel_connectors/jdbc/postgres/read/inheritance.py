"""Handles tables that inherit from others: PostgreSQL reads the rows of all heirs with a table.

Rules. (1) No row is read twice: if an heir is read separately, or is excluded, the table is read without the rows of
its heirs. (2) Otherwise they are included, as in a query, and its key proves nothing: an heir may hold the same key.
(3) An heir whose rows are not read in either way is reported.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from typing import TypeAlias

from seatunnel_connectors.jdbc.postgres.connection.catalog import FoundTable
from seatunnel_connectors.jdbc.postgres.connection.session import Statements

Name: TypeAlias = tuple[str, str]

_HEIRS = """
    WITH RECURSIVE below (root, oid) AS (
        SELECT inhparent, inhrelid FROM pg_inherits WHERE inhparent = ANY(%s)
        UNION
        SELECT b.root, i.inhrelid FROM below b JOIN pg_inherits i ON i.inhparent = b.oid
    )
    SELECT b.root, n.nspname, c.relname
    FROM below b JOIN pg_class c ON c.oid = b.oid JOIN pg_namespace n ON n.oid = c.relnamespace
"""


def divide(
    db: Statements, chosen: Collection[FoundTable], excluded: Callable[[str, str], bool]
) -> Iterator[tuple[Name, str]]:
    """Mark the chosen tables that are read without their heirs; yield the heirs that are then not read, with the
    reason."""
    family = _heirs(db, [table.oid for table in chosen if table.inherited])
    names = {(table.schema, table.name) for table in chosen}
    for table in chosen:
        own = family.get(table.oid, set())
        table.inherited = bool(own)
        table.alone = any(one in names or excluded(*one) for one in own)
    come = set[Name]().union(names, *(family[table.oid] for table in chosen if table.inherited and not table.alone))
    for table in chosen:
        why = f"{table.schema}.{table.name}, from which they inherit, is read without the rows of its heirs"
        own = family[table.oid] if table.alone else set()
        yield from ((one, why) for one in sorted(own - come) if not excluded(*one))


def _heirs(db: Statements, oids: list[int]) -> dict[int, set[Name]]:
    """All tables that inherit from each of these, over generations."""
    found: dict[int, set[Name]] = defaultdict(set)
    for oid, schema, name in db.execute(_HEIRS, [oids]) if oids else ():
        found[oid].add((schema, name))
    return found
