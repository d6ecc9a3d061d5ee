"""Compiles rules about values for one table: each takes a whole column and returns the rows that break it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.assert_.options import FieldRule, ValueRule, ValueRuleType
from seatunnel_py.api import Column, DataType, Kind, TableSchema, shown_values, to_arrow
from seatunnel_py.formats.json.values import from_json, json_text
from seatunnel_py.formats.row_text import text_of
from seatunnel_py.formats.schema_option import check_columns
from seatunnel_py.formats.value_text.decimals import WIDE

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERS = frozenset({Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT, Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL})
NESTED = frozenset({Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.FLOAT_VECTOR, Kind.FLOAT16_VECTOR, Kind.SPARSE_FLOAT_VECTOR})


@dataclass(frozen=True, slots=True)
class FieldCheck(ABC):
    """One rule about one column; ``text`` describes it."""

    column: Column
    text: str

    @abstractmethod
    def broken(self, values: pa.Array) -> pa.BooleanArray | None:
        """Mask of the rows that break the rule, without nulls; None if no row can."""


def field_checks(rules: Iterable[FieldRule], table: TableSchema) -> tuple[FieldCheck, ...]:
    """Rules for the columns of ``table``. Raises ValueError that names a missing field or an impossible value."""
    found: list[FieldCheck] = []
    for rule in rules:
        check_columns([rule.field_name], table.names, "rules.field_rules")
        column = table.column(rule.field_name)
        assert column is not None
        if rule.field_type is not None:
            found.append(TypeCheck(column, f"field_type = {rule.field_type}", rule.field_type))
        for value in rule.field_value:
            found += _value_checks(value, column)
    return tuple(found)


def _value_checks(rule: ValueRule, column: Column) -> Iterable[FieldCheck]:
    bound = "" if rule.rule_value is None else f" {rule.rule_value:g}"
    match rule.rule_type:
        case None:
            pass
        case ValueRuleType.NOT_NULL | ValueRuleType.NULL:
            yield NullCheck(column, rule.rule_type.value, rule.rule_type is ValueRuleType.NULL)
        case ValueRuleType.MIN | ValueRuleType.MAX:
            assert rule.rule_value is not None
            yield BoundCheck(column, rule.rule_type + bound, rule.rule_value, rule.rule_type is ValueRuleType.MIN)
        case ValueRuleType.MIN_LENGTH | ValueRuleType.MAX_LENGTH:
            assert rule.rule_value is not None
            least = rule.rule_type is ValueRuleType.MIN_LENGTH
            yield LengthCheck(column, rule.rule_type + bound, rule.rule_value, least)
    if rule.equals_to is not None:
        wanted = from_json(rule.equals_to, column.dtype, f"rules.field_rules: equals_to of {column.name!r}")
        yield EqualCheck(column, f"equals_to = {json_text(rule.equals_to)}", wanted)


@dataclass(frozen=True, slots=True)
class NullCheck(FieldCheck):
    wanted: bool

    def broken(self, values: pa.Array) -> pa.BooleanArray | None:
        if values.null_count == (len(values) if self.wanted else 0):
            return None
        return values.is_valid() if self.wanted else values.is_null()


@dataclass(frozen=True, slots=True)
class BoundCheck(FieldCheck):
    """Compares numbers; null, and a value that is not a number, break the rule."""

    bound: float
    least: bool

    def broken(self, values: pa.Array) -> pa.BooleanArray | None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.column.dtype.kind not in NUMBERS:
            return pa.array([True] * len(values))
        compare = pc.greater_equal if self.least else pc.less_equal
        if pa.types.is_floating(values.type):
            within = compare(values.cast(pa.float64()), self.bound)
        else:
            within = self._exactly(values, compare)
        return pc.invert(within.fill_null(False))

    def _exactly(self, values: pa.Array, compare: Any) -> pa.BooleanArray:
        """Compare whole numbers and decimals exactly, without doubles: the bound is rounded to their scale."""
        import pyarrow as pa

        if not math.isfinite(self.bound):
            return pa.array([(self.bound < 0) == self.least and not math.isnan(self.bound)] * len(values))
        scale = values.type.scale if pa.types.is_decimal(values.type) else 0
        nearest = (
            Decimal(self.bound)
            .scaleb(scale, WIDE)
            .to_integral_value(ROUND_CEILING if self.least else ROUND_FLOOR, WIDE)
        )
        bound = nearest.scaleb(-scale, WIDE)
        limit = Decimal(10) ** (76 - scale)
        if abs(bound) >= limit:
            return pa.array([(bound < 0) == self.least] * len(values))
        wide = pa.decimal256(76, scale)
        return compare(values.cast(wide), pa.scalar(bound, wide))


@dataclass(frozen=True, slots=True)
class LengthCheck(FieldCheck):
    """Counts the characters of the value's text; null has none."""

    bound: float
    least: bool

    def broken(self, values: pa.Array) -> pa.BooleanArray | None:
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.column.dtype.kind is Kind.STRING:
            lengths = pc.utf8_length(values).fill_null(0)
        else:
            dtype = self.column.dtype
            texts = ("" if value is None else text_of(value, dtype) for value in shown_values(values))
            lengths = pa.array([len(text) for text in texts], pa.int32())
        return (pc.less if self.least else pc.greater)(lengths.cast(pa.float64()), self.bound)


