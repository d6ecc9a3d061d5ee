"""Converts between the declared Arrow types and those of ADBC's binary COPY with PostgreSQL.

Every conversion is vectorised. Values that PostgreSQL can hold and Arrow cannot (infinite dates, NaN in a numeric,
24:00) are refused by column and value: the driver would silently overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_py.api import (
    NUMBER,
    DataType,
    ValueMisfitError,
    convert,
    date_text,
    decimal,
    from_arrow,
    moment_text,
    shown_values,
    to_arrow,
)

# The driver shifts PostgreSQL's epoch (2000) to Unix's. 'infinity' and '-infinity' both overflow, to values below
# PostgreSQL's earliest date (4713 BC).
_DATE_LEAST = -2_440_588
_TIMESTAMP_LEAST = -210_866_803_200_000_000
_DAY_US = 86_400_000_000
_EPOCH_DAYS = 10_957


class ValueRefusedError(ValueError):
    """A value that the other side cannot hold; the message names column and value, and row if useful."""


# ---------------------------------------------------------------- reading


def from_wire(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """The batch with exactly the declared types."""
    arrays = [_received(batch.column(at), field.type, field.name) for at, field in enumerate(schema)]
    return pa.RecordBatch.from_arrays(arrays, schema=_nullable_as_found(schema, arrays))


def declared(found: pa.RecordBatch, schema: pa.Schema, first: int, length: int) -> pa.RecordBatch:
    """So many received rows from a first one on, with the declared types."""
    return from_wire(found if length == found.num_rows else found.slice(first, length), schema)


def _nullable_as_found(schema: pa.Schema, arrays: Sequence[pa.Array]) -> pa.Schema:
    for field, array in zip(schema, arrays, strict=True):
        if not field.nullable and array.null_count:
            raise ValueRefusedError(f"column {field.name!r} is declared without nulls, but holds one")
    return schema


def _received(array: pa.Array, wanted: pa.DataType, name: str) -> pa.Array:
    number = False
    if isinstance(array, pa.ExtensionArray):
        number = getattr(array.type, "type_name", "") == "numeric"
        array = array.storage
    found = array.type
    if pa.types.is_list(found) and pa.types.is_list(wanted):
        values = _received(array.flatten(), wanted.value_type, name)
        if values.type == found.value_type:
            return array
        return pa.ListArray.from_arrays(_offsets(array), values, mask=array.is_null() if array.null_count else None)
    if pa.types.is_string(found) and pa.types.is_decimal(wanted):
        return _decimals(array, wanted, name)
    if pa.types.is_string(found) and number:
        return _number_texts(array)
    if pa.types.is_date32(found):
        _refuse_infinite(array, array.view(pa.int32()), _DATE_LEAST, name)
    elif pa.types.is_timestamp(found):
        _refuse_infinite(array, array.view(pa.int64()), _TIMESTAMP_LEAST, name)
    elif pa.types.is_time(found) and len(array) and _largest(array.view(pa.int64())) >= _DAY_US:
        raise ValueRefusedError(
            f"column {name!r} holds the time 24:00:00, which has no counterpart; cast it with `query`"
        )
    if found == wanted:
        return array
    try:
        return array.cast(wanted)
    except pa.ArrowInvalid as error:
        raise ValueRefusedError(f"column {name!r} is {found} by now and was {wanted}: {error}") from None


def _largest(numbers: pa.Array) -> int:
    return pc.max(numbers).as_py() or 0


def _refuse_infinite(array: pa.Array, numbers: pa.Array, least: int, name: str) -> None:
    found = pc.min(numbers).as_py()
    if found is not None and found < least:
        raise ValueRefusedError(
            f"column {name!r} holds {'a date' if pa.types.is_date(array.type) else 'a timestamp'} that is infinite or "
            "after the year 294246, which has no counterpart; replace it with `query`"
        )


def as_it_came(batch: pa.RecordBatch, row: int) -> dict[str, Any]:
    """Values of a row for the quarantine, as PostgreSQL has them."""
    return {name: _came(column.slice(row, 1)) for name, column in zip(batch.schema.names, batch.columns, strict=True)}


def last_key(keys: pa.Array) -> Any:
    """Value of the last row, to resume after it; as text if it is outside of Python's dates."""
    last = keys.storage if isinstance(keys, pa.ExtensionArray) else keys
    try:
        return last[-1].as_py()
    except (ValueError, OverflowError):
        return _came(last[-1:])


