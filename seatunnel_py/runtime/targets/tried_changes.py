"""Plans changes of schemas again without those that a step or a target refuses, as ``schema-changes.behavior = try``
asks.

All rows of the earlier schemas are committed then (``log_replanning.py``), so the targets are altered here; that they
are altered again when the pipeline begins has no further effect.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from seatunnel_py.api.log_source import LogSource
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.schema_policy import SchemaBehavior
from seatunnel_py.plan.altered_log import AlteredLog, PlanAgain
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.runtime.targets.target_alteration import refusing_targets
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.work.schema_alteration import SchemaAlteration


def planned(
    plan_again: PlanAgain,
    pipeline: Pipeline,
    prepared: PreparedPipeline,
    record: CheckpointRecord | None,
    job: JobIdentity,
    alterations: Sequence[SchemaAlteration],
    without: Collection[TablePath],
) -> AlteredLog:
    """The plan for changes that the log has met. ``prepared``, ``record``: of the machine that has ended."""
    found = plan_again(pipeline, alterations, without)
    log = pipeline.log
    assert log is not None and isinstance(log.source, LogSource), f"{pipeline.name} follows no log"
    behaviors = {one.path: log.source.schema_policy_of(one.path).behavior for one in alterations}
    if SchemaBehavior.TRY not in behaviors.values() or record is None:
        return found
    why = {path: one.message for path, one in found.refused.items()}
    why |= {path: one.message for path, one in refusing_targets(found, prepared, record, job).items()}
    tried = [one for one in alterations if behaviors[one.path] is SchemaBehavior.TRY]
    ignored = [one for one in tried if one.path in why and one.stops is None and one.behavior is None]
    if not ignored:
        return found
    rest = [one for one in alterations if one not in ignored]
    again = [*rest, *(replace(one, behavior=SchemaBehavior.IGNORE) for one in ignored)]
    return replace(plan_again(pipeline, again, without), ignored={one.path: why[one.path] for one in ignored})
