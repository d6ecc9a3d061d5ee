"""The lzop container: what the `lzop` program wrote is read, and damage never becomes rows."""

from __future__ import annotations

import io
import os
from base64 import b64decode
from pathlib import Path

import pytest

from seatunnel_connectors.files.lzop import BLOCK_BYTES, LzopReader, LzopWriter
from seatunnel_py.api import FatalError
from tests.unit.connectors.files.files_support import rows

TEXT = b"hello lzop\n" * 5
# `lzop -n -c` and `lzop -9 --crc32 -c` of lzop 1.04 on a file that holds TEXT.
BY_LZOP = (
    b64decode(
        "iUxaTwANChoKEEAgoAlAAQUDAAAJAACBpGsBLz4AAAAACXNtYWxsLnR4dGLpBxoAAAA3AAAAIzmhFBAIaGVsbG8gbHpvcAo6KAANbHpvcApo"
        "ZWxsbyBsem9wChEAAAAAAAA="
    ),
    b64decode(
        "iUxaTwANChoKEEAgoBABAwkDABEIAACBpGsBLz4AAAAACXNtYWxsLnR4dIo3fH4AAAA3AAAAE1+nsDgcaGVsbG8gbHpvcAogCygAEQAAAAAA"
        "AA=="
    ),
)


def packed(data: bytes, step: int = 50_000) -> bytes:
    file = io.BytesIO()
    writer = LzopWriter(file)
    for at in range(0, len(data), step):
        writer.write(data[at : at + step])
    writer.close()
    return file.getvalue()


@pytest.mark.parametrize("file", BY_LZOP)
def test_files_of_the_lzop_program_are_read(file: bytes) -> None:
    """Both kinds of checksum, both kinds of compressor; two files one after the other are one content."""
    assert LzopReader(io.BytesIO(file)).read() == TEXT
    assert LzopReader(io.BytesIO(file + file)).read() == TEXT * 2


@pytest.mark.parametrize("size", [0, 1, BLOCK_BYTES, BLOCK_BYTES + 1, 3 * BLOCK_BYTES])
def test_what_is_written_is_read(size: int) -> None:
    """Blocks that shrink and blocks that are stored, read in pieces that fit no block."""
    data = (TEXT * (size // len(TEXT) + 1))[: size // 2] + os.urandom(size - size // 2)

    reader = LzopReader(io.BytesIO(packed(data)))
    pieces = list(iter(lambda: reader.read(77_777), b""))

    assert b"".join(pieces) == data


@pytest.mark.parametrize("file", [*BY_LZOP, packed(TEXT)])
def test_damage_is_always_an_error(file: bytes) -> None:
    """Every byte flipped in turn, and every place to be cut at: never other content than was packed."""
    for at in range(len(file)):
        flipped = file[:at] + bytes([file[at] ^ 0x10]) + file[at + 1 :]
        for damaged in (flipped, file[:at]):
            try:
                found = LzopReader(io.BytesIO(damaged)).read()
            except (OSError, EOFError, FatalError):
                continue
            assert found == TEXT, f"byte {at}"


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    """As with every other compression: the file, and what is wrong with it."""
    whole = packed(b"id\n1\n2\n")
    (tmp_path / "rows.txt.lzo").write_bytes(whole)
    assert rows(path=str(tmp_path), file_format_type="text") == [{"content": "id"}, {"content": "1"}, {"content": "2"}]

    (tmp_path / "rows.txt.lzo").write_bytes(whole[:-5] + b"\xff" + whole[-4:])

    with pytest.raises(FatalError, match=r"rows\.txt\.lzo cannot be unpacked: the checksum of a block is wrong"):
        rows(path=str(tmp_path), file_format_type="text")
