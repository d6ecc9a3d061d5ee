"""Makes metrics from the live records of runs. Pure: the only place that knows their names and labels.

Rules. (1) Labels are from a closed list: job, run (only of ``seatunnel_run_info``), table, state, kind, phase, result,
outcome, mode. (2) A series whose fact is not known is absent. (3) ``table`` only for the tables that the record names,
at most ``TABLES_MAX``; the others are summed up as ``OTHER``, and so are jobs beyond ``JOBS_MAX``. (4) Counters are
sums over the runs of a job; gauges are of those that are alive, else of the newest one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import Any

from seatunnel_py.runtime.observe.metric_text import Metric, MetricKind, label_text
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.observe.run_record import BUCKETS, COUNTERS, RunRecord

OTHER = "(other)"
JOBS_MAX = 500
TABLES_MAX = 1_500
OUTCOMES = ("done", "partial", "failed", "killed", "stopped")


@dataclass(frozen=True, slots=True)
class HomeFacts:
    """Facts that are not about a job. ``versions``: of ours, of Python and of Spark; ``states``: runs by state."""

    versions: Mapping[str, str]
    states: Mapping[str, int]
    free_bytes: int


class Series:
    """The metrics of some runs, in a fixed order."""

    def __init__(self) -> None:
        self._metrics: dict[str, Metric] = {
            name: Metric(f"seatunnel_{name}", kind, help) for name, kind, help in _METRICS
        }

    def __getitem__(self, name: str) -> Metric:
        return self._metrics[name]

    def add(self, name: str, value: float | None, **labels: str) -> None:
        """Add a sample; None: the fact is not known."""
        if value is not None:
            self._metrics[name].add(value, label_text(**labels))

    def histogram(self, name: str, sums: Mapping[str, Any], **labels: str) -> None:
        """Add the samples of a histogram."""
        counted = list(accumulate(sums["buckets"]))
        metric, shown = self._metrics[name], label_text(**labels)
        metric.extend(zip(_BOUNDS, counted, strict=True), "_bucket", shown)
        metric.add(float(sums["sum"]), shown, "_sum")
        metric.add(counted[-1], shown, "_count")

    @property
    def metrics(self) -> Sequence[Metric]:
        return tuple(self._metrics.values())


def series(runs: Iterable[RunRecord], at: float, home: HomeFacts | None = None) -> Sequence[Metric]:
    """The metrics of these runs; ``at``: now; ``home``: None in a file for one job."""
    found = Series()
    if home is not None:
        found.add("build_info", 1, **home.versions)
        for state, number in sorted(home.states.items()):
            found.add("runs", number, state=state)
        found.add("home_free_bytes", home.free_bytes)
    for job, some in _by_job(_within_limit(runs)).items():
        alive = [run for run in some if run.alive]
        _add_job(found, job, some, alive or some[-1:], at)
        for run in alive:
            found.add("run_info", 1, job=job, run=run.run, mode=run.mode or "unknown")
    return found.metrics


def _within_limit(runs: Iterable[RunRecord]) -> Iterable[RunRecord]:
    """The runs, oldest first, with as many tables of their own as a document may have: new runs get what is left."""
    left = TABLES_MAX
    for run in sorted(runs, key=lambda one: one.started):
        if run.labelled is not None:
            run = replace(run, labelled=run.labelled[:left])
            left -= len(run.labelled or ())
        yield run


def _by_job(runs: Iterable[RunRecord]) -> Mapping[str, list[RunRecord]]:
    found: dict[str, list[RunRecord]] = {}
    for run in runs:
        name = run.job if run.job in found or len(found) < JOBS_MAX else OTHER
        found.setdefault(name, []).append(run)
    return found


def _add_job(found: Series, job: str, runs: list[RunRecord], current: list[RunRecord], at: float) -> None:
    found.add("job_up", int(any(run.alive for run in runs)), job=job)
    ends = Counter(run.outcome for run in runs if run.outcome)
    for outcome in OUTCOMES:
        found.add("job_ends_total", ends[outcome], job=job, outcome=outcome)
    written = [run.at for run in current if run.at is not None]
    found.add("live_timestamp_seconds", max(written, default=None), job=job)
    _add_tables(found, job, runs, current)
    _add_checkpoints(found, job, [run.checkpoints for run in runs if run.checkpoints])
    newest = [run.checkpoints["ended"] for run in current if run.alive and run.checkpoints.get("ended")]
    found.add("checkpoint_age_seconds", max(0.0, at - min(newest)) if newest else None, job=job)
    sizes = [run.checkpoints["bytes"] for run in current if run.checkpoints.get("bytes") is not None]
    found.add("checkpoint_size_bytes", sum(sizes) if sizes else None, job=job)
    intervals = [run.interval for run in current if run.alive and run.interval]
    found.add("checkpoint_interval_seconds", max(intervals, default=None), job=job)


def _add_tables(found: Series, job: str, runs: list[RunRecord], current: list[RunRecord]) -> None:
    labels = label_text(job=job)
    numbers = Counter(table.state for run in current for table in run.tables if table.state)
    for state in TableState if numbers else ():
        found.add("tables", numbers[state.value], job=job, state=state.value)
    for run in current:
        named = set(run.labelled or ())
        shown = [one for one in run.tables if one.state and one.table in named]
        found["table_state"].extend([(_of_table(one.table, one.state), 1) for one in shown], labels=labels)
    sums = [(_of_table(label), counts) for label, counts in _sums(runs).items()]
    for name, key in _COUNTS.items():
        found[name].extend([(further, counts[key]) for further, counts in sums], labels=labels)


def _sums(runs: Iterable[RunRecord]) -> Mapping[str, Mapping[str, int]]:
    """Counts by the label ``table``, which is empty where the series has none."""
    sums: dict[str, dict[str, int]] = {}
    for run in runs:
        named = None if run.labelled is None else set(run.labelled)
        if named is not None:
            sums.setdefault(OTHER, dict.fromkeys(COUNTERS, 0))
        for table in run.tables:
            label = "" if named is None else table.table if table.table in named else OTHER
            if (before := sums.get(label)) is None:
                sums[label] = dict(table.counts)
            else:
                for key in COUNTERS:
                    before[key] += table.counts[key]
    return sums


def _add_checkpoints(found: Series, job: str, some: list[Mapping[str, Any]]) -> None:
    for result in ("completed", "failed") if some else ():
        found.add("checkpoints_total", sum(one[result] for one in some), job=job, result=result)
    found.add("region_restarts_total", sum(one["restarts"] for one in some) if some else None, job=job)
    for name, key, label in (("duration", "kinds", "kind"), ("phase", "phases", "phase")):
        for value in sorted({value for one in some for value in one[key]}):
            parts = [one[key][value] for one in some if value in one[key]]
            total = {
                "sum": sum(part["sum"] for part in parts),
                "buckets": [sum(numbers) for numbers in zip(*(part["buckets"] for part in parts), strict=True)],
            }
            found.histogram(f"checkpoint_{name}_seconds", total, job=job, **{label: value})


@lru_cache(maxsize=8_192)  # a table has the same name in many lines
def _of_table(table: str, state: str = "") -> str:
    """The further labels of a table; empty where a series is of a whole job."""
    return ("," + label_text(**({"table": table} | ({"state": state} if state else {})))) if table else ""


_BOUNDS = tuple("," + label_text(le=le) for le in (*(f"{seconds:g}" for seconds in BUCKETS), "+Inf"))
_COUNTS = {
    "read_rows_total": "rows_read",
    "written_rows_total": "rows_written",
    "written_bytes_total": "bytes_written",
    "filtered_rows_total": "rows_filtered",
    "rejected_rows_total": "rows_rejected",
    "unit_retries_total": "attempts",
}
_GAUGE, _COUNTER, _HISTOGRAM = MetricKind.GAUGE, MetricKind.COUNTER, MetricKind.HISTOGRAM
_METRICS = (
    ("build_info", _GAUGE, "Versions of seatunnel-py, Python and Spark."),
    ("runs", _GAUGE, "Jobs in this home by state."),
    ("home_free_bytes", _GAUGE, "Free bytes on the disk of SEATUNNEL_HOME."),
    ("job_up", _GAUGE, "1: a driver of the job is alive, 0: none is."),
    ("run_info", _GAUGE, "1 while a run is alive."),
    ("job_ends_total", _COUNTER, "Runs that have ended."),
    ("live_timestamp_seconds", _GAUGE, "When the driver last wrote its live record; every 10 s at least."),
    ("tables", _GAUGE, "Source tables by state."),
    ("table_state", _GAUGE, "1: the state of a table; only of tables that metrics.tables chooses."),
    ("read_rows_total", _COUNTER, "Rows that were read from sources."),
    ("written_rows_total", _COUNTER, "Rows that are visible in targets."),
    ("written_bytes_total", _COUNTER, "Bytes of the rows that are visible in targets."),
    ("filtered_rows_total", _COUNTER, "Rows that transforms have removed."),
    ("rejected_rows_total", _COUNTER, "Bad rows that were set aside."),
    ("unit_retries_total", _COUNTER, "Failed attempts of units of work."),
    ("region_restarts_total", _COUNTER, "Restarts of a part of a pipeline from a checkpoint."),
    ("checkpoints_total", _COUNTER, "Checkpoints that have ended."),
    ("checkpoint_duration_seconds", _HISTOGRAM, "From the trigger of a checkpoint until it was durable."),
    ("checkpoint_phase_seconds", _HISTOGRAM, "Phases: align, store, and commit until all rows are visible."),
    ("checkpoint_size_bytes", _GAUGE, "Size of the newest checkpoint, of all pipelines."),
    ("checkpoint_age_seconds", _GAUGE, "Time since the newest completed checkpoint of a running job."),
    ("checkpoint_interval_seconds", _GAUGE, "The interval of checkpoints of a running job."),
)  # fmt: skip
NAMES = tuple(f"seatunnel_{name}" for name, _, _ in _METRICS)
