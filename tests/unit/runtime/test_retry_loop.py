"""A job with a retry loop, from the job file to the receipt: what is given up can be delivered after a fix."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from seatunnel_plugins.transforms.rows.data_validator import DataValidator
from seatunnel_plugins.transforms.shared.batches import kept
from seatunnel_py import app, quarantine_replay
from seatunnel_py.api import Batch, Rejected, RetriableError
from seatunnel_py.errors import ExitCode
from seatunnel_py.runtime.observe.events import JobEvent, RegionRestarted
from seatunnel_py.runtime.observe.receipt import Receipt
from seatunnel_py.runtime.storage.home import Home

ROWS = 60


class Case:
    """Numbers through a step that rejects some of them whenever it sees them, into files."""

    def __init__(self, place: Path, parallelism: int) -> None:
        self.home = Home(place / "home")
        self.files = place / "out"
        self.job = place / "job.conf"
        self.parallelism = parallelism

        self.events: list[JobEvent] = []

    def run(self, *, first: int, limit: int = ROWS, env: str = "") -> Receipt:
        self.write(first, limit, env)
        options = app.RunOptions({}, job_id="j", local=True)
        return app.run(self.job, options, self.home, self.events.append, lambda _: None)

    def write(self, first: int, limit: int = ROWS, env: str = "") -> None:
        """The step rejects every number below ``first``."""
        self.job.write_text(
            f"""
            env {{ error.max-rows = {limit}, parallelism = {self.parallelism}, unit.rows = 10
                   {env} }}
            source {{ Countdown {{ plugin_output = a, start = {ROWS}, batch = 5 }} }}
            transform {{
              DataValidator {{ plugin_input = a, plugin_output = b, retry_rejected = 2,
                               field_rules = [ {{ field_name = n, rule_type = RANGE, min_value = {first} }} ] }}
              Metadata {{ plugin_input = b, plugin_output = c, metadata_fields {{ Attempt = attempt }} }}
            }}
            sink {{ LocalFile {{ plugin_input = c, path = "{self.files}", file_format_type = csv }} }}"""
        )

    def arrived(self) -> list[tuple[int, int]]:
        lines = [line.split(",") for path in self.files.rglob("*.csv") for line in path.read_text().splitlines()]
        return sorted((int(n), int(attempt)) for n, attempt in lines)

    def waiting(self) -> int:
        return sum(one.waiting for one in quarantine_replay.held(self.home, "j"))


@pytest.mark.parametrize("parallelism", [1, 2])
def test_what_is_given_up_is_set_aside_and_delivered_after_a_fix(tmp_path: Path, parallelism: int) -> None:
    """Also through the loop: the replay's rows come to the step that had rejected them, with all of its attempts."""
    case = Case(tmp_path, parallelism)

    receipt = case.run(first=11)

    assert receipt.exit_code == ExitCode.SUCCESS, receipt
    assert [receipt.total(f"rows_{what}") for what in ("read", "written", "rejected")] == [ROWS, ROWS - 10, 10]
    assert case.arrived() == [(n, 0) for n in range(11, ROWS + 1)]
    assert case.waiting() == 10

    case.write(first=5)
    again = quarantine_replay.replay(
        "j", quarantine_replay.ReplayOptions({}, local=True), case.home, lambda _: None, lambda _: None
    )

    assert (again.state, again.failed_again) == ("ROWS_FAILED_AGAIN", 4), again
    assert [again.total(f"rows_{what}") for what in ("read", "written", "rejected")] == [10, 6, 4]
    assert case.arrived() == [(n, 0) for n in range(5, ROWS + 1)]
    assert case.waiting() == 4


def test_more_than_the_limit_fails_the_table(tmp_path: Path) -> None:
    """Rows that come back do not count; those that are given up do."""
    case = Case(tmp_path, 1)

    receipt = case.run(first=11, limit=9)

    assert receipt.exit_code == ExitCode.FAILED
    assert receipt.tables[0].cause is not None and "error.max-rows = 9" in receipt.tables[0].cause.message
    assert not case.arrived()


@pytest.mark.parametrize("call", [2, 5, 8, 11])
def test_a_failure_of_the_step_while_rows_go_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    """I20, I47: the step and whoever is behind it begin again at the newest checkpoint, with the rows on the back-edge;
    each row is taken at its attempt ``n % 4`` or given up, once, whatever was counted before."""
    calls = 0

    def apply(self: DataValidator, batch: Batch) -> Iterable[Batch | Rejected]:
        nonlocal calls
        calls += 1
        if call <= calls < call + 4:  # more attempts than a life has
            raise RetriableError("away for a moment")
        numbers, attempts = batch.data.column("n"), batch.metadata["Attempt"]
        late = pc.greater(pa.array([n % 4 for n in numbers.to_pylist()], pa.int32()), attempts)
        if late.true_count:
            bad = tuple(row for row, is_late in enumerate(late.to_pylist()) if is_late)
            yield Rejected(batch.table, batch.data.filter(late), ("later",) * len(bad), rows=bad)
        yield kept(batch, pc.invert(late))

    monkeypatch.setattr(DataValidator, "apply", apply)
    case = Case(tmp_path, 1)

    receipt = case.run(first=0, env="checkpoint.interval = 20, job.retry.interval.seconds = 0.05, channel.capacity = 1")

    assert receipt.exit_code == ExitCode.SUCCESS, receipt
    assert any(isinstance(event, RegionRestarted) for event in case.events), "no region restarted"
    numbers = range(1, ROWS + 1)
    assert case.arrived() == [(n, n % 4) for n in numbers if n % 4 < 3]
    assert case.waiting() == receipt.total("rows_rejected") == len([n for n in numbers if n % 4 == 3])
    assert [receipt.total(f"rows_{what}") for what in ("read", "written")] == [ROWS, len(case.arrived())]
