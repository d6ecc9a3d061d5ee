"""Decides which driver may write, which records are valid, and which record the next driver resumes from.

Rules. (CL1) A driver takes an incarnation by create-if-absent. The number is higher than every earlier one, and only
the driver with the highest may write (I34). (CL2) Fence, then read, then decide (I38): a driver first takes its
incarnation, then reads the records, and last publishes a claim that names the record to resume from. (CL3) The chain
consists of the records of the highest claim, before them the record that it continues from, and so on with that
record's incarnation. Records outside of the chain are void (P3). (CL4) A driver resumes from the newest record of the
chain. If that record is damaged, missing, or older than another durable place proves, it stops; it never takes an older
one by itself (I17, F23, F24). (CL5) An id is never used twice (I11). Ids of aborted checkpoints are not durable: so a
driver uses no id that is ``ID_RESERVE`` or more above the newest durable one, and the next driver starts above that.
(CL6) Claims that contradict each other or themselves are damaged: nothing is restored from them, not even their common
part.

May not know: how the store works.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from seatunnel_py.protocol.model.records import CheckpointRecord

ID_RESERVE = 1000
"""Number of checkpoints that may be aborted in a row before one must complete. Larger: only increases the gap in ids at
each start of a driver. Smaller: a pipeline with many tolerated failures must stop."""


@dataclass(frozen=True, slots=True)
class Claim:
    """States that an incarnation continues from checkpoint ``continues`` of incarnation ``continues_of``; None: from
    nothing. ``first`` is the first checkpoint id that it may use."""

    incarnation: int
    continues: int | None = None
    continues_of: int = 0
    first: int = 1


@dataclass(frozen=True, slots=True)
class DamagedRecord:
    """A record that exists in the store under these names, but cannot be read."""

    checkpoint: int
    incarnation: int
    why: str


@dataclass(frozen=True, slots=True)
class RestoreRefusal:
    """Nothing is restored, without a fallback: a user must intervene."""

    why: str


Stored: TypeAlias = CheckpointRecord | DamagedRecord


def next_incarnation(owner: int, claims: Iterable[Claim] = ()) -> int:
    """The incarnation to take by create-if-absent; if it exists already, read the claims and call again (CL1)."""
    return max([owner, *(claim.incarnation for claim in claims)]) + 1


def on_chain(claims: Iterable[Claim], records: Iterable[Stored]) -> tuple[Stored, ...]:
    """The valid records, oldest first (CL3). Records of an incarnation are written in sequence, so those up to the one
    that a claim continues from are exactly its ancestors; retention may have deleted some."""
    by_incarnation = {claim.incarnation: claim for claim in claims}
    every = tuple(records)
    valid: list[Stored] = []
    at: int | None = max(by_incarnation, default=None)
    until: int | None = None
    while at is not None and at in by_incarnation:
        claim = by_incarnation.pop(at)
        valid += [one for one in every if one.incarnation == at and (until is None or one.checkpoint <= until)]
        at, until = (None, None) if claim.continues is None else (claim.continues_of, claim.continues)
    return tuple(sorted(valid, key=lambda one: (one.incarnation, one.checkpoint)))


def void(claims: Iterable[Claim], records: Iterable[Stored]) -> tuple[Stored, ...]:
    """The invalid records: an older driver wrote them after a newer one had taken over (CL3)."""
    every = tuple(records)
    valid = {(one.incarnation, one.checkpoint) for one in on_chain(claims, every)}
    return tuple(one for one in every if (one.incarnation, one.checkpoint) not in valid)


def newest(
    claims: Iterable[Claim], records: Iterable[Stored], at_least: int = 0
) -> CheckpointRecord | RestoreRefusal | None:
    """The record to resume from; None: there is none, and no claim names one (CL4). ``at_least``: the highest
    checkpoint that another durable place (a ledger, a savepoint's list) proves to be completed."""
    known, every = tuple(claims), tuple(records)
    if why := contradiction(known):
        return RestoreRefusal(why)
    top = max(known, key=lambda claim: claim.incarnation, default=None)
    owner = 0 if top is None else top.incarnation
    if unclaimed := [one for one in every if one.incarnation > owner]:
        one = unclaimed[0]
        return RestoreRefusal(f"checkpoint {one.checkpoint} is of driver {one.incarnation}, whose claim is missing")
    chain = on_chain(known, every)
    last = chain[-1] if chain else None
    if isinstance(last, DamagedRecord):
        return RestoreRefusal(f"the newest checkpoint, {last.checkpoint}, cannot be read: {last.why}")
    # Checkpoint 0 is a record too; the value 0 in a ledger does not prove that it exists.
    reached = -1 if last is None else last.checkpoint
    claimed = -1 if top is None or top.continues is None else top.continues
    if reached < claimed or max(reached, 0) < at_least:
        wanted = max(claimed, at_least)
        return RestoreRefusal(f"checkpoint {wanted} was completed, but the store does not show it")
    return last


def contradiction(claims: Iterable[Claim]) -> str:
    """The contradiction in these claims of one pipeline (CL6); empty without one."""
    seen: dict[int, Claim] = {}
    for claim in sorted(claims, key=lambda one: one.incarnation):
        who, from_nothing = f"the claim of driver {claim.incarnation}", claim.continues is None
        if claim.incarnation in seen:
            return f"there are two claims of driver {claim.incarnation}"
        if from_nothing != (claim.continues_of == 0):
            return f"{who} is damaged: it names a checkpoint without its driver, or the reverse"
        if not 0 <= claim.continues_of < claim.incarnation or claim.first < 1:
            return f"{who} is damaged: driver {claim.continues_of}, first checkpoint {claim.first}"
        if claim.continues is not None and not 0 <= claim.continues < claim.first:
            return f"{who} is damaged: it continues from checkpoint {claim.continues}, and begins with {claim.first}"
        # Others need not have seen a claim that was overtaken meanwhile, but they have seen one that they continue.
        if claim.continues_of in seen and claim.first <= seen[claim.continues_of].first:
            return f"{who} is damaged: it begins with checkpoint {claim.first}, which an earlier driver has used"
        seen[claim.incarnation] = claim
    return ""


def claim_from(
    incarnation: int, claims: Iterable[Claim], records: Iterable[Stored], at_least: int = 0
) -> Claim | RestoreRefusal:
    """The claim to publish, once the incarnation is taken (CL2)."""
    known, every = tuple(claims), tuple(records)
    record = newest(known, every, at_least)
    if isinstance(record, RestoreRefusal):
        return record
    first = next_checkpoint(known, every, at_least)
    if record is None:
        return Claim(incarnation, first=first)
    return Claim(incarnation, record.checkpoint, record.incarnation, first)


def next_checkpoint(claims: Iterable[Claim], records: Iterable[Stored], at_least: int = 0) -> int:
    """The first id of the next incarnation: above every id that any driver may have used, also for void and aborted
    checkpoints (CL5)."""
    highest = [claim.first - 1 for claim in claims]
    durable = [*highest, at_least, *(one.checkpoint for one in records)]
    return max(durable) + (ID_RESERVE if highest else 1)


def may_use(checkpoint: int, claim: Claim, newest_completed: int) -> bool:
    """Check an id before a trigger: the next driver would not know of a higher one (CL5)."""
    return checkpoint < max(claim.first - 1, newest_completed) + ID_RESERVE
