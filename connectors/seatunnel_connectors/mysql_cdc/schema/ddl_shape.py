"""Applies CREATE TABLE and ALTER TABLE to definitions.

Actions that do not change the columns of rows (indexes, partitions, engines, constraints) are known by name and have no
effect. An action that is not known raises ValueError: the table's definition is then unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from seatunnel_connectors.mysql_cdc.schema.column_text import (
    ColumnText,
    charset_name,
    charset_of,
    read_column,
)
from seatunnel_connectors.mysql_cdc.schema.ddl_statement import Name
from seatunnel_connectors.mysql_cdc.schema.ddl_tokens import SqlToken, TokenReader, listed
from seatunnel_connectors.mysql_cdc.schema.definitions import ColumnDefinition, TableDefinition

_KEY_WORDS = ("INDEX", "KEY", "UNIQUE", "FULLTEXT", "SPATIAL", "CONSTRAINT", "FOREIGN", "CHECK", "PERIOD", "VECTOR")
_NO_EFFECT = frozenset(
    {"ENGINE", "AUTO_INCREMENT", "ROW_FORMAT", "ALGORITHM", "LOCK", "FORCE", "ORDER", "DISABLE", "ENABLE", "DISCARD",
     "IMPORT", "KEY_BLOCK_SIZE", "STATS_PERSISTENT", "STATS_AUTO_RECALC", "STATS_SAMPLE_PAGES", "MAX_ROWS", "MIN_ROWS",
     "AVG_ROW_LENGTH", "CHECKSUM", "PACK_KEYS", "DELAY_KEY_WRITE", "TABLESPACE", "COMPRESSION", "ENCRYPTION",
     "ENCRYPTED", "ENCRYPTION_KEY_ID", "PAGE_COMPRESSED", "PAGE_COMPRESSION_LEVEL", "PAGE_CHECKSUM", "TRANSACTIONAL",
     "INSERT_METHOD", "UNION", "CONNECTION", "DATA", "SECONDARY_ENGINE", "SECONDARY_LOAD", "SECONDARY_UNLOAD",
     "PARTITION", "REMOVE", "REORGANIZE", "COALESCE", "REBUILD", "OPTIMIZE", "ANALYZE", "REPAIR", "EXCHANGE",
     "CONVERT_PARTITION", "WITH", "WITHOUT", "NOWAIT", "WAIT", "UPGRADE", "AUTOEXTEND_SIZE", "STORAGE", "IETF_QUOTES",
     "SEQUENCE", "TYPE", "PASSWORD", "INDEX", "RAID_TYPE", "ENGINE_ATTRIBUTE", "SECONDARY_ENGINE_ATTRIBUTE"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Altered:
    """The definition after a statement. ``renamed_columns`` maps old names to new ones; ``rewritten`` names columns
    whose type changed, with ``partitions_dropped`` rows may be gone without row events."""

    definition: TableDefinition
    renamed_columns: Mapping[str, str]
    rewritten: tuple[str, ...] = ()
    partitions_dropped: bool = False


def created(name: Name, details: Sequence[SqlToken], charset: str, *, mariadb: bool) -> TableDefinition:
    """The table that CREATE TABLE makes. ``charset`` is the database's. Raises ValueError if it is not understood."""
    reader = TokenReader(details)
    body = listed(reader.group())
    _refuse_versioning(reader.tokens[reader.at :])
    own = _table_charset(reader.tokens[reader.at :]) or charset
    table = TableDefinition(name[0], name[1], (), (), own)
    for tokens in body:
        table = _element(table, tokens, mariadb=mariadb)
    if not table.columns:
        raise ValueError("it has no columns")
    return table


def like_source(details: Sequence[SqlToken], database: str) -> Name | None:
    """The table that CREATE TABLE ... LIKE copies; None for another form."""
    reader = TokenReader(details)
    inner = TokenReader(reader.group()) if reader.token is not None and reader.token.has("(") else reader
    if not inner.accept("LIKE"):
        return None
    first = inner.name()
    return (first, inner.name()) if inner.accept(".") else (database, first)


def _table_charset(options: Sequence[SqlToken]) -> str:
    reader = TokenReader(options)
    collation = ""
    while reader.token is not None:
        if reader.accept("CHARSET") or reader.accept_all("CHARACTER", "SET"):
            reader.accept("=")
            return charset_name(reader.take().value)
        if reader.accept("COLLATE"):
            reader.accept("=")
            collation = reader.take().value
            continue
        if reader.token.has("PARTITION"):
            break
        reader.take()
    return charset_of(collation) if collation else ""


def _element(table: TableDefinition, tokens: list[SqlToken], *, mariadb: bool) -> TableDefinition:
    """A part of CREATE TABLE's parentheses: a column or a key."""
    key = _primary_key(tokens)
    if key is not None:
        return _with_key(table, key)
    first = _first(tokens)
    if first.has(*_KEY_WORDS):
        return table
    found = read_column(first.value, tokens[1:], table.charset, mariadb=mariadb)
    return _placed(table, found)


def _first(tokens: Sequence[SqlToken]) -> SqlToken:
    if not tokens:
        raise ValueError("it ends early")
    return tokens[0]


