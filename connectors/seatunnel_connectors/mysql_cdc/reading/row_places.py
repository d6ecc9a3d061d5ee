"""The metadata of rows of the log: their time, their transaction and their place, by the names of Metadata's keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from seatunnel_connectors.mysql_cdc.log.event_types import RowsKind
from seatunnel_connectors.mysql_cdc.log.events import MariadbGtid, MysqlGtid, RowsEvent
from seatunnel_connectors.mysql_cdc.reading.log_tracker import LogTracker, transaction_text

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa


class EventPlace(NamedTuple):
    """The place at which an event begins, and its transaction, which began at ``begin``."""

    file: str
    offset: int
    begin: int
    transaction: MysqlGtid | MariadbGtid | None

    @staticmethod
    def of(track: LogTracker) -> EventPlace:
        return EventPlace(track.file, track.offset, track.begin, track.current)

    @property
    def gtid(self) -> str | None:
        return transaction_text(self.transaction)

    @property
    def transaction_id(self) -> str:
        return self.gtid or f"{self.file}:{self.begin}"


def _milliseconds(event: RowsEvent, place: EventPlace) -> int:
    """The time of the commit where the log has it (MySQL 8), else that of the event, in whole seconds."""
    found = place.transaction
    commit = found.commit_microseconds if isinstance(found, MysqlGtid) else 0
    return commit // 1000 or event.header.timestamp * 1000


_BY_EVENT: Mapping[str, tuple[Callable[[RowsEvent, EventPlace], int | str | None], str]] = {
    "EventTime": (_milliseconds, "int64"),
    "SourceTimestamp": (_milliseconds, "int64"),
    "TransactionId": (lambda _, place: place.transaction_id, "string"),
    "BinlogFile": (lambda _, place: place.file, "string"),
    "BinlogPos": (lambda _, place: place.offset, "int64"),
    "Gtid": (lambda _, place: place.gtid, "string"),
    "ServerId": (lambda event, _: event.header.server_id, "int64"),
}
METADATA = frozenset({*_BY_EVENT, "BinlogRow", "SnapshotRow"})
"""Names of the metadata that rows of the log have."""


def metadata_of(
    names: frozenset[str],
    events: Sequence[RowsEvent],
    places: Sequence[EventPlace],
    counts: Sequence[int],
    skipped: int,
) -> dict[str, pa.Array]:
    """``names``: some of ``METADATA``. ``counts``: the rows of each event; ``skipped``: so many of the first one were
    given before."""
    import numpy as np
    import pyarrow as pa

    event = pa.array(np.repeat(np.arange(len(counts)), counts))
    found = {}
    for name in sorted(names & _BY_EVENT.keys()):
        value, kind = _BY_EVENT[name]
        values = [value(one, place) for one, place in zip(events, places, strict=True)]
        found[name] = pa.array(values, kind).take(event)
    if "BinlogRow" in names:
        firsts = [skipped, *[0] * (len(counts) - 1)]
        numbers = [_numbers(*one) for one in zip(events, counts, firsts, strict=True)]
        found["BinlogRow"] = pa.array(np.concatenate(numbers))
    if "SnapshotRow" in names:
        found["SnapshotRow"] = pa.repeat(False, len(event))
    return found


def _numbers(event: RowsEvent, count: int, first: int) -> npt.NDArray[np.int32]:
    """The place of each row in its event; both rows of an update have the same."""
    import numpy as np

    numbers = np.arange(first, first + count, dtype=np.int32)
    return numbers // 2 if event.form.kind is RowsKind.UPDATE else numbers
