"""The far side of a commit: what a store and a target decide in the act that writes. Real ones do it in their own terms.

Rules, in continuation of ``commit_queue.py``. (CM9) The target decides inside the transaction that applies, and asks
its ledger before it looks at pieces: whose memory it is, who may write, whether it is done; only then may missing
pieces be called LOST, and never done (I28, I31, I34, I38).

May not know: what a piece is, how a target stores its ledger.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import CommitRecord


def may_write(owner: int, incarnation: int) -> bool:
    """Asked by the store, in the same act as the write (CL1). ``owner``: the highest incarnation that was taken."""
    return incarnation == owner


class Verdict(StrEnum):
    """What a committer does in the target's transaction, after it has locked the ledger's row (I38)."""

    APPLY = "apply the pieces and move the ledger"
    ALREADY = "the ledger holds it already"
    FENCED = "a newer driver has claimed the ledger"
    FOREIGN = "the ledger belongs to another lineage, or knows more than the store"
    GAP = "an earlier commit of this scope is missing in the target"
    LOST = "the pieces are gone, and the ledger does not hold them"


REASON_OF: Mapping[Verdict, Reason | None] = {
    Verdict.APPLY: None,
    Verdict.ALREADY: None,
    Verdict.FENCED: Reason.FENCED,
    Verdict.FOREIGN: Reason.FOREIGN,
    Verdict.GAP: Reason.LOST,
    Verdict.LOST: Reason.LOST,
}
"""What the committer answers: None is CommitConfirmed, anything else CommitFailed with this reason."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One row per lineage, sink step and table, in the target itself."""

    lineage: str
    incarnation: int
    checkpoint: int


def claim_ledger(ledger: LedgerRow | None, lineage: str, incarnation: int, newest: int) -> LedgerRow | Verdict:
    """A driver's first word to a target, before it reads anything else there (I38): the row to write, or why not.
    ``newest`` is the newest completed checkpoint of its store: a target that knows a later one remembers what the
    store has forgotten."""
    if ledger is None:
        return LedgerRow(lineage, incarnation, 0)
    return _refusal(ledger, lineage, incarnation, newest) or LedgerRow(lineage, incarnation, ledger.checkpoint)


def ledger_decision(
    ledger: LedgerRow | None,
    commit: CommitRecord,
    *,
    lineage: str,
    incarnation: int,
    newest: int,
    previous: int | None = None,
    pieces_there: bool = True,
) -> Verdict:
    """Decide inside the transaction that applies. ``previous``: where the ledger has to stand, where that is known
    (I30). The ledger is asked before the pieces: those of a commit that it holds may be gone (p11, p12), and those
    of one that it does not hold may not (I31)."""
    if ledger is not None and (refusal := _refusal(ledger, lineage, incarnation, newest)) is not None:
        return refusal
    stands_at = 0 if ledger is None else ledger.checkpoint
    if commit.checkpoint <= stands_at:
        return Verdict.ALREADY
    if previous is not None and stands_at < previous:
        return Verdict.GAP
    return Verdict.APPLY if pieces_there else Verdict.LOST


def _refusal(ledger: LedgerRow, lineage: str, incarnation: int, newest: int) -> Verdict | None:
    if ledger.lineage != lineage:
        return Verdict.FOREIGN
    if ledger.incarnation > incarnation:
        return Verdict.FENCED
    return Verdict.FOREIGN if ledger.checkpoint > newest else None
