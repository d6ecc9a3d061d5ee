"""Life cycles as tables: what they hold, what they forbid, and how they are drawn."""

from __future__ import annotations

import pickle
from enum import StrEnum
from typing import Any

import pytest

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.protocol.model.errors import LocalProtocolError, ProtocolError, RemoteProtocolError
from seatunnel_py.protocol.model.lifecycle import (
    CHECKPOINT,
    LIFE,
    PIPELINE,
    CheckpointEvent,
    CheckpointState,
    ExecutionEvent,
    ExecutionState,
    PipelineEvent,
    PipelineState,
    Table,
    advance,
    has_ended,
)
from tests.docs.mermaid import mermaid
from tests.protocol.reference.job_lifecycle import JOB, JobEvent, JobState, follows

ANY = Table[Any, Any]
TABLES: dict[str, tuple[ANY, type[StrEnum], type[StrEnum], set[str]]] = {
    "job": (JOB, JobState, JobEvent, {"finished", "partly-finished", "stopped", "failed", "cancelled"}),
    "pipeline": (PIPELINE, PipelineState, PipelineEvent, {"finished", "stopped", "failed", "cancelled"}),
    "life": (LIFE, ExecutionState, ExecutionEvent, set()),
    "checkpoint": (CHECKPOINT, CheckpointState, CheckpointEvent, {"completed", "aborted"}),
}
each = pytest.mark.parametrize(("table", "states", "events", "ends"), TABLES.values(), ids=TABLES)


def walk(table: ANY, *events: StrEnum) -> StrEnum:
    state: StrEnum = next(iter(table))
    for event in events:
        state = advance(table, state, event)
    return state


def reached(table: ANY, start: StrEnum) -> set[StrEnum]:
    found, waiting = {start}, [start]
    while waiting:
        new = set(table[waiting.pop()].values()) - found
        found |= new
        waiting += new
    return found


# ---------------------------------------------------------------- every table


@each
def test_every_state_has_a_row_and_every_event_a_place(
    table: ANY, states: type[StrEnum], events: type[StrEnum], ends: set[str]
) -> None:
    """Nothing is declared that cannot happen (LC2)."""
    assert list(table) == list(states)
    assert {event for row in table.values() for event in row} == set(events)


@each
def test_i12_ends_are_ends_and_can_be_reached_from_everywhere(
    table: ANY, states: type[StrEnum], events: type[StrEnum], ends: set[str]
) -> None:
    """Nothing leaves an end, nothing is stuck before one, and no state is beyond reach. A subtask's life has no end of
    its own: another one can always follow, as long as there is a pipeline."""
    assert {state for state in states if has_ended(table, state)} == ends
    assert reached(table, next(iter(table))) == set(states)
    for state in states:
        assert reached(table, state) & ends or not ends


@each
def test_what_a_table_does_not_hold_is_our_mistake(
    table: ANY, states: type[StrEnum], events: type[StrEnum], ends: set[str]
) -> None:
    """Every forbidden pair raises, every other one gives what the table says (LC1)."""
    for state in states:
        for event in events:
            if event in table[state]:
                assert advance(table, state, event) is table[state][event]
            else:
                with pytest.raises(
                    LocalProtocolError, match=f"{states.__name__}: {event} cannot happen when {state}; "
                ):
                    advance(table, state, event)


@each
def test_a_picture_holds_the_whole_table(
    table: ANY, states: type[StrEnum], events: type[StrEnum], ends: set[str]
) -> None:
    """One arrow in, one per transition, one out of each end: documentation cannot differ from the table."""
    lines = mermaid(table).splitlines()
    arrows = {f"    {state.name} --> {table[state][event].name}: {event}" for state in states for event in table[state]}

    assert lines[:2] == ["stateDiagram-v2", f"    [*] --> {next(iter(states)).name}"]
    assert set(lines[2:]) == arrows | {f"    {state.name} --> [*]" for state in states if state in ends}
    assert len(lines) == len(set(lines))


def test_a_picture_as_people_get_it() -> None:
    """The checkpoint's, whole."""
    assert mermaid(CHECKPOINT) == (
        "stateDiagram-v2\n"
        "    [*] --> PENDING\n"
        "    PENDING --> COMPLETE: all-acknowledged\n"
        "    PENDING --> ABORTED: abort\n"
        "    COMPLETE --> STORING: store\n"
        "    COMPLETE --> ABORTED: abort\n"
        "    STORING --> COMPLETED: stored\n"
        "    STORING --> ABORTED: not-stored\n"
        "    COMPLETED --> [*]\n"
        "    ABORTED --> [*]\n"
    )


