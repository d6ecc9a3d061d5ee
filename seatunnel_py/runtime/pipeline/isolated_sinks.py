"""Tracks the isolated sinks of a pipeline: their causes, and the checkpoints from which they can be resumed.

Rules. (1) The coordinator decides which sinks are isolated (``isolation.py``); this module ends their executions, and
they get no more units. (2) An isolation is reported at once, with the failure that caused it. The cause is stored in
every later record, so that a later driver can report it. (3) The records give the checkpoint of an isolated sink: its
rows count up to there, and its sources have to be read again from there. (4) No record will name the pieces that it
staged after this checkpoint: they are dropped when the pipeline is closed. A sink without such a checkpoint drops all
its pieces. (5) A sink that no record shows as isolated is complete, or is restored by the next driver.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from seatunnel_py.api.batch import Position
from seatunnel_py.api.sink import Visible
from seatunnel_py.plan.log_tables import copied_again, tables_by_vertex
from seatunnel_py.plan.pipelines import PlannedVertex
from seatunnel_py.protocol.coordinator.commands import Isolated
from seatunnel_py.protocol.coordinator.events import PlanGrew
from seatunnel_py.protocol.coordinator.isolation import leaving
from seatunnel_py.protocol.failover.isolated_recovery import finishing
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord
from seatunnel_py.runtime.counts.row_tallies import RowTally, tally_of
from seatunnel_py.runtime.observe.events import SinkIsolated
from seatunnel_py.runtime.observe.receipt import ResumePoint, TableState
from seatunnel_py.runtime.resume.isolated_sink_recovery import NEVER_ENDS, not_finished, wait_for_other_sinks
from seatunnel_py.runtime.state.shared_state import SharedState
from seatunnel_py.runtime.state.troubles import commit_of, unit_of
from seatunnel_py.runtime.subtasks.subtask_execution import SubtaskExecution, begin_all
from seatunnel_py.runtime.targets.sink_operations import piece_of
from seatunnel_py.runtime.values.past import EarlierRun
from seatunnel_py.runtime.values.subtask_state import counts_of
from seatunnel_py.work.unit import FailureKind, UnitFailure

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SinkOutcome:
    """``tallies``: the counts of each vertex, without rows of refused commits; ``left``: the causes and positions of
    isolated sinks, by node; ``delegated``: the sinks that a recovery pipeline finishes and reports."""

    tallies: Mapping[str, RowTally]
    left: Mapping[str, tuple[UnitFailure, ResumePoint]] = field(default_factory=dict)
    delegated: frozenset[str] = _NONE


class IsolatedSinks:
    """The isolated sinks of one pipeline; ``SharedState.isolated`` holds their subtasks. ``known_bad``: as in
    ``EarlierRun``."""

    def __init__(self, state: SharedState, executions: Mapping[Subtask, SubtaskExecution]) -> None:
        self._state = state
        self._executions = executions
        self.known_bad: frozenset[str] = frozenset()
        self._apart: frozenset[str] = frozenset()
        self._stays: dict[str, str] = {}
        self._told: dict[str, UnitFailure] = {}
        self._failed: dict[str, UnitFailure] = {}
        self._records: dict[int, CheckpointRecord] = {}  # records from which an isolated sink may resume

    def begin(self, record: CheckpointRecord | None, past: EarlierRun) -> None:
        """Restore the isolated sinks of an earlier driver from its record."""
        self.known_bad = past.known_bad
        if record is None:
            return
        context = self._state.context
        self._state.isolated |= set(context.graph.topology.subtasks(sorted(record.topology.detached)))
        self._records |= past.stood_at
        again = copied_again(context.pipeline)
        reached = tables_by_vertex(context.pipeline) if again else {}
        for vertex in context.pipeline.vertices:
            if vertex.id in record.topology.detached - self._apart:
                before, stand = self.cause(vertex.id), self._stand_in(record, vertex.id)
                why = self._stays.get(vertex.id, "" if context.bounded else NEVER_ENDS)
                self._told[vertex.id] = not_finished(before, stand, why) if why else wait_for_other_sinks(before)
                # An earlier machine of this driver has reported it, or it has no rows of tables that stay.
                if not past.epochs and not (again and reached[vertex.id] <= again):
                    self._tell(vertex)

    def replaces(self, before: IsolatedSinks) -> None:
        """Take over which sinks others finish, from the machine that this one replaces."""
        self._apart, self._stays = before._apart, before._stays

    def spoken_for(self, scope: str, why: str | None) -> None:
        """Note whether a recovery pipeline of this driver finishes the sinks of this scope and reports on them;
        ``why``: the reason why none does, None: one does."""
        vertices = finishing(self._state.context.graph.topology, scope)
        if why is None:
            self._apart |= vertices
        else:
            self._stays |= dict.fromkeys(vertices, why)

    # ---------------------------------------------------------------- isolation

    def failed(self, vertex: str, failure: UnitFailure) -> None:
        """Note why an execution has failed; the coordinator decides whether the vertex is isolated."""
        self._failed[vertex] = failure

    def commit_failed(self, scope: str, failure: UnitFailure) -> bool:
        """Note why the commit of a scope has failed. Return whether its vertices are isolated already."""
        vertices = finishing(self._state.context.graph.topology, scope)
        self._failed |= dict.fromkeys(vertices, failure)
        return bool(vertices) and self._state.topology.detached.issuperset(vertices)

    def leave(self, subtask: Subtask) -> None:
        """Isolate a subtask that the coordinator has removed from the topology: end its execution, report the cause."""
        state, vertex = self._state, subtask.vertex
        run = self._executions[subtask]
        run.stop()
        state.isolated.add(subtask)
        self._remember()
        if vertex not in state.prepared.left_out:
            cause = self._cause(vertex)
            state.prepared = replace(state.prepared, left_out={**state.prepared.left_out, vertex: cause})
            state.to_coordinator(PlanGrew(state.at, state.plan))
            self._tell(run.vertex)
        state.troubles.ends(unit_of(vertex))  # only the isolated vertex has failed
        state.troubles.ends(commit_of(state.context.graph.topology.vertex(vertex).commit_scope))
        if state.shown.state is TableState.RETRYING:
            state.recovered()
        begin_all(self._executions.values())  # its senders may have waited for room

    def _tell(self, vertex: PlannedVertex) -> None:
        state, targets = self._state, tuple(dict.fromkeys(node.shown for node in vertex.sinks))
        if targets:
            line, cause = state.context.pipeline, self.cause(vertex.id)
            state.tell(SinkIsolated(line.id, line.name, vertex.id, targets, cause, state.good, state.at))

    def _remember(self) -> None:
        """Keep the newest record and the one that is being stored: the sink resumes from one of them."""
        view = self._state.view
        assert view is not None, "only a coordinator isolates a sink"
        for record in (view.newest, view.storing):
            if record is not None:
                self._records[record.checkpoint] = record

    def _cause(self, vertex: str) -> UnitFailure:
        """Return the vertex's own failure, or that of the vertex with which it is isolated."""
        if vertex in self._failed:
            return self._failed[vertex]
        whole = self._state.context.graph.topology
        for other, failure in self._failed.items():
            if vertex in leaving(whole, other):
                return replace(failure, message=f"isolated together with {other}: {failure.message}")
        return UnitFailure(FailureKind.FATAL, "it was isolated together with others")

    def back(self, subtask: Subtask) -> None:
        """Note that a subtask rejoins with another execution."""
        self._state.isolated.discard(subtask)

    def durable(self, command: Isolated) -> None:
        """Discard records that no isolated sink needs, because a durable record shows the isolation."""
        self._records = {number: one for number, one in self._records.items() if number in self._stood}

    # ---------------------------------------------------------------- positions and counts

    @property
    def vertices(self) -> frozenset[str]:
        """The isolated vertices of the newest record (rule 5), without those that a recovery pipeline finishes."""
        newest = self._state.newest
        if newest is None or self._is_whole:
            return _NONE
        return newest.topology.detached.union(self._refused_commits) - self._apart

    @property
    def _refused_commits(self) -> dict[str, tuple[CommitRecord, ...]]:
        """By vertex, recorded commits that its target has refused: a later driver tries them again (CN4)."""
        view = self._state.view
        if view is None or not view.commits.refused:
            return {}
        commits = view.commits
        return {
            vertex: tuple(one for one in commits.waiting if one.scope == scope)
            for scope in commits.refused
            for vertex in finishing(self._state.context.graph.topology, scope)
        }

    @property
    def _stood(self) -> set[int]:
        newest = self._state.newest
        return {stands_at(newest, vertex) for vertex in self.vertices} if newest is not None else set()

    @property
    def nodes(self) -> Mapping[str, str]:
        """The sinks of these vertices, by node id, each with one of its vertices."""
        if not (isolated := self.vertices):
            return {}
        return {
            node.id: vertex.id
            for vertex in self._state.context.pipeline.vertices
            if vertex.id in isolated
            for node in vertex.sinks
        }

    @property
    def cleanup_positions(self) -> Mapping[str, ResumePoint]:
        """The sinks whose staged pieces this pipeline drops, and the positions from which they resume. Sinks with
        refused commits are not among them, because a record names their pieces."""
        refused = self._refused_commits
        return {node: self.stand(vertex) for node, vertex in self.nodes.items() if vertex not in refused}

    @property
    def _delegated_sinks(self) -> frozenset[str]:
        """The sinks that a recovery pipeline finishes and reports."""
        return frozenset(
            node.id
            for vertex in self._state.context.pipeline.vertices
            if vertex.id in self._apart
            for node in vertex.sinks
        )

    def cause(self, vertex: str) -> UnitFailure:
        cause = self._told.get(vertex) or self._state.prepared.left_out.get(vertex)
        return cause or UnitFailure(FailureKind.FATAL, "it was isolated")

    def stand(self, vertex: str) -> ResumePoint:
        """The checkpoint and the positions from which a recovery pipeline would resume it."""
        newest, view = self._state.newest, self._state.view
        if newest is None or view is None:
            return ResumePoint()
        if vertex in self._refused_commits:
            scope = self._state.context.graph.topology.vertex(vertex).commit_scope
            return ResumePoint(view.commits.ledgers.get(scope, 0))
        return self._stand_in(newest, vertex)

    def _stand_in(self, newest: CheckpointRecord, vertex: str) -> ResumePoint:
        checkpoint = stands_at(newest, vertex)
        record = self._records.get(checkpoint)
        if record is None:
            return ResumePoint(checkpoint)
        above = self._state.context.graph.topology.ancestors(vertex)
        positions: dict[str, Position] = {}
        for subtask, run in self._executions.items():
            if subtask.vertex in above and run.vertex.source is not None and subtask in record.snapshots:
                positions |= run.positions(record.snapshots[subtask])
        return ResumePoint(checkpoint, {split: dict(at.value) for split, at in sorted(positions.items())})

    def _visible(self, run: SubtaskExecution, newest: CheckpointRecord | None, *, isolated: bool) -> RowTally:
        """The counts of one subtask, where rows that are not visible yet do not count as written; for an ``isolated``
        one, those in the newest record."""
        found = _recorded(run, newest) if isolated else run.tally(newest)
        if not found.written:
            return found
        recorded = found.written if isolated else _recorded(run, newest).written
        seen = {
            node: sums if self._shows(node) is Visible.STAGED else recorded.get(node, (0, 0))
            for node, sums in found.written.items()
            if self._shows(node) is not Visible.FINAL
        }
        return RowTally(found.read, found.filtered, found.rejected, seen, found.tables)

    def outcome(self, *, done: bool) -> SinkOutcome:
        """The counts of now. ``done``: all rows of the pipeline are visible, apart from those of isolated vertices."""
        if self._is_whole:
            return SinkOutcome(self._tallies(done=done, isolated=_NONE))
        tallies = self._tallies(done=done, isolated=self.vertices)
        for node, (vertex, sums) in self._not_committed().items():
            tallies[vertex] = tallies[vertex].plus(RowTally(written={node: sums}))
        left = {node: (self.cause(vertex), self.stand(vertex)) for node, vertex in self.nodes.items()}
        return SinkOutcome(tallies, left, self._delegated_sinks)

    @property
    def _is_whole(self) -> bool:
        """Whether no sink is isolated, and no commit is refused: nearly always, in the live counts of many tables."""
        view = self._state.view
        if view is None or view.newest is None:
            return not self._apart
        return not (view.commits.refused or view.newest.topology.detached or self._apart)

    def _tallies(self, *, done: bool, isolated: Collection[str]) -> dict[str, RowTally]:
        found: dict[str, RowTally] = {}
        newest = self._state.newest
        for subtask, run in self._executions.items():
            vertex = subtask.vertex
            plain = done and vertex not in isolated
            one = run.tally(newest) if plain else self._visible(run, newest, isolated=vertex in isolated)
            found[vertex] = found[vertex].plus(one) if vertex in found else one
        return found

    def _not_committed(self) -> dict[str, tuple[str, tuple[int, int]]]:
        """Rows and bytes of refused commits as negative numbers, by sink node, with a vertex to whose counts they are
        added."""
        if not (refused := self._refused_commits):
            return {}
        waiting = {(one.scope, one.checkpoint): one for commits in refused.values() for one in commits}.values()
        nodes = {(node.step.id, node.table.path): node.id for node in self._state.context.pipeline.sinks}
        found: dict[str, tuple[int, int]] = {}
        for one in (piece_of(piece) for commit in waiting for piece in commit.pieces):
            node = nodes.get((one.step, one.table))
            if node is not None and self._shows(node) is Visible.COMMITTED:
                rows, size = found.get(node, (0, 0))
                found[node] = rows - one.piece.rows, size - one.piece.bytes
        return {node: (self.nodes[node], sums) for node, sums in found.items()}

    def _shows(self, node: str) -> Visible:
        return self._state.prepared.setups[node].visible


def _recorded(run: SubtaskExecution, newest: CheckpointRecord | None) -> RowTally:
    """The counts of one subtask in the newest record."""
    snapshot = None if newest is None else newest.snapshots.get(run.subtask)
    return tally_of(counts_of(None if snapshot is None else snapshot.state))


def stands_at(record: CheckpointRecord, vertex: str) -> int:
    """The checkpoint from which an isolated vertex of this record resumes; 0: there is none."""
    return max((one.since for at, one in record.snapshots.items() if at.vertex == vertex), default=0)
