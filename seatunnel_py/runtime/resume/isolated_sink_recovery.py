"""What a pipeline has ended without is finished by another one, in a later driver; or people hear why it is not.

Rules. (1) A pipeline that has ended is over: what finishes a sink that it left out begins behind it, one sink after the
other, for they read the same sources with the same names. (2) It is made of the vertices that feed the sink, and begins
with the records that it has; at first with what its pipeline left it (``protocol/failover/isolated_recovery.py``), or
from nothing where there was no checkpoint: then everything that the sink had staged was given back, unless it is
visible at once. (3) What cannot be finished is not dropped silently: the pipeline that left it out says what is missing
since when, and what to do. (4) Nobody finishes anything beside a pipeline that goes on; a stream does not end, so what
it left out has to be loaded anew. (5) Rows that are refused on their way to the sink, by vertices that were never left
out, are in the quarantine already: they are left out again, and not set aside again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

from seatunnel_py.api.sink import Visible
from seatunnel_py.errors import BEGIN_ANEW, CannotResumeError, first_line
from seatunnel_py.plan.pipelines import Pipeline, PlannedVertex
from seatunnel_py.protocol.commit.claims import RestoreRefusal
from seatunnel_py.protocol.failover.isolated_recovery import begin_apart, cannot_be_finished, members, stands_at
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.observe.receipt import ResumePoint, stand_text
from seatunnel_py.runtime.resume.job_claim import JobClaim
from seatunnel_py.runtime.targets.sink_operations import exactly_once_visibility, prepared_of
from seatunnel_py.runtime.values.past import EarlierRun
from seatunnel_py.work.unit import FailureKind, UnitFailure


@dataclass(frozen=True, slots=True)
class RecoveryPipeline:
    """The pipeline that finishes a sink, its name in the store, and with what it begins."""

    scope: str
    key: str
    pipeline: Pipeline
    past: EarlierRun


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A sink that no pipeline finishes, and why."""

    scope: str
    why: str


def recovery_pipelines(
    ended: str,
    pipeline: Pipeline,
    past: EarlierRun,
    authority: JobClaim,
    of_its_own: Callable[[str, CheckpointRecord], EarlierRun],
) -> Iterator[RecoveryPipeline | Unfinished]:
    """What the pipeline of this key has ended without, sink by sink."""
    for scope, key in authority.apart.get(ended, {}).items():
        assert past.record is not None, "it has ended, but in no record"
        begins = remainder(pipeline, past.record, past, scope)
        if isinstance(begins, str):
            yield Unfinished(scope, begins)
            continue
        own = authority.records.get(key)
        rest, anew = begins
        yield RecoveryPipeline(
            scope, key, rest, anew if own is None else replace(of_its_own(key, own), known_bad=anew.known_bad)
        )


def remainder(
    pipeline: Pipeline, newest: CheckpointRecord, past: EarlierRun, scope: str
) -> tuple[Pipeline, EarlierRun] | str:
    """What finishes ``scope``; why nothing can, in words. ``past`` is that of the pipeline that left it out."""
    topology = newest.topology
    if why := cannot_be_finished(topology, scope):
        return why
    every = members(topology, scope)
    part = _part(pipeline, every, scope)
    epochs = {name: newest.epochs[name] for name in every}
    at = stands_at(newest, scope)
    stood, known = past.stood_at, every & frozenset(topology.live)
    if not at:
        if Visible.STAGED in exactly_once_visibility(part.sinks, prepared_of(newest.plan).setups):
            return "some of its rows may be visible already, and no checkpoint says which"
        return part, EarlierRun(dropped=True, per_split=past.per_split, epochs=epochs, known_bad=known)
    if at not in stood:
        return f"checkpoint {at}, at which it stands, is not in the store any more"
    record = begin_apart(newest, stood[at], scope)
    if isinstance(record, RestoreRefusal):
        return record.why
    plan: Any = newest.plan
    own = {key: value for key, value in plan.items() if key != "left_out"}
    own["rounds"] = {name: rounds for name, rounds in plan["rounds"].items() if name in every}
    found = {name: rounds for name, rounds in past.found.items() if name in every}
    anew = replace(record, plan=own)
    return part, EarlierRun(anew, past.done, per_split=past.per_split, found=found, epochs=epochs, known_bad=known)


def _part(pipeline: Pipeline, every: frozenset[str], scope: str) -> Pipeline:
    vertices = tuple(_only(vertex, every) for vertex in pipeline.vertices if vertex.id in every)
    targets = dict.fromkeys(node.shown for vertex in vertices for node in vertex.sinks)
    return Pipeline(f"{pipeline.id} -> {scope}", f"{pipeline.name} -> {', '.join(targets)}", vertices)


def _only(vertex: PlannedVertex, every: frozenset[str]) -> PlannedVertex:
    inputs = tuple(one for one in vertex.inputs if one.sender in every)
    outputs = tuple(one for one in vertex.outputs if one.receiver in every)
    return replace(vertex, inputs=inputs, outputs=outputs)


def not_finished(failure: UnitFailure, stand: ResumePoint, why: str) -> UnitFailure:
    """What people read of a sink that stays out: what it lacks, why nobody brings it, how to have it all the same."""
    return UnitFailure(
        FailureKind.FATAL,
        f"it was left out ({first_line(failure.message)}); {stand_text(asdict(stand))}, and this run does not bring "
        f"that: {why}",
        "once the cause is mended, empty this target and load it with a job of its own: the same source, this sink "
        f"alone; or {BEGIN_ANEW}",
        failure.step,
        CannotResumeError.__name__,
    )


NEVER_ENDS = "its source does not end, and nobody reads a second time beside it"


def wait_for_other_sinks(failure: UnitFailure) -> UnitFailure:
    """What people read where another run will do it."""
    return replace(failure, remedy="mend the cause; --restore latest finishes it once the other sinks are done")
