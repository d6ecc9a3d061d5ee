"""Jobs in this process: plugins that are not installed, rows, traces, and a debugger that stops inside of a unit."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from seatunnel_example import Countdown, CountdownFactory, CountdownOptions, DoubleFactory

from seatunnel_py.api import Batch, Position, Reader, Source, SourceTable, Split, StepContext
from seatunnel_py.errors import JobFileError
from seatunnel_py.testing import run_job

JOB = """
env {{ job.mode = BATCH }}
source {{ {source} {{ start = 5, batch = 2 }} }}
transform {{ Double {{ field = n }} }}
sink {{ Collect {{}} }}
"""


class Named(CountdownFactory):
    name = "Fresh"


class RaisingReader(Reader):
    def read(self, split: Split, start: Position | None) -> Iterator[Batch]:
        raise KeyError("customer")


class RaisingCountdown(Countdown):
    def reader(self, table: SourceTable) -> Reader:
        return RaisingReader()


class Raising(CountdownFactory):
    name = "Raising"

    def create(self, options: CountdownOptions, context: StepContext) -> Source:
        return RaisingCountdown(options.start, options.batch)


def test_a_job_with_a_plugin_that_is_not_installed_gives_receipt_and_rows() -> None:
    """P2-12. A second run starts from nothing."""
    for _ in range(2):
        run = run_job(JOB.format(source="Fresh"), [Named])

        assert (run.receipt.state, run.receipt.exit_code) == ("SUCCESS", 0), run.traces
        assert run.rows == {"countdown": [(10,), (8,), (6,), (4,), (2,)]}
        assert run.traces == ()
    with pytest.raises(JobFileError, match="there is no source plugin 'Fresh'"):
        run_job(JOB.format(source="Fresh"))


def test_a_plugin_that_is_installed_may_be_given_as_well() -> None:
    """The same class under the same name is one plugin."""
    run = run_job(JOB.format(source="Countdown"), [CountdownFactory, DoubleFactory])

    assert run.rows == {"countdown": [(10,), (8,), (6,), (4,), (2,)]}


def test_a_failing_plugin_leaves_its_trace() -> None:
    """P2-F5: plugin, method, file and line in the receipt, the whole trace beside it."""
    run = run_job(JOB.format(source="Raising"), [Raising])

    (table,) = run.receipt.tables
    assert table.cause is not None
    assert "read of the plugin Raising failed: KeyError: 'customer' (test_run_job.py:" in table.cause.message
    assert table.cause.remedy == "--debug shows the trace"
    assert 'raise KeyError("customer")' in run.traces[0]


class Stopping(CountdownFactory):
    name = "Stopping"

    def create(self, options: CountdownOptions, context: StepContext) -> Source:
        return StoppingCountdown(options.start, options.batch)


class StoppingCountdown(Countdown):
    def reader(self, table: SourceTable) -> Reader:
        breakpoint()
        return super().reader(table)


def test_a_breakpoint_in_a_reader_stops_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """P2-12: in a worker it died with BdbQuit."""
    stopped: list[int] = []
    monkeypatch.setattr(sys, "breakpointhook", lambda: stopped.append(os.getpid()))

    run = run_job(JOB.format(source="Stopping"), [Stopping])

    assert run.receipt.exit_code == 0
    assert set(stopped) == {os.getpid()}


def test_run_here_needs_no_spark(tmp_path: Path) -> None:
    """`seatunnel run --here`: the same on the command line."""
    job = tmp_path / "job.conf"
    job.write_text("source { FakeSource { row.num = 3, schema { fields { id = int } } } }\nsink { Console {} }\n")
    environment = {**os.environ, "SEATUNNEL_HOME": str(tmp_path / "home"), "JAVA_HOME": "", "PATH": "/nowhere"}

    done = subprocess.run(
        [sys.executable, "-m", "seatunnel_py", "run", "--here", str(job)],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert done.stdout.count("SeaTunnelRow#kind=INSERT") == 3, done.stdout
