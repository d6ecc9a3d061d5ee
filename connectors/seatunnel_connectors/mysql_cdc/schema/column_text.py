"""Reads the definition of a column in a statement, and spells its type as information_schema does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seatunnel_connectors.mysql_cdc.schema.ddl_tokens import SqlToken, TokenKind, TokenReader
from seatunnel_connectors.mysql_cdc.schema.definitions import ColumnDefinition

_ALIASES = {
    "integer": "int", "int1": "tinyint", "int2": "smallint", "int3": "mediumint", "middleint": "mediumint",
    "int4": "int", "int8": "bigint", "dec": "decimal", "numeric": "decimal", "fixed": "decimal", "number": "decimal",
    "real": "double", "float4": "float", "float8": "double", "character": "char", "nchar": "char",
    "varcharacter": "varchar", "nvarchar": "varchar", "varchar2": "varchar", "raw": "varbinary", "clob": "longtext",
    "geomcollection": "geometrycollection",
}  # fmt: skip
_INTEGERS = ("tinyint", "smallint", "mediumint", "int", "bigint")
_TEXTS = ("tinytext", "text", "mediumtext", "longtext")
_BLOBS = ("tinyblob", "blob", "mediumblob", "longblob")
_CHARACTER = ("char", "varchar", *_TEXTS, "enum", "set")
_BINARY_OF = {"char": "binary", "varchar": "varbinary", **dict(zip(_TEXTS, _BLOBS, strict=True))}
_SIZES = (1 << 8, 1 << 16, 1 << 24, 1 << 32)
_DEFAULT_LENGTH = {"char": "(1)", "binary": "(1)", "bit": "(1)", "decimal": "(10,0)"}
_CHARSET_WIDTH = {"utf8mb4": 4, "utf8mb3": 3, "utf16": 4, "utf16le": 4, "utf32": 4, "ucs2": 2}
_SKIPPED_GROUPS = ("GENERATED", "AS", "CHECK", "REFERENCES")
UTF8 = "utf8mb3"
"""The character set that `utf8` and NATIONAL mean in the log."""


@dataclass(frozen=True, slots=True)
class ColumnText:
    """A column as it is written. ``place`` is FIRST, AFTER a column, or empty; ``key``: it is the primary key."""

    column: ColumnDefinition
    place: str = ""
    after: str = ""
    key: bool = False


def read_column(name: str, tokens: Sequence[SqlToken], charset: str, *, mariadb: bool) -> ColumnText:
    """The definition that follows a column's name. ``charset`` is the table's. Raises ValueError if it is none."""
    reader = TokenReader(tokens)
    data_type, arguments, national = _type(reader)
    if data_type in ("enum", "set"):
        # The server drops trailing blanks of words.
        arguments = [replace(one, value=one.value.rstrip(" ")) for one in arguments]
    found = ColumnText(ColumnDefinition(name, data_type, data_type))
    unsigned = zerofill = False
    own = UTF8 if national else ""
    while reader.token is not None:
        token = reader.take()
        word = token.value.upper() if token.kind is TokenKind.WORD else ""
        if word in ("UNSIGNED", "SIGNED"):
            unsigned = word == "UNSIGNED"
        elif word == "ZEROFILL":
            zerofill = unsigned = True
        elif word in ("CHARSET", "CHARACTER", "CHAR"):
            reader.accept("SET")
            own = charset_name(reader.name())
        elif word == "COLLATE":
            reader.accept("=")
            own = own or charset_of(reader.name())
        elif word in ("BYTE",):
            own = "binary"
        else:
            found = _attribute(found, word, reader)
    data_type, charset = _with_charset(data_type, own or charset, mariadb=mariadb)
    words = tuple(one.value for one in arguments if one.kind is TokenKind.TEXT)
    full = _full(data_type, arguments, charset) + (" unsigned" if unsigned else "") + (" zerofill" if zerofill else "")
    data_type = full.partition("(")[0].partition(" ")[0]
    text = charset if data_type in _CHARACTER else ""
    column = replace(found.column, data_type=data_type, column_type=full, charset=text, words=words)
    return replace(found, column=column)


def _type(reader: TokenReader) -> tuple[str, list[SqlToken], bool]:
    """The name of the type, its arguments, and whether it is a NATIONAL one."""
    first = reader.name().lower()
    national = first in ("national", "nchar", "nvarchar")
    if first == "national":
        first = reader.name().lower()
    if first == "long":
        first = "mediumblob" if reader.accept("VARBINARY") else "mediumtext"
        reader.accept("VARCHAR", "VARCHARACTER")
    elif first in ("char", "character", "nchar") and reader.accept("VARYING", "VARCHAR", "VARCHARACTER"):
        first = "varchar"
    elif first == "double":
        reader.accept("PRECISION")
    first = _ALIASES.get(first, first)
    arguments = reader.group() if reader.token is not None and reader.token.has("(") else []
    if first in ("bool", "boolean"):
        return "tinyint", [SqlToken(TokenKind.NUMBER, "1")], False
    if first == "serial":
        return "bigint unsigned", [], False
    return first, arguments, national


def _attribute(found: ColumnText, word: str, reader: TokenReader) -> ColumnText:
    column = found.column
    if word == "NOT" and reader.accept("NULL"):
        return replace(found, column=replace(column, nullable=False))
    if word == "PRIMARY":
        reader.accept("KEY")
        return replace(found, key=True, column=replace(column, nullable=False))
    if word == "INVISIBLE":
        return replace(found, column=replace(column, invisible=True))
    if word == "COMMENT":
        return replace(found, column=replace(column, comment=reader.take().value))
    if word == "DEFAULT":
        return replace(found, column=replace(column, default=_default(reader)))
    if word == "FIRST":
        return replace(found, place=word)
    if word == "AFTER":
        return replace(found, place=word, after=reader.name())
    if word in _SKIPPED_GROUPS or (word == "ON" and reader.accept("UPDATE", "DELETE")):
        while reader.token is not None and not reader.token.has("(") and reader.token.has("ALWAYS", "AS"):
            reader.take()
        if word == "REFERENCES":
            reader.name()
            if reader.accept("."):
                reader.name()
        if reader.token is not None and reader.token.has("("):
            reader.group()
    elif not word and reader.token is not None and reader.token.has("("):
        reader.group()
    return found


def _default(reader: TokenReader) -> str | None:
    """The default as it is written: one value, or an expression in parentheses."""
    token = reader.token
    if token is not None and token.has("("):
        return "(" + " ".join(one.value for one in reader.group()) + ")"
    text = reader.take().value
    if text in ("-", "+"):
        text += reader.take().value
    elif reader.token is not None and reader.token.has("("):
        text += "(" + " ".join(one.value for one in reader.group()) + ")"
    return None if text.upper() == "NULL" else text


def _with_charset(data_type: str, charset: str, *, mariadb: bool) -> tuple[str, str]:
    if data_type == "json" and mariadb:
        return "longtext", "utf8mb4"
    if charset == "binary" and data_type in _BINARY_OF:
        return _BINARY_OF[data_type], ""
    return data_type, charset


def _full(data_type: str, arguments: Sequence[SqlToken], charset: str) -> str:
    numbers = [int(one.value) for one in arguments if one.kind is TokenKind.NUMBER]
    if data_type in ("enum", "set"):
        return f"{data_type}({','.join(quoted(one.value) for one in arguments if one.kind is TokenKind.TEXT)})"
    if data_type in _INTEGERS or data_type == "year":
        return "tinyint(1)" if data_type == "tinyint" and numbers[:1] == [1] else data_type
    if data_type in ("text", "blob") and numbers:
        size = numbers[0] * (_CHARSET_WIDTH.get(charset, 1) if data_type == "text" else 1)
        place = next((i for i, most in enumerate(_SIZES) if size < most), 3)
        return (_TEXTS if data_type == "text" else _BLOBS)[place]
    if data_type == "float" and len(numbers) == 1:
        return "double" if numbers[0] > 24 else "float"
    if data_type == "decimal" and len(numbers) == 1:
        return f"decimal({numbers[0]},0)"
    if not numbers or (data_type in ("time", "datetime", "timestamp") and not numbers[0]):
        return data_type + _DEFAULT_LENGTH.get(data_type, "")
    return f"{data_type}({','.join(map(str, numbers))})"


def quoted(word: str) -> str:
    return "'" + word.replace("'", "''") + "'"


def charset_name(name: str) -> str:
    """`utf8` is utf8mb3 for the log: servers that mean another set by it write that one's name."""
    lower = name.lower()
    return UTF8 if lower == "utf8" else lower


def charset_of(collation: str) -> str:
    """The character set of a collation, by its name."""
    return charset_name(collation.lower().partition("_")[0])


def normal_type(full: str) -> str:
    """A type of information_schema without the display widths that only some servers show."""
    name, _, rest = full.partition("(")
    lower = name.lower().strip()
    if lower in _INTEGERS or lower == "year":
        number, _, after = rest.partition(")")
        base = "tinyint(1)" if lower == "tinyint" and number.strip() == "1" else lower
        return base + after.lower() if rest else full.lower()
    return full if lower in ("enum", "set") else full.lower()
