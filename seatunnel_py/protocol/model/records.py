"""Checkpoint records: everything that a later driver needs, in one plain, versioned value.

Rules. (P1) A record is complete or absent: it is stored in one act (I10). (P2) It contains what is completed but not
confirmed of earlier checkpoints, so that the newest record alone is enough to go on. (P3) A claim of an incarnation
names the checkpoint that it continues from; records of lower incarnations that are not on that chain are void.

May not know: bytes and stores (``record_format.py``, ``claims.py``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.stream_elements import Plain, StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Topology

RECORD_VERSION = 1


class RecordKind(StrEnum):
    """A savepoint is pinned; CHECKPOINT_0 is written before any side effect; FINAL is the last of a bounded job."""

    ZERO = "checkpoint-0"
    PERIODIC = "checkpoint"
    SAVEPOINT = "savepoint"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """What has to become visible at once in one scope; ``checkpoint`` is where its ledger will stand afterwards."""

    scope: str
    checkpoint: int
    pieces: tuple[StagedPiece, ...]


@dataclass(frozen=True, slots=True)
class CheckpointRecord:
    """``previous`` is the completed checkpoint before it; ``uncommitted`` are commits, oldest first, that were not
    confirmed when it was made, its own included; ``set_up`` names set-up units that are done; ``plan`` is what
    checkpoint 0 decided, carried along; ``ledgers`` is where each scope's ledger was known to stand; ``topology`` is
    the graph that the snapshots are of; ``joined`` are vertices that came back with it (RJ4)."""

    checkpoint: int
    incarnation: int
    kind: RecordKind
    previous: int
    topology: Topology
    epochs: Mapping[str, int]
    snapshots: Mapping[Subtask, SubtaskSnapshot]
    uncommitted: tuple[CommitRecord, ...] = ()
    name: str = ""
    set_up: frozenset[str] = field(default_factory=frozenset)
    plan: Plain = None
    ledgers: Mapping[str, int] = field(default_factory=dict)
    joined: frozenset[str] = field(default_factory=frozenset)
    version: int = RECORD_VERSION
