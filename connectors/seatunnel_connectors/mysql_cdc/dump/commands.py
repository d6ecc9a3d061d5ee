"""Writes the commands of a replica: to register, and to ask for the log from a position."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from seatunnel_connectors.mysql_cdc.failures import PurgedLogError
from seatunnel_connectors.mysql_cdc.log.gtid_list import GtidList
from seatunnel_connectors.mysql_cdc.log.gtid_set import GtidSet

COM_BINLOG_DUMP = 0x12
COM_REGISTER_SLAVE = 0x15
COM_BINLOG_DUMP_GTID = 0x1E
_NON_BLOCKING = 1
_ANNOTATE = 2
_THROUGH_GTID = 4
_POSITION_MAX = (1 << 32) - 1
FIRST_POSITION = 4


@dataclass(frozen=True, slots=True)
class DumpRequest:
    """A position to read on from: the transactions that are known already, or a file and a position in it.

    ``bounded``: the server ends the dump at the end of its log, instead of waiting for more. ``statements``: MariaDB
    sends the statements that rows come from.
    """

    server_id: int
    file: str = ""
    position: int = FIRST_POSITION
    gtids: GtidSet | GtidList | None = None
    bounded: bool = False
    statements: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.position}" if self.gtids is None else f"the transactions after {self.gtids}"


def register(server_id: int) -> bytes:
    """COM_REGISTER_SLAVE without a host, user and password: the server then lists us among its replicas."""
    return struct.pack("<IBBBHII", server_id, 0, 0, 0, 0, 0, 0)


def dump(request: DumpRequest) -> tuple[int, bytes]:
    """The command and its content."""
    flags = _NON_BLOCKING * request.bounded
    if isinstance(request.gtids, GtidSet):
        gtids = request.gtids.to_bytes()
        head = struct.pack("<HIIQI", flags | _THROUGH_GTID, request.server_id, 0, FIRST_POSITION, len(gtids))
        return COM_BINLOG_DUMP_GTID, head + gtids
    flags |= _ANNOTATE * request.statements
    # MariaDB's transactions travel in a variable of the session: file and position are then not looked at.
    file, position = (request.file, request.position) if request.gtids is None else ("", FIRST_POSITION)
    if position > _POSITION_MAX:
        raise PurgedLogError(
            f"the position {request} cannot be asked for: it lies beyond 4 GB of its file",
            "use transaction ids (gtid_mode = ON; MariaDB has them always)",
        )
    return COM_BINLOG_DUMP, struct.pack("<IHI", position, flags, request.server_id) + file.encode()
