"""Implements the ``seatunnel`` command. Each command imports its code when it is called: ``check`` must not pay for
``run``."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import nullcontext
from copy import copy as shallow_copy
from pathlib import Path
from typing import Annotated

import typer

from seatunnel_py.cli import debugging
from seatunnel_py.cli.arguments import (
    AsJson,
    ColumnLineage,
    JobArgument,
    Resets,
    Settle,
    SomeTables,
    Variables,
    Wait,
    WaitTimeout,
    Where,
    variables_of,
)
from seatunnel_py.cli.change_subcommands import changes_app
from seatunnel_py.cli.job_subcommands import jobs_app
from seatunnel_py.cli.subcommands import plugins_app, quarantine_app, server_app, state_app, table_app
from seatunnel_py.cli.view.files import keep_whole
from seatunnel_py.cli.view.terminal import documents_alone, say
from seatunnel_py.cli.view.wait_notice import patience
from seatunnel_py.errors import JobFileError, Problem, SeaTunnelError

app = typer.Typer(
    name="seatunnel",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Data integration on Spark: job files in HOCON, connectors in Python, tables that fail alone.",
    epilog="Start with: seatunnel check JOB, then plan, preview and run it; every command has --help with an example. "
    "Exit codes: 0 success, 1 failed, 2 job file wrong, 3 some tables failed, 4 runs already, "
    "130/143 stopped by a signal.",
)
_named = {"jobs": jobs_app, "table": table_app, "changes": changes_app, "quarantine": quarantine_app}
for _name, _commands in {**_named, "state": state_app, "plugins": plugins_app, "server": server_app}.items():
    app.add_typer(_commands, name=_name)


@app.command(epilog="Example: seatunnel init csv-to-parquet --to sales.conf")
def init(
    template: Annotated[str | None, typer.Argument(help="which one; without it all are listed")] = None,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="where it goes; `-` prints it")] = None,
) -> None:
    """Write a job file to start from.

    Commented, with gaps to fill in; `connector` is a Python distribution of your own. Overwrites nothing.
    """
    from seatunnel_py.cli.commands import init as command

    raise typer.Exit(command.listing() if template is None else command.write(template, to))


@app.command(epilog="Example: seatunnel check configs/shop.conf -i day=2026-01-31")
def check(
    jobs: Annotated[list[Path], typer.Argument(help="job files")], variable: Variables = None, as_json: AsJson = False
) -> None:
    """Report every mistake in job files.

    Starts nothing and connects nowhere.
    """
    from seatunnel_py.cli.commands import check as command

    raise typer.Exit(command.check(jobs, variables_of(variable), as_json=as_json))


@app.command(epilog="Example: seatunnel plan configs/shop.conf --svg plan.svg")
def plan(
    job: JobArgument,
    variable: Variables = None,
    as_json: AsJson = False,
    svg: Annotated[Path | None, typer.Option(help="draw the plan into this file")] = None,
    lineage: ColumnLineage = False,
    job_id: Annotated[str | None, typer.Option(help="with --restore latest: the job to resume")] = None,
    restore: Annotated[
        str | None,
        typer.Option(metavar="latest|SAVEPOINT", help="report the changes since then, and their consequences"),
    ] = None,
    only: SomeTables = None,
) -> None:
    """Show what a run would do.

    Tables, splits, DDL, guarantees. Reads from both ends, changes nothing; exit code 3 if a table would fail.
    """
    from seatunnel_py.cli.commands import plan as command

    began = (job_id, restore, tuple(only or ()))
    raise typer.Exit(command.plan(job, variables_of(variable), *began, as_json=as_json, svg=svg, lineage=lineage))


@app.command(epilog="Example: seatunnel run configs/shop.conf -i day=2026-01-31 --only public.orders")
def run(
    job: Annotated[Path | None, typer.Argument(help="job file: HOCON, or JSON when it ends in .json")] = None,
    variable: Variables = None,
    job_id: Annotated[str | None, typer.Option(help="a name for this run; default: a new one")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="forget the job, start again beside visible rows")] = False,
    restore: Annotated[
        str | None,
        typer.Option(metavar="latest|SAVEPOINT", help="resume the job of this id, or start from a savepoint"),
    ] = None,
    only: SomeTables = None,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="with --restore: resume although the job file has changed")
    ] = False,
    reset: Resets = None,
    here: Annotated[
        bool, typer.Option("--here", help="all in this process, without Spark: for debuggers and breakpoint()")
    ] = False,
    wait: Wait = False,
    timeout: WaitTimeout = None,
    as_json: AsJson = False,
) -> None:
    """Run a job and print a receipt.

    Ctrl-C stops it cleanly: uncommitted rows do not become visible. A second one ends it at once. Exit code 4: a
    driver of the job runs already. The output of --json is also in the file that SEATUNNEL_RESULT_FILE names.
    """
    from seatunnel_py.cli.commands import run as command

    if job is None:
        remedy = "`seatunnel init` writes one to begin with; `seatunnel copy FROM TO` needs none."
        raise JobFileError((Problem("run needs a job file", "command line", remedy=remedy),))
    tables, resets = tuple(only or ()), tuple(reset or ())
    request = command.RunRequest(
        job, variables_of(variable), job_id, fresh, restore, tables, as_json, accept_changes, here, reset=resets,
        waits=wait, timeout=timeout,
    )  # fmt: skip
    raise typer.Exit(command.run(request))


@app.command(epilog="Example: seatunnel copy postgresql://me@db/shop sqlite:shop.db --table public.o*")
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="an address: of a database, a topic, files")],
    target: Annotated[str, typer.Argument(metavar="TO", help="an address; `console:` prints the rows")],
    table: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="only this table; * for anything; may be repeated")
    ] = None,
    into: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="the target table, as ${schema_name}_${table_name}; default: its own, and its schema in PostgreSQL",
        ),
    ] = "",
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="not this table; * for anything; may be repeated")
    ] = None,
    kinds: Annotated[
        str, typer.Option(metavar="KINDS", help="table,view,materialized_view,foreign,partition; default: table")
    ] = "",
    replace: Annotated[bool, typer.Option("--replace", help="empty the target's tables first")] = False,
    append: Annotated[
        bool, typer.Option("--append", help="add to existing rows of targets without a key; else that is refused")
    ] = False,
    format: Annotated[str, typer.Option("--format", help="of files: parquet, csv, json, orc, ...")] = "",
    to: Annotated[
        Path | None, typer.Option("--to", metavar="FILE", help="only write the job file; `-` prints it")
    ] = None,
    job_id: Annotated[str | None, typer.Option(help="a name for this run; default: a new one")] = None,
    as_json: AsJson = False,
) -> None:
    """Copy tables from one address to another.

    Makes a job file, and runs it. A password may be part of the address, or be given in the environment as
    SEATUNNEL_SOURCE_PASSWORD and SEATUNNEL_TARGET_PASSWORD.
    """
    from seatunnel_py.cli.commands import copy as command

    chosen = tuple(filter(None, (kind.strip() for kind in kinds.split(","))))
    asked = command.CopyRequest(
        source, target, tuple(table or ()), into, replace, format, append, tuple(exclude or ()), chosen
    )
    raise typer.Exit(command.copy(asked, to, job_id, as_json=as_json))


@app.command(epilog="Example: seatunnel preview configs/shop.conf --rows 5")
def preview(
    job: JobArgument,
    variable: Variables = None,
    rows: Annotated[int, typer.Option(min=1, max=1000, help="rows per table and step")] = 10,
    masked: Annotated[bool, typer.Option("--masked", help="types and lengths in place of values")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the first rows after every step.

    Reads from the sources, writes nowhere.
    """
    from seatunnel_py.cli.commands import preview as command

    raise typer.Exit(command.preview(job, variables_of(variable), rows, as_json=as_json, masked=masked))


