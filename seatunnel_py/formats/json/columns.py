"""Converts parsed JSON values to columns: whole columns if all values match the type, else value by value.

The second way follows SeaTunnel's rules (json_values.py): numbers in quotes, containers in text columns, rows as lists.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from decimal import localcontext
from itertools import chain
from typing import TYPE_CHECKING, Any

from seatunnel_py.api import DataType, Kind, to_arrow
from seatunnel_py.api.types import NUMBER, TEMPORAL
from seatunnel_py.formats.json.values import from_json, other_case
from seatunnel_py.formats.value_text import MisfitError, NumberText, TextRules, parse_column
from seatunnel_py.formats.value_text.decimals import parse_decimals
from seatunnel_py.formats.value_text.number_words import check_numbers
from seatunnel_py.formats.value_text.numbers import parse_floats

if TYPE_CHECKING:
    import pyarrow as pa

DIGITS_MAX = 100  # more than any column holds, so that arithmetic on decimals is exact

ODD_NUMBERS = ("NaN", "Infinity", "-Infinity")
"""Numbers without JSON digits, as Java's writers quote them."""


class _OtherwiseError(Exception):
    """A value is not in the form of its type."""


def json_column(cells: list[Any], dtype: DataType, rules: TextRules) -> pa.Array:
    """Convert one column. Raises MisfitError with the row of the first misfit."""
    import pyarrow as pa

    try:
        return _whole(cells, dtype, rules)
    except (_OtherwiseError, MisfitError, pa.ArrowException, UnicodeEncodeError, OverflowError):
        pass
    values = []
    with localcontext(prec=DIGITS_MAX):
        for index, cell in enumerate(cells):
            try:
                values.append(_one(cell, dtype, rules))
            except ValueError as error:
                raise MisfitError(index, str(error)) from None
    return pa.array(values, to_arrow(dtype))


def _one(cell: Any, dtype: DataType, rules: TextRules) -> Any:
    pattern = rules.pattern(dtype.kind) if dtype.kind in TEMPORAL else None
    if pattern is not None and type(cell) is str:
        import pyarrow as pa

        ticks = pa.int32() if dtype.kind is Kind.DATE else pa.int64()
        return parse_column(pa.array([cell]), dtype, pattern).cast(ticks)[0].as_py()
    return from_json(cell, dtype, "the value")


def _whole(cells: list[Any], dtype: DataType, rules: TextRules) -> pa.Array:
    """Convert all values at once, if all are in the form of the type."""
    import pyarrow as pa

    kinds = set(map(type, cells)) - {type(None)}
    if dtype.kind in TEMPORAL:
        _only(kinds, str)
        return parse_column(pa.array(cells, pa.string()), dtype, rules.pattern(dtype.kind))
    found = _WHOLE.get(dtype.kind)
    if found is None:
        raise _OtherwiseError
    return found(cells, kinds, dtype, rules)


def _only(kinds: set[type], *allowed: type) -> None:
    if not kinds <= set(allowed):
        raise _OtherwiseError


def _texts(cells: list[Any], kinds: set[type]) -> pa.Array:
    """Texts and numbers in the document's spelling."""
    import pyarrow as pa

    return pa.array([None if cell is None else str(cell) for cell in cells] if int in kinds else cells, pa.string())


def _string(cells: list[Any], kinds: set[type], dtype: DataType, rules: TextRules) -> pa.Array:
    _only(kinds, str, int, NumberText)
    texts = _texts(cells, kinds)
    return check_numbers(texts, dtype) if dtype == NUMBER else texts


def _boolean(cells: list[Any], kinds: set[type], dtype: DataType, rules: TextRules) -> pa.Array:
    import pyarrow as pa

    if kinds - {bool}:
        raise _OtherwiseError
    return pa.array(cells, pa.bool_())


