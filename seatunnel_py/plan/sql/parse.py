"""Parses queries into a tree: SeaTunnel's dialect, with places, and without giving any function a meaning.

Function calls stay names with arguments: the translation decides what they mean. Importing this module loads sqlglot,
so only code with a query imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import sqlglot
from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError, TokenError
from sqlglot.generator import Generator as BaseGenerator
from sqlglot.parser import Parser as BaseParser
from sqlglot.tokenizer_core import Token, TokenType
from sqlglot.tokens import Tokenizer as BaseTokenizer

PEER = "seatunnel"
SPARK = "spark"
DIALECTS = (PEER, SPARK)
ANY_TABLE = "dual"
"""A name for the only input, regardless of its own name."""


class SqlError(ValueError):
    """A query cannot be parsed or translated. ``line`` and ``column`` count from 1 in the query; 0: unknown.
    ``syntax``: the parser did not understand it."""

    def __init__(self, message: str, line: int = 0, column: int = 0, *, syntax: bool = False) -> None:
        super().__init__(message, line, column)
        self.message = message
        self.line = line
        self.column = column
        self.syntax = syntax

    def __str__(self) -> str:
        return f"{self.message} (line {self.line}, column {self.column} of the query)" if self.line else self.message


def at(node: exp.Expr | None, message: str) -> SqlError:
    """Make the error of a node, at its place or at the next known one inside it."""
    for inner in node.walk() if node is not None else ():
        if "line" in inner.meta:
            # A token's column is that of its last character.
            width = inner.meta["end"] - inner.meta["start"]
            return SqlError(message, inner.meta["line"], max(inner.meta["col"] - width, 1))
    return SqlError(message)


# ------------------------------------------------------------------ the dialect


def _position(parser: Any) -> exp.Expr:
    """Parse ``POSITION(a IN b)`` and ``POSITION(a, b)``, both as a call with the sought text first."""
    found = parser._parse_position()
    return exp.Anonymous(this="POSITION", expressions=[found.args["substr"], found.this])


def _substring(name: str) -> Callable[[Any], exp.Expr]:
    """Parse ``SUBSTRING(s FROM 2 FOR 3)`` and the form with commas."""

    def parse(parser: Any) -> exp.Expr:
        found = parser._parse_substring()
        args = [found.this, found.args.get("start"), found.args.get("length")]
        return exp.Anonymous(this=name, expressions=[arg for arg in args if arg is not None])

    return parse


def _trim(parser: Any) -> exp.Expr:
    """Parse ``TRIM(BOTH 'x' FROM s)`` and ``TRIM(s, 'x')``."""
    found = parser._parse_trim()
    name = {"LEADING": "LTRIM", "TRAILING": "RTRIM"}.get(found.args.get("position") or "", "TRIM")
    args = [found.this, found.args.get("expression")]
    return exp.Anonymous(this=name, expressions=[arg for arg in args if arg is not None])


class SeaTunnelDialect(Dialect):
    """SeaTunnel's SQL. Text is in single quotes, where only ``''`` is special; names are in back-quotes or, as in the
    standard, in double quotes."""

    class Tokenizer(BaseTokenizer):
        QUOTES: ClassVar = ["'"]
        IDENTIFIERS: ClassVar = ["`", '"']
        STRING_ESCAPES: ClassVar = ["'"]
        KEYWORDS: ClassVar = {
            **BaseTokenizer.KEYWORDS,
            "BYTE": TokenType.TINYINT,
            "BYTES": TokenType.VARBINARY,
            "LONG": TokenType.BIGINT,
            "STRING": TokenType.TEXT,
            "DATETIME": TokenType.TIMESTAMP,
        }
        NUMERIC_LITERALS: ClassVar = {"L": "BIGINT", "S": "SMALLINT", "Y": "TINYINT", "D": "DOUBLE", "F": "FLOAT"}

    class Parser(BaseParser):
        FUNCTIONS: ClassVar = {}
        FUNCTION_PARSERS: ClassVar = {
            "CAST": lambda parser: parser._parse_cast(True),
            "TRY_CAST": lambda parser: parser._parse_cast(False, safe=True),
            "EXTRACT": lambda parser: parser._parse_extract(),
            "POSITION": _position,
            "SUBSTRING": _substring("SUBSTRING"),
            "SUBSTR": _substring("SUBSTR"),
            "TRIM": _trim,
        }
        FUNC_TOKENS: ClassVar = {
            *BaseParser.FUNC_TOKENS,
            TokenType.INSERT,
            TokenType.REPLACE,
            TokenType.TRUNCATE,
        }

    class Generator(BaseGenerator):
        TYPE_MAPPING: ClassVar = {
            **BaseGenerator.TYPE_MAPPING,
            exp.DataType.Type.TEXT: "STRING",
            exp.DataType.Type.VARBINARY: "BYTES",
        }


_BY_NAME: dict[str, Any] = {PEER: SeaTunnelDialect, SPARK: "spark"}


# ------------------------------------------------------------------ reading


def parse_query(text: str, dialect: str) -> exp.Query:
    """Parse the one SELECT in ``text``. Raises SqlError."""
    try:
        statements = [tree for tree in sqlglot.parse(text, dialect=_BY_NAME[dialect]) if tree is not None]
    except ParseError as error:
        raise _syntax_error(error) from None
    except TokenError:
        raise SqlError("the query cannot be read: a quote or a comment is not closed", syntax=True) from None
    statements = [tree for tree in statements if not isinstance(tree, exp.Semicolon)]
    if not statements:
        raise SqlError("the query is empty")
    if len(statements) > 1:
        raise at(statements[1], f"the query has {len(statements)} statements, and one SELECT is wanted")
    query = statements[0]
    if not isinstance(query, exp.Query):
        kind = (text.split(maxsplit=1) or [""])[0].upper()
        raise SqlError(f"the query must be a SELECT, this is {kind}", 1, 1)
    return query


def tokens(text: str) -> list[Token]:
    """The tokens of Spark SQL text, with their offsets."""
    found: list[Token] = sqlglot.tokenize(text, dialect="spark")
    return found


def written(node: exp.Expr) -> str:
    """The text of a node in SeaTunnel's dialect, evenly spaced: it names a column that has no alias."""
    text: str = node.sql(dialect=SeaTunnelDialect, normalize_functions=False, comments=False)
    return text


