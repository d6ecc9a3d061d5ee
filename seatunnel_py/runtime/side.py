"""What the driver does to the outside world beside running units: prepare a pipeline, commit it, abort it.

Runs on the loop's side threads, never on the loop itself. Every function returns a value or raises; the loop turns
either into an event.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress

from seatunnel_py.api.batch import Plain
from seatunnel_py.api.sink import CommitContext, Piece, Setup
from seatunnel_py.api.source import Enumerator, Split
from seatunnel_py.errors import FatalError, RetriableError, SeaTunnelError
from seatunnel_py.plan.flows import SinkNode
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.chains import JobIdentity
from seatunnel_py.runtime.pipeline_run import Prepared
from seatunnel_py.work.unit import FailureKind, SinkPiece, UnitFailure


def prepare(pipeline: Pipeline, job: JobIdentity) -> Prepared:
    """Plan every sink of the pipeline before touching any, perform their effects, then find the splits. What fails
    half-way leaves nothing behind: neither an open enumerator nor a staging place that a sink had made."""
    setups = {node.id: node.sink.plan_setup() for node in pipeline.sinks}
    begun: dict[str, Setup] = {}
    splits: dict[str, tuple[Split, ...]] = {}
    enumerators: list[Enumerator] = []
    try:
        for node in pipeline.sinks:
            begun[node.id] = setups[node.id]
            node.sink.setup(setups[node.id])
        for vertex in pipeline.vertices:
            if vertex.source is not None:
                enumerators.append(vertex.source.source.enumerator([vertex.source.table], None))
                splits[vertex.id] = tuple(enumerators[-1].discover())
    except BaseException:
        with suppress(Exception):  # why it failed is what people need to know
            abort(pipeline, dict.fromkeys(begun, ()), begun, job, enumerators)
        raise
    return Prepared(setups, splits, tuple(enumerators))


def release(enumerators: Iterable[Enumerator]) -> None:
    """Close enumerators at the end of their pipeline: all of them, even when one cannot be closed."""
    with ExitStack() as closing:
        for enumerator in enumerators:
            closing.callback(enumerator.close)


def commit(
    pipeline: Pipeline,
    pieces: Mapping[str, tuple[SinkPiece, ...]],
    setups: Mapping[str, Setup],
    job: JobIdentity,
) -> None:
    """Finish every commit scope. A sink that spans tables gets one commit with the pieces of all of them."""
    for group in _scopes(pipeline):
        node = group[0]
        committer = node.sink.committer()
        own = [piece.piece for member in group for piece in pieces[member.id]]
        committer.commit(committer.combine(own), _context(node, setups[node.id].data, job))


def abort(
    pipeline: Pipeline,
    pieces: Mapping[str, tuple[SinkPiece, ...]],
    setups: Mapping[str, Setup],
    job: JobIdentity,
    enumerators: Iterable[Enumerator],
) -> None:
    """Drop what a failed pipeline staged, and close it; sinks that were not set up have nothing to drop. One that
    fails does not keep the others from being dropped."""
    with ExitStack() as closing:
        closing.callback(release, enumerators)
        for node in pipeline.sinks:
            if node.id in setups:
                own = [piece.piece for piece in pieces[node.id]]
                closing.callback(_abort, node, own, _context(node, setups[node.id].data, job))


def _abort(node: SinkNode, pieces: list[Piece], context: CommitContext) -> None:
    node.sink.committer().abort(pieces, context)


def _scopes(pipeline: Pipeline) -> list[list[SinkNode]]:
    groups: dict[str, list[SinkNode]] = {}
    for node in pipeline.sinks:
        key = node.step.id if node.capabilities.spans_tables else node.id
        groups.setdefault(key, []).append(node)
    return list(groups.values())


def _context(node: SinkNode, setup: Mapping[str, Plain], job: JobIdentity) -> CommitContext:
    return CommitContext(job.job_id, job.lineage, node.step.id, 1, job.incarnation, True, setup)


def as_failure(error: BaseException, step: str = "") -> UnitFailure:
    """Any exception as a typed failure."""
    kind = FailureKind.UNEXPECTED
    if isinstance(error, RetriableError):
        kind = FailureKind.RETRIABLE
    elif isinstance(error, (FatalError, SeaTunnelError)):
        kind = FailureKind.FATAL
    message = error.message if isinstance(error, SeaTunnelError) else f"{type(error).__name__}: {error}"
    remedy = error.remedy if isinstance(error, SeaTunnelError) else ""
    trace = "".join(traceback.format_exception(error))
    return UnitFailure(kind, message, remedy, step, type(error).__name__, trace)
