"""Decodes the format protobuf: each record is one message of the schema, without a schema registry's header.

All messages are parsed in one go, as the elements of an enclosing message, which costs a third of parsing each; then
each field becomes a column. An omitted field is null if the schema tracks presence (``optional``, ``oneof``, nested
messages, all of proto2), and else Protobuf's default; a default that the schema gives counts as present.

Imported only for this format; workers import it before they need it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar

from google.protobuf.message import DecodeError

from seatunnel_connectors.kafka.schemas.protobuf_fields import (
    FIRST_SECOND,
    LAST_SECOND,
    FieldLink,
    FieldShape,
    links_of,
)
from seatunnel_connectors.kafka.schemas.protobuf_schema import MessageSchema, loaded
from seatunnel_py.api import NANOSECONDS, Kind, TableSchema, to_arrow
from seatunnel_py.formats.messages.decoder import BadMessageError, Decoded, Decoder

if TYPE_CHECKING:
    import pyarrow as pa


class _MisfitError(ValueError):
    """A value does not fit its column."""


class ProtobufDecoder(Decoder):
    """Decodes messages by the names of their fields."""

    takes_empty: ClassVar[bool] = True  # a message with all fields at their defaults has no bytes

    def __init__(self, table: TableSchema, message: MessageSchema) -> None:
        super().__init__(table)
        self.message = message
        self.classes = loaded(message)
        self.links = links_of(table.columns, self.classes.descriptor, "schema", writing=False)

    def decode(self, values: Sequence[bytes]) -> Decoded:
        messages = self._messages(values)
        return Decoded(self.batch([self._column(link, messages) for link in self.links]))

    def _messages(self, values: Sequence[bytes]) -> list[Any]:
        parts: list[bytes] = []
        for value in values:
            parts += (_head(len(value)), value)
        try:
            many = self.classes.many.FromString(b"".join(parts))
        except DecodeError:
            return self._one_by_one(values)  # finds the bad message; or all of them are deep, or large, but good
        return list(many.rows) if many.IsInitialized() else self._one_by_one(values)

    def _one_by_one(self, values: Sequence[bytes]) -> list[Any]:
        messages = []
        for index, value in enumerate(values):
            try:
                message = self.classes.one.FromString(value)
            except DecodeError as error:
                reason = str(error).rpartition(": ")[2] or "it cannot be parsed"
                raise BadMessageError(index, f"it is not a {self.message.name}: {reason}") from None
            if not message.IsInitialized():
                lacks = ", ".join(message.FindInitializationErrors())
                raise BadMessageError(index, f"it is not a {self.message.name}: it lacks {lacks}, which is required")
            messages.append(message)
        return messages

    def _column(self, link: FieldLink, messages: list[Any]) -> pa.Array:
        try:
            return _tried(link, messages)
        except _MisfitError:
            begin, end = 0, len(messages)
            while end - begin > 1:
                middle = (begin + end) // 2
                try:
                    _tried(link, messages[begin:middle])
                    begin = middle
                except _MisfitError:
                    end = middle
            try:
                _tried(link, messages[begin:end])
            except _MisfitError as error:
                raise BadMessageError(begin, f"column {link.path!r}: {error}") from None
            raise


@lru_cache(maxsize=4096)
def _head(size: int) -> bytes:
    """The bytes before an element of field 1 that is this long."""
    found = bytearray(b"\n")
    while size > 0x7F:
        found.append(size & 0x7F | 0x80)
        size >>= 7
    found.append(size)
    return bytes(found)


# ------------------------------------------------------------ columns


def _tried(link: FieldLink, messages: list[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return _field(link, messages)
    except UnicodeDecodeError:
        raise _MisfitError("it is not UTF-8 text") from None
    except (pa.ArrowException, OverflowError) as error:
        raise _MisfitError(str(error)) from None


def _field(link: FieldLink, messages: list[Any]) -> pa.Array:
    """Return a field of the messages as a column."""
    values = list(map(attrgetter(link.name), messages))
    match link.shape:
        case FieldShape.LIST:
            return _lists(link, values)
        case FieldShape.MAP:
            return _maps(link, values)
    there = None
    if link.may_be_null and messages:
        there = list(map(type(messages[0]).HasField, messages, repeat(link.name)))
    return _values(link, values, None if there is None or all(there) else there)


def _values(link: FieldLink, values: list[Any], there: list[bool] | None) -> pa.Array:
    """Return the values of a field; null where ``there`` is false."""
    import pyarrow as pa

    match link.shape:
        case FieldShape.ROW:
            arrays = [_field(inner, values) for inner in link.inner]
            mask = None if there is None else pa.array([not one for one in there])
            kind = to_arrow(link.dtype)
            return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=mask)
        case FieldShape.MOMENT:
            return _moments(link, values, there)
        case FieldShape.WRAPPED:
            values = list(map(attrgetter("value"), values))
        case FieldShape.ENUM if link.dtype.kind is Kind.STRING:
            values = _labels(link, values)
    if there is not None:
        values = [value if one else None for value, one in zip(values, there, strict=True)]
    return pa.array(values, to_arrow(link.dtype))


def _labels(link: FieldLink, numbers: list[int]) -> list[str]:
    labels = {number: value.name for number, value in link.field.enum_type.values_by_number.items()}
    try:
        return [labels[number] for number in numbers]
    except KeyError as error:
        raise _MisfitError(
            f"{error} is none of the numbers of {link.field.enum_type.full_name}; a column of type int takes any"
        ) from None


def _moments(link: FieldLink, values: list[Any], there: list[bool] | None) -> pa.Array:
    """Convert Google's timestamps; a column in microseconds refuses finer ones."""
    import pyarrow as pa

    seconds, nanos = [list(map(attrgetter(name), values)) for name in ("seconds", "nanos")]
    if values and not (min(seconds) >= FIRST_SECOND and max(seconds) <= LAST_SECOND):
        raise _MisfitError("a timestamp is not within the years 1 to 9999")
    if values and not (min(nanos) >= 0 and max(nanos) < 1_000_000_000):
        raise _MisfitError("the nanos of a timestamp are not within 0 to 999,999,999")
    ticks: list[int | None] = [second * 1_000_000_000 + nano for second, nano in zip(seconds, nanos, strict=True)]
    if link.dtype.unit != NANOSECONDS:
        if any(nano % 1000 for nano in nanos):
            raise _MisfitError("a timestamp is finer than microseconds; declare the column as timestamp_tz(9)")
        ticks = [tick // 1000 for tick in ticks if tick is not None]
    elif any(tick is not None and not -(2**63) <= tick < 2**63 for tick in ticks):
        raise _MisfitError("a timestamp in nanoseconds is not within the years 1677 to 2262")
    if there is not None:
        ticks = [tick if one else None for tick, one in zip(ticks, there, strict=True)]
    return pa.array(ticks, pa.int64()).cast(to_arrow(link.dtype))


def _lists(link: FieldLink, values: list[Any]) -> pa.Array:
    import pyarrow as pa

    flat: list[Any] = []
    ends = [0]
    for one in values:
        flat += one[:]
        ends.append(len(flat))
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), _values(link.inner[0], flat, None))


def _maps(link: FieldLink, values: list[Any]) -> pa.Array:
    """Return maps in the order of their keys: the runtime's order differs in each process, and readers must agree."""
    import pyarrow as pa

    keys: list[Any] = []
    items: list[Any] = []
    ends = [0]
    for one in values:
        if one:
            for key in sorted(one):
                keys.append(key)
                items.append(one[key])
        ends.append(len(keys))
    key_link, item_link = link.inner
    arrays = _values(key_link, keys, None), _values(item_link, items, None)
    return pa.MapArray.from_arrays(pa.array(ends, pa.int32()), *arrays)
