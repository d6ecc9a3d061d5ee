"""Bad rows on the driver's side: they count when their checkpoint is committed, each once; limits; who drops what."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from seatunnel_py.api import Piece, TablePath
from seatunnel_py.config.env import EnvOptions
from seatunnel_py.config.job_file import loads
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.local.engine import LocalEngine
from seatunnel_py.plan import pipelines, table_graph
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.steps import understand
from seatunnel_py.runtime.messages.engine_port import UnitLost
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.storage import quarantine_store
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.bad_rows import quarantine_file as files
from seatunnel_py.work.bad_rows.limits import ErrorLimits
from seatunnel_py.work.chain import Chain
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.unit import QUARANTINE, Budget, SinkPiece, Unit
from tests.kit.runtime_toys import Clock, driver_of

JOB = JobIdentity("j", "0123456789abcdef", 1)


class Forgetful(LocalEngine):
    """The worker of every first attempt dies when everything is staged and nothing said."""

    def _run(self, unit: Unit, chain: Chain) -> None:
        if unit.id.attempt:
            super()._run(unit, chain)
            return
        assert run_unit(unit, chain).failure is None
        self._report(UnitLost(unit.id, "it was killed"))


class Case:
    """A job that counts down into a table which does not take every number."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.database = place / "target.db"
        self.bad = place / "bad"
        with sqlite3.connect(self.database) as connection:
            connection.execute("CREATE TABLE t (n INTEGER CHECK (n % 10 <> 7))")

    def sink(self, name: str = "a") -> str:
        return f"""Jdbc {{ plugin_input = {name}, url = "jdbc:sqlite:{self.database}", driver = sqlite,
                           generate_sink_sql = true, table = t }}"""

    def run(
        self, start: int, limits: ErrorLimits | None, more: str = "", rows: int = 100, engine: LocalEngine | None = None
    ) -> TableReceipt:
        text = f"source {{ Countdown {{ plugin_output = a, start = {start} }} }}\nsink {{\n{self.sink()}\n{more}\n}}"
        lines = pipelines.divide(table_graph.build(understand(loads(text), installed()), None))
        settings = Settings(RetryPolicy(1, 0.1), Budget(rows, 5.0), exchange=self.place.as_uri(), errors=limits)
        engine = engine or LocalEngine(2)
        try:
            (table,) = driver_of(lines, engine, settings, Clock(), lambda _: None, self.place / "job").run()
        finally:
            engine.stop()
        return table

    def arrived(self) -> list[int]:
        with sqlite3.connect(self.database) as connection:
            return [n for (n,) in connection.execute("SELECT n FROM t ORDER BY n")]

    def aside(self) -> list[int]:
        return sorted(
            n
            for one in quarantine_store.held(self.bad)
            for _, bad in files.read(str(one.path))
            for n in bad.batch.data.column("n").to_pylist()
        )


@pytest.fixture
def case(tmp_path: Path) -> Case:
    return Case(tmp_path)


def test_bad_rows_are_set_aside_and_the_table_is_done(case: Case) -> None:
    """They stand in the receipt, and in the quarantine once; read = written + rejected."""
    table = case.run(1000, ErrorLimits(str(case.bad), 100))

    assert (table.state, table.cause) == (TableState.DONE, None)
    assert (table.rows_read, table.rows_written, table.rows_rejected) == (1000, 900, 100)
    assert case.arrived() == [n for n in range(1, 1001) if n % 10 != 7]
    assert case.aside() == [n for n in range(1, 1001) if n % 10 == 7]


def test_workers_that_die_when_all_is_staged_change_nothing(case: Case) -> None:
    """The target holds the good rows of the unit already: the next attempt must leave out the same ones."""
    table = case.run(1000, ErrorLimits(str(case.bad), 100), engine=Forgetful(2))

    assert (table.state, table.cause) == (TableState.DONE, None)
    assert (table.rows_read, table.rows_written, table.rows_rejected) == (1000, 900, 100)
    assert case.arrived() == [n for n in range(1, 1001) if n % 10 != 7]
    assert case.aside() == [n for n in range(1, 1001) if n % 10 == 7]


def test_behind_a_fan_out_a_row_is_bad_for_one_sink_only(case: Case) -> None:
    """Its vertex sets it aside; the other one takes it."""
    lines = f"Lines {{ plugin_input = a, directory = {case.place / 'lines'} }}"

    table = case.run(50, ErrorLimits(str(case.bad), 100), lines)

    assert table.state is TableState.DONE
    assert (table.rows_rejected, case.aside()) == (5, [7, 17, 27, 37, 47])
    assert len(case.arrived()) == 45
    text = "".join(path.read_text() for path in (case.place / "lines").glob("*.txt"))
    assert sorted(map(int, text.split())) == list(range(1, 51))


