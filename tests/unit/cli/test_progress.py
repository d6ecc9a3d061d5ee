"""What is shown while a job runs: of all of it, and of each table under way."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from seatunnel_py.cli.view import progress
from seatunnel_py.runtime.observe.events import ANEW, JobStarted, RowsMoved, TableChanged, UnitRetried
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.work.unit import FailureKind, UnitFailure


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The clock: what stands in it is the time. Threads of other tests go by their own."""
    at = [100.0]
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: at[0]))
    return at


def started(rows: int | None, rows_of: dict[str, int]) -> progress._View:
    view = progress._View()
    view.take(JobStarted("j", "job", ("a", "b"), rows, 0.0, rows_of=rows_of))
    for name in ("a", "b"):
        view.take(TableChanged(name, name, TableState.RUNNING, 0.0))
    return view


def shown(view: progress._View) -> list[str]:
    console = Console(width=150, record=True, file=io.StringIO())
    console.print(view.render())
    return [" ".join(line.split()) for line in console.export_text().splitlines()]


def test_a_table_shows_rows_rate_bytes_and_percent(now: list[float]) -> None:
    view = started(3000, {"a": 1000, "b": 2000})
    now[0] += 10.0
    view.take(RowsMoved("a", "a", 500, 4_000, 0.0))

    assert view.summary == "0/2 tables  500 rows  16 %  50 rows/s  4.0 kB  about 50 s left"
    assert "a running 500 rows 50 % 50 rows/s 4.0 kB" in shown(view)
    assert "b running 0 rows 0 % 0 B" in shown(view)


def test_what_no_source_can_estimate_has_no_percent(now: list[float]) -> None:
    view = started(None, {"a": 1000})
    now[0] += 10.0
    view.take(RowsMoved("b", "b", 500, 4_000, 0.0))

    assert view.summary == "0/2 tables  500 rows  50 rows/s  4.0 kB"
    assert "b running 500 rows 50 rows/s 4.0 kB" in shown(view)


def test_an_estimate_that_was_too_small_is_no_end(now: list[float]) -> None:
    view = started(1000, {"a": 400, "b": 600})
    now[0] += 10.0
    view.take(RowsMoved("a", "a", 1500, 1, 0.0))

    assert "99 %" in view.summary and "left" not in view.summary


def test_a_table_that_begins_anew_counts_from_nothing(now: list[float]) -> None:
    view = started(1000, {"a": 400, "b": 600})
    view.take(RowsMoved("a", "a", 300, 1, 0.0))
    now[0] += 10.0
    view.take(UnitRetried("a", "a", ANEW, 1, 0.0, UnitFailure(FailureKind.RETRIABLE, "the snapshot is gone"), 0.0))

    assert "0 rows" in view.summary
    assert "a running 0 rows 0 % 0 B" in shown(view)


def test_success_is_a_hundred_percent(now: list[float]) -> None:
    """P1: "3/3 tables 83 % about 4.9 s left" was the last that was seen: an estimate that is too large is no news of
    what is left, and a table that has ended has none."""
    view = started(3000, {"a": 1000, "b": 2000})
    view.take(RowsMoved("a", "a", 700, 1, 0.0))
    view.take(TableChanged("a", "a", TableState.DONE, 0.0, tables=("a",)))
    view.take(RowsMoved("b", "b", 1000, 1, 0.0))
    now[0] += 10.0
    assert "62 %" in view.summary and "about 5.9 s left" in view.summary

    view.take(TableChanged("b", "b", TableState.DONE, 0.0, tables=("b",)))

    assert view.summary.startswith("2/2 tables  1,700 rows  100 %  170 rows/s") and "left" not in view.summary


def test_what_earlier_drivers_have_read_counts_as_done(now: list[float]) -> None:
    """Rows and rates are those of this run."""
    view = progress._View()
    view.take(JobStarted("j", "job", ("a",), 1000, 0.0, 2, {"a": 1000}, {"a": 500}))
    view.take(TableChanged("a", "a", TableState.RUNNING, 0.0, tables=("a",)))
    view.take(RowsMoved("a", "a", 250, 1, 0.0))
    now[0] += 10.0

    assert view.summary == "0/1 table  250 rows  75 %  25 rows/s  1 B  about 10 s left"
    assert "a running 250 rows 75 % 25 rows/s 1 B" in shown(view)


def test_a_cause_that_lasts_stays_in_sight(now: list[float]) -> None:
    """P1: "attempt 5: the same cause" x 20. A view shows what a table fails at as long as it does; a log is reminded
    after half a minute, and then less and less often."""
    view = started(None, {})
    away = UnitFailure(FailureKind.RETRIABLE, "connection refused")
    lines = []
    for attempt in range(1, 21):
        view.take(TableChanged("a", "a", TableState.RETRYING, 0.0, away, ("a",)))
        lines.append(view.take(UnitRetried("a", "a", "u", attempt, 3.0, away, 0.0)))
        now[0] += 10.0
    assert [at for at, line in enumerate(lines, 1) if line is not None] == [1, 4, 10]
    assert "a: attempt 20: connection refused" in shown(view)

    view.take(TableChanged("a", "a", TableState.RUNNING, 0.0, tables=("a",)))
    assert not any("connection refused" in line for line in shown(view))
