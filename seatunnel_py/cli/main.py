"""The ``seatunnel`` command. Each command's work is imported when it is called: ``check`` must not pay for ``run``."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seatunnel_py.errors import JobFileError, SeaTunnelError

if TYPE_CHECKING:
    from seatunnel_py.cli.known import Where

app = typer.Typer(
    name="seatunnel",
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Data integration on Spark: job files in HOCON, connectors in Python, tables that fail alone.",
    epilog="Start with: seatunnel check JOB, then plan, preview and run it; every command has --help with an example. "
    "Exit codes: 0 success, 1 failed, 2 job file wrong, 3 some tables failed, 130/143 stopped by a signal.",
)
jobs_app = typer.Typer(no_args_is_help=True, help="What ran under SEATUNNEL_HOME.")
quarantine_app = typer.Typer(no_args_is_help=True, help="Bad rows that were set aside.")
state_app = typer.Typer(no_args_is_help=True, help="Where jobs stand.")
plugins_app = typer.Typer(no_args_is_help=True, help="Installed sources, transforms and sinks.")
app.add_typer(jobs_app, name="jobs")
app.add_typer(quarantine_app, name="quarantine")
app.add_typer(state_app, name="state")
app.add_typer(plugins_app, name="plugins")

JobArgument = Annotated[Path, typer.Argument(help="job file: HOCON, or JSON when it ends in .json")]
Variables = Annotated[
    list[str] | None,
    typer.Option("-i", "--variable", metavar="K=V", help="a variable of the job file; may be repeated"),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON for machines")]
JobId = Annotated[str, typer.Argument(help="as `seatunnel jobs list` names it")]
StoreOf = Annotated[
    Path | None,
    typer.Option("--file", metavar="JOB", help="of a job on another machine: the job file that names its store"),
]


@app.command(epilog="Example: seatunnel check configs/shop.conf -i day=2026-01-31")
def check(
    jobs: Annotated[list[Path], typer.Argument(help="job files")], variable: Variables = None, as_json: AsJson = False
) -> None:
    """Report every mistake in job files.

    Starts nothing and connects nowhere.
    """
    from seatunnel_py.cli import check as command

    raise typer.Exit(command.check(jobs, _variables(variable), as_json=as_json))


@app.command(epilog="Example: seatunnel plan configs/shop.conf --svg plan.svg")
def plan(
    job: JobArgument,
    variable: Variables = None,
    as_json: AsJson = False,
    svg: Annotated[Path | None, typer.Option(help="draw the plan into this file")] = None,
    job_id: Annotated[str | None, typer.Option(help="with --restore latest: the job that would go on")] = None,
    restore: Annotated[
        str | None, typer.Option(metavar="latest|SAVEPOINT", help="say what has changed since then, and what follows")
    ] = None,
) -> None:
    """Show what a run would do.

    Tables, splits, DDL, guarantees. Reads from both ends, changes nothing; exit code 3 when a table would fail.
    """
    from seatunnel_py.cli import plan as command

    raise typer.Exit(command.plan(job, _variables(variable), job_id, restore, as_json=as_json, svg=svg))


@app.command(epilog="Example: seatunnel run configs/shop.conf -i day=2026-01-31 --only public.orders")
def run(
    job: JobArgument,
    variable: Variables = None,
    job_id: Annotated[str | None, typer.Option(help="a name for this run; default: a new one")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="forget what is known of the job id and start anew")] = False,
    restore: Annotated[
        str | None,
        typer.Option(
            metavar="latest|SAVEPOINT", help="go on with the job of this id where it stood, or begin with a savepoint"
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="TABLE", help="only this source table, or the end of its name; may be repeated"),
    ] = None,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="with --restore: go on although the job file has changed")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Run a job and print a receipt.

    Ctrl-C stops it cleanly: what was not committed does not become visible. A second one ends it at once.
    """
    from seatunnel_py.cli import run as command

    request = command.Request(
        job, _variables(variable), job_id, fresh, restore, tuple(only or ()), as_json, accept_changes
    )
    raise typer.Exit(command.run(request))


@app.command(epilog="Example: seatunnel preview configs/shop.conf --rows 5")
def preview(
    job: JobArgument,
    variable: Variables = None,
    rows: Annotated[int, typer.Option(min=1, max=1000, help="rows per table and step")] = 10,
) -> None:
    """Show the first rows behind every step.

    Reads from the sources, writes nowhere.
    """
    from seatunnel_py.cli import preview as command

    raise typer.Exit(command.preview(job, _variables(variable), rows))


