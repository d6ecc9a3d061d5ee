"""Alters the targets of a log for tables whose schema has changed, when a pipeline begins with the new schemas.

A table that was truncated empties its targets in the same way.

Rules. (1) All rows of the earlier schemas are committed then (``log_replanning.py``). (2) The set-up of a changed sink
is replaced, and every later record holds the new one together with the tables' schemas. If the driver dies before the
first of these, the next one meets the change again; its alteration has no further effect. (3) A target that
refuses stops its table, not the others. (4) So does one that cannot be asked for a while: the other tables wait.
(5) A change by which a table stops is kept with its place in the log, for a person to decide about it. The log is
kept from the oldest of these places on (``kept_log.py``). (6) A table with an isolated target lacks rows from before
the change, so it can only be copied again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TypeVar

from seatunnel_py.api.batch import Position
from seatunnel_py.api.log_source import LogSource
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.sink import Setup
from seatunnel_py.errors import COPY_AGAIN, FatalError, RetriableError
from seatunnel_py.plan import log_tables
from seatunnel_py.plan.altered_log import AlteredLog
from seatunnel_py.plan.followed_schema import DECIDE
from seatunnel_py.plan.graph_nodes import SinkNode
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.targets.call_failure import as_failure
from seatunnel_py.runtime.targets.held_change import APPROVE, HeldChange
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.runtime.values import failpoints
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.runtime.values.split_progress import reading_of
from seatunnel_py.runtime.values.subtask_state import state_of
from seatunnel_py.work.unit import FailureKind, UnitFailure

TRIES = 3
PAUSE_SECONDS = 1.0
T = TypeVar("T")
_KEEP = "empty the target by hand, or set schema-changes.exclude = [truncate.table], which keeps its rows"


def altered(
    pipeline: Pipeline,
    before: PreparedPipeline,
    found: AlteredLog | None,
    job: JobIdentity,
    record: CheckpointRecord | None = None,
) -> PreparedPipeline:
    """Alter the targets. ``record``: the one that the pipeline goes on from. Return the decisions with the tables of
    the log."""
    sources = [one.source for one in pipeline.vertices if one.source is not None and one.source.part.has_log]
    if not sources:
        return before
    tables = {table.schema.path: table for one in sources for table in one.tables}
    if found is None:
        return replace(before, tables=tables)
    setups = dict(before.setups)
    refused = {**before.refused, **{path: _failure(one.message, one.remedy, one.step)
                                    for path, one in found.refused.items()}}  # fmt: skip
    reaching = _sources(pipeline, frozenset() if record is None else record.topology.detached)
    for node in pipeline.sinks:
        reached = reaching.get(node.id, frozenset())
        if not reached or not refused.keys().isdisjoint(reached):
            continue
        made = _followed(node, reached, found, setups[node.id], job)
        if isinstance(made, Setup):
            setups[node.id] = made
        else:
            refused |= dict.fromkeys(reached, made)
    _require_channels(pipeline, refused)
    after = replace(before, setups=setups, tables=tables, refused=refused)
    return after if record is None else _holding(pipeline, before, after, found, record)


def _holding(
    pipeline: Pipeline, before: PreparedPipeline, after: PreparedPipeline, found: AlteredLog, record: CheckpointRecord
) -> PreparedPipeline:
    """Keep the changes by which tables stop now (rule 5)."""
    log = log_tables.vertex_of(pipeline)
    assert log.source is not None and isinstance(log.source.source, LogSource), "it follows a log"
    place = place_of_log(record, log.id)
    new = [one for one in found.met if one.path in after.refused.keys() - before.refused.keys() and one.stops is None]
    if not new or place is None or not log.source.source.can_go_back:
        return after
    held, refused = dict(before.held), dict(after.refused)
    isolated = frozenset().union(*_sources(pipeline, record.topology.live).values())
    for path in isolated.intersection(one.path for one in new):
        refused[path] = replace(refused[path], remedy=COPY_AGAIN)
    new = [one for one in new if one.path not in isolated]
    reached = _sources(pipeline, ())
    for one in new:
        setups = {node: setup for node, setup in before.setups.items() if one.path in reached.get(node, ())}
        why = refused[one.path]
        cause = why.message, why.remedy
        held[one.path] = found_now = HeldChange(before.tables[one.path], one, place, cause, record.checkpoint, setups)
        refused[one.path] = replace(why, remedy=_ways_on(why.remedy, found_now.id))
    return replace(after, held=held, refused=refused)


def _ways_on(remedy: str, change: str) -> str:
    approve = f"`{APPROVE} {change}`"
    if remedy == DECIDE:
        return f"{approve}, or `seatunnel changes reject JOB {change}`"
    return f"{remedy}; {approve} lets it go on without a copy"


def refusing_targets(
    found: AlteredLog, before: PreparedPipeline, record: CheckpointRecord, job: JobIdentity
) -> dict[TablePath, UnitFailure]:
    """Alter the targets as in ``altered``. Return the tables whose targets refuse."""
    stopped = {*before.refused, *found.refused}
    refusing: dict[TablePath, UnitFailure] = {}
    for name, reached in _sources(found.pipeline, record.topology.detached).items():
        node = next(one for one in found.pipeline.sinks if one.id == name)
        if stopped.isdisjoint(reached) and name in before.setups:
            made = _followed(node, reached, found, before.setups[name], job)
            if isinstance(made, UnitFailure):
                refusing |= dict.fromkeys(reached, made)
    return refusing


def place_of_log(record: CheckpointRecord, vertex: str) -> Position | None:
    """The place at which a log is read next; None: at the beginning of its split."""
    states = (state_of(one.state) for at, one in record.snapshots.items() if at.vertex == vertex)
    return next((place for state in states for place in reading_of(state.reading).at.values()), None)


def _require_channels(pipeline: Pipeline, refused: Mapping[TablePath, UnitFailure]) -> None:
    """A table that is alone in its pipeline cannot stop alone. Raises FatalError."""
    alone = any(one.source is not None and not one.outputs for one in pipeline.vertices)
    for failure in refused.values() if alone else ():
        raise FatalError(failure.message, failure.remedy)


def _sources(pipeline: Pipeline, out: Iterable[str]) -> dict[str, frozenset[TablePath]]:
    """The tables of the log that each sink gets rows of."""
    found: dict[str, frozenset[TablePath]] = {}
    reached = log_tables.tables_by_vertex(pipeline)
    for vertex in pipeline.vertices:
        if vertex.id not in out:
            for node in vertex.sinks:
                found[node.id] = found.get(node.id, frozenset()) | reached[vertex.id]
    return found


def _followed(
    node: SinkNode, reached: frozenset[TablePath], found: AlteredLog, setup: Setup, job: JobIdentity
) -> Setup | UnitFailure:
    """The set-up after the changes of the tables that reach a sink, or the reason why it refuses."""
    made: Setup | UnitFailure = setup
    if (change := found.changes.get(node.id)) is not None:
        made = _altering(node, partial(plugin_calls.altered_by, node.step, node.sink, change, setup))
        if isinstance(made, UnitFailure):
            statement = f" ({change.statement})" if change.statement else ""
            text = f"{node.shown} refuses the new schema of {change.table}{statement}: {made.message}"
            return replace(made, kind=FailureKind.FATAL, message=text)
    if emptied := reached & found.truncated:
        (table, *_) = emptied
        if node.shared or reached != emptied:
            text = f"{table} was truncated, and {node.shown} has rows of other tables too"
            return UnitFailure(FailureKind.FATAL, text, _KEEP, node.step.id)
        context = job.commit_context(node, setup.data, 0, final=False)
        done = _altering(node, partial(plugin_calls.truncated_by, node.step, node.sink, setup, context))
        if done is not None:
            text = f"{node.shown} refuses to be emptied as {table} was: {done.message}"
            return replace(done, kind=FailureKind.FATAL, message=text)
    return made


def followed_by_target(node: SinkNode, found: AlteredLog, one: HeldChange, job: JobIdentity) -> UnitFailure | None:
    """Let a target follow a change about which a person has decided; the reason if it refuses."""
    setup = one.setups.get(node.id)
    if setup is None:
        return None
    made = _followed(node, frozenset({one.path}), found, setup, job)
    return made if isinstance(made, UnitFailure) else None


def _altering(node: SinkNode, call: Callable[[], T]) -> T | UnitFailure:
    def make() -> T:
        failpoints.BEFORE_ALTERATION.hit()
        made = call()
        failpoints.ALTERED.hit()
        return made

    return tried(node.step.id, make)


def tried(step: str, call: Callable[[], T]) -> T | UnitFailure:
    """The result of the call, or the reason why a table of this step has to stop (rule 4)."""
    error: Exception = AssertionError("it is tried at least once")
    for attempt in range(TRIES):
        if attempt:
            time.sleep(PAUSE_SECONDS)
        try:
            return call()
        except RetriableError as found:
            error = found
        except Exception as found:  # noqa: BLE001 - whatever a plugin raises stops its table
            error = found
            break
    return as_failure(error, step)


def _failure(message: str, remedy: str, step: str) -> UnitFailure:
    return UnitFailure(FailureKind.FATAL, message, remedy, step)
