"""Makes homes of runs as drivers leave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import JobDirectory, write_json

COUNTS = {"rows_read": 10, "rows_written": 10, "rows_filtered": 0, "rows_rejected": 0, "bytes_written": 90}
ENDS = {"SUCCESS": 0, "FAILED": 1, "SOME_TABLES_FAILED": 3, "STOPPED": 143}


def receipt(place: JobDirectory, driver: str, state: str, **more: Any) -> None:
    """The receipt of a driver that has ended."""
    table = {"table": "shop.orders", "state": "DONE" if state == "SUCCESS" else "FAILED", "cause": None, **COUNTS}
    if state == "FAILED":
        table["cause"] = {"error_type": "FatalError", "message": "no such table", "remedy": ""}
    plain = {"job_id": place.job_id, "run": driver, "state": state, "exit_code": ENDS[state], "tables": [table]}
    plain |= {"totals": COUNTS, "this_run": {"rows_read": 10, "rows_per_second": 5.0}, "seconds": {"total": 2.0}}
    write_json(place.path / "receipt.json", {**plain, **more}, durable=False)


def claimed(place: JobDirectory, driver: str, started: float = 1_000.0, **more: Any) -> None:
    """The job.json of a driver."""
    place.path.mkdir(parents=True, exist_ok=True)
    about = {"job_id": place.job_id, "driver": driver, "started": started, "job_file": "job.conf", "job_name": "shop"}
    about |= {"pid": 1, "host": "elsewhere", "config": '{"env": {}, "source": [], "sink": []}' * 10}
    write_json(place.path / "job.json", {**about, **more}, durable=False)


def counted(place: JobDirectory, driver: str, checkpoints: int = 0, rows: int = 10) -> None:
    """The counters of a driver at work."""
    counts = {**COUNTS, "rows_read": rows}
    plain = {"run": driver, "at": 1_001.0, "tables": [{"table": "shop.orders", "state": "RUNNING", **counts}]}
    plain |= {"totals": counts, "this_run": {"rows_read": rows}, "checkpoints": {"completed": checkpoints}, "marks": {}}
    write_json(place.path / "counters.json", plain, durable=False)


def ended_runs(path: Path, number: int) -> Home:
    """A home of old runs: most have succeeded, others have failed or were killed."""
    home = Home(path)
    for at in range(number):
        place = home.place(f"run-{at:05}")
        claimed(place, f"driver-{at}", 1_000.0 + at)
        (place.path / "lock").touch()
        if at % 10 != 9:
            receipt(place, f"driver-{at}", "FAILED" if at % 10 == 8 else "SUCCESS")
        counted(place, f"driver-{at}")
    return home
