"""Reads archives: zip, tar, tar_gz and gz. A member is a document; its name is a name, never a path to write to.

A member's description is plain data that goes into a split: the enumerator looks into the archive once, readers go
straight to their member.
"""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, cast

from seatunnel_connectors.files.read.document import FREE_BYTES, RATIO_MAX, Bounded, ByteStream, Document, unpacking
from seatunnel_connectors.files.read.options import ArchiveCodec, FileFormat
from seatunnel_connectors.files.storage import FileEntry, LocalFiles
from seatunnel_py.api import FatalError, Plain

MEMBERS_MAX = 100_000

EXTENSIONS = {
    FileFormat.TEXT: (".txt", ".text", ".log", ".dat", ".tsv"),
    FileFormat.CSV: (".csv",),
    FileFormat.JSON: (".json", ".jsonl", ".ndjson"),
    FileFormat.PARQUET: (".parquet",),
    FileFormat.ORC: (".orc",),
    FileFormat.EXCEL: (".xlsx", ".xls"),
    FileFormat.XML: (".xml",),
}
"""Name endings of members by format; other members are skipped, because archives also hold notes and manifests."""


def members(
    storage: LocalFiles, entry: FileEntry, archive: ArchiveCodec, format_type: FileFormat, extension: str | None
) -> list[Document]:
    """Documents in an archive, in its order. An archive with files but without any document is an error."""
    if archive is ArchiveCodec.GZ:
        return [Document(storage, entry, codec="gzip")]
    listed: list[dict[str, Plain]] = []
    with unpacking(entry.path), storage.open_input(entry.path) as raw:
        found = _zip_members(raw) if archive is ArchiveCodec.ZIP else _tar_members(raw, entry, archive)
        for member in found:
            _check_name(str(member["name"]), entry.path)
            listed.append(member)
            if len(listed) > MEMBERS_MAX:
                raise FatalError(f"{entry.path} holds more than {MEMBERS_MAX} members", "unpack it first")
    wanted = [member for member in listed if _is_wanted(str(member["name"]), format_type, extension)]
    if listed and not wanted:
        raise FatalError(
            f"{entry.path} holds no {format_type} file; its first member is {listed[0]['name']!r}",
            "choose the members to read with filename_extension",
        )
    return [Document(storage, entry, archive=archive.value, member=member) for member in wanted if member["size"]]


def open_member(raw: Any, archive: str, member: Mapping[str, Plain] | None) -> ByteStream:
    """Bytes of one member of an opened archive."""
    assert member is not None
    if archive == ArchiveCodec.ZIP:
        with_archive = zipfile.ZipFile(raw)
        infos = [info for info in with_archive.infolist() if info.header_offset == member["offset"]]
        if not infos or infos[0].filename != member["name"]:
            raise zipfile.BadZipFile(f"the member {member['name']} is not where it was")
        return cast(ByteStream, with_archive.open(infos[0]))
    start, size = cast(int, member["offset"]), cast(int, member["size"])
    if archive == ArchiveCodec.TAR_GZ:
        unpacked = Bounded(gzip.GzipFile(fileobj=raw), str(member["name"]), raw.size())
        unpacked.pass_over(start)
        return _Window(unpacked, size)
    raw.seek(start)
    return _Window(raw, size)


def _zip_members(raw: Any) -> Iterator[dict[str, Plain]]:
    with zipfile.ZipFile(raw) as archive:
        for info in archive.infolist():
            if info.is_dir():
                continue
            if info.file_size > max(FREE_BYTES, info.compress_size * RATIO_MAX):
                raise FatalError(
                    f"{info.filename!r} unpacks from {info.compress_size} to {info.file_size} bytes",
                    "such a file is taken for a decompression bomb; unpack it first if it is genuine",
                )
            yield {
                "name": info.filename,
                "offset": info.header_offset,
                "size": info.file_size,
                "packed": info.compress_size,
            }


def _tar_members(raw: Any, entry: FileEntry, archive: ArchiveCodec) -> Iterator[dict[str, Plain]]:
    stream: Any = raw
    if archive is ArchiveCodec.TAR_GZ:
        stream = Bounded(gzip.GzipFile(fileobj=raw), entry.path, entry.size)
    with tarfile.open(fileobj=stream, mode="r|") as opened:
        for info in opened:
            if info.isdir():
                continue
            if info.issparse():
                raise FatalError(f"{entry.path}!{info.name} is a sparse member", "unpack it first")
            if info.isreg():  # links and devices have no rows
                yield {"name": info.name, "offset": info.offset_data, "size": info.size, "packed": entry.size}


def _check_name(name: str, archive: str) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or "\0" in name or name[1:2] == ":":
        raise FatalError(
            f"{archive} holds a member with the name {name!r}, which leads out of any directory",
            "such an archive is made to overwrite files; do not trust it",
        )


def _is_wanted(name: str, format_type: FileFormat, extension: str | None) -> bool:
    parts = PurePosixPath(name).parts
    if any(part.startswith(".") or part == "__MACOSX" for part in parts) or parts[-1] == "_SUCCESS":
        return False
    if extension:
        return name.endswith(extension)
    return format_type is FileFormat.BINARY or name.lower().endswith(EXTENSIONS[format_type])


class _Window:
    """Limits a stream to its next ``size`` bytes."""

    def __init__(self, stream: ByteStream, size: int) -> None:
        self.stream = stream
        self.left = size

    def read(self, size: int = -1) -> bytes:
        wanted = self.left if size < 0 else min(size, self.left)
        if wanted <= 0:
            return b""
        chunk = self.stream.read(wanted)
        if not chunk:
            raise EOFError("the archive ends within a member")
        self.left -= len(chunk)
        return chunk

    def close(self) -> None:
        self.stream.close()
