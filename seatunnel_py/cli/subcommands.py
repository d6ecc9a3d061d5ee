"""Defines the commands ``table``, ``quarantine``, ``state``, ``server`` and ``plugins``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from seatunnel_py.cli.arguments import AsJson, JobId, StoreOf, Timeout, Variables, Where, variables_of, where_of
from seatunnel_py.cli.schedule_subcommands import schedule_app

quarantine_app = typer.Typer(no_args_is_help=True, help="Quarantined rows.")
table_app = typer.Typer(no_args_is_help=True, help="Single tables of jobs.")
state_app = typer.Typer(no_args_is_help=True, help="Where jobs stand.")


@quarantine_app.command("list", epilog="Example: seatunnel quarantine list --job-id nightly")
def quarantine_list(
    job_id: Annotated[str | None, typer.Option(help="this job only")] = None,
    reasons: Annotated[bool, typer.Option("--reasons", help="also by reason, without values of rows")] = False,
    as_json: AsJson = False,
) -> None:
    """Count the bad rows, by job and table."""
    from seatunnel_py.cli.jobs import quarantine as command

    raise typer.Exit(command.listing(job_id, reasons=reasons, as_json=as_json))


@quarantine_app.command("show", epilog="Example: seatunnel quarantine show nightly --table shop.public.orders")
def quarantine_show(
    job_id: Annotated[str, typer.Argument(help="as `seatunnel quarantine list` names it")],
    table: Annotated[str | None, typer.Option(help="rows of this table only")] = None,
    limit: Annotated[int, typer.Option(min=1, help="how many rows")] = 20,
    masked: Annotated[bool, typer.Option("--masked", help="types and lengths in place of values")] = False,
    as_json: AsJson = False,
) -> None:
    """Show bad rows of a job: the row as it was read, which step refused it, and why."""
    from seatunnel_py.cli.jobs import quarantine as command

    raise typer.Exit(command.show(job_id, table, limit, masked=masked, as_json=as_json))


@quarantine_app.command("replay", epilog="Example: seatunnel quarantine replay nightly --file configs/shop.conf")
def quarantine_replay(
    job_id: Annotated[str, typer.Argument(help="as `seatunnel quarantine list` names it")],
    file: Annotated[Path | None, typer.Option(help="the job file; default: the one that the job had")] = None,
    variable: Variables = None,
    table: Annotated[str | None, typer.Option(help="rows of this table only")] = None,
    as_json: AsJson = False,
) -> None:
    """Deliver the bad rows of a job after a fix, each once.

    Bad rows pass through the current job file; rows that fail again are kept with the new error.
    """
    from seatunnel_py.cli.jobs import quarantine as command

    request = command.ReplayRequest(job_id, file, variables_of(variable), table, as_json)
    raise typer.Exit(command.redeliver(request))


@state_app.command("show", epilog="Example: seatunnel state show nightly --json")
def state_show(job_id: JobId, file: StoreOf = None, variable: Variables = None, as_json: AsJson = False) -> None:
    """Show the checkpoints of a job, table by table and split by split."""
    from seatunnel_py.cli.jobs import state as command

    raise typer.Exit(command.show(job_id, where_of(file, variable), as_json=as_json))


@state_app.command("diff", epilog="Example: seatunnel state diff nightly@-1 nightly")
def state_diff(
    first: Annotated[str, typer.Argument(help="JOB, JOB@17, JOB@-1 (one before the newest), or a savepoint")],
    second: Annotated[str, typer.Argument(help="the same")],
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Compare two checkpoints or savepoints.

    Graph, splits, positions, ledgers; table by table.
    """
    from seatunnel_py.cli.jobs import state as command

    raise typer.Exit(command.diff(first, second, where_of(file, variable), as_json=as_json))


@state_app.command("savepoints", epilog="Example: seatunnel state savepoints --file shop.conf")
def state_savepoints(file: StoreOf = None, variable: Variables = None, as_json: AsJson = False) -> None:
    """List the savepoints.

    On this machine and, with --file, beside the checkpoints of that job.
    """
    from seatunnel_py.cli.jobs import savepoints as command

    raise typer.Exit(command.listing(where_of(file, variable), as_json=as_json))


@state_app.command("drop", epilog="Example: seatunnel state drop before-upgrade")
def state_drop(
    savepoint: Annotated[str, typer.Argument(help="its name, or the path of its manifest")],
    file: StoreOf = None,
    variable: Variables = None,
) -> None:
    """Delete a savepoint.

    A job that started from it keeps running; one with unfinished rows then needs it until its first checkpoint.
    """
    from seatunnel_py.cli.jobs import savepoints as command

    raise typer.Exit(command.drop(savepoint, where_of(file, variable)))


