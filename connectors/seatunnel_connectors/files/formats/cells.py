"""Values of formats that are read cell by cell (excel, xml): text, numbers and dates into columns.

Scalars that come as text follow the text formats' rules. Containers are JSON text; a nested row may also be its
fields between delimiters, as the peer writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

from seatunnel_connectors.json_values import from_json
from seatunnel_connectors.temporal import MisfitError
from seatunnel_connectors.text_columns import TextRules, exact_float, text_column
from seatunnel_py.api import DataType, Kind, to_arrow

if TYPE_CHECKING:
    import pyarrow as pa

INTEGERS = {Kind.TINYINT, Kind.SMALLINT, Kind.INT, Kind.BIGINT}

_CONTAINERS = {Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.FLOAT_VECTOR, Kind.FLOAT16_VECTOR, Kind.SPARSE_FLOAT_VECTOR}
_BYTE_LIST = re.compile(r"\[\s*(?:-?[0-9]{1,3}\s*(?:,\s*-?[0-9]{1,3}\s*)*)?\]")


def cell_column(cells: list[Any], dtype: DataType, rules: TextRules, delimiter: str) -> pa.Array:
    """One column from one cell per row. Raises MisfitError with the row of the first value that does not fit."""
    import pyarrow as pa

    if dtype.kind in _CONTAINERS:
        with localcontext(prec=100):
            return pa.array(_each(cells, lambda cell: _container(cell, dtype, rules, delimiter)), to_arrow(dtype))
    if dtype.kind is Kind.BYTES:
        return pa.array(_each(cells, _bytes), pa.binary())
    if dtype.kind in (Kind.DATE, Kind.TIME, Kind.TIMESTAMP) and not all(
        cell is None or isinstance(cell, str) for cell in cells
    ):
        return pa.array(_each(cells, lambda cell: _moment(cell, dtype, rules)), to_arrow(dtype))
    whole = int if dtype.kind in INTEGERS else Decimal
    return text_column(pa.array([cell_text(cell, whole) for cell in cells], pa.string()), dtype, rules)


def _each(cells: list[Any], convert: Callable[[Any], Any]) -> list[Any]:
    values = []
    for index, cell in enumerate(cells):
        try:
            values.append(None if cell is None or cell == "" else convert(cell))
        except MisfitError as error:
            raise MisfitError(index, str(error)) from None
        except ValueError as error:
            raise MisfitError(index, str(error)) from None
    return values


def cell_text(cell: Any, whole: type[int] | type[Decimal] = Decimal) -> str | None:
    """A cell as text: whole numbers without a fraction, which spreadsheets do not tell apart; of a double's digits
    an integer column wants the exact value, any other the ones that are shown."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell)) if whole is int else f"{Decimal(repr(cell)).to_integral_value():f}"
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


def _container(cell: Any, dtype: DataType, rules: TextRules, delimiter: str) -> Any:
    text = cell_text(cell) or ""
    try:
        found = json.loads(text, parse_float=exact_float)
    except (ValueError, RecursionError):
        if dtype.kind is not Kind.ROW:
            raise ValueError(f"{text[:60]!r} is not the JSON text of a {dtype.kind}") from None
        return _row_fields(text, dtype, rules, delimiter)
    return from_json(found, dtype, "the cell")


def _row_fields(text: str, dtype: DataType, rules: TextRules, delimiter: str) -> dict[str, Any]:
    fields: list[str | None] = [*text.split(delimiter)]
    fields += [None] * (len(dtype.fields) - len(fields))
    return {
        name: cell_column([field], inner, rules, delimiter)[0].as_py()
        for (name, inner), field in zip(dtype.fields, fields, strict=False)
    }


def _bytes(cell: Any) -> bytes:
    """A list of numbers, as the peer writes bytes into cells; any other text stands for its own bytes."""
    text = cell_text(cell) or ""
    if _BYTE_LIST.fullmatch(text):
        numbers = json.loads(text)
        if all(-128 <= number <= 255 for number in numbers):
            return bytes(number & 0xFF for number in numbers)
    return text.encode()


def _moment(cell: Any, dtype: DataType, rules: TextRules) -> Any:
    import pyarrow as pa

    if isinstance(cell, datetime):
        parts = {Kind.DATE: cell.date(), Kind.TIME: cell.time()}
        return parts.get(dtype.kind, cell)
    if isinstance(cell, date) and dtype.kind in (Kind.DATE, Kind.TIMESTAMP):
        return cell if dtype.kind is Kind.DATE else datetime.combine(cell, time())
    if isinstance(cell, time) and dtype.kind is Kind.TIME:
        return cell
    if isinstance(cell, timedelta) and dtype.kind is Kind.TIME and cell.days == 0:
        return (datetime(1970, 1, 1) + cell).time()  # noqa: DTZ001  (a time of day has no zone)
    return text_column(pa.array([cell_text(cell)]), dtype, rules)[0].as_py()
