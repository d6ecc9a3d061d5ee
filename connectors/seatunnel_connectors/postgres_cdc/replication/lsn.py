"""Converts positions in the write-ahead log between the server's text, ``16/B374D848``, and numbers."""

from __future__ import annotations

import re

_TEXT = re.compile(r"([0-9A-F]{1,8})/([0-9A-F]{1,8})", re.ASCII | re.IGNORECASE)


def lsn_of(text: str) -> int:
    """The number of a position. Raises ValueError."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a position in PostgreSQL's log: write it as 16/B374D848")
    return int(match[1], 16) << 32 | int(match[2], 16)


def lsn_text(lsn: int) -> str:
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"
