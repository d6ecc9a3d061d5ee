"""Fields of documents: the Kafka Connect schema of a column, and its values in the form of that schema.

Facts of Kafka Connect and Debezium: a decimal is the big-endian bytes of its unscaled number; a date counts days, a
time and a timestamp count a unit that the name of the schema gives; an instant is a text in UTC.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from seatunnel_connectors.debezium_json.numbers import scaled_structs, unscaled_bytes
from seatunnel_connectors.debezium_json.settings import BinaryMode, DebeziumJsonOptions, DecimalMode, TimeMode
from seatunnel_py.api import Column, DataType, Kind

if TYPE_CHECKING:
    import pyarrow as pa

ConnectSchema: TypeAlias = Mapping[str, Any]
Convert: TypeAlias = Callable[[Any], Any]
INT, BIGINT, STRING = DataType(Kind.INT), DataType(Kind.BIGINT), DataType(Kind.STRING)
BYTES, DOUBLE = DataType(Kind.BYTES), DataType(Kind.DOUBLE)
SCALED = DataType(Kind.ROW, fields=(("scale", INT), ("value", BYTES)))
_CONNECT, _DEBEZIUM = "org.apache.kafka.connect.data.", "io.debezium."
_PLAIN = {
    Kind.BOOLEAN: "boolean",
    Kind.TINYINT: "int16",
    Kind.SMALLINT: "int16",
    Kind.INT: "int32",
    Kind.BIGINT: "int64",
    Kind.FLOAT: "float",
    Kind.DOUBLE: "double",
    Kind.STRING: "string",
}
_NAMED_TEXTS = {"json": "data.Json", "jsonb": "data.Json", "uuid": "data.Uuid", "xml": "data.Xml"}
_MILLIS_DIGITS = 3


def _same(values: pa.Array) -> pa.Array:
    return values


@dataclass(frozen=True, slots=True)
class Form:
    """The form of a type in documents: its schema without ``optional`` and ``field``, the type of its values for the
    writer of JSON, and their conversion."""

    schema: ConnectSchema
    dtype: DataType
    convert: Convert = _same


def form_of(column: Column, options: DebeziumJsonOptions) -> Form:
    """The form of a column's values. Raises ValueError for a type that documents cannot hold."""
    dtype = column.dtype
    match dtype.kind:
        case Kind.STRING if dtype.logical:
            return _numbers(options.decimals)
        case Kind.STRING:
            return Form({"type": "string", **_text_schema(column)}, dtype)
        case Kind.DECIMAL:
            return _decimals(dtype, options.decimals)
        case Kind.BYTES:
            return _bytes(options.binary)
        case Kind.DATE | Kind.TIME | Kind.TIMESTAMP:
            return _temporal(column, options.times)
        case Kind.TIMESTAMP_TZ:
            return Form(_named("string", f"{_DEBEZIUM}time.ZonedTimestamp"), dtype)
        case Kind.ARRAY if dtype.element is not None:
            return _array(column, options)
        case kind if kind in _PLAIN:
            return Form({"type": _PLAIN[kind]}, dtype)
    raise ValueError(f"column {column.name!r}: a document of Debezium has no form for the type {dtype}")


def _named(kind: str, name: str, **parameters: str) -> dict[str, Any]:
    found: dict[str, Any] = {"type": kind, "name": name, "version": 1}
    return {**found, "parameters": parameters} if parameters else found


def _text_schema(column: Column) -> ConnectSchema:
    """The meaning of a text, where the source's type gives it one."""
    said = column.converted_from.lower()
    for word, name in (("enum(", "data.Enum"), ("set(", "data.EnumSet")):
        if said.startswith(word):
            allowed = column.converted_from[len(word) : -1].replace("'", "")
            return {"name": _DEBEZIUM + name, "version": 1, "parameters": {"allowed": allowed}}
    name = _NAMED_TEXTS.get(column.native or said, "")
    return {"name": _DEBEZIUM + name, "version": 1} if name else {}


def _decimals(dtype: DataType, mode: DecimalMode) -> Form:
    if mode is DecimalMode.PRECISE:
        facts = {"scale": str(dtype.scale), "connect.decimal.precision": str(dtype.precision)}
        return Form({**_named("bytes", f"{_CONNECT}Decimal"), "parameters": facts}, BYTES, unscaled_bytes)
    if mode is DecimalMode.DOUBLE:
        return Form({"type": "double"}, DOUBLE, _cast_to("float64"))
    return Form({"type": "string"}, STRING, _cast_to("string"))


