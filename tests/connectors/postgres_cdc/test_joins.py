"""A table joins a log that has begun only if no change of it is missing (F-C45)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from seatunnel_connectors.postgres_cdc.log_bound import LogBound
from seatunnel_connectors.postgres_cdc.log_enumerator import LogPlace, copied_at, joined
from seatunnel_connectors.postgres_cdc.log_rows import position_of
from seatunnel_connectors.postgres_cdc.pgoutput.elements import LogPosition
from seatunnel_connectors.postgres_cdc.slot_snapshots import LOG_POSITION
from seatunnel_py.api import BegunLog, FatalError, FollowedTable, SourceTable, Split, TablePath, TableSchema

OLD, NEW = TablePath("shop", "public", "old"), TablePath("shop", "public", "new")
PLACE = LogPlace("slot", "publication", ((OLD, 100),), "7")
READ = 500


def table(*copied: int) -> FollowedTable:
    splits = tuple(Split(f"s{at}", NEW, {LOG_POSITION: position}) for at, position in enumerate(copied))
    return FollowedTable(SourceTable(TableSchema(NEW, ())), splits)


def begun(how: str) -> BegunLog:
    """A log that has been read up to READ, in each way in which that is known."""
    end = position_of(LogPosition(READ - 10, READ), 1)
    bounded = replace(PLACE, bound=LogBound(READ))
    match how:
        case "not read yet":
            return BegunLog(replace(PLACE, starts=((OLD, READ),)).split())
        case "read":
            return BegunLog(PLACE.split(), end, {"slot": "slot"})
        case "ended":
            return BegunLog(bounded.split(), None, {"place": bounded.to_plain(), "run": 1, "ended": dict(end.value)})
        case _:
            place = replace(bounded, begin=end)
            return BegunLog(place.split(2), None, {"place": place.to_plain(), "run": 2})


WAYS = ("not read yet", "read", "ended", "begun again")


def starts(plain: Any) -> dict[TablePath, int]:
    return dict(LogPlace.of(plain).starts)


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("copied", [(READ,), (READ + 1,), (READ + 9, READ + 5)])
def test_a_table_joins_where_its_copy_ends(how: str, copied: tuple[int, ...]) -> None:
    before = begun(how)
    found = joined(before, NEW, copied_at(table(*copied)))
    wanted = starts(before.split.payload) | {NEW: min(copied)}
    assert starts(found.split.payload) == wanted
    assert replace(found.split, payload={}) == replace(before.split, payload={})
    assert found.position == before.position
    if isinstance(found.state, dict) and "place" in found.state:
        assert starts(found.state["place"]) == wanted, "the next run reads it too"


@pytest.mark.parametrize("how", WAYS)
def test_a_table_that_is_copied_again_joins_at_its_new_copy(how: str) -> None:
    """I42: changes before that place are in the copy, and a target without a key would show them twice."""
    again = replace(table(READ + 5), table=SourceTable(TableSchema(OLD, ())))
    found = joined(begun(how), OLD, copied_at(again))
    assert starts(found.split.payload) == {OLD: READ + 5}
    if isinstance(found.state, dict) and "place" in found.state:
        assert starts(found.state["place"]) == {OLD: READ + 5}


@pytest.mark.parametrize("how", WAYS)
@pytest.mark.parametrize("copied", [(READ - 1,), (READ + 9, 1)])
def test_a_copy_that_the_log_has_passed_is_refused_with_both_places(how: str, copied: tuple[int, ...]) -> None:
    with pytest.raises(FatalError, match=r"was copied at 0/\w+, and the log has been read up to 0/1F4") as refused:
        joined(begun(how), NEW, copied_at(table(*copied)))
    assert "table reset" in refused.value.remedy


def test_a_table_that_was_not_copied_is_refused() -> None:
    with pytest.raises(FatalError, match="was not copied"):
        copied_at(table())
