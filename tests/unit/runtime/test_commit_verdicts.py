"""What a target says of a commit reaches the coordinator as it is, and each failure is shown with its own cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatunnel_py.errors import CommitLostError, FatalError, FencedError, ForeignLedgerError, RetriableError
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.state.troubles import STORE, Troubles, commit_of, unit_of
from seatunnel_py.runtime.targets.call_failure import as_failure
from seatunnel_py.runtime.targets.commit_verdict import reason_of
from tests.unit.runtime.test_left_out import FanOut, states


class OwnKindOfLoss(CommitLostError):
    """A plugin's."""


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RetriableError("away"), Reason.COMMIT_FAILED),
        (FatalError("LOST: as older plugins say it"), Reason.COMMIT_REFUSED),
        (ValueError("unforeseen"), Reason.COMMIT_REFUSED),
        (CommitLostError("gone"), Reason.LOST),
        (OwnKindOfLoss("gone"), Reason.LOST),
        (FencedError("a newer run"), Reason.FENCED),
        (ForeignLedgerError("another job"), Reason.FOREIGN),
    ],
)
def test_the_type_of_an_error_is_the_word_of_its_target(error: Exception, reason: Reason) -> None:
    assert reason_of(as_failure(error)) is reason


@pytest.mark.parametrize("error", [CommitLostError, FencedError, ForeignLedgerError])
def test_what_no_refusal_is_leaves_no_table_out(tmp_path: Path, error: type[FatalError]) -> None:
    """B7, I31, I34: one of three sinks says it; the pipeline ends with it, and is resumable or not as it says."""
    job = FanOut(tmp_path, failing={})

    def act(what: str) -> None:
        if what == "commit":
            raise error("it is gone", "look at it")

    job.targets[1].act = act

    (table,) = job.run().tables

    assert TableState.ISOLATED not in {table.state, *states(table)}
    assert table.cause is not None and table.cause.message.endswith("it is gone")
    assert table.cause.error_type == error.__name__


def test_a_failure_that_is_over_takes_its_own_cause_away_only() -> None:
    """B10."""
    troubles = Troubles()
    store, unit, commit = (as_failure(FatalError(what)) for what in ("store", "unit", "commit"))
    troubles.begins(STORE, store)
    troubles.begins(unit_of("x"), unit)
    troubles.begins(commit_of("out"), commit)

    assert troubles.latest is commit
    assert troubles.cause(Reason.COMMIT_REFUSED) == (commit_of("out"), commit)
    assert troubles.cause(Reason.UNIT_FAILED) == (unit_of("x"), unit)
    assert troubles.cause(Reason.TOO_MANY_FAILED_CHECKPOINTS) == (STORE, store)
    assert troubles.ends(commit_of("out")) and not troubles.ends(commit_of("out"))
    assert troubles.cause(Reason.LOST) is None

    troubles.units_run()
    assert troubles.cause(Reason.UNIT_FAILED) is None and troubles.latest is store
    assert troubles.ends(STORE) and not troubles
