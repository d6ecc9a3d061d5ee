"""Parses the bodies of events that are neither rows nor table maps."""

from __future__ import annotations

from struct import Struct
from uuid import UUID

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError
from seatunnel_connectors.mysql_cdc.log.byte_reader import ByteReader
from seatunnel_connectors.mysql_cdc.log.charsets import codec_of_collation
from seatunnel_connectors.mysql_cdc.log.event_types import CHECKSUM_BYTES, EventHeader
from seatunnel_connectors.mysql_cdc.log.events import (
    FormatDescription,
    LogHeartbeat,
    MariadbGtid,
    MysqlGtid,
    PreviousGtidList,
    Query,
    Rotate,
    XaPrepare,
)
from seatunnel_connectors.mysql_cdc.log.gtid_list import GtidList, MariadbGtidId
from seatunnel_connectors.mysql_cdc.log.status_variables import read_status_variables
from seatunnel_connectors.mysql_cdc.log.variable_integers import read_signed, read_unsigned

BINLOG_VERSION = 4
_CRC32 = 1
_STANDALONE, _GROUP_COMMIT, _DDL, _PREPARED, _COMPLETED = 1, 2, 32, 64, 128
_HEARTBEAT_FILE, _HEARTBEAT_POSITION = 1, 2
_LOGICAL_CLOCK = 2
_UNSET_BIT = 1 << 55
_MARIADB_GTID = Struct("<QIB")


def format_description(header: EventHeader, reader: ByteReader) -> FormatDescription:
    """``reader`` holds the checksum as well: this event has one even where the others have none."""
    version = reader.u16()
    if version != BINLOG_VERSION:
        raise BinlogFormatError(f"the log has version {version}, not {BINLOG_VERSION}", "upgrade the server")
    server = reader.take(50).rstrip(b"\0").decode("latin-1")
    reader.u32()
    header_bytes = reader.u8()
    if header_bytes < 19:
        raise BinlogFormatError(f"the log has headers of {header_bytes} bytes")
    lengths = reader.take(reader.left - 1 - CHECKSUM_BYTES)
    algorithm = reader.u8()
    if algorithm not in (0, _CRC32):
        raise BinlogFormatError(f"the log has checksums of the unknown kind {algorithm}")
    reader.skip(CHECKSUM_BYTES)
    return FormatDescription(header, server, header_bytes, tuple(lengths), algorithm == _CRC32)


def rotate(header: EventHeader, reader: ByteReader) -> Rotate:
    position = reader.u64()
    file = reader.text(reader.left)
    if not file or not file.isprintable():
        raise BinlogFormatError(f"a rotate event leads to a file called {file!r}")
    return Rotate(header, file, position)


def query(header: EventHeader, reader: ByteReader, *, load: bool = False) -> Query:
    """``load``: the event has the fields of LOAD DATA between."""
    thread = reader.u32()
    reader.u32()
    database_bytes = reader.u8()
    error = reader.u16()
    status_bytes = reader.u16()
    if load:
        reader.skip(13)
    status = read_status_variables(reader.take(status_bytes))
    database = reader.text(database_bytes)
    reader.skip(1)
    text = reader.rest()
    codec = codec_of_collation(status.client_collation) or "utf-8"
    # A statement may hold bytes of another character set as a literal: those are not names, and may be replaced.
    return Query(header, thread, error, database, text.decode(codec, "replace"), status)


def mysql_gtid(header: EventHeader, reader: ByteReader, *, anonymous: bool) -> MysqlGtid:
    reader.u8()
    uuid = str(UUID(bytes=reader.take(16)))
    number = reader.u64()
    commit = 0
    if reader.left >= 24 and reader.u8() == _LOGICAL_CLOCK:
        reader.skip(16)
        immediate = reader.unsigned(7)
        commit = reader.unsigned(7) if immediate & _UNSET_BIT else immediate
        commit &= ~_UNSET_BIT
    if not anonymous and not number:
        raise BinlogFormatError("a transaction id has the number 0")
    return MysqlGtid(header, "" if anonymous else uuid, 0 if anonymous else number, "", commit)


