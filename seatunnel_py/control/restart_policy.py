"""Decides whether a run that has ended is restored. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from seatunnel_py.control.backoff import HEALTHY_SECONDS
from seatunnel_py.control.store.wishes import RestartPolicy, Wish
from seatunnel_py.errors import ExitCode, first_line

SAME_CAUSE_MAX = 5


class EndKind(StrEnum):
    """How a driver ended. ``BOOT``: it was alive when the machine stopped; ``STOPPED_AT_BOOT``: a signal stopped it,
    and the machine has started since."""

    DONE = "done"
    FAILED = "failed"
    KILLED = "killed"
    BOOT = "boot"
    FILE_WRONG = "job file wrong"
    SOME_TABLES = "some tables failed"
    STOPPED = "stopped"
    STOPPED_AT_BOOT = "stopped at the end of the machine"


RESTARTED = {
    RestartPolicy.NEVER: frozenset[EndKind](),
    RestartPolicy.ON_FAILURE: frozenset({EndKind.FAILED, EndKind.KILLED, EndKind.BOOT}),
    RestartPolicy.ALWAYS: frozenset(
        {EndKind.FAILED, EndKind.KILLED, EndKind.BOOT, EndKind.SOME_TABLES, EndKind.STOPPED_AT_BOOT}
    ),
}
"""The ends after which a run is restored. Never after a wrong job file or a stop by a person: each needs a person."""


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The end of a driver. ``alive_seconds``: how long it was seen alive; ``cause``: of its first failure;
    ``position``: how far it had come."""

    kind: EndKind
    alive_seconds: float = 0.0
    cause: str = ""
    position: str = ""


@dataclass(frozen=True, slots=True)
class RestartDecision:
    """``wish``: with its new counts; ``restore``: after a backoff of ``wish.failures``."""

    wish: Wish
    restore: bool


def end_kind(exit_code: int | None, *, boot_differs: bool) -> EndKind:
    """The kind of an end; ``exit_code``: of the receipt, else of the process; None: there is neither, or a signal ended
    it. ``boot_differs``: the machine has started since the driver did."""
    if exit_code is None:
        return EndKind.BOOT if boot_differs else EndKind.KILLED
    if exit_code in (ExitCode.INTERRUPTED, ExitCode.TERMINATED):
        return EndKind.STOPPED_AT_BOOT if boot_differs else EndKind.STOPPED
    known = {
        ExitCode.SUCCESS: EndKind.DONE,
        ExitCode.JOB_FILE_WRONG: EndKind.FILE_WRONG,
        ExitCode.SOME_TABLES_FAILED: EndKind.SOME_TABLES,
    }
    return known.get(exit_code, EndKind.FAILED)


def decide(wish: Wish, end: RunEnd) -> RestartDecision:
    """Decide whether the run of a wish is restored after this end. The same cause at the same position,
    ``SAME_CAUSE_MAX`` times in a row, holds it until a person looks."""
    if wish.run is None or wish.held or end.kind not in RESTARTED[wish.policy]:
        return RestartDecision(wish, restore=False)
    if end.kind in (EndKind.BOOT, EndKind.STOPPED_AT_BOOT):
        return RestartDecision(replace(wish, failures=0, same=0, cause="", position=""), restore=True)
    healthy = end.alive_seconds >= HEALTHY_SECONDS
    failures = 1 if healthy else wish.failures + 1
    cause = end.cause or end.kind.value
    again = not healthy and (cause, end.position) == (wish.cause, wish.position)
    counted = replace(wish, failures=failures, cause=cause, position=end.position, same=wish.same + 1 if again else 1)
    if counted.same >= SAME_CAUSE_MAX:
        return RestartDecision(replace(counted, held=_held(counted)), restore=False)
    return RestartDecision(counted, restore=True)


def released(wish: Wish) -> Wish:
    """The wish after a person has looked: its counts start from zero."""
    return replace(wish, failures=0, same=0, cause="", position="", held="")


def _held(wish: Wish) -> str:
    where = f" at checkpoint {wish.position}" if wish.position else ""
    return f"HELD: it has failed {wish.same} times in a row with the same cause{where}: {first_line(wish.cause)}"