def _came(one: pa.Array) -> Any:
    array = one.storage if isinstance(one, pa.ExtensionArray) else one
    if not (pa.types.is_date32(array.type) or pa.types.is_timestamp(array.type)) or not array.is_valid()[0].as_py():
        return shown_values(array)[0]
    bits, least, epoch, per_day = (
        (32, _DATE_LEAST, _EPOCH_DAYS, 1)
        if pa.types.is_date32(array.type)
        else (64, _TIMESTAMP_LEAST, _EPOCH_DAYS * _DAY_US, _DAY_US)
    )
    number = array.view(pa.int32() if bits == 32 else pa.int64())[0].as_py()
    if number >= least:
        return shown_values(array)[0]
    sent = number - epoch + (1 << bits)  # the number that the server sent, before the driver's overflow
    if sent >> (bits - 1):
        return "-infinity"  # the smallest number of all
    if sent == (1 << (bits - 1)) - 1:
        return "infinity"
    text = date_text(sent + epoch) if per_day == 1 else moment_text(sent + epoch, per_day // 86_400)
    return text.removeprefix("+")


def _number_texts(texts: pa.Array) -> pa.Array:
    """Unbounded numbers in plain digits; the driver has its own words for values that are not numbers."""
    words = pc.fill_null(pc.match_substring_regex(texts, "[a-z]"), False)
    if not pc.any(words).as_py():
        return texts
    shown = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
    found = [shown.get(text, text) for text in texts.filter(words).to_pylist()]
    return pc.replace_with_mask(texts, words, pa.array(found, pa.string()))


def _decimals(texts: pa.Array, wanted: pa.DataType, name: str) -> pa.Array:
    # Longer than all digits with a point: the cast would silently overflow.
    if _largest(pc.binary_length(texts)) <= wanted.precision + 1:
        try:
            return texts.cast(wanted)
        except pa.ArrowInvalid:
            pass  # the loop below finds the value, for the message
    try:
        return convert(_number_texts(texts), NUMBER, decimal(wanted.precision, wanted.scale))
    except ValueMisfitError as error:
        raise ValueRefusedError(f"column {name!r} holds a number: {error}; cast it with `query`") from None


def _offsets(array: pa.ListArray) -> pa.Array:
    """Offsets into ``array.flatten()``, which omits values under nulls and before a slice."""
    lengths = pc.fill_null(pc.list_value_length(array), 0)
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths).cast(pa.int32())])


# ---------------------------------------------------------------- writing

Convert = Callable[[pa.Array, str], pa.Array]

_EXACT: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int2": pa.int16(),
    "int4": pa.int32(),
    "int8": pa.int64(),
    "float4": pa.float32(),
    "float8": pa.float64(),
    "text": pa.string(),
    "varchar": pa.string(),
    "bpchar": pa.string(),
    "json": pa.string(),
    "xml": pa.string(),
    "citext": pa.string(),
    "bytea": pa.binary(),
    "date": pa.date32(),
    "time": pa.time64("us"),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", "UTC"),
}


def direct_type(native: str, element: str, arrow: pa.DataType) -> pa.DataType | None:
    """Arrow type that COPY takes for a column of that PostgreSQL type; None: it is sent as text and cast by the server
    (inet, enums, timetz …)."""
    if native in _EXACT and _castable(arrow, _EXACT[native]):
        return _EXACT[native]
    if native == "numeric":
        return _numeric(arrow)
    if native in ("uuid", "jsonb") and (pa.types.is_string(arrow) or pa.types.is_nested(arrow)):
        return pa.binary()
    if pa.types.is_list(arrow) and element:
        inner = direct_type(element, "", arrow.value_type)
        return pa.list_(inner) if inner is not None and element not in ("uuid", "jsonb") else None
    return None


def _numeric(arrow: pa.DataType) -> pa.DataType | None:
    if pa.types.is_decimal(arrow):
        return arrow
    return pa.decimal128(20, 0) if pa.types.is_integer(arrow) else None


def _castable(arrow: pa.DataType, wanted: pa.DataType) -> bool:
    """True if a cast keeps the meaning; numbers from texts, texts from dates and so on are left to the server."""
    return bool(arrow == wanted or pa.types.is_null(arrow) or _same_family(arrow, wanted))


