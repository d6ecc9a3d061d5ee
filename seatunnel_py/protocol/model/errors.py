"""What the protocol raises: never for what may happen (a late or repeated message is an outcome, not an error), only
for what nobody may do.

::

    SeaTunnelError
    └── ProtocolError        never raised itself: somebody has to be blamed
        ├── LocalProtocolError       this side did what its own rules forbid: a bug
        └── RemoteProtocolError      the other side sent what no correct peer sends

May not know: who catches them.
"""

from __future__ import annotations

from seatunnel_py.errors import SeaTunnelError


class ProtocolError(SeaTunnelError):
    """Root of the two. Catch it where whose fault it was does not matter."""

    def __init__(self, message: str, remedy: str = "") -> None:
        if type(self) is ProtocolError:
            raise TypeError("a ProtocolError is somebody's mistake: raise LocalProtocolError or RemoteProtocolError")
        super().__init__(message, remedy)


class LocalProtocolError(ProtocolError):
    """This side broke its own rules."""


class RemoteProtocolError(ProtocolError):
    """The other side broke the rules; the door through which its message came says so."""
