"""How far the end of a server's log is ahead of a place, and whether the server is about to purge the place's file.

The server keeps its log for a fixed time, read or not. A server purges whole files, the oldest first.
"""

from __future__ import annotations

from collections.abc import Mapping

from seatunnel_connectors.mysql_cdc.reading.log_position import BinlogPosition
from seatunnel_py.api import LogLag


def lag_of(sizes: Mapping[str, int], place: BinlogPosition, expire_seconds: int) -> LogLag | None:
    """The lag of a place; None: it names no file of this server. ``sizes``: bytes of each file of the log, the oldest
    first; ``expire_seconds``: the age at which the server purges a file, 0: it keeps them."""
    if place.file not in sizes:
        return None
    files = list(sizes)
    at = files.index(place.file)
    behind = max(0, sizes[place.file] - place.offset) + sum(sizes[one] for one in files[at + 1 :])
    if at or len(files) == 1 or not expire_seconds:
        return LogLag(behind)
    return LogLag(
        behind,
        None,
        f"the last checkpoint is in the oldest file of the log ({place.file}), which the server purges when it is "
        f"{expire_seconds} s old",
        "raise binlog_expire_logs_seconds until the job has caught up; see which target is slow",
    )
