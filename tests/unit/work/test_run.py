"""Units in this process: budgets, failures as results, conservation of rows."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from toys import Halve, Lines, Numbers, Refuse, Twice, chain, unit, written

from seatunnel_py.api import Position, Reader, SourceTable, TablePath
from seatunnel_py.api.capabilities import Cardinality
from seatunnel_py.work.chain import ChainChannel, ChainSink
from seatunnel_py.work.run import run_unit
from seatunnel_py.work.unit import FailureKind, Unit, UnitId, result_from_plain


def test_a_unit_that_reads_its_split_to_the_end_is_done(tmp_path: Path) -> None:
    """Every row arrives, is counted at each step, and the piece names what was confirmed."""
    source = Numbers()

    result = run_unit(unit(source), chain(source, tmp_path))

    assert (result.failure, result.done, result.next, result.rows) == (None, True, None, 100)
    assert [piece.piece.rows for piece in result.pieces] == [100]
    assert {(count.step, count.rows_in, count.rows_out) for count in result.counts} == {
        ("numbers", 100, 100),
        ("lines", 100, 100),
    }
    assert written(tmp_path) == list(range(100))


def test_units_that_stop_at_their_budget_go_on_where_they_stopped(tmp_path: Path) -> None:
    """A budget ends a unit at a batch boundary; the chain of units reads every row once."""
    source = Numbers(rows=95)
    current = unit(source, rows=25)
    results = [run_unit(current, chain(source, tmp_path))]
    while not results[-1].done:
        current = replace(current, id=UnitId("numbers", len(results)), start=results[-1].next)
        results.append(run_unit(current, chain(source, tmp_path)))

    assert [result.rows for result in results] == [30, 30, 30, 5]
    assert results[0].next == Position({"n": 30})
    assert written(tmp_path) == list(range(95))


def test_a_unit_without_rows_stages_nothing(tmp_path: Path) -> None:
    """No row, no writer: an empty table costs the target nothing."""
    source = Numbers(rows=0)

    result = run_unit(unit(source), chain(source, tmp_path / "out"))

    assert (result.done, result.pieces, result.failure) == (True, (), None)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("act", "kind", "message"),
    [
        ("retriable", FailureKind.RETRIABLE, "the connection was lost"),
        ("fatal", FailureKind.FATAL, "no table numbers"),
        ("bug", FailureKind.UNEXPECTED, r"read of the plugin Numbers failed: KeyError: 'n' \(toys\.py:\d+\)"),
    ],
)
def test_a_failure_is_a_result_that_names_its_step(tmp_path: Path, act: str, kind: FailureKind, message: str) -> None:
    """Whatever the chain raises comes back as data, and what was open has been aborted. P2-F5: `KeyError: 'n'` alone
    named no plugin, method, file or line."""
    source = Numbers(act=act, at=50)

    result = run_unit(unit(source), replace(chain(source, tmp_path), plugins={"numbers": "Numbers"}))

    assert result.failure is not None
    assert (result.failure.kind, result.failure.step) == (kind, "numbers")
    assert re.fullmatch(message, result.failure.message)
    assert (result.failure.remedy == "--debug shows the trace") == (kind is FailureKind.UNEXPECTED)
    assert "Traceback" in result.failure.trace
    assert (result.done, result.pieces, written(tmp_path)) == (False, (), [])
    assert len(list(tmp_path.glob("*.aborted"))) == 1


def test_what_a_filter_drops_is_counted(tmp_path: Path) -> None:
    """in = out + filtered: the difference stands in the counts."""
    source = Numbers()

    result = run_unit(unit(source), chain(source, tmp_path, Halve(), cardinality=Cardinality.FILTER))

    count = next(count for count in result.counts if count.step == "t0")
    assert (count.rows_in, count.rows_out, count.rejected) == (100, 50, 0)
    assert written(tmp_path) == list(range(0, 100, 2))


def test_a_transform_that_loses_rows_without_having_said_so_fails_the_unit(tmp_path: Path) -> None:
    """I6: silence is not a filter."""
    source = Numbers()

    result = run_unit(unit(source), chain(source, tmp_path, Halve()))

    assert result.failure is not None
    assert "100 rows of" in result.failure.message and "does not lose rows" in result.failure.message
    assert written(tmp_path) == []


def test_a_transform_that_makes_rows_up_fails_the_unit(tmp_path: Path) -> None:
    """I6: unless it declares another cardinality, a step may not give more rows than it got."""
    source = Numbers()

    result = run_unit(unit(source), chain(source, tmp_path, Twice()))

    assert result.failure is not None
    assert "100 rows of numbers went in, 200 came out" in result.failure.message
    assert (result.failure.step, written(tmp_path)) == ("t0", [])


def test_refused_rows_fail_the_unit_with_their_reasons(tmp_path: Path) -> None:
    """Refused rows are never silently lost."""
    source = Numbers()

    result = run_unit(unit(source), chain(source, tmp_path, Refuse()))

    assert result.failure is not None
    assert result.failure.kind is FailureKind.FATAL
    assert "t0 refused 10 rows of numbers: 0 is odd; 1 is odd; 2 is odd" in result.failure.message


def test_a_sink_that_confirms_fewer_rows_than_it_got_fails_the_unit(tmp_path: Path) -> None:
    """I6 at the target; the piece that was staged is named, so that it can be dropped."""
    source = Numbers()

    result = run_unit(unit(source), chain(source, tmp_path, lies=3))

    assert result.failure is not None
    assert "was given 100 rows of numbers, but confirmed 97" in result.failure.message
    assert result.failure.step == "lines"
    assert [piece.piece.rows for piece in result.pieces] == [97]


def test_rows_that_reach_no_sink_are_an_error(tmp_path: Path) -> None:
    """A batch goes to the sinks of its table and to no other; silence would be a loss."""
    source = Numbers()
    bound = ChainSink("lines", TablePath.parse("other"), Lines(str(tmp_path)))

    result = run_unit(unit(source), replace(chain(source, tmp_path), sinks=(bound,)))

    assert result.failure is not None
    assert "rows of table numbers reach no sink; the sinks here take: other" in result.failure.message


def test_rows_cross_a_channel_in_order(tmp_path: Path) -> None:
    """One unit writes slices, another reads them: same rows, same order, same positions."""
    source = Numbers()
    first = replace(chain(source, tmp_path), sinks=(), output=ChainChannel("c", (tmp_path / "exchange").as_uri()))
    second = replace(chain(source, tmp_path / "out"), head=ChainChannel("c", ""))

    sent = run_unit(unit(source), first)
    received = run_unit(Unit(UnitId("second", 0), slices=sent.slices), second)

    assert len(sent.slices) == 10
    assert (received.failure, received.rows, received.done) == (None, 100, True)
    assert written(tmp_path / "out") == list(range(100))


def test_a_result_survives_the_journal_form(tmp_path: Path) -> None:
    """to_plain and result_from_plain are inverses, failures and pieces included."""
    source = Numbers(act="fatal", at=50)
    good, bad = run_unit(unit(Numbers()), chain(Numbers(), tmp_path)), run_unit(unit(source), chain(source, tmp_path))

    assert result_from_plain(good.to_plain()) == good
    assert result_from_plain(bad.to_plain()) == bad


def test_a_worker_imports_little() -> None:
    """What every new worker pays: beyond the public API less than 0.3 s of processor time, no Arrow, no Spark."""
    script = (
        "import sys, time, seatunnel_py.api; began = time.process_time(); import seatunnel_py.work.run;"
        "print(time.process_time() - began, 'pyarrow' in sys.modules, 'pyspark' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()

    assert float(shown[0]) < 0.3
    assert shown[1:] == ["False", "False"]


@pytest.mark.parametrize("looked_at", [False, True])
def test_a_reader_hears_whether_anybody_looks_at_metadata(tmp_path: Path, looked_at: bool) -> None:
    """What costs a call a row is not made for nobody; any step may look, and so may whoever reads a channel."""
    readers: list[Reader] = []

    class Kept(Numbers):
        def reader(self, table: SourceTable) -> Reader:
            readers.append(super().reader(table))
            return readers[-1]

    run_unit(unit(Kept()), chain(Kept(), tmp_path, *([Halve()] if looked_at else [])))

    assert [reader.with_metadata for reader in readers] == [looked_at]
