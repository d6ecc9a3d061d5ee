"""Errors of the protocol: only for violated rules, never for expected events such as late or repeated messages.

::

    SeaTunnelError
    └── ProtocolError        abstract: raise one of these two
        ├── LocalProtocolError       this side violated its own rules: a bug
        └── RemoteProtocolError      the other side sent a forbidden message

May not know: where they are caught.
"""

from __future__ import annotations

from seatunnel_py.errors import SeaTunnelError


class ProtocolError(SeaTunnelError):
    """Base of both. Catch it if the side at fault does not matter."""

    def __init__(self, message: str, remedy: str = "") -> None:
        if type(self) is ProtocolError:
            raise TypeError("ProtocolError is abstract: raise LocalProtocolError or RemoteProtocolError")
        super().__init__(message, remedy)


class LocalProtocolError(ProtocolError):
    """This side violated its own rules."""


class RemoteProtocolError(ProtocolError):
    """The other side violated the rules; raised where its message arrives."""
