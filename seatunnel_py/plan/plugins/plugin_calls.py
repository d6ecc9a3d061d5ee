"""Calls plugins on the driver, and checks that their answers match the interface.

Rules. (1) A ValueError or SeaTunnelError is a plugin's own refusal, and passes unchanged. (2) Any other
exception, and every answer of another type, is a mistake of its author: BrokenPluginError names plugin, method and
cause. (3) Ctrl-C of the user is not a mistake. (4) Once a job runs, plugins are called on threads that never receive
Ctrl-C, and any error other than a SeaTunnelError becomes a ``PluginCallError``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar, get_args

from seatunnel_py.api.batch import Position, SchemaChange
from seatunnel_py.api.capabilities import Guarantee, SinkCapabilities, SourceCapabilities, TransformCapabilities
from seatunnel_py.api.factory import JobMode
from seatunnel_py.api.log_source import BegunLog, FollowedTable, Leftover, LogLag, LogSource
from seatunnel_py.api.names import NameRules, TargetPlace
from seatunnel_py.api.schema import TablePath, TableSchema
from seatunnel_py.api.sink import CommitContext, Committer, Piece, Setup, Sink
from seatunnel_py.api.source import Enumerator, Source, SourceTable, Split, TableFailure, TableLeftOut
from seatunnel_py.api.transform import Transform
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.plan.graph_nodes import SourcePart
from seatunnel_py.plan.plugins.pending_calls import asking
from seatunnel_py.plan.plugins.registry import BrokenPluginError, missing_extra
from seatunnel_py.plan.steps import Job, Step
from seatunnel_py.plan.tables.lock_waits import LockHolders, naming_holders
from seatunnel_py.work.failing_code import MEND, SHOWS_TRACE, described
from seatunnel_py.work.rows.plugin_checks import not_plain
from seatunnel_py.work.rows.positions import state_bytes

T = TypeVar("T")

FAILED = f"unless it names a remedy, {MEND}; {SHOWS_TRACE}"


class PluginCallError(Exception):
    """An exception of a plugin during a run that the interface does not allow; ``step`` is the step of the plugin."""

    def __init__(self, step: str, message: str, remedy: str) -> None:
        super().__init__(message)
        self.step, self.message, self.remedy = step, message, remedy


@contextmanager
def attributed(step: Step, method: str) -> Iterator[None]:
    """Wraps a call of this step's plugin while its job runs (4)."""
    try:
        yield
    except (SeaTunnelError, PluginCallError):
        raise
    except ImportError as error:
        raise missing_extra(step.factory, error, step.options) from error
    except BaseException as error:
        raise PluginCallError(step.id, _failed(step, method, error), FAILED) from error


def created(step: Step, job: Job) -> Source:
    """Create a source, which is not asked for anything yet."""
    factory: Any = step.factory
    context = step.context(job)
    made: Source = _one(step, "create", _told(step, "create", lambda: factory.create(step.options, context)), Source)
    return made


def source_of(
    step: Step, job: Job
) -> tuple[Source, tuple[SourceTable, ...], tuple[TableFailure, ...], tuple[TableLeftOut, ...], SourceCapabilities]:
    """Create a source; return it with its tables, those that it cannot describe, those that it excludes, and its
    capabilities."""
    factory: Any = step.factory
    context = step.context(job)
    source = created(step, job)
    with naming_holders(source.blocked_by) as holders:
        kinds = SourceTable | TableFailure | TableLeftOut
        found = _told(step, "tables", lambda: _all(step, "tables", source.tables(), kinds))
    tables = tuple(one for one in found if isinstance(one, SourceTable))
    failures = tuple(_with_holders(one, holders) for one in found if isinstance(one, TableFailure))
    left_out = tuple(one for one in found if isinstance(one, TableLeftOut))
    able = _told(step, "capabilities", lambda: factory.capabilities(step.options, context))
    return source, tables, failures, left_out, _one(step, "capabilities", able, SourceCapabilities)


def _with_holders(failure: TableFailure, holders: LockHolders) -> TableFailure:
    """Only calls that wait for locks take long enough to query the holders."""
    return replace(failure, message=holders.add_to(failure.message)) if "lock" in failure.message else failure


def transform_of(
    step: Step, options: Any, table: TableSchema, job: Job
) -> tuple[Transform, TableSchema | None, tuple[TableSchema, ...], TransformCapabilities]:
    """Create a transform; return it with its output and its capabilities."""
    factory: Any = step.factory
    context = step.context(job)
    made = _told(step, "create", lambda: factory.create(options, table, context))
    transform = _one(step, "create", made, Transform)
    output = _told(step, "output", transform.output)
    if output is not None:
        _one(step, "output", output, TableSchema)
    side = _told(step, "side_outputs", lambda: _all(step, "side_outputs", transform.side_outputs(), TableSchema))
    able = _told(step, "capabilities", lambda: factory.capabilities(options))
    return transform, output, side, _one(step, "capabilities", able, TransformCapabilities)


