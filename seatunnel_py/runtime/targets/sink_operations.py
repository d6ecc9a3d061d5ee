"""Calls of the driver to sources and sinks: prepare a pipeline, set its sinks up, commit, abort.

The calls run on side threads, never on the loop. Every function returns a value or raises; the loop converts both to
events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from seatunnel_py.api.batch import Plain
from seatunnel_py.api.capabilities import Guarantee
from seatunnel_py.api.log_source import FollowedTable, LogSource
from seatunnel_py.api.schema import TablePath
from seatunnel_py.api.sink import CommitContext, Piece, Setup, Treatment, Visible
from seatunnel_py.api.source import Enumerator, Split
from seatunnel_py.config.references import unknown
from seatunnel_py.errors import BEGIN_ANEW, CannotResumeError, FatalError
from seatunnel_py.plan.altered_log import AlteredLog
from seatunnel_py.plan.graph_nodes import SinkNode, SourceNode, SourcePart
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.plan.tables import existing_rows
from seatunnel_py.plan.tables.conversions import conversions_of
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import StagedPiece
from seatunnel_py.runtime.targets.plain_setup import setup_plain
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.runtime.targets.target_alteration import altered
from seatunnel_py.runtime.values import failpoints
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.runtime.values.split_progress import SplitRound, path_plain
from seatunnel_py.work.unit import SinkPiece

Groups = Sequence[Sequence[SinkNode]]
Copied = Mapping[TablePath, tuple[Split, ...]]


def prepare(
    pipeline: Pipeline,
    groups: Groups,
    job: JobIdentity,
    *,
    newest: int = 0,
    first: bool = False,
    copied: Copied = MappingProxyType({}),
) -> PreparedPipeline:
    """Plan every sink of the pipeline and find the splits, without changing data. Raises CannotResumeError if a
    target has the job under another lineage (its store was lost, or there are two), or a later
    checkpoint than ``newest``, the last one in the store. ``first``: no driver of the job has written to these
    targets yet, so their rows are of other runs. ``copied``: for a log, the splits that its tables were copied by."""
    setups = {node.id: plugin_calls.setup_of(node.step, node.sink) for node in pipeline.sinks}
    swept = [note for group in groups for note in begin(group[0], setups, job, newest)]
    if first and not job.fresh:  # with --fresh the user knows, and the receipt repeats it
        later = job.incarnation > 1
        setups = {node.id: _checked(node, setups[node.id], later=later) for node in pipeline.sinks}
    setups = {node.id: _whole(node, setups[node.id]) for node in pipeline.sinks}
    before = altered(pipeline, PreparedPipeline(setups, {}), None, job)
    return replace(_opened(pipeline, before, _first_round, copied), swept=tuple(swept))


def empty(groups: Groups, job: JobIdentity, newest: int) -> None:
    """Remove all rows of these targets, because their table is copied again. Each group first refuses a driver that was
    overtaken, and so does each sink: rows of the newer one stay."""
    nodes = [node for group in groups for node in group]
    setups = {node.id: plugin_calls.setup_of(node.step, node.sink) for node in nodes}
    for group in groups:
        begin(group[0], setups, job, newest)
    for node in nodes:
        setup = setups[node.id]
        if setup.present is None or setup.present.treatment is not Treatment.NEW:
            failpoints.BEFORE_ALTERATION.hit()
            context = job.commit_context(node, setup.data, 0, final=False)
            plugin_calls.truncated_by(node.step, node.sink, setup, context)
            failpoints.ALTERED.hit()


def begin(node: SinkNode, setups: Mapping[str, Setup], job: JobIdentity, newest: int) -> Sequence[str]:
    """Register this driver in the target of a group of sinks, by its first one; return notes about leftovers that were
    removed. CannotResumeError as in ``prepare``."""
    context = job.commit_context(node, setups[node.id].data, 0, final=False)
    committer = plugin_calls.committer_of(node.step, node.sink)
    swept = plugin_calls.swept_by(node.step, committer, context) if job.fresh else ()
    with plugin_calls.attributed(node.step, "begin"):
        other = committer.begin(context, fresh=job.fresh)
    if other is not None:
        raise CannotResumeError(
            f"{node.shown} was loaded by another run of job {job.job_id!r} (lineage {other[:8]}), whose state is "
            f"not in {job.store}",
            f"restore the job's store; or use a job id that no other job has; or {BEGIN_ANEW}",
        )
    if not job.begins_lineage:
        _require_known(node, plugin_calls.last_committed_by(node.step, node.sink, context), newest)
    return swept


def planned(node: SinkNode, *, later: bool) -> Setup:
    """The set-up of a sink whose target has rows of other runs only. Raises FatalError if the sink refuses these.
    ``later``: the job has run before."""
    return _whole(node, _checked(node, plugin_calls.setup_of(node.step, node.sink), later=later))


def _checked(node: SinkNode, setup: Setup, *, later: bool) -> Setup:
    """Refuse rows of other runs; after a copy the target holds those of this one."""
    if node.part is SourcePart.LOG_AFTER_COPY:
        return replace(setup, present=None)
    return existing_rows.checked(node, setup, later=later)


def _whole(node: SinkNode, setup: Setup) -> Setup:
    """The set-up with the conversions of both source and sink, for the receipt."""
    found = conversions_of(node.table, setup.conversions)
    return replace(setup, conversions=found) if found != setup.conversions else setup


def _opened(
    pipeline: Pipeline,
    before: PreparedPipeline,
    find: Callable[[tuple[SplitRound, ...], Enumerator, SourceNode], tuple[SplitRound, ...]],
    copied: Copied,
) -> PreparedPipeline:
    """Open every source, with the state of its last round, and ``find`` its splits. After an error no enumerator stays
    open."""
    rounds: dict[str, tuple[SplitRound, ...]] = {}
    enumerators: dict[str, Enumerator] = {}
    try:
        for vertex in pipeline.vertices:
            if vertex.source is not None:
                known = before.rounds.get(vertex.id, ())
                state = known[-1].state if known else None
                node = vertex.source
                enumerators[vertex.id] = _enumerator(node, state, copied)
                rounds[vertex.id] = find(known, enumerators[vertex.id], node)
    except BaseException:
        with suppress(Exception):  # the first error is the one to report
            release(enumerators.values())
        raise
    return replace(before, rounds=rounds, enumerators=enumerators)


def _enumerator(node: SourceNode, state: Plain, copied: Copied) -> Enumerator:
    if not node.part.is_log:
        return plugin_calls.enumerator_of(node.step, node.source, node.table, state)
    assert isinstance(node.source, LogSource), f"{node.id} has no log"
    tables = [FollowedTable(one, copied.get(one.schema.path, ())) for one in node.tables]
    return plugin_calls.log_enumerator_of(node.step, node.source, tables, state)


def _first_round(_: tuple[SplitRound, ...], enumerator: Enumerator, node: SourceNode) -> tuple[SplitRound, ...]:
    splits = plugin_calls.splits_of(node.step, enumerator.discover)
    return (SplitRound(splits, plugin_calls.snapshot_of(node.step, enumerator)),)


def _renewed(known: tuple[SplitRound, ...], enumerator: Enumerator, node: SourceNode) -> tuple[SplitRound, ...]:
    return tuple(SplitRound(plugin_calls.renewed_by(node.step, enumerator, one.splits), one.state) for one in known)


@dataclass(frozen=True, slots=True)
class ReopenedSource:
    """A source that was opened again, and all its splits under the new generation."""

    enumerator: Enumerator
    rounds: tuple[SplitRound, ...]


def reopen(source: SourceNode, before: Enumerator, known: tuple[SplitRound, ...]) -> ReopenedSource:
    """Open the source again, with the state of its last round."""
    with suppress(Exception):  # its snapshot is gone
        before.close()
    enumerator = _enumerator(source, known[-1].state, {})
    try:
        return ReopenedSource(enumerator, _renewed(known, enumerator, source))
    except BaseException:
        with suppress(Exception):  # the first error is the one to report
            enumerator.close()
        raise


def resume(
    pipeline: Pipeline,
    before: PreparedPipeline,
    groups: Groups,
    job: JobIdentity,
    record: CheckpointRecord,
    copied: Copied = MappingProxyType({}),
    changed: AlteredLog | None = None,
) -> PreparedPipeline:
    """Register this driver in every target first, so that writers of older ones are refused (I34); then alter targets
    for new schemas, and open the sources again. Raises CannotResumeError if a target has a later checkpoint than the
    store."""
    newest = record.checkpoint
    for group in groups:
        node = group[0]
        context = job.commit_context(node, before.setups[node.id].data, newest, final=False)
        _require_known(node, plugin_calls.recovered_by(node.step, node.sink, context), newest)
    failpoints.FENCED.hit()
    if record.kind is RecordKind.FINAL:
        return before
    before = altered(pipeline, before, changed, job, record)
    return _opened(pipeline, before, _renewed, copied)


def _require_known(node: SinkNode, committed: int | None, newest: int) -> None:
    """Raise CannotResumeError if the target has a checkpoint that the store lacks."""
    if committed is not None and committed > newest:
        raise CannotResumeError(
            f"{node.shown} holds checkpoint {committed} of this job, its store only {newest}: the store has "
            "lost records, or the job has continued since the savepoint that this one started from",
            "resume the job that wrote there last, or restore the complete store of before this run; or "
            f"{BEGIN_ANEW}, or name another target",
        )


def set_up(nodes: Sequence[SinkNode], setups: Mapping[str, Setup]) -> None:
    """Perform the start effects of a group of sinks."""
    failpoints.BEFORE_SET_UP.hit()
    for node in nodes:
        _require_values(node, setups[node.id])
        with plugin_calls.attributed(node.step, "setup"):
            node.sink.setup(setups[node.id])
    failpoints.SET_UP.hit()


def _require_values(node: SinkNode, setup: Setup) -> None:
    """Refuse start effects that need a secret which the job file no longer names."""
    if missing := unknown([setup_plain(setup)]):
        raise FatalError(
            f"the set-up of {node.shown} needs {', '.join(missing)}, which the job file no longer names",
            f"restore the old text of the sink's option; or {BEGIN_ANEW}",
        )


def exactly_once_visibility(nodes: Iterable[SinkNode], setups: Mapping[str, Setup]) -> set[Visible]:
    """When rows of two-phase sinks become visible. Visible rows cannot be removed, so a start from nothing would show
    them twice; rows of other sinks may come again."""
    once = (node for node in nodes if node.capabilities.guarantee is Guarantee.TWO_PHASE_COMMIT and node.id in setups)
    return {setups[node.id].visible for node in once}


def remembers_at_once(nodes: Sequence[SinkNode], setups: Mapping[str, Setup]) -> bool:
    """Return True if rows are visible before a checkpoint contains them, in a two-phase sink or one that stores its
    units."""
    counted = {setups[node.id].visible for node in nodes if node.id in setups and setups[node.id].counted}
    return Visible.STAGED in counted | exactly_once_visibility(nodes, setups)


def release(enumerators: Iterable[Enumerator]) -> None:
    """Close all enumerators at the end of their pipeline, even if one fails."""
    with ExitStack() as closing:
        for enumerator in enumerators:
            closing.callback(enumerator.close)


def abort(
    groups: Groups,
    pieces: Sequence[SinkPiece],
    setups: Mapping[str, Setup],
    job: JobIdentity,
    enumerators: Iterable[Enumerator],
) -> None:
    """Delete the pieces of a failed pipeline, and close it. An error of one sink does not affect the others."""
    failpoints.BEFORE_ABORT.hit()
    with ExitStack() as closing:
        closing.callback(failpoints.ABORTED.hit)
        closing.callback(release, enumerators)
        for node in (node for group in groups for node in group):
            if node.id in setups:
                context = job.commit_context(node, setups[node.id].data, 1, final=True)
                closing.callback(_abort, node, _of(node, pieces), context)


def drop(
    groups: Groups, pieces: Sequence[SinkPiece], setups: Mapping[str, Setup], job: JobIdentity, *, last: bool = False
) -> None:
    """Delete pieces of an execution that no record contains, if each commit shows only its own pieces. Other pieces are
    deleted together at the end (``last``), or a later execution finds and uses them."""
    for node in (node for group in groups for node in group):
        own = _of(node, pieces)
        if own and (last or setups[node.id].visible is Visible.COMMITTED):
            _abort(node, own, job.commit_context(node, setups[node.id].data, 1, final=False))


def _of(node: SinkNode, pieces: Iterable[SinkPiece]) -> list[Piece]:
    return [piece.piece for piece in pieces if (piece.step, piece.table) == (node.step.id, node.table.path)]


def _abort(node: SinkNode, pieces: list[Piece], context: CommitContext) -> None:
    committer = plugin_calls.committer_of(node.step, node.sink)
    with plugin_calls.attributed(node.step, "abort"):
        committer.abort(pieces, context)


def piece_plain(piece: SinkPiece) -> Any:
    """Convert a piece to plain data, for records; without ``asdict``, whose copies take time for many units."""
    own = piece.piece
    return {
        "step": piece.step,
        "table": path_plain(piece.table),
        "piece": {"rows": own.rows, "bytes": own.bytes, "merged": own.merged, "data": own.data, "version": own.version},
    }


def piece_of(staged: StagedPiece) -> SinkPiece:
    """The inverse of ``piece_plain``, from a record."""
    plain: Any = staged.data
    return SinkPiece(plain["step"], TablePath(**plain["table"]), Piece(**plain["piece"]))
