"""What is said to targets, and what their answers lead to: the queue of commits in the coordinator's hands.

Rules. (CN1) A failed commit is tried again, ever more rarely: for ever where no bound is set, so that what is completed
becomes visible however long the target is away (I29); after the bound it counts as refused. One counter makes both, and
the pause that people read. (CN2) What never will succeed ends the pipeline; nobody is told that it was committed (I31,
I34). (CN3) An answer to another incarnation changes nothing (I37). (CN4) Whom the target refuses for good is
left out where the others can go on without it (FO5), also behind the record that holds everything: what it has not
committed stays in every record, for a later driver to commit, and keeps nobody waiting. One that is out already harms
nobody any more.

May not know: why a target refuses, and what a ledger is (``commits.py``).
"""

from __future__ import annotations

from seatunnel_py.protocol.commit.commit_queue import FailedCommit
from seatunnel_py.protocol.coordinator.commands import CommitWaits, SetTimer
from seatunnel_py.protocol.coordinator.coordinator_state import CoordinatorState
from seatunnel_py.protocol.coordinator.events import CommitConfirmed, CommitFailed
from seatunnel_py.protocol.model.backoff import Backoff
from seatunnel_py.protocol.model.reasons import Reason

COMMIT = "commit "


class CommitRetries:
    """``failures`` counts, by scope, tries since the last one that succeeded; ``tries``: how many there may be, None:
    as many as it takes."""

    def __init__(self, shared: CoordinatorState, backoff: Backoff, tries: int | None = None) -> None:
        self.tries = tries
        self.shared = shared
        self.backoff = backoff
        self.failures: dict[str, int] = {}

    def confirmed(self, event: CommitConfirmed) -> None:
        """The ledger of this scope holds the checkpoint."""
        shared = self.shared
        if event.incarnation != shared.incarnation:
            shared.stale += 1
            return
        self.failures.pop(event.scope, None)
        shared.commits = shared.commits.confirmed(event.scope, event.checkpoint)
        shared.issue_commits()

    def failed(self, event: CommitFailed) -> Reason | None:
        """Returns why the pipeline must end, None where the commit is tried again."""
        shared = self.shared
        if event.incarnation != shared.incarnation:
            shared.stale += 1
            return None
        scope, failures = event.scope, self.failures.get(event.scope, 0) + 1
        used_up = event.reason is Reason.COMMIT_FAILED and self.tries is not None and failures >= self.tries
        reason = Reason.COMMIT_REFUSED if used_up else event.reason
        shared.commits, follows = shared.commits.failed(scope, event.checkpoint, reason)
        if follows is FailedCommit.RETRY:
            self.failures[scope], pause = failures, self.backoff.pause(failures - 1)
            shared.say(SetTimer(f"{COMMIT}{scope}", pause), CommitWaits(scope, event.checkpoint, failures, pause))
        return reason if follows is FailedCommit.END else None

    def retry(self, scope: str) -> None:
        """The pause after a failure is over."""
        self.shared.commits = self.shared.commits.retry(scope)
        self.shared.issue_commits()
