"""What ``run`` and ``plan`` say of a job that could not be run: once, and only what helps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from seatunnel_py.cli.commands import run as command
from seatunnel_py.cli.main import main
from seatunnel_py.cli.view.progress import progress
from seatunnel_py.errors import CannotResumeError, ChangesRefusedError, ExitCode, first_line
from seatunnel_py.runtime.observe.events import (
    ANEW,
    FailurePlace,
    JobEvent,
    SinkIsolated,
    TableChanged,
    UnitGivenUp,
    UnitRetried,
)
from seatunnel_py.runtime.observe.receipt import Receipt, Seconds, TableReceipt, TableState
from seatunnel_py.runtime.resume.job_diff import Change, ChangeKind, RequiredFlag, refuse
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.work.unit import FailureKind, UnitFailure

CANNOT_RESUME = UnitFailure(
    FailureKind.FATAL, "the target remembers another lineage", error_type=CannotResumeError.__name__
)
AWAY = UnitFailure(FailureKind.RETRIABLE, "connection refused", error_type="RetriableError")


def receipt(*causes: UnitFailure | None, stopped_by: int = 0) -> Receipt:
    state = TableState.STOPPED if stopped_by else TableState.ISOLATED
    tables = [TableReceipt(f"t{number}", (), state, cause=cause) for number, cause in enumerate(causes)]
    return Receipt("nightly", "job", tuple(tables), Seconds(), stopped_by=stopped_by)


def ended(home: Path, end: Any, *, as_json: bool = False) -> int:
    """The exit code of a run that ends like this."""

    def perform(listen: Any, arm: Any) -> Receipt:
        if isinstance(end, Exception):
            raise end
        assert isinstance(end, Receipt)
        return end

    return command.performed(Home(home), perform, lambda job_id: f"run --job-id {job_id}", as_json=as_json)


@pytest.mark.parametrize(
    ("end", "offered"),
    [
        (receipt(CANNOT_RESUME, CANNOT_RESUME), False),
        (receipt(CANNOT_RESUME, AWAY), True),
        (receipt(AWAY), True),
        (receipt(None, stopped_by=ExitCode.INTERRUPTED), True),
    ],
)
def test_a_way_on_is_offered_only_where_it_leads_somewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], end: Receipt, offered: bool
) -> None:
    code = ended(tmp_path, end)

    assert code == end.exit_code
    assert ("go on with it: run --job-id nightly" in capsys.readouterr().out) is offered


def test_a_changed_job_file_is_told_once_to_people_and_whole_to_machines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """People were told the changes while the job was looked at; a machine hears nothing before the end."""
    with pytest.raises(ChangesRefusedError) as refused:
        refuse(
            [Change("table shop.b", ChangeKind.DROPPED, "what it has written stays", RequiredFlag.ACCEPTANCE)],
            accepted=False,
        )

    with pytest.raises(ChangesRefusedError):
        ended(tmp_path, refused.value)
    code = ended(tmp_path, refused.value, as_json=True)

    assert code == ExitCode.FAILED
    assert "shop.b" not in str(refused.value)
    assert "shop.b" in json.loads(capsys.readouterr().out)["changes"][0]


def test_progress_says_a_cause_once(capsys: pytest.CaptureFixture[str]) -> None:
    """P1: sixteen attempts at a server that is away were sixteen lines "the same cause", and the cause was scrolled away.
    Another cause is told, and whoever ends says why."""
    other = UnitFailure(FailureKind.FATAL, "no such table")
    events: list[JobEvent] = [
        UnitRetried("p1", "shop.a", "prepare", 1, 0.1, AWAY, 0.0),
        UnitRetried("p2", "shop.b", "prepare", 1, 0.1, AWAY, 0.0),
        UnitRetried("p1", "shop.a", "prepare", 2, 0.1, AWAY, 0.0),
        UnitGivenUp("p1", "shop.a", "u1", 3, AWAY, FailurePlace(), 0.0),
        TableChanged("p1", "shop.a", TableState.ISOLATED, 0.0, AWAY),
        UnitRetried("p2", "shop.b", ANEW, 1, 0.0, other, 0.0),
        TableChanged("p2", "shop.b", TableState.ISOLATED, 0.0, other),
        SinkIsolated("p3", "shop.c", "v", ("lake", "pond"), AWAY, None, 0.0),
    ]

    with progress() as listen:
        for event in events:
            listen(event)

    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith("shop.")] == [
        "shop.a: attempt 1: connection refused",
        "shop.b: attempt 1: connection refused",
        "shop.a: ISOLATED: connection refused",
        "shop.b: starts again: no such table",
        "shop.b: ISOLATED: no such table",
        "shop.c -> lake, pond: ISOLATED, its other sinks go on: connection refused",
    ]


def test_one_line_of_a_message_holds_what_its_colon_announces() -> None:
    message = "the table t does not fit:\n  column 'a' is missing\n  column 'b' is too narrow"

    assert first_line(message) == "the table t does not fit: column 'a' is missing; column 'b' is too narrow"
    assert first_line("what happened\n  at a place") == "what happened"


@pytest.mark.parametrize("words", [["plan", "job.conf", "--json"], ["run", "job.conf", "--json"]])
def test_a_wrong_job_file_is_json_whatever_command_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["seatunnel", *words])
    Path("job.conf").write_text("source { FakeSource { row.nun = 1 } }\nsink { Console {} }\n")

    with pytest.raises(SystemExit) as exit:
        main()

    told: Mapping[str, Any] = json.loads(capsys.readouterr().out)
    assert exit.value.code == ExitCode.JOB_FILE_WRONG
    assert told["state"] == "JOB_FILE_WRONG"
    assert "row.num" in [problem["suggestion"] for problem in told["problems"]]


@pytest.mark.parametrize(
    "words",
    [
        ["jobs", "show", "nope"],
        ["jobs", "cancel", "nope"],
        ["state", "show", "nope"],
        ["quarantine", "show", "nope"],
        ["discover", "Nope"],
        ["jobs", "savepoint", "nope"],
        ["run", "job.conf", "--restore", "latest"],
    ],
)
def test_what_is_refused_is_json_whatever_command_was_asked_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    """A program that reads stdout finds there what it would have been told on a terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEATUNNEL_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("sys.argv", ["seatunnel", *words, "--json"])
    Path("job.conf").write_text(
        "source { FakeSource { row.num = 1, schema { fields { id = int } } } }\nsink { Console {} }\n"
    )

    with pytest.raises(SystemExit) as exit:
        main()

    told: Mapping[str, Any] = json.loads(capsys.readouterr().out)
    assert exit.value.code not in (0, None)
    assert told["state"] in ("FAILED", "JOB_FILE_WRONG")
    assert told.get("message") or told.get("problems")
