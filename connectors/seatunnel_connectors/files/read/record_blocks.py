"""Splits text into blocks of whole records, each with its end offset, which makes text resumable.

Bytes are cut at row delimiters before they are decoded. The cut is safe in every encoding whose multi-byte characters
never contain the byte of a line feed; any other encoding (UTF-16 …) is converted to UTF-8 first, and offsets then count
in that UTF-8 text.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import TypeAlias

from seatunnel_connectors.files.read.document import ByteStream, Document
from seatunnel_py.api import BadRowsError, FatalError

BLOCK_BYTES = 4 * 1024 * 1024  # about 50,000 rows: large enough for Arrow, small enough for memory and budgets
RECORD_BYTES_MAX = 64 * 1024 * 1024  # a longer record means a missing delimiter or an unclosed quote

Cutter: TypeAlias = Callable[[bytes], int]
"""Returns the end of the last complete record of a block; 0: there is none."""

_UNSAFE = ("utf-16", "utf_16", "utf-32", "utf_32", "utf-7", "utf_7", "iso2022", "hz", "idna", "punycode", "cp037")


class LineNumbers:
    """Line numbers of a document that is read in order: earlier lines are counted once, and only on demand."""

    def __init__(self, document: Document, encoding: str, delimiter: bytes) -> None:
        self._document, self._encoding, self._delimiter = document, encoding, delimiter
        self._raw, self._offset = b"", 0
        self._line: int | None = None  # first line of the block

    def passes(self, raw: bytes, offset: int) -> None:
        """Set the block whose line numbers may be requested next."""
        if self._line is not None and offset == self._offset + len(self._raw):
            self._line += self._raw.count(self._delimiter)
        else:
            self._line = None
        self._raw, self._offset = raw, offset

    def at(self, offset: int) -> int:
        """Number of the line that begins at ``offset``."""
        if self._line is None:
            self._line = line_number(self._document, self._encoding, self._offset, self._delimiter)
        return self._line + self._raw.count(self._delimiter, 0, offset - self._offset)


@dataclass(frozen=True, slots=True)
class RecordBlock:
    """Whole records as UTF-8 text; ``offset`` is their start in the document."""

    text: bytes
    offset: int
    numbers: LineNumbers

    def line(self, index: int = 0) -> int:
        """Number of the block's line ``index``, counted from 0."""
        return self.numbers.at(self.offset) + index


def is_cuttable(encoding: str) -> bool:
    """True if bytes of this encoding can be cut at a line feed."""
    name = codecs.lookup(encoding).name
    return not name.startswith(_UNSAFE) and "\n".encode(name) == b"\n" and "a".encode(name) == b"a"


def cut_at(delimiter: bytes) -> Cutter:
    """Records end at every delimiter."""

    def cut(block: bytes) -> int:
        at = block.rfind(delimiter)
        return at + len(delimiter) if at >= 0 else 0

    return cut


def cut_quoted(delimiter: str, quote: str, escape: str, row_end: bytes) -> Cutter:
    """Records end at delimiters outside quotes."""
    mark, field_end = quote.encode(), re.escape(delimiter.encode())
    q, line_end = re.escape(mark), re.escape(row_end)
    inner = rb"[^" + q + rb"]*+(?:" + q + q + rb"[^" + q + rb"]*+)*+"
    if escape and escape != quote:
        slash = re.escape(escape.encode())
        inner = rb"(?:[^" + q + slash + rb"]|" + slash + rb".|" + q + q + rb")*+"
    rest = rb"(?:(?!" + field_end + rb"|" + line_end + rb").)*+"
    field = rb"(?:" + q + inner + q + rest + rb"|(?!" + q + rb")" + rest + rb")"
    record = re.compile(field + rb"(?:" + field_end + field + rb")*" + line_end, re.DOTALL)

    special = {byte: ord("s") for byte in (*delimiter.encode(), *b"\r\n")} | {mark[0]: mark[0]}
    shape = bytes(special.get(byte, ord("x")) for byte in range(256))
    stray = b"x" + mark + b"x"

    def cut(block: bytes) -> int:
        at = block.rfind(row_end)
        if at < 0:
            return 0
        at += len(row_end)
        quotes = block.count(mark, 0, at)
        if not quotes or (quotes % 2 == 0 and not escape and stray not in block.translate(shape)):
            return at
        # A quote is open at the last line end, or is inside a value: only the grammar can decide.
        end = 0
        while (match := record.match(block, end)) is not None:
            end = match.end()
        return end

    return cut


def raw_blocks(
    document: Document,
    encoding: str,
    cut: Cutter,
    *,
    begin: int = 0,
    end: int | None = None,
    block_bytes: int | None = None,
) -> Iterator[tuple[bytes, int]]:
    """Yield blocks of the bytes from ``begin`` to ``end``, unchanged, each with its offset; the last one may lack its
    delimiter. The bytes are not yet checked to be text."""
    stream = document.stream(begin if is_cuttable(encoding) else 0)
    with closing(stream):
        if not is_cuttable(encoding):
            stream = transcoded(stream, encoding, document, begin)
        offset, rest = begin, b""
        while True:
            # Each block is full size from its start, so that a resumed reader cuts the same blocks.
            room = wanted = block_bytes or BLOCK_BYTES
            at = 0
            while not at:
                limit = wanted if end is None else min(wanted, end - offset)
                rest += _read_full(stream, limit - len(rest))
                at = len(rest) if len(rest) < wanted else cut(rest)
                if not at and wanted > RECORD_BYTES_MAX:
                    raise FatalError(
                        f"{document.name}: the record at byte {offset} is longer than {RECORD_BYTES_MAX} bytes",
                        "check row_delimiter and quote_char",
                    )
                if len(rest) < wanted:
                    break  # end of the document, or of the part
                wanted += room
            if not rest:
                break
            yield rest[:at], offset
            rest, offset = rest[at:], offset + at
        if end is not None and offset < end:
            raise FatalError(f"{document.name} is shorter than it was when the job found it")


