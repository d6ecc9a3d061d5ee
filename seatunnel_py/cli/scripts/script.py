"""Performs a call of SeaTunnel's scripts, with the exit codes of `seatunnel`.

Rules. (1) A job runs in the process of the script: a signal to it is a signal to the job, and its output is whole.
(2) With ``--async`` it runs in a process of its own, which a signal to the caller does not reach.
(3) The id of the job is printed before it starts, for callers that read it from the output.
"""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress

from seatunnel_py.api.process.private_files import make_private_file
from seatunnel_py.cli.scripts.script_arguments import LONG, NO_EFFECT, ScriptArgumentError, ScriptCall, script_call
from seatunnel_py.cli.view.terminal import say
from seatunnel_py.errors import ExitCode
from seatunnel_py.runtime.storage.home import Home, new_job_id

STARTED_SECONDS = 60.0
LOOK_SECONDS = 0.05


def main() -> None:
    """Perform the arguments of this process."""
    try:
        call = script_call(sys.argv[1:])
    except ScriptArgumentError as error:
        say(f"error: {error}", err=True)
        sys.exit(ExitCode.JOB_FILE_WRONG)
    if call.helps:
        say(_help())
        sys.exit(ExitCode.SUCCESS)
    for note in call.notes:
        say(f"note: {note}", err=True)
    sys.exit(_run(call) if call.runs else _in_turn(call))


def _in_turn(call: ScriptCall) -> int:
    """One command after the other; the first failure counts."""
    codes = [_perform(command) for command in call.commands]
    return next((code for code in codes if code), ExitCode.SUCCESS)


def _run(call: ScriptCall) -> int:
    (command,) = call.commands
    if "--job-id" not in command:
        command = (*command, "--job-id", new_job_id())
    job = command[command.index("--job-id") + 1]
    say(f"job id: {job}")
    return _begin(job, command) if call.detached else _perform(command)


def _perform(command: tuple[str, ...]) -> int:
    """Run a command in this process."""
    from seatunnel_py.__main__ import main as seatunnel

    sys.argv = ["seatunnel", *command]
    try:
        seatunnel()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return ExitCode.SUCCESS


def _begin(job: str, command: tuple[str, ...]) -> int:
    """Begin a job that goes on by itself. Return once its driver holds the job, or with its exit code."""
    home = Home.of_environment()
    place, output = home.place(job), home.path / "output" / f"{job}.log"
    make_private_file(str(output))
    with output.open("ab") as written:
        process = subprocess.Popen(
            [sys.executable, "-m", "seatunnel_py", *command],
            stdin=subprocess.DEVNULL,
            stdout=written,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    until = time.monotonic() + STARTED_SECONDS
    while time.monotonic() < until and process.poll() is None:
        with suppress(OSError):
            if place.running:
                break
        time.sleep(LOOK_SECONDS)
    say(f"output: {output}")
    return process.returncode or ExitCode.SUCCESS


def _help() -> str:
    short = {long: name for name, long in LONG.items() if len(name) < len(long) and not name.startswith("--")}
    rows = {
        "--config FILE": "the job file",
        "--variable K=V": "a variable of the job file; may be repeated",
        "--check": "check the job file only",
        "--dry-run MODE": "static, connect or sample: check, connect to both ends, or show first rows",
        "--async": "run the job in a process of its own",
        "--set-job-id ID": "the id of the job",
        "--restore ID": "resume the job of this id, with --config",
        "--savepoint ID": "stop a job with a savepoint",
        "--cancel-job ID...": "cancel jobs",
        "--list": "list jobs",
        "--job-id ID": "show a job",
        "--metrics ID": "show the metrics of a job",
        "--get_running_job_metrics": "show the metrics of all jobs",
        "--encrypt, --decrypt": "print the job file with its secrets encrypted, or the way back",
        ", ".join(NO_EFFECT): "accepted, without effect",
    }
    lines = [
        f"  {', '.join(filter(None, (short.get(name.split()[0], ''), name))):<34} {text}" for name, text in rows.items()
    ]
    return "\n".join(["Usage: seatunnel.sh --config FILE [OPTIONS]", "", *lines])
