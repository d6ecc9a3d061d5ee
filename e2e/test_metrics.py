"""The metrics of real runs: what a scrape shows never goes back, and equals the receipt in the end."""

from __future__ import annotations

import json
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from e2e.support import IN_PROCESS, finish, kill9, seatunnel, start, wait_alive, write_job
from tests.unit.runtime.test_metric_series import Values, values_of

JOB = """
    env { job.name = shop, checkpoint.interval = 1500, read_limit.rows_per_second = 500, unit.rows = 50, metrics.textfile = "shop.prom" MORE }
    source { FakeSource { row.num = 4000, split.num = 40,
                          schema { table = "shop.events", fields { id = bigint } } } }
    sink { LocalFile { path = "out", file_format_type = csv } }
"""
COUNTERS = ("read_rows", "written_rows", "written_bytes", "filtered_rows", "rejected_rows")


class Scraper:
    """Reads the file as an exporter does, again and again."""

    def __init__(self, path: Path) -> None:
        self.path, self.seen, self._ends = path, list[Values](), threading.Event()

    def read(self) -> Values | None:
        with suppress(FileNotFoundError):
            return values_of(self.path.read_text())
        return None

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._ends.set()
            thread.join()

    def _run(self) -> None:
        while not self._ends.wait(0.05):
            found = self.read()
            if found is not None and (not self.seen or found != self.seen[-1]):
                self.seen.append(found)


def total(values: Values, name: str) -> float:
    return sum(value for (found, _), value in values.items() if found == f"seatunnel_{name}_total")


@pytest.mark.parametrize("tables", ["", ', metrics.tables = "top(5)"'])
def test_counters_never_go_back_over_a_killed_driver_and_equal_the_receipt(tmp_path: Path, tables: str) -> None:
    """U5: The rows that the killed driver had read after its last checkpoint are read again."""
    write_job(tmp_path, JOB.replace("MORE", tables))
    scraper = Scraper(tmp_path / "shop.prom")
    with scraper.running():
        first = start(tmp_path, "run", "job.conf", "--job-id", "shop-1", program=IN_PROCESS)
        wait_alive(first, "some rows", lambda: total(scraper.read() or {}, "read_rows") >= 1_000)
        kill9(first.pid)
        first.communicate()
        shown = scraper.read()
        assert shown is not None and shown["seatunnel_job_up", frozenset({("job", "shop")})] == 1
        words = ("run", "job.conf", "--job-id", "shop-1", "--restore", "latest", "--json")
        last = finish(start(tmp_path, *words, program=IN_PROCESS))
        assert last.code == 0, last.err
        time.sleep(0.2)  # the last scrape
    receipt = last.receipt["totals"]
    assert receipt["rows_read"] == 4_000 and len(scraper.seen) > 5
    at_kill = next(at for at, values in enumerate(scraper.seen) if values == shown)
    went = [values["seatunnel_live_timestamp_seconds", frozenset({("job", "shop")})] for values in scraper.seen]
    assert went == sorted(went) and at_kill < len(scraper.seen) - 2, "the second driver wrote as well"
    for before, after in zip(scraper.seen, scraper.seen[1:], strict=False):
        for (name, labels), value in before.items():
            if name.endswith(("_total", "_bucket", "_count", "_sum")):
                assert after[name, labels] >= value, f"{name} went back"

    end = scraper.seen[-1]
    for name in COUNTERS:
        key = name if name == "written_bytes" else f"rows_{name.removesuffix('_rows')}"
        assert total(end, name) == receipt["bytes_written" if name == "written_bytes" else key], name
    assert end["seatunnel_job_up", frozenset({("job", "shop")})] == 0
    assert end["seatunnel_job_ends_total", frozenset({("job", "shop"), ("outcome", "done")})] == 1
    assert end["seatunnel_tables", frozenset({("job", "shop"), ("state", "DONE")})] == 1
    assert stat.S_IMODE((tmp_path / "shop.prom").stat().st_mode) == 0o644, "another user's exporter reads it"
    assert [path.name for path in tmp_path.glob("*shop.prom*")] == ["shop.prom"]

    history = (tmp_path / ".seatunnel/jobs/shop-1/checkpoints.jsonl").read_text().splitlines()
    ended = [line for line in map(json.loads, history) if "ended" in line and not line["reason"]]
    completed = end["seatunnel_checkpoints_total", frozenset({("job", "shop"), ("result", "completed")})]
    assert len(ended) - 1 <= completed <= len(ended), "one may have ended in the last second of the killed driver"

    printed = values_of(seatunnel(tmp_path, "jobs", "metrics").out)
    assert {key: printed[key] for key in end if "live_timestamp" not in key[0]} == {
        key: value for key, value in end.items() if "live_timestamp" not in key[0]
    }, "one code path"
    assert printed["seatunnel_runs", frozenset({("state", "done")})] == 1