def _read_full(stream: ByteStream, size: int) -> bytes:
    """Read as many bytes as requested, unless the stream ends."""
    chunks = []
    while size > 0 and (chunk := bytes(stream.read(size))):
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def block_of(document: Document, raw: bytes, offset: int, encoding: str, numbers: LineNumbers) -> RecordBlock:
    """Decode a block. Raises BadRowsError if the bytes are not text in that encoding."""
    return RecordBlock(decoded(document, raw, offset, encoding, numbers), offset, numbers)


def decoded(document: Document, raw: bytes, offset: int, encoding: str, numbers: LineNumbers | None = None) -> bytes:
    """UTF-8 of bytes in the document's encoding, verified; without a byte order mark."""
    if offset == 0 and raw.startswith(codecs.BOM_UTF8):
        raw = raw[len(codecs.BOM_UTF8) :]
    if raw.isascii():
        return raw
    name = codecs.lookup(encoding).name if is_cuttable(encoding) else "utf-8"
    try:
        text = raw.decode(name)
    except UnicodeDecodeError as error:
        first = numbers.at(offset) if numbers else line_number(document, encoding, offset)
        line = first + raw[: error.start].count(b"\n")
        byte = f"0x{raw[error.start]:02x}"
        raise BadRowsError(
            f"{document.name}, line {line}: the byte {byte} at {offset + error.start} is not {encoding}",
            "give the file's encoding with the option encoding",
        ) from None
    return raw if name == "utf-8" else text.encode("utf-8")


def line_number(document: Document, encoding: str, offset: int, delimiter: bytes = b"\n") -> int:
    """Number of the line that begins at ``offset``. Reads everything before it: for error messages only."""
    if offset == 0:
        return 1
    count = 1
    with closing(document.stream()) as opened:
        stream = opened if is_cuttable(encoding) else transcoded(opened, encoding, document, 0)
        while offset > 0 and (chunk := bytes(stream.read(min(offset, BLOCK_BYTES)))):
            count += chunk.count(delimiter)
            offset -= len(chunk)
    return count


def head_end(document: Document, encoding: str, lines: int, delimiter: bytes) -> tuple[int, bytes]:
    """Offset after the first ``lines`` lines, and these lines as UTF-8."""
    if not lines:
        return 0, b""
    with closing(document.stream()) as opened:
        stream = opened if is_cuttable(encoding) else transcoded(opened, encoding, document, 0)
        head, at = b"", 0
        for _ in range(lines):
            while (found := head.find(delimiter, at)) < 0:
                chunk = bytes(stream.read(64 * 1024))
                if not chunk:
                    return len(head), decoded(document, head, 0, encoding)
                if len(head) > RECORD_BYTES_MAX:
                    raise FatalError(f"{document.name}: the header is longer than {RECORD_BYTES_MAX} bytes")
                head += chunk
            at = found + len(delimiter)
    return at, decoded(document, head[:at], 0, encoding)


def cut_points(document: Document, delimiter: bytes, size: int) -> list[int]:
    """Offsets of record starts near every ``size`` bytes of a plain document."""
    points: list[int] = []
    target = size
    while target < document.entry.size:
        point = _next_start(document, target, delimiter)
        if point is None or point >= document.entry.size:
            break
        points.append(point)
        target = max(point, target) + size
    return points


def _next_start(document: Document, target: int, delimiter: bytes) -> int | None:
    head = b""
    with closing(document.stream(target)) as stream:
        while (place := head.find(delimiter)) < 0:
            chunk = bytes(stream.read(64 * 1024))
            if not chunk or len(head) > RECORD_BYTES_MAX:
                return None
            head += chunk
    return target + place + len(delimiter)


def transcoded(stream: ByteStream, encoding: str, document: Document, begin: int = 0) -> ByteStream:
    """The stream as UTF-8, from the byte ``begin`` of that UTF-8 on."""
    opened = _Transcoded(stream, encoding, document)
    while begin > 0:
        chunk = opened.read(min(begin, BLOCK_BYTES))
        if not chunk:
            raise FatalError(f"{document.name} ends before the position that reading should resume at")
        begin -= len(chunk)
    return opened


class _Transcoded:
    """Converts a stream in an encoding that cannot be cut to UTF-8."""

    def __init__(self, stream: ByteStream, encoding: str, document: Document) -> None:
        self.stream = stream
        self.decoder = codecs.getincrementaldecoder(encoding)()
        self.encoding, self.document = encoding, document
        self.rest = b""

    def read(self, size: int = -1) -> bytes:
        while size < 0 or len(self.rest) < size:
            chunk = bytes(self.stream.read(BLOCK_BYTES))
            try:
                text = self.decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as error:
                raise FatalError(
                    f"{self.document.name}: the byte 0x{error.object[error.start]:02x} is not {self.encoding}",
                    "give the file's encoding with the option encoding",
                ) from None
            self.rest += text.encode("utf-8")
            if not chunk:
                break
        taken = self.rest if size < 0 else self.rest[:size]
        self.rest = self.rest[len(taken) :]
        return taken

    def close(self) -> None:
        self.stream.close()