@app.command(
    epilog="Example: seatunnel reconcile configs/shop.conf --table public.orders --where \"day = '2026-01-31'\""
)
def reconcile(
    job: JobArgument,
    variable: Variables = None,
    job_id: Annotated[str | None, typer.Option(help="the job's name: if it does not run, no row is waited for")] = None,
    table: SomeTables = None,
    where: Where = "",
    limit: Annotated[int, typer.Option(min=0, max=10_000, help="differing rows to show for each table")] = 20,
    settle: Settle = 30.0,
    repair: Annotated[bool, typer.Option("--repair", help="read differing rows again; shows what changes")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="with --repair: do it")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare the rows of sources and targets.

    Names the rows that differ, while the job runs, too. Reads from both ends, and changes nothing without --repair.
    Exit code 0: all tables are equal; 1: rows differ; 3: some tables were not compared.
    """
    from seatunnel_py.cli.commands import reconcile as command

    request = command.ReconcileRequest(
        job, variables_of(variable), job_id, tuple(table or ()), where, limit, settle, as_json, repair, yes
    )  # fmt: skip
    raise typer.Exit(command.reconcile(request))


Subject = Annotated[str, typer.Argument(metavar="JOB|PLUGIN", help="a job file, or the name of a plugin, with -o")]
PluginOptions = Annotated[
    list[str] | None, typer.Option("-o", "--option", metavar="K=V", help="an option of the plugin; may be repeated")
]


@app.command(
    "test-connection", epilog="Example: seatunnel test-connection Jdbc -o url=jdbc:postgresql://db/shop -o user=me"
)
def test_connection(
    subject: Subject,
    option: PluginOptions = None,
    sink: Annotated[bool, typer.Option("--sink", help="the plugin's sink, not its source")] = False,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Test the connections at both ends of a job.

    Or at one plugin's: server, version, user, rights; exit code 1 if one does not answer. Reads no rows, changes
    nothing. Secrets are best given as ${env:NAME}.
    """
    from seatunnel_py.cli.commands import test_connection as command
    from seatunnel_py.cli.commands.probe_target import question_of

    question = question_of(subject, variables_of(variable), option, sink=sink)
    raise typer.Exit(command.test_connection(question, as_json=as_json))


@app.command(
    epilog="Example: seatunnel discover Jdbc -o url=jdbc:sqlite:shop.db -o table_path=main.o.* -o use_regex=true"
)
def discover(
    subject: Subject,
    option: PluginOptions = None,
    exclude: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="not this table; * for anything; may be repeated")
    ] = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Show the tables that a source finds.

    With columns, types, keys and sizes. Takes a job file, or a plugin with its options; a database shows all tables
    unless options select some. Reads no rows.
    """
    from seatunnel_py.cli.commands import discover as command
    from seatunnel_py.cli.commands.probe_target import question_of

    question = question_of(subject, variables_of(variable), option)
    raise typer.Exit(command.discover(question, exclude or (), as_json=as_json))


@app.command(name="test", epilog="Example: seatunnel test configs/checks --junit report.xml")
def test_jobs(
    paths: Annotated[list[Path], typer.Argument(help="job files, or directories of them")],
    variable: Variables = None,
    junit: Annotated[Path | None, typer.Option(help="write a JUnit report")] = None,
) -> None:
    """Run job files that check themselves.

    With Assert sinks, all in one Spark application; exit code 0 if all of them passed.
    """
    from seatunnel_py.cli.commands import test as command

    raise typer.Exit(command.test(paths, variables_of(variable), junit))


@app.command(epilog="Example: seatunnel doctor --json")
def doctor(as_json: AsJson = False) -> None:
    """Check this machine.

    Java, Python, libraries, memory, disk; each lack with the command that mends it.
    """
    from seatunnel_py.cli.commands import doctor as command

    raise typer.Exit(command.doctor(as_json=as_json))


@app.command("install-scripts", epilog="Example: seatunnel install-scripts /opt/seatunnel --home /var/lib/seatunnel")
def install_scripts(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="the scripts go into DIR/bin")],
    home: Annotated[Path | None, typer.Option(metavar="DIR", help="SEATUNNEL_HOME of their jobs")] = None,
) -> None:
    """Write scripts with the names and options of SeaTunnel's."""
    from seatunnel_py.cli.scripts import installing

    raise typer.Exit(installing.install(directory, home))