def test_a_killed_job_is_seen_in_the_home(tmp_path: Path) -> None:
    """U20."""
    write_job(tmp_path, JOB.replace("MORE", ""))
    run = start(tmp_path, "run", "job.conf", "--job-id", "shop-1", program=IN_PROCESS)
    scraper = Scraper(tmp_path / "shop.prom")
    wait_alive(run, "rows", lambda: total(scraper.read() or {}, "read_rows"))

    def home(*words: str) -> Values:
        return values_of(seatunnel(tmp_path, "jobs", "metrics", *words).out)

    job = ("job", "shop")
    up = "seatunnel_job_up", frozenset({job})
    info = "seatunnel_run_info", frozenset({job, ("run", "shop-1"), ("mode", "BATCH")})
    assert home()[up] == 1 and home("shop-1")[info] == 1
    kill9(run.pid)
    run.communicate()
    found = home()
    assert found[up] == 0 and info not in found
    assert found["seatunnel_job_ends_total", frozenset({job, ("outcome", "killed")})] == 1
    assert found["seatunnel_runs", frozenset({("state", "killed")})] == 1

    assert seatunnel(tmp_path, "jobs", "metrics", "--to", "all.prom").code == 0
    assert values_of((tmp_path / "all.prom").read_text())[up] == 0
    wrong = seatunnel(tmp_path, "jobs", "metrics", "shop-2")
    assert wrong.code == 1 and "did you mean 'shop-1'?" in wrong.err
    wrong = seatunnel(tmp_path, "jobs", "metrics", "--to", "no/all.prom")
    assert wrong.code == 1 and "cannot write no/all.prom" in wrong.err


@pytest.mark.parametrize(
    ("option", "code", "message"),
    [
        ('metrics.textfile = "no/shop.prom"', 1, "metrics.textfile = no/shop.prom: no file can be created there"),
        ('metrics.textfile = "."', 1, "metrics.textfile = . is a directory"),
        ('metrics.tables = "top(0)"', 2, "use top(N) with N from 1 to 200"),
        ('metrics.tables = "top 5, (x)"', 2, "use top(N) with N from 1 to 200"),
        ("metrics.textfil = shop", 2, "metrics.textfile"),
    ],
)
def test_wrong_options_are_refused_before_anything_starts(tmp_path: Path, option: str, code: int, message: str) -> None:
    write_job(tmp_path, JOB.replace('metrics.textfile = "shop.prom" MORE', option))
    refused = finish(start(tmp_path, "run", "job.conf", program=IN_PROCESS))
    assert refused.code == code and message in refused.err + refused.out
    assert not (tmp_path / "out").exists()


def test_a_file_that_cannot_be_written_any_more_does_not_disturb_the_job(tmp_path: Path) -> None:
    folder = tmp_path / "metrics"
    folder.mkdir()
    write_job(tmp_path, JOB.replace("MORE", "").replace("shop.prom", f"{folder}/shop.prom"))
    run = start(tmp_path, "run", "job.conf", "--job-id", "shop-1", "--json", program=IN_PROCESS)
    wait_alive(run, "the file", lambda: list(folder.glob("shop.prom")))
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    ended = finish(run)
    assert ended.code == 0 and ended.receipt["totals"]["rows_read"] == 4_000
