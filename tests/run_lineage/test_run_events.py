"""Events of a run, against the published schemas; their size."""

from __future__ import annotations

import json
import time
from uuid import UUID

import pytest

from seatunnel_py.api import Dataset
from seatunnel_py.errors import ExitCode
from seatunnel_py.openlineage import parent_run
from seatunnel_py.openlineage.dataset_parts import EVENT_BYTES_MAX
from seatunnel_py.openlineage.job_datasets import InputColumn, JobDataset, JobDatasets, OutputLineage
from seatunnel_py.openlineage.run_events import RunEventType, RunFacts, RunState, ending_of, event_of, new_run_id
from seatunnel_py.runtime.observe.receipt import Receipt, Seconds, TableReceipt, TableState, TargetReceipt
from seatunnel_py.work.unit import FailureKind, UnitFailure
from tests.run_lineage.published import require_valid

AT = 1_790_000_000.0
RUN = RunFacts(new_run_id(AT), "job-1", "shop", "prod", False, ("Spark", "4.3.0"))


def some_datasets(tables: int, columns: int, *, unknown: bool = False) -> JobDatasets:
    """Tables that are copied; with ``unknown`` by a step that does not declare its lineage."""
    names = [f"column_{at}" for at in range(columns)]
    fields = tuple((name, "decimal(38, 18)") for name in names)
    inputs, outputs = [], []
    for at in range(tables):
        read = Dataset("postgres://db.example.com:5432", f"shop.public.table_{at:04}")
        written = Dataset("mysql://dw.example.com:3306", f"shop.table_{at:04}")
        all_of = frozenset(InputColumn(read, name, "TRANSFORMATION") for name in names)
        uses = {name: all_of if unknown else frozenset({InputColumn(read, name, "IDENTITY")}) for name in names}
        lineage = OutputLineage(uses, all_of if unknown else frozenset(), frozenset(names if unknown else ()))
        inputs.append(JobDataset(read, fields, frozenset({(read.name,)})))
        outputs.append(JobDataset(written, fields, frozenset({(read.name, written.name)}), lineage))
    return JobDatasets(tuple(inputs), tuple(outputs), ("SELECT 1",))


def receipts(states: list[TableState]) -> tuple[TableReceipt, ...]:
    found = []
    for at, state in enumerate(states):
        name, target = f"shop.public.table_{at:04}", f"shop.table_{at:04}"
        cause = (
            UnitFailure(FailureKind.FATAL, "no such table", "create it", "s") if state is TableState.FAILED else None
        )
        written = TargetReceipt(target, 7, 70)
        found.append(TableReceipt(name, (written,), state, rows_read=8, rows_written=7, cause=cause))
    return tuple(found)