@app.command(epilog="Example: seatunnel encrypt job.conf > encrypted.conf")
def encrypt(job: JobArgument, decrypt: Annotated[bool, typer.Option("--decrypt", help="the way back")] = False) -> None:
    """Print a job file with its secrets encrypted.

    Uses the cipher that env.shade.identifier names.
    """
    from seatunnel_py.cli.commands import encrypt as command

    raise typer.Exit(command.rewrite(job, decrypt=decrypt))


@app.callback(invoke_without_command=True)
def root(
    version: Annotated[bool, typer.Option("--version", help="print the version")] = False,
    debug: Annotated[
        bool, typer.Option(debugging.OPTION, help="with any command: show the tracebacks of errors")
    ] = False,
) -> None:
    if version:
        from seatunnel_py import __version__

        say(f"seatunnel-py {__version__}")
        raise typer.Exit


def _with_one_command(name: str) -> typer.Typer:
    """Build the application with only the called command, or with all commands if none has that name. Typer builds
    every command that it knows, which took a tenth of the start."""
    commands = [each for each in app.registered_commands if name in (each.name, getattr(each.callback, "__name__", ""))]
    groups = [each for each in app.registered_groups if each.name == name]
    if not commands and not groups:
        return app
    one = shallow_copy(app)
    one.registered_commands, one.registered_groups = commands, groups
    return one


def main() -> None:
    """Entry point: prints errors of ours and a full disk without a traceback; anything else is a bug and keeps its
    traceback. With ``--json`` errors are JSON, too."""
    keep_whole()
    debugging.take(sys.argv)
    as_json = "--json" in sys.argv
    try:
        with patience(), documents_alone() if as_json else nullcontext():
            _with_one_command("".join(sys.argv[1:2]))(color=False if os.environ.get("NO_COLOR") else None)
    except JobFileError as error:
        from seatunnel_py.cli.view.problems import tell_plain, tell_problems

        sys.exit(tell_plain(error) if as_json else tell_problems(error))
    except SeaTunnelError as error:
        debugging.tell(error)
        if as_json:
            from seatunnel_py.cli.view.problems import tell_refused

            sys.exit(tell_refused(error))
        say(f"error: {error}", err=True)
        sys.exit(error.exit_code)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            debugging.tell_trace(error)
            sys.exit(1)
        say(f"error: {error.strerror}: {error.filename or 'where the output goes'}", err=True)
        sys.stdout = None  # its buffered rest cannot be written either
        sys.exit(1)
    except Exception as error:  # noqa: BLE001 - Python would print the same, with secrets that it quotes
        debugging.tell_trace(error)
        sys.exit(1)
