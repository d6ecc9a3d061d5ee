"""Reads and writes the integers of MySQL's serialization library, which tagged transaction ids are written with.

The number of one bits at the low end of the first byte is the number of bytes that follow it.
"""

from __future__ import annotations

from seatunnel_connectors.mysql_cdc.log.byte_reader import ByteReader


def read_unsigned(reader: ByteReader) -> int:
    first = reader.u8()
    more = (first + 1 & ~first).bit_length() - 1
    number = int(first) | reader.unsigned(more) << 8
    return number >> more + 1 if more < 8 else number >> 8


def read_signed(reader: ByteReader) -> int:
    """The lowest bit is the sign; a negative number is stored as its complement."""
    number = read_unsigned(reader)
    return ~(number >> 1) if number & 1 else number >> 1


def write_unsigned(number: int) -> bytes:
    more = 0
    while more < 8 and number >> 7 * (more + 1):
        more += 1
    marks = (1 << more) - 1
    shifted = number << (more + 1 if more < 8 else 8)
    return (shifted | marks).to_bytes(more + 1, "little")
