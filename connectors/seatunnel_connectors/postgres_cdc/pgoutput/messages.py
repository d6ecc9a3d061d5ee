"""Holds messages as a buffer with their bounds, and gathers fields of many messages with one call.

Python's own cost per message is what makes a decoder slow. So no message becomes an object: ``Messages`` is one buffer
with two arrays, and each field of all messages is gathered by numpy at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from seatunnel_connectors.postgres_cdc.pgoutput.errors import MalformedMessageError

Numbers: TypeAlias = "npt.NDArray[np.int64]"
Bytes: TypeAlias = "npt.NDArray[np.uint8]"

PADDING = b"\0" * 8
"""After the last message: fields are gathered before it is known whether they are there."""
_BYTES_MAX = 2**31 - 1  # offsets of Arrow's texts; a message has at most 2**30 bytes
_SHOWN_BYTES = 40

BEGIN, COMMIT, INSERT, UPDATE, DELETE, RELATION, TYPE, TRUNCATE, MESSAGE, ORIGIN = b"BCIUDRYTMO"
STREAM_START, STREAM_STOP, STREAM_COMMIT, STREAM_ABORT = b"SEcA"
BEGIN_PREPARE, PREPARE, COMMIT_PREPARED, ROLLBACK_PREPARED, STREAM_PREPARE = b"bPKrp"
NEW, KEY, OLD = b"NKO"
NULL, UNCHANGED, TEXT, BINARY = b"nutb"

_INT8, _INT16, _INT32, _INT64 = Struct(">B"), Struct(">H"), Struct(">I"), Struct(">q")


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages in stream order: ``buffer[starts[i]:ends[i]]`` is one, from its letter on. PADDING follows the last."""

    buffer: bytes | bytearray
    starts: Numbers
    ends: Numbers

    @staticmethod
    def of(payloads: Sequence[bytes] | Sequence[memoryview] | Sequence[bytes | memoryview]) -> Messages:
        """Messages that came one by one."""
        lengths = np.fromiter(map(len, payloads), np.int64, len(payloads))
        ends = np.cumsum(lengths)
        return Messages(b"".join([*payloads, PADDING]), ends - lengths, ends)

    def __len__(self) -> int:
        return len(self.starts)

    def part(self, first: int, last: int) -> Messages:
        return Messages(self.buffer, self.starts[first:last], self.ends[first:last])

    def bytes_of(self, index: int) -> bytes:
        return bytes(memoryview(self.buffer)[int(self.starts[index]) : int(self.ends[index])])


class Gatherer:
    """Reads fields of a buffer at many places with one call each. A place outside of the buffer is an error; one in a
    neighbouring message is found by the caller, because then the message does not end where its fields end."""

    def __init__(self, buffer: bytes | bytearray) -> None:
        size = len(buffer)
        if not len(PADDING) <= size <= _BYTES_MAX:
            raise MalformedMessageError(f"{size} bytes at once: between {len(PADDING)} and {_BYTES_MAX} can be decoded")
        self.buffer = buffer
        self.bytes: Bytes = np.frombuffer(buffer, np.uint8)
        # Strides of one byte: element i is the number that begins at byte i.
        self._u2 = np.ndarray(size - 1, ">u2", buffer, strides=(1,))
        self._u4 = np.ndarray(size - 3, ">u4", buffer, strides=(1,))
        self._i8 = np.ndarray(size - 7, ">i8", buffer, strides=(1,))

    def u1(self, at: Numbers) -> Bytes:
        try:
            return self.bytes[at]
        except IndexError:
            raise _beyond() from None

    def u2(self, at: Numbers) -> Numbers:
        try:
            return self._u2[at].astype(np.int64)
        except IndexError:
            raise _beyond() from None

    def u4(self, at: Numbers) -> Numbers:
        try:
            return self._u4[at].astype(np.int64)
        except IndexError:
            raise _beyond() from None

    def i8(self, at: Numbers) -> Numbers:
        try:
            return self._i8[at].astype(np.int64)
        except IndexError:
            raise _beyond() from None


def _beyond() -> MalformedMessageError:
    return MalformedMessageError("a message of the stream says that it is longer than what was received")


class Fields:
    """Reads the fields of one message in order; the few kinds that are not rows are read so."""

    def __init__(self, message: bytes, at: int = 1) -> None:
        self.message = message
        self.at = at

    def u1(self) -> int:
        return self._number(_INT8)

    def u2(self) -> int:
        return self._number(_INT16)

    def u4(self) -> int:
        return self._number(_INT32)

    def i8(self) -> int:
        return self._number(_INT64)

    def text(self) -> str:
        end = self.message.find(b"\0", self.at)
        if end < 0:
            raise self.wrong("a name in it has no end")
        found = self.message[self.at : end]
        self.at = end + 1
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise self.wrong(f"the name {found!r} is not UTF-8") from None

    def raw(self, length: int) -> bytes:
        end = self.at + length
        if end > len(self.message):
            raise self.wrong(f"it ends before byte {end}")
        found = self.message[self.at : end]
        self.at = end
        return found

    def finish(self) -> None:
        """Raise if bytes are left."""
        if self.at != len(self.message):
            raise self.wrong(f"its fields end at byte {self.at} of {len(self.message)}")

    def wrong(self, why: str) -> MalformedMessageError:
        return malformed(self.message, why)

    def _number(self, form: Struct) -> int:
        try:
            (found,) = form.unpack_from(self.message, self.at)
        except Exception as error:
            raise self.wrong(f"it ends before byte {self.at + form.size}") from error
        self.at += form.size
        return int(found)


def malformed(message: bytes, why: str) -> MalformedMessageError:
    """An error that shows the beginning of the message."""
    kind = chr(message[0]) if message and 32 < message[0] < 127 else "without a letter"
    return MalformedMessageError(f"a message {kind} of pgoutput is malformed: {why}; {message[:_SHOWN_BYTES].hex()}")
