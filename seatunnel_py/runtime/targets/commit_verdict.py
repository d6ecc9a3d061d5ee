"""What the failure of a commit says about the next try: the word that its coordinator decides by."""

from __future__ import annotations

from collections.abc import Mapping

from seatunnel_py.errors import CommitLostError, FencedError, ForeignLedgerError
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.work.unit import FailureKind, UnitFailure

TYPED: Mapping[type[BaseException], Reason] = {
    CommitLostError: Reason.LOST,
    FencedError: Reason.FENCED,
    ForeignLedgerError: Reason.FOREIGN,
}
_BY_NAME = {one.__name__: reason for one, reason in TYPED.items()}


def reason_of(failure: UnitFailure) -> Reason:
    """COMMIT_FAILED: another try may succeed."""
    if failure.kind is FailureKind.RETRIABLE:
        return Reason.COMMIT_FAILED
    return _BY_NAME.get(failure.error_type, Reason.COMMIT_REFUSED)


def error_type(error: BaseException) -> str:
    """The name of its type; of a plugin's own kind of a verdict the name of the verdict."""
    return next((one.__name__ for one in TYPED if isinstance(error, one)), type(error).__name__)
