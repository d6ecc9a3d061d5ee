"""The series of live records: valid text, closed labels, bounded, and monotonic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from seatunnel_py.config.env import EnvOptions
from seatunnel_py.runtime.diagnosis.checkpoint_totals import CheckpointTotals
from seatunnel_py.runtime.diagnosis.live_record import TableLabels
from seatunnel_py.runtime.observe.events import CheckpointCommitted, CheckpointDone, CheckpointFacts
from seatunnel_py.runtime.observe.metric_series import JOBS_MAX, OTHER, TABLES_MAX, HomeFacts, series
from seatunnel_py.runtime.observe.metric_text import Metric, MetricKind, label_text, text_of
from seatunnel_py.runtime.observe.run_record import (
    COUNTERS,
    DEFAULT_JOB_NAME,
    RunRecord,
    TableRecord,
    job_label,
    run_record,
    tables_of,
)

Values = Mapping[tuple[str, frozenset[tuple[str, str]]], float]


def values_of(text: str) -> Values:
    """Samples by name and labels, read by Prometheus' own client. A sample must not come twice."""
    found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, f"{key} is there twice"
            found[key] = sample.value
    return found


def table(name: str, state: str = "RUNNING", **counts: int) -> dict[str, Any]:
    return {"table": name, "state": state, **dict.fromkeys(COUNTERS, 0), **counts}


def record(job: str = "shop", run: str = "shop-1", **more: Any) -> RunRecord:
    return RunRecord(job, run, True, "", 1.0, 2.0, **more)


@given(st.text(), st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 2**62).map(float))
def test_any_label_and_number_is_read_back(label: str, value: float) -> None:
    metric = Metric("seatunnel_tables", MetricKind.GAUGE, "Text \\ of\nlines.")
    metric.add(value, label_text(job=label))
    assert values_of(text_of([metric])) == {("seatunnel_tables", frozenset({("job", label)})): value}


def test_an_unknown_fact_has_no_series() -> None:
    """A driver that has just begun has no checkpoint: neither age nor size are 0."""
    names = {name for name, _ in values_of(text_of(series([record()], 3.0)))}
    known = {"job_up", "run_info", "live_timestamp_seconds", "job_ends_total"}
    assert names == {f"seatunnel_{name}" for name in known}


def test_a_table_that_is_copied_and_followed_is_one() -> None:
    found = tables_of([table("a", "DONE", rows_read=10), table("a", "RUNNING", rows_read=5)], {})
    assert found == (TableRecord("a", "RUNNING", {**dict.fromkeys(COUNTERS, 0), "rows_read": 15}),)


def test_tables_beyond_the_chosen_ones_are_summed_up() -> None:
    """U30."""
    tables = tuple(TableRecord(f"t{n}", "RUNNING", {**dict.fromkeys(COUNTERS, 0), "rows_read": n}) for n in range(999))
    chosen = TableLabels.of("top(3)").chosen((), tables)
    values = values_of(text_of(series([record(tables=tables, labelled=chosen)], 3.0)))
    rows = {
        dict(labels)["table"]: value for (name, labels), value in values.items() if name.endswith("read_rows_total")
    }
    assert rows == {"t998": 998, "t997": 997, "t996": 996, OTHER: sum(range(996))}
    assert sum(name == "seatunnel_tables" for name, _ in values) == 8, "states do not grow with tables"

    grown = [TableRecord("late", "RUNNING", {**dict.fromkeys(COUNTERS, 0), "rows_read": 10**6})]
    assert TableLabels.of("top(3)").chosen(chosen, [*tables, *grown]) == chosen, "or the sum would go back"


def test_jobs_beyond_the_limit_are_summed_up() -> None:
    runs = [record(f"job {n}", f"run-{n}") for n in range(JOBS_MAX + 7)]
    values = values_of(text_of(series(runs, 3.0)))
    names = {dict(labels)["job"] for name, labels in values if name == "seatunnel_job_up"}
    assert len(names) == JOBS_MAX + 1 and OTHER in names


def test_labels_choose_by_the_end_of_a_name() -> None:
    tables = tables_of([table("shop.public.orders"), table("shop.public.lines"), table("shop.other.lines")], {})
    assert TableLabels.of("orders, public.lines").chosen((), tables) == ("shop.public.orders", "shop.public.lines")
    assert len(TableLabels.of("all").chosen((), tables)) == 3


