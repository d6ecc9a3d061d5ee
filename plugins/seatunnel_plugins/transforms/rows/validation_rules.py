"""Implements DataValidator's rules: each takes a column, and returns the values that break it and the reasons. Null
breaks NOT_NULL only."""

from __future__ import annotations

import importlib.metadata
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Context, Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from seatunnel_plugins.transforms.shared.texts import as_text, is_scalar
from seatunnel_py.api import BadRowsError, Column, JavaPattern, Kind, Options, option, required_when, shown_values
from seatunnel_py.formats.row_text import text_of

if TYPE_CHECKING:
    import pyarrow as pa

VALIDATORS_GROUP = "seatunnel_py.validators"
"""Entry points of functions for UDF rules: they take a value (never null), and return a message or None."""

DIGITS_MAX = 38  # before, and after, the point: the most that a column can hold
NUMBERS = frozenset({Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL})


class RuleType(StrEnum):
    NOT_NULL = "NOT_NULL"
    RANGE = "RANGE"
    LENGTH = "LENGTH"
    REGEX = "REGEX"
    UDF = "UDF"


class RuleOptions(Options):
    """Options of all rules; each rule type uses its own part."""

    rule_type: RuleType | None = option(None, doc="type of the rule")
    min_value: Decimal | None = option(None, doc="RANGE: smallest value; default: no limit")
    max_value: Decimal | None = option(None, doc="RANGE: largest value; default: no limit")
    min_inclusive: bool = option(True, doc="RANGE: whether min_value itself is allowed")
    max_inclusive: bool = option(True, doc="RANGE: whether max_value itself is allowed")
    min_length: int | None = option(None, ge=0, doc="LENGTH: smallest length, in characters; default: no limit")
    max_length: int | None = option(None, ge=0, doc="LENGTH: largest length, in characters; default: no limit")
    exact_length: int | None = option(None, ge=0, doc="LENGTH: required length, in characters")
    pattern: str | None = option(None, doc="REGEX: Java regular expression that must match the whole text")
    case_sensitive: bool = option(True, doc="REGEX: whether upper and lower case are different")
    function_name: str | None = option(None, doc=f"UDF: EMAIL, or an entry point of the group {VALIDATORS_GROUP}")
    custom_message: str | None = option(
        None, doc="message for rows that break the rule; default: the rule's own message"
    )

    rules = tuple(
        required_when(name, other="rule_type", equals=(kind,))
        for name, kind in (("pattern", RuleType.REGEX), ("function_name", RuleType.UDF))
    )


@dataclass(frozen=True, slots=True)
class ValidationRule(ABC):
    """A rule bound to a column. Picklable."""

    column: Column
    custom: str | None

    @abstractmethod
    def broken(self, values: pa.Array) -> pa.BooleanArray:
        """Mask of the values that break the rule, without nulls."""

    @abstractmethod
    def reason(self, value: pa.Array) -> str:
        """Reason why this value breaks the rule."""

    def message(self, value: pa.Array) -> str:
        return self.custom or self.reason(value)


def bound_rule(options: RuleOptions, column: Column) -> Iterable[ValidationRule]:
    """The rule in the options, bound to the column. Raises ValueError if it cannot be checked on that column."""
    match options.rule_type:
        case RuleType.NOT_NULL:
            yield NotNull(column, options.custom_message)
        case RuleType.RANGE:
            yield from _range(options, column)
        case RuleType.LENGTH:
            yield from _length(options, column)
        case RuleType.REGEX:
            assert options.pattern is not None
            if not is_scalar(column):
                raise ValueError(f"field_rules: REGEX: {column.name!r} is a {column.dtype}, which is not text")
            flag = "" if options.case_sensitive else "(?i)"
            yield Regex(column, options.custom_message, JavaPattern(flag + options.pattern, "field_rules: pattern"))
        case RuleType.UDF:
            assert options.function_name is not None
            yield Udf(column, options.custom_message, options.function_name, _function(options.function_name))
        case None:
            return


