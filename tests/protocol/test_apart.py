"""A table that was left out is finished by a pipeline of its own: who is in it, and from where it begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from seatunnel_py.protocol.commit.claims import RestoreRefusal
from seatunnel_py.protocol.failover.isolated_recovery import (
    begin_apart,
    cannot_be_finished,
    members,
    scopes_left_out,
    stands_at,
)
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import BatchHandle, StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import SinkKind, Topology
from tests.protocol.graphs import graph, names

SRC, A, B = Subtask("src"), Subtask("a"), Subtask("b")
TO_A, TO_B = Channel(0, SRC, A), Channel(1, SRC, B)
SINKS: Mapping[str, SinkKind] = dict.fromkeys(["a", "b", "c"], SinkKind.TWO_PHASE)


def fork(**more: str) -> Topology:
    return graph("src>a src>b", sinks=SINKS, **more)  # type: ignore[arg-type]


def stood(*, has: int = 4, waiting: tuple[BatchHandle, ...] = ()) -> CheckpointRecord:
    """Checkpoint 3, in which everybody took part."""
    snapshots = {
        SRC: SubtaskSnapshot("at 4", sent={TO_A: 4, TO_B: 4}, taken=9),
        A: SubtaskSnapshot("a4", applied={TO_A: 4}, pieces=(StagedPiece("a"),)),
        B: SubtaskSnapshot("b4", applied={TO_B: has}, channel_state={TO_B: waiting}, pieces=(StagedPiece("b"),)),
    }
    return CheckpointRecord(3, 1, RecordKind.PERIODIC, 2, fork(), {"src": 1, "a": 1, "b": 1}, snapshots)


def ended(kind: RecordKind = RecordKind.FINAL) -> CheckpointRecord:
    """Checkpoint 9, the last one, without b, which stands at 3."""
    snapshots = {
        SRC: SubtaskSnapshot("at 7", sent={TO_A: 7, TO_B: 4}, ended=True),
        A: SubtaskSnapshot("a7", applied={TO_A: 7}),
        B: SubtaskSnapshot("b4", applied={TO_B: 4}, since=3),
    }
    commits = (CommitRecord("b", 3, (StagedPiece("b"),)), CommitRecord("a", 9, (StagedPiece("a9"),)))
    return CheckpointRecord(
        9, 2, kind, 8, fork(detached="b"), {"src": 2, "a": 1, "b": 5}, snapshots, commits, ledgers={"a": 8, "b": 2}
    )


@pytest.mark.parametrize(
    ("text", "scope", "every"),
    [
        ("src>a src>b", "b", "src b"),
        ("src>t t>a t>b", "b", "src t b"),
        ("src>t t>a src>b", "b", "src b"),
        ("one>b two>b two>a", "b", "one two b"),
    ],
)
def test_who_feeds_it_is_in_it_and_nobody_else(text: str, scope: str, every: str) -> None:
    """AP1."""
    assert members(graph(text, sinks=SINKS), scope) == names(every)


def test_who_finishes_together_is_finished_together() -> None:
    """AP1."""
    whole = graph("src>a src>b src>c", sinks=SINKS)
    vertices = tuple(replace(one, scope="both") if one.id in ("a", "b") else one for one in whole.vertices)
    whole = replace(whole, vertices=vertices, detached=frozenset({"a", "b"}))

    assert members(whole, "both") == names("src a b")
    assert scopes_left_out(replace(ended(), topology=whole)) == ("both",)


def test_only_what_a_pipeline_has_ended_without_is_finished_apart() -> None:
    """AP7: also one that feeds them left out is no sink."""
    whole = graph("src>t t>a t>b src>c", sinks=SINKS, detached="t a b")
    assert scopes_left_out(replace(ended(), topology=whole)) == ("a", "b")
    assert scopes_left_out(replace(ended(), topology=replace(whole, detached=frozenset()))) == ()
    assert scopes_left_out(ended(RecordKind.PERIODIC)) == ()


def test_where_it_stands_the_newest_record_says() -> None:
    """AP4: one that no checkpoint knows stands at none."""
    assert stands_at(ended(), "b") == 3
    never = {at: one for at, one in ended().snapshots.items() if at != B}
    assert stands_at(replace(ended(), snapshots=never), "b") == 0


def test_all_begin_where_they_stood() -> None:
    """AP2, AP5: the source where it was then, on channels of the smaller graph; numbers, epochs and commits that are
    not confirmed are those of the newest record; nothing is staged twice."""
    found = begin_apart(ended(), stood(), "b")

    assert isinstance(found, CheckpointRecord)
    only = Channel(0, SRC, B)
    assert found.snapshots == {
        SRC: SubtaskSnapshot("at 4", sent={only: 4}, taken=9, since=9),
        B: SubtaskSnapshot("b4", applied={only: 4}, channel_state={only: ()}, since=9),
    }
    assert (found.checkpoint, found.incarnation, found.kind) == (9, 2, RecordKind.PERIODIC)
    assert found.epochs == {"src": 2, "b": 5}
    assert found.uncommitted == (CommitRecord("b", 3, (StagedPiece("b"),)),)
    assert found.ledgers == {"b": 2}
    assert set(found.topology.by_id) == {"src", "b"} and not found.topology.detached
    assert found.topology.version == ended().topology.version + 1


def test_what_waited_at_the_cut_is_had() -> None:
    """AP3, I25."""
    waiting = (BatchHandle(3, "x"), BatchHandle(4, "y"))
    found = begin_apart(ended(), stood(has=2, waiting=waiting), "b")
    assert isinstance(found, CheckpointRecord)
    assert found.snapshots[B].channel_state == {Channel(0, SRC, B): waiting}


@pytest.mark.parametrize("has", [3, 5])
def test_one_that_is_not_level_with_its_sender_is_refused(has: int) -> None:
    """AP3."""
    found = begin_apart(ended(), stood(has=has), "b")
    assert isinstance(found, RestoreRefusal) and f"{has} batches were received of 4 at checkpoint 3" in found.why


def test_a_channel_on_which_nothing_was_ever_sent_is_level() -> None:
    empty = {at: replace(one, sent={}, applied={}) for at, one in stood().snapshots.items()}
    assert isinstance(begin_apart(ended(), replace(stood(), snapshots=empty), "b"), CheckpointRecord)


def test_a_record_that_does_not_know_everybody_is_refused() -> None:
    without = {at: one for at, one in stood().snapshots.items() if at != SRC}
    found = begin_apart(ended(), replace(stood(), snapshots=without), "b")
    assert isinstance(found, RestoreRefusal) and "no record holds the position of src" in found.why


def test_what_cannot_be_read_again_is_not_finished() -> None:
    """AP6: of those who feed it only."""
    assert cannot_be_finished(fork(detached="b"), "b") == ""
    assert cannot_be_finished(fork(detached="b", once="src"), "b") == "src cannot be read a second time"
    other = graph("src>b own>a src>a", sinks=SINKS, once="own")
    assert cannot_be_finished(other, "b") == ""


def test_nobody_who_has_his_rows_is_passed_through_again() -> None:
    """AP6."""
    assert "come through a, which" in cannot_be_finished(graph("src>a a>b", sinks=SINKS, detached="b"), "b")
