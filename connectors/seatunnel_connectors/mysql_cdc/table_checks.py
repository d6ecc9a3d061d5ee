"""Checks which tables the log can follow, before a job starts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from seatunnel_connectors.jdbc.mysql.connection.session import MysqlSession, explained, quote, sessions
from seatunnel_connectors.jdbc.source.findings import Found
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.mysql_cdc.dump.session import server_facts
from seatunnel_connectors.mysql_cdc.options import BinlogCdcOptions, Cascades
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name
from seatunnel_py.api import SourceTable, TableFailure

_TABLES = "SELECT table_schema, table_name, table_type FROM information_schema.tables"
_CASCADES = """
    SELECT constraint_schema, table_name, constraint_name FROM information_schema.referential_constraints
    WHERE (delete_rule IN ('CASCADE', 'SET NULL') OR update_rule IN ('CASCADE', 'SET NULL'))
"""
_LOGS_CASCADES_SINCE = 90600
"""MySQL's version; MariaDB logs none."""


@dataclass(frozen=True, slots=True)
class FollowedKind:
    """The catalog's knowledge of a table: its type, and its foreign keys whose effects are not logged."""

    type: str
    cascades: Sequence[str] = ()


def checked_tables(address: Address, found: Sequence[Found], options: BinlogCdcOptions) -> Iterator[Found]:
    """The tables with notes on what their log lacks; those that the log cannot follow become failures."""
    names = [_name(one) for one in found if isinstance(one, SourceTable)]
    with explained(f"looking up tables of {address.display}"), sessions(address) as session:
        kinds = _looked_up(session, names) if names else {}
    for one in found:
        yield _checked(one, kinds.get(_name(one)), options) if isinstance(one, SourceTable) else one


def _name(table: SourceTable) -> Name:
    return table.schema.path.database, table.schema.path.table


def _looked_up(session: MysqlSession, names: Sequence[Name]) -> Mapping[Name, FollowedKind]:
    marks, values = ", ".join(["(%s, %s)"] * len(names)), [part for name in names for part in name]
    cascades: dict[Name, list[str]] = defaultdict(list)
    facts = server_facts(session)
    if facts.mariadb or facts.version < _LOGS_CASCADES_SINCE:
        where = f" AND (constraint_schema, table_name) IN ({marks}) ORDER BY 1, 2, 3"
        for schema, table, name in session.ask(_CASCADES + where, values):
            cascades[schema, table].append(name)
    rows = session.ask(f"{_TABLES} WHERE (table_schema, table_name) IN ({marks})", values)
    return {(schema, table): FollowedKind(str(kind), cascades[schema, table]) for schema, table, kind in rows}


def _checked(table: SourceTable, kind: FollowedKind | None, options: BinlogCdcOptions) -> Found:
    path = table.schema.path
    if kind is None:
        return TableFailure(path, f"table {path} was dropped while it was described", "run the job again")
    relation = quote(path.database, path.table)
    if kind.type == "SYSTEM VERSIONED":
        return TableFailure(
            path, f"table {path} is system-versioned: the log holds the rows of its history as well",
            f"leave it out, or ALTER TABLE {relation} DROP SYSTEM VERSIONING",
        )  # fmt: skip
    if kind.type != "BASE TABLE":
        return TableFailure(
            path, f"{path} is a {kind.type.lower()}: changes of its rows are not in the log", "name its tables instead"
        )
    if kind.cascades and options.cascade is Cascades.REFUSE:
        return TableFailure(
            path, f"table {path}: its foreign key {', '.join(kind.cascades)} changes rows by CASCADE or SET NULL, "
            "which the log does not hold, and cascade = refuse",
            f"ALTER TABLE {relation} DROP FOREIGN KEY {quote(kind.cascades[0])}, and let a trigger of the parent "
            "change these rows; cascade = accept follows the table without such changes",
        )  # fmt: skip
    notes = [
        f"rows that its foreign key {name} changes by CASCADE or SET NULL are not in the log, and stay as they were"
        for name in kind.cascades
    ]
    if table.schema.primary_key is None:
        if options.exactly_once:
            return TableFailure(
                path, f"table {path} has no primary key, so rows that change during its copy cannot be told from their "
                "copies, and exactly_once = true asks for that",
                f"ALTER TABLE {relation} ADD PRIMARY KEY (…), or name a key in table-names-config",
            )  # fmt: skip
        notes.append("it has no primary key: a sink that only appends gets rows that change during the copy twice")
    return replace(table, notes=(*table.notes, *notes)) if notes else table
