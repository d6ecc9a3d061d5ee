"""Follows the definitions of captured tables: which one was valid at each position of the log.

A statement changes definitions when it is read, so that a row event is decoded under the one before or after it.
A statement on a captured table that is not understood leaves its definition unknown: the next table map with full
metadata replaces it, and without metadata the table stops, naming the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from seatunnel_connectors.mysql_cdc.failures import (
    DefinitionMismatchError,
    StatementLoggedError,
    TableLogError,
    UnreadableStatementError,
)
from seatunnel_connectors.mysql_cdc.log.charsets import charset_of_collation
from seatunnel_connectors.mysql_cdc.log.events import Query
from seatunnel_connectors.mysql_cdc.log.table_map import TableMap
from seatunnel_connectors.mysql_cdc.schema.ddl_shape import altered, created, like_source
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name, Statement, StatementKind, classify
from seatunnel_connectors.mysql_cdc.schema.ddl_tokens import Spelling, shown, tokens_of
from seatunnel_connectors.mysql_cdc.schema.definitions import TableDefinition
from seatunnel_connectors.mysql_cdc.schema.from_metadata import definition_of, describes_itself
from seatunnel_connectors.mysql_cdc.schema.reconcile import reconciled
from seatunnel_py.api import COPY_AGAIN


class TableChangeKind(StrEnum):
    """The effect of a statement on a table."""

    CREATED = "created"
    ALTERED = "altered"
    RENAMED = "renamed"
    DROPPED = "dropped"
    TRUNCATED = "truncated"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TableChange:
    """A change of a captured table. ``before`` and ``after`` are its definitions, None where there is none.

    A swap of gh-ost or pt-osc arrives as ALTERED: the name stays, and ``after`` is the definition of the table that
    took the name. ``renamed_columns`` are proved by the statement. ``needs_refresh``: rows changed without row events.
    ``cause``: the log cannot be read on for the table.
    """

    kind: TableChangeKind
    name: Name
    before: TableDefinition | None
    after: TableDefinition | None
    version: int
    statement: str
    renamed_columns: Mapping[str, str] = field(default_factory=dict)
    new_name: Name | None = None
    needs_refresh: bool = False
    cause: TableLogError | None = None


@dataclass(slots=True)
class _Known:
    """A table: its definition, None while it is unknown, and the statement that made it so."""

    definition: TableDefinition | None
    version: int
    unread: str = ""
    last: TableDefinition | None = None


class TableHistory:
    """Definitions by name. All tables of the log are followed once they are known: a swap may make any of them the
    captured one."""

    def __init__(
        self, definitions: Mapping[Name, TableDefinition], captured: Callable[[Name], bool], *, mariadb: bool,
        server_version: int, fold_names: bool = False,
    ) -> None:  # fmt: skip
        self._tables = {name: _Known(one, 0) for name, one in definitions.items()}
        self._counts = captured
        self._stopped: set[Name] = set()
        self._mariadb = mariadb
        self._server_version = server_version
        self._fold_names = fold_names

    def begin(self, definition: TableDefinition) -> None:
        """Follow a table from here on under this definition, whatever is known of it."""
        self._tables[definition.name] = _Known(definition, 0)

    # ------------------------------------------------------------ rows

    def captured(self, name: Name) -> bool:
        return self._counts(name) and name not in self._stopped

    def stop(self, name: Name, cause: TableLogError, statement: str = "") -> TableChange:
        """Capture a table no more, for this reason."""
        self._stopped.add(name)
        known = self._tables.get(name)
        before = known.definition if known else None
        return TableChange(TableChangeKind.UNKNOWN, name, before, None, self.version_of(name), statement, cause=cause)

    def version_of(self, name: Name) -> int:
        return self._tables[name].version if name in self._tables else 0

    def definition(self, table_map: TableMap) -> tuple[TableDefinition, TableChange | None]:
        """The definition of a table map's rows, and the change if the log shows one that no statement did."""
        name = (table_map.database, table_map.table)
        known = self._tables.get(name)
        if known is not None and known.definition is not None:
            known.definition = reconciled(known.definition, table_map)
            return known.definition, None
        if describes_itself(table_map):
            return self._described(name, known, definition_of(table_map))
        if known is None:
            raise DefinitionMismatchError(
                f"table {'.'.join(name)} has rows in the log, and its definition is not known",
                f"set binlog_row_metadata = FULL on the server; {COPY_AGAIN}",
            )
        raise UnreadableStatementError(
            f"table {'.'.join(name)} was changed by a statement that is not understood: {known.unread}",
            f"set binlog_row_metadata = FULL on the server; {COPY_AGAIN}",
        )

    def _described(
        self, name: Name, known: _Known | None, found: TableDefinition
    ) -> tuple[TableDefinition, TableChange | None]:
        if known is None:
            self._tables[name] = _Known(found, 0)
            return found, None
        before, statement = known.last, known.unread
        known.definition, known.unread, known.last = found, "", None
        known.version += 1
        return found, TableChange(TableChangeKind.ALTERED, name, before, found, known.version, statement)

    # ------------------------------------------------------------ statements

    def statement(self, query: Query) -> tuple[Statement, list[TableChange]]:
        """The statement, classified, and its effect on captured tables."""
        spelling = Spelling(
            self._mariadb, self._server_version, query.status.ansi_quotes, query.status.backslash_escapes
        )
        try:
            statement = classify(tokens_of(query.statement, spelling), query.database)
        except ValueError as error:
            raise UnreadableStatementError(
                f"a statement of the log is not understood ({error}): {shown(query.statement)}"
            ) from None
        if self._fold_names:
            statement = _folded(statement)
        return statement, self._changes(statement, query)

    def _changes(self, statement: Statement, query: Query) -> list[TableChange]:
        text = shown(query.statement)
        captured = [name for name in statement.tables if self.captured(name)]
        match statement.kind:
            case StatementKind.CREATE:
                return self._create(statement, query)
            case StatementKind.ALTER:
                return self._alter(statement, query)
            case StatementKind.RENAME:
                return self._rename(statement.renames, text)
            case StatementKind.DROP:
                return [change for name in statement.tables for change in self._drop(name, text)]
            case StatementKind.DROP_DATABASE:
                names = [name for name in self._tables if name[0] == statement.tables[0][0]]
                return [change for name in names for change in self._drop(name, text)]
            case StatementKind.TRUNCATE if captured:
                known = self._tables.get(captured[0])
                definition, version = (known.definition, known.version) if known else (None, 0)
                return [TableChange(TableChangeKind.TRUNCATED, captured[0], definition, definition, version, text)]
            case StatementKind.CHANGE_ROWS if captured:
                return [self.stop(name, _logged_by_text(name, text), text) for name in captured]
            case StatementKind.UNKNOWN if captured:
                return [self.stop(name, _not_understood(name, text), text) for name in captured]
        return []

    def _create(self, statement: Statement, query: Query) -> list[TableChange]:
        name = statement.tables[0]
        if name in self._tables and statement.if_exists and self._tables[name].definition is not None:
            return []
        definition = self._created(name, statement, query)
        before = self._tables.get(name)
        version = before.version + 1 if before else 0
        text = shown(query.statement)
        self._tables[name] = _Known(definition, version, "" if definition else text)
        if not self.captured(name):
            return []
        return [TableChange(TableChangeKind.CREATED, name, None, definition, version, text)]

    def _created(self, name: Name, statement: Statement, query: Query) -> TableDefinition | None:
        try:
            source = like_source(statement.details, query.database)
            if source is not None:
                known = self._tables.get(source)
                return known.definition.renamed(*name) if known and known.definition else None
            charset = charset_of_collation(query.status.database_collation)
            return created(name, statement.details, charset, mariadb=self._mariadb)
        except ValueError:
            return None

    def _alter(self, statement: Statement, query: Query) -> list[TableChange]:
        name = statement.tables[0]
        known = self._tables.get(name)
        if known is None or known.definition is None:
            return []
        text = shown(query.statement)
        before = known.definition
        charset = charset_of_collation(query.status.database_collation)
        try:
            found = altered(before, statement.details, mariadb=self._mariadb, database_charset=charset)
        except ValueError:
            known.definition, known.unread, known.last = None, text, before
            if not self.captured(name):
                return []
            return [TableChange(TableChangeKind.UNKNOWN, name, before, None, known.version, text)]
        after = found.definition
        changed = after.columns != before.columns or after.key != before.key
        if changed:
            known.version += 1
        known.definition = after.renamed(*name)
        changes = []
        if self.captured(name) and (changed or found.partitions_dropped or after.comment != before.comment):
            refresh = bool(found.rewritten) or found.partitions_dropped
            changes = [
                TableChange(
                    TableChangeKind.ALTERED, name, before, known.definition, known.version, text,
                    found.renamed_columns, needs_refresh=refresh,
                )
            ]  # fmt: skip
        if after.name != name:
            changes += self._rename(((name, after.name),), text)
        return changes

    def _drop(self, name: Name, text: str) -> list[TableChange]:
        known = self._tables.pop(name, None)
        if not self.captured(name):
            return []
        before, version = (known.definition or known.last, known.version) if known else (None, 0)
        return [TableChange(TableChangeKind.DROPPED, name, before, None, version, text)]

    def _rename(self, pairs: tuple[tuple[Name, Name], ...], text: str) -> list[TableChange]:
        """Move names, in order. A captured name that another table takes in the same statement is a swap."""
        old = {name: self._tables.get(name) for pair in pairs for name in pair}
        current: dict[Name, _Known | None] = dict(old)
        for source, target in pairs:
            current[target], current[source] = current.get(source), None
        for name, known in current.items():
            if known is None:
                self._tables.pop(name, None)
            elif known.definition is not None:
                moved = _Known(known.definition.renamed(*name), known.version)
                self._tables[name] = moved
                current[name] = moved
            else:
                self._tables[name] = known
        return [
            change
            for name in current
            if self.captured(name) and (change := self._renamed(name, pairs, old[name], text)) is not None
        ]

    def _renamed(
        self, name: Name, pairs: tuple[tuple[Name, Name], ...], before: _Known | None, text: str
    ) -> TableChange | None:
        sources, targets = zip(*pairs, strict=True)
        now = self._tables.get(name)
        definition = before.definition if before else None
        if name in sources and name not in targets:
            version = before.version if before else 0
            return TableChange(
                TableChangeKind.RENAMED, name, definition, None, version, text, new_name=_end_of(name, pairs)
            )
        if now is None:
            # A table of which nothing is known took the name: its next table map must describe it.
            version = before.version if before else 0
            self._tables[name] = _Known(None, version, text, definition)
            return TableChange(TableChangeKind.UNKNOWN, name, definition, None, version, text)
        now.version = (before.version if before else now.version) + 1
        if before is None:
            return TableChange(TableChangeKind.CREATED, name, None, now.definition, now.version, text)
        return TableChange(TableChangeKind.ALTERED, name, definition, now.definition, now.version, text)


def _logged_by_text(name: Name, statement: str) -> StatementLoggedError:
    return StatementLoggedError(
        f"table {'.'.join(name)} was changed by a statement that is logged by its text: {statement}",
        f"set binlog_format = ROW for every session; then {COPY_AGAIN}",
    )


def _not_understood(name: Name, statement: str) -> UnreadableStatementError:
    return UnreadableStatementError(
        f"a statement that touches table {'.'.join(name)} is not understood: {statement}", COPY_AGAIN
    )


def _end_of(name: Name, pairs: tuple[tuple[Name, Name], ...]) -> Name:
    for source, target in pairs:
        if source == name:
            name = target
    return name


def _folded(statement: Statement) -> Statement:
    def small(name: Name) -> Name:
        return name[0].lower(), name[1].lower()

    renames = tuple((small(source), small(target)) for source, target in statement.renames)
    return replace(statement, tables=tuple(map(small, statement.tables)), renames=renames)
