"""The end of a bounded log: every transaction that commits before it is read, and no other (F-C36)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seatunnel_connectors.postgres_cdc.claim import LogNames
from seatunnel_connectors.postgres_cdc.log_bound import LogBound, ReadLimit
from seatunnel_connectors.postgres_cdc.log_enumerator import ENDED, LogEnumerator, LogPlace
from seatunnel_connectors.postgres_cdc.log_rows import RowFilter
from seatunnel_connectors.postgres_cdc.options import PostgresCdcOptions, StopMode
from seatunnel_connectors.postgres_cdc.pgoutput.elements import Block, LogPosition, TableRows, Transactions
from seatunnel_connectors.postgres_cdc.pgoutput.transactions import OpenTransaction, TransactionTracker
from seatunnel_py.api import FatalError, JobRegistry, Position, TablePath

PATH = TablePath("shop", "public", "orders")
COMMIT_BYTES = 8


class Version:
    """As much of a table as a filter of rows looks at."""

    path = PATH


def block(commits: list[int], times: list[int] | None = None) -> Block:
    """One row of each transaction, in the order of their commits."""
    numbers = pa.array(range(len(commits)), pa.int64())
    table: Any = Version()
    rows = TableRows(
        table, pa.RecordBatch.from_pydict({"commit": commits}), pa.array([0] * len(commits), pa.uint8()), None,
        numbers, pa.array([0] * len(commits), pa.int64()),
    )  # fmt: skip
    commit = pa.array(commits, pa.int64())
    ends = pa.array([one + COMMIT_BYTES for one in commits], pa.int64())
    place = LogPosition(commits[-1], commits[-1] + COMMIT_BYTES)
    return Block((rows,), Transactions(numbers, commit, ends, pa.array(times or commits, pa.int64())), place)


@given(st.lists(st.integers(1, 100), min_size=1, max_size=20, unique=True), st.integers(1, 101), st.data())
def test_rows_are_read_up_to_the_bound_however_the_log_is_divided(numbers: list[int], at: int, data: Any) -> None:
    commits = [number * 10 for number in sorted(numbers)]
    limit, given_rows, place = ReadLimit(None, LogBound(at * 10)), list[int](), LogPosition()
    while commits and not limit.has_reached(place):
        size = data.draw(st.integers(1, len(commits)))
        piece, commits = block(commits[:size]), commits[size:]
        limit.sees(piece)
        place = piece.position
        for batch in RowFilter({PATH: 0}, limit.position).batches(piece):
            given_rows += batch.data.column(0).to_pylist()
    wanted = [number * 10 for number in sorted(numbers) if number < at]
    assert given_rows == wanted


@given(st.lists(st.integers(0, 50), min_size=1, max_size=15), st.integers(0, 50))
def test_a_time_ends_the_log_at_the_first_later_transaction(times: list[int], at: int) -> None:
    """Times of commits need not be in the order of the log."""
    commits = [10 * (number + 1) for number in range(len(times))]
    limit = ReadLimit(None, LogBound(time=at))
    piece = block(commits, times)
    limit.sees(piece)
    late = [commit for commit, time in zip(commits, times, strict=True) if time > at]
    rows = [
        row for one in RowFilter({PATH: 0}, limit.position).batches(piece) for row in one.data.column(0).to_pylist()
    ]
    assert rows == [one for one in commits if not late or one < late[0]]
    assert limit.has_reached(piece.position) is bool(late)


def test_a_silent_log_ends_where_the_server_has_progressed_to() -> None:
    limit = ReadLimit(None, LogBound(500))
    assert not limit.has_reached(LogPosition(400, 408))
    assert limit.has_reached(LogPosition(400, 500))
    assert limit.position == LogPosition(499, 500)


def test_an_element_of_a_transaction_behind_the_bound_is_not_given() -> None:
    """Such as the description of a table that was altered later."""
    tracker = TransactionTracker(LogPosition(100, 108))
    limit = ReadLimit(None, LogBound(500))
    tracker.open = OpenTransaction(1, 400, 0)
    assert not limit.passed(tracker)
    tracker.open = OpenTransaction(2, 500, 0)
    assert limit.passed(tracker)


def test_a_repeated_unit_ends_where_it_ended_before() -> None:
    limit = ReadLimit(LogPosition(200, 208), LogBound(500))
    assert limit.has_reached(LogPosition(200, 208)) and limit.position == LogPosition(200, 208)


def test_a_run_never_ends_before_it_begins() -> None:
    assert LogBound(300).at_least(500) == LogBound(500)
    assert LogBound(700).at_least(500) == LogBound(700)
    assert LogBound(0, 5).at_least(500) == LogBound(0, 5), "its time decides"


# ---------------------------------------------------------------- the runs of a job

OPTIONS = PostgresCdcOptions.model_validate(
    {"url": "jdbc:postgresql://h/shop", "table-names": ["shop.public.orders"], "stop.mode": "latest"}
)
PLACE = LogPlace("slot", "publication", ((PATH, 100),), "system", bound=LogBound(500))


def enumerator(state: Any, stop: StopMode = StopMode.LATEST) -> LogEnumerator:
    nothing: Any = None
    return LogEnumerator(nothing, LogNames("slot", "publication"), JobRegistry(), (), OPTIONS, stop, state)


def test_a_place_is_the_same_after_a_restart() -> None:
    for one in (PLACE, LogPlace("s", "p", ((PATH, 1),), "x", Position({"end": 3}), LogBound(7, 9))):
        assert LogPlace.of(one.to_plain()) == one


def test_a_run_that_was_killed_keeps_its_end() -> None:
    """The bound is in the split, and no other one is found for it (F-C19)."""
    restored = enumerator({"slot": "slot", "place": PLACE.to_plain(), "run": 1})
    assert restored.interval is None and list(restored.discover()) == []


def test_a_run_that_has_ended_is_followed_by_one_that_begins_there(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = {"commit": 499, "end": 500, "open": 0, "index": 0}
    state = {"slot": "slot", "place": PLACE.to_plain(), "run": 1, ENDED: ended}
    restored = enumerator(state)
    monkeypatch.setattr(LogEnumerator, "_bound", lambda self, begin: LogBound(900).at_least(begin))
    assert restored.interval is not None, "it is asked at once"
    [split] = restored.discover()
    assert split.id == "log~2" and restored.interval is None and list(restored.discover()) == []
    found = LogPlace.of(split.payload)
    assert (found.begin, found.bound, found.starts) == (Position(ended), LogBound(900), PLACE.starts)
    again: Any = restored.snapshot()
    assert again["run"] == 2 and ENDED not in again
    restored.on_reader_event(split, {ENDED: {**ended, "end": 900}})
    again = restored.snapshot()
    assert again[ENDED]["end"] == 900


def test_a_log_without_an_end_cannot_get_one() -> None:
    with pytest.raises(FatalError, match="followed its log without an end"):
        enumerator({"slot": "slot"})
    enumerator({"slot": "slot"}, StopMode.NEVER)
