"""A log that is read again from an earlier place for one table gives each change of each table exactly once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_connectors.postgres_cdc.log_enumerator import LogPlace, gone_back
from seatunnel_connectors.postgres_cdc.log_rows import RowFilter, has_reached, place_of, position_of
from seatunnel_connectors.postgres_cdc.pgoutput.elements import LogPosition
from seatunnel_py.api import BegunLog, TablePath

TABLES = tuple(TablePath("d", "public", name) for name in "abc")
COMMITS, CHANGES = 6, 4
LAST = LogPosition(COMMITS * 10, COMMITS * 10 + 1)
Change = tuple[int, int]


def places() -> list[LogPosition]:
    """Every place of the log, in order: before each change of each transaction."""
    found = []
    for number in range(1, COMMITS + 1):
        before = LogPosition((number - 1) * 10, (number - 1) * 10 + 1)
        found.append(before)
        found += [LogPosition(before.commit, before.end, number * 10, index) for index in range(1, CHANGES)]
    return [*found, LAST]


def given_between(begin: LogPosition, end: LogPosition, chosen: RowFilter, table: TablePath) -> list[Change]:
    """The changes of a table that a reader gives from one place to another."""
    return [
        (commit * 10, order)
        for commit in range(1, COMMITS + 1)
        for order in range(CHANGES)
        if not was_before(begin, commit * 10, order) and was_before(end, commit * 10, order)
        and chosen.counts(table, commit * 10, order)
    ]  # fmt: skip


def was_before(place: LogPosition, commit: int, order: int) -> bool:
    return commit <= place.commit or (commit == place.open_commit and order < place.index)


@given(st.data())
def test_each_change_is_given_once(data: st.DataObject) -> None:
    """Tables stop at any place, and go on from there in any order, also while the log is still behind."""
    every = places()
    begun = BegunLog(LogPlace("s", "p", tuple((one, 0) for one in TABLES), "x").split(), position_of(every[0], 1))
    taken: dict[TablePath, list[Change]] = {one: [] for one in TABLES}
    stopped: dict[TablePath, LogPosition] = {}
    for _ in range(data.draw(st.integers(1, 6))):
        assert begun.position is not None
        at, chosen = place_of(begun.position), filtering(begun)
        later = [one for one in every if has_reached(one, at)]
        to = data.draw(st.sampled_from(later))
        for table in TABLES:
            if table not in stopped:
                taken[table] += given_between(at, to, chosen, table)
        begun = BegunLog(begun.split, position_of(to, 1), begun.state)
        running = [one for one in TABLES if one not in stopped and not chosen.given.get(one, LAST).index
                   and has_reached(to, chosen.given.get(one, LogPosition()))]  # fmt: skip
        if running and data.draw(st.booleans()):
            stopped[data.draw(st.sampled_from(running))] = to
        elif stopped:
            table = data.draw(st.sampled_from(sorted(stopped)))
            begun = gone_back(begun, table, position_of(stopped.pop(table), 1))
    for table in sorted(stopped):
        begun = gone_back(begun, table, position_of(stopped[table], 1))
    assert begun.position is not None
    for table in TABLES:
        taken[table] += given_between(place_of(begun.position), LAST, filtering(begun), table)
    whole = [(commit * 10, order) for commit in range(1, COMMITS + 1) for order in range(CHANGES)]
    assert taken == dict.fromkeys(TABLES, whole)


def filtering(begun: BegunLog) -> RowFilter:
    place = LogPlace.of(begun.split.payload)
    return RowFilter(dict(place.starts), given=dict(place.given))


@given(st.sampled_from(places()))
def test_rows_and_changes_without_rows_count_alike(given_to: LogPosition) -> None:
    from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block, TableRows, Transactions

    class Version:
        path = TABLES[0]

    commits = np.repeat(np.arange(1, COMMITS + 1) * 10, CHANGES)
    order = np.tile(np.arange(CHANGES), COMMITS)
    data = pa.RecordBatch.from_arrays([pa.array(commits), pa.array(order)], names=["commit", "order"])
    kinds = pa.array(np.zeros(len(data), np.uint8))
    of = pa.array(np.repeat(np.arange(COMMITS), CHANGES))
    rows = TableRows(Version(), data, kinds, None, of, pa.array(order))  # type: ignore[arg-type]
    number = pa.array(np.arange(1, COMMITS + 1) * 10)
    chosen = RowFilter({TABLES[0]: 0}, given={TABLES[0]: given_to})
    found = [tuple(row.values()) for one in chosen.batches(Block((rows,), Transactions(number, number, number, number), LAST))
             for row in one.data.to_pylist()]  # fmt: skip
    wanted = zip(commits.tolist(), order.tolist(), strict=True)
    assert found == [(commit, place) for commit, place in wanted if chosen.counts(TABLES[0], commit, place)]
