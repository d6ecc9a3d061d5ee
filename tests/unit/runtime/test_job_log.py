"""The job log: a line per event, level by level, no secrets; and listeners that cannot hurt a job."""

from __future__ import annotations

import json
import stat
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pluggy
import pytest

from seatunnel_py import app
from seatunnel_py.config.job_file import loads
from seatunnel_py.plan.plugins.installed import HookSpecs, installed
from seatunnel_py.plan.plugins.registry import PROJECT
from seatunnel_py.plan.steps import understand
from seatunnel_py.runtime.diagnosis.job_log import JobLog
from seatunnel_py.runtime.diagnosis.listeners import Listeners, hook_listeners
from seatunnel_py.runtime.observe.events import (
    JobEnded,
    JobEvent,
    JobStarted,
    RowsMoved,
    SinkIsolated,
    TableChanged,
    UnitRetried,
)
from seatunnel_py.runtime.observe.receipt import Receipt, Seconds, TableReceipt, TableState
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.work.unit import FailureKind, UnitFailure

CAUSE = UnitFailure(FailureKind.FATAL, "no", "do this", "sink", "ValueError", "Traceback …\nValueError: no\n")
STARTED = JobStarted("j", "job", ("x",), 10, 0.0)
EVENTS: list[tuple[JobEvent, str, str]] = [
    (STARTED, "INFO", "job_started"),
    (TableChanged("p1", "x", TableState.RUNNING, 0.0), "INFO", "table_changed"),
    (RowsMoved("p1", "x", 5, 40, 0.0), "DEBUG", "rows_moved"),
    (UnitRetried("p1", "x", "x#0.e0.a1", 1, 0.5, CAUSE, 0.0), "WARNING", "unit_retried"),
    (TableChanged("p1", "x", TableState.RETRYING, 0.0, CAUSE), "WARNING", "table_changed"),
    (TableChanged("p1", "x", TableState.FAILED, 0.0, CAUSE), "ERROR", "table_changed"),
    (TableChanged("p1", "x", TableState.DONE, 0.0, CAUSE), "ERROR", "table_changed"),  # done, but not cleaned up
    (SinkIsolated("p1", "x", "v", ("lake",), CAUSE, 3, 0.0), "ERROR", "sink_left_out"),
    (JobEnded(Receipt("j", "job", (), Seconds()), 0.0), "INFO", "job_ended"),
    (JobEnded(Receipt("j", "job", (TableReceipt("x", (), TableState.FAILED),), Seconds()), 0.0), "ERROR", "job_ended"),
]