@state_app.command("rewind", epilog="Example: seatunnel state rewind nightly@-1 --yes")
def state_rewind(
    checkpoint: Annotated[str, typer.Argument(help="JOB@17, or JOB@-1 (one before the newest)")],
    table: Annotated[list[str] | None, typer.Option(metavar="TABLE", help="only this one; may be repeated")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="do it; without it only the consequences are shown")] = False,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Resume a job from an older checkpoint.

    First reports which targets will receive rows again, or twice; a target that counts checkpoints refuses it.
    """
    from seatunnel_py.cli.jobs import state as command

    where = where_of(file, variable)
    raise typer.Exit(command.rewind(checkpoint, tuple(table or ()), where, yes=yes, as_json=as_json))


@table_app.command("reset", epilog="Example: seatunnel table reset shop public.orders")
def table_reset(
    job_id: JobId,
    table: Annotated[list[str], typer.Argument(metavar="TABLE...", help="tables whose log the job follows")],
    timeout: Timeout = 300.0,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Copy tables again that a job follows: their targets are emptied first.

    A running job does it at once, a stopped one at its next start. The other tables go on where they stand.
    """
    from seatunnel_py.cli.jobs import job_control as command

    where = where_of(file, variable)
    raise typer.Exit(command.reset(job_id, where, tuple(table), seconds=timeout, as_json=as_json))


