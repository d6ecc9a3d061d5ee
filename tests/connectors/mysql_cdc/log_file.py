"""Reads the events of a log's file, as the server stores it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError, EncryptedLogError
from seatunnel_connectors.mysql_cdc.log.compressed import split_events

MAGIC = b"\xfebin"
_ENCRYPTED_MAGIC = b"\xfdbin"
_CHUNK_BYTES = 4 << 20


def file_events(path: Path) -> Iterator[memoryview]:
    """The events of a file, in chunks of bounded memory."""
    with path.open("rb") as file:
        magic = file.read(len(MAGIC))
        if magic == _ENCRYPTED_MAGIC:
            raise EncryptedLogError(f"{path.name} is encrypted by the server", "read the log from the server instead")
        if magic != MAGIC:
            raise BinlogFormatError(f"{path.name} is not a binary log: it begins with {magic!r}")
        yield from split_events(iter(lambda: file.read(_CHUNK_BYTES), b""), -1, path.name)
