"""Links columns to the fields of a message, checks their types, and derives the columns of a message.

Rules. (1) A column is the field of its name; without such a field, the one field whose name differs in case only, as
SeaTunnel's job files write nested messages (``Address`` for ``address``). (2) No value is lost between the two: types
that may not fit (a bigint in an int32) are checked value by value, types that never fit (text in a number) are refused
here. (3) All misfits are reported at once.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from seatunnel_py.api import INTEGERS, Column, DataType, Kind, decimal

NESTING_MAX = 64
FIELDS_MAX = 10_000  # a few lines of text can describe billions: messages that hold the next one twice
TIMESTAMP = "google.protobuf.Timestamp"
FIRST_SECOND, LAST_SECOND = -62_135_596_800, 253_402_300_799  # the years 1 to 9999, as Protobuf requires for timestamps
_SIGNED_32, _SIGNED_64 = frozenset({5, 15, 17}), frozenset({3, 16, 18})
_UNSIGNED_32, _UNSIGNED_64 = frozenset({7, 13}), frozenset({4, 6})
_DOUBLE, _FLOAT, _BOOL, _STRING, _BYTES, _ENUM = 1, 2, 8, 9, 12, 14
_INTEGRAL = _SIGNED_32 | _SIGNED_64 | _UNSIGNED_32 | _UNSIGNED_64
_WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
_NAMES = {
    1: "double", 2: "float", 3: "int64", 4: "uint64", 5: "int32", 6: "fixed64", 7: "fixed32", 8: "bool", 9: "string",
    12: "bytes", 13: "uint32", 15: "sfixed32", 16: "sfixed64", 17: "sint32", 18: "sint64",
}  # fmt: skip


class FieldShape(StrEnum):
    """Shape of a field: how its values are reached."""

    PLAIN = "plain"
    ENUM = "enum"
    MOMENT = "moment"
    WRAPPED = "wrapped"
    ROW = "row"
    LIST = "list"
    MAP = "map"


@dataclass(frozen=True, slots=True)
class FieldLink:
    """A column, or a part inside one, and its field. ``column`` is its name there, ``path`` its full path; ``inner``
    are a row's fields, a list's element, a map's key and value."""

    column: str
    path: str
    field: Any
    dtype: DataType
    shape: FieldShape
    inner: tuple[FieldLink, ...] = ()

    @property
    def name(self) -> str:
        return str(self.field.name)

    @property
    def may_be_null(self) -> bool:
        """True if a message can show that the field is missing; a default in the schema counts as a value."""
        return bool(self.field.has_presence and not self.field.has_default_value)


def links_of(columns: Sequence[Column], descriptor: Any, option: str, *, writing: bool) -> tuple[FieldLink, ...]:
    """Link each column to its field. Raises ValueError, which begins with ``option`` and lists all misfits."""
    linker = _Linker(writing)
    found = linker.fields([(column.name, column.dtype) for column in columns], descriptor, "")
    if linker.problems:
        raise ValueError(f"{option}: " + "; ".join(linker.problems))
    return found


class _Linker:
    """Links columns, and collects misfits."""

    def __init__(self, writing: bool) -> None:
        self.writing = writing
        self.problems: list[str] = []

    def fields(self, columns: Sequence[tuple[str, DataType]], descriptor: Any, outer: str) -> tuple[FieldLink, ...]:
        links: list[FieldLink] = []
        taken: dict[str, str] = {}
        for name, dtype in columns:
            path = f"{outer}{name}"
            field = self._named(name, descriptor, path)
            if field is None:
                continue
            if field.name in taken and self.writing:
                self._problem(path, f"the field {field.name} is that of the column {taken[field.name]!r} already")
                continue
            taken[field.name] = path
            link = self.field(name, dtype, field, path)
            links += [link] if link else []
        lacking = [field.name for field in descriptor.fields if field.is_required and field.name not in taken]
        for name in lacking if self.writing else ():
            self._problem(f"{outer}{name}", f"there is none, and {descriptor.full_name} requires the field")
        return tuple(links)

    def field(self, name: str, dtype: DataType, field: Any, path: str) -> FieldLink | None:
        if not field.is_repeated:
            return self._single(name, dtype, field, path)
        entry = field.message_type if _is_map(field) else None
        if entry is not None and dtype.kind is Kind.MAP and dtype.key and dtype.element:
            key = self._single("key", dtype.key, entry.fields_by_name["key"], f"{path}.key")
            value = self._single("value", dtype.element, entry.fields_by_name["value"], f"{path}.value")
            return FieldLink(name, path, field, dtype, FieldShape.MAP, (key, value)) if key and value else None
        if entry is None and dtype.kind is Kind.ARRAY and dtype.element:
            element = self._single("element", dtype.element, field, path)
            return FieldLink(name, path, field, dtype, FieldShape.LIST, (element,)) if element else None
        self._misfit(path, dtype, field)
        return None

    def _single(self, name: str, dtype: DataType, field: Any, path: str) -> FieldLink | None:
        """Link one value of a field, however many it has."""
        message = field.message_type
        if message is None:
            if _fits(field, dtype, self.writing):
                return FieldLink(name, path, field, dtype, FieldShape.ENUM if field.type == _ENUM else FieldShape.PLAIN)
        elif message.full_name == TIMESTAMP and dtype.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_TZ):
            return FieldLink(name, path, field, dtype, FieldShape.MOMENT)
        elif dtype.kind is Kind.ROW:
            return FieldLink(name, path, field, dtype, FieldShape.ROW, self.fields(dtype.fields, message, f"{path}."))
        elif message.full_name in _WRAPPERS and _fits(message.fields_by_name["value"], dtype, self.writing):
            inner = FieldLink("value", path, message.fields_by_name["value"], dtype, FieldShape.PLAIN)
            return FieldLink(name, path, field, dtype, FieldShape.WRAPPED, (inner,))
        self._misfit(path, dtype, field)
        return None

    def _named(self, name: str, descriptor: Any, path: str) -> Any:
        known = {field.name: field for field in descriptor.fields}
        if name in known:
            return known[name]
        alike = [field for field in known.values() if field.name.lower() == name.lower()]
        if len(alike) == 1:
            return alike[0]
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"the fields are {', '.join(list(known)[:20]) or 'none'}"
        self._problem(path, f"the message {descriptor.full_name} has no such field; {hint}")
        return None

    def _misfit(self, path: str, dtype: DataType, field: Any) -> None:
        try:
            may = str(_Natural().field(field, ()))
        except ValueError:
            may = "a row"
        self._problem(path, f"{dtype} is not what the field {field.name} ({_described(field)}) holds, which is {may}")

    def _problem(self, path: str, text: str) -> None:
        self.problems.append(f"column {path!r}: {text}")


