"""Defines the writers of file formats: rows of batches to the bytes of one file."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, cast

from seatunnel_connectors.files.lzop import LzopWriter
from seatunnel_connectors.files.read.options import CompressCodec
from seatunnel_connectors.files.write.options import CHANGE_FORMATS, STREAM_CODECS, FileWriteOptions, WriteFormat
from seatunnel_py.api import BadRowsError, Column, FatalError
from seatunnel_py.formats.value_text import TextRules

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_MAX = 2**62  # no limit
CHUNK_ROWS = 64 * 1024  # rows rendered at once: their text stays far below the limit of one string


class Counted:
    """A file written from front to back; counts size and checksum."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.size = 0
        self.crc32 = 0
        self.closed = False
        self.is_dropped = False

    def drop(self) -> None:
        """Discard the file: pending output (a footer, a dictionary) is useless."""
        self.is_dropped = True

    def write(self, data: Any) -> int:
        if self.is_dropped:
            return len(data) if isinstance(data, bytes) else memoryview(data).nbytes
        self.crc32 = zlib.crc32(data, self.crc32)
        count = len(data) if isinstance(data, bytes) else memoryview(data).nbytes
        self.size += count
        self.file.write(data)
        return count

    def tell(self) -> int:
        return self.size

    def flush(self) -> None:
        return None

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def close(self) -> None:
        """Does nothing: the opener of the file closes it after a sync."""
        self.closed = True


class FormatWriter(ABC):
    """Writes one file. ``begin`` once, ``write`` any number of times, ``end`` once; the file stays open."""

    def __init__(self, options: FileWriteOptions, columns: tuple[Column, ...]) -> None:
        self.options = options
        self.columns = columns
        self.rules = TextRules(options.null_format, options.date_format, options.datetime_format, options.time_format)

    @abstractmethod
    def begin(self, file: Counted) -> None: ...

    @abstractmethod
    def write(self, batch: pa.RecordBatch) -> None: ...

    @abstractmethod
    def end(self) -> None: ...

    @property
    def row_limit(self) -> int:
        """Rows that one file may hold."""
        return ROWS_MAX if self.options.single_file_mode else self.options.batch_size


class TextWriter(FormatWriter):
    """Base of formats of encoded text, compressed as a stream if the job file asks for it."""

    def begin(self, file: Counted) -> None:
        import codecs

        import pyarrow as pa

        self.encoder = codecs.getincrementalencoder(self.options.encoding)()
        codec = self.options.compress_codec
        self.stream: Any = file
        if codec is CompressCodec.LZO:
            self.stream = LzopWriter(file)
        elif codec is not CompressCodec.NONE:
            self.stream = pa.CompressedOutputStream(pa.PythonFile(file, "w"), codec.value)
        self.is_begun = False
        try:
            self.put(self.head())
        except UnicodeEncodeError as error:
            raise FatalError(*self._without(error.object[error.start], "a column's name")) from None

    def write(self, batch: pa.RecordBatch) -> None:
        for row in range(0, batch.num_rows, CHUNK_ROWS):
            chunk = batch.slice(row, CHUNK_ROWS)
            try:
                self.put(self.body(chunk))
            except UnicodeEncodeError as error:
                raise self._unwritable(chunk, error.object[error.start]) from None

    def end(self) -> None:
        self.put(self.tail())
        if self.stream is not None and self.options.compress_codec is not CompressCodec.NONE:
            self.stream.close()

    def put(self, text: str | bytes) -> None:
        """Write text; bytes are UTF-8."""
        if not text:
            return
        if not self.is_begun and text.startswith("\ufeff" if isinstance(text, str) else b"\xef\xbb\xbf"):  # type: ignore[arg-type]
            raise BadRowsError(
                "the first value of a file begins with U+FEFF, which readers take for a byte order mark",
                "remove it with a transform, or write the file with a header",
            )
        self.is_begun = True
        if isinstance(text, bytes):
            if self.options.encoding.lower().replace("-", "") == "utf8":
                self.stream.write(text)
                return
            text = text.decode()
        self.stream.write(self.encoder.encode(text))

    def _unwritable(self, batch: pa.RecordBatch, letter: str) -> BadRowsError:
        """The error for rows with a character that the encoding lacks."""
        import pyarrow as pa
        import pyarrow.compute as pc

        texts = (name for name in batch.schema.names if pa.types.is_string(batch.column(name).type))
        holders = (name for name in texts if pc.any(pc.match_substring(batch.column(name), letter)).as_py())
        return BadRowsError(*self._without(letter, f"column {name!r}" if (name := next(holders, None)) else "a value"))

    def _without(self, letter: str, where: str) -> tuple[str, str]:
        return (
            f"{where}: the character {letter!r} (U+{ord(letter):04X}) cannot be written in {self.options.encoding}",
            "choose an encoding that holds every character, such as UTF-8",
        )

    def head(self) -> str:
        return ""

    @abstractmethod
    def body(self, batch: pa.RecordBatch) -> bytes:
        """Text of the rows, each with its terminator."""

    def tail(self) -> str:
        return ""


def joined_rows(rows: Any, end: str) -> bytes:
    """Join texts, each followed by ``end``."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not len(rows):
        return b""
    whole = pa.ListArray.from_arrays(pa.array([0, len(rows)], pa.int32()), rows)
    text: bytes = pc.binary_join(whole, end)[0].as_buffer().to_pybytes()
    return text + end.encode()


_PACKAGE = "seatunnel_connectors.files.formats.writers"
_WRITERS = {
    WriteFormat.TEXT: ("delimited", "DelimitedWriter"),
    WriteFormat.CSV: ("delimited", "CsvWriter"),
    WriteFormat.JSON: ("json_lines", "JsonWriter"),
    WriteFormat.PARQUET: ("columnar", "ParquetWriter"),
    WriteFormat.ORC: ("columnar", "OrcWriter"),
    WriteFormat.EXCEL: ("excel", "ExcelWriter"),
    WriteFormat.XML: ("xml", "XmlWriter"),
    **dict.fromkeys(CHANGE_FORMATS, ("json_lines", "ChangeWriter")),
}


def writer_module(file_format: WriteFormat) -> str:
    """Module of the class that writes a format."""
    return f"{_PACKAGE}.{_WRITERS[file_format][0]}"


def writer_for(options: FileWriteOptions, columns: tuple[Column, ...]) -> FormatWriter:
    """Writer of one file in the format of the options."""
    found = getattr(import_module(writer_module(options.file_format_type)), _WRITERS[options.file_format_type][1])
    return cast(FormatWriter, found(options, columns))


_EXTENSIONS = {WriteFormat.TEXT: "txt", WriteFormat.EXCEL: "xlsx", WriteFormat.BINARY: ""}


def name_ending(options: FileWriteOptions) -> str:
    """Suffix of the file name: codec and extension, in the order that other tools expect."""
    extension = _EXTENSIONS.get(options.file_format_type, options.file_format_type.value)
    given = options.filename_extension
    if options.compress_codec is CompressCodec.NONE:
        return given or (f".{extension}" if extension else "")
    if options.file_format_type in (WriteFormat.PARQUET, WriteFormat.ORC):
        return given or f".{options.compress_codec.value}.{extension}"
    return (given or f".{extension}") + STREAM_CODECS[options.compress_codec]