def _primary_key(tokens: Sequence[SqlToken]) -> tuple[str, ...] | None:
    """The columns of [CONSTRAINT name] PRIMARY KEY (...); None for anything else."""
    reader = TokenReader(tokens)
    if reader.accept("CONSTRAINT") and not reader.sees("PRIMARY"):
        reader.take()
    if not reader.accept_all("PRIMARY", "KEY"):
        return None
    while reader.token is not None and not reader.token.has("("):
        reader.take()
    return tuple(_first(part).value for part in listed(reader.group()))


def _with_key(table: TableDefinition, key: tuple[str, ...]) -> TableDefinition:
    """The columns of a primary key are never null."""
    lower = {name.lower() for name in key}
    columns = tuple(replace(one, nullable=False) if one.name.lower() in lower else one for one in table.columns)
    return replace(table, columns=columns, key=key)


def _placed(table: TableDefinition, found: ColumnText, number: int = -1) -> TableDefinition:
    """The table with a column in its place: at ``number``, unless the text has another one."""
    columns = list(table.columns)
    at = len(columns) if number < 0 else number
    if found.place == "FIRST":
        at = 0
    elif found.place == "AFTER":
        at = table.column(found.after) + 1
        if not at:
            raise ValueError(f"there is no column {found.after!r}")
    columns.insert(at, found.column)
    table = replace(table, columns=tuple(columns))
    return _with_key(table, (found.column.name,)) if found.key else table


# ---------------------------------------------------------------- ALTER TABLE


def altered(
    definition: TableDefinition, details: Sequence[SqlToken], *, mariadb: bool, database_charset: str = ""
) -> Altered:
    """The table after ALTER TABLE. Raises ValueError if an action is not understood."""
    found = Altered(definition, {})
    for action in listed(details):
        if action:
            found = _action(found, action, mariadb=mariadb, database_charset=database_charset)
    return found


def _action(found: Altered, tokens: list[SqlToken], *, mariadb: bool, database_charset: str) -> Altered:
    reader = TokenReader(tokens)
    table = found.definition
    if reader.accept("ADD"):
        return replace(found, definition=_added(table, reader, mariadb=mariadb))
    if reader.accept("DROP"):
        return _dropped(found, reader)
    if reader.accept("MODIFY"):
        return _changed(found, reader, renames=False, mariadb=mariadb)
    if reader.accept("CHANGE"):
        return _changed(found, reader, renames=True, mariadb=mariadb)
    if reader.accept("RENAME"):
        return _renamed(found, reader)
    if reader.accept("ALTER"):
        return replace(found, definition=_column_altered(table, reader))
    if reader.accept_all("CONVERT", "TO") and (reader.accept("CHARSET") or reader.accept_all("CHARACTER", "SET")):
        return replace(found, definition=_converted(table, reader, database_charset))
    if reader.accept("COMMENT"):
        reader.accept("=")
        return replace(found, definition=replace(table, comment=reader.take().value))
    if reader.token is not None and reader.token.has("DEFAULT", "CHARSET", "CHARACTER", "COLLATE"):
        return replace(found, definition=replace(table, charset=_table_charset(tokens) or table.charset))
    if reader.accept("TRUNCATE", "EXCHANGE") or reader.sees("CONVERT", "PARTITION"):
        return replace(found, partitions_dropped=True)
    word = tokens[0].value.upper()
    if word in _NO_EFFECT or (word == "CONVERT" and tokens[1:2] and tokens[1].has("TABLE")):
        # Options may follow one another without a comma.
        charset = _table_charset(tokens) if word not in ("PARTITION", "ORDER") else ""
        return replace(found, definition=replace(table, charset=charset or table.charset))
    raise ValueError(f"the action {word} is not known")


def _added(table: TableDefinition, reader: TokenReader, *, mariadb: bool) -> TableDefinition:
    rest = list(reader.tokens[reader.at :])
    key = _primary_key(rest)
    if key is not None:
        return _with_key(table, key)
    if reader.token is not None and reader.token.has(*_KEY_WORDS, "PARTITION"):
        return table
    _refuse_versioning(rest)
    reader.accept("COLUMN")
    if_not_exists = reader.accept_all("IF", "NOT", "EXISTS")
    parts = listed(reader.group()) if reader.token is not None and reader.token.has("(") else None
    for tokens in parts if parts is not None else [list(reader.tokens[reader.at :])]:
        first = _first(tokens)
        if parts is not None and first.has("PRIMARY", *_KEY_WORDS):
            table = _element(table, tokens, mariadb=mariadb)
            continue
        name = first.value
        if table.column(name) >= 0:
            if if_not_exists:
                continue
            raise ValueError(f"there is already a column {name!r}")
        table = _placed(table, read_column(name, tokens[1:], table.charset, mariadb=mariadb))
    return table


