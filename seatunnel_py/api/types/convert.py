"""Converts columns to another type, exactly or not at all: the outcome CHECKED of ``contract.stored_as``.

Whole columns are tested and cast by Arrow. If a value fails, the first such row is searched, so that it can be named
and quarantined.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.types.arrow import to_arrow
from seatunnel_py.api.types.contract import ANY_DIGITS
from seatunnel_py.api.types.data_type import INTEGERS, NANOSECONDS, DataType, Kind

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBER = r"^-?[0-9]+(\.[0-9]+)?$"
_ISO_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"
_ISO_TIME = r"^[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?$"
_ISO_TIMESTAMP = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?)?$"
_ZONED = r"(Z|[+-][0-9]{2}(:?[0-9]{2})?)$"


class ValueMisfitError(ValueError):
    """A value does not fit the target type; ``row`` is its index in the column, from 0."""

    def __init__(self, row: int, message: str) -> None:
        super().__init__(message)
        self.row = row


def convert(array: pa.Array, source: DataType, target: DataType, digits: int = ANY_DIGITS) -> pa.Array:
    """Convert the column to ``target``. Raises ValueMisfitError for the first value that would change."""
    import pyarrow as pa

    if source.kind is Kind.ARRAY and target.kind is Kind.ARRAY:
        return _elements(array, source, target)
    found = _CONVERTERS.get((source.kind, target.kind))
    if found is None:
        found = _integers if source.kind in INTEGERS else _as_it_is
    try:
        return found(array, source, target, digits)
    except pa.ArrowException:
        return _each(array, source, target, digits, found)


def _each(array: pa.Array, source: DataType, target: DataType, digits: int, whole: Callable[..., pa.Array]) -> Any:
    """Repeat a failed cast value by value, and raise for the first value that fails."""
    import pyarrow as pa

    for row in range(len(array)):
        try:
            whole(array.slice(row, 1), source, target, digits)
        except ValueMisfitError as error:
            raise ValueMisfitError(row, str(error)) from None
        except pa.ArrowException:
            raise ValueMisfitError(row, _words(array[row].as_py(), target, digits)) from None
    raise ValueError(f"{source} as {target}: no value alone is at fault")


def _words(value: Any, target: DataType, digits: int) -> str:
    shown = value if isinstance(value, str) else format(value, "f") if isinstance(value, Decimal) else str(value)
    room = f"{target.kind.value}({digits})" if digits != ANY_DIGITS else str(target)
    return f"{shown[:80]!r} does not fit {room} exactly"


def _require(array: pa.Array, fits: pa.Array, target: DataType, digits: int) -> None:
    """Raise for the first value whose ``fits`` is false; nulls always pass."""
    import pyarrow as pa
    import pyarrow.compute as pc

    at = pc.index(fits, pa.scalar(False)).as_py()
    if at >= 0:
        try:
            value = array[at].as_py()
        except (ValueError, OverflowError):  # a timestamp outside of Python's years
            value = array[at : at + 1].cast(pa.int64())[0].as_py()
        raise ValueMisfitError(at, _words(value, target, digits))


def _as_it_is(array: pa.Array, source: DataType, target: DataType, digits: int) -> pa.Array:
    return array.cast(to_arrow(target))


def _elements(array: Any, source: DataType, target: DataType) -> pa.Array:
    """Convert the elements of lists; a misfit is reported with the row of its list."""
    import pyarrow as pa
    import pyarrow.compute as pc

    assert source.element is not None and target.element is not None
    try:
        values = convert(array.flatten(), source.element, target.element)
    except ValueMisfitError as error:
        row = pc.list_parent_indices(array)[error.row].as_py()
        raise ValueMisfitError(row, str(error)) from None
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(offsets, values, type=to_arrow(target), mask=mask)


# ---------------------------------------------------------------- numbers


def decimal_of_text(texts: pa.Array, target: DataType) -> pa.Array:
    """Convert plain digits to decimals. Digits are counted first, because Arrow's cast overflows silently."""
    import pyarrow.compute as pc

    whole = max(target.precision - target.scale, 0)
    pattern = rf"^-?0*[0-9]{{0,{whole}}}(\.[0-9]{{0,{target.scale}}}0*)?$"
    _require(texts, pc.match_substring_regex(texts, pattern), target, ANY_DIGITS)
    _require(texts, pc.match_substring_regex(texts, _NUMBER), target, ANY_DIGITS)
    return _shortest(texts).cast(to_arrow(target))


def _text_to_decimal(array: pa.Array, source: DataType, target: DataType, digits: int) -> pa.Array:
    return decimal_of_text(array, target)


