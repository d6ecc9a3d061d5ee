"""The loop and the local engine together, with the example plugins: rows arrive, tables fail alone."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from seatunnel_example import CountdownEnumerator, CountdownReader

from seatunnel_py.config.job_file import loads
from seatunnel_py.local.engine import LocalEngine
from seatunnel_py.plan import pipelines, table_graph
from seatunnel_py.plan.plugins.installed import installed
from seatunnel_py.plan.steps import understand
from seatunnel_py.runtime.observe.events import JobEvent, TableChanged
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.values.retry_policy import RetryPolicy
from seatunnel_py.runtime.values.settings import Settings
from seatunnel_py.work.unit import Budget
from tests.kit.runtime_toys import driver_of


class Clock:
    def now(self) -> float:
        return time.monotonic()


def drive(text: str, exchange: Path, rows: int = 250) -> tuple[tuple[TableReceipt, ...], list[JobEvent]]:
    graph = table_graph.build(understand(loads(text), installed()), None)
    events: list[JobEvent] = []
    engine = LocalEngine(2)
    settings = Settings(RetryPolicy(3, 0.1), Budget(rows, 5.0), exchange=exchange.as_uri())
    driver = driver_of(pipelines.divide(graph), engine, settings, Clock(), events.append, exchange / "job")
    try:
        return driver.run(), events
    finally:
        engine.stop()


def lines(directory: Path) -> list[str]:
    return [line for path in directory.glob("*.txt") for line in path.read_text().splitlines()]


def test_a_split_larger_than_the_budget_is_read_in_several_units(tmp_path: Path) -> None:
    """Each unit goes on where the last one stopped: every row arrives, once."""
    text = f"source {{ Countdown {{ start = 1000 }} }}\nsink {{ Lines {{ directory = {tmp_path / 'out'} }} }}"

    (table,), _ = drive(text, tmp_path)

    assert table.state is TableState.DONE
    assert (table.rows_read, table.rows_written) == (1000, 1000)
    assert sorted(map(int, lines(tmp_path / "out"))) == list(range(1, 1001))
    assert len(list((tmp_path / "out").glob("*.txt"))) == 4


def test_a_fan_out_gives_every_reader_all_rows(tmp_path: Path) -> None:
    """A stream with two readers is written once and read by both, each through its own transforms."""
    text = f"""
    source {{ Countdown {{ plugin_output = a, start = 500 }} }}
    transform {{ Double {{ plugin_input = a, plugin_output = b, field = n }} }}
    sink {{
      Lines {{ plugin_input = a, directory = {tmp_path / "plain"} }}
      Lines {{ plugin_input = b, directory = {tmp_path / "double"} }}
    }}"""

    (table,), _ = drive(text, tmp_path)

    assert table.state is TableState.DONE
    assert sorted(map(int, lines(tmp_path / "plain"))) == list(range(1, 501))
    assert sorted(map(int, lines(tmp_path / "double"))) == list(range(2, 1001, 2))


def test_a_union_writes_the_rows_of_both_inputs(tmp_path: Path) -> None:
    """Two sources with one table name into one sink are one pipeline, and one commit scope."""
    text = f"""
    source {{
      Countdown {{ plugin_output = a, start = 10 }}
      Countdown {{ plugin_output = b, start = 5 }}
    }}
    sink {{ Lines {{ plugin_input = [a, b], directory = {tmp_path / "out"} }} }}"""

    tables, _ = drive(text, tmp_path)

    assert {table.state for table in tables} == {TableState.DONE}
    assert len(lines(tmp_path / "out")) == 15


def test_a_sink_that_cannot_be_set_up_fails_its_pipeline_and_no_other(tmp_path: Path) -> None:
    """The table is what fails: the other pipeline's rows arrive."""
    blocked = tmp_path / "file"
    blocked.write_text("not a directory")
    text = f"""
    source {{
      Countdown {{ plugin_output = a, start = 10 }}
      Countdown {{ plugin_output = b, start = 10 }}
    }}
    sink {{
      Lines {{ plugin_input = a, directory = {blocked / "below"} }}
      Lines {{ plugin_input = b, directory = {tmp_path / "out"} }}
    }}"""

    tables, events = drive(text, tmp_path)

    assert sorted(table.state for table in tables) == [TableState.DONE, TableState.ISOLATED]
    failed = next(table for table in tables if table.state is TableState.ISOLATED)
    assert failed.cause is not None and "Not a directory" in failed.cause.message
    assert len(lines(tmp_path / "out")) == 10
    assert any(isinstance(event, TableChanged) and event.state is TableState.ISOLATED for event in events)


@pytest.mark.parametrize("parallelism", [1, 4])
def test_rows_of_a_split_stay_in_order(tmp_path: Path, parallelism: int) -> None:
    """A split has one unit under way at a time, whatever the parallelism."""
    text = (
        f"env {{ parallelism = {parallelism} }}\nsource {{ Countdown {{ start = 1000, batch = 10 }} }}\n"
        f"sink {{ Lines {{ directory = {tmp_path / 'out'} }} }}"
    )

    drive(text, tmp_path, rows=100)

    files = sorted((tmp_path / "out").glob("*.txt"), key=lambda path: path.stat().st_mtime_ns)
    assert [int(line) for path in files for line in path.read_text().splitlines()] == list(range(1000, 0, -1))


def test_what_cannot_be_closed_changes_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """F5: neither a reader nor an enumerator, whose failure is told."""

    def refuse(_: object) -> None:
        raise OSError("it cannot be closed")

    for one in (CountdownReader, CountdownEnumerator):
        monkeypatch.setattr(one, "close", refuse)
    text = f"source {{ Countdown {{ start = 1000 }} }}\nsink {{ Lines {{ directory = {tmp_path / 'out'} }} }}"

    (table,), events = drive(text, tmp_path)

    assert (table.state, table.rows_written) == (TableState.DONE, 1000)
    assert sorted(map(int, lines(tmp_path / "out"))) == list(range(1, 1001))
    assert "it cannot be closed" in str(events)
