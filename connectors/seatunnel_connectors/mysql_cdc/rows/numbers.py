"""Builds columns of integers, floats, years and decimals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from seatunnel_connectors.jdbc.mysql.read.cells import Flags, RowCells, bitmap, from_numbers
from seatunnel_connectors.mysql_cdc.log.column_types import BinlogType, ColumnStorage
from seatunnel_connectors.mysql_cdc.rows.built import Build, Built, misfits_of, there, without

_SIGNED = {1: "<i1", 2: "<i2", 4: "<i4", 8: "<i8"}
_UNSIGNED = {1: "<u1", 2: "<u2", 4: "<u4", 8: "<u8"}
_DIGIT_BYTES = (0, 1, 1, 2, 2, 3, 3, 4, 4, 4)
_GROUP = 9
_LIMB = np.uint64(32)
_LIMB_MASK = np.uint64((1 << 32) - 1)
_NARROWING = "set int_type_narrowing = false"
_NUMPY = {pa.int8(): "i1", pa.int16(): "i2", pa.int32(): "i4", pa.int64(): "i8"}


def integers(storage: ColumnStorage, *, unsigned: bool, kind: pa.DataType) -> Build:
    """Integers of 1, 2, 3, 4 and 8 bytes; BIGINT UNSIGNED becomes a decimal."""

    def build(cells: RowCells) -> Built:
        if storage.width == 3:
            values: Any = cells.little_endian(3).astype(np.int64)
            if not unsigned:
                values = (values ^ 0x800000) - 0x800000
        else:
            values = cells.block.words((_UNSIGNED if unsigned else _SIGNED)[storage.width], cells.starts)
        if pa.types.is_decimal(kind):
            return Built(_wide([values.view(np.int64), np.zeros(len(values), np.int64)], kind, cells.valid))
        return Built(from_numbers(kind, values.astype(_NUMPY[kind]), cells.valid))

    return build


def booleans(cells: RowCells) -> Built:
    """TINYINT(1), which holds any small number: only 0 and 1 are booleans."""
    values = cells.block.words("<i1", cells.starts)
    bad = there(cells, (values != 0) & (values != 1))
    array = pa.Array.from_buffers(
        pa.bool_(), cells.count,
        [bitmap(without(cells.valid, bad)), pa.py_buffer(np.packbits(values == 1, bitorder="little"))],
    )  # fmt: skip
    return Built(array, misfits_of(bad, lambda row: f"{values[row]}, which is not a boolean; {_NARROWING}"))


def years(cells: RowCells) -> Built:
    """One byte since 1900; 0 is the year 0000."""
    values = cells.block.words("<u1", cells.starts).astype(np.int32)
    return Built(from_numbers(pa.int32(), np.where(values == 0, 0, values + 1900).astype(np.int32), cells.valid))


def floats(storage: ColumnStorage) -> Build:
    """IEEE numbers, the lowest byte first."""
    single = storage.type is BinlogType.FLOAT

    def build(cells: RowCells) -> Built:
        values = cells.block.words("<f4" if single else "<f8", cells.starts)
        return Built(from_numbers(pa.float32() if single else pa.float64(), values, cells.valid))

    return build


def decimals(storage: ColumnStorage, kind: pa.DataType) -> Build:
    """Groups of nine digits in four bytes, the highest first; the first bit is inverted, a negative number whole."""
    precision, scale = storage.first, storage.second
    groups = _groups(precision - scale, scale)

    def build(cells: RowCells) -> Built:
        negative = cells.block.words("<u1", cells.starts) < 0x80
        at = 0
        bad = np.zeros(cells.count, np.bool_)
        parts: list[tuple[int, Any]] = []
        for number, (digits, size) in enumerate(groups):
            words = cells.big_endian(size, at)
            full = np.uint64((1 << 8 * size) - 1)
            if number == 0:
                words = words ^ np.uint64(1 << 8 * size - 1)
            words = np.where(negative, words ^ full, words)
            bad |= words >= np.uint64(10**digits)
            parts.append((digits, words))
            at += size
        bad = there(cells, bad)
        valid = without(cells.valid, bad)
        misfits = misfits_of(bad, lambda row: f"bytes that are not a decimal({precision}, {scale})")
        if precision <= 18:
            total = np.zeros(cells.count, np.int64)
            for digits, words in parts:
                total = total * 10**digits + words.astype(np.int64)
            total = np.where(negative, -total, total)
            return Built(_wide([total, total >> 63], kind, valid), misfits)
        return Built(_wide(_limbs(parts, negative, 2 if precision <= 38 else 4), kind, valid), misfits)

    return build


def _groups(whole: int, scale: int) -> list[tuple[int, int]]:
    """(digits, bytes) of each group. The short ones are farthest from the point."""
    before = [(whole % _GROUP, _DIGIT_BYTES[whole % _GROUP])] + [(_GROUP, 4)] * (whole // _GROUP)
    after = [(_GROUP, 4)] * (scale // _GROUP) + [(scale % _GROUP, _DIGIT_BYTES[scale % _GROUP])]
    return [one for one in before + after if one[0]]


def _limbs(parts: list[tuple[int, Any]], negative: Flags, words: int) -> list[Any]:
    """Numbers of 128 or 256 bits by long multiplication, in limbs of 32 bits."""
    limbs = [np.zeros(len(negative), np.uint64) for _ in range(2 * words)]
    for digits, group in parts:
        carry = group
        for i, limb in enumerate(limbs):
            product = limb * np.uint64(10**digits) + carry
            limbs[i] = product & _LIMB_MASK
            carry = product >> _LIMB
    carry = negative.astype(np.uint64)
    inverted = np.where(negative, _LIMB_MASK, np.uint64(0))
    for i, limb in enumerate(limbs):
        complement = (limb ^ inverted) + carry
        limbs[i] = complement & _LIMB_MASK
        carry = complement >> _LIMB
    return [(limbs[i] | limbs[i + 1] << _LIMB).view(np.int64) for i in range(0, len(limbs), 2)]


def _wide(words: list[Any], kind: pa.DataType, valid: Flags | None) -> pa.Array:
    """Decimals from their words of 64 bits, the lowest first."""
    wanted = kind.bit_width // 64
    while len(words) < wanted:
        words = [*words, words[-1] >> 63]
    table = np.empty((len(words[0]), wanted), np.int64)
    for i in range(wanted):
        table[:, i] = words[i]
    return pa.Array.from_buffers(kind, len(table), [bitmap(valid), pa.py_buffer(table)])
