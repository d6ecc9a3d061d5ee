"""Decides which tables of a log a restored job goes on with, and under which schemas.

Rules. (1) A log that has begun goes on with the tables that it has. Other tables of the job were added later, or were
not copied in time: they join it when they are copied. Tables that the job no longer has leave it when their rows are
committed (``log_growth.py``), and so do tables that are copied again (``table_reset.py``). (2) The log is planned for
the schemas of its position, which the record holds; the source's catalog shows those of today. A change that the log
has met, and no plan has, comes later: rows of the earlier schema may not be committed. (3) A table that waits at a
change of its schema leaves the log when a person has decided, and joins it again as it was before the change. A table
that is copied again does not. (4) A table whose new copy has begun has left the log, also if no record shows that: the
log may not write its rows again. (5) Its tables and steps stand in the order of the record, which names channels by
number; a job file may name tables in another order. (6) One table of the job stays in the log while others leave it. If
none could, decisions of persons have their effect at a later start, when other tables have joined. (7) Copies that are
made again wait for a log that tables still have to leave, and for no other: one that waits for them, or for new tables
that cannot be copied, never gets that far.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.schema_policy import SchemaBehavior
from seatunnel_py.api.source import SourceTable
from seatunnel_py.errors import BEGIN_ANEW, FatalError
from seatunnel_py.plan import log_tables
from seatunnel_py.plan.altered_log import PlanAgain, PlanTables
from seatunnel_py.plan.change_rules import ChangeRule
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.targets.held_change import HeldChange
from seatunnel_py.runtime.targets.prepared_pipeline import held_in, refused_in, tables_in
from seatunnel_py.runtime.values.topology_builder import keys
from seatunnel_py.work.plain_schema import table_plain
from seatunnel_py.work.schema_alteration import SchemaAlteration


@dataclass(frozen=True, slots=True)
class _RecordedLog:
    """A log as its record has it. ``tables``: empty in records of older versions; ``had``: their paths, in any record;
    ``held``: changes that wait for a decision."""

    record: CheckpointRecord
    tables: tuple[SourceTable, ...]
    had: frozenset[TablePath]
    held: tuple[HeldChange, ...]

    @classmethod
    def of(cls, pipeline: Pipeline, record: CheckpointRecord) -> _RecordedLog:
        tables = tables_in(record.plan)
        had = frozenset(one.schema.path for one in tables)
        had = had or log_tables.tables_reaching(pipeline, record.topology.by_id.keys())
        return cls(record, tables, had, held_in(record.plan))


def as_begun(
    pipelines: tuple[Pipeline, ...],
    records: Mapping[str, CheckpointRecord],
    plan_again: PlanAgain,
    plan_tables: PlanTables,
    resets: Collection[str] = (),
    decisions: Mapping[str, Mapping[str, SchemaBehavior]] = MappingProxyType({}),
    rules: tuple[ChangeRule, ...] = (),
    emptied: Collection[str] = (),
) -> tuple[Pipeline, ...]:
    """The pipelines to run. ``plan_again``: for schemas as records hold them, under any policy of today;
    ``plan_tables``: for tables that the job may no longer have. ``resets``: the keys of copies that are made again;
    ``emptied``: of these, the ones that have begun. ``decisions``: by pipeline and change, those of persons;
    ``rules``: they decide about later changes."""
    found = []
    again, left = _tables(pipelines, resets), _tables(pipelines, emptied)
    for key, pipeline in keys(pipelines).items():
        if pipeline.log is None:
            found.append(pipeline)
            continue
        record = records.get(key)
        recorded = None if record is None else _RecordedLog.of(pipeline, record)
        now = _as_copied(pipeline, pipelines, records, () if recorded is None else recorded.had, plan_again)
        if recorded is not None:
            own = _in_effect(decisions.get(key, {}), recorded, again, now.tables)
            held = {one.path: one for one in recorded.held if one.id in own and one.path in now.tables}
            now = _for_tables(now, [one.before for one in held.values()], (), plan_again)
            now = _as_recorded(pipeline, now, recorded, again.union(held), plan_again, plan_tables, left)
            now = _with_decisions(now, own)
        found.append(_with_rules(now, rules))
    return tuple(found)


def _tables(pipelines: tuple[Pipeline, ...], of: Collection[str]) -> frozenset[TablePath]:
    return frozenset(path for key, one in keys(pipelines).items() if key in of for path in one.tables)


def _in_effect(
    decisions: Mapping[str, SchemaBehavior],
    recorded: _RecordedLog,
    again: frozenset[TablePath],
    tables: Collection[TablePath],
) -> dict[str, SchemaBehavior]:
    """The decisions that count now (rules 3 and 6). ``again``: tables that are copied again; ``tables``: of the job."""
    over = {one.id for one in recorded.held if one.path in again}
    copied = recorded.had & again
    leaves = copied.union(one.path for one in recorded.held if one.id in decisions)
    if leaves.issuperset(tables):
        over = {one.id for one in recorded.held}
    return {name: one for name, one in decisions.items() if name not in over}


def _with_decisions(pipeline: Pipeline, decisions: Mapping[str, SchemaBehavior]) -> Pipeline:
    becomes = None if pipeline.becomes is None else _with_decisions(pipeline.becomes, decisions)
    return replace(pipeline, becomes=becomes, decisions=decisions)


def _with_rules(pipeline: Pipeline, rules: tuple[ChangeRule, ...]) -> Pipeline:
    becomes = None if pipeline.becomes is None else _with_rules(pipeline.becomes, rules)
    return replace(pipeline, becomes=becomes, rules=rules)


def _as_recorded(
    pipeline: Pipeline,
    now: Pipeline,
    recorded: _RecordedLog,
    again: Collection[TablePath],
    plan_again: PlanAgain,
    plan_tables: PlanTables,
    left: Collection[TablePath],
) -> Pipeline:
    """The pipeline for the tables of the record. If the job has others, it becomes the one that is planned ``now``.
    ``again``: tables that are copied again; ``left``: of these, the ones that have left the log."""
    assert pipeline.log is not None, f"{pipeline.name} follows no log"
    record, had = recorded.record, recorded.had
    read = {table.schema.path for table in pipeline.log.tables}
    if had <= read:
        begun = log_tables.following(pipeline, had) if had else pipeline
        begun = _for_tables(begun, recorded.tables, refused_in(record.plan), plan_again)
    else:
        begun = _with_removed(pipeline, recorded, plan_tables)
    channels = any(edge.sender == log_tables.vertex_of(begun).id for edge in record.topology.edges)
    begun = log_tables.with_channels(begun) if channels else log_tables.without_channel(begun)
    begun = log_tables.ordered(begun, [one.schema.path for one in recorded.tables], [*record.topology.by_id])
    if leaves := had.intersection(again):
        if leaves.issuperset(now.tables):
            text = f"all tables of {pipeline.name} would leave it, and it would have nothing to read meanwhile"
            raise FatalError(text, f"restore the old list of tables; or {BEGIN_ANEW}")
        rest = log_tables.without(now, leaves)
        begun = log_tables.following(begun, had.difference(left))
        has_left = leaves.issubset(left) and set(begun.tables) <= set(rest.tables)
        return replace(begun, becomes=rest.becomes if has_left else rest)
    if not had or had == read:
        return begun
    return replace(begun, becomes=log_tables.with_channels(now))


def _with_removed(pipeline: Pipeline, recorded: _RecordedLog, plan_tables: PlanTables) -> Pipeline:
    """The pipeline with tables that the job no longer has: their rows up to the last checkpoint are to be committed."""
    assert pipeline.log is not None, f"{pipeline.name} follows no log"
    read = {one.schema.path for one in pipeline.log.tables}
    if refused := read.intersection(refused_in(recorded.record.plan)):
        raise FatalError(
            f"{pipeline.name} cannot leave tables out while the target of {min(refused, key=str)} refuses a change of "
            "its schema",
            f"restore the old list of tables; or {BEGIN_ANEW}",
        )
    return plan_tables(pipeline, recorded.tables)


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
