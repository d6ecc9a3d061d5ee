"""Decides which tables of a log a restored job goes on with, and under which schemas.

Rules. (1) A log that has begun is followed for the tables that it began with. Another table was not copied in time, or
was added to the job file later: its changes up to now are not in any target, so it is isolated until it is copied
again. (2) The log is planned for the schemas of its position, which the record holds; the source's catalog shows those
of today. A change that the log had met, and no plan had, is planned now, and its targets are altered when the pipeline
begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from seatunnel_py.api.schema import TablePath
from seatunnel_py.errors import BEGIN_ANEW
from seatunnel_py.plan import log_tables
from seatunnel_py.plan.altered_log import AlteredLog, PlanAgain
from seatunnel_py.plan.graph_nodes import SourcePart
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.targets.prepared_pipeline import refused_in, tables_in
from seatunnel_py.runtime.values.schema_alterations import is_planned, pending_in
from seatunnel_py.runtime.values.topology_builder import keys
from seatunnel_py.work.schema_alteration import SchemaAlteration
from seatunnel_py.work.unit import FailureKind, UnitFailure

_WHY = "the log of {step} has begun without it: its copy had not ended then, or it was added later"


@dataclass(frozen=True, slots=True)
class BegunLogs:
    """The logs of a job. ``plan_again``: plans one of them for other schemas; ``altered``: by pipeline key, the plans
    whose targets have to be altered first."""

    plan_again: PlanAgain
    altered: Mapping[str, AlteredLog] = field(default_factory=dict)


def _no_plan(*_: object) -> AlteredLog:
    raise AssertionError("a job without logs meets no change of a schema")


NO_LOGS = BegunLogs(_no_plan)


def as_begun(
    pipelines: tuple[Pipeline, ...], records: Mapping[str, CheckpointRecord], plan_again: PlanAgain
) -> tuple[tuple[Pipeline, ...], tuple[TableReceipt, ...], BegunLogs]:
    """The pipelines to run, the receipts of tables that their log has begun without, and the logs."""
    kept, late = list(pipelines), dict[TablePath, TableReceipt]()
    altered: dict[str, AlteredLog] = {}
    for key, pipeline in keys(pipelines).items():
        record = records.get(key)
        if pipeline.log is None or record is None:
            continue
        known = log_tables.tables_reaching(pipeline, record.topology.by_id.keys())
        missing = [table.schema.path for table in pipeline.log.tables if table.schema.path not in known]
        begun = log_tables.following(pipeline, known) if known and missing else pipeline
        found = _as_read(begun, record, plan_again)
        kept[kept.index(pipeline)] = found.pipeline
        if found.changes or found.refused:
            altered[key] = found
        if known and missing:
            late |= {path: _receipt(path, pipeline.log.step.id) for path in missing}
            kept = [one for one in kept if not (one.id in pipeline.after and _copies_only(one, missing))]
    return tuple(kept), tuple(late.values()), BegunLogs(plan_again, altered)


def _as_read(pipeline: Pipeline, record: CheckpointRecord, plan_again: PlanAgain) -> AlteredLog:
    """The pipeline for the schemas of the log's position (rule 2)."""
    assert pipeline.log is not None, f"{pipeline.name} follows no log"
    before = {one.schema.path: one for one in tables_in(record.plan)}
    stopped = refused_in(record.plan)
    read = {one.schema.path: one for one in pipeline.log.tables}
    known = [SchemaAlteration(table) for path, table in before.items() if path in read]
    earlier = [one for one in known if not is_planned(one, read)]
    if earlier:
        pipeline = plan_again(pipeline, earlier, stopped).pipeline
    pending = pending_in(record, pipeline.log.id, before) if pipeline.log is not None else ()
    return plan_again(pipeline, pending, stopped) if pending else AlteredLog(pipeline)


def _copies_only(pipeline: Pipeline, tables: list[TablePath]) -> bool:
    sources = [vertex.source for vertex in pipeline.vertices if vertex.source is not None]
    return all(one.part is SourcePart.COPY and one.table.schema.path in tables for one in sources)


def _receipt(path: TablePath, step: str) -> TableReceipt:
    why = UnitFailure(FailureKind.FATAL, _WHY.format(step=step), f"copy it with another job; or {BEGIN_ANEW}", step)
    return TableReceipt(str(path), (), TableState.ISOLATED, cause=why)
