"""Resources that the pipelines of one job share: the journal in memory, read limits of sources, the size of channels.

Rules. (1) All of it is pure: the order of calls is the order of events. (2) A pipeline reads its own part of the
journal, and writes none of it.
"""

from __future__ import annotations

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.stream_elements import TakenInput
from seatunnel_py.runtime.storage.journal import Journal
from seatunnel_py.runtime.values.rate_limit import RateLimit
from seatunnel_py.runtime.values.settings import Settings


class SharedUse:
    """Shares the resources of one job. ``exchange_bytes``: the size of all segments that are not removed."""

    def __init__(self, journal: Journal, settings: Settings) -> None:
        self._journal = journal
        self._rows, self._bytes = settings.read_rows, settings.read_bytes
        self._limits: dict[str, RateLimit] = {}
        self.exchange_bytes = 0

    def taken(self, pipeline: str, subtask: Subtask) -> tuple[TakenInput, ...]:
        """The durable journal of a subtask, in order."""
        return self._journal.taken_by(pipeline, subtask)

    def read_limit(self, source: str) -> RateLimit | None:
        """The budget of a source step, which all its readers share; None: it has no limit."""
        if self._rows is None and self._bytes is None:
            return None
        return self._limits.setdefault(source, RateLimit(self._rows, self._bytes))
