"""Room for comments. A longer one is refused by the server, together with its table; of characters beyond the first
65,536 it keeps a question mark. Such comments are left out whole, and named as not carried over."""

from __future__ import annotations

from seatunnel_connectors.jdbc.target.details import CommentPlace
from seatunnel_py.api import TableSchema

_CHARACTERS_MAX = {CommentPlace.TABLE: 2048, CommentPlace.COLUMN: 1024}


def keeps(text: str, place: CommentPlace) -> bool:
    """Whether the comment can be read again as it is."""
    return len(text) <= _CHARACTERS_MAX[place] and all(ord(one) <= 0xFFFF for one in text)


def of_table(table: TableSchema) -> str:
    """The comment of a table that is made; empty where there is no room for it."""
    return table.comment if keeps(table.comment, CommentPlace.TABLE) else ""
