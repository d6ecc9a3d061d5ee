"""`jobs watch` and the choice of `jobs list`: the numbers are those of one run, and old ones are shown as old."""

from __future__ import annotations

from typing import Any

import pytest

from seatunnel_py.cli.jobs.job_list import _arrived
from seatunnel_py.cli.jobs.job_watch import SHOWN_MAX, summary, view
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.jobs.job_reading import SILENT_SECONDS, Rates, Reading, plain
from seatunnel_py.jobs.job_rows import SORTS, STATES, Selection, selection
from seatunnel_py.runtime.observe.checkpoint_history import CheckpointAttempt

STARTED = 1_000.0


def counters(at: float, **read: int) -> dict[str, Any]:
    tables = [
        {"table": name, "state": "RUNNING" if rows else "PENDING", "rows_read": rows, "rows_rejected": 0}
        for name, rows in read.items()
    ]
    totals = dict.fromkeys(("rows_written", "rows_filtered", "rows_rejected"), 0) | {"rows_read": sum(read.values())}
    return {"at": at, "tables": tables, "totals": totals}


def reading(at: float, run: str = "a", **read: int) -> Reading:
    return Reading(at, STARTED, run, counters(at, **read), None)


def test_rates_are_differences_of_the_last_ten_seconds() -> None:
    """100 rows/s for a minute, then 400 rows/s: a rate since the start would still be 160."""
    rates, rows = Rates(), 0
    assert rates.total is None and rates.of("orders") is None
    for second in range(90):
        rows += 100 if second < 60 else 400
        rates.add(reading(STARTED + second, orders=rows, customers=0))

    assert rates.total == rates.of("orders") == pytest.approx(400)
    assert rates.of("customers") == 0


def test_rates_begin_again_with_another_run() -> None:
    """A restored run begins with the rows of its record, which it has not read in a second (U5)."""
    rates = Rates()
    rates.add(reading(STARTED, "a", orders=1_000_000))
    rates.add(reading(STARTED + 1, "b", orders=900_000))
    assert rates.total is None
    rates.add(reading(STARTED + 3, "b", orders=900_100))
    assert rates.total == pytest.approx(50)


def test_the_same_counters_are_one_reading() -> None:
    rates = Rates()
    for _ in range(3):
        rates.add(reading(STARTED, orders=10))
    assert rates.total is None


def test_a_driver_without_a_sign_of_life_is_reported(tmp_path: Any) -> None:
    """O4: never "running" with old numbers."""
    now = STARTED + 100
    silent = Reading(now + SILENT_SECONDS + 5, STARTED, "a", counters(now, orders=10), None)
    assert summary(silent, Rates()).startswith("STALLED: its driver has given no heartbeat for 35 s")
    assert any(line.startswith("STALLED") for line in view("job", silent, Rates()))
    assert plain(silent, Rates())["silent_seconds"] == 35

    alive = Reading(now + 1, STARTED, "a", counters(now, orders=10), None)
    assert "STALLED" not in summary(alive, Rates()) and plain(alive, Rates())["silent_seconds"] == 0


def test_the_view_fits_a_screen_with_a_thousand_tables() -> None:
    """Those that need attention come first; the rest is counted."""
    found = counters(STARTED + 1, **{f"table_{number:04}": number for number in range(1_000)})
    found["tables"][7]["state"] = "FAILED"
    lines = view("job", Reading(STARTED + 2, STARTED, "a", found, None), Rates())

    assert len(lines) == 3 + SHOWN_MAX + 1
    assert lines[0] == "job  RUNNING for 2.0 s" and lines[2] == "tables: 1 PENDING, 998 RUNNING, 1 FAILED"
    assert lines[3].split() == ["FAILED", "table_0007:", "7", "read"]
    assert lines[-1].strip() == "and 991 more tables: --json shows them"


def test_the_last_checkpoint_is_shown_with_its_phases() -> None:
    times = {"triggered": STARTED, "acknowledged": STARTED + 2, "ended": STARTED + 3, "committed": STARTED + 7}
    attempt = CheckpointAttempt(
        "p", "orders", 4, "periodic", "", 1, slowest="orders#1", bytes=2_000, rows=1, reason="", missing=(), **times
    )
    lines = view("job", Reading(STARTED + 10, STARTED, "a", counters(STARTED + 9, orders=1), attempt), Rates())
    assert lines[-1] == (
        "last checkpoint 7.0 s ago: orders: periodic checkpoint 4, 1 row, 2.0 kB: 2.0 s until every step had "
        "acknowledged (last orders#1), 1.0 s to store its record, 4.0 s to commit"
    )


def job(job_id: str, state: str = "SUCCESS", started: float = 0.0, **more: Any) -> dict[str, Any]:
    return {
        "job_id": job_id, "state": state, "started": started, "job_name": f"name of {job_id}", "seconds": None,
        "job_file": f"jobs/{job_id}.conf", "rows_read": None, **more,
    }  # fmt: skip


def test_a_list_is_filtered_and_sorted() -> None:
    jobs = [
        job("a", "RUNNING", 1, rows_read=5, seconds=9.0), job("b", "KILLED", 2, rows_read=50), job("c", started=3),
        job("d", "RUNNING", 4, rows_read=7),
    ]  # fmt: skip

    def names(*states: str, text: str = "", sort: str = "started", limit: int | None = None) -> str:
        return "".join(one["job_id"] for one in selection(states, text, sort, limit).of(jobs))

    assert names() == "dcba"
    assert names("running") == "da" and names("Running", "killed", sort="rows") == "bda"
    assert names(text="OF C") == names(text="jobs/c") == "c"
    assert names(sort="state") == "bdac" and names(sort="duration")[0] == "a"
    assert names(limit=2) == "dc" and names("not-ended") == ""


@pytest.mark.parametrize(("states", "sort", "near"), [(["runing"], "started", "RUNNING"), ([], "row", "rows")])
def test_an_unknown_state_or_order_names_the_nearest(states: list[str], sort: str, near: str) -> None:
    with pytest.raises(SeaTunnelError) as error:
        selection(states, "", sort, None)
    assert f"did you mean {near!r}?" in str(error.value.remedy)


def test_every_order_takes_every_job() -> None:
    """One without a start or a receipt must not break the list."""
    jobs = [job(state, state) for state in STATES] + [job("x", rows_read=3, seconds=1.0)]
    for sort in SORTS:
        assert len(Selection(sort=sort).of(jobs)) == len(jobs)


def test_an_isolated_sink_of_a_running_job_is_shown_without_its_cause() -> None:
    """Counters hold no causes: `jobs show` ended in a TypeError."""
    stands = {"checkpoint": 4, "positions": {}}
    target = {"target": "lake", "rows_written": 3, "state": "ISOLATED", "cause": None, "stands": stands}
    other = {**target, "target": "hall", "state": "RUNNING", "stands": None}
    table = {
        "table": "orders", "state": "RUNNING", "rows_read": 9, "rows_filtered": 0, "rows_rejected": 0, "attempts": 0,
        "seconds": 1.0, "targets": [target, other], "cause": None,
    }  # fmt: skip
    lines = list(_arrived({"tables": [table]}))
    assert lines[1].strip() == "-> lake: 3 written, ISOLATED; it needs the rows after checkpoint 4"
    assert lines[2].strip() == "-> hall: 3 written, RUNNING"
