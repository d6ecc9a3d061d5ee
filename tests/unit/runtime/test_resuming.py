"""How a pipeline begins: for the first time, where it stood, or anew; and where it must not go on at all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from seatunnel_py.api import (
    CommitContext,
    Committer,
    Effect,
    Enumerator,
    FatalError,
    Guarantee,
    Piece,
    Plain,
    Setup,
    SourceTable,
    Split,
    TablePath,
)
from seatunnel_py.api.sink import Visible
from seatunnel_py.plan.pipelines import Pipeline, PlannedVertex
from seatunnel_py.protocol.failover.decisions import distrust
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.protocol.model.topology import Vertex as ProtocolVertex
from seatunnel_py.runtime.resume.pipeline_start import StartPlan, start
from seatunnel_py.runtime.targets.prepared_pipeline import prepared_of
from seatunnel_py.runtime.targets.sink_operations import prepare
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.runtime.values.past import EarlierRun
from seatunnel_py.runtime.values.topology_builder import graph_of
from tests.kit.runtime_toys import Target, ToySink, ToySource, sink_node, source_node

JOB = JobIdentity("j", "lineage", 2)
X = TablePath.parse("x")
DONE = frozenset({"out[x]/0"})


@dataclass(frozen=True)
class Snapshots(ToySource):
    """Splits are read as of one moment: of each enumerator they are valid for another one."""

    moments: list[str] = field(default_factory=list)

    def enumerator(self, tables: Sequence[SourceTable], state: Plain) -> Enumerator:
        self.moments.append(f"moment {len(self.moments) + 1}")
        return _OfOneMoment(self, self.moments[-1])


class _OfOneMoment(Enumerator):
    def __init__(self, source: Snapshots, moment: str) -> None:
        self._source, self._moment = source, moment

    def discover(self) -> Iterable[Split]:
        self._source.state.tell("discover")
        return [Split(f"s{at}", X, rows=rows, generation=self._moment) for at, rows in enumerate(self._source.rows)]

    def renew(self, splits: Sequence[Split]) -> Sequence[Split]:
        self._source.state.tell("renew")
        return [replace(split, generation=self._moment) for split in splits]

    def close(self) -> None:
        self._source.state.tell("close")


@dataclass(frozen=True)
class LedgerSink(ToySink):
    """A target that knows what it has committed, and decides something when it is planned."""

    ledger: int | None = None
    of_lineage: int | None = None
    visible: Visible = Visible.COMMITTED

    def plan_setup(self) -> Setup:
        self.state.tell("plan")
        return Setup(
            (Effect("create", "out", "CREATE TABLE out"),), {"stage": f"st{len(self.state.told)}"}, self.visible
        )

    def committer(self) -> Committer:
        return _Ledger(self)


class _Ledger(Committer):
    def __init__(self, sink: LedgerSink) -> None:
        self._sink = sink

    def commit(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        raise AssertionError("nothing is committed while a pipeline begins")

    def abort(self, pieces: Sequence[Piece], context: CommitContext) -> None:
        self._sink.state.tell(f"abort {context.setup['stage']}")

    def last_committed(self, context: CommitContext) -> int | None:
        return self._sink.of_lineage

    def recover(self, context: CommitContext) -> int | None:
        self._sink.state.tell(f"recover {context.incarnation} {context.setup['stage']}")
        return self._sink.ledger


@dataclass
class Case:
    """One chain, and what a driver before has decided for it."""

    source: ToySource = field(default_factory=lambda: ToySource((5, 7), Target()))
    sink: LedgerSink = field(default_factory=lambda: LedgerSink("out", Target()))
    guarantee: Guarantee = Guarantee.TWO_PHASE_COMMIT

    def __post_init__(self) -> None:
        node = sink_node("out", "x", self.sink)
        node = replace(node, capabilities=replace(node.capabilities, guarantee=self.guarantee))
        self.pipeline = Pipeline("p", "x", (PlannedVertex("x", (source_node("x", self.source), node)),))
        self.graph = graph_of(self.pipeline)
        self.before = prepare(self.pipeline, (), JOB)
        self.sink.state.told.clear()
        self.source.state.told.clear()

    def record(self, kind: RecordKind = RecordKind.PERIODIC, checkpoint: int = 4) -> CheckpointRecord:
        """As it comes out of a store."""
        snapshots = {} if kind is RecordKind.ZERO else {Subtask("x"): SubtaskSnapshot(["where it stands"])}
        plan = json.loads(json.dumps(self.before.to_plain()))
        return CheckpointRecord(checkpoint, 1, kind, 0, self.graph.topology, {"x": 1}, snapshots, plan=plan)

    def start(self, record: CheckpointRecord | None = None, **past: Any) -> StartPlan:
        ((group,),) = self.graph.scopes.values()
        past_of = EarlierRun(**{"record": record, "done": DONE if record else frozenset(), **past})
        return start(self.pipeline, self.graph.topology, {"out[x]/0": group}, JOB, past_of)


def test_the_first_driver_plans_and_finds_the_splits() -> None:
    """Nothing is changed anywhere."""
    case = Case()
    found = case.start()

    assert (found.record, found.done) == (None, frozenset())
    assert case.sink.state.told == ["plan"]
    assert [split.id for split in found.prepared.splits["x"]] == ["s0", "s1"]
    assert len(found.prepared.enumerators) == 1


@pytest.mark.parametrize("kind", [RecordKind.ZERO, RecordKind.PERIODIC, RecordKind.SAVEPOINT])
def test_a_later_one_goes_on_with_what_was_decided(kind: RecordKind) -> None:
    """No second plan, no other splits; what is set up stays so, and the target learns who asks (I34)."""
    case = Case()
    record = case.record(kind)
    found = case.start(record)

    assert (found.record, found.done) == (record, DONE)
    assert case.sink.state.told == ["recover 2 st1"]
    assert case.source.state.told == []
    assert found.prepared.splits == case.before.splits
    assert found.prepared.setups["out[x]"].data == {"stage": "st1"}
    assert len(found.prepared.enumerators) == 1


def test_a_target_that_was_not_set_up_is_not_asked() -> None:
    """The driver died before it: the ledger may not be there yet."""
    case = Case()
    found = case.start(case.record(RecordKind.ZERO), done=frozenset())

    assert found.record is not None
    assert case.sink.state.told == []


def test_a_pipeline_that_had_everything_does_not_open_its_source_again() -> None:
    """Only its last commit may be missing: the source may be gone by now."""
    case = Case(Snapshots((5,), Target()))
    found = case.start(case.record(RecordKind.FINAL))

    assert found.record is not None and found.record.kind is RecordKind.FINAL
    assert not found.prepared.enumerators
    assert case.source.state.told == []


def test_a_pipeline_whose_rows_were_taken_back_begins_anew() -> None:
    """Its record names pieces and decisions that are gone; the targets are not asked about them."""
    case = Case()
    found = case.start(case.record(), dropped=True)

    assert (found.record, found.done) == (None, frozenset())
    assert case.sink.state.told == ["plan"]
    assert case.source.state.told == ["discover"]


@pytest.mark.parametrize(("ledger", "refused"), [(None, False), (3, False), (4, False), (5, True)])
def test_a_target_that_knows_more_than_the_store_is_not_written(ledger: int | None, refused: bool) -> None:
    """The store has lost a checkpoint: its rows would come twice."""
    case = Case(sink=LedgerSink("out", Target(), ledger))
    if not refused:
        assert case.start(case.record(checkpoint=4)).record is not None
        return

    with pytest.raises(FatalError, match="out holds checkpoint 5 of this job, its store only 4"):
        case.start(case.record(checkpoint=4))
    assert case.source.state.told == []


@pytest.mark.parametrize(("known", "refused"), [(None, False), (1, True)])
def test_p4_f1_the_target_is_asked_where_a_table_begins_from_nothing(known: int | None, refused: bool) -> None:
    """P4-F1: all records of the first driver were lost, and what was visible was there twice."""
    case = Case(sink=LedgerSink("out", Target(), of_lineage=known))
    if not refused:
        assert case.start().record is None
        return

    with pytest.raises(FatalError, match="out holds checkpoint 1 of this job, its store only 0") as told:
        case.start()
    assert "empty the targets first" in told.value.remedy
    assert case.source.state.told == []


@pytest.mark.parametrize(("known", "refused"), [(4, False), (5, True)])
def test_p4_f1_the_target_is_asked_where_a_table_begins_anew(known: int, refused: bool) -> None:
    """What the store knows of may stand in the ledger: it was taken back."""
    case = Case(sink=LedgerSink("out", Target(), of_lineage=known))
    if not refused:
        assert case.start(case.record(checkpoint=4), dropped=True).anew
        return

    with pytest.raises(FatalError, match="its store only 4"):
        case.start(case.record(checkpoint=4), dropped=True)


def of_one_moment(**case: Any) -> Case:
    return Case(Snapshots((5, 7), Target()), **case)


def test_splits_of_one_moment_begin_anew_where_nobody_has_seen_a_row() -> None:
    """The snapshot died with the driver that held it: what it had staged is dropped, then everything is new."""
    case = of_one_moment()
    found = case.start(case.record(RecordKind.ZERO))

    assert (found.record, found.done) == (None, frozenset())
    assert case.sink.state.told == ["abort st1", "plan"]
    assert {split.generation for split in found.prepared.splits["x"]} == {"moment 2"}


def test_splits_of_one_moment_whose_rows_are_visible_are_refused() -> None:
    """Read as of another moment they would be there twice; nothing is dropped, and it is said what helps."""
    case = of_one_moment()

    with pytest.raises(FatalError, match="x was read from one snapshot") as refused:
        case.start(case.record())

    assert "source.consistency = per-split" in refused.value.remedy
    assert case.sink.state.told == case.source.state.told == []


def test_what_an_isolated_sink_has_staged_is_dropped_with_the_rest() -> None:
    """Seed 1100: it begins anew with the others, and its rows of before would come on top."""
    case = of_one_moment(sink=LedgerSink("out", Target(), visible=Visible.FINAL))
    isolated = replace(case.graph.topology, detached=frozenset({"x"}))

    found = case.start(replace(case.record(), topology=isolated))

    assert found.record is None
    assert case.sink.state.told == ["abort st1", "plan"]


@pytest.mark.parametrize("guarantee", [Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT])
def test_rows_that_may_come_again_are_no_reason_to_refuse(guarantee: Guarantee) -> None:
    case = of_one_moment(guarantee=guarantee)
    found = case.start(case.record())

    assert found.record is None
    assert {split.generation for split in found.prepared.splits["x"]} == {"moment 2"}


def test_staged_rows_that_nobody_sees_before_the_end_are_no_reason_to_refuse() -> None:
    """They can all be taken back, whatever checkpoints there were."""
    case = of_one_moment(sink=LedgerSink("out", Target(), visible=Visible.FINAL))
    found = case.start(case.record())

    assert found.record is None
    assert case.sink.state.told == ["abort st1", "plan"]


@pytest.mark.parametrize("visible", [Visible.STAGED, Visible.FINAL])
def test_what_was_decided_survives_a_record(visible: Visible) -> None:
    """Whole: when rows become visible decides how often a resumed pipeline takes checkpoints, too."""
    before = Case(sink=LedgerSink("out", Target(), visible=visible)).before
    after = prepared_of(json.loads(json.dumps(before.to_plain())))

    assert (after.setups, after.splits) == (before.setups, before.splits)


def test_splits_may_go_on_under_a_new_snapshot_where_people_accept_that() -> None:
    """``source.consistency = per-split``: the same splits, each as of its own moment."""
    case = of_one_moment()
    record = case.record()
    found = case.start(record, per_split=True)

    assert found.record is record
    assert [split.id for split in found.prepared.splits["x"]] == ["s0", "s1"]
    assert {split.generation for split in found.prepared.splits["x"]} == {"moment 2"}
    assert case.source.state.told == ["renew"]


@pytest.mark.parametrize("anew", [True, False])
def test_a_source_that_cannot_be_opened_leaves_none_open(anew: bool) -> None:
    """Of two sources one is away: the other one's snapshot is let go."""
    first, away = Target(), Target()
    good, bad = Snapshots((5,), first), Snapshots((5,), away)
    vertices = tuple(
        PlannedVertex(name, (source_node(name, source), sink_node("out", name, LedgerSink(name, Target()), spans=True)))
        for name, source in (("a", good), ("b", bad))
    )
    pipeline = Pipeline("p", "a", vertices)
    graph = graph_of(pipeline)
    before = prepare(pipeline, (), JOB)
    record = CheckpointRecord(1, 1, RecordKind.PERIODIC, 0, graph.topology, {}, {}, plan=before.to_plain())
    first.told.clear()

    def refuse(what: str) -> None:
        if what in ("discover", "renew"):
            raise FatalError("away")

    away.act = refuse
    groups = {str(at): group for groups in graph.scopes.values() for at, group in enumerate(groups)}
    with pytest.raises(FatalError, match="away"):
        start(pipeline, graph.topology, groups, JOB, EarlierRun(None if anew else record, per_split=True))

    assert first.told == ["discover" if anew else "renew", "close"]


@pytest.mark.parametrize(
    ("before", "words"),
    [
        (Topology((ProtocolVertex("y"),)), "the step y is gone; the step x is new"),
        (Topology((ProtocolVertex("x"),)), "connected in another way, or promise something else"),
    ],
)
def test_a_checkpoint_of_another_job_is_refused(before: Topology, words: str) -> None:
    """Its states would be read as what they are not; nothing is opened for it."""
    case = Case()

    with pytest.raises(FatalError, match=words):
        case.start(replace(case.record(), topology=before))

    assert case.source.state.told == case.sink.state.told == []


def test_what_an_earlier_driver_has_found_out_is_no_other_job() -> None:
    """It has seen other rows come again, and trusts the source no more. The next one goes on, and trusts it again."""
    case = Case()
    record = case.record()
    found = case.start(replace(record, topology=distrust(record.topology, "x")))

    assert found.record == record
