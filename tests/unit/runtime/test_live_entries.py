"""The entries of tables in the live record: a short way for pipelines that wait gives what the receipts give."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.diagnosis.live_counters import pause_of
from seatunnel_py.runtime.diagnosis.live_entries import entries_of, entry_of
from seatunnel_py.runtime.diagnosis.table_receipts import receipts_of
from seatunnel_py.runtime.observe.receipt import Receipt, Seconds, TableState
from tests.kit.machine_bench import MachineBench
from tests.kit.runtime_toys import ToySink, ToySource, forked, straight, union

PIPELINES: dict[str, Callable[[], Pipeline]] = {
    "one target": lambda: straight("orders"),
    "two targets": lambda: forked("orders", ToySource((3,)), (ToySink("out"), ToySink("more"))),
    "two tables": lambda: union("orders", (ToySource((3,)), ToySource((4,))), ToySink("out")),
}


@pytest.mark.parametrize("kind", PIPELINES)
@pytest.mark.parametrize("begun", [False, True])
def test_entries_are_those_of_the_receipts(kind: str, begun: bool) -> None:
    bench = MachineBench(PIPELINES[kind]())
    if begun:
        bench.begin()
    receipts = receipts_of(bench.machine, bench.at, ended=False)

    entries = entries_of(bench.machine, bench.at)

    assert entries == [entry_of(one) for one in receipts]
    assert [one.state for one in receipts] == [TableState.DONE if begun else TableState.PENDING] * len(receipts)
    plain = Receipt("job", "job", receipts, Seconds()).to_plain()
    for entry, table in zip(entries, plain["tables"], strict=True):
        for into, whole in zip(entry.pop("targets"), table["targets"], strict=True):
            assert into == {name: whole[name] for name in into}
        assert entry.pop("rows_read_this_run") == table["rows_read"] - table["rows_read_before"]
        assert json.loads(json.dumps(entry)) == {name: table[name] for name in entry}


def test_a_machine_that_replaces_another_one_shows_its_state() -> None:
    """It has told nothing yet, and has not begun itself."""
    before, bench = MachineBench(straight("orders")), MachineBench(straight("orders"))
    before.machine.state.shown.starts(1.0)
    before.machine.state.shown.change(TableState.RETRYING, None, 1.0, None)
    bench.machine.state.shown.replaces(before.machine.state.shown)
    [entry] = entries_of(bench.machine, 3.0)
    assert (entry["state"], entry["seconds"]) == (TableState.RETRYING, 2.0)


def test_a_thousand_tables_are_written_less_often_than_one() -> None:
    assert [pause_of(tables) for tables in (0, 1, 400, 1_000, 10_000)] == [1.0, 1.0, 1.0, 2.5, 10.0]
