"""Classifies each statement by its effect and the tables that it touches, also where its details are not understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from seatunnel_connectors.mysql_cdc.schema.ddl_tokens import SqlToken, TokenReader

Name = tuple[str, str]
"""Database and table."""


class StatementKind(StrEnum):
    """The effect of a statement on tables."""

    BEGIN = "begin"
    COMMIT = "commit"
    ROLLBACK = "rollback"
    ROLLBACK_TO = "rollback to savepoint"
    XA_START = "xa start"
    XA_COMMIT = "xa commit"
    XA_ROLLBACK = "xa rollback"
    CREATE = "create table"
    ALTER = "alter table"
    DROP = "drop table"
    RENAME = "rename table"
    TRUNCATE = "truncate table"
    DROP_DATABASE = "drop database"
    CHANGE_ROWS = "a change of rows"
    IRRELEVANT = "irrelevant"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Statement:
    """``tables`` are those that it touches; ``renames`` pairs old and new names, in order. ``details`` are the tokens
    after the tables' names. ``if_exists``: a table may not exist."""

    kind: StatementKind
    tables: tuple[Name, ...] = ()
    renames: tuple[tuple[Name, Name], ...] = ()
    details: tuple[SqlToken, ...] = ()
    if_exists: bool = False


_CHANGES = ("INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD")
_NO_TABLE = frozenset(
    {"SAVEPOINT", "RELEASE", "SET", "GRANT", "REVOKE", "FLUSH", "ANALYZE", "OPTIMIZE", "REPAIR", "USE", "CALL",
     "INSTALL", "UNINSTALL", "KILL", "DO", "START", "STOP", "RESET", "CHANGE", "LOCK", "UNLOCK", "CHECK", "CACHE",
     "SHUTDOWN", "COMMENT", "SHOW", "SELECT", "XA", "BINLOG", "CHECKSUM", "PURGE", "DEALLOCATE", "PREPARE", "EXECUTE"}
)  # fmt: skip
_NO_ROWS = frozenset(
    {"VIEW", "INDEX", "TRIGGER", "PROCEDURE", "FUNCTION", "EVENT", "USER", "ROLE", "SERVER", "SEQUENCE", "DATABASE",
     "SCHEMA", "PACKAGE", "LOGFILE", "TABLESPACE", "INSTANCE", "RESOURCE", "SPATIAL", "LIBRARY", "UNDO", "PREPARE"}
)  # fmt: skip
"""Objects whose definitions do not change the rows of a table."""
_PREFIXES = ("OR", "REPLACE", "AGGREGATE", "UNIQUE", "FULLTEXT", "SPATIAL", "SQL", "SECURITY", "INVOKER", "DEFINER",
             "ALGORITHM", "UNDEFINED", "MERGE", "ONLINE", "OFFLINE", "IGNORE", "VECTOR", "EXTERNAL")  # fmt: skip


def classify(tokens: Sequence[SqlToken], database: str) -> Statement:
    """The statement. ``database`` is the default one of its session. Raises ValueError where its head is broken."""
    reader = TokenReader(tokens)
    if reader.token is None:
        return Statement(StatementKind.IRRELEVANT)
    word = reader.take().value.upper()
    if word == "BEGIN" or (word == "START" and reader.sees("TRANSACTION")):
        return Statement(StatementKind.BEGIN)
    if word == "COMMIT":
        return Statement(StatementKind.COMMIT)
    if word == "ROLLBACK":
        return Statement(StatementKind.ROLLBACK_TO if reader.accept("TO") else StatementKind.ROLLBACK)
    if word == "XA":
        return _xa(reader)
    if word in _CHANGES or word == "WITH":
        return Statement(StatementKind.CHANGE_ROWS, _changed(word, reader, database))
    if word == "TRUNCATE":
        reader.accept("TABLE")
        return Statement(StatementKind.TRUNCATE, (_name(reader, database),))
    if word == "RENAME":
        return _rename(reader, database)
    if word in ("CREATE", "ALTER", "DROP"):
        return _definition(word, reader, database)
    if word in _NO_TABLE:
        return Statement(StatementKind.IRRELEVANT)
    return Statement(StatementKind.UNKNOWN, _mentioned(reader, database))


