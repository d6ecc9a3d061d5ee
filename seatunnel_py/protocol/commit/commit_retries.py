"""Sends commits to targets, and handles their replies.

Rules. (CN1) A failed commit is retried with growing pauses: without a limit forever, so that completed checkpoints
become visible however long the target is unavailable (I29); with a limit it then counts as refused. One counter
determines the limit, the pause and the report. (CN2) A commit that can never succeed ends the pipeline, and is never
reported as committed (I31, I34). (CN3) A reply to another incarnation has no effect (I37). (CN4) A scope whose target
refuses for good is isolated if the others can go on without it (FO5), also after the record that holds everything: its
uncommitted pieces stay in every record, for a later driver to commit, and delay no other scope. A refusal by an
isolated scope has no effect.

May not know: why a target refuses, and what a ledger is (``commit_queue.py``).
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
    """Retries failed commits. ``failures``: consecutive failed tries by scope; ``tries``: their limit, None: no
    limit."""

    def __init__(self, shared: CoordinatorState, backoff: Backoff, tries: int | None = None) -> None:
        self.tries = tries
        self.shared = shared
        self.backoff = backoff
        self.failures: dict[str, int] = {}

    def confirmed(self, event: CommitConfirmed) -> None:
        """The ledger of this scope contains the checkpoint."""
        shared = self.shared
        if event.incarnation != shared.incarnation:
            shared.stale += 1
            return
        self.failures.pop(event.scope, None)
        shared.commits = shared.commits.confirmed(event.scope, event.checkpoint)
        shared.issue_commits()

    def failed(self, event: CommitFailed) -> Reason | None:
        """Return why the pipeline must end; None: the commit is retried."""
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
        """The pause after a failure has ended."""
        self.shared.commits = self.shared.commits.retry(scope)
        self.shared.issue_commits()
