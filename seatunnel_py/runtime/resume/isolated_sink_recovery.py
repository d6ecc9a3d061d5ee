"""Recovers isolated sinks: a later driver runs a separate pipeline for each, or reports why it cannot.

Rules. (1) Recovery pipelines start after the end of the sink's own pipeline, one after the
other, because they read the same sources under the same names. (2) A recovery pipeline consists of the vertices that
feed the sink, and resumes from its own records. The first time it starts from the record of the former pipeline
(``protocol/failover/isolated_recovery.py``), or from nothing without a checkpoint: then all pieces of the sink were
deleted, unless its rows are visible at once. (3) A sink that cannot be recovered is reported, with its missing rows and
a remedy. (4) No recovery runs beside an unfinished pipeline; a stream does not end, so its isolated sinks must be
loaded again. (5) Rows that other vertices reject on the way to the sink are in the quarantine already: they are dropped
again, but not quarantined again. (6) Only the recovery pipeline issues the unconfirmed commits of its sink again: it
may have deleted their pieces to start from nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from seatunnel_py.api.sink import Visible
from seatunnel_py.errors import BEGIN_ANEW, CannotResumeError, first_line
from seatunnel_py.plan.pipelines import Pipeline, PlannedVertex
from seatunnel_py.protocol.commit.claims import RestoreRefusal
from seatunnel_py.protocol.failover.isolated_recovery import begin_apart, cannot_be_finished, members, stands_at
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.runtime.observe.receipt import ResumePoint, stand_text
from seatunnel_py.runtime.resume.job_claim import JobClaim
from seatunnel_py.runtime.resume.rescaling import rescaled
from seatunnel_py.runtime.targets.prepared_pipeline import prepared_of
from seatunnel_py.runtime.targets.sink_operations import exactly_once_visibility
from seatunnel_py.runtime.values.past import EarlierRun
from seatunnel_py.work.unit import FailureKind, UnitFailure


@dataclass(frozen=True, slots=True)
class RecoveryPipeline:
    """A recovery pipeline, its name in the store, and its initial state."""

    scope: str
    key: str
    pipeline: Pipeline
    past: EarlierRun


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A sink that cannot be recovered, and why."""

    scope: str
    why: str


def recovery_pipelines(
    ended: str,
    pipeline: Pipeline,
    past: EarlierRun,
    authority: JobClaim,
    of_its_own: Callable[[str, CheckpointRecord], EarlierRun],
) -> Iterator[RecoveryPipeline | Unfinished]:
    """The recovery of each isolated sink of the pipeline with this key."""
    for scope, key in authority.apart.get(ended, {}).items():
        assert past.record is not None, "it has ended, but in no record"
        begins = remainder(pipeline, past.record, past, scope)
        if isinstance(begins, str):
            yield Unfinished(scope, begins)
            continue
        record = authority.records.get(key)
        rest, anew = begins
        yield RecoveryPipeline(
            scope, key, rest, anew if record is None else replace(of_its_own(key, record), known_bad=anew.known_bad)
        )


def without_recovered(past: EarlierRun, recoveries: Iterable[RecoveryPipeline | Unfinished]) -> EarlierRun:
    """The state of the former pipeline without the commits of recovered sinks (rule 6)."""
    scopes = {one.scope for one in recoveries if isinstance(one, RecoveryPipeline)}
    if past.record is None or not scopes:
        return past
    left = tuple(one for one in past.record.uncommitted if one.scope not in scopes)
    return replace(past, record=replace(past.record, uncommitted=left))


def remainder(
    pipeline: Pipeline, newest: CheckpointRecord, past: EarlierRun, scope: str
) -> tuple[Pipeline, EarlierRun] | str:
    """The recovery pipeline of ``scope``, or why there is none. ``past``: state of the former pipeline."""
    topology = newest.topology
    if why := cannot_be_finished(topology, scope):
        return why
    every = members(topology, scope)
    part = _part(pipeline, every, scope)
    epochs = {name: newest.epochs[name] for name in every}
    at = stands_at(newest, scope)
    stood, bad = past.stood_at, every & frozenset(topology.live)
    if not at:
        if Visible.STAGED in exactly_once_visibility(part.sinks, prepared_of(newest.plan).setups):
            return "some of its rows may be visible already, and no checkpoint lists them"
        return part, EarlierRun(dropped=True, per_split=past.per_split, epochs=epochs, known_bad=bad)
    if at not in stood:
        return f"checkpoint {at}, at which it stands, is not in the store any more"
    plan: Any = newest.plan
    fitted = rescaled(stood[at], _as_live(topology, stood[at]), prepared_of(plan).rounds, ())
    record = fitted if isinstance(fitted, RestoreRefusal) else begin_apart(newest, fitted, scope)
    if isinstance(record, RestoreRefusal):
        return record.why
    decisions: dict[str, Any] = {key: value for key, value in plan.items() if key != "left_out"}
    decisions["rounds"] = {name: rounds for name, rounds in plan["rounds"].items() if name in every}
    found = {name: rounds for name, rounds in past.found.items() if name in every}
    anew = replace(record, plan=decisions)
    return part, EarlierRun(anew, past.done, per_split=past.per_split, found=found, epochs=epochs, known_bad=bad)


def _as_live(topology: Topology, record: CheckpointRecord) -> Topology:
    """The graph, whose parallelism may have changed since the record, with the isolated vertices of the record."""
    return replace(topology, detached=record.topology.detached)


def _part(pipeline: Pipeline, every: frozenset[str], scope: str) -> Pipeline:
    vertices = tuple(_only(vertex, every) for vertex in pipeline.vertices if vertex.id in every)
    targets = dict.fromkeys(node.shown for vertex in vertices for node in vertex.sinks)
    return Pipeline(f"{pipeline.id} -> {scope}", f"{pipeline.name} -> {', '.join(targets)}", vertices)


def _only(vertex: PlannedVertex, every: frozenset[str]) -> PlannedVertex:
    inputs = tuple(one for one in vertex.inputs if one.sender in every)
    outputs = tuple(one for one in vertex.outputs if one.receiver in every)
    return replace(vertex, inputs=inputs, outputs=outputs)


def not_finished(failure: UnitFailure, stand: ResumePoint, why: str) -> UnitFailure:
    """The failure of a sink that cannot be recovered: its missing rows, the reason, and a remedy."""
    return UnitFailure(
        FailureKind.FATAL,
        f"it was isolated ({first_line(failure.message)}); {stand_text(asdict(stand))}, and this run does not deliver "
        f"them: {why}",
        "once the cause is mended, empty this target and load it with a job of its own: the same source, this sink "
        f"alone; or {BEGIN_ANEW}",
        failure.step,
        CannotResumeError.__name__,
    )


NEVER_ENDS = "its source does not end, and no second reader may run beside it"


def wait_for_other_sinks(failure: UnitFailure) -> UnitFailure:
    """The failure of a sink that a later run will recover."""
    return replace(failure, remedy="mend the cause; --restore latest finishes it once the other sinks are done")
