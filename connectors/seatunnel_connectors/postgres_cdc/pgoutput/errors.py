"""Errors of decoding. A fault of one table is a value, ``TableRefused``: the others go on."""

from __future__ import annotations

from seatunnel_py.api import FatalError

DAMAGED = (
    "restart from the last checkpoint; if it happens again, the server speaks a newer form of the protocol or the "
    "connection damages data: read the slot with pg_logical_slot_peek_binary_changes to tell which"
)


class MalformedMessageError(FatalError):
    """The bytes are not a message of pgoutput, or the messages do not follow one another as they must."""

    def __init__(self, message: str, remedy: str = DAMAGED) -> None:
        super().__init__(message, remedy)


class HeldTooMuchError(FatalError):
    """Streamed or prepared transactions whose outcome is open are larger than the limit."""