def sink_of(
    step: Step, options: Any, table: TableSchema, job: Job, part: SourcePart = SourcePart.TABLE
) -> tuple[Sink, SinkCapabilities]:
    """Create a sink for rows of that part of a source; return it with its capabilities."""
    factory: Any = step.factory
    context = step.context(job)
    if part is SourcePart.COPY:
        context = replace(context, mode=JobMode.BATCH)  # a copy ends, also in a job that does not
    elif part.is_log:  # in any job: the next run goes on with its target
        continues = context.continues or part is SourcePart.LOG_AFTER_COPY
        context = replace(context, mode=JobMode.STREAMING, continues=continues)
    sink = _one(step, "create", _told(step, "create", lambda: factory.create(options, table, context)), Sink)
    _one(step, "target", _told(step, "target", lambda: sink.target), str)
    able = _told(step, "capabilities", lambda: factory.capabilities(options, table, context))
    _one(step, "capabilities", able, SinkCapabilities)
    two_phase = able.guarantee is Guarantee.TWO_PHASE_COMMIT
    if two_phase and type(sink).committer is Sink.committer and type(sink).marks_units is Sink.marks_units:
        text = f"promises two-phase commit, but {type(sink).__name__} has neither a committer nor marks_units"
        raise _mistake(step, "capabilities", text)
    return sink, able


def place_of(step: Step, sink: Sink) -> TargetPlace | None:
    """Target place of the sink's rows."""
    place = _told(step, "target_place", lambda: sink.target_place)
    return None if place is None else _one(step, "place", place, TargetPlace)


def name_rules_of(step: Step, sink: Sink) -> NameRules:
    """How the sink's target compares names."""
    return _one(step, "name_rules", _told(step, "name_rules", sink.name_rules), NameRules)


def committer_of(step: Step, sink: Sink) -> Committer:
    """The committer of the pieces that the sink's writers have staged."""
    with attributed(step, "committer"):
        return _one(step, "committer", sink.committer(), Committer)


def renewed_by(step: Step, enumerator: Enumerator, splits: Sequence[Split]) -> tuple[Split, ...]:
    """Renew the splits for the current snapshot; a missing one would never be read to its end."""
    with attributed(step, "renew"):
        found = _all(step, "renew", enumerator.renew(splits), Split)
    if [one.id for one in found] != [one.id for one in splits]:
        raise _mistake(step, "renew", "returns other splits than it was given")
    return found


# The following calls concern a single table; an exception there fails that table, with its own type.


def setup_of(step: Step, sink: Sink) -> Setup:
    """The planned changes of a sink to its target."""
    with attributed(step, "plan_setup"):
        setup = _one(step, "plan_setup", sink.plan_setup(), Setup)
    _plain(step, "plan_setup", setup.data)
    return setup


def altered_by(step: Step, sink: Sink, change: SchemaChange, setup: Setup) -> Setup:
    """Alter the target of a sink; the set-up of later units."""
    with attributed(step, "alter"):
        found = _one(step, "alter", sink.alter(change, setup), Setup)
    _plain(step, "alter", found.data)
    return found


def truncated_by(step: Step, sink: Sink, setup: Setup, context: CommitContext) -> None:
    """Remove all rows of the target of a sink."""
    with attributed(step, "truncate"):
        sink.truncate(setup, context)


