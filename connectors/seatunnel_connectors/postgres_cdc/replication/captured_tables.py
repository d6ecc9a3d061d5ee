"""Looks in the catalog whether the captured tables are still those that are followed.

The log does not show that one was dropped, renamed or taken out of the publication, nor that another has its name.

Rules. (1) A table is known by its oid, which no other table gets. (2) A loss that the catalog shows counts from
the place of the log that all finished transactions are before: all rows of the table are given first. (3) A look takes
no lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, explained, quote
from seatunnel_py.api import COPY_AGAIN, Position, SchemaChange, SourceTable, TablePath

OID = "oid"
"""Key of ``SourceTable.log_hints``: the table itself, which another one of its name is not."""
LOST = "lost"
"""Key of ``SourceTable.log_hints``: why the log has nothing of the table any more."""
LOOK_SECONDS = 10.0
_LOOK = """
    SELECT w.place::int, c.oid IS NOT NULL, n.nspname::text, c.relname::text, named.oid IS NOT NULL,
           c.oid IS NULL OR p.puballtables OR c.relispartition {schemas}
           OR EXISTS (SELECT 1 FROM pg_publication_rel r WHERE r.prpubid = p.oid AND r.prrelid = c.oid)
    FROM unnest(%s::oid[], %s::text[], %s::text[]) WITH ORDINALITY AS w (oid, schema_name, table_name, place)
    JOIN pg_publication p ON p.pubname = %s
    LEFT JOIN pg_class c ON c.oid = w.oid
    LEFT JOIN pg_namespace n ON n.oid = c.relnamespace
    LEFT JOIN pg_namespace s ON s.nspname = w.schema_name
    LEFT JOIN pg_class named ON named.relnamespace = s.oid AND named.relname = w.table_name
"""
_SCHEMAS = "OR EXISTS (SELECT 1 FROM pg_publication_namespace r WHERE r.pnpubid = p.oid AND r.pnnspid = c.relnamespace)"
_SCHEMAS_SINCE = 150000


@dataclass(frozen=True, slots=True)
class LostTable:
    """A table that is not followed any more: ``fact``: a sentence; ``place``: the log before it has all rows."""

    path: TablePath
    fact: str
    remedy: str
    place: int = 0

    def change(self, table: SourceTable, end: Position) -> SchemaChange:
        """The element of the log by which the table stops."""
        return SchemaChange(
            self.path, table.schema, table.schema, statement=self.fact, end=end, stops=(self.fact, self.remedy),
            log_hints={**table.log_hints, LOST: self.fact},
        )  # fmt: skip


def oid_of(table: SourceTable) -> int | None:
    """The oid of a table; None: an older version has described it."""
    found = table.log_hints.get(OID)
    return found if isinstance(found, int) else None


@dataclass(slots=True)
class CapturedTables:
    """The captured tables by their oids. ``session`` opens a connection for statements; ``end_of_log``: the place of
    rule 2. ``lost``: those that are not followed any more."""

    oids: Mapping[TablePath, int]
    publication: str
    session: Callable[[], AbstractContextManager[Statements]]
    end_of_log: Callable[[Statements], tuple[int, object]]
    lost: dict[TablePath, LostTable] = field(default_factory=dict)
    _next_look: float = 0.0

    def look(self) -> None:
        """Look again, if it is time for that."""
        oids = {path: oid for path, oid in self.oids.items() if path not in self.lost}
        if not oids or time.monotonic() < self._next_look:
            return
        with self.session() as db, explained("looking for the captured tables"):
            if found := lost_tables(db, oids, self.publication):
                place, _ = self.end_of_log(db)
                self.lost |= {one.path: replace(one, place=place) for one in found}
        self._next_look = time.monotonic() + LOOK_SECONDS


def lost_tables(db: Statements, oids: Mapping[TablePath, int], publication: str) -> list[LostTable]:
    """Return the tables that are not followed any more."""
    paths = list(oids)
    query = _LOOK.format(schemas=_SCHEMAS if db.info.server_version >= _SCHEMAS_SINCE else "")
    given = [list(oids.values()), [one.schema for one in paths], [one.table for one in paths], publication]
    found = []
    for place, exists, schema, name, is_named, is_published in db.execute(query.encode(), given).fetchall():
        path = paths[place - 1]
        is_called_so = (schema, name) == (path.schema, path.table)
        if exists and not is_called_so:
            found.append(_renamed(path, f"{schema}.{name}", is_named=is_named))
        elif exists and not is_published:
            found.append(_unpublished(path, publication))
        elif not exists:
            found.append(_dropped(path, is_named=is_named))
    return found


def _renamed(path: TablePath, name: str, *, is_named: bool) -> LostTable:
    other = ", and another table has its name now" if is_named else ""
    remedy = f"name {name} in the job, which copies it; or {COPY_AGAIN}"
    return LostTable(path, f"table {path} was renamed to {name} at the source{other}", remedy)


def _unpublished(path: TablePath, publication: str) -> LostTable:
    statement = f"ALTER PUBLICATION {quote(publication)} ADD TABLE {quote(path.schema, path.table)}"
    fact = f"table {path} was taken out of the publication {publication!r}"
    return LostTable(path, fact, f"{statement}; then {COPY_AGAIN}")


def _dropped(path: TablePath, *, is_named: bool) -> LostTable:
    if is_named:
        return LostTable(path, f"table {path} was dropped and created again at the source", COPY_AGAIN)
    remedy = f"take it out of the job, which leaves its target as it is; if it is created again, {COPY_AGAIN}"
    return LostTable(path, f"table {path} was dropped at the source", remedy)
