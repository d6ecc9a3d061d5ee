"""Samples of rows: each row counts once, whatever fails, and a picture costs little."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.control.run_index import RunIndex
from seatunnel_py.control.series.rates import POINTS_MAX, fewer, rates
from seatunnel_py.control.series.row_sampler import TABLES_MAX, RowSampler
from seatunnel_py.control.store import series
from seatunnel_py.control.store.database import Database
from seatunnel_py.runtime.observe.run_record import COUNTERS
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import JobDirectory, write_json
from tests.control.homes import claimed, receipt

BEGIN = 1_800_000_000.0


class Shop:
    """A home with drivers that are alive: their locks are held here. ``at``: the wall clock."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder)
        (folder / "jobs").mkdir(parents=True)
        self.at = BEGIN
        self.database = Database.open(folder / "server" / "server.db", lambda: self.at)
        self.locks: dict[str, int] = {}
        self.reborn()

    def reborn(self) -> None:
        """The server starts again."""
        self.index = RunIndex(self.home, lambda: self.at)
        self.index.scan()
        self.sampler = RowSampler(self.database, self.index, lambda: self.at)

    def place(self, run: str) -> JobDirectory:
        return self.home.place(run)

    def drive(self, run: str, driver: str) -> None:
        """A driver takes the run."""
        claimed(self.place(run), driver, self.at)
        descriptor = os.open(self.place(run).path / "lock", os.O_WRONLY | os.O_CREAT)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.locks[run] = descriptor

    def count(self, run: str, driver: str, marks: dict[str, int] | None = None, **tables: int) -> None:
        """Its counters: rows of tables, and the highest counts that were seen before."""
        rows = [{"table": table, "state": "RUNNING", **dict.fromkeys(COUNTERS, read)} for table, read in tables.items()]
        kept = {table: dict.fromkeys(COUNTERS, mark) for table, mark in (marks or {}).items()}
        totals = {"rows_read": sum(tables.values())}
        plain = {"run": driver, "at": self.at, "tables": rows, "totals": totals, "marks": kept, "this_run": totals}
        write_json(self.place(run).path / "counters.json", plain, durable=False)

    def end(self, run: str) -> None:
        os.close(self.locks.pop(run))

    def turn(self, seconds: float = 5.0) -> None:
        self.at += seconds
        self.index.scan()
        for row in self.index.rows():
            self.index.look(row.run)
        self.sampler.turn()

    def rates(self, run: str, name: str = "read") -> list[tuple[float, float]]:
        samples = self.sampler.samples(run, 0.0, 2e9)
        found = rates([(one.at, getattr(one, name)) for one in samples], 0.0, 2e9)
        return [(at - BEGIN, value) for at, value in found]

    def total(self, run: str) -> tuple[int, int]:
        samples = self.sampler.samples(run, 0.0, 2e9)
        return samples[0].read, samples[-1].read


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "home")


def test_a_run_has_a_rate_after_its_second_sample(shop: Shop) -> None:
    """Between the times of the counters, not of the looks at them."""
    shop.drive("a", "d1")
    for number in range(4):
        shop.count("a", "d1", t=number * 50)
        shop.turn()

    assert shop.rates("a") == [(5.0, 10.0), (10.0, 10.0), (15.0, 10.0)]
    shop.turn()  # nothing was counted since
    assert len(shop.rates("a")) == 3


def test_a_new_driver_doubles_nothing_and_the_time_between_is_zero(shop: Shop) -> None:
    """Rows that it reads again are those of the driver before."""
    shop.drive("a", "d1")
    for rows in (0, 100):
        shop.count("a", "d1", t=rows)
        shop.turn()
    shop.end("a")
    shop.turn(90)
    shop.drive("a", "d2")
    for rows in (0, 60, 120, 180):
        shop.at += 1
        shop.count("a", "d2", {"t": 100}, t=rows)
        shop.turn(4)

    assert shop.rates("a") == [(5.0, 20.0), (100.0, 0.0), (101.0, 0.0), (106.0, 0.0), (111.0, 4.0), (116.0, 12.0)]
    assert shop.total("a") == (0, 180)


def test_the_receipt_has_the_last_word(shop: Shop) -> None:
    """Rows of the last seconds are in it."""
    shop.drive("a", "d1")
    shop.count("a", "d1", t=10)
    shop.turn()
    table = {"table": "t", "state": "DONE", "cause": None, **dict.fromkeys(COUNTERS, 40)}
    receipt(shop.place("a"), "d1", "SUCCESS", tables=[table], seconds={"total": 8.0})
    shop.end("a")
    shop.turn()

    assert shop.rates("a") == [(8.0, 3.75)]
    shop.turn()
    assert len(shop.rates("a")) == 1


def test_samples_are_written_once_a_minute_and_outlive_the_server(shop: Shop) -> None:
    """A new server goes on with the same driver."""
    shop.drive("a", "d1")
    for number in range(30):
        shop.count("a", "d1", t=number * 50)
        shop.turn()
    with shop.database.reading() as connection:
        kept = series.between(connection, "a", 0.0, 2e9, shop.at)
    assert 24 <= len(kept) <= 30
    shop.sampler.write()
    before = shop.rates("a")
    shop.reborn()
    assert shop.rates("a") == before
    shop.count("a", "d1", t=30 * 50)
    shop.turn()
    assert shop.rates("a")[-1] == (150.0, 10.0)


def test_rows_of_the_database_are_bounded(shop: Shop) -> None:
    """A day of samples, and thirty of minutes."""
    kept = [series.RowSample("a", BEGIN + at * 3_600, at, at) for at in range(24 * 40)]
    with shop.database.writing() as connection:
        for one in kept:
            series.keep(connection, [one], one.at)
    with sqlite3.connect(shop.database.place.path) as connection:
        counts = [
            connection.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in ("series_5s", "series_1m")
        ]
    connection.close()
    assert counts == [25, 721]
    with shop.database.reading() as reading:
        found = series.between(reading, "a", 0.0, 2e9, kept[-1].at)
    assert [one.at for one in found] == [one.at for one in kept[-721:]]