def combined_by(step: Step, committer: Committer, pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Combine the pieces of a checkpoint by the committer; all of their rows must be kept."""
    with attributed(step, "combine"):
        found = _all(step, "combine", committer.combine(pieces), Piece)
    rows, staged = (sum(piece.rows for piece in some) for some in (found, pieces))
    if rows != staged:
        raise _mistake(step, "combine", f"returns pieces of {rows} rows for those of {staged}")
    return found


def recovered_by(step: Step, sink: Sink, context: CommitContext) -> int | None:
    """The last checkpoint that the target has recorded."""
    return _checkpoint(step, "recover", committer_of(step, sink).recover, context)


def last_committed_by(step: Step, sink: Sink, context: CommitContext) -> int | None:
    """The last checkpoint of this lineage that the target has recorded, for any set-up."""
    return _checkpoint(step, "last_committed", committer_of(step, sink).last_committed, context)


def _checkpoint(
    step: Step, method: str, ask: Callable[[CommitContext], int | None], context: CommitContext
) -> int | None:
    with attributed(step, method):
        found = ask(context)
    if found is not None and not isinstance(found, int):
        raise _mistake(step, method, f"returns {_shown(found)} instead of the number of a checkpoint")
    return found


def swept_by(step: Step, committer: Committer, context: CommitContext) -> tuple[str, ...]:
    """Remove leftovers of earlier lineages of the job beside the target; return sentences for the user."""
    with attributed(step, "sweep"):
        return _all(step, "sweep", committer.sweep(context), str)


def enumerator_of(step: Step, source: Source, table: SourceTable, state: Any) -> Enumerator:
    """The enumerator of one table."""
    with attributed(step, "enumerator"):
        return _one(step, "enumerator", source.enumerator([table], state), Enumerator)


def log_enumerator_of(step: Step, source: LogSource, tables: Sequence[FollowedTable], state: Any) -> Enumerator:
    """The enumerator of a log."""
    with attributed(step, "log_enumerator"):
        return _one(step, "log_enumerator", source.log_enumerator(tables, state), Enumerator)


def joined_by(step: Step, source: LogSource, begun: BegunLog, table: FollowedTable) -> BegunLog:
    """The log with one more table."""
    with attributed(step, "join"):
        return _one(step, "join", source.join(begun, table), BegunLog)


def lag_of(step: Step, source: LogSource, begun: BegunLog) -> LogLag | None:
    """How far the end of the log is ahead of that place."""
    with attributed(step, "lag"):
        found = source.lag(begun)
        return None if found is None else _one(step, "lag", found, LogLag)


def leftovers_of(step: Step, source: LogSource, splits: Sequence[Split]) -> tuple[Leftover, ...]:
    """The objects of the job that exist at the source."""
    with attributed(step, "leftovers"):
        return tuple(_all(step, "leftovers", source.leftovers(splits), Leftover))


def drop_leftovers(step: Step, source: LogSource, splits: Sequence[Split]) -> None:
    """Drop those that the job has made."""
    with attributed(step, "drop"):
        source.drop(splits)


def going_back_by(step: Step, source: LogSource, begun: BegunLog, table: TablePath, place: Position) -> BegunLog:
    """The log that is read again from an earlier place for one table."""
    with attributed(step, "goes_back"):
        return _one(step, "goes_back", source.goes_back(begun, table, place), BegunLog)


def splits_of(step: Step, ask: Callable[[], Iterable[Split]], method: str = "discover") -> tuple[Split, ...]:
    """The splits that an enumerator has found; two splits with one id would be read as one, and rows lost silently."""
    with attributed(step, method):
        found = _all(step, method, ask(), Split)
    for split, times in Counter(one.id for one in found).items():
        if times > 1:
            raise _mistake(step, method, f"gives {times} splits the id {split!r}, which has to name one")
    for one in found:
        _plain(step, f"{method} (split {one.id!r})", one.payload)
        size = state_bytes(one.payload) if one.payload else 0
        if size > step.state_bytes:
            allowed = f"every checkpoint holds it, and {step.state_bytes:,} are allowed (env.state.max-bytes)"
            raise _mistake(step, method, f"gives split {one.id!r} a payload of {size:,} bytes; {allowed}")
    return found


def snapshot_of(step: Step, enumerator: Enumerator) -> Any:
    """The enumerator's state, which a checkpoint has to hold."""
    with attributed(step, "snapshot"):
        state = enumerator.snapshot()
    _plain(step, "snapshot", state)
    return state


def _told(step: Step, method: str, ask: Callable[[], T]) -> T:
    """A refusal by a plugin ends planning (1); any other exception of it has to name the plugin (2)."""
    try:
        with asking(step.node.path, method):
            return ask()
    except ImportError as error:
        raise missing_extra(step.factory, error, step.options) from error
    except (SeaTunnelError, ValueError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise BrokenPluginError(_failed(step, method, error), FAILED) from error


def _failed(step: Step, method: str, error: BaseException) -> str:
    return described(error, step.plugin, method)


def _one(step: Step, method: str, answer: T, kind: Any) -> T:
    if not isinstance(answer, kind):
        raise _mistake(step, method, f"returns {_shown(answer)} instead of a {_called(kind)}")
    return answer


def _all(step: Step, method: str, answers: Iterable[T], kind: Any) -> tuple[T, ...]:
    """Check several answers of a plugin, which may be generated lazily."""
    if not isinstance(answers, Iterable):
        raise _mistake(step, method, f"returns {_shown(answers)} where {_called(kind)}s belong")
    return tuple(_one(step, method, one, kind) for one in answers)


def _called(kind: Any) -> str:
    """The name of a class; of several, the first one, which authors return most often."""
    return str(getattr(kind, "__name__", "") or get_args(kind)[0].__name__)


def _mistake(step: Step, method: str, text: str) -> BrokenPluginError:
    return BrokenPluginError(f"the plugin {step.plugin} is broken: {method} {text}", MEND)


def _shown(answer: object) -> str:
    return "None" if answer is None else f"a {type(answer).__name__}"


def _plain(step: Step, method: str, value: object) -> None:
    odd = not_plain(value)
    if odd is not None:
        raise _mistake(step, method, f"returns {odd}")
