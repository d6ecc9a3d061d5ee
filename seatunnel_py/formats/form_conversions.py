"""Lists columns whose text in a file or message loses information, for `plan` and the receipt. Also checks for types
that a format cannot hold."""

from __future__ import annotations

from collections.abc import Iterable

from seatunnel_py.api import Column, Conversion, DataType, Kind
from seatunnel_py.api.types import NUMBER, TEMPORAL
from seatunnel_py.formats.value_text import TextRules, depth, inner_types, lost_by
from seatunnel_py.formats.value_text.reader import LEVELS
from seatunnel_py.formats.value_text.writer import LISTS, MAPS

EMPTY_IS_NULL = "null and an empty text are written alike; null_format distinguishes them"


def text_conversions(columns: Iterable[Column], rules: TextRules, *, empty_is_null: bool) -> tuple[Conversion, ...]:
    """Losses in text formats: patterns that drop a part of values, and texts that are indistinguishable from null."""
    found = []
    for column in columns:
        notes = sorted({note for dtype in inner_types(column.dtype) for note in _dropped(dtype, rules)})
        if empty_is_null and column.dtype.kind is Kind.STRING and column.nullable and rules.null_format is None:
            notes.append(EMPTY_IS_NULL)
        if notes:
            found.append(Conversion(column.name, str(column.dtype), "text", "; ".join(notes)))
    return tuple(found)


def _dropped(dtype: DataType, rules: TextRules) -> Iterable[str]:
    pattern = rules.pattern(dtype.kind) if dtype.kind in TEMPORAL else None
    if pattern is None:
        return
    if lost := lost_by(pattern, dtype):
        yield f"the pattern {pattern} drops: {lost}"
    if dtype.kind is Kind.TIMESTAMP_TZ:
        yield f"the pattern {pattern} writes the clock in UTC, without its zone"


def orc_conversions(columns: Iterable[Column]) -> tuple[Conversion, ...]:
    """Times of day become text, since ORC has no such type."""
    return tuple(
        Conversion(column.name, str(column.dtype), "string", "times as ISO 8601 text")
        for column in columns
        if any(dtype.kind is Kind.TIME for dtype in inner_types(column.dtype))
    )


def number_conversions(columns: Iterable[Column]) -> tuple[Conversion, ...]:
    """Unbounded numbers become text, since Parquet and ORC have no such type."""
    return tuple(
        Conversion(column.name, column.converted_from or str(column.dtype), "string", "its digits as text")
        for column in columns
        if any(dtype.logical == NUMBER.logical for dtype in inner_types(column.dtype))
    )


def check_depth(columns: Iterable[Column]) -> None:
    """Raise ValueError for a column that is nested deeper than text has separators for."""
    for column in columns:
        if depth(column.dtype) > LEVELS:
            raise ValueError(
                f"column {column.name!r}: {column.dtype} is nested deeper than the text format has separators for; "
                "write json"
            )


def check_keys(columns: Iterable[Column]) -> None:
    """Raise ValueError for a map whose keys JSON cannot write."""
    for column in columns:
        for dtype in inner_types(column.dtype):
            if dtype.key is not None and (dtype.key.kind in (*LISTS, *MAPS) or dtype.key.kind is Kind.ROW):
                raise ValueError(f"column {column.name!r}: JSON has no keys of the type {dtype.key}")


def check_digits(columns: Iterable[Column], most: int, form: str) -> None:
    """Raise ValueError for a decimal of more digits than the format holds."""
    for column in columns:
        for dtype in inner_types(column.dtype):
            if dtype.precision > most:
                raise ValueError(
                    f"column {column.name!r}: {form} holds decimals of up to {most} digits, and {dtype} has more; "
                    "write parquet, or make the column text"
                )
