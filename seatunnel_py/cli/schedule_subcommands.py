"""Defines the commands ``server schedule``."""

from __future__ import annotations

from typing import Annotated

import typer

from seatunnel_py.cli.arguments import AsJson, Variables, variables_of

schedule_app = typer.Typer(no_args_is_help=True, help="Schedules: when runs of stored job files begin.")
ScheduleId = Annotated[str, typer.Argument(metavar="SCHEDULE", help="as `seatunnel server schedule list` names it")]
Cron = Annotated[
    str | None, typer.Option(metavar="EXPRESSION", help="minute, hour, day of the month, month, day of the week")
]
Every = Annotated[str | None, typer.Option(metavar="DURATION", help="in place of --cron: 90s, 15m, 6h or 1d")]
Zone = Annotated[str | None, typer.Option(metavar="NAME", help="the zone of its clocks, as Europe/Berlin; default UTC")]
Overlap = Annotated[
    str | None, typer.Option(help="if a run is under way: skip the time, queue one start, or allow; default skip")
]
Missed = Annotated[
    str | None, typer.Option(help="if times have passed without a server: skip them, or run once; default skip")
]
Begins = Annotated[str | None, typer.Option(metavar="TIME", help="no start before it, as 2027-03-01T06:00")]
Ends = Annotated[str | None, typer.Option(metavar="TIME", help="no start after it")]
Count = Annotated[int, typer.Option(min=1, max=100, help="how many times")]


@schedule_app.command("list", epilog="Example: seatunnel server schedule list --definition shop")
def schedule_list(
    definition: Annotated[str, typer.Option(metavar="NAME", help="only schedules of this definition")] = "",
    as_json: AsJson = False,
) -> None:
    """All schedules, with their next times."""
    from seatunnel_py.cli.server import schedules as command

    raise typer.Exit(command.listing(definition, as_json=as_json))


@schedule_app.command("show", epilog="Example: seatunnel server schedule show shop --last 50")
def schedule_show(
    id: ScheduleId,
    last: Annotated[int, typer.Option(min=1, max=500, help="how many times of the past")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show a schedule: its next times, its last ones, and why a time started nothing."""
    from seatunnel_py.cli.server import schedules as command

    raise typer.Exit(command.show(id, last, as_json=as_json))


@schedule_app.command(
    "add", epilog='Example: seatunnel server schedule add shop --cron "30 3 * * MON-FRI" --zone Europe/Berlin'
)
def schedule_add(
    definition: Annotated[str, typer.Argument(help="a stored job file")],
    id: Annotated[str, typer.Option(metavar="NAME", help="its name; default: that of the definition")] = "",
    cron: Cron = None,
    every: Every = None,
    zone: Zone = None,
    overlap: Overlap = None,
    missed: Missed = None,
    begins: Begins = None,
    ends: Ends = None,
    variable: Variables = None,
) -> None:
    """Start a stored job file at the times of a cron expression, or in an interval.

    A local time that does not exist runs after the gap, and one that exists twice runs once.
    """
    from seatunnel_py.cli.server import schedules as command

    asked = command.AskedTerms(cron, every, zone, overlap, missed, begins, ends)
    raise typer.Exit(command.add(definition, id, asked, variables_of(variable)))


@schedule_app.command("change", epilog="Example: seatunnel server schedule change shop --every 6h --overlap queue")
def schedule_change(
    id: ScheduleId,
    cron: Cron = None,
    every: Every = None,
    zone: Zone = None,
    overlap: Overlap = None,
    missed: Missed = None,
    begins: Begins = None,
    ends: Ends = None,
    variable: Variables = None,
) -> None:
    """Change a schedule. Options that are not given stay; an empty text removes a begin or an end.

    With other times it goes on from now. Variables replace all that it has.
    """
    from seatunnel_py.cli.server import schedules as command

    asked = command.AskedTerms(cron, every, zone, overlap, missed, begins, ends)
    raise typer.Exit(command.change(id, asked, variables_of(variable) if variable else None))


@schedule_app.command("pause", epilog="Example: seatunnel server schedule pause shop")
def schedule_pause(id: ScheduleId) -> None:
    """Start nothing until it is resumed."""
    from seatunnel_py.cli.server import schedules as command

    raise typer.Exit(command.pause(id))


@schedule_app.command("resume", epilog="Example: seatunnel server schedule resume shop")
def schedule_resume(id: ScheduleId) -> None:
    """Go on from now: times that have passed meanwhile start nothing."""
    from seatunnel_py.cli.server import schedules as command

    raise typer.Exit(command.resume(id))


@schedule_app.command("run", epilog="Example: seatunnel server schedule run shop")
def schedule_run(id: ScheduleId) -> None:
    """Start a run now, as a time of the schedule does.

    The server begins it, at once or when it is started.
    """
    from seatunnel_py.cli.server import schedules as command

    raise typer.Exit(command.run(id))


@schedule_app.command("remove", epilog="Example: seatunnel server schedule remove shop")
def schedule_remove(id: ScheduleId) -> None:
    """Delete a schedule with its history. Runs that it started go on."""
    from seatunnel_py.cli.server import schedules as command

    raise typer.Exit(command.remove(id))


@schedule_app.command("times", epilog='Example: seatunnel server schedule times --cron "0 3 * * *" --zone Asia/Tokyo')
def schedule_times(
    cron: Cron = None,
    every: Every = None,
    zone: Zone = None,
    begins: Begins = None,
    ends: Ends = None,
    count: Count = 10,
    as_json: AsJson = False,
) -> None:
    """Show the times that a schedule would have. Nothing is stored."""
    from seatunnel_py.cli.server import schedules as command

    raise typer.Exit(command.times(command.AskedTerms(cron, every, zone, None, None, begins, ends), count, as_json))
