"""Checkpoint records: everything that a later driver needs, in one plain, versioned value.

Rules. (P1) A record is complete or absent: it is stored in one act (I10). (P2) It contains the unconfirmed commits of
earlier checkpoints, so the newest record alone is sufficient to resume. (P3) A claim of an incarnation
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
    """A savepoint is pinned; CHECKPOINT_0 is written before any side effect; FINAL is the last of a batch job."""

    ZERO = "checkpoint-0"
    PERIODIC = "checkpoint"
    SAVEPOINT = "savepoint"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """Pieces that must become visible together in one scope; its ledger then contains ``checkpoint``."""

    scope: str
    checkpoint: int
    pieces: tuple[StagedPiece, ...]


@dataclass(frozen=True, slots=True)
class CheckpointRecord:
    """The durable record of one checkpoint.

    - ``previous``: the completed checkpoint before it; ``topology``: the graph of the snapshots.
    - ``uncommitted``: unconfirmed commits, oldest first, including its own.
    - ``set_up``: set-up units that are done; ``plan``: the decisions of checkpoint 0, copied to every record.
    - ``ledgers``: last known checkpoint in each scope's ledger; ``joined``: vertices that rejoined with it (RJ4).
    """

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
