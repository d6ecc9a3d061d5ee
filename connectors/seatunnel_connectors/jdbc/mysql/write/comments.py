"""Checks comments. The server refuses a too long one, together with its table; characters beyond U+FFFF become question
marks. Such comments are omitted, and named as not carried over."""

from __future__ import annotations

from seatunnel_connectors.jdbc.target.details import CommentPlace
from seatunnel_py.api import TableSchema

_CHARACTERS_MAX = {CommentPlace.TABLE: 2048, CommentPlace.COLUMN: 1024}


def keeps(text: str, place: CommentPlace) -> bool:
    """True if the server keeps the comment unchanged."""
    return len(text) <= _CHARACTERS_MAX[place] and all(ord(one) <= 0xFFFF for one in text)


def of_table(table: TableSchema) -> str:
    """Comment of a created table; empty if it does not fit."""
    return table.comment if keeps(table.comment, CommentPlace.TABLE) else ""
