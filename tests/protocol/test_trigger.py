"""The trigger decision: O4.2, O4.3, O4.4, O5.5, I16, and the order in which requests wait."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.coordinator.trigger import (
    CHECKS,
    CheckpointSettings,
    Decision,
    Refuse,
    Run,
    TriggerKind,
    TriggerRequest,
    TriggerView,
    Wait,
    decide,
    enqueue,
    first_trigger,
    next_trigger,
)
from seatunnel_py.protocol.model.reasons import Reason
from seatunnel_py.protocol.model.records import RecordKind
from seatunnel_py.protocol.model.stream_elements import Operation, OperationKind

P, S, T, F, C = TriggerKind  # periodic, savepoint, stop, final, control operation

SETTINGS = CheckpointSettings(interval=10, min_pause=5, max_concurrent=2, alignment_timeout=None, queue_max=3)
FREE = TriggerView(now=100, last_end=90)

# Each obstacle alone, in the order of O4.3, O4.4 and ours; whom it binds; what the answer is.
OBSTACLES: list[tuple[Reason, dict[str, Any], str, Decision]] = [
    (Reason.SHUT_DOWN, {"ended": True}, "PSTFC", Refuse(Reason.SHUT_DOWN)),
    (Reason.PERIODIC_OFF, {"periodic": False}, "P", Refuse(Reason.PERIODIC_OFF)),
    (Reason.TOO_MANY_QUEUED, {"queued": 3}, "PSTC", Refuse(Reason.TOO_MANY_QUEUED)),
    (Reason.MIN_PAUSE, {"last_end": 96}, "P", Wait(101, Reason.MIN_PAUSE)),
    (Reason.CONCURRENCY, {"pending": 2}, "PSTFC", Wait(None, Reason.CONCURRENCY)),
    (Reason.NOT_RUNNING, {"all_running": False}, "T", Wait(None, Reason.NOT_RUNNING)),
    (Reason.NOT_RUNNING, {"all_running": False}, "PSFC", Refuse(Reason.NOT_RUNNING)),
    (Reason.COMMIT_LAG, {"uncommitted": 2}, "PF", Wait(None, Reason.COMMIT_LAG)),
    (Reason.NOTHING_NEW, {"moved": False}, "P", Refuse(Reason.NOTHING_NEW)),
]
LETTERS = dict(zip("PSTFC", TriggerKind, strict=True))
CELLS = [
    pytest.param(kind, change, _answer, id=f"{reason.name}-{kind}")
    for reason, change in {reason: change for reason, change, _, _ in OBSTACLES}.items()
    for letter, kind in LETTERS.items()
    for _answer in [next((answer for one, _, binds, answer in OBSTACLES if one is reason and letter in binds), None)]
]


def ask(kind: TriggerKind, view: TriggerView = FREE, settings: CheckpointSettings = SETTINGS) -> Decision:
    return decide(TriggerRequest(kind, at=99, name="mine"), view, settings)


@pytest.mark.parametrize(("kind", "change", "answer"), CELLS)
def test_o4_3_o4_4_each_check_binds_its_kinds_and_no_others(
    kind: TriggerKind, change: dict[str, Any], answer: Decision | None
) -> None:
    """One obstacle alone: whom it binds gets exactly its answer, everybody else runs."""
    decision = ask(kind, replace(FREE, **change))

    assert decision == answer if answer else isinstance(decision, Run)


def test_o4_3_the_checks_are_asked_in_order() -> None:
    """With all obstacles in the way the first answers; each that is removed uncovers the next."""
    obstacles = {reason: change for reason, change, _, _ in OBSTACLES}
    blocked = replace(FREE, **{name: value for change in obstacles.values() for name, value in change.items()})
    answers = []
    for change in obstacles.values():
        answers.append(getattr(ask(P, blocked), "reason", None))
        blocked = replace(blocked, **{name: getattr(FREE, name) for name in change})

    assert answers == list(obstacles) and [one[0] for one in OBSTACLES] == [check.reason for check in CHECKS]
    assert isinstance(ask(P, blocked), Run)


def test_o4_1_a_pipeline_that_is_not_active_takes_none() -> None:
    """Running subtasks are not enough: during a restart of a region the survivors run, too. A stop waits until it runs
    (B1 of the machine's study)."""
    answers = {kind: type(ask(kind, replace(FREE, active=False))) for kind in TriggerKind}

    assert answers == {P: Refuse, S: Refuse, T: Wait, F: Refuse, C: Refuse}


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"queued": 2}, None),
        ({"last_end": 95}, None),
        ({"last_end": 95.5}, Reason.MIN_PAUSE),
        ({"last_end": None}, None),
        ({"pending": 1}, None),
        ({"uncommitted": 1}, None),
        ({"uncommitted": 3}, Reason.COMMIT_LAG),
    ],
)
def test_limits_bind_from_the_limit_on_and_not_before(change: dict[str, Any], reason: Reason | None) -> None:
    """One below is free; the end of a pause is no longer pause; a first checkpoint has no pause before it."""
    assert getattr(ask(P, replace(FREE, **change)), "reason", None) is reason


