"""Finds the one split of a log: its slot, and the place from which each table counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from seatunnel_connectors.jdbc.postgres.connection.session import conninfo, statements
from seatunnel_connectors.jdbc.url import Address
from seatunnel_connectors.postgres_cdc.claim import LogClaims, LogNames
from seatunnel_connectors.postgres_cdc.copy import SLOT
from seatunnel_connectors.postgres_cdc.replication.connection import ReplicationConnection
from seatunnel_connectors.postgres_cdc.replication.slots import check_start, find_slot
from seatunnel_connectors.postgres_cdc.slot_snapshots import LOG_POSITION
from seatunnel_py.api import Enumerator, FatalError, FollowedTable, JobRegistry, Plain, Split, TablePath

LOG = "log"
"""The id of the split."""


@dataclass(frozen=True, slots=True)
class LogPlace:
    """Content of the split of a log. ``starts``: by table, the position from which its transactions count; ``system``:
    the server's identity, which a failover keeps."""

    slot: str
    publication: str
    starts: tuple[tuple[TablePath, int], ...]
    system: str

    def split(self) -> Split:
        starts: list[Plain] = [[path.database, path.schema, path.table, position] for path, position in self.starts]
        payload: dict[str, Plain] = {
            "slot": self.slot, "publication": self.publication, "starts": starts, "system": self.system,
        }  # fmt: skip
        return Split(LOG, self.starts[0][0], payload)

    @staticmethod
    def of(split: Split) -> LogPlace:
        """The inverse of ``split``."""
        plain = dict(split.payload)
        rows = plain["starts"]
        assert isinstance(rows, list | tuple), "the split of a log names its tables"
        starts = []
        for row in rows:
            assert isinstance(row, list | tuple), "a start is a table and a position"
            database, schema, table, position = row
            assert isinstance(position, int), "a position of the log is a number"
            starts.append((TablePath(str(database), str(schema), str(table)), position))
        return LogPlace(str(plain["slot"]), str(plain["publication"]), tuple(starts), str(plain["system"]))


class LogEnumerator(Enumerator):
    """Enumerates the log of a step. ``copies``: tables are copied first."""

    def __init__(
        self, address: Address, names: LogNames, registry: JobRegistry, tables: Sequence[FollowedTable], *,
        copies: bool, known: bool, wait_seconds: float,
    ) -> None:  # fmt: skip
        self._address, self._names, self._registry = address, names, registry
        self._tables = tuple(tables)
        self._copies, self._known, self._wait_seconds = copies, known, wait_seconds

    def discover(self) -> Iterable[Split]:
        if self._known:
            return ()
        claims = self._registry.get(LogClaims)
        slot = claims.claim(self._address, self._names, known=self._copies, wait_seconds=self._wait_seconds)
        starts = tuple((one.table.schema.path, self._start(one, slot.confirmed)) for one in self._tables)
        with statements(self._address) as db:
            check_start(find_slot(db, slot.name), slot.name, min(position for _, position in starts))
        self._known = True
        return (LogPlace(slot.name, self._names.publication, starts, self._system()).split(),)

    def snapshot(self) -> Plain:
        return {SLOT: self._names.slot}

    def _start(self, one: FollowedTable, confirmed: int) -> int:
        """The position of the copy's snapshot; of a copy under several snapshots, the oldest position."""
        if not self._copies:
            return confirmed
        positions = [split.payload.get(LOG_POSITION) for split in one.copied]
        if not positions:
            raise FatalError(
                f"table {one.table.schema.path} was not copied, so its changes cannot be followed",
                "start the job again with --fresh, which copies it",
            )
        return min(position for position in positions if isinstance(position, int))

    def _system(self) -> str:
        replication = ReplicationConnection(conninfo(self._address), f"the log of {self._address.display}")
        try:
            return replication.identify().system
        finally:
            replication.close()
