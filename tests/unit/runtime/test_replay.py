"""Bad rows that are delivered after a fix: through the job file as it is now, each once, whatever came in between."""

from __future__ import annotations

import base64
import json
import shutil
import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py import app, quarantine_replay
from seatunnel_py.cli.jobs import quarantine as command
from seatunnel_py.cli.view.receipt_view import receipt_text
from seatunnel_py.errors import ExitCode, SeaTunnelError
from seatunnel_py.runtime.observe.receipt import Receipt
from seatunnel_py.runtime.storage import quarantine_store
from seatunnel_py.runtime.storage.home import Home

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
        asked = quarantine_replay.ReplayOptions({}, local=True, **options)
        return quarantine_replay.replay("j", asked, self.home, lambda _: None, lambda _: None)

    def arrived(self) -> list[int]:
        with sqlite3.connect(self.database) as connection:
            return [n for (n,) in connection.execute("SELECT n FROM t ORDER BY n")]

    def lines(self) -> list[int]:
        return sorted(int(n) for path in (self.place / "lines").glob("*.txt") for n in path.read_text().split())

    def waiting(self) -> int:
        return sum(one.waiting for one in quarantine_replay.held(self.home, "j"))


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
    with pytest.raises(app.NothingToDoError, match="holds no rows"):
        case.replay()


def test_what_fails_again_stays(case: Case) -> None:
    """With the new error, for the next replay."""
    case.table("CHECK (n % 10 <> 7 OR n > 20)")

    first = case.replay()

    assert (first.total("rows_written"), first.total("rows_rejected")) == (3, 2)
    assert (first.state, first.exit_code, first.failed_again) == ("ROWS_FAILED_AGAIN", ExitCode.FAILED, 2)
    assert not first.can_go_on, "this replay is over: the next one is another"
    assert case.waiting() == 2
    case.table("")
    assert case.replay().total("rows_written") == 2
    assert case.arrived() == list(range(1, 51))


def test_a_replay_that_was_cut_short_is_gone_on_with(case: Case) -> None:
    """Its files are claimed: the next call delivers these, under its name."""
    place = quarantine_replay.location(case.home, "j")
    claimed = quarantine_store.claim(place, "j", quarantine_store.held(place))
    case.table("")

    receipt = case.replay()

    assert (receipt.job_id, receipt.total("rows_written")) == (claimed, 5)
    assert case.arrived() == list(range(1, 51))
    for _ in range(2):
        with pytest.raises(app.NothingToDoError):
            case.replay()
        shutil.rmtree(case.home.place(claimed).path, ignore_errors=True)  # it has delivered them all the same


def test_rows_without_a_way_back_are_refused(case: Case) -> None:
    """The step has another name now: nothing is guessed."""
    case.table("")
    case.write(sink="renamed")

    with pytest.raises(SeaTunnelError, match="no longer has the step or the table of the bad rows of .* at into"):
        case.replay()

    case.write()
    assert case.replay().total("rows_written") == 5


def test_a_table_that_has_no_bad_rows_is_named(case: Case) -> None:
    """With those that have."""
    with pytest.raises(app.NothingToDoError, match="of nobody"):
        case.replay(table="nobody")
    with pytest.raises(SeaTunnelError, match="has no rows of nobody"):
        quarantine_replay.check_table(quarantine_replay.held(case.home, "j"), "nobody")


@pytest.fixture
def mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Case:
    """Lines of JSON: five good ones, three that are none, two without the key; all read by one unit."""
    monkeypatch.setenv("SEATUNNEL_HOME", str(tmp_path / "home"))
    case = Case(tmp_path)
    case.table("NOT NULL")
    good = [f'{{"n": {n}}}' for n in (1, 2, 3, 4, 5)]
    (tmp_path / "in.json").write_text(
        "\n".join([*good, "broken 1", '{"n": null}', "broken 2", "broken 3", '{"n": null}'])
    )
    case.job.write_text(
        f"""
        env {{ error.max-rows = 100 }}
        source {{ LocalFile {{ path = "{tmp_path / "in.json"}", file_format_type = json,
                               schema {{ table = "orders", fields {{ n = int }} }} }} }}
        sink {{ Jdbc {{ id = into, url = "jdbc:sqlite:{case.database}", driver = sqlite, generate_sink_sql = true,
                        table = t }} }}"""
    )
    return case


def told(capsys: pytest.CaptureFixture[str], command: Callable[..., int], *arguments: Any) -> Any:
    """What a command prints with --json."""
    capsys.readouterr()
    assert command(*arguments, as_json=True) == ExitCode.SUCCESS
    return json.loads(capsys.readouterr().out)


def test_rows_that_no_reader_could_decode_stay_where_they_are(mixed: Case, capsys: pytest.CaptureFixture[str]) -> None:
    """P1: after a replay `list` said that all five were replayed, and the three of them that none had read were shown
    by no command any more."""
    assert mixed.run().exit_code == ExitCode.SUCCESS
    (before,) = told(capsys, partial(command.listing, reasons=False), "j")
    assert before | {"job_id": "", "table": ""} == {
        "job_id": "", "table": "", "rows": 5, "waiting": 5, "undecoded": 3, "replaying": 0, "replayed": 0
    }  # fmt: skip

    again = mixed.replay()

    assert (again.total("rows_read"), again.failed_again, again.exit_code) == (2, 2, ExitCode.FAILED)
    assert "rows failed again: 2 of 2" in receipt_text(again, mixed.home)
    (after,) = told(capsys, partial(command.listing, reasons=False), "j")
    assert (after["rows"], after["waiting"], after["undecoded"], after["replayed"]) == (7, 5, 3, 2)
    shown = told(capsys, partial(command.show, masked=False), "j", None, 100)
    assert sorted(row["raw"] for row in shown) == [False, False, True, True, True]
    assert sorted(base64.b64decode(row["values"]["raw"]) for row in shown if row["raw"]) == [
        b"broken 1", b"broken 2", b"broken 3"
    ]  # fmt: skip
    assert command.listing("j", reasons=False, as_json=False) == ExitCode.SUCCESS
    assert "5 rows (3 could not be decoded), 2 replayed" in capsys.readouterr().out

    mixed.table("")
    assert mixed.replay().state == "SUCCESS"
    with pytest.raises(app.NothingToDoError, match="3 could not be decoded, and stay"):
        mixed.replay()
    (last,) = told(capsys, partial(command.listing, reasons=False), "j")
    assert (last["rows"], last["waiting"], last["undecoded"], last["replayed"]) == (7, 3, 3, 4)
    assert len(told(capsys, partial(command.show, masked=False), "j", None, 100)) == 3


def test_rows_wait_until_their_replay_has_ended(case: Case) -> None:
    """A replay that was only claimed, or has failed, has delivered nothing that is said to be delivered."""
    quarantine_store.claim(quarantine_replay.location(case.home, "j"), "j", quarantine_replay.held(case.home, "j"))

    assert case.waiting() == 5
    assert [one.delivered for one in quarantine_replay.held(case.home, "j")] == [False] * len(
        quarantine_replay.held(case.home, "j")
    )
