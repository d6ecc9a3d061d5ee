"""Finds the files of a table: everything under its path that passes its filters."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath
from urllib.parse import unquote

from seatunnel_connectors.files.read.archives import members
from seatunnel_connectors.files.read.document import Document
from seatunnel_connectors.files.read.options import (
    ArchiveCodec,
    CompressCodec,
    FileFormat,
    FileReadOptions,
    SyncMode,
    moment_ns,
)
from seatunnel_connectors.files.read.sync import is_there
from seatunnel_connectors.files.storage import FileEntry, LocalFiles, path_of
from seatunnel_connectors.files.write.file_names import NULL_PARTITION
from seatunnel_py.api import FatalError, name_pattern

SUFFIX_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".lz4": "lz4", ".br": "brotli", ".lzo": "lzo"}
_PACKED_FORMATS = {FileFormat.TEXT, FileFormat.CSV, FileFormat.JSON, FileFormat.XML}


class MissingPathError(FatalError):
    """The option names a path that does not exist."""


def find_documents(storage: LocalFiles, options: FileReadOptions) -> list[Document]:
    """Every document of the table, in the order in which it is read."""
    entries = find_files(storage, options)
    return [document for entry in entries for document in documents_of(storage, options, entry)]


def find_files(storage: LocalFiles, options: FileReadOptions) -> list[FileEntry]:
    """Files under the path that pass the filters."""
    root = path_of(options.path or "")
    single = storage.stat(root)
    if single is not None:
        found = [single] if single.size else []
    elif storage.is_directory(root):
        found = [_readable(entry) for entry in storage.walk(root) if _is_wanted(root, entry, options)]
    else:
        raise MissingPathError(f"there is no file or directory {root}", "correct the option path")
    if options.sync_mode is SyncMode.UPDATE:
        found = [entry for entry in found if not is_there(storage, options, root, entry)]
    # newest first: without a schema, the newest file's columns are the table's
    if options.sort_files_by_modification_time:
        found.sort(key=lambda entry: (-entry.mtime_ns, entry.path))
    return found


def _readable(entry: FileEntry) -> FileEntry:
    """Return the file. Refuse one with an unreadable name, which would otherwise be skipped silently."""
    if not entry.is_there:
        raise FatalError(
            f"the link {entry.path} leads nowhere", "remove it, or restore the file; file_filter_pattern leaves it out"
        )
    try:
        entry.path.encode()
    except UnicodeEncodeError:
        raise FatalError(
            f"the name of the file {entry.path!r} is not UTF-8", "rename it; file_filter_pattern leaves it out"
        ) from None
    return entry


def _is_wanted(root: str, entry: FileEntry, options: FileReadOptions) -> bool:
    below = PurePosixPath(entry.path).relative_to(root)
    if not entry.size or below.name == "_SUCCESS" or any(part.startswith(".") for part in below.parts):
        return False
    if not options.recursive_file_scan and len(below.parts) > 1:
        return False
    if options.read_partitions and not any(text in entry.path for text in options.read_partitions):
        return False
    start, end = options.file_filter_modified_start, options.file_filter_modified_end
    if (start and entry.mtime_ns < moment_ns(start)) or (end and entry.mtime_ns >= moment_ns(end)):
        return False
    archived = options.archive_compress_codec is not ArchiveCodec.NONE
    if options.filename_extension and not archived and not below.name.endswith(options.filename_extension):
        return False
    if not options.file_filter_pattern:
        return True
    pattern = name_pattern(options.file_filter_pattern)
    subject = entry.path if "/" in options.file_filter_pattern else below.name
    return pattern.fullmatch(subject)


def documents_of(storage: LocalFiles, options: FileReadOptions, entry: FileEntry) -> list[Document]:
    """The file itself, or the members of an archive."""
    assert options.file_format_type is not None
    if options.archive_compress_codec is not ArchiveCodec.NONE:
        return members(
            storage,
            entry,
            options.archive_compress_codec,
            options.file_format_type,
            options.filename_extension,
        )
    return [Document(storage, entry, codec=codec_of(options, entry.path))]


def codec_of(options: FileReadOptions, path: str) -> str:
    """Arrow's name of a file's stream compression, or ``lzo``; empty: none."""
    if options.file_format_type not in _PACKED_FORMATS:
        return ""  # the format has its own compression, or takes bytes as they are
    codec = options.compress_codec
    if codec is not CompressCodec.NONE:
        return "gzip" if codec is CompressCodec.ZLIB else codec.value
    return SUFFIX_CODECS.get(PurePosixPath(path).suffix.lower(), "")


def partitions_of(path: str) -> dict[str, str | None]:
    """``k=v`` parts of a path, outermost first; ``%2F`` and the like are decoded."""
    found: dict[str, str | None] = {}
    for part in PurePosixPath(path).parent.parts:
        key, separator, value = part.partition("=")
        if separator and key:
            found[_unescaped(key, path)] = None if value == NULL_PARTITION else _unescaped(value, path)
    return found


def _unescaped(text: str, path: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise FatalError(
            f"{path}: {text!r} escapes bytes that are not UTF-8, so its value is not known",
            "rename the directory, or set parse_partition_from_path = false",
        ) from None


def partition_names(documents: Iterable[Document]) -> tuple[str, ...]:
    """Names of all partition columns, in the order of appearance."""
    names: dict[str, None] = {}
    for document in documents:
        names.update(dict.fromkeys(partitions_of(document.entry.path)))
    return tuple(names)
