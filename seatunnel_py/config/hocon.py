"""Parses HOCON and JSON text to expressions with places. No other module uses the ``hocon`` library.

Uses the library's lexer and parser below its public surface, for two reasons. The public result has no positions. And
the public result has merged objects already, so that a second ``Jdbc { ... }`` would vanish into the first.
``evaluate`` decides what the expressions mean.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hocon._internal.lexer.lexer import _Lexer
from hocon._internal.lexer.token import Segment, SubstPayload, Token
from hocon._internal.parser import ast
from hocon._internal.parser.parser import parse_tokens
from hocon.errors import ParseError

from seatunnel_py.config.guard import DEFAULT_LIMITS, Limits, check
from seatunnel_py.config.tree import Scalar, SourcePlace, WrittenFloat, WrittenInt
from seatunnel_py.errors import JobFileError


@dataclass(frozen=True, slots=True)
class Literal:
    """A piece of text as written. ``kind`` is ``text``, ``number``, ``boolean``, ``null`` or ``blank``.

    ``blank`` is the space between two parts of a concatenation.
    """

    text: str
    kind: str
    place: SourcePlace

    def value(self) -> Scalar:
        """The value of the piece when it is alone."""
        if self.kind == "number":
            return number(self.text)
        if self.kind == "boolean":
            return self.text == "true"
        return None if self.kind == "null" else self.text


@dataclass(frozen=True, slots=True)
class Reference:
    """``${path}`` outside quotes: a value of this file, or else a variable.

    ``prefix`` is the path of the included file that holds it: its references are looked up below the prefix first.
    ``text`` is the reference as written, kept if the name is undefined.
    """

    path: tuple[str, ...]
    optional: bool
    default: str | None
    text: str
    prefix: tuple[str, ...]
    place: SourcePlace


@dataclass(frozen=True, slots=True)
class Joined:
    """Adjacent pieces: texts are joined, lists are joined, objects are merged."""

    parts: tuple[Expression, ...]
    place: SourcePlace


@dataclass(frozen=True, slots=True)
class Listed:
    """``[ ... ]``"""

    items: tuple[Expression, ...]
    place: SourcePlace


@dataclass(frozen=True, slots=True)
class Include:
    """``include "path"``; ``prefix`` is as in ``Reference``."""

    path: str
    required: bool
    place: SourcePlace


@dataclass(frozen=True, slots=True)
class Field:
    """``a.b = value``, or with ``append`` ``a.b += value``."""

    path: tuple[str, ...]
    value: Expression
    append: bool
    place: SourcePlace


@dataclass(frozen=True, slots=True)
class ObjectExpression:
    """``{ ... }``: fields in the order written, repeated ones included."""

    fields: tuple[Field | Include, ...]
    place: SourcePlace


Expression = Literal | Reference | Joined | Listed | ObjectExpression


def read(
    text: str, file: str, *, prefix: tuple[str, ...] = (), limits: Limits = DEFAULT_LIMITS
) -> ObjectExpression | Listed:
    """Parse one file to expressions. Raises ``JobFileError`` with the place of the first error."""
    text = check(text, file, limits)
    try:
        tokens = _tokens(text)
        _check_separators(tokens, file)
        root = _Translation(file, prefix).expression(parse_tokens(tokens))
    except ParseError as error:
        place = SourcePlace(file, max(error.line, 1), max(error.col, 1))
        raise place.error(_plain_words(str(error))) from None
    except RecursionError:  # the guard's depth is far below; the caller's stack may still be small
        raise SourcePlace(file, 1, 1).error("nested too deeply") from None
    assert isinstance(root, ObjectExpression | Listed)
    return root


def read_value(text: str, place: SourcePlace) -> Expression:
    """Parse a variable's value, or return the text itself if it spells no value.

    Only a clear number, truth value, list or object counts: an address such as ``jdbc:mysql://host/db`` would otherwise
    end at its ``//``.
    """
    stripped = text.strip()
    if stripped in ("true", "false"):
        return Literal(stripped, "boolean", place)
    if stripped == "null":
        return Literal(stripped, "null", place)
    if _NUMBER.fullmatch(stripped) and len(stripped) <= DEFAULT_LIMITS.digits:
        return Literal(stripped, "number", place)
    if stripped.startswith(("[", "{", '"')):
        try:
            root = read(f"[{stripped}\n]", place.file)
        except JobFileError:
            return Literal(text, "text", place)
        if isinstance(root, Listed) and len(root.items) == 1 and not isinstance(root.items[0], Joined):
            return root.items[0]
    return Literal(text, "text", place)


def number(text: str) -> int | float:
    """Return the number that a literal spells; it keeps its spelling for options that turn out to be text."""
    if text.lstrip("-").isdecimal():
        plain = int(text)
        return plain if str(plain) == text else WrittenInt(text)
    real = float(text)
    return real if repr(real) == text else WrittenFloat(text)


_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?")
_WITH_DEFAULT = re.compile(r"\$\{([^:{}\"\n]+):([^}\n]*)\}")
_LIBRARY_NOTES = re.compile(r" *\((?:HOCON|S\d|E\d|xx\.hocon)[^)]*\)|^internal: ")


def _plain_words(message: str) -> str:
    """Return the library's message without its references to paragraphs of the specification."""
    return _LIBRARY_NOTES.sub("", message)


