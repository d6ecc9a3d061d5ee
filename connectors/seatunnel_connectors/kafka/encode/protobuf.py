"""Encodes the format protobuf: a row as a message of the schema, without a header, as ``decode/protobuf.py`` reads
it.

A null is an omitted field, as in SeaTunnel; readers find the default there unless the schema tracks presence
(``optional``). Values that a message cannot hold are refused, not changed: nulls inside of lists and maps, numbers
beyond a field's range, a required field's null, two fields of one ``oneof``.

Imported only for this format; workers import it before they need it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from google.protobuf.message import EncodeError
from google.protobuf.message_factory import GetMessageClass

from seatunnel_connectors.kafka.schemas.protobuf_fields import FIRST_SECOND, LAST_SECOND, FieldLink, FieldShape
from seatunnel_connectors.kafka.schemas.protobuf_schema import MessageSchema, loaded
from seatunnel_py.api import BadRowsError, Kind

if TYPE_CHECKING:
    import pyarrow as pa

_REMEDY = "make it fit before the sink, or change the schema"


def protobuf_values(links: Sequence[FieldLink], message: MessageSchema, batch: pa.RecordBatch) -> pa.Array:
    """Return one value for each row. Raises BadRowsError."""
    import pyarrow as pa

    made = loaded(message).one
    values = []
    for number, row in enumerate(_rows(links, [batch.column(link.column) for link in links], batch.num_rows)):
        try:
            values.append(made(**row).SerializeToString(deterministic=True))
        except (EncodeError, TypeError, ValueError) as error:
            raise BadRowsError(
                f"row {number + 1} of a batch is not to be written as Protobuf: {error}", _REMEDY
            ) from None
    return pa.array(values, pa.binary())


def _rows(links: Sequence[FieldLink], arrays: Sequence[Any], count: int) -> Iterator[dict[str, Any]]:
    """Yield the fields of each message, row by row; None omits a field."""
    _check_required(links, arrays)
    _check_oneofs(links, arrays)
    names = [link.name for link in links]
    columns = [_cells(link, array) for link, array in zip(links, arrays, strict=True)]
    if not columns:
        return iter([{}] * count)
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def _check_required(links: Sequence[FieldLink], arrays: Sequence[Any]) -> None:
    for link, array in zip(links, arrays, strict=True):
        if link.field.is_required and array.null_count:
            raise BadRowsError(f"column {link.path!r}: it is null, and the field {link.name} is required", _REMEDY)


def _check_oneofs(links: Sequence[FieldLink], arrays: Sequence[Any]) -> None:
    """Refuse two fields of one oneof: the later would silently replace the earlier."""
    import pyarrow as pa
    import pyarrow.compute as pc

    groups: dict[str, list[tuple[str, Any]]] = {}
    for link, array in zip(links, arrays, strict=True):
        oneof = link.field.containing_oneof
        if oneof is not None:
            groups.setdefault(oneof.name, []).append((link.path, array))
    for oneof_name, members in groups.items():
        count = members[0][1].is_valid().cast(pa.int32())
        for _, array in members[1:]:
            count = pc.add(count, array.is_valid().cast(pa.int32()))
        if (pc.max(count).as_py() or 0) > 1:
            paths = ", ".join(repr(path) for path, _ in members)
            raise BadRowsError(
                f"columns {paths}: more than one has a value, and the oneof {oneof_name} has one", _REMEDY
            )


# ------------------------------------------------------------ columns


def _cells(link: FieldLink, array: Any) -> list[Any]:
    """Convert a column to values for messages; None where it is null."""
    match link.shape:
        case FieldShape.LIST:
            return _lists(link, array)
        case FieldShape.MAP:
            return _maps(link, array)
    return _values(link, array)


def _values(link: FieldLink, array: Any) -> list[Any]:
    """Convert a column of single values."""
    match link.shape:
        case FieldShape.ROW:
            present = array.drop_null() if array.null_count else array  # the value below a null row is not data
            rows = _rows(link.inner, present.flatten(), len(present))
            return [next(rows) if one else None for one in array.is_valid().to_pylist()]
        case FieldShape.MOMENT:
            return [None if nano is None else _moment(link, nano) for nano in _nanos(array)]
        case FieldShape.WRAPPED:
            inner = _values(link.inner[0], array)
            return [None if value is None else {"value": value} for value in inner]
        case FieldShape.ENUM if link.dtype.kind is Kind.STRING:
            return _numbers(link, array)
    with _naming(link):
        found: list[Any] = array.cast(_arrow_type(link.field)).to_pylist()
    if link.shape is FieldShape.ENUM and link.field.enum_type.is_closed:
        known = link.field.enum_type.values_by_number
        strange = next((number for number in found if number is not None and number not in known), None)
        if strange is not None:
            raise BadRowsError(
                f"column {link.path!r}: {strange} is not a value of {link.field.enum_type.full_name}", _REMEDY
            )
    return found


def _nanos(array: Any) -> list[int | None]:
    import pyarrow as pa

    factor = 1 if array.type.unit == "ns" else 1000
    return [None if ticks is None else ticks * factor for ticks in array.cast(pa.int64()).to_pylist()]


def _moment(link: FieldLink, nanos: int) -> dict[str, int]:
    seconds, rest = divmod(nanos, 1_000_000_000)
    if not FIRST_SECOND <= seconds <= LAST_SECOND:
        raise BadRowsError(f"column {link.path!r}: a timestamp is not within the years 1 to 9999", _REMEDY)
    return {"seconds": seconds, "nanos": rest}


def _numbers(link: FieldLink, array: Any) -> list[int | None]:
    enum = link.field.enum_type
    numbers = {name: value.number for name, value in enum.values_by_name.items()}
    try:
        return [None if label is None else numbers[label] for label in array.to_pylist()]
    except KeyError as error:
        raise BadRowsError(f"column {link.path!r}: {error} is not a value of {enum.full_name}", _REMEDY) from None


def _lists(link: FieldLink, array: Any) -> list[Any]:
    elements = iter(_elements(link.inner[0], array.flatten(), link))
    return [None if size is None else list(islice(elements, size)) for size in _sizes(array)]


def _maps(link: FieldLink, array: Any) -> list[Any]:
    import pyarrow as pa

    entries = array.cast(pa.list_(pa.struct([("key", array.type.key_type), ("value", array.type.item_type)])))
    key, value = link.inner
    keys, items = entries.flatten().flatten()
    pairs = zip(_elements(key, keys, link), _elements(value, items, link), strict=True)
    found: list[Any] = []
    for size in _sizes(entries):
        if size is None:
            found.append(None)
            continue
        one = dict(islice(pairs, size))
        if len(one) < size:
            raise BadRowsError(f"column {link.path!r}: a map has a key twice", _REMEDY)
        found.append(one)
    return found


def _sizes(lists: Any) -> list[int | None]:
    import pyarrow.compute as pc

    sizes: list[int | None] = pc.list_value_length(lists).to_pylist()
    return sizes


def _elements(element: FieldLink, array: Any, link: FieldLink) -> list[Any]:
    """Convert the elements of lists and maps: never null, and messages as such."""
    if array.null_count:
        raise BadRowsError(
            f"column {link.path!r}: it holds a null, which Protobuf has not inside of {link.shape}s", _REMEDY
        )
    cells = _values(element, array)
    if element.field.message_type is None:
        return cells
    made: Callable[..., Any] = GetMessageClass(element.field.message_type)
    return [made(**cell) for cell in cells]


@contextmanager
def _naming(link: FieldLink) -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException as error:
        raise BadRowsError(f"column {link.path!r}: {error}", _REMEDY) from None


def _arrow_type(field: Any) -> Any:
    """The Arrow type whose values all fit the field."""
    import pyarrow as pa

    types = {
        1: pa.float64(), 2: pa.float32(), 3: pa.int64(), 4: pa.uint64(), 5: pa.int32(), 6: pa.uint64(), 7: pa.uint32(),
        8: pa.bool_(), 9: pa.string(), 12: pa.binary(), 13: pa.uint32(), 14: pa.int32(), 15: pa.int32(),
        16: pa.int64(), 17: pa.int32(), 18: pa.int64(),
    }  # fmt: skip
    return types[field.type]
