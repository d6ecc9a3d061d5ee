"""Converts values to and from text, with one writer and one reader per type for every text format: csv, text, xml,
excel, Kafka's messages, keys of maps, columns of databases without types of their own."""

from __future__ import annotations

from seatunnel_py.formats.value_text.arrays import holds_any, leaves, null_mask, spans
from seatunnel_py.formats.value_text.decimals import decimal_text
from seatunnel_py.formats.value_text.floats import float_text
from seatunnel_py.formats.value_text.patterns import DEFAULT_PATTERNS, compile_pattern, format_one, lost_by
from seatunnel_py.formats.value_text.reader import depth, text_column
from seatunnel_py.formats.value_text.rules import MisfitError, NumberText, TextRules, inner_types
from seatunnel_py.formats.value_text.temporal_reader import parse_column
from seatunnel_py.formats.value_text.temporal_writer import format_column, iso_text
from seatunnel_py.formats.value_text.writer import column_text, scalar_text, text_values

__all__ = [
    "DEFAULT_PATTERNS",
    "MisfitError",
    "NumberText",
    "TextRules",
    "column_text",
    "compile_pattern",
    "decimal_text",
    "depth",
    "float_text",
    "format_column",
    "format_one",
    "holds_any",
    "inner_types",
    "iso_text",
    "leaves",
    "lost_by",
    "null_mask",
    "parse_column",
    "scalar_text",
    "spans",
    "text_column",
    "text_values",
]