def _fits(field: Any, dtype: DataType, writing: bool) -> bool:
    kind = dtype.kind
    if field.type in _INTEGRAL:
        is_wide = field.type in _UNSIGNED_64 and kind is Kind.DECIMAL and dtype.scale == 0
        return kind in INTEGERS or is_wide
    match field.type:
        case t if t == _FLOAT:
            return kind is Kind.FLOAT or (kind is Kind.DOUBLE and not writing)
        case t if t == _DOUBLE:
            return kind is Kind.DOUBLE or (kind is Kind.FLOAT and writing)
        case t if t == _ENUM:
            return kind is Kind.STRING or kind in INTEGERS
    return kind is {_BOOL: Kind.BOOLEAN, _STRING: Kind.STRING, _BYTES: Kind.BYTES}.get(field.type)


def _is_map(field: Any) -> bool:
    return bool(field.message_type and field.message_type.GetOptions().map_entry)


def _described(field: Any) -> str:
    if _is_map(field):
        entry = field.message_type.fields_by_name
        return f"map<{_described(entry['key'])}, {_described(entry['value'])}>"
    named = field.message_type or field.enum_type
    text = named.full_name if named else _NAMES[field.type]
    return f"repeated {text}" if field.is_repeated else text


# ------------------------------------------------------------ without columns


def natural_columns(descriptor: Any) -> tuple[Column, ...]:
    """The columns of a message, if the job file names none. Raises ValueError, which begins with schema."""
    return tuple(Column(name, dtype) for name, dtype in _Natural().fields(descriptor, ()))


class _Natural:
    """Derives types from fields and counts them; ``outer`` are the enclosing messages."""

    def __init__(self) -> None:
        self.count = 0

    def fields(self, descriptor: Any, outer: tuple[str, ...]) -> tuple[tuple[str, DataType], ...]:
        name = descriptor.full_name
        if name in outer:
            raise ValueError(f"schema: {name} holds itself: name the columns, as deep as they are wanted")
        if not descriptor.fields:
            raise ValueError(f"schema: {name} has no fields: name the columns, without it")
        self.count += len(descriptor.fields)
        if self.count > FIELDS_MAX or len(outer) > NESTING_MAX:
            raise ValueError(f"schema: {(*outer, name)[0]} has too many fields, one in another: name the columns")
        return tuple((field.name, self.field(field, (*outer, name))) for field in descriptor.fields)

    def field(self, field: Any, outer: tuple[str, ...]) -> DataType:
        if _is_map(field):
            entry = field.message_type.fields_by_name
            return DataType(Kind.MAP, key=self._one(entry["key"], outer), element=self._one(entry["value"], outer))
        one = self._one(field, outer)
        return DataType(Kind.ARRAY, element=one) if field.is_repeated else one

    def _one(self, field: Any, outer: tuple[str, ...]) -> DataType:
        message = field.message_type
        if message is not None:
            if message.full_name == TIMESTAMP:
                return DataType(Kind.TIMESTAMP_TZ)
            if message.full_name in _WRAPPERS:
                return self._one(message.fields_by_name["value"], outer)
            return DataType(Kind.ROW, fields=self.fields(message, outer))
        if field.type in _UNSIGNED_64:
            return decimal(20, 0)
        if field.type in _SIGNED_64 | _UNSIGNED_32:
            return DataType(Kind.BIGINT)
        kinds = {
            _DOUBLE: Kind.DOUBLE, _FLOAT: Kind.FLOAT, _BOOL: Kind.BOOLEAN, _STRING: Kind.STRING, _BYTES: Kind.BYTES,
            _ENUM: Kind.STRING,
        }  # fmt: skip
        return DataType(kinds.get(field.type, Kind.INT))
