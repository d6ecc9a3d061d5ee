"""What earlier drivers have left of a pipeline, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.values.split_progress import SplitRound
from seatunnel_py.work.unit import SinkPiece


@dataclass(frozen=True, slots=True)
class EarlierRun:
    """What earlier drivers have left of a pipeline, or this one before it begins anew; ``found``: rounds of splits, by
    vertex and number, that the journal holds and the record perhaps not yet; ``graph``: what the journal is of, and
    what its numbers are called; ``numberings``: what they are called where a subtask gives them to other rows since;
    ``epochs``: those that this driver has lived; ``strays``: what it has staged in them; ``stood_at``: records, by
    number, at which sinks stand that were left out; ``known_bad``: vertices whose bad rows another pipeline has set
    aside, which has read all that this one reads."""

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
