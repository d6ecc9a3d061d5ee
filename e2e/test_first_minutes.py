"""The first minutes of somebody new: help, mistakes, a first run, a run that is stopped. Only what the shell shows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

import pytest

from e2e import support
from e2e.support import Finished, finish, start, wait_for, write_job

SMALL = """
source { FakeSource { schema { table = shop.people, fields { id = int, name = string } }, row.num = 20 } }
sink { LocalFile { path = out, file_format_type = csv } }
"""
ENDLESS = """
env { unit.rows = 20000, log.level = DEBUG }
source { FakeSource { schema { fields { id = int, name = string } }, row.num = 500000000, split.num = 1 } }
sink { LocalFile { path = out, file_format_type = csv } }
"""
seatunnel = partial(support.seatunnel, own_interpreter=True)
"""As a shell starts it."""
COLOURED = {"NO_COLOR": "", "TERM": "xterm-256color"}
COMMANDS = [
    ["init"],
    ["check"],
    ["plan"],
    ["run"],
    ["preview"],
    ["test"],
    ["doctor"],
    ["encrypt"],
    ["jobs", "list"],
    ["jobs", "show"],
    ["plugins", "list"],
    ["plugins", "show"],
    ["plugins", "schema"],
]


def no_trace(finished: Finished) -> bool:
    return "Traceback" not in finished.out + finished.err


def visible(directory: Path) -> list[Path]:
    """Files that a reader of the directory takes for data: hidden ones are none."""
    found = [path for path in directory.rglob("*") if path.is_file()]
    return [path for path in found if not any(part.startswith(".") for part in path.relative_to(directory).parts)]


def test_help_names_every_command_whole_and_each_has_an_example(tmp_path: Path) -> None:
    """Nobody has to guess what to type; no summary is cut off."""
    shown = seatunnel(tmp_path, "--help")

    assert shown.code == 0
    assert "..." not in shown.out.partition("Commands:")[2]
    for command in COMMANDS:
        assert command[0] in shown.out
        assert f"Example: seatunnel {' '.join(command)}" in " ".join(
            seatunnel(tmp_path, *command, "--help").out.split()
        )


def test_version_and_an_unknown_command(tmp_path: Path) -> None:
    """One line each; the nearest command is named."""
    version, unknown = seatunnel(tmp_path, "--version"), seatunnel(tmp_path, "rnu")

    assert (version.code, version.out.split()[0]) == (0, "seatunnel-py")
    assert unknown.code == 2
    assert "'run'" in unknown.err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["run", "missing.conf"], 2, ["missing.conf", "No such file", "nothing was started"]),
        (["run", "wrong.conf"], 2, ["wrong.conf:3:", "file_format_typ", "did you mean file_format_type"]),
        (["check", "wrong.conf"], 2, ["wrong.conf:3:", "did you mean file_format_type"]),
        (["run", "job.conf", "--job-id", "../x"], 1, ["'../x' is not a job id", "use letters"]),
        (["jobs", "show", "nope"], 1, ["no job 'nope'", "no job has run there"]),
        (["plugins", "show", "Localfile1"], 1, ["no plugin 'Localfile1'", "did you mean 'LocalFile'"]),
    ],
)
def test_mistakes_are_told_with_the_way_out(tmp_path: Path, arguments: list[str], code: int, words: list[str]) -> None:
    """Place, cause, remedy on stderr; never a trace; nothing is left behind."""
    write_job(tmp_path, SMALL)
    write_job(tmp_path, SMALL.replace("file_format_type", "file_format_typ"), "wrong.conf")

    shown = seatunnel(tmp_path, *arguments)

    assert shown.code == code
    assert no_trace(shown)
    assert [word for word in words if word not in shown.err] == []
    assert not (tmp_path / ".seatunnel" / "jobs").exists() or not list((tmp_path / ".seatunnel" / "jobs").iterdir())


def test_a_wrong_job_file_is_json_for_machines_too(tmp_path: Path) -> None:
    """Nothing but JSON on stdout, and the same exit code."""
    write_job(tmp_path, SMALL.replace("row.num", "row.nun"))

    shown = seatunnel(tmp_path, "run", "job.conf", "--json")

    assert shown.code == 2
    assert shown.receipt["problems"][0]["suggestion"] == "row.num"


def test_doctor_finds_this_machine_fit(tmp_path: Path) -> None:
    """The tests run on it."""
    shown = seatunnel(tmp_path, "doctor", "--json")

    assert shown.code == 0
    assert {finding["what"] for finding in json.loads(shown.out)} >= {"Java", "Python", "SEATUNNEL_HOME"}


def test_plan_and_preview_change_nothing(tmp_path: Path) -> None:
    """The picture can be drawn, rows can be seen, and the target is not there afterwards."""
    write_job(tmp_path, SMALL)

    planned = seatunnel(tmp_path, "plan", "job.conf", "--svg", "plan.svg")
    seen = seatunnel(tmp_path, "preview", "job.conf", "--rows", "2")

    assert (planned.code, seen.code) == (0, 0)
    assert "create directory" in planned.out and "exactly-once" in planned.out
    assert ElementTree.parse(tmp_path / "plan.svg").getroot().tag.endswith("svg")
    assert "FakeSource-source-1[shop.people]" in seen.out
    assert not (tmp_path / "out").exists()


def test_a_first_run_tells_what_arrived_and_its_id_is_taken(tmp_path: Path) -> None:
    """Piped output has no colour codes; the receipt and ``jobs`` agree; a second run of the id is refused with the
    two ways on."""
    write_job(tmp_path, SMALL)

    run = seatunnel(tmp_path, "run", "job.conf", "--job-id", "first", "--only", "people", env=COLOURED)
    again = seatunnel(tmp_path, "run", "job.conf", "--job-id", "first", env=COLOURED)
    shown = seatunnel(tmp_path, "jobs", "show", "first", env=COLOURED)

    assert run.code == 0, run.err
    assert sum(len(path.read_text().splitlines()) for path in visible(tmp_path / "out")) == 20
    receipt = [line.split() for line in run.out.splitlines()]
    assert any(line[:4] == ["shop.people", "out", "20", "20"] for line in receipt)
    assert again.code == 1
    assert "has ended" in again.err and "--fresh" in again.err and "--job-id" in again.err
    assert "20 read" in shown.out and "events.jsonl" in shown.out
    assert not [text for each in (run, again, shown) for text in (each.out, each.err) if "\x1b" in text]


def test_modules_of_the_directory_are_no_modules_of_a_job(tmp_path: Path) -> None:
    """A directory of jobs may hold a ``csv.py``: neither the command nor its workers import it."""
    write_job(tmp_path, SMALL)
    for name in ("csv", "random", "numpy", "seatunnel_py"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the directory of the job')")
    installed = str(Path(sys.executable).with_name("seatunnel"))
    environment = os.environ | {"SEATUNNEL_HOME": str(tmp_path / ".seatunnel")}

    run = subprocess.run(
        [installed, "run", "job.conf"], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )

    assert run.returncode == 0, run.stderr
    assert sum(len(path.read_text().splitlines()) for path in visible(tmp_path / "out")) == 20


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_stopped_shows_nothing_in_its_target(tmp_path: Path, number: signal.Signals, code: int) -> None:
    """Ctrl-C and SIGTERM: what is under way ends, what was staged is dropped, the receipt and the way on are
    printed."""
    write_job(tmp_path, ENDLESS)
    process = start(tmp_path, "run", "job.conf", "--job-id", "long", own_interpreter=True)
    events = tmp_path / ".seatunnel" / "jobs" / "long" / "events.jsonl"
    wait_for("a unit that has ended", lambda: events.exists() and "rows_moved" in events.read_text())
    os.kill(process.pid, number)
    run = finish(process)

    assert run.code == code, run.err + run.out
    assert "stopping; once more aborts" in run.err
    assert "stopped" in run.out
    assert "go on with it: seatunnel run job.conf --job-id long --restore latest" in run.out
    assert visible(tmp_path / "out") == []
    assert not (events.parent / "exchange").exists()
    assert no_trace(run)


def test_a_stop_before_anything_runs_leaves_the_id_free(tmp_path: Path) -> None:
    """While Spark starts there is nothing to undo, and nothing to explain."""
    write_job(tmp_path, SMALL)
    process = start(tmp_path, "run", "job.conf", "--job-id", "early", own_interpreter=True)
    place = tmp_path / ".seatunnel" / "jobs" / "early"
    wait_for("the claim of the id", place.exists)
    os.kill(process.pid, signal.SIGINT)
    run = finish(process)

    assert run.code == 130, run.err
    assert "stopped before anything was started" in run.err
    assert no_trace(run)
    assert not place.exists()
    assert not (tmp_path / "out").exists()