@pytest.mark.parametrize(
    ("alignment_timeout", "pending", "runs"),
    [(None, 1, True), (None, 2, False), (10.0, 0, True), (10.0, 1, False), (0.0, 0, True), (0.0, 1, False)],
)
def test_i16_one_at_a_time_where_barriers_may_go_unaligned(
    alignment_timeout: float | None, pending: int, runs: bool
) -> None:
    """``max_concurrent`` holds for aligned barriers only; nobody tells when an alignment timed out."""
    settings = replace(SETTINGS, alignment_timeout=alignment_timeout)

    assert isinstance(ask(P, replace(FREE, pending=pending), settings), Run) is runs


@pytest.mark.parametrize("kind", TriggerKind)
def test_tr8_what_would_not_be_alone_but_has_to_be_waits(kind: TriggerKind) -> None:
    """However many might run beside each other otherwise."""
    crowded = replace(FREE, crowded=True, pending=1)

    assert ask(kind, crowded, replace(SETTINGS, max_concurrent=5)) == Wait(None, Reason.CONCURRENCY)


SPEED = Operation(OperationKind.SPEED, 1000)
STOP = Operation(OperationKind.STOP)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (P, Run(RecordKind.PERIODIC, Operation(), True, "mine")),
        (S, Run(RecordKind.SAVEPOINT, Operation(), False, "mine")),
        (T, Run(RecordKind.SAVEPOINT, STOP, False, "mine")),
        (F, Run(RecordKind.FINAL, Operation(), False, "mine")),
        (C, Run(RecordKind.PERIODIC, SPEED, False, "mine")),
    ],
)
def test_what_runs_is_what_was_asked_for(kind: TriggerKind, expected: Run) -> None:
    """Record, operation and manner follow from the kind; only periodic ones begin unaligned (TR5)."""
    operation = SPEED if kind is C else Operation()
    decision = decide(TriggerRequest(kind, 99, "mine", operation), FREE, replace(SETTINGS, alignment_timeout=0))

    assert decision == expected


@pytest.mark.parametrize("alignment_timeout", [None, 10.0])
def test_barriers_begin_aligned_unless_the_timeout_is_nothing(alignment_timeout: float | None) -> None:
    """A time-out turns an alignment later; it is not the trigger's business."""
    decision = ask(P, settings=replace(SETTINGS, alignment_timeout=alignment_timeout))

    assert isinstance(decision, Run)
    assert not decision.unaligned


# ---------------------------------------------------------------- O5.5: who waits


def test_o5_5_people_go_first_and_in_their_order() -> None:
    """A timer's request never stands before a person's, and none overtakes its like."""
    queue: tuple[TriggerRequest, ...] = ()
    asked = [TriggerRequest(kind, at) for at, kind in enumerate([P, F, S, C, T, S])]
    for request in asked:
        queue = enqueue(queue, request)

    assert [request.kind for request in queue] == [S, C, T, S, F, P]
    assert [request.at for request in queue] == [2, 3, 4, 5, 1, 0]


