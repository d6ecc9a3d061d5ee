"""Defines the commands ``changes`` and ``changes rule``: decisions about changes of tables' schemas."""

from __future__ import annotations

from typing import Annotated

import typer

from seatunnel_py.cli.arguments import AsJson, JobId, StoreOf, Timeout, Variables, where_of

changes_app = typer.Typer(no_args_is_help=True, help="Changes of tables' schemas that wait for a decision.")
rule_app = typer.Typer(no_args_is_help=True, subcommand_metavar="add|list|remove [ARGS]...")
changes_app.add_typer(rule_app, name="rule")

ChangeId = Annotated[str, typer.Argument(metavar="ID", help="as `seatunnel changes list` names it")]
DecidedBy = Annotated[str | None, typer.Option("--by", help="the person who decides; default: user and machine")]


@changes_app.command("list", epilog="Example: seatunnel changes list shop")
def changes_list(job_id: JobId, file: StoreOf = None, variable: Variables = None, as_json: AsJson = False) -> None:
    """List the changes that wait, and the decisions about earlier ones."""
    from seatunnel_py.cli.jobs import changes as command

    raise typer.Exit(command.listing(job_id, where_of(file, variable), as_json=as_json))


@changes_app.command("show", epilog="Example: seatunnel changes show shop orders-3fa91c")
def changes_show(
    job_id: JobId, change: ChangeId, file: StoreOf = None, variable: Variables = None, as_json: AsJson = False
) -> None:
    """Show one change: its statement, why the table waits, and the decision."""
    from seatunnel_py.cli.jobs import changes as command

    raise typer.Exit(command.show(job_id, change, where_of(file, variable), as_json=as_json))


@changes_app.command("approve", epilog="Example: seatunnel changes approve shop orders-3fa91c")
def changes_approve(
    job_id: JobId,
    change: ChangeId,
    by: DecidedBy = None,
    timeout: Timeout = 300.0,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Let the targets follow a change; then its table goes on at its place in the log.

    If a target has refused the change, alter that by hand first. A running job does it at once, a stopped one at its
    next start.
    """
    from seatunnel_py.cli.jobs import changes as command

    where = where_of(file, variable)
    raise typer.Exit(command.decide(job_id, change, where, approves=True, by=by, seconds=timeout, as_json=as_json))


@changes_app.command("reject", epilog="Example: seatunnel changes reject shop orders-3fa91c --by anna")
def changes_reject(
    job_id: JobId,
    change: ChangeId,
    by: DecidedBy = None,
    timeout: Timeout = 300.0,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Keep the targets as they are; the table goes on at its place in the log, without the change.

    Later rows are written as under schema-changes.behavior = ignore.
    """
    from seatunnel_py.cli.jobs import changes as command

    where = where_of(file, variable)
    raise typer.Exit(command.decide(job_id, change, where, approves=False, by=by, seconds=timeout, as_json=as_json))


# ---------------------------------------------------------------- rules


@rule_app.callback(epilog="Example: seatunnel changes rule shop add --table .*orders --kind add.column --approve")
def changes_rule(context: typer.Context, job_id: JobId) -> None:
    """Rules that decide about changes in place of a person, for tables with schema-changes.behavior = inbox."""
    context.obj = job_id


@rule_app.command("add", epilog="Example: seatunnel changes rule shop add --table .*orders --kind add.column --approve")
def rule_add(
    context: typer.Context,
    table: Annotated[str, typer.Option(metavar="PATTERN", help="regular expression for full names of tables")],
    kind: Annotated[
        list[str],
        typer.Option(metavar="KIND", help="as in schema-changes.include, such as add.column; may be repeated"),
    ],
    approves: Annotated[bool | None, typer.Option("--approve/--reject", help="the decision")] = None,
    by: DecidedBy = None,
    timeout: Timeout = 300.0,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Add a rule: it decides about each change of these kinds that waits, or that comes later.

    A change of several kinds needs rules for all of them. Rules that disagree decide nothing. A running job takes the
    rule at once, a stopped one at its next start.
    """
    from seatunnel_py.cli.jobs import change_rules as command

    where = where_of(file, variable)
    code = command.add(context.obj, table, kind, where, approves=approves, by=by, seconds=timeout, as_json=as_json)
    raise typer.Exit(code)


@rule_app.command("list", epilog="Example: seatunnel changes rule shop list")
def rule_list(
    context: typer.Context, file: StoreOf = None, variable: Variables = None, as_json: AsJson = False
) -> None:
    """List the rules, with the persons who made them."""
    from seatunnel_py.cli.jobs import change_rules as command

    raise typer.Exit(command.listing(context.obj, where_of(file, variable), as_json=as_json))


@rule_app.command("remove", epilog="Example: seatunnel changes rule shop remove 3fa91c0b77d2")
def rule_remove(
    context: typer.Context,
    rule: Annotated[str, typer.Argument(metavar="RULE", help="as `list` names it")],
    by: DecidedBy = None,
    timeout: Timeout = 300.0,
    file: StoreOf = None,
    variable: Variables = None,
    as_json: AsJson = False,
) -> None:
    """Remove a rule. Decisions that it made stay; later changes wait for a person again."""
    from seatunnel_py.cli.jobs import change_rules as command

    where = where_of(file, variable)
    raise typer.Exit(command.remove(context.obj, rule, where, by=by, seconds=timeout, as_json=as_json))
