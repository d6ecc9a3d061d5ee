"""The life of what one checkpoint has to make visible in one scope, and the twelve points at which a driver's death may
cut it short.

Rules, in continuation of ``commits.py``. (CM10) What is prepared survives the abort of its checkpoint (I14), is applied
only when a record names it (I27), and is dropped only when none ever will (I33). (CM11) A commit that reaches the
target again, at whatever time, leads nowhere else (I28, F18). (CM12) What the next driver does follows from durable
facts alone: records, ledger, pieces.

May not know: what the driver that died remembered.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from seatunnel_py.protocol.model.lifecycle import Table


class Stage(StrEnum):
    """How far the pieces of one checkpoint in one scope have come."""

    PREPARED = "prepared"
    COMPLETED = "completed"
    COMMITTED = "committed"
    CONFIRMED = "confirmed"
    DROPPED = "dropped"
    LOST = "lost"


class Step(StrEnum):
    """What happens to them."""

    ABORT = "their checkpoint is given up"
    PERSIST = "their record is durable"
    SWEEP = "no record will ever name them"
    APPLY = "the target applies a commit"
    FAIL = "the answer is a failure, or none"
    MISS = "they are gone before they were applied"
    CONFIRM = "the driver hears that the ledger holds them"


COMMIT_LIFE: Table[Stage, Step] = {
    # An abort keeps what is prepared: the next completed checkpoint carries it (CM10).
    Stage.PREPARED: {Step.ABORT: Stage.PREPARED, Step.PERSIST: Stage.COMPLETED, Step.SWEEP: Stage.DROPPED},
    Stage.COMPLETED: {Step.FAIL: Stage.COMPLETED, Step.APPLY: Stage.COMMITTED, Step.MISS: Stage.LOST},
    # The driver may not know it: it asks again, and the ledger says that it is done (CM11).
    Stage.COMMITTED: {Step.FAIL: Stage.COMMITTED, Step.APPLY: Stage.COMMITTED, Step.CONFIRM: Stage.CONFIRMED},
    Stage.CONFIRMED: {Step.APPLY: Stage.CONFIRMED, Step.FAIL: Stage.CONFIRMED, Step.CONFIRM: Stage.CONFIRMED},
    Stage.DROPPED: {},
    Stage.LOST: {},
}
"""CONFIRMED is no end: a late or repeated commit still reaches the target, and changes nothing (F18)."""


class Recorded(StrEnum):
    """What the records say of a checkpoint."""

    NOWHERE = "no record of it is published"
    CARRIED = "the newest record carries its commit"
    CONFIRMED = "a newer record carries its commit no longer"


class Recovery(StrEnum):
    """What the next driver does about it."""

    NOTHING = "nothing is left of it"
    SWEEP = "its pieces are orphans"
    COMMIT = "commit again: the ledger makes it once"
    CLEAN = "only cleaning is left"
    ALARM = "stop and say so: a memory is lost"


RECOVERY: Mapping[tuple[Recorded, bool, bool], Recovery] = {
    # what the records say, the ledger holds it, something of it is staged (where it is to be applied: all of it)
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
"""Durable facts alone decide: nothing that a driver remembers survives it."""

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
"""Where a driver may die, and the durable facts that it leaves: the key of ``RECOVERY``."""
