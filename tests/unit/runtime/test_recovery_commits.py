"""Commits of an isolated sink are issued again by one pipeline: its recovery, or its own where no recovery is possible."""

from __future__ import annotations

from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.runtime.resume.isolated_sink_recovery import RecoveryPipeline, Unfinished, without_recovered
from seatunnel_py.runtime.values.past import EarlierRun

RECOVERED = RecoveryPipeline("a", "x -> a", Pipeline("x -> a", "x", ()), EarlierRun())
UNFINISHED = Unfinished("b", "its source cannot be read a second time")


def past() -> EarlierRun:
    commits = tuple(CommitRecord(scope, 5, ()) for scope in "abc")
    return EarlierRun(CheckpointRecord(7, 1, RecordKind.FINAL, 5, Topology(()), {}, {}, commits))


def scopes(found: EarlierRun) -> list[str]:
    return [] if found.record is None else [one.scope for one in found.record.uncommitted]


def test_a_recovery_issues_the_commits_of_its_sink() -> None:
    """It may have deleted their pieces, to start from nothing: they cannot be committed any more."""
    assert scopes(without_recovered(past(), (RECOVERED, UNFINISHED))) == ["b", "c"]


def test_without_a_recovery_all_commits_stay() -> None:
    assert scopes(without_recovered(past(), (UNFINISHED,))) == ["a", "b", "c"]
    assert without_recovered(EarlierRun(), (RECOVERED,)) == EarlierRun()