def _dropped(found: Altered, reader: TokenReader) -> Altered:
    table = found.definition
    if reader.accept_all("PRIMARY", "KEY"):
        return replace(found, definition=replace(table, key=()))
    if reader.accept("PARTITION"):
        return replace(found, partitions_dropped=True)
    if reader.token is not None and reader.token.has("INDEX", "KEY", "FOREIGN", "CHECK", "CONSTRAINT", "PERIOD"):
        return found
    _refuse_versioning(reader.tokens[reader.at :])
    reader.accept("COLUMN")
    if_exists = reader.accept_all("IF", "EXISTS")
    number = _number(table, reader.name(), if_exists=if_exists)
    if number < 0:
        return found
    name = table.columns[number].name
    columns = table.columns[:number] + table.columns[number + 1 :]
    key = tuple(one for one in table.key if one.lower() != name.lower())
    return replace(found, definition=replace(table, columns=columns, key=key))


def _refuse_versioning(tokens: Sequence[SqlToken]) -> None:
    """System versioning adds columns that the statement does not name."""
    if any(one.has("SYSTEM") and two.has("VERSIONING") for one, two in pairwise(tokens)):
        raise ValueError("SYSTEM VERSIONING is not understood")


def _number(table: TableDefinition, name: str, *, if_exists: bool = False) -> int:
    number = table.column(name)
    if number < 0 and not if_exists:
        raise ValueError(f"there is no column {name!r}")
    return number


def _changed(found: Altered, reader: TokenReader, *, renames: bool, mariadb: bool) -> Altered:
    table = found.definition
    reader.accept("COLUMN")
    if_exists = reader.accept_all("IF", "EXISTS")
    number = _number(table, reader.name(), if_exists=if_exists)
    if number < 0:
        return found
    old = table.columns[number]
    name = reader.name() if renames else old.name
    text = read_column(name, reader.tokens[reader.at :], table.charset, mariadb=mariadb)
    key = _renamed_key(table.key, old.name, name)
    if old.name in table.key:
        text = replace(text, column=replace(text.column, nullable=False))
    rest = replace(table, columns=table.columns[:number] + table.columns[number + 1 :], key=key)
    definition = _placed(rest, text, number)
    rewritten = found.rewritten
    if (old.column_type, old.charset) != (text.column.column_type, text.column.charset):
        rewritten = (*rewritten, name)
    return replace(found, definition=definition, renamed_columns=_noted(found, old.name, name), rewritten=rewritten)


def _renamed_key(key: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    return tuple(new if one.lower() == old.lower() else one for one in key)


def _noted(found: Altered, old: str, new: str) -> Mapping[str, str]:
    if old == new:
        return found.renamed_columns
    before = {then: first for first, then in found.renamed_columns.items()}
    return {**found.renamed_columns, before.get(old, old): new}


def _renamed(found: Altered, reader: TokenReader) -> Altered:
    table = found.definition
    if reader.accept("INDEX", "KEY"):
        return found
    if reader.accept("COLUMN"):
        if_exists = reader.accept_all("IF", "EXISTS")
        number = _number(table, reader.name(), if_exists=if_exists)
        reader.expect("TO")
        new = reader.name()
        if number < 0:
            return found
        old = table.columns[number]
        columns = tuple(replace(one, name=new) if i == number else one for i, one in enumerate(table.columns))
        definition = replace(table, columns=columns, key=_renamed_key(table.key, old.name, new))
        return replace(found, definition=definition, renamed_columns=_noted(found, old.name, new))
    reader.accept("TO", "AS", "=")
    first = reader.name()
    name = (first, reader.name()) if reader.accept(".") else (table.database, first)
    return replace(found, definition=table.renamed(*name))


def _column_altered(table: TableDefinition, reader: TokenReader) -> TableDefinition:
    """ALTER COLUMN sets or drops a default, or the visibility; ALTER INDEX and ALTER CHECK have no effect."""
    if reader.accept("INDEX", "KEY", "CHECK", "CONSTRAINT"):
        return table
    reader.accept("COLUMN")
    if_exists = reader.accept_all("IF", "EXISTS")
    number = _number(table, reader.name(), if_exists=if_exists)
    if number < 0:
        return table
    column = table.columns[number]
    if reader.accept_all("SET", "DEFAULT"):
        column = replace(column, default=" ".join(one.value for one in reader.tokens[reader.at :]))
    elif reader.accept_all("DROP", "DEFAULT"):
        column = replace(column, default=None)
    elif reader.accept("SET"):
        column = replace(column, invisible=reader.accept("INVISIBLE"))
    else:
        raise ValueError("ALTER COLUMN is not understood")
    return replace(table, columns=tuple(column if i == number else one for i, one in enumerate(table.columns)))


def _converted(table: TableDefinition, reader: TokenReader, database_charset: str) -> TableDefinition:
    """CONVERT TO CHARACTER SET changes every text column; a TEXT may become a wider type, which the log then shows."""
    reader.accept("=")
    charset = database_charset if reader.accept("DEFAULT") else charset_name(reader.take().value)
    if charset == "binary" or not charset:
        raise ValueError("CONVERT TO another character set is not understood")

    def converted(column: ColumnDefinition) -> ColumnDefinition:
        return replace(column, charset=charset) if column.charset else column

    return replace(table, columns=tuple(converted(one) for one in table.columns), charset=charset)
