"""Timelines: whether a server's log holds everything up to a position that was read on another one.

A standby that is promoted goes on with a log of its own, from the place where it has left the old one. Transactions
that the old primary wrote after that place do not exist there, although the server has such positions, too (F-C24).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from seatunnel_connectors.postgres_cdc.replication.connection import ReplicationConnection, SystemIdentity
from seatunnel_connectors.postgres_cdc.replication.failures import LogLostError
from seatunnel_connectors.postgres_cdc.replication.lsn import lsn_of, lsn_text

_REMEDY = (
    "rows of the target may not exist at the source: compare them (seatunnel reconcile), then start the job with "
    "--fresh, which copies the tables again"
)


@dataclass(frozen=True, slots=True)
class TakenPosition:
    """A position of a timeline: ``commit`` belongs to the last transaction of which something was taken, and reading
    goes on at ``end``. ``timeline`` 0: it is unknown, because an older version has written the position."""

    timeline: int
    commit: int
    end: int


def start_on(connection: ReplicationConnection, server: SystemIdentity, taken: TakenPosition) -> int:
    """The position from which this server is read. Raises LogLostError unless its log holds everything that was taken.
    After a promotion reading goes back to the place where the server has left the old log, if it had come further."""
    if taken.timeline in (0, server.timeline):
        return taken.end
    here = f"{connection.what} is on timeline {server.timeline}, at {lsn_text(server.position)}"
    last = f"the last transaction that was read commits at {lsn_text(taken.commit)} of timeline {taken.timeline}"
    left = dict(_history(connection, server.timeline)).get(taken.timeline)
    if left is None:
        raise LogLostError(f"{here}, and {last}: this server has never been there", _REMEDY)
    if taken.commit >= left:
        raise LogLostError(
            f"{here}, and has left timeline {taken.timeline} at {lsn_text(left)}; {last}, which this server lacks",
            _REMEDY,
        )
    return min(taken.end, left)


def _history(connection: ReplicationConnection, timeline: int) -> Iterator[tuple[int, int]]:
    """The timelines before this one, each with the place where the next one begins."""
    (row,) = connection.ask(f"TIMELINE_HISTORY {timeline}")
    for line in row["content"].splitlines():
        words = line.split("\t")
        if len(words) >= 2 and words[0].strip().isdigit():
            yield int(words[0]), lsn_of(words[1].strip())
