"""Keeps the descriptions of tables in the stream: columns by version, and differences from the version before.

A server describes a table before its first row in a session, and again whenever something may have changed, which is
mostly nothing. Only a difference in columns, name or replica identity makes a new version.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from seatunnel_connectors.jdbc.postgres.connection.types import NativeType, read_as
from seatunnel_connectors.postgres_cdc.pgoutput.messages import Fields
from seatunnel_py.api import Column, DataType, PrimaryKey, TablePath, TableSchema, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

FULL, NOTHING = "f", "n"
_IDENTITIES = "dnfi"  # default, nothing, full, an index
_KEY_FLAG = 1

TypeLookup: TypeAlias = Callable[[Collection[int]], Mapping[int, NativeType]]
"""Finds types by their oids, domains resolved; types that are dropped are missing."""


@dataclass(frozen=True, slots=True)
class RelationColumn:
    """A column as the stream describes it. ``identity``: it belongs to the replica identity."""

    name: str
    type_oid: int
    modifier: int
    identity: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """A table as the stream describes it; ``replica_identity`` is the catalog's letter."""

    oid: int
    schema: str
    name: str
    replica_identity: str
    columns: tuple[RelationColumn, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)


def parse_relation(message: bytes, at: int = 1) -> Relation:
    """Parse a Relation message."""
    fields = Fields(message, at)
    oid, schema, name, identity = fields.u4(), fields.text(), fields.text(), chr(fields.u1())
    if identity not in _IDENTITIES:
        raise fields.wrong(f"the replica identity {identity!r} is unknown")
    columns = []
    for _ in range(fields.u2()):
        flags, column, type_oid, modifier = fields.u1(), fields.text(), fields.u4(), fields.u4()
        modifier -= (modifier & 0x80000000) << 1
        columns.append(RelationColumn(column, type_oid, modifier, bool(flags & _KEY_FLAG)))
    fields.finish()
    names = [column.name for column in columns]
    if len(set(names)) < len(names):
        raise fields.wrong("it names a column twice")
    return Relation(oid, schema or "pg_catalog", name, identity, tuple(columns))


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A table from one Relation message to the next one that differs. ``number`` counts from 0 in this cache; ``key``
    are the columns that identify rows: those of the caller, else those of the replica identity."""

    path: TablePath
    relation: Relation
    number: int
    types: tuple[DataType, ...]
    natives: tuple[NativeType, ...]
    key: tuple[str, ...]

    def schema(self) -> TableSchema:
        """The table as a step sees it. The stream does not show which columns take nulls."""
        columns = tuple(Column(name, dtype) for name, dtype in zip(self.relation.names, self.types, strict=True))
        return TableSchema(self.path, columns, PrimaryKey(self.key) if self.key else None)

    def arrow(self) -> pa.Schema:
        """The schema of its batches: every column takes nulls, for absent cells are null."""
        return _arrow(self.relation.names, self.types)


@lru_cache(maxsize=4096)
def _arrow(names: tuple[str, ...], types: tuple[DataType, ...]) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([pa.field(name, to_arrow(dtype)) for name, dtype in zip(names, types, strict=True)])


@dataclass(frozen=True, slots=True)
class RelationChange:
    """The table differs from here on. A renamed column is one that is dropped and one that is added: only the attribute
    numbers of the catalog show the difference. ``renamed`` is the table itself, and ``recreated``: another table, with
    its own oid, has the name by now. ``identity``: the key or the replica identity is another one."""

    before: TableVersion
    after: TableVersion
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    retyped: tuple[str, ...] = ()
    reordered: bool = False
    renamed: bool = False
    recreated: bool = False
    identity: bool = False


@dataclass(frozen=True, slots=True)
class TableRefused:
    """The table's rows cannot be given exactly, for the reason in ``message``. Rows of earlier changes were given, and
    none is given from here on."""

    path: TablePath
    message: str
    remedy: str


@dataclass(slots=True)
class RelationCache:
    """The tables of one stream, by oid. ``keys`` gives the columns of a table's primary key, if the caller knows them:
    under REPLICA IDENTITY FULL the stream flags every column. ``wanted`` decides by name and oid whose rows are
    given."""

    types: TypeLookup
    database: str = ""
    keys: Callable[[TablePath], Sequence[str]] = lambda path: ()
    wanted: Callable[[TablePath, int], bool] = lambda path, oid: True
    tables: dict[int, TableVersion] = field(default_factory=dict)
    ignored: dict[int, Relation] = field(default_factory=dict)
    refused: dict[int, TableRefused] = field(default_factory=dict)

    def same(self, relation: Relation) -> bool:
        """True if the message describes no difference."""
        known = self.tables.get(relation.oid)
        return relation == (known.relation if known else self.ignored.get(relation.oid))

    def put(self, relation: Relation) -> RelationChange | TableRefused | None:
        """Take a Relation message with a difference; None if the table is new."""
        path = TablePath(self.database, relation.schema, relation.name)
        before = self.tables.get(relation.oid) or self._of_that_name(path)
        if before is None and not self.wanted(path, relation.oid):
            self.ignored[relation.oid] = relation
            return None
        if relation.oid in self.refused:
            self.ignored[relation.oid] = relation
            return None
        found = self._version(relation, path, before)
        if isinstance(found, TableRefused):
            return self.refuse(relation.oid, found)
        self.ignored.pop(relation.oid, None)
        if before:
            self.tables.pop(before.relation.oid, None)
        self.tables[relation.oid] = found
        return _change(before, found) if before else None

    def refuse(self, oid: int, why: TableRefused) -> TableRefused:
        """Give no more rows of the table."""
        self.refused[oid] = why
        known = self.tables.pop(oid, None)
        if known:
            self.ignored[oid] = known.relation
        else:
            self.ignored.setdefault(oid, Relation(oid, why.path.schema, why.path.table, NOTHING, ()))
        return why

    def _of_that_name(self, path: TablePath) -> TableVersion | None:
        """The table that was dropped or moved away before another one got its name."""
        return next((table for table in self.tables.values() if table.path == path), None)

    def _version(self, relation: Relation, path: TablePath, before: TableVersion | None) -> TableVersion | TableRefused:
        natives = self.types({column.type_oid for column in relation.columns})
        types = []
        for column in relation.columns:
            native = natives.get(column.type_oid)
            if native is None:
                return TableRefused(
                    path, f"table {path}: the type {column.type_oid} of column {column.name!r} is no longer in the "
                    "catalog, so its values cannot be read",
                    "copy the table anew, which starts behind this change",
                )  # fmt: skip
            native = native if native.modifier >= 0 else _with_modifier(native, column.modifier)
            mapped = read_as(native)
            if mapped is None:
                return TableRefused(
                    path, f"table {path}: column {column.name!r} is of type {native.name}, which cannot be read",
                    "take the table out of the job, or the column out of the publication",
                )  # fmt: skip
            types.append((mapped[0], native))
        known = tuple(self.keys(path))
        flagged = tuple(column.name for column in relation.columns if column.identity)
        return TableVersion(
            path, relation, before.number + 1 if before else 0, tuple(dtype for dtype, _ in types),
            tuple(native for _, native in types), known if set(known) <= set(relation.names) and known else flagged,
        )  # fmt: skip


def _with_modifier(native: NativeType, modifier: int) -> NativeType:
    return NativeType(native.name, modifier, native.category, native.element)


def _change(before: TableVersion, after: TableVersion) -> RelationChange:
    old = {column.name: (column.type_oid, column.modifier) for column in before.relation.columns}
    new = {column.name: (column.type_oid, column.modifier) for column in after.relation.columns}
    stays = [name for name in new if name in old]
    return RelationChange(
        before, after,
        added=tuple(name for name in new if name not in old),
        dropped=tuple(name for name in old if name not in new),
        retyped=tuple(name for name in stays if old[name] != new[name]),
        reordered=stays != [name for name in old if name in new],
        renamed=before.path != after.path,
        recreated=before.relation.oid != after.relation.oid,
        identity=before.relation.replica_identity != after.relation.replica_identity or before.key != after.key,
    )  # fmt: skip