@table_app.command(
    "refresh", epilog='Example: seatunnel table refresh shop public.orders --where "id BETWEEN 10 AND 20"'
)
def table_refresh(
    job_id: JobId,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="a table whose log the job follows")],
    where: Where = "",
    timeout: Timeout = 300.0,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Read rows of a followed table again, without emptying its target.

    Rows that the source does not have are removed. A running job does it at once, a stopped one at its next start.
    """
    from seatunnel_py.cli.jobs import job_control as command

    location = where_of(file, variable)
    raise typer.Exit(command.refresh(job_id, location, table, where, seconds=timeout, as_json=as_json))


server_app = typer.Typer(no_args_is_help=True, help="The server: jobs over HTTP.")
token_app = typer.Typer(no_args_is_help=True, help="Tokens that open the server.")
server_app.add_typer(token_app, name="token")
server_app.add_typer(schedule_app, name="schedule")
SettingsFile = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="notifications, rules of addresses; default: server.conf in SEATUNNEL_HOME"),
]
PORT = 5801  # as `ServerSettings.port`, which needs no import here


@server_app.command("run", epilog="Example: seatunnel server run --port 5801")
def server_run(
    host: Annotated[
        str, typer.Option(help="the address to listen at; others than this machine need TLS or a proxy")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0: any free one")] = PORT,
    tls_certificate: Annotated[Path | None, typer.Option(metavar="FILE", help="in PEM, with its chain")] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="FILE", help="the key of the certificate")] = None,
    trusted_proxy: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="a proxy that speaks TLS; its X-Forwarded headers count; may be repeated"),
    ] = None,
    allowed_host: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="a further name of this server; may be repeated")
    ] = None,
    allowed_env: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="a variable of its environment that job files may refer to; may be repeated"),
    ] = None,
    warm_drivers: Annotated[
        int, typer.Option(min=0, max=8, help="drivers that wait for a job with Spark up; each takes 600 MB")
    ] = 1,
    settings: SettingsFile = None,
    seatunnel_api: Annotated[bool, typer.Option("--seatunnel-api", help="answer SeaTunnel's REST API v2, too")] = False,
    seatunnel_api_v1: Annotated[
        bool, typer.Option("--seatunnel-api-v1", help="and its older paths below /hazelcast/rest/maps")
    ] = False,
    seatunnel_partial: Annotated[
        str, typer.Option(metavar="STATUS", help="its status of a run with failed tables: failed or finished")
    ] = "failed",
    seatunnel_status_open: Annotated[
        list[str] | None,
        typer.Option(metavar="ADDRESS", help="may read the status of a known job without a token; may be repeated"),
    ] = None,
    seatunnel_strict: Annotated[
        bool, typer.Option("--seatunnel-strict", help="answer 404 for an unknown job, in place of an empty one")
    ] = False,
) -> None:
    """Serve the jobs of SEATUNNEL_HOME over HTTP.

    Nothing without a token: the first start writes one into a private file, and names it. Jobs are processes of their
    own, and go on when the server ends.
    """
    from seatunnel_py.cli.server import serving as command

    names = (tuple(trusted_proxy or ()), tuple(allowed_host or ()), tuple(allowed_env or ()))
    partial, status_open = seatunnel_partial.lower(), tuple(seatunnel_status_open or ())
    theirs = command.SeaTunnelRequest(seatunnel_api, seatunnel_api_v1, partial, status_open, seatunnel_strict)
    request = command.ServerRequest(host, port, tls_certificate, tls_key, *names, warm_drivers, settings, theirs)
    raise typer.Exit(command.run(request))


@server_app.command("login-link", epilog="Example: seatunnel server login-link")
def server_login_link(
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="of the token that logs in; default: that of the first start")
    ] = None,
) -> None:
    """Print a link that logs a browser in, once, in the next ten minutes.

    For a user who may read the file of the token. On a terminal only.
    """
    from seatunnel_py.cli.server import login_link as command

    raise typer.Exit(command.show(token_file))


@server_app.command("notify-test", epilog="Example: seatunnel server notify-test ops")
def server_notify_test(
    target: Annotated[str, typer.Argument(help="its name in the settings file")],
    settings: SettingsFile = None,
    as_json: AsJson = False,
) -> None:
    """Send a test to a target of notifications, and show its answer.

    No server needs to run.
    """
    from seatunnel_py.cli.server import notify_test as command

    raise typer.Exit(command.send(target, settings, as_json=as_json))


@server_app.command("probe", epilog="Example: seatunnel server probe --ready")
def server_probe(
    ready: Annotated[
        bool, typer.Option("--ready", help="whether it takes writes, not only whether it answers")
    ] = False,
) -> None:
    """Show by the exit code whether the server of SEATUNNEL_HOME works, for containers.

    0: it answers; 1: it does not, or is not ready; 2: no server runs. Without a token.
    """
    from seatunnel_py.cli.server import probing as command

    raise typer.Exit(command.probe(ready=ready))


BackupFile = Annotated[Path, typer.Argument(metavar="FILE", help="the backup, readable by you alone")]


@server_app.command("backup", epilog="Example: seatunnel server backup /backup/server-2026-01-31.backup")
def server_backup(
    file: BackupFile, replace: Annotated[bool, typer.Option("--replace", help="replace a file of that name")] = False
) -> None:
    """Copy the server's database, in SQLite or PostgreSQL, into a private file, while the server runs.

    With definitions, schedules, policies, tokens, the audit and the outbox. Runs, savepoints and settings files are
    other files of SEATUNNEL_HOME, and not in it.
    """
    from seatunnel_py.cli.server import backups as command

    raise typer.Exit(command.back_up(file, replaces=replace))


@server_app.command("restore", epilog="Example: seatunnel server restore /backup/server-2026-01-31.backup --replace")
def server_restore(
    file: BackupFile,
    replace: Annotated[bool, typer.Option("--replace", help="replace the database that is there")] = False,
) -> None:
    """Give a backup of the server's database back, while no server of this home runs.

    To the database that server.conf names, so this also moves a server between SQLite and PostgreSQL. A damaged backup,
    or one of a newer release, changes nothing. Runs go on: they need no database.
    """
    from seatunnel_py.cli.server import backups as command

    raise typer.Exit(command.restore(file, replaces=replace))


@token_app.command("create", epilog="Example: seatunnel server token create grafana --role read --to grafana.token")
def token_create(
    name: Annotated[str, typer.Argument(help="what it is for")],
    role: Annotated[
        str, typer.Option(help="read, operate, edit or admin; each has the rights of those before")
    ] = "read",
    days: Annotated[float, typer.Option(min=0.01, help="how long it is valid")] = 90.0,
    data: Annotated[bool, typer.Option("--data", help="it may see values of rows")] = False,
    to: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write it into this new, private file; `-` prints it")
    ] = None,
) -> None:
    """Make a token, which is shown once.

    A terminal shows the token. Elsewhere a file must be named, for output often ends in a log.
    """
    from seatunnel_py.cli.server import tokens as command

    raise typer.Exit(command.create(name, role, days, to, data=data))


@token_app.command("list", epilog="Example: seatunnel server token list --json")
def token_list(as_json: AsJson = False) -> None:
    """All tokens, without their texts."""
    from seatunnel_py.cli.server import tokens as command

    raise typer.Exit(command.listing(as_json=as_json))


@token_app.command("revoke", epilog="Example: seatunnel server token revoke grafana")
def token_revoke(
    token: Annotated[str, typer.Argument(help="its id or name, as `seatunnel server token list` shows it")],
) -> None:
    """End a token, within a second."""
    from seatunnel_py.cli.server import tokens as command

    raise typer.Exit(command.revoke(token))


plugins_app = typer.Typer(no_args_is_help=True, help="Installed sources, transforms and sinks.")


@plugins_app.command("list", epilog="Example: seatunnel plugins list --json")
def plugins_list(as_json: AsJson = False) -> None:
    """All installed plugins."""
    from seatunnel_py.cli.commands import plugins as command

    raise typer.Exit(command.listing(as_json=as_json))


@plugins_app.command("show", epilog="Example: seatunnel plugins show Jdbc")
def plugins_show(
    name: Annotated[str, typer.Argument(help="as `seatunnel plugins list` names it")], as_json: AsJson = False
) -> None:
    """Options of a plugin: types, defaults, older names."""
    from seatunnel_py.cli.commands import plugins as command

    raise typer.Exit(command.show(name, as_json=as_json))


@plugins_app.command("schema", epilog="Example: seatunnel plugins schema --to job.schema.json")
def plugins_schema(to: Annotated[Path | None, typer.Option(metavar="FILE", help="write it there")] = None) -> None:
    """A JSON Schema of job files in JSON, for editors."""
    from seatunnel_py.cli.commands import plugins as command

    raise typer.Exit(command.schema(to))