def test_a_forbidden_event_is_told_with_what_is_allowed() -> None:
    """Whoever reads the report sees the row."""
    with pytest.raises(LocalProtocolError, match="possible: store, abort$"):
        advance(CHECKPOINT, CheckpointState.COMPLETE, CheckpointEvent.STORED)
    with pytest.raises(LocalProtocolError, match="nothing: it is an end$"):
        advance(CHECKPOINT, CheckpointState.ABORTED, CheckpointEvent.STORED)


# ---------------------------------------------------------------- the pipeline's rules

BEGIN = (PipelineEvent.SET_UP, PipelineEvent.RESTORE, PipelineEvent.ALL_READY)


@pytest.mark.parametrize(
    ("events", "end"),
    [
        ((*BEGIN, PipelineEvent.SOURCES_ENDED, PipelineEvent.FINAL_CONFIRMED), PipelineState.FINISHED),
        ((*BEGIN, PipelineEvent.STOP, PipelineEvent.SAVEPOINT_CONFIRMED), PipelineState.STOPPED),
        ((*BEGIN, PipelineEvent.SUBTASK_FAILED, PipelineEvent.BACKOFF_OVER), PipelineState.RESTORING),
        ((PipelineEvent.RESTORE, PipelineEvent.SUBTASK_FAILED, PipelineEvent.FAIL), PipelineState.FAILED),
        ((*BEGIN, PipelineEvent.SOURCES_ENDED, PipelineEvent.STOP), PipelineState.STOPPING),
    ],
)
def test_a_pipeline_s_life(events: tuple[PipelineEvent, ...], end: PipelineState) -> None:
    """The ways through it that people know."""
    assert walk(PIPELINE, *events) is end


def leading_to(state: PipelineState) -> set[tuple[PipelineState, PipelineEvent]]:
    return {(before, event) for before, row in PIPELINE.items() for event, after in row.items() if after is state}


def test_i43_i44_the_only_ways_to_a_good_end() -> None:
    """Success after the last commit is confirmed, a stop after the savepoint's are."""
    assert {event for _, event in leading_to(PipelineState.FINISHED)} == {PipelineEvent.FINAL_CONFIRMED}
    assert {event for _, event in leading_to(PipelineState.STOPPED)} == {PipelineEvent.SAVEPOINT_CONFIRMED}


def test_i26_a_failure_at_any_time_after_the_start_is_a_restart() -> None:
    """Also while a restart is under way, and however far the end was."""
    lives = {state for state, row in PIPELINE.items() if PipelineEvent.SUBTASK_FAILED in row}

    assert {PIPELINE[state][PipelineEvent.SUBTASK_FAILED] for state in lives} == {PipelineState.RESTARTING}
    assert lives == {
        PipelineState.RESTORING,
        PipelineState.RUNNING,
        PipelineState.FINISHING,
        PipelineState.STOPPING,
        PipelineState.RESTARTING,
    }


def test_whatever_has_not_ended_can_be_cancelled_and_can_fail() -> None:
    """A person is never told to wait, and a newer driver may fence this one at any time."""
    for row in PIPELINE.values():
        if row:
            assert row.get(PipelineEvent.CANCEL) is PipelineState.CANCELLED
            assert row.get(PipelineEvent.FAIL) is PipelineState.FAILED


def test_i10_a_checkpoint_completes_only_by_the_store_s_word() -> None:
    """And while the store is at it nothing else ends it: the record may be durable already."""
    ways = [
        (state, event) for state, row in CHECKPOINT.items() for event in row if row[event] is CheckpointState.COMPLETED
    ]

    assert ways == [(CheckpointState.STORING, CheckpointEvent.STORED)]
    assert set(CHECKPOINT[CheckpointState.STORING]) == {CheckpointEvent.STORED, CheckpointEvent.NOT_STORED}


def test_a_stop_that_did_not_come_about_leads_back_only_through_a_restart() -> None:
    """Sources behind its barrier are silent (LC5)."""
    assert leading_to(PipelineState.RUNNING) == {(PipelineState.RESTORING, PipelineEvent.ALL_READY)}
    assert leading_to(PipelineState.STOPPING) == {
        (PipelineState.RUNNING, PipelineEvent.STOP),
        (PipelineState.FINISHING, PipelineEvent.STOP),
    }


