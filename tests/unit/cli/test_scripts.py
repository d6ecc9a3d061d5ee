"""The options of SeaTunnel's scripts, as commands of `seatunnel`."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from seatunnel_py.cli.scripts.installing import NAMES, install
from seatunnel_py.cli.scripts.script_arguments import ScriptArgumentError, script_call
from seatunnel_py.errors import SeaTunnelError

RUN = "--config job.conf"


@pytest.mark.parametrize(
    ("given", "commands"),
    [
        ("--config job.conf", ["run job.conf"]),
        ("-c job.conf -i a=1 --variable b=x=y", ["run job.conf -i a=1 -i b=x=y"]),
        ("--config=job.conf --variable=a=1", ["run job.conf -i a=1"]),
        ("-c job.conf --set-job-id 17", ["run job.conf --job-id 17"]),
        ("-r 17 -c job.conf", ["run job.conf --job-id 17 --restore latest"]),
        ("-c job.conf --check -i a=1", ["check job.conf -i a=1"]),
        ("-c job.conf -d static", ["check job.conf"]),
        ("-c job.conf -d connect", ["test-connection job.conf"]),
        ("-c job.conf -d sample --sample-limit 5", ["preview job.conf --rows 5"]),
        ("-c job.conf --encrypt", ["encrypt job.conf"]),
        ("-c job.conf --decrypt", ["encrypt job.conf --decrypt"]),
        ("-l", ["jobs list"]),
        ("-j 17", ["jobs show 17"]),
        ("-s 17", ["jobs savepoint 17 --stop"]),
        ("-can 17 18", ["jobs cancel 17", "jobs cancel 18"]),
        ("-can 17,18 -f", ["jobs cancel 17", "jobs cancel 18"]),
        ("--metrics 17", ["jobs metrics 17"]),
        ("--get_running_job_metrics", ["jobs metrics"]),
    ],
)
def test_calls_are_translated(given: str, commands: list[str]) -> None:
    call = script_call(shlex.split(given))
    assert [" ".join(command) for command in call.commands] == commands
    assert call.runs is commands[0].startswith("run")


@pytest.mark.parametrize(
    "given", ["-e local", "-m local[2]", "--deploy local", "--deploy-mode cluster -cn mine", "-n me"]
)
def test_options_without_effect_are_noted(given: str) -> None:
    call = script_call(shlex.split(f"{RUN} {given}"))
    assert call.commands == (("run", "job.conf"),)
    assert call.notes and all("has no effect" in note for note in call.notes)


def test_a_job_may_be_detached() -> None:
    assert script_call(shlex.split(f"{RUN} --async")).detached
    assert not script_call(shlex.split(RUN)).detached


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("", "no job file"),
        ("--confg job.conf", "did you mean --config?"),
        ("-c", "-c has no value"),
        ("-c -i a=1", "-c has no value"),
        ("-can", "names no job"),
        (f"{RUN} -d all", "--dry-run all is not known"),
        (f"{RUN} --check --encrypt", "different actions"),
        ("job.conf", "the option job.conf is not known"),
    ],
)
def test_what_is_not_understood_is_refused(given: str, text: str) -> None:
    with pytest.raises(ScriptArgumentError) as refused:
        script_call(shlex.split(given))
    assert text in str(refused.value)


def test_scripts_are_installed_and_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        assert install(tmp_path / "a b", tmp_path / "it's home") == 0
    found = sorted((tmp_path / "a b" / "bin").iterdir())
    assert {path.name for path in found} == set(NAMES)
    assert all(os.access(path, os.X_OK) for path in found)
    assert str(tmp_path / "it's home") in capsys.readouterr().out


def test_a_script_of_another_product_stays(tmp_path: Path) -> None:
    """Nothing is written then."""
    theirs = tmp_path / "bin" / "seatunnel.sh"
    theirs.parent.mkdir()
    theirs.write_text("#!/bin/sh\n")
    with pytest.raises(SeaTunnelError, match="is not a script of seatunnel-py"):
        install(tmp_path, None)
    assert [path.name for path in theirs.parent.iterdir()] == ["seatunnel.sh"]
