"""Decides which tables of a log a restored job goes on with. Pure.

Rule. A log that has begun is followed for the tables that it began with. Another table was not copied in time, or was
added to the job file later: its changes up to now are not in any target, so it is isolated until it is copied again.
"""

from __future__ import annotations

from collections.abc import Mapping

from seatunnel_py.api.schema import TablePath
from seatunnel_py.errors import BEGIN_ANEW
from seatunnel_py.plan import log_tables
from seatunnel_py.plan.graph_nodes import SourcePart
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.values.topology_builder import keys
from seatunnel_py.work.unit import FailureKind, UnitFailure

_WHY = "the log of {step} has begun without it: its copy had not ended then, or it was added later"


def as_begun(
    pipelines: tuple[Pipeline, ...], records: Mapping[str, CheckpointRecord]
) -> tuple[tuple[Pipeline, ...], tuple[TableReceipt, ...]]:
    """The pipelines to run, and the receipts of tables that their log has begun without."""
    kept, late = list(pipelines), dict[TablePath, TableReceipt]()
    for key, pipeline in keys(pipelines).items():
        record = records.get(key)
        if pipeline.log is None or record is None:
            continue
        known = log_tables.tables_reaching(pipeline, record.topology.by_id.keys())
        missing = [table.schema.path for table in pipeline.log.tables if table.schema.path not in known]
        if not known or not missing:
            continue
        late |= {path: _receipt(path, pipeline.log.step.id) for path in missing}
        kept[kept.index(pipeline)] = log_tables.following(pipeline, known)
        kept = [one for one in kept if not (one.id in pipeline.after and _copies_only(one, missing))]
    return tuple(kept), tuple(late.values())


def _copies_only(pipeline: Pipeline, tables: list[TablePath]) -> bool:
    sources = [vertex.source for vertex in pipeline.vertices if vertex.source is not None]
    return all(one.part is SourcePart.COPY and one.table.schema.path in tables for one in sources)


def _receipt(path: TablePath, step: str) -> TableReceipt:
    why = UnitFailure(FailureKind.FATAL, _WHY.format(step=step), f"copy it with another job; or {BEGIN_ANEW}", step)
    return TableReceipt(str(path), (), TableState.ISOLATED, cause=why)