def test_o5_4_a_life_begins_by_restoring_and_runs_only_when_told_to_start() -> None:
    """Whatever became of the life before; and one that failed does nothing more."""
    assert {row[ExecutionEvent.RESTORE] for row in LIFE.values()} == {ExecutionState.READY}
    assert [state for state, row in LIFE.items() if ExecutionEvent.START in row] == [ExecutionState.READY]
    assert set(LIFE[ExecutionState.FAILED]) == {ExecutionEvent.RESTORE}


# ---------------------------------------------------------------- the job and its pipelines

RUN, FIN, STO, BAD, CAN = (
    PipelineState.RUNNING,
    PipelineState.FINISHED,
    PipelineState.STOPPED,
    PipelineState.FAILED,
    PipelineState.CANCELLED,
)
JOBS = [
    # state, pipelines, what follows, what follows when the job is to fail fast
    (JobState.CREATED, [BAD], None, None),
    (JobState.RUNNING, [RUN, FIN], None, None),
    (JobState.RUNNING, [RUN, BAD], None, JobEvent.FAIL_FAST),
    (JobState.RUNNING, [FIN, FIN], JobEvent.ALL_FINISHED, JobEvent.ALL_FINISHED),
    (JobState.RUNNING, [STO, STO], JobEvent.ALL_STOPPED, JobEvent.ALL_STOPPED),
    (JobState.RUNNING, [FIN, STO], JobEvent.ALL_STOPPED, JobEvent.ALL_STOPPED),
    (JobState.RUNNING, [FIN, BAD], JobEvent.SOME_FAILED, JobEvent.FAIL_FAST),
    (JobState.RUNNING, [STO, BAD], JobEvent.SOME_FAILED, JobEvent.FAIL_FAST),
    (JobState.RUNNING, [FIN, CAN], JobEvent.SOME_FAILED, JobEvent.SOME_FAILED),
    (JobState.RUNNING, [BAD, BAD], JobEvent.ALL_FAILED, JobEvent.FAIL_FAST),
    (JobState.FAILING, [RUN, BAD], None, None),
    (JobState.FAILING, [CAN, BAD], JobEvent.ALL_ENDED, JobEvent.ALL_ENDED),
    (JobState.CANCELLING, [CAN, RUN], None, None),
    (JobState.CANCELLING, [CAN, FIN], JobEvent.ALL_ENDED, JobEvent.ALL_ENDED),
    (JobState.CANCELLING, [FIN, FIN], JobEvent.ALL_FINISHED, JobEvent.ALL_FINISHED),
    (JobState.FINISHED, [FIN], None, None),
    (JobState.CANCELLED, [CAN], None, None),
]


@pytest.mark.parametrize(("job", "pipelines", "patient", "fast"), JOBS)
def test_o5_1_a_job_s_fate_follows_from_its_pipelines(
    job: JobState, pipelines: list[PipelineState], patient: JobEvent | None, fast: JobEvent | None
) -> None:
    """One that ends does not end the others, unless asked for; and nothing is called finished that is not."""
    assert follows(job, pipelines, fail_fast=False) is patient
    assert follows(job, pipelines, fail_fast=True) is fast


@pytest.mark.parametrize("job", JobState)
@pytest.mark.parametrize("fail_fast", [False, True])
def test_whatever_follows_is_held_by_the_job_s_table(job: JobState, fail_fast: bool) -> None:
    """For all pairs of pipelines; and once all have ended, so does every job that was started."""
    for first in PipelineState:
        for second in PipelineState:
            pipelines, state = (first, second), job
            while (event := follows(state, pipelines, fail_fast=fail_fast)) is not None:
                state = advance(JOB, state, event)
            if all(has_ended(PIPELINE, one) for one in pipelines):
                assert has_ended(JOB, state) or job is JobState.CREATED


def test_a_cancel_overrides_a_failure_under_way() -> None:
    """What people asked for last is what they are told."""
    assert walk(JOB, JobEvent.START, JobEvent.FAIL_FAST, JobEvent.CANCEL, JobEvent.ALL_ENDED) is JobState.CANCELLED


# ---------------------------------------------------------------- errors


def test_a_protocol_error_is_somebody_s_mistake() -> None:
    """The root is not raised: a report without a culprit helps nobody."""
    with pytest.raises(TypeError, match="is abstract"):
        ProtocolError("it broke")


@pytest.mark.parametrize("kind", [LocalProtocolError, RemoteProtocolError])
def test_both_mistakes_are_ours_to_catch_and_travel(kind: type[ProtocolError]) -> None:
    """One except block for all; picklable as they are."""
    error = pickle.loads(pickle.dumps(kind("what", "do this")))

    assert isinstance(error, SeaTunnelError)
    assert type(error) is kind
    assert str(error) == "what\n  remedy: do this"