def _same_family(arrow: pa.DataType, wanted: pa.DataType) -> Any:
    t = pa.types
    if t.is_integer(wanted):
        return t.is_integer(arrow)
    if t.is_floating(wanted):
        return t.is_integer(arrow) or t.is_floating(arrow)
    if t.is_string(wanted):
        return t.is_string(arrow) or t.is_large_string(arrow) or t.is_struct(arrow) or t.is_map(arrow)
    if t.is_binary(wanted):
        return t.is_binary(arrow) or t.is_large_binary(arrow) or t.is_fixed_size_binary(arrow)
    if t.is_timestamp(wanted):
        return t.is_timestamp(arrow) and (arrow.tz is None) == (wanted.tz is None)
    if t.is_date(wanted):
        return t.is_date(arrow)
    if t.is_time(wanted):
        return t.is_time(arrow)
    return False


def converter(native: str, dtype: DataType, wanted: pa.DataType | None) -> Convert | None:
    """Function that converts a column to the type that COPY takes; None: no conversion is needed."""
    arrow = to_arrow(dtype)
    if native in _TEXTS and pa.types.is_nested(arrow):
        as_json = _as_json(dtype)
        return (lambda array, column: _jsonb(as_json(array, column))) if native == "jsonb" else as_json
    if wanted is None:
        return _as_text
    if native == "uuid":
        return lambda array, column: _uuids(array, column)
    if native == "jsonb":
        return lambda array, column: _jsonb(_as_text(array, column))
    if arrow == wanted:
        return None
    return lambda array, column: cast(array, wanted, column)


_TEXTS = ("text", "varchar", "bpchar", "citext", "json", "jsonb", "xml")
"""Types that hold arrays, maps and rows as JSON."""


def _as_json(dtype: DataType) -> Convert:
    from seatunnel_py.formats.json.text import json_texts  # few tables need it, and every start would pay

    return lambda array, column: json_texts(array, dtype)


def cast(array: pa.Array, wanted: pa.DataType, name: str) -> pa.Array:
    try:
        return array.cast(wanted)
    except pa.ArrowInvalid as error:
        raise ValueRefusedError(f"column {name!r}: {error}") from None


def _as_text(array: pa.Array, name: str) -> pa.Array:
    """Values in the text form of PostgreSQL's input functions."""
    t = pa.types
    if t.is_string(array.type):
        return array
    if t.is_list(array.type):
        return pa.array([None if row is None else _array_text(row) for row in array.to_pylist()], pa.string())
    if t.is_nested(array.type):
        from seatunnel_py.formats.json.text import json_texts

        return json_texts(array, from_arrow(array.type))
    if t.is_binary(array.type):
        return pa.array([None if value is None else "\\x" + value.hex() for value in array.to_pylist()], pa.string())
    return cast(array, pa.string(), name)


def _array_text(values: list[Any]) -> str:
    def one(value: Any) -> str:
        if value is None:
            return "NULL"
        if isinstance(value, list):
            return _array_text(value)
        if isinstance(value, bytes):
            value = "\\x" + value.hex()
        text = value if isinstance(value, str) else _plain_text(value)
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    return "{" + ",".join(map(one, values)) + "}"


def _plain_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _uuids(array: pa.Array, name: str) -> pa.Array:
    """The sixteen bytes of each; only the plain form with four dashes, which databases print."""
    digits = pc.replace_substring(array, "-", "")
    bad = pc.and_(pc.is_valid(array), pc.invert(pc.match_substring_regex(digits, "^[0-9A-Fa-f]{32}$")))
    if pc.any(bad).as_py():
        raise ValueRefusedError(f"column {name!r}: {array.filter(bad)[0].as_py()!r} is not a uuid")
    return pa.array([None if text is None else bytes.fromhex(text) for text in digits.to_pylist()], pa.binary())


def _jsonb(array: pa.Array) -> pa.Array:
    """jsonb's binary form: its text after a version byte."""
    return pc.binary_join_element_wise("\x01", array, "").cast(pa.binary())


def first_with_nul(batches: Sequence[pa.RecordBatch]) -> tuple[str, int] | None:
    """Column and row (from 0, over all batches) of the first text with a NUL character."""
    before = 0
    for batch in batches:
        for name, array in zip(batch.schema.names, batch.columns, strict=True):
            if pa.types.is_string(array.type):
                found = pc.index(pc.match_substring(array, "\0"), pa.scalar(True)).as_py()
                if found >= 0:
                    return name, before + found
        before += batch.num_rows
    return None