@dataclass(frozen=True, slots=True)
class NotNull(ValidationRule):
    def broken(self, values: pa.Array) -> pa.BooleanArray:
        return values.is_null()

    def reason(self, value: pa.Array) -> str:
        return f"Field '{self.column.name}' cannot be null"


def _range(options: RuleOptions, column: Column) -> Iterable[ValidationRule]:
    if column.dtype.kind not in NUMBERS:
        raise ValueError(f"field_rules: RANGE: {column.name!r} is a {column.dtype}, which is not a number")
    if options.min_value is None and options.max_value is None:
        raise ValueError(f"field_rules: RANGE of {column.name!r}: give min_value, max_value or both")
    yield Range(
        column,
        options.custom_message,
        options.min_value,
        options.max_value,
        options.min_inclusive,
        options.max_inclusive,
    )


@dataclass(frozen=True, slots=True)
class Range(ValidationRule):
    least: Decimal | None
    most: Decimal | None
    least_allowed: bool
    most_allowed: bool

    def broken(self, values: pa.Array) -> pa.BooleanArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        found = pa.array([False]).take(pa.array([0] * len(values), pa.int8()))
        if self.least is not None:
            found = pc.or_(found, (pc.less if self.least_allowed else pc.less_equal)(*self._sides(values, self.least)))
        if self.most is not None:
            beyond = pc.greater if self.most_allowed else pc.greater_equal
            found = pc.or_(found, beyond(*self._sides(values, self.most)))
        return found.fill_null(False)

    def _sides(self, values: pa.Array, bound: Decimal) -> tuple[pa.Array, pa.Scalar]:
        """Column and bound in one type: exact, unless the column itself is floating-point."""
        import pyarrow as pa

        if self.column.dtype.kind in (Kind.FLOAT, Kind.DOUBLE) or bound.adjusted() >= DIGITS_MAX:
            return values.cast(pa.float64()), pa.scalar(float(bound))
        if self.column.dtype.kind is not Kind.DECIMAL and bound == int(bound) and -(2**63) <= bound < 2**63:
            return values, pa.scalar(int(bound), pa.int64())
        own = self.column.dtype.scale if self.column.dtype.kind is Kind.DECIMAL else 0
        scale = min(max(own, -int(bound.as_tuple().exponent)), DIGITS_MAX)
        wide = pa.decimal256(2 * DIGITS_MAX, scale)
        exact = bound.quantize(Decimal(1).scaleb(-scale), context=Context(prec=2 * DIGITS_MAX))
        return values.cast(wide), pa.scalar(exact, wide)

    def reason(self, value: pa.Array) -> str:
        left = "(" if self.least is None or not self.least_allowed else "["
        right = ")" if self.most is None or not self.most_allowed else "]"
        least = "-∞" if self.least is None else f"{self.least:f}"
        most = "∞" if self.most is None else f"{self.most:f}"
        shown = text_of(value[0].as_py(), self.column.dtype)
        return f"Field '{self.column.name}' value {shown} is not within range {left}{least}, {most}{right}"


def _length(options: RuleOptions, column: Column) -> Iterable[ValidationRule]:
    if options.min_length is None and options.max_length is None and options.exact_length is None:
        raise ValueError(f"field_rules: LENGTH of {column.name!r}: give min_length, max_length or exact_length")
    least = options.min_length if options.exact_length is None else options.exact_length
    most = options.max_length if options.exact_length is None else options.exact_length
    yield Length(column, options.custom_message, least or 0, most)