def _numbers(mode: DecimalMode) -> Form:
    """Numbers of any size, which rows hold as text."""
    if mode is DecimalMode.PRECISE:
        fields = [
            {"type": "int32", "optional": False, "field": "scale"},
            {"type": "bytes", "optional": False, "field": "value"},
        ]
        return Form(
            {**_named("struct", f"{_DEBEZIUM}data.VariableScaleDecimal"), "fields": fields}, SCALED, scaled_structs
        )
    if mode is DecimalMode.DOUBLE:
        return Form({"type": "double"}, DOUBLE, _cast_to("float64"))
    return Form({"type": "string"}, STRING)


def _bytes(mode: BinaryMode) -> Form:
    if mode is BinaryMode.HEX:
        return Form({"type": "string"}, STRING, _hex)
    if mode is BinaryMode.BASE64_URL_SAFE:
        return Form({"type": "string"}, STRING, _url_safe)
    return Form({"type": "bytes" if mode is BinaryMode.BYTES else "string"}, BYTES)


def _temporal(column: Column, mode: TimeMode) -> Form:
    dtype = column.dtype
    connect = mode is TimeMode.CONNECT
    if dtype.kind is Kind.DATE:
        name = f"{_CONNECT}Date" if connect else f"{_DEBEZIUM}time.Date"
        return Form(_named("int32", name), INT, _cast_to("int32"))
    word = "Time" if dtype.kind is Kind.TIME else "Timestamp"
    if connect:
        kind = "int32" if dtype.kind is Kind.TIME else "int64"
        return Form(_named(kind, f"{_CONNECT}{word}"), BIGINT, _ticks(1000 * _per_micro(dtype)))
    if dtype.unit:
        return Form(_named("int64", f"{_DEBEZIUM}time.Nano{word}"), BIGINT, _ticks(1))
    millis = column.scale is not None and column.scale <= _MILLIS_DIGITS
    if millis and not (dtype.kind is Kind.TIME and (mode is TimeMode.ADAPTIVE_TIME or column.scale == 0)):
        kind = "int32" if dtype.kind is Kind.TIME else "int64"
        return Form(_named(kind, f"{_DEBEZIUM}time.{word}"), BIGINT, _ticks(1000))
    return Form(_named("int64", f"{_DEBEZIUM}time.Micro{word}"), BIGINT, _ticks(1))


def _per_micro(dtype: DataType) -> int:
    return 1000 if dtype.unit else 1


def _array(column: Column, options: DebeziumJsonOptions) -> Form:
    """Return the form of an array, of which elements may be null."""
    assert column.dtype.element is not None, "an array has elements"
    native = column.native.removesuffix("[]")
    inner = form_of(replace(column, dtype=column.dtype.element, native=native), options)
    items = {**inner.schema, "optional": True}
    convert = partial(_array_elements, inner.convert)
    return Form({"type": "array", "items": items}, replace(column.dtype, element=inner.dtype), convert)


def _array_elements(convert: Convert, values: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    lengths = pc.fill_null(pc.list_value_length(values), 0)
    ends = pc.cumulative_sum(lengths).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    return pa.ListArray.from_arrays(offsets, convert(values.flatten()), mask=pc.is_null(values))


def _cast_to(kind: str) -> Convert:
    return partial(_cast, kind)


def _cast(kind: str, values: pa.Array) -> pa.Array:
    return values.cast(kind)


def _ticks(divisor: int) -> Convert:
    """Count so many of the column's own unit; Kafka Connect's milliseconds drop the rest."""
    return partial(_counted, divisor)


def _counted(divisor: int, values: pa.Array) -> pa.Array:
    import pyarrow.compute as pc

    ticks = values.cast("int64")
    return ticks if divisor == 1 else pc.divide(pc.subtract(ticks, _remainder(ticks, divisor)), divisor)


def _remainder(ticks: pa.Array, divisor: int) -> pa.Array:
    """The rest of a division that rounds down, as times before 1970 need it."""
    import numpy as np
    import pyarrow as pa

    values = ticks.fill_null(0).to_numpy(zero_copy_only=False)
    return pa.array(np.mod(values, divisor))


def _hex(values: pa.Array) -> pa.Array:
    import pyarrow as pa

    return pa.array([None if one is None else one.hex() for one in values.to_pylist()], pa.string())


def _url_safe(values: pa.Array) -> pa.Array:
    import base64

    import pyarrow as pa

    texts = [None if one is None else base64.urlsafe_b64encode(one).decode() for one in values.to_pylist()]
    return pa.array(texts, pa.string())