def test_marks_hold_a_counter_until_it_is_reached_again() -> None:
    about = {"job_name": "shop", "started": 1.0}
    live = {"at": 2.0, "tables": [table("a", rows_read=40)], "marks": {"a": {"rows_read": 100}, "b": {"rows_read": 7}}}
    found = run_record("shop-1", about, live, None, alive=True)
    assert {one.table: (one.state, one.counts["rows_read"]) for one in found.tables} == {
        "a": ("RUNNING", 100),
        "b": ("", 7),
    }
    values = values_of(text_of(series([found], 3.0)))
    assert values["seatunnel_read_rows_total", frozenset({("job", "shop")})] == 107
    assert values["seatunnel_tables", frozenset({("job", "shop"), ("state", "RUNNING")})] == 1


def test_a_job_without_a_name_is_called_as_its_file() -> None:
    assert EnvOptions().job_name == DEFAULT_JOB_NAME
    assert job_label({"job_name": DEFAULT_JOB_NAME, "job_file": "/etc/jobs/shop.conf"}) == "shop"
    assert job_label({"job_name": "nightly", "job_file": "shop.conf"}) == "nightly"


def test_checkpoints_are_summed_up_over_drivers() -> None:
    def took(totals: CheckpointTotals, number: int, seconds: float, reason: str = "") -> None:
        facts = CheckpointFacts("periodic", "", 100.0, 100.0 + seconds / 2, "", 1_000, 5)
        totals.saw(CheckpointDone("p", "p", number, reason, (), 100.0 + seconds, None, facts))
        totals.saw(CheckpointCommitted("p", "p", number, 101.0 + seconds))

    first = CheckpointTotals({})
    took(first, 1, 0.05)
    took(first, 2, 3.0)
    second = CheckpointTotals(first.plain)
    assert second.plain["ended"] is None, "of this driver there is none yet"
    took(second, 3, 700.0)
    took(second, 4, 1.0, "it timed out")

    values = values_of(text_of(series([record(checkpoints=second.plain)], 1_000.0)))
    name, job = "seatunnel_checkpoint_duration_seconds", ("job", "shop")
    bounds = {dict(labels)["le"]: value for (found, labels), value in values.items() if found == f"{name}_bucket"}
    assert (bounds["0.1"], bounds["2.5"], bounds["5"], bounds["600"], bounds["+Inf"]) == (1, 1, 2, 2, 3)
    assert values[f"{name}_count", frozenset({job, ("kind", "periodic")})] == 3
    assert values["seatunnel_checkpoint_phase_seconds_sum", frozenset({job, ("phase", "commit")})] == 3.0
    assert values["seatunnel_checkpoints_total", frozenset({job, ("result", "completed")})] == 3
    assert values["seatunnel_checkpoints_total", frozenset({job, ("result", "failed")})] == 1
    assert values["seatunnel_checkpoint_age_seconds", frozenset({job})] == 200.0


def test_a_hundred_runs_are_a_small_document() -> None:
    """U30: 2 MB, with twenty tables each and all checkpoint series."""
    totals = CheckpointTotals({})
    for number, kind in enumerate(("periodic", "savepoint", "final")):
        facts = CheckpointFacts(kind, "", 1.0, 1.5, "", 1_000, 5)
        totals.saw(CheckpointDone("p", "p", number, "", (), 2.0, None, facts))
        totals.saw(CheckpointCommitted("p", "p", number, 3.0))
    names = [f"shop.public.table_{number}" for number in range(20)]
    tables = tables_of([table(name, rows_read=10**9) for name in names], {})
    runs = [
        record(f"a job of a name {n}", f"run-{n}", tables=tables, checkpoints=totals.plain, labelled=tuple(names))
        for n in range(100)
    ]
    home = HomeFacts({"version": "1"}, {"running": 100}, 10**12)
    text = text_of(series(runs, 4.0, home))
    assert len(text) <= 2 * 2**20
    values = values_of(text)
    assert sum(name == "seatunnel_table_state" for name, _ in values) == TABLES_MAX
    rows = sum(value for (name, _), value in values.items() if name == "seatunnel_read_rows_total")
    assert rows == 100 * 20 * 10**9, "the others are summed up"
