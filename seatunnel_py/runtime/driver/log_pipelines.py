"""Knows what the pipelines of logs need of other machines: the copies of their tables, and plans for new schemas."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from seatunnel_py.api.log_source import FollowedTable
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.source import Split
from seatunnel_py.plan import log_tables
from seatunnel_py.plan.altered_log import AlteredLog
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.runtime.resume.table_refresh import TableRefreshes
from seatunnel_py.runtime.state.phases import PipelinePhase
from seatunnel_py.runtime.storage.journal import reset_line
from seatunnel_py.work.unit import FailureKind, UnitFailure


class LogPipelines:
    """The logs of one job. ``apart``: tables that could not join their log, with the cause; ``refreshes``: rows that
    are read again before a log."""

    def __init__(self, refreshes: TableRefreshes) -> None:
        self.refreshes = refreshes
        self._altered: dict[str, AlteredLog] = {}
        self.apart: dict[str, UnitFailure] = {}

    def note(self, key: str, found: AlteredLog) -> Mapping[str, UnitFailure]:
        """Keep the plan for the machine that begins next; return the tables that cannot join it."""
        self._altered[key] = found
        refused = {} if found.joined is None else found.joined.refused
        apart = {str(path): UnitFailure(FailureKind.FATAL, one.message, one.remedy, one.step)
                 for path, one in refused.items()}  # fmt: skip
        self.apart |= apart
        return apart

    def take(self, key: str) -> AlteredLog | None:
        """The plan for the machine that begins now, if it is another than before."""
        return self._altered.pop(key, None)

    @staticmethod
    def order(named: Mapping[str, Pipeline]) -> dict[str, frozenset[str]]:
        """By pipeline, the keys of those that end first: a log waits for the copies of its tables. A copy that is made
        again waits for the log, which its table leaves first."""
        key_of = {pipeline.id: key for key, pipeline in named.items()}
        after = {key: {key_of[one] for one in pipeline.after if one in key_of} for key, pipeline in named.items()}
        for key, log in named.items():
            again = log_tables.copied_again(log)
            for copy in [one for one in after[key] if not again.isdisjoint(named[one].tables)]:
                after[key].discard(copy)
                after[copy].add(key)
        return {key: frozenset(keys) for key, keys in after.items()}

    @staticmethod
    def awaited(pipeline: Pipeline, machines: Mapping[str, PipelineMachine], closed: Collection[str]) -> frozenset[str]:
        """The keys of copies that a log without their tables waits for."""
        lacks = set(() if pipeline.becomes is None else pipeline.becomes.tables).difference(pipeline.tables)
        copies = ((key, one) for key, one in _copies(pipeline, machines) if key not in closed)
        return frozenset(key for key, one in copies if not lacks.isdisjoint(one.pipeline.tables))

    @staticmethod
    def held_up(log: PipelineMachine, machines: Mapping[str, PipelineMachine]) -> list[PipelineMachine]:
        """The copies that cannot begin in this run: the log has ended, and their tables have not left it."""
        again, phase = log_tables.copied_again(log.pipeline), PipelinePhase.WAITING
        copies = (one for _, one in _copies(log.pipeline, machines) if one.state.phase is phase)
        return [one for one in copies if not again.isdisjoint(one.pipeline.tables)]

    def resets_done(
        self, machine: PipelineMachine, machines: Mapping[str, PipelineMachine], resets: Collection[str]
    ) -> list[Mapping[str, Any]]:
        """The journal lines before tables join their log again that were to be copied again: these resets are over."""
        found = self._altered.get(machine.key)
        joined = () if found is None or found.joined is None else found.joined.tables
        copies = ((key, one) for key, one in _copies(machine.pipeline, machines) if key in resets)
        return [reset_line(key, begins=False) for key, one in copies if set(joined).intersection(one.pipeline.tables)]

    @staticmethod
    def joining(pipeline: Pipeline, copied: Mapping[TablePath, tuple[Split, ...]]) -> tuple[FollowedTable, ...]:
        """The tables that join a log which has begun: those that were copied, or are not copied at all."""
        whole = pipeline.becomes
        if whole is None or whole.log is None:
            return ()
        more = [one for one in whole.log.tables if one.schema.path not in pipeline.tables]
        copies = whole.follows_copies
        return tuple(
            FollowedTable(one, copied.get(one.schema.path, ()))
            for one in more
            if not copies or one.schema.path in copied
        )

    @staticmethod
    def copied(pipeline: Pipeline, machines: Mapping[str, PipelineMachine]) -> dict[TablePath, tuple[Split, ...]]:
        """The splits by which the tables of a log were copied, of those whose copies are done."""
        if pipeline.log is None:
            return {}
        return {
            vertex.source.table.schema.path: one.state.prepared.splits[vertex.id]
            for _, one in _copies(pipeline, machines)
            if one.shown_state is TableState.DONE
            for vertex in one.pipeline.vertices
            if vertex.source is not None
        }


def _copies(pipeline: Pipeline, machines: Mapping[str, PipelineMachine]) -> Iterator[tuple[str, PipelineMachine]]:
    """The machines, by key, of the pipelines that end before this one begins. Each pipeline that ends asks for them,
    and most follow no other: to look through all machines would be work that grows with the square of the tables."""
    if after := frozenset(pipeline.after):
        yield from ((key, one) for key, one in machines.items() if one.id in after)