class _Path(list[Segment]):
    """Segments of a reference with two things that the library would forget: the text as written, and a default
    value."""

    text: str = ""
    default: str | None = None


class _ReferencesKept(_Lexer):
    """Extends the library's lexer: it also reads ``${name:default}`` and remembers references as written."""

    _blanks = ""

    @property
    def whitespace_buffer(self) -> str:
        """Blanks since the last token, of which only the first matter; the library adds them one by one."""
        return self._blanks

    @whitespace_buffer.setter
    def whitespace_buffer(self, blanks: str) -> None:
        self._blanks = blanks[: DEFAULT_LIMITS.blanks]

    def _parse_subst_body(self, start_line: int, start_col: int) -> SubstPayload:
        start = self.pos - len("${")
        if (match := _WITH_DEFAULT.match(self.input, start)) is not None:
            path = _Path([Segment(match[1].strip(), start_line, start_col)])
            path.default = match[2].strip()
            self.col += match.end() - self.pos
            self.pos = match.end()
            payload = SubstPayload(path, False, False)
        else:
            payload = super()._parse_subst_body(start_line, start_col)
            path = payload.segments = _Path(payload.segments)
        path.text = self.input[start : self.pos]
        return payload


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    for token in _ReferencesKept(text).tokenize():
        if token.kind == "unquoted" and token.value.startswith("include."):
            # SeaTunnel has keys such as `include.schema.changes`; the library reserves the bare word.
            first = Token("string", "include", token.line, token.col, True)
            first.preceding_space, first.preceding_whitespace = token.preceding_space, token.preceding_whitespace
            tokens.append(first)
            token = Token("unquoted", token.value[len("include") :], token.line, token.col + len("include"))
        tokens.append(token)
    return tokens


_SEPARATORS = ("equals", "colon", "plus_equals")
_ENDS = ("newline", "comma", "lbrace", "rbrace", "lbracket", "rbracket")


def _check_separators(tokens: list[Token], file: str) -> None:
    """Refuse ``a = 1 b = 2``, as SeaTunnel does: the library takes ``1 b = 2`` for one text, and the second option
    would be lost. Adjacent pieces without blanks, as in ``host:port``, are text."""
    value: list[Token] | None = None  # since a separator
    for token in tokens:
        if token.kind in _ENDS:
            value = None
        elif value is None:
            value = [] if token.kind in _SEPARATORS else None
        else:
            if token.kind in _SEPARATORS and value:
                _check_value_ends(value, token, file)
            value.append(token)


def _check_value_ends(value: list[Token], separator: Token, file: str) -> None:
    keys = [at for at, token in enumerate(value) if at and token.preceding_space]
    if not keys and not separator.preceding_space:
        return
    key = value[keys[-1]] if keys else separator
    name = "".join(token.value for token in value[keys[-1] :]) if keys else separator.value
    raise SourcePlace(file, key.line, key.col).error(
        f"a second {separator.value!r} for one option",
        remedy=f"Put a comma or a line break before {name!r}, or the value in quotes where all of it is one text.",
    )


@dataclass(frozen=True, slots=True)
class _Translation:
    """Converts the library's syntax tree to ours."""

    file: str
    prefix: tuple[str, ...]

    def expression(self, node: ast.AstNode) -> Expression:
        place = self._place(node.pos)
        if isinstance(node, ast.AstScalar):
            return self._literal(node, place)
        if isinstance(node, ast.AstSubst):
            assert isinstance(node.segments, _Path)
            names = tuple(segment.text for segment in node.segments)
            if len(names) > DEFAULT_LIMITS.depth:
                raise place.error(f"a path of more than {DEFAULT_LIMITS.depth} names")
            suffix = ("[]",) if node.list_suffix else ()
            default, text = node.segments.default, node.segments.text
            return Reference(names + suffix, node.optional, default, text, self.prefix, place)
        if isinstance(node, ast.AstConcat):
            return Joined(tuple(map(self.expression, node.nodes)), place)
        if isinstance(node, ast.AstArray):
            return Listed(tuple(map(self.expression, node.items)), place)
        assert isinstance(node, ast.AstObject)
        return ObjectExpression(tuple(map(self._field, node.fields)), place)

    def _literal(self, node: ast.AstScalar, place: SourcePlace) -> Literal:
        kind = "blank" if node.separator else "text" if node.value_type == "string" else node.value_type
        return Literal(self._whole(node.raw, place), kind, place)

    def _field(self, field: ast.AstField) -> Field | Include:
        place = self._place(field.pos)
        if isinstance(field.value, ast.AstInclude):
            if field.value.qualifier.kind == "package":
                raise place.error("include package(...) is not supported")
            return Include(self._whole(field.value.path, place), field.value.required, place)
        if len(field.key) > DEFAULT_LIMITS.depth:
            raise place.error(f"nested deeper than {DEFAULT_LIMITS.depth} levels")
        path = tuple(self._whole(name, place) for name in field.key)
        return Field(path, self.expression(field.value), field.append, place)

    def _place(self, at: ast.Pos) -> SourcePlace:
        return SourcePlace(self.file, at.line, at.col)

    @staticmethod
    def _whole(text: str, place: SourcePlace) -> str:
        """Return the text; refuse characters that an escape (``\\ud800``, ``\\u0000``) smuggles past ``check``."""
        if not text.isascii() and re.search("[\ud800-\udfff]", text):
            raise place.error("a lone surrogate escape")
        return text
