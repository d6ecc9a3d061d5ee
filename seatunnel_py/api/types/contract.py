"""Decides how values of each type may be stored as each other type.

There are four outcomes. EXACT: values arrive unchanged. CONVERTED: in another form, which `plan` prints. CHECKED:
each value is tested, and a row with a value that would change is refused. REFUSED: the table is refused before a row is
written; this is the default for a pair of types without a rule. Elements of arrays, values of maps and fields of rows
follow the rules of columns. ``convert`` (in convert.py) performs the conversions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from seatunnel_py.api.types.data_type import INTEGERS, NANOSECONDS, NUMBER_TEXT, DataType, Kind

INTEGER_DIGITS = {Kind.TINYINT: 3, Kind.SMALLINT: 5, Kind.INT: 10, Kind.BIGINT: 19}
FLOAT_DIGITS = {Kind.FLOAT: 6, Kind.DOUBLE: 15}
"""Decimal digits that a binary floating-point number always keeps."""

ANY_DIGITS = -1
"""For a time or timestamp column that keeps all digits of its Arrow type."""


class Outcome(StrEnum):
    """How values of one type arrive as another type."""

    EXACT = "exact"
    CONVERTED = "converted"
    CHECKED = "checked"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class TypeCompatibility:
    """Outcome for a pair of types. ``note``: the change, the test, or the reason for the refusal."""

    outcome: Outcome
    note: str = ""


@dataclass(frozen=True, slots=True)
class Conversion:
    """A column whose values arrive in another form, or only if they pass a test. ``source`` and ``target`` are the
    type names of both systems. If they are equal and ``note`` is empty, the sink undoes a conversion of the source: a
    column that is read as text is stored in its own type again."""

    column: str
    source: str
    target: str
    note: str = ""
    checked: bool = False


EXACT = TypeCompatibility(Outcome.EXACT)


def converted(note: str) -> TypeCompatibility:
    return TypeCompatibility(Outcome.CONVERTED, note)


def checked(note: str) -> TypeCompatibility:
    return TypeCompatibility(Outcome.CHECKED, note)


def refused(note: str) -> TypeCompatibility:
    return TypeCompatibility(Outcome.REFUSED, note)


def stored_as(source: DataType, target: DataType, digits: int = ANY_DIGITS) -> TypeCompatibility:
    """Decide how values of ``source`` may be stored as ``target``. ``digits``: the digits of a second's fraction that a
    time or timestamp column keeps."""
    if source.kind is Kind.NULL:
        return EXACT
    if source == target and digits == ANY_DIGITS:
        return EXACT
    if source.kind is Kind.ARRAY and target.kind is Kind.ARRAY:
        assert source.element is not None and target.element is not None
        return stored_as(source.element, target.element)
    rule = _RULES.get((source.kind, target.kind))
    return rule(source, target, digits) if rule else refused(f"cannot hold {source}")


Rule = Callable[[DataType, DataType, int], TypeCompatibility]


def _always(compatibility: TypeCompatibility) -> Rule:
    return lambda source, target, digits: compatibility


def _integers(source: DataType, target: DataType, digits: int) -> TypeCompatibility:
    narrow = INTEGER_DIGITS[target.kind] < INTEGER_DIGITS[source.kind]
    return refused(f"narrower than {source}") if narrow else EXACT


def _integer_to_decimal(source: DataType, target: DataType, digits: int) -> TypeCompatibility:
    if target.precision - target.scale >= INTEGER_DIGITS[source.kind]:
        return EXACT
    if target.precision == 38:
        return checked(f"numbers that {target} holds")
    return refused(f"narrower than {source}")


def _integer_to_float(source: DataType, target: DataType, digits: int) -> TypeCompatibility:
    fits = INTEGER_DIGITS[source.kind] <= FLOAT_DIGITS[target.kind]
    return EXACT if fits else checked(f"numbers that a {target} holds exactly")


def _decimals(source: DataType, target: DataType, digits: int) -> TypeCompatibility:
    whole, wanted = target.precision - target.scale, source.precision - source.scale
    if whole >= wanted and target.scale >= source.scale:
        return EXACT
    if 38 in (source.precision, target.precision):  # a default of Spark or of a database, not a chosen width
        return checked(f"numbers that {target} holds")
    return refused(f"narrower than {source}")


def _to_exact_float(source: DataType, target: DataType, digits: int) -> TypeCompatibility:
    return checked(f"numbers whose digits a {target} gives back")


def _to_decimal(source: DataType, target: DataType, digits: int) -> TypeCompatibility:
    return checked(f"numbers that {target} holds")


def _strings(source: DataType, target: DataType, digits: int) -> TypeCompatibility:
    if source.logical == target.logical or not target.logical:
        return converted("its digits as text") if source.logical == NUMBER_TEXT != target.logical else EXACT
    return checked("texts that are numbers")


def _string_to_number(source: DataType, target: DataType, digits: int) -> TypeCompatibility:
    if source.logical == NUMBER_TEXT:
        return checked(f"numbers that {target} holds")
    return refused(f"cannot hold {source}")


def _times(source: DataType, target: DataType, digits: int) -> TypeCompatibility:
    if source.unit == NANOSECONDS != target.unit:
        return checked("values without nanoseconds" if digits in (ANY_DIGITS, 6) else _fraction(digits))
    return EXACT if digits in (ANY_DIGITS, 6) and target.unit == source.unit else _fewer(digits)


def _fewer(digits: int) -> TypeCompatibility:
    return EXACT if digits == ANY_DIGITS or digits >= 6 else checked(_fraction(digits))


def _fraction(digits: int) -> str:
    return f"values of at most {digits} digits of a second" if digits else "values of whole seconds"


def _zone(note: str) -> Rule:
    def rule(source: DataType, target: DataType, digits: int) -> TypeCompatibility:
        inner = _times(source, target, digits)
        if inner.outcome is Outcome.CHECKED:
            return checked(f"{note}; {inner.note}")
        return converted(note)

    return rule


def _digit_text(source: DataType, target: DataType, digits: int) -> TypeCompatibility:
    return EXACT if target.logical == NUMBER_TEXT else converted("its digits as text")


_ISO_TEXT = _always(converted("as ISO 8601 text"))
_FROM_ISO = _always(checked("texts in ISO 8601"))
_JSON_TEXT = _always(converted("as JSON text"))
_VECTOR = _always(EXACT)

_RULES: dict[tuple[Kind, Kind], Rule] = {
    (Kind.BOOLEAN, Kind.STRING): _always(converted("true and false as text")),
    (Kind.BOOLEAN, Kind.TINYINT): _always(converted("true as 1, false as 0")),
    (Kind.FLOAT, Kind.DOUBLE): _always(EXACT),
    (Kind.FLOAT, Kind.DECIMAL): _to_decimal,
    (Kind.FLOAT, Kind.STRING): _digit_text,
    (Kind.DOUBLE, Kind.DECIMAL): _to_decimal,
    (Kind.DOUBLE, Kind.STRING): _digit_text,
    (Kind.DECIMAL, Kind.DECIMAL): _decimals,
    (Kind.DECIMAL, Kind.DOUBLE): _to_exact_float,
    (Kind.DECIMAL, Kind.FLOAT): _to_exact_float,
    (Kind.DECIMAL, Kind.STRING): _digit_text,
    (Kind.STRING, Kind.STRING): _strings,
    (Kind.STRING, Kind.DECIMAL): _string_to_number,
    (Kind.STRING, Kind.DOUBLE): _string_to_number,
    (Kind.STRING, Kind.BYTES): _always(converted("its UTF-8 bytes")),
    (Kind.STRING, Kind.DATE): _FROM_ISO,
    (Kind.STRING, Kind.TIME): _FROM_ISO,
    (Kind.STRING, Kind.TIMESTAMP): _FROM_ISO,
    (Kind.STRING, Kind.TIMESTAMP_TZ): _always(checked("texts in ISO 8601 with their zone")),
    (Kind.STRING, Kind.ARRAY): _always(checked("texts that the target reads as an array")),
    (Kind.BYTES, Kind.STRING): _always(converted("its bytes as text")),
    (Kind.BYTES, Kind.BYTES): _always(EXACT),
    (Kind.DATE, Kind.DATE): _always(EXACT),
    (Kind.DATE, Kind.TIMESTAMP): _always(converted("midnight of the day")),
    (Kind.DATE, Kind.TIMESTAMP_TZ): _always(converted("midnight of the day in UTC")),
    (Kind.DATE, Kind.STRING): _ISO_TEXT,
    (Kind.TIME, Kind.TIME): _times,
    (Kind.TIME, Kind.STRING): _ISO_TEXT,
    (Kind.TIMESTAMP, Kind.TIMESTAMP): _times,
    (Kind.TIMESTAMP, Kind.TIMESTAMP_TZ): _zone("taken as UTC"),
    (Kind.TIMESTAMP, Kind.STRING): _ISO_TEXT,
    (Kind.TIMESTAMP_TZ, Kind.TIMESTAMP_TZ): _times,
    (Kind.TIMESTAMP_TZ, Kind.TIMESTAMP): _zone("the time in UTC, without its zone"),
    (Kind.TIMESTAMP_TZ, Kind.STRING): _ISO_TEXT,
    (Kind.ARRAY, Kind.STRING): _JSON_TEXT,
    (Kind.MAP, Kind.STRING): _JSON_TEXT,
    (Kind.MAP, Kind.MAP): _always(EXACT),
    (Kind.ROW, Kind.STRING): _JSON_TEXT,
    (Kind.ROW, Kind.ROW): _always(EXACT),
    (Kind.FLOAT_VECTOR, Kind.ARRAY): _VECTOR,
    (Kind.FLOAT_VECTOR, Kind.STRING): _JSON_TEXT,
    (Kind.FLOAT16_VECTOR, Kind.ARRAY): _VECTOR,
    (Kind.FLOAT16_VECTOR, Kind.STRING): _JSON_TEXT,
    (Kind.BINARY_VECTOR, Kind.BYTES): _VECTOR,
    (Kind.BFLOAT16_VECTOR, Kind.BYTES): _VECTOR,
    (Kind.SPARSE_FLOAT_VECTOR, Kind.STRING): _JSON_TEXT,
}
for _kind in Kind:
    _RULES.setdefault((_kind, _kind), _always(EXACT))
for _kind in INTEGERS:
    _RULES |= {(_kind, other): _integers for other in INTEGERS}
    _RULES |= {
        (_kind, Kind.DECIMAL): _integer_to_decimal,
        (_kind, Kind.FLOAT): _integer_to_float,
        (_kind, Kind.DOUBLE): _integer_to_float,
        (_kind, Kind.STRING): _digit_text,
        (_kind, Kind.BOOLEAN): _always(checked("0 and 1")),
    }
