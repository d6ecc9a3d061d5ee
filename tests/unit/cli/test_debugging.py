"""``--debug``: traces for who wants them, wherever the option stands."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from seatunnel_py.cli import debugging, main
from seatunnel_py.redaction import keep_secret

PROGRAM = "from seatunnel_py.__main__ import main; main()"


@pytest.mark.parametrize("command", [["plan", "none.conf"], ["discover", "Jdbc", "-o", "url=jdbc:sqlite:none.db"]])
@pytest.mark.parametrize("at", [0, 1, 2])
def test_an_error_shows_its_trace_on_demand_only(command: list[str], at: int, tmp_path: Path) -> None:
    def said(*arguments: str) -> str:
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments], stderr=subprocess.PIPE, text=True, cwd=tmp_path, check=False
        )
        assert ended.returncode in (1, 2)
        return ended.stderr

    plain = said(*command)
    whole = said(*command[:at], "--debug", *command[at:])

    assert "Traceback" not in plain and plain
    assert "Traceback" in whole and whole.endswith(plain)


def test_traces_of_a_job_are_told_once_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events = tmp_path / "events.jsonl"
    lines = [{"event": "job_started"}, *({"event": "unit_retried", "cause": {"trace": one}} for one in ("a", "b", "a"))]
    events.write_text("".join(json.dumps(line) + "\n" for line in lines))

    debugging.tell_traces(events)
    assert capsys.readouterr().err == "a\nb\n"


@pytest.mark.parametrize("error", [KeyError("hunter2canary"), OSError(5, "hunter2canary")])
def test_a_trace_quotes_no_secret(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a bug of ours, which nobody has foreseen (S1)."""

    def app(**_: object) -> None:
        keep_secret(["hunter2canary"])
        raise error

    monkeypatch.setattr(main, "_with_one_command", lambda _: app)
    with pytest.raises(SystemExit) as ended:
        main.main()

    told = capsys.readouterr().err
    assert ended.value.code == 1
    assert "Traceback" in told and "******" in told and "hunter2" not in told
