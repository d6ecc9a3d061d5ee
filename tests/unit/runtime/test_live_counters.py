"""The live counts of a job's tables, and their marks: a counter never goes back."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seatunnel_py.runtime.diagnosis import live_counters
from seatunnel_py.runtime.diagnosis.live_counters import EarlierCounts, LiveCounters
from seatunnel_py.runtime.diagnosis.live_entries import entry_of
from seatunnel_py.runtime.observe.receipt import TableReceipt, TableState
from seatunnel_py.runtime.observe.run_record import COUNTERS, TableRecord, tables_of

TABLES = ("a", "b", "c")
KEYS = ("copy", "log", "more")
Counts = tuple[tuple[str, int], ...]
"""The tables of a pipeline with their rows; a table may come twice, and in several pipelines."""

pipelines = st.lists(st.tuples(st.sampled_from(TABLES), st.integers(0, 9)), max_size=3).map(tuple)
rounds = st.lists(st.dictionaries(st.sampled_from(KEYS), pipelines, min_size=1), min_size=1)


def receipts(counts: Counts) -> list[TableReceipt]:
    return [
        TableReceipt(name, (), TableState.RUNNING, read, read // 2, 0, 0, 10 * read, 1, 0.0) for name, read in counts
    ]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rounds, st.dictionaries(st.sampled_from((*TABLES, "left")), st.integers(0, 9)), st.sets(st.sampled_from(KEYS)))
def test_no_counter_goes_back_whatever_restarts(
    monkeypatch: pytest.MonkeyPatch, told: list[dict[str, Counts]], earlier: dict[str, int], ended: set[str]
) -> None:
    """Compares with the highest counts of the whole tables, which are summed up anew each time here. ``ended``: the
    pipelines whose receipts are there already."""
    counts: dict[str, Counts] = {}
    monkeypatch.setattr(
        live_counters, "entries_of", lambda machine, _: list(map(entry_of, receipts(counts[machine.id])))
    )
    before = tuple(TableRecord(name, "", dict.fromkeys(COUNTERS, number)) for name, number in earlier.items())
    machines: dict[str, Any] = {}
    closed: dict[str, tuple[TableReceipt, ...]] = {}
    live = LiveCounters("run", machines, closed, EarlierCounts(before))
    highest: dict[str, Mapping[str, int]] = {one.table: one.counts for one in before}
    for number, changed in enumerate(told):
        counts |= changed
        for key in changed:
            if key in ended:
                closed[key] = tuple(receipts(counts[key]))
            machines.setdefault(key, SimpleNamespace(id=key, state=SimpleNamespace(told=0))).state.told += 1
        found = live.last(float(number))

        now = {one.table: one.counts for one in tables_of(found["tables"], {})}
        for table, sums in now.items():
            known = highest.get(table, {})
            highest[table] = {name: max(known.get(name, 0), sums[name]) for name in COUNTERS}
        shown = {one.table: one.counts for one in tables_of(found["tables"], found["marks"])}
        assert shown == highest
        assert found["marks"] == {table: mark for table, mark in highest.items() if mark != now.get(table)}