def input_tables(query: exp.Query) -> Iterator[exp.Table]:
    """The external tables that a query reads: neither its own WITH names nor functions."""
    own = {cte.alias_or_name.lower() for cte in query.find_all(exp.CTE)}
    for table in query.find_all(exp.Table):
        named = isinstance(table.this, exp.Identifier)
        if named and (table.args.get("db") or table.name.lower() not in own):
            yield table


def table_name(table: exp.Table) -> str:
    """The name as written, dots included."""
    return ".".join(part.name for part in table.parts)


def _syntax_error(error: ParseError) -> SqlError:
    found = (error.errors or [{}])[0]
    what = (found.get("description") or "it cannot be read").partition(" but got <")[0].rstrip(".")
    near = found.get("highlight") or ""
    message = f"syntax error: {what[:1].lower()}{what[1:]}" + (f" near {near!r}" if near.strip() else "")
    line, column = found.get("line") or 0, found.get("col") or 0
    return SqlError(message, line, max(column - len(near) + 1, 1) if line else column, syntax=True)


def spark_oddity(text: str) -> SqlError | None:
    """Report errors that invalidate any Spark SQL: an unclosed quote or parenthesis, or one that closes nothing."""
    try:
        found = tokens(text)
    except TokenError:
        return SqlError("the query cannot be read: a quote or a comment is not closed")
    opened: list[Token] = []
    for token in found:
        if token.token_type is TokenType.L_PAREN:
            opened.append(token)
        elif token.token_type is TokenType.R_PAREN and not (opened and opened.pop()):
            return SqlError("a parenthesis closes nothing", token.line, token.col)
    if opened:
        return SqlError("a parenthesis is not closed", opened[-1].line, opened[-1].col)
    return None