def test_more_bad_rows_than_allowed_fail_the_table(case: Case) -> None:
    """Over all units together, not for each of them; nothing of the table is seen."""
    table = case.run(1000, ErrorLimits(str(case.bad), 15))

    assert table.state is TableState.FAILED
    assert table.cause is not None
    assert "20 of 200 rows are bad, more than error.max-rows = 15 allows" in table.cause.message
    assert case.aside() == []


def test_a_share_is_judged_at_the_end(case: Case) -> None:
    """A tenth of 1000 rows is bad: too many where a twentieth is allowed, not where a tenth is."""
    too_many = case.run(1000, ErrorLimits(str(case.bad), 0, 0.05))

    assert too_many.state is TableState.FAILED
    assert too_many.cause is not None and "error.max-ratio = 0.05" in too_many.cause.message
    (case.place / "again").mkdir()
    allowed = Case(case.place / "again").run(1000, ErrorLimits(str(case.bad), 0, 0.1))
    assert (allowed.state, allowed.rows_rejected) == (TableState.DONE, 100)


def piece(location: Path, file: str) -> SinkPiece:
    return SinkPiece(QUARANTINE, TablePath.parse("t"), Piece(1, data={"location": str(location), "file": file}))


def test_a_commit_that_comes_again_has_the_effect_of_once(tmp_path: Path) -> None:
    """I28: whoever commits the checkpoint, and how often."""
    pieces = [piece(tmp_path, "a.segment"), piece(tmp_path, "b.segment")]

    for incarnation in (1, 2, 2):
        quarantine_store.commit(pieces, replace(JOB, incarnation=incarnation), 5)
    quarantine_store.commit([piece(tmp_path, "c.segment"), piece(tmp_path, "a.segment")], JOB, 6)

    held = quarantine_store.held(tmp_path)
    assert [(one.path.name, one.checkpoint) for one in held] == [("a.segment", 5), ("b.segment", 5), ("c.segment", 6)]


def test_what_no_checkpoint_names_is_dropped_at_the_end(tmp_path: Path) -> None:
    """Of this job alone: another one may have its bad rows in the same place (a replay)."""
    (tmp_path / "staged").mkdir()
    for name in ("0123456789ab-1", "0123456789ab-2", "0123456789ab-spool-7", "fedcba987654-1"):
        (tmp_path / "staged" / f"{name}.segment").touch()
    quarantine_store.commit([piece(tmp_path, "0123456789ab-1.segment")], JOB, 1)

    quarantine_store.sweep(tmp_path, JOB.lineage)

    assert sorted(path.stem for path in (tmp_path / "staged").iterdir()) == ["0123456789ab-1", "fedcba987654-1"]


def test_files_are_claimed_by_one_replay(tmp_path: Path) -> None:
    """The next one takes what came since."""
    quarantine_store.commit([piece(tmp_path, "a.segment")], JOB, 1)
    first = quarantine_store.claim(tmp_path, "j", quarantine_store.held(tmp_path))
    quarantine_store.commit([piece(tmp_path, "b.segment")], JOB, 2)
    second = quarantine_store.claim(tmp_path, "j", [one for one in quarantine_store.held(tmp_path) if not one.replay])

    assert (first, second) == ("j.replay1", "j.replay2")
    assert [one.replay for one in quarantine_store.held(tmp_path)] == [first, second]


def test_places(tmp_path: Path) -> None:
    """Without error.location in the job's own directory, else below that; a replay keeps its rows with the job that
    they are of. Nothing is made where no row may be bad."""
    env = EnvOptions.model_validate
    assert quarantine_store.limits_of(env({}), tmp_path, "j") is None
    assert not (tmp_path / "j").exists()

    own = quarantine_store.limits_of(env({"error.max-rows": 5}), tmp_path, "j")
    place = tmp_path / "j" / "quarantine"
    assert own == ErrorLimits(str(place), 5)
    assert {path.stat().st_mode & 0o777 for path in (place, *place.iterdir())} == {0o700}
    assert quarantine_store.limits_of(env({"error.max-rows": 5}), tmp_path, "j.replay12") == own

    given = (tmp_path / "shared").as_uri()
    shared = quarantine_store.limits_of(env({"error.max-ratio": 0.5, "error.location": given}), tmp_path, "j")
    assert shared == ErrorLimits(str(tmp_path / "shared" / "j"), 0, 0.5)

    with pytest.raises(SeaTunnelError, match="is not a directory"):
        quarantine_store.location_of("s3://bucket/bad", tmp_path, "j")


def test_a_damaged_manifest_is_said(tmp_path: Path) -> None:
    """Bad rows must not vanish because a file cannot be read."""
    (tmp_path / "committed").mkdir()
    (tmp_path / "committed" / "j-1.json").write_text(json.dumps({"files": []})[:-1])

    with pytest.raises(SeaTunnelError, match="is damaged"):
        quarantine_store.held(tmp_path)
