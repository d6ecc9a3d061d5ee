"""Converts decimals to plain digits, never with an exponent, and back, exactly or not at all."""

from __future__ import annotations

from decimal import Context, Decimal, InvalidOperation
from typing import TYPE_CHECKING

from seatunnel_py.api import DataType, to_arrow
from seatunnel_py.formats.value_text.arrays import holds_letters
from seatunnel_py.formats.value_text.rules import MisfitError, not_a

if TYPE_CHECKING:
    import pyarrow as pa

PLAIN_SCALE_MAX = 6  # Arrow writes smaller numbers with an exponent
CAST_LENGTH_MAX = 38  # digits and marks; Arrow's cast of longer texts overflows
WIDE = Context(prec=500)  # more digits than any column has


def decimal_text(array: pa.Array) -> pa.Array:
    """Plain digits: ``0.0000000001``, with all digits of the column's scale."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.cast(array, pa.string())
    if array.type.scale <= PLAIN_SCALE_MAX:
        return texts
    small = pc.fill_null(pc.match_substring(texts, "E"), False)
    if not pc.any(small).as_py():
        return texts
    scale = array.type.scale
    unscaled = pc.cast(_unscaled(array.filter(small)), pa.string())
    digits = pc.utf8_lpad(pc.ascii_ltrim(unscaled, "-"), scale, "0")
    sign = pc.if_else(pc.starts_with(unscaled, "-"), "-0.", "0.")
    return pc.replace_with_mask(texts, small, pc.binary_join_element_wise(sign, digits, ""))


def _unscaled(array: pa.Array) -> pa.Array:
    """View the memory of decimals as whole numbers."""
    import pyarrow as pa

    whole = pa.decimal256(76, 0) if pa.types.is_decimal256(array.type) else pa.decimal128(38, 0)
    return pa.Array.from_buffers(whole, len(array), array.buffers(), offset=array.offset)


def parse_decimals(texts: pa.Array, dtype: DataType) -> pa.Array:
    """Parse decimals. Raises MisfitError for the first text that is not a number, or that the type cannot hold exactly.
    Trailing zeros of the fraction do not count."""
    import pyarrow as pa
    import pyarrow.compute as pc

    arrow = to_arrow(dtype)
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    if longest <= CAST_LENGTH_MAX and not holds_letters(texts):
        try:
            return pc.cast(texts, arrow)
        except pa.ArrowInvalid:
            pass  # the loop below finds the value, for the message
    values = []
    for index, text in enumerate(texts.to_pylist()):
        try:
            values.append(None if text is None else exact_decimal(text, dtype))
        except ValueError as error:
            raise MisfitError(index, str(error)) from None
    return pa.array(values, arrow)


def exact_decimal(text: str, dtype: DataType) -> Decimal:
    """Parse a number. Raises ValueError if the type cannot hold all of its digits."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError(not_a(text, dtype)) from None
    if not number.is_finite() or "_" in text:
        raise ValueError(not_a(text, dtype))
    if number and number.adjusted() >= dtype.precision - dtype.scale:
        raise ValueError(not_a(text, dtype, ": it has more digits before the point"))
    if not number:
        return Decimal(0)
    kept = plain_scale(number)
    if kept > dtype.scale:
        raise ValueError(not_a(text, dtype, f": it has {kept} digits after the point"))
    return number.quantize(Decimal(1).scaleb(-dtype.scale), context=WIDE)


def plain_scale(number: Decimal) -> int:
    """Number of digits after the point, without trailing zeros."""
    _, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    zeros = len(digits) - len("".join(map(str, digits)).rstrip("0"))
    return -(exponent + zeros)
