"""Defines the commands about whole jobs: ``jobs``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seatunnel_py.cli.arguments import AsJson, JobId, StoreOf, Timeout, Variables, variables_of, where_of

jobs_app = typer.Typer(no_args_is_help=True, help="Jobs under SEATUNNEL_HOME.")


@jobs_app.command("list", epilog="Example: seatunnel jobs list --state running --state killed --sort rows")
def jobs_list(
    state: Annotated[list[str] | None, typer.Option(help="only jobs in this state; may be repeated")] = None,
    name: Annotated[str, typer.Option(metavar="TEXT", help="only jobs with this in id, name or file")] = "",
    sort: Annotated[str, typer.Option(help="started, duration, rows, state or name")] = "started",
    limit: Annotated[int | None, typer.Option(min=1, help="how many jobs")] = None,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """All known jobs, newest first.

    With --file those that share its checkpoint.location, from any machine.
    """
    from seatunnel_py.cli.jobs import job_list as command
    from seatunnel_py.jobs.job_rows import selection

    chosen = selection(state or (), name, sort, limit)
    raise typer.Exit(command.listing(where_of(file, variable), chosen, as_json=as_json))


@jobs_app.command("watch", epilog="Example: seatunnel jobs watch nightly")
def jobs_watch(job_id: JobId, file: StoreOf = None, variable: Variables = None, as_json: AsJson = False) -> None:
    """Show a running job until it ends: rows and rates, tables, checkpoints.

    The exit code is that of the run. With --json, print one document per line after each change.
    """
    from seatunnel_py.cli.jobs import job_watch as command

    raise typer.Exit(command.watch(job_id, where_of(file, variable), as_json=as_json))


@jobs_app.command("show", epilog="Example: seatunnel jobs show nightly-2026-01-31 --last 50")
def jobs_show(
    job_id: JobId,
    last: Annotated[int, typer.Option(min=1, help="how many failures")] = 20,
    every: Annotated[bool, typer.Option("--all", help="all failures")] = False,
    plan: Annotated[bool, typer.Option("--plan", help="the plan of its last run instead, as `plan` shows one")] = False,
    probe: Annotated[bool, typer.Option("--probe", help="only whether its driver on this machine works")] = False,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Show one job: its state, the rows that arrived, and every failure with its consequence.

    A running job reports which step waits for which; afterwards only its records are shown. With --probe the exit code
    is 0 for a driver that works, 1 for one that hangs, 2 for none, also after its end.
    """
    from seatunnel_py.cli.jobs import job_list as command

    if probe:
        from seatunnel_py.cli.jobs import probe as looking

        raise typer.Exit(looking.probe(job_id, as_json=as_json))

    if plan:
        raise typer.Exit(command.show_plan(job_id, where_of(file, variable), as_json=as_json))
    shown = None if every else last
    raise typer.Exit(command.show(job_id, where_of(file, variable), shown, as_json=as_json))


@jobs_app.command("explain", epilog="Example: seatunnel jobs explain nightly --json")
def jobs_explain(job_id: JobId, file: StoreOf = None, variable: Variables = None, as_json: AsJson = False) -> None:
    """Ask a running job which part of it waits for which.

    With --json as data: each subtask with its activity, since when, and for which subtask, channel or checkpoint it
    waits.
    """
    from seatunnel_py.cli.jobs import explain as command

    raise typer.Exit(command.explain(job_id, where_of(file, variable), as_json=as_json))


