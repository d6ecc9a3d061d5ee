"""Maps the failure of a commit to the reason by which the coordinator decides."""

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
    """The reason of a failed commit; COMMIT_FAILED: a retry may succeed."""
    if failure.kind is FailureKind.RETRIABLE:
        return Reason.COMMIT_FAILED
    return _BY_NAME.get(failure.error_type, Reason.COMMIT_REFUSED)


def error_type(error: BaseException) -> str:
    """Name of the error's type; for a subclass of a verdict's error, the name of that."""
    return next((one.__name__ for one in TYPED if isinstance(error, one)), type(error).__name__)
