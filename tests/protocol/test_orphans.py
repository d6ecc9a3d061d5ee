"""What may be dropped, and that it is never what somebody still needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.protocol.commit.claims import Claim, DamagedRecord, Stored, claim_from, newest, next_checkpoint
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Topology
from tests.protocol.reference.orphans import FoundPiece, named_by, orphans

K = Subtask("K")


def record(
    checkpoint: int,
    *names: str,
    incarnation: int = 1,
    waiting: tuple[CommitRecord, ...] = (),
    kind: RecordKind = RecordKind.PERIODIC,
) -> CheckpointRecord:
    snapshots = {K: SubtaskSnapshot(pieces=tuple(StagedPiece(name) for name in names))}
    return CheckpointRecord(checkpoint, incarnation, kind, 0, Topology(()), {}, snapshots, waiting)


def found(name: str = "p", *, scope: str = "K", incarnation: int = 1, epoch: int = 0, age: float = 60.0) -> FoundPiece:
    return FoundPiece(StagedPiece(name), scope, incarnation, epoch, age)


def dropped(
    piece: FoundPiece,
    records: Iterable[Stored] = (),
    storing: Iterable[CheckpointRecord] = (),
    claims: tuple[Claim, ...] = (Claim(1), Claim(2, 5, 1)),
) -> bool:
    """Whether the second driver, in which K lives its fourth life, drops it."""
    judged = orphans([piece], claims=claims, records=records, storing=storing, incarnation=2, epochs={"K": 3}, age=30.0)
    return judged == (piece,)


@pytest.mark.parametrize(
    ("piece", "expected"),
    [
        (found(), True),
        (found(age=29.9), False),
        (found(age=30.0), True),
        (found(incarnation=2, epoch=2), True),
        (found(incarnation=2, epoch=3), False),
        (found(incarnation=2, epoch=4), False),
        (found(incarnation=1, epoch=9), True),
        (found(incarnation=3, epoch=0), False),
        (found(scope="L", incarnation=2), True),
    ],
)
def test_i33_only_pieces_of_an_older_life_and_of_some_age_are_orphans(piece: FoundPiece, expected: bool) -> None:
    """A life that goes on may still carry them; a vertex that is gone has none."""
    assert dropped(piece) is expected


@pytest.mark.parametrize(
    "keeper",
    [
        record(5, "p"),
        record(5, waiting=(CommitRecord("K", 4, (StagedPiece("p"),)),)),
        record(3, "p", kind=RecordKind.SAVEPOINT),
        record(2000, "p", incarnation=2),
    ],
)
def test_i33_what_a_completed_record_names_is_no_orphan(keeper: CheckpointRecord) -> None:
    """In a snapshot or as uncommitted, savepoints included, of whichever driver."""
    assert not dropped(found(), [record(5), keeper])
    assert dropped(found("q"), [record(5), keeper])


def test_i33_what_is_on_its_way_to_the_store_counts() -> None:
    """Its sink may have failed meanwhile: the piece is of an older life, and its record will be durable at any moment."""
    assert not dropped(found(incarnation=2, epoch=2), storing=[record(2000, "p", incarnation=2)])


def test_p3_a_void_record_keeps_nothing() -> None:
    """Nothing ever continues from it."""
    assert dropped(found(), [record(5), record(6, "p")])


def test_f24_where_a_record_cannot_be_read_nothing_is_dropped() -> None:
    """It may name anything; a void one may not."""
    assert not dropped(found(), [record(5), DamagedRecord(4, 1, "torn")])
    assert dropped(found(), [record(5), DamagedRecord(6, 1, "torn")])


@pytest.mark.parametrize("claims", [(), (Claim(1),), (Claim(1), Claim(2, 5, 1), Claim(3, 5, 1))])
def test_i34_only_the_driver_with_the_highest_claim_drops(claims: tuple[Claim, ...]) -> None:
    """Before its claim is published an older driver's record may count; after a newer one it has no say."""
    assert not dropped(found(), claims=claims)


def test_a_record_names_what_it_staged_and_what_it_carries() -> None:
    """Both."""
    assert named_by(record(5, "a", waiting=(CommitRecord("K", 4, (StagedPiece("b"),)),))) == {"a", "b"}


@dataclass
class Life:
    """Of a driver: what its sink carries, and the record that is on its way to the store."""

    incarnation: int
    claimed: bool = False
    epoch: int = 0
    carried: list[str] = field(default_factory=list)
    storing: CheckpointRecord | None = None


class Race:
    """Two drivers that do not know of each other, a sweeper in each, and a store whose fence leaks: it takes the records
    of the older one too, which are void as soon as the newer has published its claim. ``listed``: what a sweep saw of
    the pieces, before it reads the records."""

    def __init__(self) -> None:
        self.owner = 0
        self.claims: list[Claim] = []
        self.records: list[CheckpointRecord] = []
        self.staged: dict[str, tuple[int, int]] = {}
        self.lives = [self.born()]
        self.listed: dict[int, list[FoundPiece]] = {}

    def born(self) -> Life:
        self.owner += 1
        return Life(self.owner)

    def step(self, who: int, what: str) -> None:
        life = self.lives[who % len(self.lives)]
        if what == "begin":
            self.lives = [*self.lives[-1:], self.born()]
        elif not life.claimed:
            claim = claim_from(life.incarnation, self.claims, self.records)
            assert isinstance(claim, Claim)
            life.claimed = life.incarnation == self.owner
            self.claims += [claim] * life.claimed
        else:
            getattr(self, what)(life)

    def stage(self, life: Life) -> None:
        name = f"{life.incarnation}.{life.epoch}.{len(self.staged)}"
        self.staged[name] = (life.incarnation, life.epoch)
        life.carried.append(name)

    def store(self, life: Life) -> None:
        if life.storing is None:
            checkpoint = next_checkpoint(self.claims, self.records)
            life.storing = record(checkpoint, *life.carried, incarnation=life.incarnation)

    def land(self, life: Life) -> None:
        if life.storing is not None:
            self.records.append(life.storing)
        life.storing = None

    def restart(self, life: Life) -> None:
        life.epoch += 1
        life.carried = []

    def look(self, life: Life) -> None:
        self.listed[life.incarnation] = [
            FoundPiece(StagedPiece(name), "K", by, epoch, 0.0) for name, (by, epoch) in self.staged.items()
        ]

    def sweep(self, life: Life) -> None:
        storing = [life.storing] if life.storing else []
        judged = orphans(
            self.listed.get(life.incarnation, ()), claims=self.claims, records=self.records, storing=storing,
            incarnation=life.incarnation, epochs={"K": life.epoch}, age=0.0,
        )  # fmt: skip
        for one in judged:
            self.staged.pop(one.piece.name, None)


STEPS = ("stage", "store", "land", "restart", "look", "sweep", "begin")


@given(st.lists(st.tuples(st.integers(0, 1), st.sampled_from(STEPS)), max_size=60))
@settings(max_examples=400, deadline=None)
def test_i33_no_race_drops_what_a_completed_record_names(steps: list[tuple[int, str]]) -> None:
    """Two drivers, each of which stages, stores, restarts its sink, looks and sweeps, in any order."""
    race = Race()
    for who, what in steps:
        race.step(who, what)

        last = newest(race.claims, race.records)
        if isinstance(last, CheckpointRecord):
            assert named_by(last) <= race.staged.keys()
        current = race.lives[-1]
        assert set(current.carried) <= race.staged.keys()