@app.command(name="test", epilog="Example: seatunnel test configs/checks --junit report.xml")
def test_jobs(
    paths: Annotated[list[Path], typer.Argument(help="job files, or directories of them")],
    variable: Variables = None,
    junit: Annotated[Path | None, typer.Option(help="write a JUnit report")] = None,
) -> None:
    """Run job files that check themselves.

    With Assert sinks, all in one Spark application; exit code 0 when all of them passed.
    """
    from seatunnel_py.cli import test as command

    raise typer.Exit(command.test(paths, _variables(variable), junit))


@app.command(epilog="Example: seatunnel doctor --json")
def doctor(as_json: AsJson = False) -> None:
    """Look at what this machine has.

    Java, Python, libraries, memory, disk; each lack with the command that mends it.
    """
    from seatunnel_py.cli import doctor as command

    raise typer.Exit(command.doctor(as_json=as_json))


@app.command(epilog="Example: seatunnel encrypt job.conf > encrypted.conf")
def encrypt(job: JobArgument, decrypt: Annotated[bool, typer.Option("--decrypt", help="the way back")] = False) -> None:
    """Print a job file with its secrets encrypted.

    By the cipher that env.shade.identifier names.
    """
    from seatunnel_py.cli import shade as command

    raise typer.Exit(command.rewrite(job, decrypt=decrypt))


@jobs_app.command("list", epilog="Example: seatunnel jobs list --json")
def jobs_list(file: StoreOf = None, variable: Variables = None, as_json: AsJson = False) -> None:
    """All known jobs, oldest first.

    With --file those that share its checkpoint.location, from whatever machine.
    """
    from seatunnel_py.cli import jobs as command

    raise typer.Exit(command.listing(_where(file, variable), as_json=as_json))