@pytest.mark.parametrize("kind", RunEventType)
def test_an_event_is_valid_against_the_published_schemas(kind: RunEventType) -> None:
    """Also with all facets: those of the environment, an error, a query, limits."""
    given, faults = parent_run.run_facets_of(
        {
            "OPENLINEAGE_PARENT_ID": "airflow/prod/etl.load/01a227c0-3b3d-789c-9584-d0bbfa9cf39f",
            "OPENLINEAGE_ROOT_PARENT_ID": "airflow/etl/01a227c0-3b3d-789c-9584-d0bbfa9cf390",
            "SEATUNNEL_NOMINAL_TIME": "2026-01-31T04:00:00+01:00",
            "TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        }
    )
    assert faults == ()
    run = RunFacts(RUN.run_id, "job-1", "shop", "prod", True, ("Spark", "4.3.0"), True, given, RUN.run_id)
    state = RunState(2, receipts([TableState.DONE, TableState.FAILED]), "FAILED", ExitCode.FAILED, "it failed")
    event = event_of(kind, AT, run, some_datasets(2, 3, unknown=True), state, described=True)
    require_valid(event)
    facets = event["run"]["facets"]
    assert facets["parent"]["job"] == {"namespace": "airflow/prod", "name": "etl.load"}
    assert facets["nominalTime"]["nominalStartTime"] == "2026-01-31T03:00:00.000+00:00"
    assert facets["errorMessage"]["message"] == "it failed"
    assert facets["seatunnel_run"]["failedTables"] == ["shop.public.table_0001"]
    assert event["job"]["facets"]["sql"]["query"] == "SELECT 1"
    (use, *_) = event["outputs"][0]["facets"]["columnLineage"]["fields"]["column_0"]["inputFields"]
    assert "does not declare" in use["transformations"][0]["description"]


def test_the_checker_of_these_tests_refuses_wrong_events() -> None:
    """Else it would prove nothing."""
    good = event_of(RunEventType.START, AT, RUN, some_datasets(1, 1), RunState(1), described=True)
    require_valid(good)
    for change in (
        lambda event: event.pop("eventTime"),
        lambda event: event.update(eventType="STARTED"),
        lambda event: event["run"].update(runId="1"),
        lambda event: event["inputs"][0].pop("name"),
        lambda event: event["outputs"][0]["facets"]["schema"]["fields"][0].pop("name"),
        lambda event: event["outputs"][0]["facets"]["columnLineage"].update(more=1),
        lambda event: event["outputs"][0]["facets"].update(dataSource=event["job"]["facets"]["jobType"]),
    ):
        wrong = json.loads(json.dumps(good))
        change(wrong)
        with pytest.raises((AssertionError, TypeError, ValueError, KeyError)):
            require_valid(wrong)


@pytest.mark.parametrize(
    ("states", "stopped_by", "kind"),
    [
        ([TableState.DONE], 0, RunEventType.COMPLETE),
        ([TableState.DONE, TableState.FAILED], 0, RunEventType.COMPLETE),
        ([TableState.FAILED], 0, RunEventType.FAIL),
        ([TableState.STOPPED], 143, RunEventType.ABORT),
        ([TableState.STOPPED], 130, RunEventType.ABORT),
    ],
)
def test_the_last_event_follows_from_the_receipt(states: list[TableState], stopped_by: int, kind: RunEventType) -> None:
    receipt = Receipt("job-1", "shop", receipts(states), Seconds(), stopped_by=stopped_by, driver=3)
    found, state = ending_of(receipt)
    assert found is kind
    assert state.exit_code == receipt.exit_code and state.driver == 3
    assert ("no such table" in state.message) == (TableState.FAILED in states), "a part that failed is named"


def test_counts_are_those_of_the_receipt() -> None:
    state = RunState(1, receipts([TableState.DONE] * 2))
    event = event_of(RunEventType.RUNNING, AT, RUN, some_datasets(2, 3), state, described=False)
    require_valid(event)
    for one in event["inputs"]:
        assert one["inputFacets"]["inputStatistics"]["rowCount"] == 8
    for one in event["outputs"]:
        assert one["outputFacets"]["outputStatistics"]["rowCount"] == 7
        assert one["outputFacets"]["outputStatistics"]["size"] == 70
        assert "facets" not in one, "columns were in START"
    assert event["run"]["facets"]["seatunnel_run"]["rowsRead"] == 16


def test_a_count_that_two_datasets_share_is_not_given_to_both() -> None:
    first, second = some_datasets(2, 1).outputs
    same = JobDataset(second.dataset, second.fields, first.keys, second.lineage)
    shared = JobDatasets((), (first, same))
    event = event_of(RunEventType.RUNNING, AT, RUN, shared, RunState(1, receipts([TableState.DONE])), described=False)
    assert all("outputFacets" not in one for one in event["outputs"])


@pytest.mark.parametrize(
    ("tables", "columns", "unknown"),
    [(1_000, 50, False), (1_000, 50, True), (20_000, 3, False), (1, 3_000, False), (3, 400, True)],
)
def test_u32_a_large_job_gives_events_of_limited_size(tables: int, columns: int, unknown: bool) -> None:
    """And the event says how much it lacks; 1,000 tables of 50 columns take less than two seconds."""
    datasets = some_datasets(tables, columns, unknown=unknown)
    began = time.process_time()
    event = event_of(RunEventType.START, AT, RUN, datasets, RunState(1), described=True)
    seconds = time.process_time() - began
    assert len(json.dumps(event)) < EVENT_BYTES_MAX
    assert seconds < 2 or tables > 1_000
    limits = event["run"]["facets"]["seatunnel_limits"]
    assert len(event["inputs"]) + len(event["outputs"]) == 2 * tables - limits["datasetsLeftOut"]
    named = [*event["inputs"], *event["outputs"]]
    assert sum("facets" not in one for one in named) == limits["schemasLeftOut"]
    whole = [one for one in event["outputs"] if len(_lineage(one)) == columns]
    described = [one for one in event["outputs"] if "facets" in one]
    assert len(described) - len(whole) == limits["columnLineageIncomplete"]
    if tables == 1_000:
        assert limits["datasetsLeftOut"] == 0, "the graph of the tables is complete"
        require_valid(event)


def _lineage(output: dict[str, object]) -> dict[str, object]:
    facets = output.get("facets", {})
    return facets.get("columnLineage", {}).get("fields", {})  # type: ignore[attr-defined, no-any-return]


def test_a_small_job_lacks_nothing() -> None:
    event = event_of(RunEventType.START, AT, RUN, some_datasets(50, 50), RunState(1), described=True)
    assert "seatunnel_limits" not in event["run"]["facets"]
    assert all(len(_lineage(one)) == 50 for one in event["outputs"])


def test_ids_of_runs_sort_by_time() -> None:
    ids = [new_run_id(AT + at / 1000) for at in range(50)]
    assert ids == sorted(ids)
    assert all(UUID(one).version == 7 and UUID(one).variant == "specified in RFC 4122" for one in ids)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("OPENLINEAGE_PARENT_ID", "etl.load/01a227c0-3b3d-789c-9584-d0bbfa9cf39f"),
        ("OPENLINEAGE_PARENT_ID", "airflow/etl.load/no-uuid"),
        ("SEATUNNEL_NOMINAL_TIME", "2026-01-31T04:00:00"),
        ("SEATUNNEL_NOMINAL_TIME", "yesterday"),
        ("SEATUNNEL_NOMINAL_TIME", "0001-01-01T00:00:00+01:00"),
        ("TRACEPARENT", "00-00000000000000000000000000000000-b7ad6b7169203331-01"),
    ],
)
def test_a_wrong_variable_is_ignored_with_a_note(name: str, text: str) -> None:
    found, faults = parent_run.run_facets_of({name: text})
    assert found == {}
    assert len(faults) == 1 and name in faults[0]
