"""The kinds of events that are reported. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase

from seatunnel_py.control.restart_policy import EndKind


class EventKind(StrEnum):
    """A kind of event, as targets choose it and receivers see it."""

    RUN_STARTED = "run.started"
    RUN_SUCCEEDED = "run.succeeded"
    RUN_FAILED = "run.failed"
    RUN_PARTIAL = "run.partial"
    RUN_STOPPED = "run.stopped"
    RUN_RESTORED = "run.restored"
    RUN_GAVE_UP = "run.gave_up"
    RUN_STALLED = "run.stalled"
    RUN_RECOVERED = "run.recovered"
    TABLE_FAILED = "table.failed"
    SCHEMA_WAITS = "schema.waits"
    TEST = "test"


SENTENCES = {
    EventKind.RUN_STARTED: "the run has started",
    EventKind.RUN_SUCCEEDED: "the run has succeeded",
    EventKind.RUN_FAILED: "the run has failed",
    EventKind.RUN_PARTIAL: "some tables of the run have failed",
    EventKind.RUN_STOPPED: "the run was stopped",
    EventKind.RUN_RESTORED: "the run was restored",
    EventKind.RUN_GAVE_UP: "the run is not restored any more until a person looks",
    EventKind.RUN_STALLED: "the driver of the run is alive and writes nothing",
    EventKind.RUN_RECOVERED: "the job works again",
    EventKind.TABLE_FAILED: "tables have failed, the others go on",
    EventKind.SCHEMA_WAITS: "a change of a schema waits for a decision",
    EventKind.TEST: "this is a test",
}
CHOSEN = tuple(kind for kind in EventKind if kind is not EventKind.TEST)
"""The kinds that a target may choose; a test goes to the target that is tested."""

QUIET = frozenset({EventKind.RUN_STARTED, EventKind.RUN_SUCCEEDED, EventKind.RUN_STOPPED})
"""Kinds that a target gets only if it names them."""

TROUBLES = frozenset(
    {EventKind.RUN_FAILED, EventKind.RUN_PARTIAL, EventKind.RUN_GAVE_UP, EventKind.RUN_STALLED, EventKind.TABLE_FAILED}
)
"""Kinds after which a job recovers."""

FOLDED = frozenset(
    {
        EventKind.RUN_FAILED, EventKind.RUN_PARTIAL, EventKind.RUN_RESTORED, EventKind.RUN_STALLED,
        EventKind.TABLE_FAILED,
    }
)  # fmt: skip
"""Kinds that come again and again while a job restarts."""

OF_END = {
    EndKind.DONE: EventKind.RUN_SUCCEEDED,
    EndKind.FAILED: EventKind.RUN_FAILED,
    EndKind.KILLED: EventKind.RUN_FAILED,
    EndKind.BOOT: EventKind.RUN_FAILED,
    EndKind.FILE_WRONG: EventKind.RUN_FAILED,
    EndKind.SOME_TABLES: EventKind.RUN_PARTIAL,
    EndKind.STOPPED: EventKind.RUN_STOPPED,
    EndKind.STOPPED_AT_BOOT: EventKind.RUN_STOPPED,
}
OF_OUTCOME = {
    "done": EventKind.RUN_SUCCEEDED,
    "failed": EventKind.RUN_FAILED,
    "killed": EventKind.RUN_FAILED,
    "partial": EventKind.RUN_PARTIAL,
    "stopped": EventKind.RUN_STOPPED,
}
"""The kind of an end that no server has started, by ``RunRow.outcome``."""


def chosen_kinds(patterns: Sequence[str]) -> frozenset[EventKind]:
    """The kinds that these patterns choose, as in ``run.*``; empty: all but the quiet ones. Raises ValueError for a
    pattern that chooses none."""
    if not patterns:
        return frozenset(CHOSEN) - QUIET
    found: set[EventKind] = set()
    for pattern in patterns:
        kinds = {kind for kind in CHOSEN if fnmatchcase(kind.value, pattern)}
        if not kinds:
            raise ValueError(f"{pattern!r} chooses no kind of event; there are {', '.join(CHOSEN)}")
        found |= kinds
    return frozenset(found)


def wanted(kinds: Collection[EventKind], kind: EventKind, covered_by: EventKind | None) -> bool:
    """Whether a target that chose ``kinds`` gets an event; ``covered_by``: another event reports the same."""
    return kind in kinds and not (covered_by is not None and covered_by in kinds)
