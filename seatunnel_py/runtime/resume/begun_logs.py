"""Decides which tables of a log a restored job goes on with, and under which schemas.

Rules. (1) A log that has begun goes on with the tables that it has. Other tables of the job were added later, or were
not copied in time: they join it when they are copied (``log_growth.py``). (2) The log is planned for the schemas of its
position, which the record holds; the source's catalog shows those of today. A change that the log has met, and no plan
has, comes later: rows of the earlier schema may not be committed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.source import SourceTable
from seatunnel_py.plan import log_tables
from seatunnel_py.plan.altered_log import PlanAgain
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.targets.prepared_pipeline import refused_in, tables_in
from seatunnel_py.runtime.values.topology_builder import keys
from seatunnel_py.work.plain_schema import table_plain
from seatunnel_py.work.schema_alteration import SchemaAlteration


def as_begun(
    pipelines: tuple[Pipeline, ...], records: Mapping[str, CheckpointRecord], plan_again: PlanAgain
) -> tuple[Pipeline, ...]:
    """The pipelines to run. ``plan_again``: for schemas as records hold them, under any policy of today."""
    found = []
    for key, pipeline in keys(pipelines).items():
        record = records.get(key)
        if pipeline.log is None:
            found.append(pipeline)
        elif record is None:
            found.append(_as_copied(pipeline, pipelines, records, frozenset(), plan_again))
        else:
            found.append(_as_recorded(pipeline, pipelines, records, record, plan_again))
    return tuple(found)


def _as_recorded(
    pipeline: Pipeline,
    pipelines: tuple[Pipeline, ...],
    records: Mapping[str, CheckpointRecord],
    record: CheckpointRecord,
    plan_again: PlanAgain,
) -> Pipeline:
    """The pipeline for the tables of the record; if the job has more, it grows to them."""
    assert pipeline.log is not None, f"{pipeline.name} follows no log"
    read = {table.schema.path for table in pipeline.log.tables}
    vertices, had = record.topology.by_id.keys(), {one.schema.path for one in tables_in(record.plan)}
    known = read & (had or log_tables.tables_reaching(pipeline, vertices))
    begun = log_tables.following(pipeline, known) if known else pipeline
    if len(known) == 1 and known != read and {one.id for one in begun.vertices} != vertices:
        begun = log_tables.fused(begun)
    begun = _for_tables(begun, tables_in(record.plan), refused_in(record.plan), plan_again)
    if not known or known == read:
        return begun
    return replace(begun, grows_to=_as_copied(pipeline, pipelines, records, known, plan_again))


def _as_copied(
    pipeline: Pipeline,
    pipelines: tuple[Pipeline, ...],
    records: Mapping[str, CheckpointRecord],
    known: Collection[TablePath],
    plan_again: PlanAgain,
) -> Pipeline:
    """The pipeline for the schemas under which its tables are copied, but for those which the log has already."""
    copies = (key for key, one in keys(pipelines).items() if one.id in pipeline.after)
    tables = (table for key in copies if key in records for table in tables_in(records[key].plan))
    return _for_tables(pipeline, [one for one in tables if one.schema.path not in known], (), plan_again)


def _for_tables(
    pipeline: Pipeline, tables: Iterable[SourceTable], stopped: tuple[TablePath, ...], plan_again: PlanAgain
) -> Pipeline:
    assert pipeline.log is not None, f"{pipeline.name} follows no log"
    read = {one.schema.path: one for one in pipeline.log.tables}
    known = [SchemaAlteration(table) for table in tables if table.schema.path in read]
    earlier = [one for one in known if table_plain(one.table) != table_plain(read[one.path])]
    return plan_again(pipeline, earlier, stopped).pipeline if earlier else pipeline
