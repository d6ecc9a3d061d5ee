"""States of the pieces of one checkpoint in one commit scope, and the twelve points at which a driver may die.

Rules, continued from ``commit_queue.py``. (CM10) Pieces survive the abort of their checkpoint (I14), are committed
only if a record contains them (I27), and are deleted only if no record ever will (I33). (CM11) A repeated or late commit
has no further effect on the target (I28, F18). (CM12) The next driver decides by durable facts alone: records, ledger,
pieces.

May not know: the memory of the driver that died.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from seatunnel_py.protocol.model.lifecycle import Table


class Stage(StrEnum):
    """State of the pieces of one checkpoint in one scope."""

    PREPARED = "prepared"
    COMPLETED = "completed"
    COMMITTED = "committed"
    CONFIRMED = "confirmed"
    DROPPED = "dropped"
    LOST = "lost"


class Step(StrEnum):
    """Events of these pieces."""

    ABORT = "their checkpoint is aborted"
    PERSIST = "their record is durable"
    SWEEP = "no record will ever contain them"
    APPLY = "the target applies a commit"
    FAIL = "the reply is a failure, or none"
    MISS = "they disappear before they are committed"
    CONFIRM = "the driver reads them in the ledger"


COMMIT_LIFE: Table[Stage, Step] = {
    # An abort keeps the pieces: the next completed checkpoint carries them (CM10).
    Stage.PREPARED: {Step.ABORT: Stage.PREPARED, Step.PERSIST: Stage.COMPLETED, Step.SWEEP: Stage.DROPPED},
    Stage.COMPLETED: {Step.FAIL: Stage.COMPLETED, Step.APPLY: Stage.COMMITTED, Step.MISS: Stage.LOST},
    # The driver may not know it: it commits again, and finds the commit in the ledger (CM11).
    Stage.COMMITTED: {Step.FAIL: Stage.COMMITTED, Step.APPLY: Stage.COMMITTED, Step.CONFIRM: Stage.CONFIRMED},
    Stage.CONFIRMED: {Step.APPLY: Stage.CONFIRMED, Step.FAIL: Stage.CONFIRMED, Step.CONFIRM: Stage.CONFIRMED},
    Stage.DROPPED: {},
    Stage.LOST: {},
}
"""CONFIRMED is not final: a late or repeated commit may still reach the target, and changes nothing (F18)."""


class Recorded(StrEnum):
    """State of a checkpoint's commit in the records."""

    NOWHERE = "no record of it is published"
    CARRIED = "the newest record carries its commit"
    CONFIRMED = "a newer record no longer carries its commit"


class Recovery(StrEnum):
    """Reaction of the next driver."""

    NOTHING = "does nothing"
    SWEEP = "deletes its pieces"
    COMMIT = "commits again: the ledger makes it effective once"
    CLEAN = "only cleans up"
    ALARM = "stops with an error: durable data is lost"


RECOVERY: Mapping[tuple[Recorded, bool, bool], Recovery] = {
    # records, committed in the ledger, pieces exist (if the commit is due: all of them)
    (Recorded.NOWHERE, False, False): Recovery.NOTHING,
    (Recorded.NOWHERE, False, True): Recovery.SWEEP,
    (Recorded.NOWHERE, True, False): Recovery.ALARM,
    (Recorded.NOWHERE, True, True): Recovery.ALARM,
    (Recorded.CARRIED, False, False): Recovery.ALARM,
    (Recorded.CARRIED, False, True): Recovery.COMMIT,
    (Recorded.CARRIED, True, False): Recovery.COMMIT,
    (Recorded.CARRIED, True, True): Recovery.COMMIT,
    (Recorded.CONFIRMED, False, False): Recovery.ALARM,
    (Recorded.CONFIRMED, False, True): Recovery.ALARM,
    (Recorded.CONFIRMED, True, False): Recovery.NOTHING,
    (Recorded.CONFIRMED, True, True): Recovery.CLEAN,
}
"""Durable facts alone decide: a driver's memory dies with it."""

CRASH_POINTS: tuple[tuple[str, Recorded, bool, bool], ...] = (
    ("p1 staging begun", Recorded.NOWHERE, False, True),
    ("p2 staged, not confirmed", Recorded.NOWHERE, False, True),
    ("p3 confirmed, not acknowledged", Recorded.NOWHERE, False, True),
    ("p4 some acknowledgements", Recorded.NOWHERE, False, True),
    ("p5 all acknowledgements", Recorded.NOWHERE, False, True),
    ("p6 record written, not published", Recorded.NOWHERE, False, True),
    ("p7 record published", Recorded.CARRIED, False, True),
    ("p8 before the target's commit", Recorded.CARRIED, False, True),
    ("p9 inside the target's commit", Recorded.CARRIED, False, True),
    ("p10 committed, the driver does not know", Recorded.CARRIED, True, True),
    ("p11 commit recorded", Recorded.CONFIRMED, True, True),
    ("p12 cleaning", Recorded.CONFIRMED, True, True),
)
"""Points at which a driver may die, and the durable facts then: the key of ``RECOVERY``."""
