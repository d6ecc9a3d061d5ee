"""Converts columns of the server's texts to Arrow, with the types and values that reading the table gives.

The session's settings are fixed (``replication.connection``), so a value has one text. Whole columns are cast at once;
only where a cast refuses, each value is parsed by itself. A value without counterpart raises ValueMisfitError.
"""

from __future__ import annotations

import binascii
from collections.abc import Callable
from typing import TYPE_CHECKING

from seatunnel_connectors.jdbc.postgres.connection.types import NativeType
from seatunnel_connectors.postgres_cdc.pgoutput import array_texts, temporal_texts
from seatunnel_connectors.postgres_cdc.pgoutput.temporal_texts import arrow_type
from seatunnel_connectors.postgres_cdc.pgoutput.tuples import trimmed
from seatunnel_py.api import INTEGERS, NUMBER, TEMPORAL, DataType, Kind, ValueMisfitError, convert

if TYPE_CHECKING:
    import pyarrow as pa

_SAFE_DIGITS = {16: 38, 32: 76}
"""Bytes of a decimal, and characters up to which Arrow's cast cannot overflow without a word."""


def to_column(cells: pa.Array, dtype: DataType, native: NativeType) -> pa.Array:
    """The column of these cells, which are Arrow's binary."""
    import pyarrow as pa

    if dtype.kind is Kind.BYTES:
        return _bytes(cells)
    if dtype.kind is Kind.BOOLEAN:
        return _booleans(cells)
    try:
        # UTF-8 is checked here, and only here: numbers and moments need no such check.
        texts = cells.cast(pa.string()) if dtype.kind is Kind.STRING else _unchecked(cells)
    except pa.ArrowInvalid:
        raise _not_utf8(cells) from None
    if dtype.kind is Kind.STRING:
        return texts
    if dtype.kind is Kind.DECIMAL:
        return _decimals(texts, dtype, native)
    if dtype.kind in TEMPORAL:
        return temporal_texts.to_moments(texts, dtype)
    if dtype.kind is Kind.ARRAY:
        return array_texts.to_lists(cells, dtype, native, to_column)
    return _numbers(texts, dtype)


def _unchecked(cells: pa.Array) -> pa.Array:
    import pyarrow as pa

    valid, bounds, data = cells.buffers()
    return pa.StringArray.from_buffers(len(cells), bounds, data, valid, cells.null_count, cells.offset)


def _numbers(texts: pa.Array, dtype: DataType) -> pa.Array:
    import pyarrow as pa

    wanted = arrow_type(dtype)
    try:
        return texts.cast(wanted)
    except pa.ArrowInvalid:
        kind = "whole number" if dtype.kind in INTEGERS else "number"
        return _each(texts, wanted, lambda text: pa.scalar(text).cast(wanted).as_py(), kind)


def _booleans(cells: pa.Array) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.equal(cells, pa.scalar(b"t", pa.binary()))
    known = pc.or_(found, pc.equal(cells, pa.scalar(b"f", pa.binary())))
    if (at := pc.index(known, pa.scalar(False)).as_py()) >= 0:
        raise ValueMisfitError(at, f"{cells[at].as_py()!r} is not a boolean")
    return found


def _bytes(cells: pa.Array) -> pa.Array:
    """bytea in either of the server's forms: ``\\x`` and hexadecimal digits, or text with octal escapes."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pc.all(pc.starts_with(cells, b"\\x")).as_py():
        return _each(cells, pa.binary(), _one_bytea, "bytea")
    stripped = trimmed(cells, 2, 0)
    lengths = np.asarray(pc.fill_null(pc.binary_length(stripped), 0))
    bounds = np.zeros(len(cells) + 1, np.int32)
    np.cumsum(lengths // 2, out=bounds[1:])
    digits = memoryview(stripped.buffers()[2] or b"")[: int(lengths.sum())]
    try:
        if (lengths & 1).any():
            raise binascii.Error("an odd number of digits")
        content = binascii.unhexlify(digits)
    except binascii.Error:
        return _each(cells, pa.binary(), _one_bytea, "bytea")
    valid = cells.buffers()[0] if not cells.offset else pa.array(cells.is_valid()).buffers()[1]
    return pa.BinaryArray.from_buffers(
        pa.binary(), len(cells), [valid, pa.py_buffer(bounds), pa.py_buffer(content)], cells.null_count
    )


def _one_bytea(text: bytes) -> bytes:
    if text.startswith(b"\\x"):
        return bytes.fromhex(text[2:].decode("ascii"))
    found, at = bytearray(), 0
    while (backslash := text.find(b"\\", at)) >= 0:
        found += text[at:backslash]
        if text[backslash + 1 : backslash + 2] == b"\\":
            found += b"\\"
            at = backslash + 2
        else:
            found.append(int(text[backslash + 1 : backslash + 4].decode("ascii"), 8))
            at = backslash + 4
    return bytes(found + text[at:])


def _decimals(texts: pa.Array, dtype: DataType, native: NativeType) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if native.name == "money":  # under lc_monetary = C: -$1,234.50
        texts = pc.replace_substring_regex(texts, "[$,]", "")
    wanted = arrow_type(dtype)
    if (pc.max(pc.binary_length(texts)).as_py() or 0) <= _SAFE_DIGITS[wanted.byte_width]:
        try:
            return texts.cast(wanted)
        except pa.ArrowInvalid:
            pass  # what follows finds the value, for the message
    return convert(texts, NUMBER, dtype)


def _each(cells: pa.Array, wanted: pa.DataType, parse: Callable[..., object], kind: str) -> pa.Array:
    """Each value by itself: the first one that is none is named."""
    import pyarrow as pa

    found = []
    for row, value in enumerate(cells.cast(pa.binary()).to_pylist()):
        try:
            text = value.decode() if value is not None and not pa.types.is_binary(wanted) else value
            found.append(None if text is None else parse(text))
        except (ValueError, pa.ArrowInvalid):
            raise ValueMisfitError(row, f"{value[:80]!r} is not a {kind}") from None
    return pa.array(found, wanted)


def _not_utf8(cells: pa.Array) -> ValueMisfitError:
    for row, value in enumerate(cells.to_pylist()):
        try:
            if value is not None:
                value.decode()
        except UnicodeDecodeError as error:
            return ValueMisfitError(row, f"{value[:80]!r} is not UTF-8: {error.reason}")
    raise AssertionError("Arrow refuses a text that Python reads as UTF-8")
