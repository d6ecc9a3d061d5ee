"""Ids of XA transactions, as events and as statements of the log write them."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from typing import NamedTuple

from seatunnel_connectors.mysql_cdc.failures import BinlogFormatError

_HEX = re.compile(r"0[xX]([0-9a-fA-F]*)")


class XaId(NamedTuple):
    """Global and branch part, and the number of their format."""

    transaction: bytes
    branch: bytes = b""
    format: int = 1

    @classmethod
    def from_bytes(cls, data: bytes) -> XaId:
        """The form of events: format, two lengths, both parts."""
        number, first, second = struct.unpack_from("<iBB", data)
        return cls(data[6 : 6 + first], data[6 + first : 6 + first + second], number)

    @classmethod
    def from_words(cls, words: Sequence[str]) -> XaId:
        """The form of statements, as the texts of their tokens: X'..', X'..', 1."""
        parts: list[bytes] = []
        number = 1
        wanted_hex = False
        for word in words:
            if word.upper() == "X":
                wanted_hex = True
            elif (match := _HEX.fullmatch(word)) is not None:
                parts.append(bytes.fromhex(match[1]))
            elif wanted_hex or not word.isdigit():
                if word in (",", "ONE", "PHASE"):
                    continue
                try:
                    parts.append(bytes.fromhex(word) if wanted_hex else word.encode())
                except ValueError:
                    raise BinlogFormatError(f"an XA statement has the id {word!r}") from None
                wanted_hex = False
            else:
                number = int(word)
        if not 1 <= len(parts) <= 2:
            raise BinlogFormatError(f"an XA statement has an id of {len(parts)} parts")
        return cls(parts[0], parts[1] if len(parts) > 1 else b"", number)
