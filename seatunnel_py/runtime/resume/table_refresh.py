"""Refreshes rows of a followed table: reads them again at the source, and brings the target to them.

Rules. (1) The request is the durable fact: it is open until the refresh is done, and each start of the job performs the
open ones again. A request that comes before the table follows its log waits for that. (2) A refresh happens at a start,
when the targets have refused older drivers, and before the log is read. So each change that is applied after it is one
of the log, in order. (3) The rows are read as of a place of the log that is not before the one from which the log goes
on. Changes in between come again; of each key the last one decides, whatever the refresh has written. A row without a
change in between is as it was read. (4) Each key of the refresh gets the row that the source has, or is removed. No
other row is touched, so it does not matter whether a row moves into the condition or out of it. (5) A refresh that
fails has changed nothing, and the log goes on. (6) A change that needs the row before it, which a refresh may have
removed, is none that a log gives: a moved row with an absent cell stops its table (``postgres_cdc/reader.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Protocol

from seatunnel_py.api.log_source import BegunLog
from seatunnel_py.api.sink import Setup
from seatunnel_py.errors import COPY_AGAIN, FatalError, PlanError, Problem
from seatunnel_py.plan import log_tables
from seatunnel_py.plan.graph_nodes import SinkNode
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.plan.tables.table_refresh import RefreshOutcome, RefreshWish
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.resume import table_reset
from seatunnel_py.runtime.resume.pipeline_start import StartPlan
from seatunnel_py.runtime.targets.prepared_pipeline import refused_in, tables_in
from seatunnel_py.runtime.targets.target_alteration import tried
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.work.unit import UnitFailure

OPTION = "table refresh"


@dataclass(frozen=True, slots=True)
class RefreshWork:
    """A wish, and the log that goes on after it. ``sinks``: those of the table, with their set-ups."""

    wish: RefreshWish
    pipeline: Pipeline
    sinks: tuple[SinkNode, ...]
    setups: Mapping[str, Setup]
    begun: BegunLog
    job: JobIdentity


class RowRefresher(Protocol):
    """Reads rows of both sides, and writes them."""

    def try_out(self, wish: RefreshWish) -> None:
        """Check that both sides can be read for this wish. Raises SeaTunnelError."""

    def perform(self, work: RefreshWork) -> RefreshOutcome:
        """Read and write, all or nothing. Raises SeaTunnelError."""


class TableRefreshes:
    """The wishes that a start of the job fulfils. ``taken``: their requests."""

    def __init__(self, refresher: RowRefresher | None = None) -> None:
        self._refresher = refresher
        self._wishes: dict[str, list[RefreshWish]] = {}
        self.taken: set[str] = set()

    def add(self, log: str, wish: RefreshWish) -> None:
        """Let the log of this key begin with the wish."""
        self._wishes.setdefault(log, []).append(wish)
        self.taken.add(wish.request)

    def take(self, log: str) -> tuple[RefreshWish, ...]:
        """The wishes of the log, once."""
        return tuple(self._wishes.pop(log, ()))

    def try_out(self, wish: RefreshWish) -> None:
        """Check that both sides can be read for this wish. Raises SeaTunnelError."""
        refresher = self._refresher
        assert refresher is not None, "a job without logs has no wishes"
        found = tried("", lambda: refresher.try_out(wish))
        if isinstance(found, UnitFailure):
            raise FatalError(f"{wish.shown}: {found.message}", found.remedy)

    def perform(self, wish: RefreshWish, pipeline: Pipeline, job: JobIdentity, plan: StartPlan) -> RefreshOutcome:
        """Fulfil a wish before the log is read; on a side thread. A failure concerns the wish only (rule 5)."""
        refresher = self._refresher
        assert refresher is not None, "a job without logs has no wishes"

        def perform() -> RefreshOutcome:
            return refresher.perform(_work(wish, pipeline, job, plan))

        found = tried("", perform)
        if isinstance(found, UnitFailure):
            return RefreshOutcome(wish, False, f"{wish.shown}: not refreshed: {found.message}", found.remedy)
        return found


def chosen(
    named: Mapping[str, Pipeline],
    records: Mapping[str, CheckpointRecord | None],
    wish: RefreshWish,
    resets: Collection[str] = (),
) -> tuple[str, RefreshWish] | None:
    """The key of the log that refreshes the table, and the wish with its whole name. None: not yet, because the table
    is still copied. ``resets``: keys of copies that are made again. Raises PlanError if it cannot be refreshed."""
    (table,) = table_reset.followed(named, [wish.table])
    key, log = next((key, one) for key, one in named.items() if one.follows_copies and table in map(str, one.tables))
    record = records.get(key)
    had = () if record is None else [str(one.schema.path) for one in tables_in(record.plan)]
    if record is None or table in _again(named, resets) or (had and table not in had):
        return None
    if problem := _problem(log, record, table):
        raise PlanError((Problem(problem[0], OPTION, remedy=problem[1]),))
    return key, RefreshWish(wish.request, table, wish.condition, wish.column, wish.values, wish.keys)


def _again(named: Mapping[str, Pipeline], resets: Collection[str]) -> frozenset[str]:
    return frozenset(str(path) for key in resets if key in named for path in named[key].tables)


def _problem(log: Pipeline, record: CheckpointRecord, table: str) -> tuple[str, str] | None:
    """Why the table cannot be refreshed, and the way on."""
    if table in map(str, refused_in(record.plan)):
        return f"{table} is ISOLATED: its target refuses a change of the schema", COPY_AGAIN
    for node in sinks_of(log, table):
        if node.shared:
            return f"{node.shown} has rows of other tables too", "correct its rows with statements of your own"
        if not node.capabilities.keys:
            return f"{node.shown} does not write by key, so rows of it cannot be replaced", COPY_AGAIN
    return None


def sinks_of(log: Pipeline, table: str) -> tuple[SinkNode, ...]:
    """The sinks of a log that get rows of this table."""
    reached = log_tables.tables_by_vertex(log)
    vertices = (one for one in log.vertices if table in map(str, reached[one.id]))
    return tuple({node.id: node for vertex in vertices for node in vertex.sinks}.values())


def _work(wish: RefreshWish, pipeline: Pipeline, job: JobIdentity, plan: StartPlan) -> RefreshWork:
    record, prepared = plan.record, plan.prepared
    if record is None:
        raise FatalError(f"{pipeline.name} begins again from nothing, and copies its tables", "ask again when it runs")
    sinks = sinks_of(pipeline, wish.table)
    out = {node.id for one in pipeline.vertices if one.id in record.topology.detached for node in one.sinks}
    if not sinks or any(node.id in out for node in sinks):
        raise FatalError(f"{wish.table} is ISOLATED", COPY_AGAIN)
    begun = prepared.begun_log(log_tables.vertex_of(pipeline).id, record)
    return RefreshWork(wish, pipeline, sinks, prepared.setups, begun, job)
