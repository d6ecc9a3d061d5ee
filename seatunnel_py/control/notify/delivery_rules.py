"""Decides when an event is sent again, and what an attempt means for its target. Pure.

Rules. (1) Waits belong to the target, not to the event: a target that is down gets one attempt for each wait, however
many events wait for it. (2) The first wait is ``FIRST_SECONDS``, each further one twice as long, up to
``SECONDS_MAX``. (3) An answer 410 switches the target off until a person switches it on. (4) Waits are monotonic times;
a new server waits the rest of what the wall clock shows, and at most one wait.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from seatunnel_py.control.notify.sending.attempt import AttemptResult
from seatunnel_py.control.store.outbox.deliveries import DeliveryState
from seatunnel_py.control.store.outbox.target_states import OutboxTarget

FIRST_SECONDS = 10.0
FACTOR = 2.0
SECONDS_MAX = 3_600.0
JITTER = 0.2
_EXPONENT_MAX = 32


@dataclass(frozen=True, slots=True)
class AfterAttempt:
    """``target``: its new state; ``delivery``: the new state of the delivery; ``wait``: seconds until the next attempt;
    ``act``: for the audit, empty: nothing but a further attempt has happened."""

    target: OutboxTarget
    delivery: DeliveryState
    wait: float = 0.0
    act: str = ""


def after(before: OutboxTarget, result: AttemptResult, now: float, random: float) -> AfterAttempt:
    """Decide about the delivery after an attempt; ``random``: from 0 to 1."""
    tried = replace(before, tried_at=now, code=result.code, error=result.error)
    if result.sent:
        works = replace(tried, failures=0, failing_since=None, next_at=None, sent_at=now, disabled="")
        return AfterAttempt(works, DeliveryState.SENT, 0.0, "notify.works" if before.failures else "")
    failures = before.failures + 1
    wait = wait_seconds(failures, random)
    failing = replace(tried, failures=failures, failing_since=before.failing_since or now, next_at=now + wait)
    if result.gone:
        off = replace(failing, disabled=result.error, next_at=None)
        return AfterAttempt(off, DeliveryState.WAITING, wait, "notify.disabled")
    return AfterAttempt(failing, DeliveryState.WAITING, wait, "" if before.failures else "notify.failing")


def wait_seconds(failures: int, random: float) -> float:
    """Seconds until the next attempt after so many ``failures`` in a row."""
    exponent = min(max(failures, 1) - 1, _EXPONENT_MAX)
    return min(FIRST_SECONDS * FACTOR**exponent, SECONDS_MAX) * (1 + JITTER * (2 * random - 1))


def first_wait(state: OutboxTarget, now: float) -> float:
    """Seconds that a new server waits before its first attempt."""
    if state.next_at is None:
        return 0.0
    return min(max(0.0, state.next_at - now), wait_seconds(state.failures, 1.0))
