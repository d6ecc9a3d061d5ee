"""Finds the types of columns in the catalog, by oid: the stream names a type by its number only."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from seatunnel_connectors.jdbc.postgres.connection.session import Statements, explained
from seatunnel_connectors.jdbc.postgres.connection.types import NativeType

# A domain's modifier is its own or that of the nearest domain below it that has one.
_TYPES = """
    WITH RECURSIVE based (oid, base, modifier) AS (
        SELECT oid, oid, -1 FROM pg_type WHERE oid = ANY(%s)
        UNION ALL
        SELECT b.oid, t.typbasetype, greatest(b.modifier, t.typtypmod)
        FROM based b JOIN pg_type t ON t.oid = b.base WHERE t.typtype = 'd'
    )
    SELECT b.oid, t.typname, b.modifier, t.typtype::text,
           CASE WHEN t.typcategory = 'A' THEN coalesce(e.typname, '') ELSE '' END
    FROM based b JOIN pg_type t ON t.oid = b.base LEFT JOIN pg_type e ON e.oid = t.typelem
    WHERE t.typtype <> 'd'
"""


@dataclass(slots=True)
class CatalogTypes:
    """A ``relations.TypeLookup``. Types that were found are kept: an oid never means another type."""

    db: Statements
    known: dict[int, NativeType] = field(default_factory=dict)

    def __call__(self, oids: Collection[int]) -> Mapping[int, NativeType]:
        if missing := [oid for oid in oids if oid not in self.known]:
            with explained("looking types up"):
                for oid, name, modifier, category, element in self.db.execute(_TYPES, [missing]):
                    self.known[oid] = NativeType(name, modifier, category, element)
        return {oid: self.known[oid] for oid in oids if oid in self.known}
