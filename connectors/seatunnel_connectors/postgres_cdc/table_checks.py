"""Checks before a job starts: whether the server writes the log that is needed, and whether it names the rows of each
table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from seatunnel_connectors.jdbc.postgres.connection.catalog import WITH_DOMAINS
from seatunnel_connectors.jdbc.postgres.connection.session import explained, quote, statements
from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.jdbc.source.source import hints_of
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.postgres_cdc.replication.captured_tables import OID
from seatunnel_py.api import FatalError, Plain, PrimaryKey, SourceTable, TableFailure

ATTRIBUTES = "attributes"
"""Key of ``SourceTable.log_hints``: by column its number, type and modifier in pg_attribute. A renamed column keeps its
number, and two types may be read as the same one."""
_DEFAULT, _FULL = "d", "f"
_LACKING = {"n": "NOTHING", "i": "USING INDEX, without that index"}
_TABLES = f"""{WITH_DOMAINS}
    SELECT n.nspname, c.relname, c.relreplident::text, c.relpersistence::text,
           ARRAY(SELECT a.attname::text FROM pg_index i
                 CROSS JOIN unnest((i.indkey::int2[])[0:i.indnkeyatts - 1]) WITH ORDINALITY AS k (attnum, place)
                 JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum
                 WHERE i.indrelid = c.oid
                 AND CASE c.relreplident WHEN 'i' THEN i.indisreplident WHEN 'd' THEN i.indisprimary END
                 ORDER BY k.place),
           ARRAY(SELECT a.attname::text FROM pg_attribute a
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated <> ''),
           (SELECT json_object_agg(a.attname, json_build_array(a.attnum, a.atttypid::int8, a.atttypmod))
            FROM pg_attribute a
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped),
           c.oid::int8,
           (SELECT json_object_agg(
                a.attname, format_type(coalesce(b.base, a.atttypid), coalesce(b.modifier, a.atttypmod))
            ) FROM pg_attribute a LEFT JOIN based b ON b.oid = a.atttypid
            WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped)
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE (n.nspname, c.relname) IN (SELECT * FROM unnest(%s::text[], %s::text[]))
"""
LOOKS_MAX = 5
_GENERATED_ARE_LOGGED_SINCE = 180000


def require_logical_log(address: Address) -> None:
    """Raise FatalError unless the server writes a log that can be decoded."""
    with explained(f"looking at the settings of {address.display}"), statements(address) as db:
        row = db.execute("SELECT current_setting('wal_level')").fetchone()
    level = str(row[0]) if row else ""
    if level != "logical":
        raise FatalError(
            f"{address.display} writes its log with wal_level = {level}, which cannot be decoded",
            "ALTER SYSTEM SET wal_level = logical, and start the server again",
        )


@dataclass(frozen=True, slots=True)
class _LoggedTable:
    """``named``: the columns by which the log names a row; empty under REPLICA IDENTITY FULL, which holds all.
    ``attributes``: number, type and modifier of each column; ``types``: its type in words, as in ``Hints.fulls``."""

    identity: str
    persistence: str
    named: tuple[str, ...]
    generated: tuple[str, ...]
    attributes: Mapping[str, list[int]]
    oid: int
    types: Mapping[str, str]


def checked(address: Address, describe: Callable[[], Sequence[Found]]) -> list[Found]:
    """The tables without what the log does not hold; those whose rows it does not name become failures. ``describe``
    reads the catalog at an earlier moment: it is called again if a table has changed meanwhile."""
    for _ in range(LOOKS_MAX):
        found = describe()
        logged = _looked_up(address, [one for one in found if isinstance(one, SourceTable)])
        if all(_is_as_described(one, logged.get(_name(one))) for one in found if isinstance(one, SourceTable)):
            break
    return [_settled(one, logged.get(_name(one))) if isinstance(one, SourceTable) else one for one in found]


def _name(table: SourceTable) -> tuple[str, str]:
    return table.schema.path.schema, table.schema.path.table


def _looked_up(address: Address, tables: Sequence[SourceTable]) -> Mapping[tuple[str, str], _LoggedTable]:
    names = [_name(one) for one in tables]
    with explained("looking at replica identities"), statements(address) as db:
        rows = db.execute(_TABLES, [[schema for schema, _ in names], [table for _, table in names]]).fetchall()
        logs_generated = db.info.server_version >= _GENERATED_ARE_LOGGED_SINCE
    return {
        (schema, table): _LoggedTable(
            identity,
            persistence,
            tuple(named),
            () if logs_generated else tuple(generated),
            attributes or {},
            oid,
            types or {},
        )
        for schema, table, identity, persistence, named, generated, attributes, oid, types in rows
    }


def _is_as_described(table: SourceTable, logged: _LoggedTable | None) -> bool:
    """Whether the columns have the names and types with which the table was described."""
    hints = hints_of(table)
    described = {name: full for (name, _), full in zip(hints.columns, hints.fulls, strict=True)}
    return logged is not None and logged.types == described


def _settled(table: SourceTable, logged: _LoggedTable | None) -> Found:
    if logged is not None and _is_as_described(table, logged):
        return _checked(table, logged)
    path, what = table.schema.path, "was dropped while it was" if logged is None else "changes while it is"
    return TableFailure(path, f"table {path} {what} described", "run the job again once its schema is settled")


def _checked(table: SourceTable, logged: _LoggedTable) -> Found:
    path = table.schema.path
    relation = quote(path.schema, path.table)
    if logged.persistence != "p":
        return TableFailure(
            path, f"table {path} is unlogged or temporary: its changes are not in the log",
            f"ALTER TABLE {relation} SET LOGGED",
        )  # fmt: skip
    if logged.identity != _FULL and not logged.named:
        why = (
            "has no primary key" if logged.identity == _DEFAULT else f"has REPLICA IDENTITY {_LACKING[logged.identity]}"
        )
        return TableFailure(
            path, f"table {path} {why}, so the log does not hold which row an update or delete changes",
            f"ALTER TABLE {relation} REPLICA IDENTITY FULL, or give it a primary key",
        )  # fmt: skip
    table = table if table.schema.primary_key or not logged.named else _named_by(table, logged.named)
    key = table.schema.primary_key.columns if table.schema.primary_key else ()
    if logged.identity != _FULL and (lacking := [name for name in key if name not in logged.named]):
        return TableFailure(
            path, f"table {path}: the log names rows by {', '.join(logged.named)}, and lacks {', '.join(lacking)} of "
            "its key where a row is changed or deleted",
            f"ALTER TABLE {relation} REPLICA IDENTITY FULL",
        )  # fmt: skip
    table = _without(table, logged.generated) if logged.generated else table
    attributes: dict[str, Plain] = {name: [*logged.attributes[name]] for name in table.schema.names}
    return replace(table, log_hints={ATTRIBUTES: attributes, OID: logged.oid})


def _named_by(table: SourceTable, columns: tuple[str, ...]) -> SourceTable:
    """The table with the key of its identity: a unique index over columns without nulls."""
    return replace(table, schema=replace(table.schema, primary_key=PrimaryKey(columns, proved=True)))


def _without(table: SourceTable, names: Sequence[str]) -> SourceTable:
    """The table without generated columns, which this server does not log."""
    columns = tuple(one for one in table.schema.columns if one.name not in names)
    hints = hints_of(table)
    kept = [at for at, (name, _) in enumerate(hints.columns) if name not in names]
    fulls = tuple(hints.fulls[at] for at in kept) if hints.fulls else ()
    smaller = replace(hints, columns=tuple(hints.columns[at] for at in kept), fulls=fulls)
    note = f"its generated columns are not in the log, and are left out: {', '.join(names)}"
    return replace(
        table, schema=replace(table.schema, columns=columns), hints=smaller.to_plain(), notes=(*table.notes, note)
    )
