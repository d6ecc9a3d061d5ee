"""The state of a pipeline from earlier drivers, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seatunnel_py.plan.altered_log import AlteredLog
from seatunnel_py.plan.tables.table_refresh import RefreshWish
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.values.split_progress import SplitRound
from seatunnel_py.work.unit import SinkPiece


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """The state of a pipeline from earlier drivers, or from this one before it starts from nothing again. ``found``:
    rounds of splits in the journal, by vertex and number, perhaps not in the record yet. ``graph``: the graph of the
    journal, which also names its batch numbers. ``numberings``: other names, for subtasks that have reused numbers for
    other rows. ``epochs``: epochs that this driver has used; ``strays``: pieces staged in them. ``stood_at``: records,
    by number, that isolated sinks need. ``known_bad``: vertices whose bad rows the former pipeline has already
    quarantined. ``altered``: the plan of a log for the new schemas at its position, which no record has yet.
    ``reset``: it copies its table again, so its targets are emptied before it starts from nothing. ``refreshes``: rows
    that are read again before its log is read."""

    record: CheckpointRecord | None = None
    done: frozenset[str] = frozenset()
    dropped: bool = False
    per_split: bool = False
    found: Mapping[str, Mapping[int, SplitRound]] = field(default_factory=dict)
    graph: tuple[str, str] | None = None
    numberings: Mapping[Subtask, str] = field(default_factory=dict)
    epochs: Mapping[str, int] = field(default_factory=dict)
    strays: tuple[SinkPiece, ...] = ()
    stood_at: Mapping[int, CheckpointRecord] = field(default_factory=dict)
    known_bad: frozenset[str] = frozenset()
    altered: AlteredLog | None = None
    reset: bool = False
    refreshes: tuple[RefreshWish, ...] = ()

    @property
    def empties(self) -> bool:
        """Whether its targets are emptied before it starts."""
        return self.reset and self.begins_anew

    @property
    def begins_anew(self) -> bool:
        """Whether it starts from nothing, because there is no record, or because the journal gave it up."""
        return self.record is None or self.dropped
