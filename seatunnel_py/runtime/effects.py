"""What the driver does to the outside world beside running units: prepare a pipeline, set its sinks up, commit, abort.

Runs on the loop's side threads, never on the loop itself. Every function returns a value or raises; the loop turns
either into an event.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from typing import Any

from seatunnel_py.api.batch import Plain
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.sink import CommitContext, Effect, Piece, Setup, Visible
from seatunnel_py.api.source import Enumerator, Split
from seatunnel_py.errors import FatalError, RetriableError, SeaTunnelError
from seatunnel_py.plan.flows import SinkNode
from seatunnel_py.plan.pipelines import Pipeline, Vertex
from seatunnel_py.protocol.items import StagedPiece
from seatunnel_py.protocol.records import CheckpointRecord, RecordKind
from seatunnel_py.runtime.chains import JobIdentity
from seatunnel_py.runtime.reading import splits_of, splits_plain
from seatunnel_py.work.unit import FailureKind, SinkPiece, UnitFailure

Groups = Sequence[Sequence[SinkNode]]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was decided before anything happened, for checkpoint 0: the sinks' decisions by node id, the splits by
    vertex id. ``enumerators`` stay open while their splits are read (one may hold a snapshot that readers share)."""

    setups: Mapping[str, Setup]
    splits: Mapping[str, tuple[Split, ...]]
    enumerators: tuple[Enumerator, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        return {
            "setups": {node: asdict(setup) for node, setup in self.setups.items()},
            "splits": {vertex: splits_plain(splits) for vertex, splits in self.splits.items()},
        }


def prepared_of(plain: Any) -> Prepared:
    """The inverse of ``Prepared.to_plain``; enumerators are not kept."""
    setups = {
        node: Setup(tuple(Effect(**effect) for effect in setup["effects"]), setup["data"], Visible(setup["visible"]))
        for node, setup in plain["setups"].items()
    }
    return Prepared(setups, {vertex: splits_of(splits) for vertex, splits in plain["splits"].items()})


def prepare(pipeline: Pipeline) -> Prepared:
    """Plan every sink of the pipeline and find the splits; nothing is changed anywhere."""
    setups = {node.id: node.sink.plan_setup() for node in pipeline.sinks}
    return _opened(pipeline, setups, lambda vertex, enumerator: enumerator.discover())


def _opened(
    pipeline: Pipeline, setups: Mapping[str, Setup], find: Callable[[Vertex, Enumerator], Iterable[Split]]
) -> Prepared:
    """Open every source and ``find`` its splits. What fails half-way leaves no enumerator open."""
    splits: dict[str, tuple[Split, ...]] = {}
    enumerators: list[Enumerator] = []
    try:
        for vertex in pipeline.vertices:
            if vertex.source is not None:
                enumerators.append(vertex.source.source.enumerator([vertex.source.table], None))
                splits[vertex.id] = tuple(find(vertex, enumerators[-1]))
    except BaseException:
        with suppress(Exception):  # why it failed is what people need to know
            release(enumerators)
        raise
    return Prepared(setups, splits, tuple(enumerators))


def resume(
    pipeline: Pipeline, before: Prepared, groups: Groups, job: JobIdentity, record: CheckpointRecord
) -> Prepared:
    """Every target learns of this driver before it is asked for anything, so that writers of older ones are refused
    (I34); sources are opened again. FatalError where a target knows a later checkpoint than the store does."""
    newest = record.checkpoint
    for group in groups:
        node = group[0]
        context = context_of(node, before.setups[node.id].data, job, newest, final=False)
        committed = node.sink.committer().recover(context)
        if committed is not None and committed > newest:
            raise FatalError(
                f"{node.sink.target} holds checkpoint {committed} of this job, its store only {newest}: the store has "
                "lost something",
                "give the store back what is missing, or begin anew with --fresh and another target",
            )
    if record.kind is RecordKind.FINAL:
        return before
    return _opened(pipeline, before.setups, lambda vertex, enumerator: enumerator.renew(before.splits[vertex.id]))


def set_up(nodes: Sequence[SinkNode], setups: Mapping[str, Setup]) -> None:
    """Perform the start effects of a group of sinks."""
    for node in nodes:
        node.sink.setup(setups[node.id])


def release(enumerators: Iterable[Enumerator]) -> None:
    """Close enumerators at the end of their pipeline: all of them, even when one cannot be closed."""
    with ExitStack() as closing:
        for enumerator in enumerators:
            closing.callback(enumerator.close)


def commit(
    groups: Groups, pieces: Iterable[StagedPiece], setups: Mapping[str, Setup], job: JobIdentity, checkpoint: int,
    *, final: bool,
) -> None:  # fmt: skip
    """Finish one commit scope: each committer gets the pieces of all its tables."""
    staged = [piece_of(piece) for piece in pieces]
    for group in groups:
        node = group[0]
        tables = {(member.step.id, member.table.path) for member in group}
        own = [piece.piece for piece in staged if (piece.step, piece.table) in tables]
        committer = node.sink.committer()
        committer.commit(committer.combine(own), context_of(node, setups[node.id].data, job, checkpoint, final=final))


def abort(
    groups: Groups,
    pieces: Sequence[SinkPiece],
    setups: Mapping[str, Setup],
    job: JobIdentity,
    enumerators: Iterable[Enumerator],
) -> None:
    """Drop what a failed pipeline staged, and close it. One sink that fails does not keep the others from being
    dropped."""
    with ExitStack() as closing:
        closing.callback(release, enumerators)
        for node in (node for group in groups for node in group):
            if node.id in setups:
                own = [piece.piece for piece in pieces if (piece.step, piece.table) == (node.step.id, node.table.path)]
                context = context_of(node, setups[node.id].data, job, 1, final=True)
                closing.callback(_abort, node, own, context)


def _abort(node: SinkNode, pieces: list[Piece], context: CommitContext) -> None:
    node.sink.committer().abort(pieces, context)


def context_of(
    node: SinkNode, setup: Mapping[str, Plain], job: JobIdentity, checkpoint: int, *, final: bool
) -> CommitContext:
    return CommitContext(job.job_id, job.lineage, node.step.id, checkpoint, job.incarnation, final, setup, job.staging)


def piece_plain(piece: SinkPiece) -> Any:
    """A piece as a record holds it."""
    return asdict(piece)


def piece_of(staged: StagedPiece) -> SinkPiece:
    """The piece that a record holds."""
    plain: Any = staged.data
    return SinkPiece(plain["step"], TablePath(**plain["table"]), Piece(**plain["piece"]))


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