def plain_digits(array: pa.Array) -> pa.Array:
    """Write floating-point numbers with the shortest plain digits that restore them, and decimals with all digits;
    ``NaN`` and ``Infinity`` stay words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = array.cast(pa.string())
    scientific = pc.fill_null(pc.match_substring(texts, "e", ignore_case=True), False)
    if not pc.any(scientific).as_py():
        return texts
    plain = [format(Decimal(text), "f") for text in texts.filter(scientific).to_pylist()]
    return pc.replace_with_mask(texts, scientific, pa.array(plain, pa.string()))


def _digits_as_text(array: pa.Array, source: DataType, target: DataType, digits: int) -> pa.Array:
    return plain_digits(array)


def _float_to_decimal(array: pa.Array, source: DataType, target: DataType, digits: int) -> pa.Array:
    return decimal_of_text(plain_digits(array), target)


def _decimal_to_float(array: pa.Array, source: DataType, target: DataType, digits: int) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    numbers = array.cast(pa.string()).cast(to_arrow(target))  # Arrow's own cast does not round to the nearest
    try:
        back = decimal_of_text(plain_digits(numbers), source)
    except ValueMisfitError as error:
        raise ValueMisfitError(error.row, _words(array[error.row].as_py(), target, ANY_DIGITS)) from None
    _require(array, pc.equal(back, array), target, ANY_DIGITS)
    return numbers


def _text_to_float(array: pa.Array, source: DataType, target: DataType, digits: int) -> pa.Array:
    import pyarrow.compute as pc

    numbers = array.cast(to_arrow(target))
    _require(array, pc.equal(_shortest(plain_digits(numbers)), _shortest(array)), target, digits)
    return numbers


def _shortest(texts: pa.Array) -> pa.Array:
    """Remove redundant zeros from plain digits; unify the spelling of ``NaN`` and ``Infinity``."""
    import pyarrow.compute as pc

    texts = pc.replace_substring_regex(texts, r"(\.[0-9]*?)0+$", r"\1")
    texts = pc.replace_substring_regex(texts, r"\.$", "")
    texts = pc.replace_substring_regex(texts, r"^(-?)0+([0-9])", r"\1\2")
    return pc.replace_substring_regex(pc.ascii_lower(texts), r"^(-?)infinity$", r"\1inf")


def _integers(array: pa.Array, source: DataType, target: DataType, digits: int) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if target.kind is Kind.BOOLEAN:
        _require(array, pc.is_in(array, pa.array([0, 1, None], array.type)), target, digits)
    return array.cast(to_arrow(target))


# ---------------------------------------------------------------- dates and times


def _moments(array: pa.Array, source: DataType, target: DataType, digits: int) -> pa.Array:
    """Convert times and timestamps to fewer digits of a second."""
    import pyarrow as pa
    import pyarrow.compute as pc

    have = 9 if source.unit == NANOSECONDS else 6
    keep = min(9 if target.unit == NANOSECONDS else 6, 9 if digits == ANY_DIGITS else digits)
    if keep < have:
        step = 10 ** (have - keep)
        ticks = array.cast(pa.int64())
        whole = pc.equal(ticks, pc.multiply(pc.divide(ticks, step), step))
        _require(array, whole, target, digits)
    return array.cast(to_arrow(target))


def _iso_text(array: pa.Array, source: DataType, target: DataType, digits: int) -> pa.Array:
    """Write ISO 8601. Years need four digits: Arrow's text for other years is not readable by parsers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = array.cast(pa.string())
    _require(array, pc.match_substring_regex(texts, r"^[0-9]{4}-[0-9]{2}-[0-9]{2}($|[^0-9])"), target, digits)
    return texts


def _from_iso(pattern: str) -> Callable[..., pa.Array]:
    def convert_text(array: pa.Array, source: DataType, target: DataType, digits: int) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        _require(array, pc.match_substring_regex(array, pattern), target, digits)
        if target.kind is Kind.TIME:
            days = pc.binary_join_element_wise("1970-01-01T", array, "")
            return days.cast(pa.timestamp("us")).cast(pa.time64("us"))
        if target.kind is Kind.TIMESTAMP_TZ:
            return pc.replace_substring_regex(array, r"([+-][0-9]{2})$", r"\1:00").cast(to_arrow(target))
        return array.cast(to_arrow(target))

    return convert_text


_CONVERTERS: dict[tuple[Kind, Kind], Callable[..., Any]] = {
    (Kind.FLOAT, Kind.DECIMAL): _float_to_decimal,
    (Kind.DOUBLE, Kind.DECIMAL): _float_to_decimal,
    (Kind.FLOAT, Kind.STRING): _digits_as_text,
    (Kind.DOUBLE, Kind.STRING): _digits_as_text,
    (Kind.DECIMAL, Kind.STRING): _digits_as_text,
    (Kind.DATE, Kind.STRING): _iso_text,
    (Kind.TIMESTAMP, Kind.STRING): _iso_text,
    (Kind.TIMESTAMP_TZ, Kind.STRING): _iso_text,
    (Kind.DECIMAL, Kind.DOUBLE): _decimal_to_float,
    (Kind.DECIMAL, Kind.FLOAT): _decimal_to_float,
    (Kind.STRING, Kind.DECIMAL): _text_to_decimal,
    (Kind.STRING, Kind.DOUBLE): _text_to_float,
    (Kind.STRING, Kind.DATE): _from_iso(_ISO_DATE),
    (Kind.STRING, Kind.TIME): _from_iso(_ISO_TIME),
    (Kind.STRING, Kind.TIMESTAMP): _from_iso(_ISO_TIMESTAMP),
    (Kind.STRING, Kind.TIMESTAMP_TZ): _from_iso(_ISO_TIMESTAMP[:-1] + _ZONED),
    (Kind.TIME, Kind.TIME): _moments,
    (Kind.TIMESTAMP, Kind.TIMESTAMP): _moments,
    (Kind.TIMESTAMP, Kind.TIMESTAMP_TZ): _moments,
    (Kind.TIMESTAMP_TZ, Kind.TIMESTAMP_TZ): _moments,
    (Kind.TIMESTAMP_TZ, Kind.TIMESTAMP): _moments,
}