def _name(reader: TokenReader, database: str) -> Name:
    first = reader.name()
    return (first, reader.name()) if reader.accept(".") else (database, first)


def _changed(word: str, reader: TokenReader, database: str) -> tuple[Name, ...]:
    """The tables whose rows a statement changes; more of them where several may be."""
    if word in ("INSERT", "REPLACE"):
        while reader.accept("LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE", "INTO"):
            pass
        return (_name(reader, database),)
    if word == "LOAD":
        while reader.token is not None and not reader.accept_all("INTO", "TABLE"):
            reader.take()
        return (_name(reader, database),)
    end = next((i for i, one in enumerate(reader.tokens) if one.has("SET", "WHERE")), len(reader.tokens))
    part = TokenReader(reader.tokens[:end] if word != "WITH" else reader.tokens)
    part.at = reader.at
    return _mentioned(part, database)


def _mentioned(reader: TokenReader, database: str) -> tuple[Name, ...]:
    """Each name in the rest of a statement, as a table: more than there are, never fewer."""
    found: dict[Name, None] = {}
    tokens = reader.tokens[reader.at :]
    for i, token in enumerate(tokens):
        if not token.is_name:
            continue
        qualified = i + 2 < len(tokens) and tokens[i + 1].has(".") and tokens[i + 2].is_name
        found[(token.value, tokens[i + 2].value) if qualified else (database, token.value)] = None
    return tuple(found)


def _xa(reader: TokenReader) -> Statement:
    kinds = {
        "START": StatementKind.XA_START, "BEGIN": StatementKind.XA_START, "COMMIT": StatementKind.XA_COMMIT,
        "ROLLBACK": StatementKind.XA_ROLLBACK,
    }  # fmt: skip
    kind = kinds.get(reader.take().value.upper(), StatementKind.IRRELEVANT)
    return Statement(kind, details=tuple(reader.tokens[reader.at :]))


def _rename(reader: TokenReader, database: str) -> Statement:
    if not reader.accept("TABLE", "TABLES"):
        return Statement(StatementKind.IRRELEVANT)  # RENAME USER
    if_exists = reader.accept_all("IF", "EXISTS")
    pairs: list[tuple[Name, Name]] = []
    while True:
        old = _name(reader, database)
        if reader.accept("WAIT"):
            reader.take()
        reader.accept("NOWAIT")
        reader.expect("TO")
        pairs.append((old, _name(reader, database)))
        if not reader.accept(","):
            break
    tables = tuple(dict.fromkeys(name for pair in pairs for name in pair))
    return Statement(StatementKind.RENAME, tables, tuple(pairs), if_exists=if_exists)


def _definition(word: str, reader: TokenReader, database: str) -> Statement:
    if word == "DROP" and reader.accept("DATABASE", "SCHEMA"):
        if_exists = reader.accept_all("IF", "EXISTS")
        return Statement(StatementKind.DROP_DATABASE, ((reader.name(), ""),), if_exists=if_exists)
    temporary = False
    while reader.token is not None and not reader.token.has("TABLE", "TABLES"):
        temporary = temporary or reader.token.has("TEMPORARY")
        if reader.token.has(*_NO_ROWS) and not reader.token.has("SPATIAL"):
            return Statement(StatementKind.IRRELEVANT)
        if not (reader.token.has(*_PREFIXES, "TEMPORARY", "=", "@") or reader.token.is_name):
            break
        reader.take()
    if temporary:
        return Statement(StatementKind.IRRELEVANT)
    if not reader.accept("TABLE", "TABLES"):
        return Statement(StatementKind.UNKNOWN, _mentioned(reader, database))
    if_exists = reader.accept_all("IF", "EXISTS") or reader.accept_all("IF", "NOT", "EXISTS")
    first = _name(reader, database)
    if word == "DROP":
        names = [first]
        while reader.accept(","):
            names.append(_name(reader, database))
        return Statement(StatementKind.DROP, tuple(names), if_exists=if_exists)
    kind = StatementKind.CREATE if word == "CREATE" else StatementKind.ALTER
    if word == "ALTER":
        if reader.accept("WAIT"):
            reader.take()
        reader.accept("NOWAIT")
    return Statement(kind, (first,), details=tuple(reader.tokens[reader.at :]), if_exists=if_exists)