def tagged_gtid(header: EventHeader, reader: ByteReader) -> MysqlGtid:
    """Fields with their numbers in ascending order; those up to ``needed`` must be understood."""
    read_unsigned(reader)
    read_unsigned(reader)
    needed = read_unsigned(reader)
    if needed > 11:
        raise BinlogFormatError(f"a tagged transaction id has the unknown field {needed}, which must not be skipped")
    uuid, number, tag, immediate, original = "", 0, "", 0, 0
    last = -1
    while reader.left:
        field = read_unsigned(reader)
        if not last < field:
            raise BinlogFormatError(f"a tagged transaction id has field {field} after field {last}")
        last = field
        if field == 1:
            parts = [read_unsigned(reader) for _ in range(16)]
            if max(parts) > 255:
                raise BinlogFormatError("a tagged transaction id has a damaged uuid")
            uuid = str(UUID(bytes=bytes(parts)))
        elif field == 2:
            number = read_signed(reader)
        elif field == 3:
            tag = reader.text(read_unsigned(reader), "ascii")
        elif field in (4, 5):
            read_signed(reader)
        elif field == 6:
            immediate = read_unsigned(reader)
        elif field == 7:
            original = read_unsigned(reader)
        elif field > 11:
            break
        else:
            read_unsigned(reader)
    if not uuid or number <= 0:
        raise BinlogFormatError("a tagged transaction id has no uuid or no number")
    return MysqlGtid(header, uuid, number, tag, original or immediate)


def mariadb_gtid(header: EventHeader, reader: ByteReader) -> MariadbGtid:
    sequence, domain, flags = _MARIADB_GTID.unpack_from(reader.data, reader.skip(_MARIADB_GTID.size))
    if flags & _GROUP_COMMIT:
        reader.skip(min(reader.left, 8))
    xid = b""
    prepared, completed = bool(flags & _PREPARED), bool(flags & _COMPLETED)
    if prepared or completed:
        xid = reader.take(6)
        xid += reader.take(xid[4] + xid[5])
    gtid = MariadbGtidId(domain, header.server_id, sequence)
    return MariadbGtid(header, gtid, bool(flags & _STANDALONE), bool(flags & _DDL), xid, prepared, completed)


def gtid_list(header: EventHeader, reader: ByteReader) -> PreviousGtidList:
    found: dict[int, MariadbGtidId] = {}
    for _ in range(reader.u32() & (1 << 28) - 1):
        domain, server, sequence = reader.u32(), reader.u32(), reader.u64()
        # A domain stands once for each server of it, the last one at its end.
        found[domain] = MariadbGtidId(domain, server, sequence)
    return PreviousGtidList(header, GtidList(dict(sorted(found.items()))))


def xa_prepare(header: EventHeader, reader: ByteReader) -> XaPrepare:
    one_phase = bool(reader.u8())
    kind, first, second = reader.take(4), reader.u32(), reader.u32()
    if first > 64 or second > 64:
        raise BinlogFormatError(f"an XA transaction has an id of {first} and {second} bytes")
    return XaPrepare(header, one_phase, kind + bytes([first, second]) + reader.take(first + second))


def heartbeat(header: EventHeader, reader: ByteReader) -> LogHeartbeat:
    return LogHeartbeat(header, reader.text(reader.left), header.end_position)


def heartbeat_v2(header: EventHeader, reader: ByteReader) -> LogHeartbeat:
    """Fields of number, length and value."""
    file, position = "", 0
    while reader.left:
        code = reader.u8()
        if not code:
            break
        value = ByteReader(reader.counted(), reader.what)
        if code == _HEARTBEAT_FILE:
            file = value.text(value.left)
        elif code == _HEARTBEAT_POSITION:
            position = value.lenenc()
    return LogHeartbeat(header, file, position)
