"""Removes segments of killed drivers that neither the store nor the journal names.

Rule. The sweep runs while no unit does: before the first one, and after the last one of a stopped job. Then only the
store and the journal can name a segment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.values.segment_names import named_in, named_in_record
from seatunnel_py.work import segment_files as files

if TYPE_CHECKING:
    from seatunnel_py.api.storage import Storage
    from seatunnel_py.runtime.storage.journal import Journal


def sweep(location: str, newest: int, storage: Storage, journal: Journal) -> None:
    """Remove unnamed segments of drivers up to ``newest``; a later driver may be running."""
    left = [url for driver, url in files.left_in(location) if driver <= newest]
    if not left:
        return
    named = set(named_in(list(journal.lines())))
    for record in (one for kept in CheckpointStore(storage).read().records.values() for one in kept):
        if not isinstance(record, CheckpointRecord):
            return  # a damaged record may name any segment
        named.update(named_in_record(record))
    kept = {segment.rpartition("/")[2] for segment in named}  # the same place may be written in several ways
    files.remove(url for url in left if url.rpartition("/")[2] not in kept)
