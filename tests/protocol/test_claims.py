"""Incarnations, claims and the chain of records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_py.protocol.commit.claims import (
    ID_RESERVE,
    Claim,
    DamagedRecord,
    RestoreRefusal,
    Stored,
    claim_from,
    contradiction,
    may_use,
    newest,
    next_checkpoint,
    next_incarnation,
    on_chain,
    void,
)
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.topology import Topology
from tests.protocol.reference.ledger import may_write


def record(checkpoint: int, incarnation: int) -> CheckpointRecord:
    return CheckpointRecord(checkpoint, incarnation, RecordKind.PERIODIC, checkpoint - 1, Topology(()), {}, {})


def names(records: tuple[Stored, ...]) -> list[tuple[int, int]]:
    return [(one.checkpoint, one.incarnation) for one in records]


# Driver 1 wrote 1 to 3; driver 2 continued from 2 (its 3 came too late), driver 3 did nothing, driver 4 continued
# from 1002 of driver 2, which went on to write 1003.
CLAIMS = (Claim(1), Claim(2, 2, 1, 1001), Claim(3, 1002, 2, 2001), Claim(4, 1002, 2, 3001))
RECORDS = (*(record(n, 1) for n in (1, 2, 3)), *(record(n, 2) for n in (1001, 1002, 1003)), record(3001, 4))


@pytest.mark.parametrize(("incarnation", "allowed"), [(2, False), (3, True), (4, False)])
def test_i34_only_the_owner_of_the_store_writes(incarnation: int, allowed: bool) -> None:
    """Neither a lower one nor one that was never taken."""
    assert may_write(3, incarnation) is allowed


def test_i34_the_next_incarnation_is_above_the_owner_and_every_claim() -> None:
    """A driver that took its number and died before it claimed is counted too."""
    assert next_incarnation(0) == 1
    assert next_incarnation(5, CLAIMS) == 6
    assert next_incarnation(2, CLAIMS) == 5


def test_p3_records_off_the_chain_are_void() -> None:
    """What an older driver wrote after the record that a newer one continues from."""
    assert names(void(CLAIMS, RECORDS)) == [(3, 1), (1003, 2)]
    assert names(on_chain(CLAIMS, RECORDS)) == [(1, 1), (2, 1), (1001, 2), (1002, 2), (3001, 4)]


def test_p3_who_starts_from_nothing_makes_everything_before_void() -> None:
    """A claim that names no record has no ancestors."""
    claims = (*CLAIMS, Claim(5))

    assert on_chain(claims, RECORDS) == ()
    assert newest(claims, RECORDS) is None


def test_i17_the_newest_record_of_the_chain_is_restored() -> None:
    """A void one of a higher id is not in question."""
    assert newest(CLAIMS, RECORDS) == record(3001, 4)
    assert newest(CLAIMS[:2], RECORDS[:4]) == record(1001, 2)
    assert newest(CLAIMS, RECORDS[:-1]) == record(1002, 2)


def test_i17_no_record_and_nothing_that_speaks_of_one_is_a_start_from_nothing() -> None:
    """Nobody has claimed yet, or one has and did not come to write."""
    assert newest((), ()) is None
    assert newest((Claim(1),), ()) is None


def damaged(at: int) -> list[Stored]:
    return [DamagedRecord(at, one.incarnation, "torn") if one.checkpoint == at else one for one in RECORDS]


def test_i17_f24_a_newest_record_that_cannot_be_read_stops_the_restore() -> None:
    """An older, readable one is not taken instead."""
    assert newest(CLAIMS, damaged(3001)) == RestoreRefusal("the newest checkpoint, 3001, cannot be read: torn")


def test_a_damaged_record_further_back_is_no_hindrance() -> None:
    """The newest alone is enough (P2)."""
    assert newest(CLAIMS, damaged(1002)) == record(3001, 4)


@pytest.mark.parametrize(
    ("claims", "records", "at_least", "why"),
    [
        # F23: the record that is continued from is not shown
        (CLAIMS[:3], RECORDS[:4], 0, "checkpoint 1002 was completed, but the store does not show it"),
        # F23: a stale list; a ledger knows better
        (CLAIMS, RECORDS[:-1], 3001, "checkpoint 3001 was completed, but the store does not show it"),
        ((), (), 1, "checkpoint 1 was completed, but the store does not show it"),
        # checkpoint 0 is a record as well
        ((Claim(1), Claim(2, 0, 1, 1001)), (), 0, "checkpoint 0 was completed, but the store does not show it"),
        # records without their claims
        ((), RECORDS[:1], 0, "checkpoint 1 is of driver 1, whose claim is missing"),
        (CLAIMS[:3], RECORDS, 0, "checkpoint 3001 is of driver 4, whose claim is missing"),
        (CLAIMS[1:2], RECORDS[:1], 0, "checkpoint 2 was completed, but the store does not show it"),
    ],
)
def test_i17_f23_what_is_missing_stops_the_restore(
    claims: tuple[Claim, ...], records: tuple[Stored, ...], at_least: int, why: str
) -> None:
    """Never a silent step back to what is there."""
    assert newest(claims, records, at_least) == RestoreRefusal(why)


@pytest.mark.parametrize(
    ("claims", "why"),
    [
        ((*CLAIMS, Claim(4, 1002, 2, 4001)), "there are two claims of driver 4"),
        ((*CLAIMS, Claim(5, None, 4, 4001)), "it names a checkpoint without its driver, or the reverse"),
        ((*CLAIMS, Claim(5, 3001, 0, 4001)), "it names a checkpoint without its driver, or the reverse"),
        ((*CLAIMS, Claim(5, 3001, 5, 4001)), "driver 5, first checkpoint 4001"),
        ((*CLAIMS, Claim(5, 3001, -4, 4001)), "driver -4, first checkpoint 4001"),
        ((Claim(1, first=0),), "driver 0, first checkpoint 0"),
        ((*CLAIMS, Claim(5, 4001, 4, 4001)), "it continues from checkpoint 4001, and begins with 4001"),
        ((*CLAIMS, Claim(5, -1, 4, 4001)), "it continues from checkpoint -1"),
        ((*CLAIMS[:3], Claim(4, 900, 2, 1001)), "it begins with checkpoint 1001, which an earlier driver has used"),
    ],
)
def test_p4_f1_claims_that_contradict_each_other_restore_nothing(claims: tuple[Claim, ...], why: str) -> None:
    """P4-F1: one wrong claim made a driver go on from an older record, or from none."""
    assert why in contradiction(claims)
    assert newest(claims, RECORDS) == claim_from(9, claims, RECORDS) == RestoreRefusal(contradiction(claims))


def test_claims_of_drivers_that_followed_each_other_agree() -> None:
    assert contradiction(CLAIMS) == contradiction(()) == ""
    assert contradiction((Claim(1), Claim(2))) == "", "the first one was overtaken while it claimed"


def test_a_chain_whose_claims_are_lost_further_back_ends_there() -> None:
    """Retention may have deleted what old claims speak of; a claim that is gone ends the chain, and a record that
    refers to itself does not make it endless."""
    assert names(on_chain(CLAIMS[3:], RECORDS)) == [(3001, 4)]
    assert names(on_chain((Claim(4, 3001, 4),), RECORDS)) == [(3001, 4)]


def test_i38_a_claim_names_what_it_continues_from() -> None:
    """And the ids that it may use; a refusal stays one."""
    assert claim_from(1, (), ()) == Claim(1)
    assert claim_from(5, CLAIMS, RECORDS) == Claim(5, 3001, 4, 3001 + ID_RESERVE)
    assert claim_from(5, CLAIMS, (), at_least=7) == RestoreRefusal(
        "checkpoint 1002 was completed, but the store does not show it"
    )


@given(st.lists(st.tuples(st.integers(0, 1200), st.lists(st.booleans(), max_size=3)), min_size=1, max_size=6))
def test_i11_no_id_is_used_twice_over_incarnations(drivers: list[tuple[int, list[bool]]]) -> None:
    """Each driver aborts some checkpoints, completes some (void ones among them), and dies; ids that were only aborted
    are durable nowhere."""
    claims: list[Claim] = []
    records: list[CheckpointRecord] = []
    used = 0
    for incarnation, (aborted, ends) in enumerate(drivers, 1):
        claim = Claim(incarnation, first=next_checkpoint(claims, records))
        claims.append(claim)
        checkpoint, completed = claim.first, 0
        for completes in [*[False] * aborted, *ends]:
            if not may_use(checkpoint, claim, completed):
                break
            assert checkpoint > used
            used = checkpoint
            if completes:
                records.append(record(checkpoint, incarnation))
                completed = checkpoint
            checkpoint += 1


def test_i11_ids_start_above_what_another_place_knows() -> None:
    """A savepoint of another job, or a ledger, may be the only one to know."""
    assert next_checkpoint((), ()) == 1
    assert next_checkpoint((), (), at_least=9) == 10
    assert next_checkpoint((Claim(1),), [DamagedRecord(4, 1, "torn")]) == 4 + ID_RESERVE


def test_i11_a_driver_completes_something_before_it_uses_more_ids() -> None:
    """The limit follows what completes."""
    claim = Claim(2, 5, 1, first=1005)

    assert may_use(1004 + ID_RESERVE - 1, claim, 5)
    assert not may_use(1004 + ID_RESERVE, claim, 5)
    assert may_use(1004 + ID_RESERVE, claim, 1006)
