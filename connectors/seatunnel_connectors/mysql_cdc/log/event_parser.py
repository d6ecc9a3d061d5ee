"""Parses the events of one log, in order: sizes and checksums are verified, and envelopes are opened.

An unknown event is skipped only if its own flag permits that: anything else would lose rows without a word.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Iterator

from seatunnel_connectors.mysql_cdc.failures import (
    BinlogFormatError,
    ChecksumError,
    EncryptedLogError,
    IncidentError,
    UnknownEventError,
)
from seatunnel_connectors.mysql_cdc.log import parts
from seatunnel_connectors.mysql_cdc.log.byte_reader import ByteReader
from seatunnel_connectors.mysql_cdc.log.compressed import payload_events, uncompressed_record
from seatunnel_connectors.mysql_cdc.log.event_types import (
    CHECKSUM_BYTES,
    HEADER,
    HEADER_BYTES,
    IN_USE_FLAG,
    ROWS_FORMS,
    EventHeader,
    EventType,
    RowsForm,
    RowsKind,
    name_of,
)
from seatunnel_connectors.mysql_cdc.log.events import (
    Event,
    FormatDescription,
    Ignored,
    PreviousGtids,
    RowsEvent,
    RowsQuery,
    Stop,
    Xid,
)
from seatunnel_connectors.mysql_cdc.log.gtid_set import GtidSet
from seatunnel_connectors.mysql_cdc.log.table_map import COLUMNS_MAX, TableMap, parse_table_map

_CRC = struct.Struct("<I")
_IGNORED = frozenset(
    {
        EventType.INTVAR, EventType.RAND, EventType.USER_VAR, EventType.BEGIN_LOAD_QUERY, EventType.IGNORABLE,
        EventType.TRANSACTION_CONTEXT, EventType.VIEW_CHANGE, EventType.BINLOG_CHECKPOINT,
    }
)  # fmt: skip
_FLAGS_AT = 17
_WHAT = {int(one): f"an event {name_of(one)}" for one in EventType}
_ROWS_FORMS = {int(kind): form for kind, form in ROWS_FORMS.items()}
_SHORT_ID_POST_HEADER = 6
_MAPS_MAX = 10_000


class EventParser:
    """State: the format of the current file, and the table maps that were parsed from it."""

    def __init__(self, *, checksums: bool | None = None, from_file: bool = False) -> None:
        """``checksums``: of events before the first format description; None finds out. ``from_file``: the bytes are
        those of a file, which a server may have encrypted; a dump is always clear."""
        self._checksums = checksums
        self._from_file = from_file
        self._format: FormatDescription | None = None
        self._header_bytes = HEADER_BYTES
        self._id_bytes = dict.fromkeys((*_ROWS_FORMS, int(EventType.TABLE_MAP)), 6)
        self._maps: dict[bytes, TableMap] = {}

    @staticmethod
    def header(data: memoryview) -> EventHeader:
        """The header of an event, whose size is that of the data."""
        if len(data) < HEADER_BYTES:
            raise BinlogFormatError(f"an event has {len(data)} bytes, fewer than its header")
        header = EventHeader._make(HEADER.unpack_from(data))
        if header.size != len(data):
            raise BinlogFormatError(f"an event {name_of(header.type)} of {len(data)} bytes declares {header.size}")
        return header

    def parse(self, header: EventHeader, data: memoryview) -> Iterable[Event]:
        """The event; all events of a transaction payload."""
        kind = header.type
        if kind == EventType.FORMAT_DESCRIPTION:
            return (self._described(header, data),)
        end = self._verified(header, data)
        if kind == EventType.TRANSACTION_PAYLOAD:
            return self._payload(header, data, end)
        return (self._event(header, data, end),)

    def _payload(self, header: EventHeader, data: memoryview, end: int) -> Iterator[Event]:
        for inner in payload_events(self._reader(header, data, end)):
            inner_header = self.header(inner)
            if inner_header.type in (EventType.TRANSACTION_PAYLOAD, EventType.FORMAT_DESCRIPTION):
                raise BinlogFormatError(f"a transaction payload holds an event {name_of(inner_header.type)}")
            yield self._event(inner_header, inner, len(inner))

    # ------------------------------------------------------------ the envelope

    def _described(self, header: EventHeader, data: memoryview) -> FormatDescription:
        reader = ByteReader(data, "the format description", HEADER_BYTES)
        found = parts.format_description(header, reader)
        if found.checksums:
            wanted = _CRC.unpack_from(data, len(data) - CHECKSUM_BYTES)[0]
            plain = bytearray(data[:-CHECKSUM_BYTES])
            seen = zlib.crc32(plain)
            # The server sets this flag in the file of its current log after the checksum was made.
            plain[_FLAGS_AT] &= ~IN_USE_FLAG
            if wanted not in (seen, zlib.crc32(plain)):
                raise ChecksumError("the format description is damaged: its checksum differs")
        self._checksums = found.checksums
        self._format = found
        self._header_bytes = found.header_bytes
        lengths = dict(enumerate(found.post_header_bytes, 1))
        self._id_bytes = {kind: 4 if lengths.get(kind) == _SHORT_ID_POST_HEADER else 6 for kind in self._id_bytes}
        # Numbers of tables are valid inside of one file.
        self._maps.clear()
        return found

    def _verified(self, header: EventHeader, data: memoryview) -> int:
        """The end of the event without its checksum."""
        end = len(data)
        if self._checksums is False:
            return end
        body = end - CHECKSUM_BYTES
        if body >= HEADER_BYTES and zlib.crc32(data[:body]) == _CRC.unpack_from(data, body)[0]:
            return body
        if self._checksums is None and header.artificial:
            return end  # the rotate event in front of everything may come without
        raise ChecksumError(
            f"the event {name_of(header.type)} that ends at position {header.end_position} is damaged: its checksum "
            "differs",
            "read the log again: if the error stays, the server's file is damaged",
        )

    def _reader(self, header: EventHeader, data: memoryview, end: int) -> ByteReader:
        return ByteReader(data, _WHAT.get(header.type, "an event"), self._header_bytes, end)

    # ------------------------------------------------------------ events

    def _event(self, header: EventHeader, data: memoryview, end: int) -> Event:
        kind = header.type
        form = _ROWS_FORMS.get(kind)
        if form is not None:
            return self._rows(header, form, data, end)
        if kind == EventType.TABLE_MAP:
            return self._table_map(header, data, end)
        if kind == EventType.XID:
            return Xid(header)
        reader = self._reader(header, data, end)
        parse = _PARSERS.get(kind)
        if parse is not None:
            return parse(header, reader)
        if kind in _IGNORED:
            return Ignored(header)
        if kind == EventType.START_ENCRYPTION:
            return self._encryption(header)
        if header.ignorable:
            return Ignored(header)
        raise UnknownEventError(
            f"the log holds an event {name_of(kind)} that ends at position {header.end_position}, which must not be "
            "skipped",
            "use a release that knows the server's version",
        )

    def _encryption(self, header: EventHeader) -> Event:
        if self._from_file:
            raise EncryptedLogError(
                "the file is encrypted by the server (START_ENCRYPTION)", "read the log from the server instead"
            )
        return Ignored(header)

    def _table_map(self, header: EventHeader, data: memoryview, end: int) -> TableMap:
        body = bytes(data[self._header_bytes : end])
        found = self._maps.get(body)
        if found is None:
            reader = self._reader(header, data, end)
            mariadb = self._format is not None and self._format.mariadb
            found = parse_table_map(reader, self._id_bytes[header.type], mariadb=mariadb)
            if len(self._maps) >= _MAPS_MAX:
                self._maps.clear()
            self._maps[body] = found
        return found

    def _rows(self, header: EventHeader, form: RowsForm, data: memoryview, end: int) -> RowsEvent:
        reader = self._reader(header, data, end)
        id_bytes = self._id_bytes[header.type]
        at = reader.skip(id_bytes + 2)
        table_id = int.from_bytes(data[at : at + id_bytes], "little")
        if form.version == 2:
            # Partition numbers and NDB's own data; its length counts itself.
            reader.skip(reader.u16() - 2)
        count = reader.lenenc()
        if not 0 < count <= COLUMNS_MAX:
            raise BinlogFormatError(f"{reader.what} has {count} columns")
        present = reader.take((count + 7) // 8)
        after = reader.take((count + 7) // 8) if form.kind is RowsKind.UPDATE else present
        body = memoryview(uncompressed_record(reader)) if form.compressed else data[reader.at : end]
        return RowsEvent(header, table_id, form, count, present, after, body)


def _previous_gtids(header: EventHeader, reader: ByteReader) -> Event:
    return PreviousGtids(header, GtidSet.from_bytes(reader.rest()))


def _rows_query(header: EventHeader, reader: ByteReader) -> Event:
    # One byte of length that is too short for long statements: the text goes to the event's end.
    reader.u8()
    return RowsQuery(header, reader.rest().decode("utf-8", "replace"))


def _annotate(header: EventHeader, reader: ByteReader) -> Event:
    return RowsQuery(header, reader.rest().decode("utf-8", "replace"))


def _query_compressed(header: EventHeader, reader: ByteReader) -> Event:
    """A query event whose text is compressed: rebuilt in its plain form."""
    fixed = reader.take(13)
    status = int.from_bytes(fixed[11:13], "little")
    middle = reader.take(status + fixed[8] + 1)
    plain = fixed + middle + uncompressed_record(reader)
    return parts.query(header, ByteReader(plain, reader.what))


def _incident(header: EventHeader, reader: ByteReader) -> Event:
    number = reader.u16()
    message = reader.text(reader.u8(), "latin-1") if reader.left else ""
    raise IncidentError(
        f"the server reports that events are missing from its log (incident {number}: {message or 'no message'}), at "
        f"position {header.end_position}",
        "copy the tables again",
    )


_PARSERS: dict[int, Callable[[EventHeader, ByteReader], Event]] = {
    EventType.QUERY: parts.query,
    EventType.EXECUTE_LOAD_QUERY: lambda header, reader: parts.query(header, reader, load=True),
    EventType.QUERY_COMPRESSED: _query_compressed,
    EventType.ROTATE: parts.rotate,
    EventType.GTID: lambda header, reader: parts.mysql_gtid(header, reader, anonymous=False),
    EventType.ANONYMOUS_GTID: lambda header, reader: parts.mysql_gtid(header, reader, anonymous=True),
    EventType.GTID_TAGGED: parts.tagged_gtid,
    EventType.PREVIOUS_GTIDS: _previous_gtids,
    EventType.MARIADB_GTID: parts.mariadb_gtid,
    EventType.GTID_LIST: parts.gtid_list,
    EventType.XA_PREPARE: parts.xa_prepare,
    EventType.ROWS_QUERY: _rows_query,
    EventType.ANNOTATE_ROWS: _annotate,
    EventType.HEARTBEAT: parts.heartbeat,
    EventType.HEARTBEAT_V2: parts.heartbeat_v2,
    EventType.INCIDENT: _incident,
    EventType.STOP: lambda header, _: Stop(header),
}
