"""Reads rows in MySQL's text protocol, and finds their cells a column at a time.

A row is a packet: for each column a length and the bytes of a text, or 0xFB for a null. All rows of a block are
followed in parallel: a row's next column begins where the last one ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pymysql
from pymysql.protocol import MysqlPacket

from seatunnel_connectors.jdbc.mysql.connection.packet_header import CHUNK_BYTES, FULL, HEADER_BYTES, LENGTH
from seatunnel_connectors.jdbc.mysql.read.cells import CellBlock, Ints, RowCells
from seatunnel_py.api import FatalError

_NULL, _TWO, _THREE, _EIGHT, _ERROR = 0xFB, 0xFC, 0xFD, 0xFE, 0xFF
"""First bytes of a column other than a short length: a null, and two, three or eight bytes of length. 0xFF begins a
packet with an error."""
_END_BYTES_MAX = 9
_SERVER_LOST = 2013


@dataclass(frozen=True, slots=True)
class TextRows:
    """Rows one after the other, each up to one of ``ends``."""

    data: bytes
    ends: Ints


def query_rows(db: Any, sql: str, rows: int, size: int) -> Iterator[TextRows]:
    """Run a query; its rows as they come, in blocks of ``rows`` rows or about ``size`` bytes. A caller that stops early
    closes the connection, on which the other rows are still to come."""
    db.query(sql, unbuffered=True)
    result = db._result
    try:
        yield from _blocks(db, rows, size)
    finally:
        result.unbuffered_active, result.connection = False, None  # PyMySQL would read the rows


def _blocks(db: Any, rows: int, size: int) -> Iterator[TextRows]:
    data, ends = bytearray(), list[int]()
    rest, need, goes_on = b"", HEADER_BYTES, False
    while True:
        rest += _received(db, need)
        at = 0
        while len(rest) - at >= HEADER_BYTES:
            begin = at + HEADER_BYTES
            end = begin + (LENGTH.unpack_from(rest, at)[0] & FULL)
            if end > len(rest):
                break
            if not goes_on and _is_last(rest, begin, end):
                if ends:
                    yield TextRows(bytes(data), np.array(ends, np.int64))
                _end(db, rest[begin:end])
                return
            data += rest[begin:end]
            goes_on = end - begin == FULL
            at = end
            if not goes_on:
                ends.append(len(data))
            if not goes_on and (len(ends) >= rows or len(data) >= size):
                yield TextRows(bytes(data), np.array(ends, np.int64))
                data, ends = bytearray(), []
        rest = rest[at:]
        need = HEADER_BYTES if len(rest) < HEADER_BYTES else end - at - len(rest)


def _is_last(data: bytes, begin: int, end: int) -> bool:
    """Whether a packet ends the rows, or reports an error."""
    first = data[begin] if end > begin else 0
    return first == _ERROR or (first == _EIGHT and end - begin < _END_BYTES_MAX)


def _received(db: Any, need: int) -> bytes:
    """Receive a chunk, or all of a packet that is larger."""
    found: bytes = db._rfile.read(need) if need > CHUNK_BYTES else db._rfile.read1(CHUNK_BYTES)
    if not found:
        raise pymysql.err.OperationalError(_SERVER_LOST, "Lost connection to MySQL server during query")
    return found


def _end(db: Any, content: bytes) -> None:
    """Raise the error of the last packet, if it holds one."""
    packet = MysqlPacket(content, db.encoding)
    if packet.is_error_packet():
        packet.raise_for_error()


def cells_of(rows: TextRows, columns: int) -> list[RowCells]:
    """The cells of each column. Raises FatalError if a row does not have so many columns."""
    block = CellBlock([rows.data])
    at = np.concatenate([np.zeros(1, np.int64), rows.ends[:-1]])
    found: list[RowCells] = []
    for _ in range(columns):
        if (at >= rows.ends).any():
            raise _malformed(columns)
        cells = _column(block, at)
        assert cells.lengths is not None, "texts have lengths"
        at = cells.starts + cells.lengths
        if (cells.lengths < 0).any() or (at > rows.ends).any():
            raise _malformed(columns)
        found.append(cells)
    if (at != rows.ends).any():
        raise _malformed(columns)
    return found


def _column(block: CellBlock, at: Ints) -> RowCells:
    """The cells that begin at these places with their lengths."""
    first = block.words("u1", at)
    lengths, heads = first.astype(np.int64), np.ones(len(at), np.int64)
    valid = None
    if (first >= _NULL).any():
        valid = first != _NULL
        lengths[~valid] = 0
        for mark, width in ((_TWO, 2), (_THREE, 3), (_EIGHT, 8)):
            of_mark = np.flatnonzero(first == mark)
            words = block.words("<u8", at[of_mark] + 1) & np.uint64((1 << 8 * width) - 1)
            lengths[of_mark] = words.astype(np.int64)
            heads[of_mark] = 1 + width
        lengths[first == _ERROR] = -1
    return RowCells(block, at + heads, None if valid is None or valid.all() else valid, lengths=lengths)


def _malformed(columns: int) -> FatalError:
    return FatalError(f"the server sent a row that does not have the {columns} columns of the query", "report it")
