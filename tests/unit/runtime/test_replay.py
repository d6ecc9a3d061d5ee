"""Bad rows that are delivered after a fix: through the job file as it is now, each once, whatever came in between."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py import app, replay
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.runtime import quarantine
from seatunnel_py.runtime.home import Home
from seatunnel_py.runtime.receipt import Receipt

SEVENS = [n for n in range(1, 51) if n % 10 == 7]


class Case:
    """A job with a table that does not take every number, and files that do."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.home = Home(place / "home")
        self.database = place / "target.db"
        self.job = place / "job.conf"
        self.table("CHECK (n % 10 <> 7)")
        self.write()

    def table(self, check: str) -> None:
        """Make the target anew with this rule, its rows kept."""
        with sqlite3.connect(self.database) as connection:
            kept = connection.execute("SELECT n FROM t").fetchall() if self.job.exists() else []
            connection.executescript(f"DROP TABLE IF EXISTS t; CREATE TABLE t (n INTEGER {check});")
            connection.executemany("INSERT INTO t VALUES (?)", kept)

    def write(self, sink: str = "into", mode: str = "APPEND_DATA") -> None:
        self.job.write_text(
            f"""
            env {{ error.max-rows = 100 }}
            source {{ Countdown {{ plugin_output = a, start = 50 }} }}
            sink {{
              Jdbc {{ id = {sink}, plugin_input = a, url = "jdbc:sqlite:{self.database}", driver = sqlite,
                     generate_sink_sql = true, table = t, data_save_mode = {mode} }}
              Lines {{ plugin_input = a, directory = "{self.place / "lines"}" }}
            }}"""
        )

    def run(self) -> Receipt:
        options = app.RunOptions({}, job_id="j", local=True)
        return app.run(self.job, options, self.home, lambda _: None, lambda _: None)

    def replay(self, **options: Any) -> Receipt:
        asked = replay.ReplayOptions({}, local=True, **options)
        return replay.replay("j", asked, self.home, lambda _: None, lambda _: None)

    def arrived(self) -> list[int]:
        with sqlite3.connect(self.database) as connection:
            return [n for (n,) in connection.execute("SELECT n FROM t ORDER BY n")]

    def lines(self) -> list[int]:
        return sorted(int(n) for path in (self.place / "lines").glob("*.txt") for n in path.read_text().split())

    def waiting(self) -> int:
        return sum(one.rows for one in quarantine.held(replay.location(self.home, "j")) if not one.replay)


@pytest.fixture
def case(tmp_path: Path) -> Case:
    made = Case(tmp_path)
    assert made.run().exit_code == ExitCode.SUCCESS
    assert (made.waiting(), made.arrived()) == (5, [n for n in range(1, 51) if n not in SEVENS])
    return made


def test_rows_come_back_to_the_sink_that_had_refused_them(case: Case) -> None:
    """Not to the other one, which has them; the table is not emptied, whatever its save mode says."""
    case.table("")
    case.write(mode="DROP_DATA")

    receipt = case.replay()

    assert receipt.exit_code == ExitCode.SUCCESS
    assert (receipt.job_id, receipt.total("rows_written")) == ("j.replay1", 5)
    assert case.arrived() == case.lines() == list(range(1, 51))
    with pytest.raises(app.NothingToDo, match="holds no rows"):
        case.replay()


def test_what_fails_again_stays(case: Case) -> None:
    """With the new error, for the next replay."""
    case.table("CHECK (n % 10 <> 7 OR n > 20)")

    first = case.replay()

    assert (first.total("rows_written"), first.total("rows_rejected")) == (3, 2)
    assert case.waiting() == 2
    case.table("")
    assert case.replay().total("rows_written") == 2
    assert case.arrived() == list(range(1, 51))


def test_a_replay_that_was_cut_short_is_gone_on_with(case: Case) -> None:
    """Its files are claimed: the next call delivers these, under its name."""
    place = replay.location(case.home, "j")
    claimed = quarantine.claim(place, "j", quarantine.held(place))
    case.table("")

    receipt = case.replay()

    assert (receipt.job_id, receipt.total("rows_written")) == (claimed, 5)
    assert case.arrived() == list(range(1, 51))
    with pytest.raises(app.NothingToDo):
        case.replay()


def test_rows_without_a_way_back_are_refused(case: Case) -> None:
    """The step has another name now: nothing is guessed."""
    case.table("")
    case.write(sink="renamed")

    with pytest.raises(SeaTunnelError, match="has no place any more for the bad rows of .* at into"):
        case.replay()

    case.write()
    assert case.replay().total("rows_written") == 5


def test_a_table_that_has_no_bad_rows_is_named(case: Case) -> None:
    """With those that have."""
    with pytest.raises(app.NothingToDo, match="of nobody"):
        case.replay(table="nobody")
    with pytest.raises(SeaTunnelError, match="has no rows of nobody"):
        replay.check_table(quarantine.held(replay.location(case.home, "j")), "nobody")
