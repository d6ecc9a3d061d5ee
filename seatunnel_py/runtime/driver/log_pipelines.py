"""Knows what the pipelines of logs need of other machines: the copies of their tables, and plans for new schemas."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seatunnel_py.api.log_source import FollowedTable
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.source import Split
from seatunnel_py.plan.altered_log import AlteredLog
from seatunnel_py.plan.graph_nodes import SourcePart
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine
from seatunnel_py.work.unit import FailureKind, UnitFailure


class LogPipelines:
    """The logs of one job. ``apart``: tables that could not join their log, with the cause."""

    def __init__(self) -> None:
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
    def joining(pipeline: Pipeline, copied: Mapping[TablePath, tuple[Split, ...]]) -> tuple[FollowedTable, ...]:
        """The tables that join a log which has begun: those that were copied, or are not copied at all."""
        whole = pipeline.becomes
        if whole is None or whole.log is None:
            return ()
        more = [one for one in whole.log.tables if one.schema.path not in pipeline.tables]
        copies = whole.log.part is SourcePart.LOG_AFTER_COPY
        return tuple(
            FollowedTable(one, copied.get(one.schema.path, ()))
            for one in more
            if not copies or one.schema.path in copied
        )

    @staticmethod
    def copied(pipeline: Pipeline, machines: Iterable[PipelineMachine]) -> dict[TablePath, tuple[Split, ...]]:
        """The splits by which the tables of a log were copied, of those whose copies are done."""
        if pipeline.log is None:
            return {}
        return {
            vertex.source.table.schema.path: one.state.prepared.splits[vertex.id]
            for one in machines
            if one.id in pipeline.after and one.shown_state is TableState.DONE
            for vertex in one.pipeline.vertices
            if vertex.source is not None
        }