@dataclass(frozen=True, slots=True)
class Length(ValidationRule):
    least: int
    most: int | None

    def broken(self, values: pa.Array) -> pa.BooleanArray:
        import pyarrow.compute as pc

        lengths = self._lengths(values)
        found = pc.less(lengths, self.least)
        if self.most is not None:
            found = pc.or_(found, pc.greater(lengths, self.most))
        return found.fill_null(False)

    def _lengths(self, values: pa.Array) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        match self.column.dtype.kind:
            case Kind.BYTES:
                return pc.binary_length(values)
            case Kind.ARRAY:
                return pc.list_value_length(values)
            case Kind.MAP:
                return pa.array(
                    [None if entries is None else len(entries) for entries in shown_values(values)], pa.int32()
                )
            case _:
                return pc.utf8_length(as_text(values, self.column))

    def reason(self, value: pa.Array) -> str:
        (length,) = self._lengths(value).to_pylist()
        if self.least == self.most:
            return f"Field '{self.column.name}' has length {length}, expected {self.least}"
        if length < self.least:
            return f"Field '{self.column.name}' has length {length}, below the minimum {self.least}"
        return f"Field '{self.column.name}' has length {length}, above the maximum {self.most}"


@dataclass(frozen=True, slots=True)
class Regex(ValidationRule):
    pattern: JavaPattern

    def broken(self, values: pa.Array) -> pa.BooleanArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = as_text(values, self.column)
        fast = self.pattern.re2(texts)
        if fast is not None:
            return pc.invert(pc.match_substring_regex(texts, f"^(?:{fast})$")).fill_null(False)
        whole = self.pattern.bounded.fullmatch
        return pa.array([text is not None and whole(text) is None for text in texts.to_pylist()], pa.bool_())

    def reason(self, value: pa.Array) -> str:
        return f"Field '{self.column.name}' does not match pattern '{self.pattern.pattern}'"


@dataclass(frozen=True, slots=True)
class Udf(ValidationRule):
    name: str
    function: Callable[[Any], str | None]

    def broken(self, values: pa.Array) -> pa.BooleanArray:
        import pyarrow as pa

        found = (value is not None and self.function(value) is not None for value in self._given(values))
        return pa.array(list(found), pa.bool_())

    def _given(self, values: pa.Array) -> list[Any]:
        """Arguments for the function. Raises BadRowsError for the first value that Python cannot represent."""
        try:
            return list(values.to_pylist())
        except OverflowError:
            row = next(row for row in range(len(values)) if not _is_in_python(values[row]))
            shown = text_of(shown_values(values.slice(row, 1))[0], self.column.dtype)
            raise BadRowsError(
                f"DataValidator: {self.column.name} = {shown}: no function of Python can be given it, whose years are "
                "1 to 9999",
                "leave the rule out, or filter such rows out before it",
                row,
            ) from None

    def reason(self, value: pa.Array) -> str:
        return f"Field '{self.column.name}': {self.function(*self._given(value))}"


def _is_in_python(value: pa.Scalar) -> bool:
    try:
        value.as_py()
    except OverflowError:
        return False
    return True


def _function(name: str) -> Callable[[Any], str | None]:
    if name.upper() == "EMAIL":
        return email
    found = list(importlib.metadata.entry_points(group=VALIDATORS_GROUP, name=name))
    if len(found) != 1:
        known = sorted({"EMAIL", *(entry.name for entry in importlib.metadata.entry_points(group=VALIDATORS_GROUP))})
        raise ValueError(
            f"field_rules: function_name: {len(found)} functions are called {name!r}; known: {', '.join(known)}"
        )
    function: Callable[[Any], str | None] = found[0].load()
    return function


_DOMAIN = re.compile(r"[a-zA-Z0-9.-]+")


def email(value: Any) -> str | None:
    """Reason why the text is not a mail address, by OWASP's rules of thumb; None if it may be one."""
    text = str(value).strip()
    local, _, domain = text.partition("@")
    if not text:
        return None
    if len(text) > 254:
        return "Email too long (at most 254 characters)"
    if not local or "@" not in text or "@" in domain:
        return f"Email must contain exactly one @ symbol: {text}"
    if len(local) > 63:
        return f"Email local part too long (at most 63 characters): {text}"
    if any(letter in text for letter in "\"'`\0"):
        return f"Email contains dangerous characters: {text}"
    if not _DOMAIN.fullmatch(domain) or "." not in domain:
        return f"Email domain is not valid: {text}"
    return None