@jobs_app.command("show", epilog="Example: seatunnel jobs show nightly-2026-01-31 --last 50")
def jobs_show(
    job_id: JobId,
    last: Annotated[int, typer.Option(min=1, help="how many failures")] = 20,
    every: Annotated[bool, typer.Option("--all", help="all failures")] = False,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """One job: what it is at, what arrived, and every failure with what followed.

    A running job says who waits for whom; after that it is only looked at.
    """
    from seatunnel_py.cli import jobs as command

    shown = None if every else last
    raise typer.Exit(command.show(job_id, _where(file, variable), shown, as_json=as_json))


@quarantine_app.command("list", epilog="Example: seatunnel quarantine list --job-id nightly")
def quarantine_list(
    job_id: Annotated[str | None, typer.Option(help="this job only")] = None, as_json: AsJson = False
) -> None:
    """How many bad rows are kept, by job and table."""
    from seatunnel_py.cli import quarantine as command

    raise typer.Exit(command.listing(job_id, as_json=as_json))


@quarantine_app.command("show", epilog="Example: seatunnel quarantine show nightly --table shop.public.orders")
def quarantine_show(
    job_id: str,
    table: Annotated[str | None, typer.Option(help="rows of this table only")] = None,
    limit: Annotated[int, typer.Option(min=1, help="how many rows")] = 20,
    as_json: AsJson = False,
) -> None:
    """Bad rows of a job: the row as it was read, which step refused it, and why."""
    from seatunnel_py.cli import quarantine as command

    raise typer.Exit(command.show(job_id, table, limit, as_json=as_json))


@quarantine_app.command("replay", epilog="Example: seatunnel quarantine replay nightly --file configs/shop.conf")
def quarantine_replay(
    job_id: str,
    file: Annotated[Path | None, typer.Option(help="the job file; default: the one that the job had")] = None,
    variable: Variables = None,
    table: Annotated[str | None, typer.Option(help="rows of this table only")] = None,
    as_json: AsJson = False,
) -> None:
    """Deliver the bad rows of a job after a fix, each once.

    They go through the job file as it is now; those that fail again are kept with the new error.
    """
    from seatunnel_py.cli import quarantine as command

    request = command.Replay(job_id, file, _variables(variable), table, as_json)
    raise typer.Exit(command.redeliver(request))


Timeout = Annotated[float, typer.Option("--timeout", min=1, metavar="SECONDS", help="how long the job may take")]


@jobs_app.command("savepoint", epilog="Example: seatunnel jobs savepoint nightly --name before-upgrade --stop")
def jobs_savepoint(
    job_id: JobId,
    name: Annotated[str | None, typer.Option(help="what `run --restore` calls it; default: a new one")] = None,
    stop: Annotated[bool, typer.Option("--stop", help="end the job behind it")] = False,
    timeout: Timeout = 300.0,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Keep where a running job stands, for another job to begin with."""
    from seatunnel_py.cli import control as command

    where = _where(file, variable)
    raise typer.Exit(command.savepoint(job_id, where, name, stop=stop, seconds=timeout, as_json=as_json))


@jobs_app.command("cancel", epilog="Example: seatunnel jobs cancel nightly --table shop.orders")
def jobs_cancel(
    job_id: JobId,
    table: Annotated[list[str] | None, typer.Option(metavar="TABLE", help="only this one; may be repeated")] = None,
    timeout: Timeout = 60.0,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """End a running job at once: nothing unfinished becomes visible."""
    from seatunnel_py.cli import control as command

    where = _where(file, variable)
    raise typer.Exit(command.cancel(job_id, where, tuple(table or ()), seconds=timeout, as_json=as_json))


@state_app.command("show", epilog="Example: seatunnel state show nightly --json")
def state_show(job_id: JobId, file: StoreOf = None, variable: Variables = None, as_json: AsJson = False) -> None:
    """What the checkpoints of a job hold, table by table and split by split."""
    from seatunnel_py.cli import state as command

    raise typer.Exit(command.show(job_id, _where(file, variable), as_json=as_json))


@state_app.command("diff", epilog="Example: seatunnel state diff nightly@-1 nightly")
def state_diff(
    first: Annotated[str, typer.Argument(help="JOB, JOB@17, JOB@-1 (one before the newest), or a savepoint")],
    second: Annotated[str, typer.Argument(help="the same")],
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """What is different between two checkpoints or savepoints.

    Graph, splits, positions, ledgers; table by table.
    """
    from seatunnel_py.cli import state as command

    raise typer.Exit(command.diff(first, second, _where(file, variable), as_json=as_json))


@state_app.command("rewind", epilog="Example: seatunnel state rewind nightly@-1 --yes")
def state_rewind(
    checkpoint: Annotated[str, typer.Argument(help="JOB@17, or JOB@-1 (one before the newest)")],
    table: Annotated[list[str] | None, typer.Option(metavar="TABLE", help="only this one; may be repeated")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="do it; without it only what follows is said")] = False,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Let a job go on from an older checkpoint.

    Says first which targets will get rows again, or twice; one that counts checkpoints is refused.
    """
    from seatunnel_py.cli import state as command

    where = _where(file, variable)
    raise typer.Exit(command.rewind(checkpoint, tuple(table or ()), where, yes=yes, as_json=as_json))


@plugins_app.command("list", epilog="Example: seatunnel plugins list --json")
def plugins_list(as_json: AsJson = False) -> None:
    """All installed plugins."""
    from seatunnel_py.cli import plugins as command

    raise typer.Exit(command.listing(as_json=as_json))


@plugins_app.command("show", epilog="Example: seatunnel plugins show Jdbc")
def plugins_show(name: str, as_json: AsJson = False) -> None:
    """Options of a plugin: types, defaults, older names."""
    from seatunnel_py.cli import plugins as command

    raise typer.Exit(command.show(name, as_json=as_json))


@app.callback(invoke_without_command=True)
def root(version: Annotated[bool, typer.Option("--version", help="print the version")] = False) -> None:
    if version:
        from seatunnel_py import __version__

        typer.echo(f"seatunnel-py {__version__}")
        raise typer.Exit


def _where(file: Path | None, variables: list[str] | None) -> Where:
    from seatunnel_py.cli.known import Where

    return Where(file, _variables(variables))


def _variables(given: list[str] | None) -> dict[str, str]:
    from seatunnel_py.config.variables import parse_arguments

    return parse_arguments(given or [])


def main() -> None:
    """Entry point: errors of ours are told, not traced, and so is a full disk; anything else is a bug and keeps its
    trace."""
    try:
        app(color=False if os.environ.get("NO_COLOR") else None)
    except JobFileError as error:
        from seatunnel_py.cli.problems import tell_problems

        sys.exit(tell_problems(error))
    except SeaTunnelError as error:
        typer.echo(f"error: {error}", err=True)
        sys.exit(1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise
        typer.echo(f"error: {error.strerror}: {error.filename or 'where the output goes'}", err=True)
        sys.stdout = None  # what it still holds cannot be written either
        sys.exit(1)
