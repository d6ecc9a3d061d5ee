"""Reads the packets of a dump from its socket: as many at a time as have arrived."""

from __future__ import annotations

import socket
import time
from typing import Any

from seatunnel_connectors.jdbc.mysql.connection.packet_header import CHUNK_BYTES, FULL, HEADER_BYTES, LENGTH
from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError, DumpEndedError

EVENT, END, ERROR = 0x00, 0xFE, 0xFF
_END_BYTES_MAX = 9


class ServerReportError(Exception):
    """An error packet. The session turns it into a message for users."""

    def __init__(self, code: int, text: str) -> None:
        self.code = code
        self.text = text
        super().__init__(code, text)


class PacketReader:
    """``patience`` are the seconds of silence, heartbeats included, after which the connection counts as lost."""

    def __init__(self, sock: socket.socket | Any, patience: float) -> None:
        self._socket = sock
        self._patience = patience
        self._heard = time.monotonic()
        self._rest: bytes | bytearray = b""
        self._parts: list[bytes] = []
        self.ended = False

    def read(self, seconds: float) -> list[memoryview]:
        """The events that have arrived; waits for the first one for that long, and may return none."""
        if self.ended:
            return []
        until = time.monotonic() + seconds
        while True:
            found, need = self._complete()
            if found or self.ended:
                return found
            left = until - time.monotonic()
            if left <= 0:
                self._check_silence()
                return []
            self._receive(need, left)

    def _check_silence(self) -> None:
        silent = time.monotonic() - self._heard
        if silent > self._patience:
            raise DumpEndedError(
                f"the server has sent nothing for {silent:.0f} s, not even a heartbeat",
                "check that the server is up and can be reached",
            )

    def _receive(self, need: int, seconds: float) -> None:
        """Append what has arrived; all of a packet that is larger than a chunk."""
        self._socket.settimeout(max(seconds, 0.001))
        try:
            if need <= CHUNK_BYTES:
                chunk = self._socket.recv(CHUNK_BYTES)
                if not chunk:
                    raise ConnectionError("it was closed")
                self._rest = self._rest + chunk if self._rest else chunk
            else:
                self._rest = self._filled(need)
        except TimeoutError:
            return
        except OSError as error:
            raise DumpEndedError(f"the connection to the server was lost: {error}") from error
        self._heard = time.monotonic()

    def _filled(self, need: int) -> bytearray:
        whole = bytearray(len(self._rest) + need)
        at = len(self._rest)
        whole[:at] = self._rest
        view = memoryview(whole)
        self._socket.settimeout(self._patience)
        while at < len(whole):
            got = self._socket.recv_into(view[at:])
            if not got:
                raise ConnectionError("it was closed")
            at += got
        return whole

    def _complete(self) -> tuple[list[memoryview], int]:
        """The events that are whole, and the number of bytes that the next packet lacks."""
        data = memoryview(self._rest)
        found: list[memoryview] = []
        at, size = 0, len(data)
        need = HEADER_BYTES
        while size - at >= HEADER_BYTES:
            length = LENGTH.unpack_from(data, at)[0] & FULL
            end = at + HEADER_BYTES + length
            if end > size:
                need = end - size
                break
            if length > 1 and length != FULL and data[at + HEADER_BYTES] == EVENT and not self._parts:
                found.append(data[at + HEADER_BYTES + 1 : end])
                at = end
                continue
            self._packet(data[at + HEADER_BYTES : end], found, goes_on=length == FULL)
            at = end
            if self.ended:
                break
        if at:
            self._rest = bytes(data[at:])
        return found, need

    def _packet(self, packet: memoryview, found: list[memoryview], *, goes_on: bool) -> None:
        if self._parts or goes_on:
            self._parts.append(bytes(packet))
            if goes_on:
                return
            packet = memoryview(b"".join(self._parts))
            self._parts = []
        if not packet:
            raise BinlogFormatError("the server sent an empty packet", "check that the url leads to the server meant")
        mark = packet[0]
        if mark == EVENT:
            found.append(packet[1:])
        elif mark == END and len(packet) < _END_BYTES_MAX:
            self.ended = True
        elif mark == ERROR and len(packet) >= 3:
            text = bytes(packet[3:]).decode("utf-8", "replace")
            raise ServerReportError(packet[1] | packet[2] << 8, text[6:] if text[:1] == "#" else text)
        else:
            raise BinlogFormatError(
                f"the server sent a packet that begins with {mark:#04x} instead of an event",
                "check that semi-synchronous replication is off for this connection",
            )