def logged(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


@pytest.mark.parametrize(("event", "level", "name"), EVENTS)
def test_every_event_is_a_line_with_its_level(path: Path, event: JobEvent, level: str, name: str) -> None:
    """JSON, with the time in UTC, the job, and what it is about."""
    with JobLog(path, "j", "DEBUG") as log:
        log(event)

    (line,) = logged(path)
    assert (line["level"], line["event"], line["job"]) == (level, name, "j")
    assert abs((datetime.now(UTC) - datetime.fromisoformat(line["time"])).total_seconds()) < 60
    if isinstance(event, TableChanged | UnitRetried):
        assert (line["pipeline"], line["table"]) == ("p1", "x")
    if getattr(event, "failure", None):
        assert line["cause"]["trace"].endswith("ValueError: no\n")
        assert line["cause"]["remedy"] == "do this"


@pytest.mark.parametrize("least", ["DEBUG", "INFO", "WARNING", "ERROR"])
def test_the_level_of_env_decides_what_is_written(path: Path, least: str) -> None:
    """What is less grave is left out."""
    with JobLog(path, "j", least) as log:
        for event, _, _ in EVENTS:
            log(event)

    order = ["DEBUG", "INFO", "WARNING", "ERROR"]
    wanted = [level for _, level, _ in EVENTS if order.index(level) >= order.index(least)]
    assert [line["level"] for line in logged(path)] == wanted


def test_the_file_is_for_its_owner_and_is_appended_to(path: Path) -> None:
    """Error texts hold rows; a line is there as soon as it was told."""
    for number in (1, 2):
        with JobLog(path, "j", "INFO") as log:
            log(STARTED)

            assert len(logged(path)) == number
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_an_exception_that_ends_the_driver_is_the_last_line(path: Path) -> None:
    """A bug of ours leaves its trace where people look for it."""
    with pytest.raises(KeyError), JobLog(path, "j", "INFO"):
        raise KeyError("x")

    (line,) = logged(path)
    assert (line["event"], line["message"]) == ("driver_failed", "KeyError: 'x'")
    assert "Traceback" in line["trace"]


def test_secrets_are_masked_wherever_somebody_quoted_them(path: Path) -> None:
    """In messages and traces, also with quotes in them, and in addresses that were never known as secrets."""
    text = """
        source { Countdown { start = 3 } }
        sink { Jdbc { url = "jdbc:postgresql://h/d", user = u, password = "pa\\"ss<w>ord",
                      generate_sink_sql = true, database = d, table = t } }"""
    understand(loads(text), installed())
    message = 'no login with pa"ss<w>ord at postgresql://u:other@h/d?password=third'
    with JobLog(path, "j", "INFO") as log:
        log(TableChanged("p1", "x", TableState.FAILED, 0.0, replace(CAUSE, message=message, trace=f"{message}\n")))

    (line,) = logged(path)
    for shown in (line["cause"]["message"], line["cause"]["trace"]):
        assert not any(secret in shown for secret in ('pa"ss', "other", "third"))
        assert "no login with ******" in shown


def test_a_listener_that_fails_is_written_down_once_and_left_out(path: Path) -> None:
    """A broken hook or a terminal that is gone stops neither the job nor the news of the others."""
    heard: list[JobEvent] = []

    def broken(event: JobEvent) -> None:
        raise BrokenPipeError("nobody reads")

    with JobLog(path, "j", "INFO") as log:
        tell = Listeners(log, (broken, heard.append))
        tell(STARTED)
        tell(STARTED)

    assert heard == [STARTED, STARTED]
    assert [line["event"] for line in logged(path)] == ["job_started", "listener_failed", "job_started"]
    assert logged(path)[1]["message"] == "BrokenPipeError: nobody reads"


hookimpl = pluggy.HookimplMarker(PROJECT)


class Hearing:
    def __init__(self) -> None:
        self.heard: list[JobEvent] = []

    @hookimpl
    def seatunnel_job_event(self, event: JobEvent) -> None:
        self.heard.append(event)


class Failing:
    @hookimpl
    def seatunnel_job_event(self, event: JobEvent) -> None:
        raise ValueError("broken")


class Silent:
    """Implements other hooks only."""

    @hookimpl
    def seatunnel_register(self) -> None: ...


def test_a_broken_hook_is_alone_with_it(path: Path) -> None:
    """Each package hears by itself; one that does not listen is not asked."""
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(HookSpecs)
    good = Hearing()
    for plugin in (Failing(), good, Silent()):
        manager.register(plugin)
    listeners = list(hook_listeners(manager))
    with JobLog(path, "j", "INFO") as log:
        tell = Listeners(log, listeners)
        tell(STARTED)
        tell(STARTED)

    assert len(listeners) == 2
    assert good.heard == [STARTED, STARTED]


def test_a_run_leaves_its_events_beside_its_log(tmp_path: Path) -> None:
    """From start to end, with the trace of what went wrong; ``env.log.level`` is honoured."""
    blocked = tmp_path / "file"
    blocked.touch()
    job = tmp_path / "job.conf"
    job.write_text(
        "env { log.level = DEBUG }\nsource { Countdown { start = 3 } }\n"
        f"sink {{ Lines {{ directory = {blocked / 'below'} }} }}"
    )
    home = Home(tmp_path / "home")

    options = app.RunOptions({}, "x", local=True)
    app.run(job, options, home, lambda event: None, lambda driver: None)

    lines = logged(home.job("x").events)
    assert [line["event"] for line in lines] == ["job_started", "table_changed", "job_ended"]
    assert "Not a directory" in lines[1]["cause"]["trace"]
    assert lines[-1]["exit_code"] == 1


def test_a_job_that_is_wrong_keeps_no_id(tmp_path: Path) -> None:
    """What only the planner finds out is a mistake in the file as well: mended, it runs under the same id."""
    job = tmp_path / "job.conf"
    home = Home(tmp_path / "home")
    options = app.RunOptions({}, "x", local=True)
    text = f"source {{ Countdown {{ start = 3 }} }}\nsink {{ Lines {{ directory = {tmp_path / 'out'} }} }}"
    job.write_text(text.replace("sink", "transform { Double { field = nothing } }\nsink"))
    with pytest.raises(app.JobFileError, match="nothing"):
        app.run(job, options, home, lambda event: None, lambda driver: None)

    job.write_text(text)

    assert app.run(job, options, home, lambda event: None, lambda driver: None).exit_code == 0


@pytest.mark.parametrize(
    ("only", "problem"),
    [
        (("countdown",), ""),
        (("count",), "the job has no table 'count'"),
        (("cuntdown",), "did you mean 'countdown'"),
    ],
)
def test_only_names_source_tables(tmp_path: Path, only: tuple[str, ...], problem: str) -> None:
    """A name that is not there is an error with the nearest one; nothing is started."""
    job = tmp_path / "job.conf"
    job.write_text(f"source {{ Countdown {{ start = 3 }} }}\nsink {{ Lines {{ directory = {tmp_path / 'out'} }} }}")
    options = app.RunOptions({}, only=only, local=True)

    def run() -> Receipt:
        return app.run(job, options, Home(tmp_path / "home"), lambda event: None, lambda driver: None)

    if problem:
        with pytest.raises(app.PlanError, match=problem):
            run()
    else:
        assert run().exit_code == 0


def test_a_full_disk_does_not_change_how_a_job_ended() -> None:
    """Whoever writes is told (and told no more), but the end of the log is not the end of the job."""
    with JobLog(Path("/dev/full"), "j", "DEBUG") as log, pytest.raises(OSError, match="No space left"):
        log.write("INFO", "job_started", {})

    with pytest.raises(ValueError, match="why"), JobLog(Path("/dev/full"), "j", "DEBUG"):
        raise ValueError("why")