def test_a_database_that_cannot_be_written_loses_samples_and_no_time(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """U24: They wait in memory, and are written later."""
    shop.drive("a", "d1")
    shop.database.close()
    shop.database.place.path.chmod(0o400)
    locked = sqlite3.connect(shop.database.place.path)
    monkeypatch.setattr("seatunnel_py.control.store.places.sqlite_file.BUSY_MS", 50)
    shop.database = Database(shop.database.place.path, lambda: shop.at)
    shop.reborn()
    locked.execute("BEGIN EXCLUSIVE")
    for number in range(15):
        shop.count("a", "d1", t=number * 50)
        shop.turn()
    locked.rollback()
    locked.close()
    shop.turn(60)

    with shop.database.reading() as connection:
        assert len(series.between(connection, "a", 0.0, 2e9, shop.at)) == 15


def test_a_table_is_sampled_while_somebody_looks(shop: Shop) -> None:
    """Ten minutes after the last question it ends; and at most so many tables."""
    shop.drive("a", "d1")
    for number in range(3):
        shop.count("a", "d1", t=number * 50, u=0)
        assert (shop.sampler.samples_of_table("a", "t") == []) is (number == 0)
        shop.turn()
    assert [one.read for one in shop.sampler.samples_of_table("a", "t")] == [0, 50, 100]
    for number in range(TABLES_MAX + 5):
        shop.sampler.samples_of_table("a", f"x{number}")
    assert len(shop.sampler._tables) == TABLES_MAX
    shop.turn(601)
    assert len(shop.sampler._tables) == 0


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[str, int]]:
    """What happens to a run: progress, a part that is read again, another driver, a server that starts again."""
    kinds = st.sampled_from(["rows", "rows", "rows", "again", "driver", "server", "nothing"])
    return draw(st.lists(st.tuples(kinds, st.integers(0, 500)), min_size=1, max_size=25))


@settings(max_examples=30, deadline=None)
@given(histories())
def test_no_failover_makes_a_negative_or_a_doubled_rate(
    tmp_path_factory: pytest.TempPathFactory, history: list[tuple[str, int]]
) -> None:
    """U5: The sum of all rates is the number of rows, each once."""
    shop = Shop(tmp_path_factory.mktemp("history") / "home")
    shop.drive("a", "d0")
    rows = highest = 0
    driver = "d0"
    shop.count("a", driver, t=0)
    shop.turn()
    for number, (kind, amount) in enumerate(history):
        if kind == "rows":
            rows += amount
        elif kind == "again":
            rows = max(0, rows - amount)
        elif kind == "driver":
            shop.end("a")
            shop.turn(30)
            driver, rows = f"d{number + 1}", max(0, rows - amount)
            shop.drive("a", driver)
            shop.at += 1
        elif kind == "server":
            shop.sampler.write()
            shop.reborn()
        highest = max(highest, rows)
        shop.count("a", driver, {"t": highest} if highest > rows else {}, t=rows)
        shop.turn()
    samples = shop.sampler.samples("a", 0.0, 2e9)
    found = rates([(one.at, one.read) for one in samples], 0.0, 2e9)
    shop.end("a")
    shop.database.close()

    assert all(value >= 0 for _, value in found)
    assert len(found) == len(samples) - 1
    moved = sum(
        value * (after.at - before.at) for (_, value), (before, after) in zip(found, pairwise(samples), strict=True)
    )
    assert round(moved) == highest == samples[-1].read


@given(st.lists(st.tuples(st.integers(0, 10**9), st.floats(0, 1e6)), max_size=6_000, unique_by=lambda one: one[0]))
@settings(max_examples=40, deadline=None)
def test_fewer_points_keep_the_extremes(given_points: list[tuple[int, float]]) -> None:
    """And the last one; in the order of time."""
    points: list[tuple[float, float]] = sorted(given_points)
    found = fewer(points, 300)

    assert len(found) <= 300 and found == sorted(found)
    assert set(found) <= set(points)
    if points:
        assert found[-1] == points[-1]
        assert {max(one[1] for one in points), min(one[1] for one in points)} <= {one[1] for one in found}


def test_a_long_series_is_short() -> None:
    """A day of samples is 2,000 points at most."""
    points: list[tuple[float, float]] = [(float(at), float(at % 97)) for at in range(17_280)]
    assert len(fewer(points)) <= POINTS_MAX


def test_a_hundred_runs_cost_little(shop: Shop) -> None:
    """Samples, and the looks of the index, take less than a twentieth of a core."""
    for number in range(100):
        shop.drive(f"run-{number}", "d")
    spent: dict[str, Any] = {"sampler": 0.0, "index": 0.0}
    for turn in range(5):
        for number in range(100):
            shop.count(f"run-{number}", "d", **{f"t{table}": turn * 100 for table in range(10)})
        shop.at += 5
        begun = time.process_time()
        for row in shop.index.rows():
            shop.index.look(row.run)
        spent["index"] += time.process_time() - begun
        begun = time.process_time()
        shop.sampler.turn()
        spent["sampler"] += time.process_time() - begun
        shop.index.scan()
    begun = time.process_time()
    shop.sampler.write()
    spent["write"] = time.process_time() - begun
    share = spent["sampler"] / 5 / 5 + spent["index"] / 5 + spent["write"] / 60
    print(f"share of a core for 100 runs: {share:.1%} {spent}")
    for run in list(shop.locks):
        shop.end(run)

    assert share < 0.05
