"""Converts cells (excel, xml) to columns: text, numbers and dates.

Scalars that come as text follow the text formats' rules. Containers are JSON text; a nested row may also be its fields
between delimiters, as SeaTunnel writes it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

from seatunnel_py.api import INTEGERS, TEMPORAL, DataType, Kind, to_arrow
from seatunnel_py.formats.json.values import DOCUMENTS, from_json
from seatunnel_py.formats.value_text import MisfitError, TextRules, parse_column, text_column
from seatunnel_py.formats.value_text.moments import per_second, ticks_of

if TYPE_CHECKING:
    import pyarrow as pa

_CONTAINERS = {Kind.ARRAY, Kind.MAP, Kind.ROW, Kind.FLOAT_VECTOR, Kind.FLOAT16_VECTOR, Kind.SPARSE_FLOAT_VECTOR}
_BYTE_LIST = re.compile(r"\[\s*(?:-?[0-9]{1,3}\s*(?:,\s*-?[0-9]{1,3}\s*)*)?\]")


@dataclass(frozen=True, slots=True)
class CellError:
    """A cell whose formula failed, such as ``#DIV/0!``."""

    text: str


def cell_column(cells: list[Any], dtype: DataType, rules: TextRules, delimiter: str) -> pa.Array:
    """Build one column from one cell per row. Raises MisfitError with the row of the first misfit."""
    import pyarrow as pa

    if rules.null_format is not None:
        cells = [None if cell == rules.null_format else cell for cell in cells]
    for index, cell in enumerate(cells):
        if isinstance(cell, CellError):
            raise MisfitError(index, f"the cell holds the error {cell.text}")
    if dtype.kind in _CONTAINERS:
        with localcontext(prec=100):
            return pa.array(_each(cells, lambda cell: _container(cell, dtype, rules, delimiter)), to_arrow(dtype))
    if dtype.kind is Kind.BYTES:
        return pa.array(_each(cells, _bytes), pa.binary())
    if dtype.kind in TEMPORAL and not all(cell is None or isinstance(cell, str) for cell in cells):
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
    """A cell as text. Whole numbers have no fraction, since spreadsheets do not distinguish them. For a double, an
    integer column needs the exact value, other columns the digits as displayed."""
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell)) if whole is int else f"{Decimal(repr(cell)).to_integral_value():f}"
    if isinstance(cell, datetime):
        return cell.isoformat(sep=" ")
    if isinstance(cell, timedelta):
        return _duration(cell)
    if isinstance(cell, CellError):
        return cell.text
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


def _duration(span: timedelta) -> str:
    """ISO 8601, in seconds: ``PT90.5S``."""
    seconds = Decimal(span // timedelta(microseconds=1)).scaleb(-6)
    text = f"{abs(seconds):f}".rstrip("0").rstrip(".") or "0"
    return f"{'-' if seconds < 0 else ''}PT{text}S"


def _container(cell: Any, dtype: DataType, rules: TextRules, delimiter: str) -> Any:
    text = cell_text(cell) or ""
    try:
        found = DOCUMENTS.decode(text)
    except (ValueError, RecursionError):
        if dtype.kind is not Kind.ROW:
            raise ValueError(f"{text[:60]!r} is not the JSON text of a {dtype.kind}") from None
        return _row_fields(text, dtype, rules, delimiter)
    return from_json(found, dtype, "the cell")


def _row_fields(text: str, dtype: DataType, rules: TextRules, delimiter: str) -> dict[str, Any]:
    fields: list[str | None] = [*text.split(delimiter)]
    if len(fields) > len(dtype.fields) and not rules.drop_surplus:
        raise ValueError(f"{text[:60]!r} has more values than the {len(dtype.fields)} fields of {dtype}")
    fields += [None] * (len(dtype.fields) - len(fields))
    return {
        name: cell_column([field], inner, rules, delimiter)[0].as_py()
        for (name, inner), field in zip(dtype.fields, fields, strict=False)
    }


def byte_text(value: bytes) -> str:
    """Bytes as text that ``_bytes`` reads back: the text itself if they are text, else a list of Java's bytes."""
    try:
        text = value.decode()
        if text and text.isprintable() and text == text.strip() and not _BYTE_LIST.fullmatch(text):
            return text
    except UnicodeDecodeError:
        pass
    return byte_list(value)


def byte_list(value: bytes) -> str:
    """Bytes as signed numbers, as in Java."""
    return str([byte - 256 if byte > 127 else byte for byte in value])


def _bytes(cell: Any) -> bytes:
    """Parse a list of numbers, as SeaTunnel writes bytes into cells; any other text is encoded."""
    text = cell_text(cell) or ""
    if _BYTE_LIST.fullmatch(text):
        numbers = json.loads(text)
        if all(-128 <= number <= 255 for number in numbers):
            return bytes(number % 256 for number in numbers)
    return text.encode()


def _moment(cell: Any, dtype: DataType, rules: TextRules) -> Any:
    """A spreadsheet's date or time. Parts that the column cannot hold must be zero."""
    if isinstance(cell, date) and (cell.year, cell.month) < (1900, 3):
        raise ValueError(f"{cell} is before March 1900, where spreadsheets count a day that there was not")
    if isinstance(cell, datetime):
        if dtype.kind is Kind.TIME or (dtype.kind is Kind.DATE and cell.time() != time()):
            what = "a day" if dtype.kind is Kind.TIME else "a time of day"
            raise ValueError(f"{cell} is not a {dtype}: it has {what}")
        return _ticks(cell.date() if dtype.kind is Kind.DATE else cell, dtype)
    if isinstance(cell, date) and dtype.kind is not Kind.TIME:
        return _ticks(cell if dtype.kind is Kind.DATE else datetime.combine(cell, time()), dtype)
    if isinstance(cell, time) and dtype.kind is Kind.TIME:
        return _ticks(cell, dtype)
    if isinstance(cell, timedelta) and dtype.kind is Kind.TIME and cell.days == 0:
        return cell // timedelta(microseconds=1) * (per_second(dtype) // 1_000_000)
    text = cell_text(cell) or ""
    pattern = rules.pattern(dtype.kind)
    return from_json(text, dtype, "the cell") if pattern is None else _by_pattern(text, dtype, pattern)


def _by_pattern(text: str, dtype: DataType, pattern: str) -> int:
    import pyarrow as pa

    ticks: int = (
        parse_column(pa.array([text]), dtype, pattern)
        .cast(pa.int32() if dtype.kind is Kind.DATE else pa.int64())[0]
        .as_py()
    )
    return ticks


def _ticks(value: date | time, dtype: DataType) -> Any:
    """The value, or its count of nanoseconds if the column holds nanoseconds."""
    return value if dtype.kind is Kind.DATE else ticks_of(value.isoformat(), dtype)
