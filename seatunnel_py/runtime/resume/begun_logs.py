"""Decides which tables of a log a restored job goes on with, and under which schemas.

Rules. (1) A log that has begun is followed for the tables that it began with. Another table was not copied in time, or
was added to the job file later: its changes up to now are not in any target, so it is isolated until it is copied
again. (2) The log is planned for the schemas of its position, which the record holds; the source's catalog shows those
of today. A change that the log has met, and no plan has, comes later: rows of the earlier schema may not be committed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.source import SourceTable
from seatunnel_py.errors import BEGIN_ANEW
from seatunnel_py.plan import log_tables
from seatunnel_py.plan.altered_log import PlanAgain
from seatunnel_py.plan.graph_nodes import SourcePart
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.targets.prepared_pipeline import refused_in, tables_in
from seatunnel_py.runtime.values.topology_builder import keys
from seatunnel_py.work.plain_schema import table_plain
from seatunnel_py.work.schema_alteration import SchemaAlteration
from seatunnel_py.work.unit import FailureKind, UnitFailure

_WHY = "the log of {step} has begun without it: its copy had not ended then, or it was added later"


def as_begun(
    pipelines: tuple[Pipeline, ...], records: Mapping[str, CheckpointRecord], plan_again: PlanAgain
) -> tuple[tuple[Pipeline, ...], tuple[TableReceipt, ...]]:
    """The pipelines to run, and the receipts of tables that their log has begun without. ``plan_again``: for schemas as
    records hold them, under any policy of today."""
    kept, late = list(pipelines), dict[TablePath, TableReceipt]()
    for key, pipeline in keys(pipelines).items():
        record = records.get(key)
        if pipeline.log is None:
            continue
        if record is None:
            kept[kept.index(pipeline)] = _as_copied(pipeline, pipelines, records, plan_again)
            continue
        known = log_tables.tables_reaching(pipeline, record.topology.by_id.keys())
        missing = [table.schema.path for table in pipeline.log.tables if table.schema.path not in known]
        begun = log_tables.following(pipeline, known) if known and missing else pipeline
        kept[kept.index(pipeline)] = _for_tables(begun, tables_in(record.plan), refused_in(record.plan), plan_again)
        if known and missing:
            late |= {path: _receipt(path, pipeline.log.step.id) for path in missing}
            kept = [one for one in kept if not (one.id in pipeline.after and _copies_only(one, missing))]
    return tuple(kept), tuple(late.values())


def _as_copied(
    pipeline: Pipeline, pipelines: tuple[Pipeline, ...], records: Mapping[str, CheckpointRecord], plan_again: PlanAgain
) -> Pipeline:
    """A log that has not begun, for the schemas under which its tables are copied: it begins with these."""
    copies = (key for key, one in keys(pipelines).items() if one.id in pipeline.after)
    tables = [table for key in copies if key in records for table in tables_in(records[key].plan)]
    return _for_tables(pipeline, tables, (), plan_again)


def _for_tables(
    pipeline: Pipeline, tables: Iterable[SourceTable], stopped: tuple[TablePath, ...], plan_again: PlanAgain
) -> Pipeline:
    assert pipeline.log is not None, f"{pipeline.name} follows no log"
    read = {one.schema.path: one for one in pipeline.log.tables}
    known = [SchemaAlteration(table) for table in tables if table.schema.path in read]
    earlier = [one for one in known if table_plain(one.table) != table_plain(read[one.path])]
    return plan_again(pipeline, earlier, stopped).pipeline if earlier else pipeline


def _copies_only(pipeline: Pipeline, tables: list[TablePath]) -> bool:
    sources = [vertex.source for vertex in pipeline.vertices if vertex.source is not None]
    return all(one.part is SourcePart.COPY and one.table.schema.path in tables for one in sources)


def _receipt(path: TablePath, step: str) -> TableReceipt:
    why = UnitFailure(FailureKind.FATAL, _WHY.format(step=step), f"copy it with another job; or {BEGIN_ANEW}", step)
    return TableReceipt(str(path), (), TableState.ISOLATED, cause=why)