@dataclass(frozen=True, slots=True)
class EqualCheck(FieldCheck):
    """Compares with a value. Null passes, as in SeaTunnel: NOT_NULL is a separate rule."""

    wanted: Any

    def broken(self, values: pa.Array) -> pa.BooleanArray | None:
        import pyarrow as pa
        import pyarrow.compute as pc

        arrow = to_arrow(self.column.dtype)
        if self.column.dtype.kind in NESTED:
            (wanted,) = map(_comparable, shown_values(pa.array([self.wanted], arrow)))
            found = (value is not None and _comparable(value) != wanted for value in shown_values(values))
            return pa.array(list(found), pa.bool_())
        return pc.not_equal(values, pa.scalar(self.wanted, arrow)).fill_null(False)


def _comparable(value: Any) -> Any:
    """Convert a value so that maps (lists of pairs) compare regardless of order."""
    if isinstance(value, dict):
        return {name: _comparable(item) for name, item in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) for item in value):
            return {_frozen(name): _comparable(item) for name, item in value}
        return [_comparable(item) for item in value]
    return value


def _frozen(value: Any) -> Any:
    return value if value.__hash__ is not None else repr(value)


@dataclass(frozen=True, slots=True)
class TypeCheck(FieldCheck):
    """Compares the column's type with the declared one; only non-null values can have a wrong type."""

    wanted: DataType

    def broken(self, values: pa.Array) -> pa.BooleanArray | None:
        if not same_type(self.column.dtype, self.wanted):
            return values.is_valid() if values.null_count < len(values) else None
        if self.wanted.kind is Kind.DECIMAL and self.column.dtype.precision > self.wanted.precision:
            return self._too_long(values)
        return None

    def _too_long(self, values: pa.Array) -> pa.BooleanArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        limit = pa.scalar(Decimal(10 ** (self.wanted.precision - self.wanted.scale)), values.type)
        return pc.greater_equal(pc.abs(values), limit).fill_null(False)


def same_type(actual: DataType, wanted: DataType) -> bool:
    """True if the types are equal, regardless of nested field names and of a decimal's digits, which the values
    show."""
    if actual.kind is Kind.NULL:
        return True
    if actual.kind is not wanted.kind:
        return False
    match actual.kind:
        case Kind.DECIMAL:
            return actual.scale == wanted.scale
        case Kind.ARRAY | Kind.MAP:
            pairs = [(actual.key, wanted.key), (actual.element, wanted.element)]
            return all(one is None or other is None or same_type(one, other) for one, other in pairs)
        case Kind.ROW:
            pairs_of_fields = zip(actual.fields, wanted.fields, strict=False)
            return len(actual.fields) == len(wanted.fields) and all(
                same_type(one, other) for (_, one), (_, other) in pairs_of_fields
            )
        case _:
            return True
