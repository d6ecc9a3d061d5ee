"""Knows what the pipelines of logs need of other machines: the copies of their tables, and plans for new schemas."""

from __future__ import annotations

from collections.abc import Iterable

from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.source import Split
from seatunnel_py.plan.altered_log import AlteredLog
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine


class LogPipelines:
    """The logs of one job."""

    def __init__(self) -> None:
        self._altered: dict[str, AlteredLog] = {}

    def note(self, key: str, found: AlteredLog) -> None:
        """Keep the plan for the machine that begins next."""
        self._altered[key] = found

    def take(self, key: str) -> AlteredLog | None:
        """The plan for the machine that begins now, if it is another than before."""
        return self._altered.pop(key, None)

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
