"""The index of runs: O19 in small; ``python -m bench.old_runs`` measures ten thousand."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from seatunnel_py.control import run_index
from seatunnel_py.control.run_index import IDLE_SECONDS, SORTS, RunFilter, RunIndex, counts_by_state
from seatunnel_py.control.run_row import RunRow
from seatunnel_py.jobs.job_lookup import KnownJob
from seatunnel_py.jobs.job_rows import about_of
from tests.control.homes import claimed, counted, ended_runs, receipt

RUNS = 300
BYTES_MAX = 5_000


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made: Path = tmp_path_factory.mktemp("home")
    ended_runs(made, RUNS)
    return made


class Clock:
    """Monotonic seconds that a test sets."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def index_of(path: Path) -> tuple[RunIndex, Clock]:
    clock = Clock()
    made = RunIndex(run_index.Home(path), clock)
    made.scan()
    return made, clock


def test_o19_a_row_takes_little_memory(path: Path) -> None:
    tracemalloc.start()
    try:
        index, _ = index_of(path)
        used, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(index.rows()) == RUNS
    assert used / RUNS < BYTES_MAX, "ten thousand rows in 50 MB"


def test_o19_idle_runs_are_looked_at_ever_more_seldom_and_not_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """U24: Every 30 s after the first minute, spread over the seconds, and from their names only."""
    index, clock = index_of(path)
    monkeypatch.setattr(run_index, "row_of", lambda place: pytest.fail(f"{place.path} is read again"))
    looks: list[int] = []
    look = index.look
    monkeypatch.setattr(RunIndex, "look", lambda self, run: (looks.__setitem__(-1, looks[-1] + 1), look(run))[1])
    for _ in range(180):
        clock.seconds += 1
        looks.append(0)
        index.poll()
    calm = looks[90:]
    assert sum(calm) == pytest.approx(RUNS * len(calm) / IDLE_SECONDS, rel=0.2)
    assert max(calm) < RUNS / 4


@pytest.mark.parametrize("sort", SORTS)
def test_pages_hold_each_run_once_in_order(path: Path, sort: str) -> None:
    index, _ = index_of(path)
    whole = index.page(sort=sort, limit=RUNS)
    found: list[RunRow] = []
    while True:
        page = index.page(sort=sort, after=found[-1].run if found else "", limit=70)
        found += page.rows
        assert page.total == RUNS
        if not page.more:
            break
    assert found == list(whole.rows) and len({row.run for row in found}) == RUNS


def test_a_filter_chooses_by_state_text_and_time(path: Path) -> None:
    index, _ = index_of(path)
    assert counts_by_state(index.rows()) == {"SUCCESS": 240, "FAILED": 30, "KILLED": 30}
    assert index.page(RunFilter(frozenset({"FAILED"}))).total == 30
    assert [row.run for row in index.page(RunFilter(text="RUN-00042")).rows] == ["run-00042"]
    assert index.page(RunFilter(since=1_000.0 + RUNS - 10)).total == 10
    assert index.page(RunFilter(runs=frozenset({"run-00001", "no"}))).total == 1


def test_a_row_is_the_line_of_jobs_list(path: Path) -> None:
    index, _ = index_of(path)
    for row in index.rows():
        line = about_of(KnownJob(run_index.Home(path).place(row.run)))
        assert line == {"job_id": row.run} | {name: getattr(row, name) for name in line if name != "job_id"}


def test_changes_are_numbered(tmp_path: Path) -> None:
    """A reader that names its last number gets each later change, and no other row."""
    ended_runs(tmp_path, 3)
    index, clock = index_of(tmp_path)
    number, rows = index.changed_since(0)
    assert len(rows) == 3 and index.changed_since(number) == (number, ())
    place = run_index.Home(tmp_path).place("new")
    claimed(place, "d")
    counted(place, "d")
    clock.seconds += 6
    assert [row.run for row in index.poll()] == ["new"]
    receipt(place, "d", "FAILED")
    assert (index.look("new") or RunRow("", "")).state == "FAILED"
    after, rows = index.changed_since(number)
    assert [(row.run, row.cause) for row in rows] == [("new", "FatalError: no such table")]
    assert index.changed_since(after) == (after, ())


@pytest.mark.parametrize("name", ["", "..", "../x", "a/b", ".hidden", "no"])
def test_an_id_from_outside_is_never_a_path(path: Path, name: str) -> None:
    index, _ = index_of(path)
    assert index.look(name) is None and index.place(name) is None and index.row(name) is None