@pytest.mark.parametrize(("kind", "length"), [(P, 1), (F, 1), (S, 2), (T, 2), (C, 2)])
def test_o5_5_a_second_periodic_or_final_request_adds_nothing(kind: TriggerKind, length: int) -> None:
    """One checkpoint serves both; what people asked for twice they get twice."""
    first = TriggerRequest(kind, 1)

    queue = enqueue(enqueue((), first), TriggerRequest(kind, 2))

    assert len(queue) == length
    assert queue[0] is first


# ---------------------------------------------------------------- O4.2: when


@given(
    interval=st.floats(0.001, 1e6),
    min_pause=st.floats(0, 1e6),
    fraction=st.floats(0, 1, exclude_max=True),
    at=st.floats(0, 1e9),
)
def test_o4_2_the_first_one_comes_between_pause_and_interval(
    interval: float, min_pause: float, fraction: float, at: float
) -> None:
    """Wherever the fraction falls; a pause longer than the interval wins."""
    settings = CheckpointSettings(interval=interval, min_pause=min_pause, initial_delay=fraction)
    due = first_trigger(at, settings)

    assert due is not None
    assert at + min_pause <= due <= at + max(min_pause, interval) + 1e-6


@pytest.mark.parametrize(("fraction", "due"), [(0.0, 102), (0.25, 104), (0.5, 106), (0.999, 109.992)])
def test_o4_2_the_fraction_spreads_the_pipelines(fraction: float, due: float) -> None:
    """Many pipelines of one job do not trigger together."""
    settings = CheckpointSettings(interval=10, min_pause=2, initial_delay=fraction)

    assert first_trigger(100, settings) == pytest.approx(due)


@pytest.mark.parametrize(("now", "after"), [(100, 110), (109.9, 110), (110, 120), (135, 145), (50, 110)])
def test_o4_2_the_next_one_keeps_the_beat_and_makes_up_for_nothing(now: float, after: float) -> None:
    """A late timer does not shift the beat; a beat that was missed is not beaten twice; a clock that jumped back
    delays nothing beyond the beat (I49)."""
    assert next_trigger(100, now, SETTINGS) == after


def test_without_an_interval_nothing_is_due() -> None:
    """Batch: progress and final checkpoints only."""
    settings = CheckpointSettings()

    assert first_trigger(0, settings) is None
    assert next_trigger(0, 0, settings) is None


# ---------------------------------------------------------------- settings

WRONG: list[dict[str, Any]] = [
    {"interval": 0},
    {"timeout": 0},
    {"min_pause": -1},
    {"max_concurrent": 0},
    {"tolerable_failures": -1},
    {"max_retained": 0},
    {"max_uncommitted": 0},
    {"alignment_timeout": -1},
    {"initial_delay": 1},
    {"initial_delay": -0.1},
    {"queue_max": 0},
]
EDGES: list[dict[str, Any]] = [
    {"interval": 0.001, "timeout": 0.001, "min_pause": 0, "max_concurrent": 1, "tolerable_failures": 0},
    {"max_retained": 1, "max_uncommitted": 1, "alignment_timeout": 0, "initial_delay": 0, "queue_max": 1},
    {"interval": None, "alignment_timeout": None},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_settings_that_cannot_be_meant_are_refused_by_name(wrong: dict[str, Any]) -> None:
    """A pipeline that could never checkpoint, or never stop, is found at its start."""
    with pytest.raises(ValueError, match=f"out of range: {next(iter(wrong))}$"):
        CheckpointSettings(**wrong)


@pytest.mark.parametrize("edge", EDGES, ids=str)
def test_settings_at_their_limits_are_taken(edge: dict[str, Any]) -> None:
    """The smallest values that mean something."""
    assert CheckpointSettings(**edge)


def test_all_wrong_settings_are_named_at_once() -> None:
    """Nobody corrects them one by one."""
    with pytest.raises(ValueError, match="timeout, max_retained"):
        CheckpointSettings(timeout=0, max_retained=0)