@jobs_app.command("savepoint", epilog="Example: seatunnel jobs savepoint nightly --name before-upgrade --stop")
def jobs_savepoint(
    job_id: JobId,
    name: Annotated[str | None, typer.Option(help="its name for `run --restore`; default: a new one")] = None,
    stop: Annotated[bool, typer.Option("--stop", help="end the job after it")] = False,
    timeout: Timeout = 300.0,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Save the state of a running job, for another job to start from."""
    from seatunnel_py.cli.jobs import job_control as command

    where = where_of(file, variable)
    raise typer.Exit(command.savepoint(job_id, where, name, stop=stop, seconds=timeout, as_json=as_json))


@jobs_app.command("restore", epilog="Example: seatunnel jobs restore nightly -i day=2026-01-31")
def jobs_restore(
    job_id: JobId,
    file: Annotated[Path | None, typer.Option(help="the job file; default: the one that the job had")] = None,
    variable: Variables = None,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="resume although the job file has changed")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Resume a job, as `run --restore latest` does; a job with a running driver is left to it.

    Variables are not stored, for one may be a secret: give them again.
    """
    from seatunnel_py.cli.commands import run as command

    given = variables_of(variable)
    raise typer.Exit(command.restore(job_id, file, given, accept_changes=accept_changes, as_json=as_json))


@jobs_app.command("cancel", epilog="Example: seatunnel jobs cancel nightly --table shop.orders")
def jobs_cancel(
    job_id: JobId,
    table: Annotated[list[str] | None, typer.Option(metavar="TABLE", help="only this one; may be repeated")] = None,
    timeout: Timeout = 60.0,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """End a running job at once: unfinished work does not become visible."""
    from seatunnel_py.cli.jobs import job_control as command

    where = where_of(file, variable)
    raise typer.Exit(command.cancel(job_id, where, tuple(table or ()), seconds=timeout, as_json=as_json))


@jobs_app.command("drop", epilog="Example: seatunnel jobs drop nightly --yes")
def jobs_drop(
    job_id: JobId,
    yes: Annotated[bool, typer.Option("--yes", help="do it; without it only the consequences are shown")] = False,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Give a job up: delete its checkpoints, and drop what it has made at its sources.

    Replication slots and publications of Postgres-CDC. Targets keep their rows. Refused while a savepoint of the job
    exists.
    """
    from seatunnel_py.cli.jobs import drop as command

    raise typer.Exit(command.drop(job_id, where_of(file, variable), yes=yes, as_json=as_json))


@jobs_app.command("metrics", epilog="Example: seatunnel jobs metrics --to /var/lib/node_exporter/seatunnel.prom")
def jobs_metrics(
    job_ids: Annotated[
        list[str] | None, typer.Argument(metavar="[ID...]", help="as `seatunnel jobs list` names them; default: all")
    ] = None,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="replace this file at once, instead")] = None,
) -> None:
    """Print the metrics of jobs in the text format of Prometheus.

    From the records that their drivers write, at most a second old.
    """
    from seatunnel_py.cli.jobs import metrics as command

    raise typer.Exit(command.metrics(job_ids or (), to))


Unfinished = Annotated[
    bool, typer.Option("--unfinished", help="also jobs that can go on, with the state to resume from")
]
BadRows = Annotated[bool, typer.Option("--bad-rows", help="also jobs with bad rows that were not replayed")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="only show what would be removed")]
OnlyHere = Annotated[bool, typer.Option("--only-here", help="leave their files in shared places")]


@jobs_app.command("rm", epilog="Example: seatunnel jobs rm nightly-2026-01-31 nightly-2026-01-30")
def jobs_rm(
    job_ids: Annotated[list[str], typer.Argument(metavar="ID...", help="as `seatunnel jobs list` names them")],
    unfinished: Unfinished = False,
    bad_rows: BadRows = False,
    dry_run: DryRun = False,
    only_here: OnlyHere = False,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Remove jobs that have ended, with all of their files.

    Targets keep their rows. A job that runs, that has savepoints, or whose source keeps a log for it is kept, with the
    command that helps.
    """
    from seatunnel_py.cli.removal import removal as command
    from seatunnel_py.cli.removal.removal_rules import Consent

    options = command.RemovalOptions(Consent(unfinished, bad_rows), dry_run, only_here, as_json)
    raise typer.Exit(command.remove(job_ids, where_of(file, variable), options))


@jobs_app.command(
    "prune", epilog="Example: seatunnel jobs prune --older-than 7d --keep 3 --state done,failed --dry-run"
)
def jobs_prune(
    older_than: Annotated[str | None, typer.Option(metavar="AGE", help="ended that long ago, as in 12h or 7d")] = None,
    keep: Annotated[int | None, typer.Option(min=0, metavar="N", help="keep the N newest of each job name")] = None,
    state: Annotated[list[str] | None, typer.Option(help="in these states; default: done; may be a list")] = None,
    bad_rows: BadRows = False,
    dry_run: DryRun = False,
    only_here: OnlyHere = False,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Remove old jobs by rule.

    Rules restrict each other; one of --older-than and --keep is needed. Without --state only jobs go that are done or
    dropped. For the rest see `jobs rm`.
    """
    from seatunnel_py.cli.removal import removal as command
    from seatunnel_py.cli.removal.removal_rules import Consent

    rule = command.prune_rule(older_than, keep, state or ())
    options = command.RemovalOptions(Consent(bad_rows=bad_rows), dry_run, only_here, as_json)
    raise typer.Exit(command.prune(rule, where_of(file, variable), options))