def _integer(cells: list[Any], kinds: set[type], dtype: DataType, rules: TextRules) -> pa.Array:
    import pyarrow as pa

    _only(kinds, int)
    return pa.array(cells, to_arrow(dtype))


def _floating(cells: list[Any], kinds: set[type], dtype: DataType, rules: TextRules) -> pa.Array:
    _only(kinds, int, NumberText, str)
    if str in kinds and any(type(cell) is str and cell not in ODD_NUMBERS for cell in cells):
        raise _OtherwiseError
    return parse_floats(_texts(cells, kinds), dtype)


def _decimal(cells: list[Any], kinds: set[type], dtype: DataType, rules: TextRules) -> pa.Array:
    _only(kinds, int, NumberText, str)
    return parse_decimals(_texts(cells, kinds), dtype)


def _bytes(cells: list[Any], kinds: set[type], dtype: DataType, rules: TextRules) -> pa.Array:
    import pyarrow as pa

    _only(kinds, str)
    try:
        plain = [None if cell is None else base64.b64decode(cell, validate=True) for cell in cells]
    except (binascii.Error, ValueError):
        raise _OtherwiseError from None
    return pa.array(plain, pa.binary())


def _offsets(cells: list[Any]) -> tuple[pa.Array, pa.Array | None]:
    """End offset of each container in sequence, and the mask of nulls."""
    import pyarrow as pa

    ends, end = [0], 0
    for cell in cells:
        end += len(cell) if cell is not None else 0
        ends.append(end)
    mask = pa.array([cell is None for cell in cells]) if None in cells else None
    return pa.array(ends, pa.int32()), mask


def _array(cells: list[Any], kinds: set[type], dtype: DataType, rules: TextRules) -> pa.Array:
    import pyarrow as pa

    _only(kinds, list)
    assert dtype.element is not None
    offsets, mask = _offsets(cells)
    items = list(chain.from_iterable(cell for cell in cells if cell is not None))
    values = _whole(items, dtype.element, rules)
    return pa.ListArray.from_arrays(offsets, values, type=to_arrow(dtype), mask=mask)


def _map(cells: list[Any], kinds: set[type], dtype: DataType, rules: TextRules) -> pa.Array:
    import pyarrow as pa

    _only(kinds, dict)
    assert dtype.key is not None and dtype.element is not None
    if dtype.key.kind is not Kind.STRING:
        raise _OtherwiseError
    offsets, mask = _offsets(cells)
    filled = [cell for cell in cells if cell is not None]
    keys = pa.array(list(chain.from_iterable(filled)), pa.string())
    items = _whole(list(chain.from_iterable(cell.values() for cell in filled)), dtype.element, rules)
    return pa.MapArray.from_arrays(offsets, keys, items, type=to_arrow(dtype), mask=mask)


def _row(cells: list[Any], kinds: set[type], dtype: DataType, rules: TextRules) -> pa.Array:
    import pyarrow as pa

    _only(kinds, dict)
    if other_case(cells, [name for name, _ in dtype.fields]):
        raise _OtherwiseError
    children = [
        _whole([None if cell is None else cell.get(name) for cell in cells], inner, rules)
        for name, inner in dtype.fields
    ]
    mask = pa.array([cell is None for cell in cells]) if None in cells else None
    return pa.StructArray.from_arrays(children, fields=list(to_arrow(dtype)), mask=mask)


_WHOLE: dict[Kind, Callable[[list[Any], set[type], DataType, TextRules], Any]] = {
    Kind.STRING: _string,
    Kind.BOOLEAN: _boolean,
    Kind.TINYINT: _integer,
    Kind.SMALLINT: _integer,
    Kind.INT: _integer,
    Kind.BIGINT: _integer,
    Kind.FLOAT: _floating,
    Kind.DOUBLE: _floating,
    Kind.DECIMAL: _decimal,
    Kind.BYTES: _bytes,
    Kind.ARRAY: _array,
    Kind.MAP: _map,
    Kind.ROW: _row,
}
