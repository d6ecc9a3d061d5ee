"""A driver that dies, or sleeps, at any of the twelve crash points: the target ends as if nothing had happened."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.protocol.commit.claims import Claim
from seatunnel_py.protocol.commit.commit_queue import CommitQueue
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import StagedPiece
from seatunnel_py.protocol.model.topology import Topology
from tests.protocol.commit_world import LINEAGE, SINK, Driver, World
from tests.protocol.reference.commit_life import COMMIT_LIFE, CRASH_POINTS, RECOVERY, Recorded, Recovery, Stage, Step
from tests.protocol.reference.ledger import LedgerRow, Verdict, claim_ledger, ledger_decision
from tests.protocol.reference.orphans import FoundPiece, orphans

ROWS = 5


def run(world: World, steps: int | None = None) -> list[tuple[str, int]]:
    """Let a driver live so many steps (None: to its end); the crash points passed, and the checkpoint under way."""
    driver = Driver(world, ROWS)
    passed: list[tuple[str, int]] = []
    for point in driver.life():
        passed.append((point, driver.checkpoint))
        if len(passed) == steps:
            break
    return passed


def assert_once(world: World) -> None:
    """Every row is visible once, and nothing is left over (I2, I50)."""
    assert sorted(world.visible) == list(range(ROWS))
    assert world.staged == {}


UNDISTURBED = run(World())


@pytest.mark.parametrize(("name", "recorded", "holds", "there"), CRASH_POINTS)
def test_each_crash_point_leaves_the_facts_of_its_row(name: str, recorded: Recorded, holds: bool, there: bool) -> None:
    """Reliability 4.0: what checkpoint 2 has left when the driver dies is the key under which its recovery stands."""
    point = name.split()[0]
    under_way = 3 if point in ("p11", "p12") else 2  # cleaning follows the record that carries its commit no longer
    world = World()

    run(world, UNDISTURBED.index((point, under_way)) + 1)

    assert world.facts(2) == (recorded, holds, there)
    assert (recorded, holds, there) in RECOVERY


@pytest.mark.parametrize("steps", range(1, len(UNDISTURBED) + 1))
def test_f7_after_a_death_at_any_point_the_effect_is_that_of_once(steps: int) -> None:
    """I28, I33: the next driver finishes what is completed and sweeps what is not."""
    world = World()
    run(world, steps)

    run(world)

    assert_once(world)


@given(st.lists(st.integers(1, len(UNDISTURBED)), max_size=5), st.integers(0, 3))
@settings(max_examples=150, deadline=None)
def test_deaths_in_a_row_and_refused_writes_change_nothing(deaths: list[int], refused: int) -> None:
    """I26, F22: recovery may die as well, and a record that was not stored is made up for by the next."""
    world = World(refused_writes=refused)
    for steps in deaths:
        run(world, steps)

    run(world)

    assert_once(world)


def test_i14_what_an_aborted_checkpoint_had_prepared_stays_prepared() -> None:
    """F22: checkpoint 1 could not be stored; its pieces are there when the next begins, as the table of their life says,
    and become visible with it."""
    world = World(refused_writes=1)
    passed = run(world, [point for point, _ in UNDISTURBED].index("p6") + 2)

    assert passed[-1] == ("p1", 2)
    assert {name for name in world.staged if name.startswith("1-")} == {"1-1-K[0]", "1-1-K[1]"}
    assert COMMIT_LIFE[Stage.PREPARED][Step.ABORT] is Stage.PREPARED


@given(st.integers(1, len(UNDISTURBED)), st.lists(st.booleans(), max_size=120))
@settings(max_examples=150, deadline=None)
def test_f8_a_driver_that_wakes_up_again_is_refused_everywhere(asleep_at: int, order: list[bool]) -> None:
    """I34: whatever the older of two live drivers still does, the target shows every row once."""
    world = World()
    older, newer = Driver(world, ROWS).life(), Driver(world, ROWS).life()
    for _ in range(asleep_at):
        next(older, None)
    for older_next in order:
        next(older if older_next else newer, None)
    for _ in (*newer, *older):
        pass

    run(world)

    assert_once(world)


def test_every_point_is_passed() -> None:
    """The walk above passes each of the twelve."""
    assert {point for point, _ in UNDISTURBED} - {"taken", "read"} == {name.split()[0] for name, *_ in CRASH_POINTS}


@pytest.mark.parametrize("key", RECOVERY, ids=str)
def test_the_deciders_do_what_the_table_says(key: tuple[Recorded, bool, bool]) -> None:
    """The table is what queue, ledger decision and orphan rule do, put together, for a checkpoint 2 after a 1."""
    recorded, holds, there = key
    piece, later = StagedPiece("2-1-K[0]"), CommitRecord(SINK, 3, (StagedPiece("3-1-K[0]"),))
    commit = CommitRecord(SINK, 2, (piece,))
    carried = {Recorded.NOWHERE: (), Recorded.CARRIED: (commit,), Recorded.CONFIRMED: (later,)}[recorded]
    number = {Recorded.NOWHERE: 1, Recorded.CARRIED: 2, Recorded.CONFIRMED: 3}[recorded]
    record = CheckpointRecord(number, 1, RecordKind.PERIODIC, 0, Topology(()), {}, {}, carried)
    ledger = LedgerRow(LINEAGE, 1, 2 if holds else 1)

    assert _done_about(record, ledger, commit, recorded, there) is RECOVERY[key]


def _done_about(
    record: CheckpointRecord, ledger: LedgerRow, commit: CommitRecord, recorded: Recorded, there: bool
) -> Recovery:
    if isinstance(claim_ledger(ledger, LINEAGE, 2, record.checkpoint), Verdict):
        return Recovery.ALARM
    before = commit.checkpoint if recorded is Recorded.CONFIRMED else commit.checkpoint - 1
    for one in CommitQueue.restored(record).issue()[1]:
        verdict = ledger_decision(
            ledger, one, lineage=LINEAGE, incarnation=2, newest=record.checkpoint, previous=before, pieces_there=there or one is not commit,
        )  # fmt: skip
        if verdict in (Verdict.GAP, Verdict.LOST):
            return Recovery.ALARM
        if one is commit:
            return Recovery.COMMIT
    found = [FoundPiece(piece, SINK, 1, 0, 1.0) for piece in commit.pieces if there]
    claims = [Claim(1), Claim(2, record.checkpoint, 1)]
    swept = orphans(found, claims=claims, records=[record], storing=[], incarnation=2, epochs={}, age=0.0)
    if not swept:
        return Recovery.NOTHING
    return Recovery.SWEEP if recorded is Recorded.NOWHERE else Recovery.CLEAN
