"""Targets of the simulation: ledgers that say what becomes visible in them, and lose answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from seatunnel_py.api import CommitContext, Committer, Piece, SchemaChange, Setup
from seatunnel_py.api.sink import Visible
from seatunnel_py.errors import FencedError
from seatunnel_py.plan.pipelines import Pipeline
from tests.kit.toy_jobs import Ledger, LedgerSink
from tests.simulation.jobs.versions import VERSION, altered_for

PLAN = "plan"


class Answer(StrEnum):
    """What a target or a store says to a write."""

    DONE = "done"
    ALREADY = "already"
    FENCED = "fenced"


@dataclass
class SimulatedLedger(Ledger):
    """``seen`` is told of each commit, of each alteration, and of each time that it is emptied for a start. ``table``:
    the target that it is a ledger of, if that has several; ``plans``: how many set-ups were planned, ``prepared``: those
    that were performed; ``emptied``: commits whose rows are gone from it; ``emptied_at``: those up to there were given up
    with them."""

    seen: Callable[..., None] = lambda *_: None
    version: int = 0
    table: Any = None
    emptied: set[int] = field(default_factory=set)
    emptied_at: int = 0
    plans: int = 0
    prepared: set[int] = field(default_factory=set)

    @property
    def shown(self) -> list[Any]:
        """The rows that are visible, in the order in which they became so."""
        pieces = (piece for number, commit in self.commits.items() if number not in self.emptied for piece in commit)
        return [tuple(row) for piece in pieces for row in piece.data["rows"]]  # type: ignore[union-attr]

    def holds(self, checkpoint: int) -> bool:
        """Whether a commit is in it, or is not awaited any more."""
        return checkpoint in self.commits or checkpoint <= self.emptied_at

    @property
    def newest(self) -> int:
        """The last checkpoint in it; 0: none."""
        return max(self.commits, default=0)


@dataclass(frozen=True)
class SimulatedSink(LedgerSink):
    """Its state is a SimulatedLedger."""

    def plan_setup(self) -> Setup:
        """Each has a number, as those of real sinks have a token."""
        assert isinstance(self.state, SimulatedLedger)
        self.state.plans += 1
        return replace(super().plan_setup(), data={PLAN: self.state.plans})

    def setup(self, setup: Setup) -> None:
        """Happens once: an overtaken driver may come to it when a newer one has written rows."""
        super().setup(setup)
        assert isinstance(self.state, SimulatedLedger)
        number = int(str(setup.data[PLAN]))
        if number not in self.state.prepared:
            self.state.prepared.add(number)
            self.prepare(setup)

    def prepare(self, setup: Setup) -> None:
        """Perform the start effects."""
        self.state.seen("set up")  # type: ignore[attr-defined]

    def alter(self, change: SchemaChange, setup: Setup) -> Setup:
        assert isinstance(self.state, SimulatedLedger)
        made = altered_for(change, setup)
        self.state.seen("altered", int(str(made.data[VERSION])))
        return made

    def committer(self) -> Committer:
        assert isinstance(self.state, SimulatedLedger)
        return _Committer(self.state, super().committer(), self.visible)


class _Committer(Committer):
    def __init__(self, ledger: SimulatedLedger, inner: Committer, visible: Visible) -> None:
        self._ledger, self._inner, self._visible = ledger, inner, visible

    def begin(self, context: CommitContext, *, fresh: bool) -> str | None:
        return self._inner.begin(context, fresh=fresh)

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        ledger, checkpoint = self._ledger, context.checkpoint
        answer = Answer.ALREADY if checkpoint in ledger.commits else Answer.DONE
        try:
            self._inner.commit(pieces, context)
        except FencedError:
            ledger.seen("committed", context.incarnation, checkpoint, tuple(pieces), Answer.FENCED)
            raise
        ledger.seen("committed", context.incarnation, checkpoint, tuple(pieces), answer)
        ledger.act("committed")

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        self._inner.abort(pieces, context)
        if context.final and self._visible is Visible.FINAL:
            self._ledger.seen("emptied")

    def recover(self, context: CommitContext) -> int | None:
        return self._inner.recover(context)


def ledgers(pipeline: Pipeline) -> dict[str, SimulatedLedger]:
    """By the id of the sink's node."""
    return {node.id: node.sink.state for node in pipeline.sinks}  # type: ignore[attr-defined]


def with_ledgers(pipeline: Pipeline) -> Pipeline:
    """The same with targets of the simulation; vertices with one target share it."""
    made: dict[int, SimulatedSink] = {}

    def changed(node: Any) -> Any:
        sink = getattr(node, "sink", None)
        if not isinstance(sink, LedgerSink):
            return node
        if id(sink) not in made:
            made[id(sink)] = SimulatedSink(sink.name, SimulatedLedger(), sink.visible)
        return replace(node, sink=made[id(sink)])

    vertices = tuple(replace(one, nodes=tuple(map(changed, one.nodes))) for one in pipeline.vertices)
    return replace(pipeline, vertices=vertices)
