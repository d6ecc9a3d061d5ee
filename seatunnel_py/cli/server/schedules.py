"""Implements ``seatunnel server schedule``: schedules in the database of this home, which a server that runs follows
within a second."""

from __future__ import annotations

import getpass
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seatunnel_py.cli.server.extra import server_parts
from seatunnel_py.cli.server.tokens import database_of_home
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.errors import ExitCode
from seatunnel_py.runtime.storage.home import Home

if TYPE_CHECKING:
    from seatunnel_py.control.schedule.decision import Schedule
    from seatunnel_py.control.schedule.schedule_commands import ScheduleCommands
    from seatunnel_py.control.schedule.terms import ScheduleTerms
    from seatunnel_py.control.store.audit import Act

NEXT = 5


@dataclass(frozen=True, slots=True)
class AskedTerms:
    """Options of the command; None: not given."""

    cron: str | None
    every: str | None
    zone: str | None
    overlap: str | None
    missed: str | None
    begins: str | None
    ends: str | None

    def terms(self, before: Mapping[str, Any] | None = None) -> ScheduleTerms:
        """The terms, with those of ``before`` where an option is not given. Raises ScheduleTermsError."""
        from seatunnel_py.control.schedule.terms import seconds_of, terms_of

        given = {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}
        if "every" in given:
            given["every"] = seconds_of(given["every"])
        kept = dict(before or {})
        if given.keys() & {"cron", "every"}:
            kept = {name: value for name, value in kept.items() if name not in ("cron", "every")}
        return terms_of(**{**kept, **given})


def listing(definition: str, *, as_json: bool) -> int:
    """All schedules, or those of a definition."""
    with _schedules() as commands:
        from seatunnel_py.control.schedule import stored_schedules
        from seatunnel_py.control.schedule.plain import plain_schedule

        now = time.time()
        with commands.database.reading() as connection:
            found = [one for one in stored_schedules.every(connection) if definition in ("", one.definition)]
            rows = [plain_schedule(connection, one, now) for one in found]
    if as_json:
        say_json(rows)
        return ExitCode.SUCCESS
    if not rows:
        say("there is no schedule; `seatunnel server schedule add DEFINITION` makes one")
    for row in rows:
        say(f"{row['id']:24} {row['definition']:24} {_timing(row):40} {_next(row)}")
    return ExitCode.SUCCESS


def show(id: str, last: int, *, as_json: bool) -> int:
    """A schedule with its next and its last times."""
    with _schedules() as commands:
        from seatunnel_py.control.schedule import stored_schedules
        from seatunnel_py.control.schedule.plain import plain_fire, plain_schedule, plain_times

        now = time.time()
        with commands.database.reading() as connection:
            found = stored_schedules.found(connection, id)
            fires = [plain_fire(one) for one in stored_schedules.fires(connection, id, limit=last)]
            row = {**plain_schedule(connection, found, now), "times": plain_times(found, now, NEXT), "fires": fires}
    if as_json:
        say_json(row)
        return ExitCode.SUCCESS
    say(f"{id}: runs of {row['definition']}, {_timing(row)}, {_next(row)}")
    say(f"if a run is under way: {row['overlap']}; if times were missed: {row['missed']}")
    for name in ("begins", "ends"):
        if row[name]:
            say(f"{name} {row[name]}")
    for one in row["times"]:
        say(f"  {one['local']}")
    for one in fires:
        about = one["job_id"] or one["why"]
        say(f"  {_local(one['due'], row['zone'])}  {one['outcome']:8} {about}")
    return ExitCode.SUCCESS


def add(definition: str, id: str, asked: AskedTerms, variables: Mapping[str, str]) -> int:
    """Make a schedule."""
    with _schedules() as commands:
        by = _person()
        made = commands.create(definition, id, asked.terms(), variables, by, _act("schedule.create", id or definition))
        _say_next(commands, made, "made")
    return ExitCode.SUCCESS


def change(id: str, asked: AskedTerms, variables: Mapping[str, str] | None) -> int:
    """Change a schedule."""
    with _schedules() as commands:
        from seatunnel_py.control.schedule import stored_schedules
        from seatunnel_py.control.schedule.terms import plain_terms

        with commands.database.reading() as connection:
            found = stored_schedules.found(connection, id)
        terms = asked.terms(plain_terms(found.terms))
        kept = found.options.variables if variables is None else variables
        made = commands.change(id, terms, kept, _act("schedule.change", id), expected=found.number)
        _say_next(commands, made, "changed")
    return ExitCode.SUCCESS


def pause(id: str) -> int:
    """Pause a schedule."""
    with _schedules() as commands:
        _say_next(commands, commands.pause(id, _act("schedule.pause", id)), "paused")
    return ExitCode.SUCCESS


def resume(id: str) -> int:
    """Resume a schedule."""
    with _schedules() as commands:
        _say_next(commands, commands.resume(id, _act("schedule.resume", id)), "resumed")
    return ExitCode.SUCCESS


def run(id: str) -> int:
    """Ask for a run now."""
    with _schedules() as commands:
        started = commands.start(id, _act("run.start", id))
    say(f"asked to start {started.run}; the server begins it")
    return ExitCode.SUCCESS


def remove(id: str) -> int:
    """Delete a schedule."""
    with _schedules() as commands:
        commands.delete(id, _act("schedule.delete", id))
    say(f"the schedule {id!r} is deleted; its runs go on")
    return ExitCode.SUCCESS


def times(asked: AskedTerms, count: int, as_json: bool) -> int:
    """The next times of terms."""
    with server_parts():
        from seatunnel_py.control.schedule.plain import times_of
    found = times_of(asked.terms(), time.time(), count)
    if as_json:
        say_json(found)
        return ExitCode.SUCCESS
    for one in found:
        say(one["local"])
    return ExitCode.SUCCESS


@contextmanager
def _schedules() -> Iterator[ScheduleCommands]:
    with server_parts():
        from seatunnel_py.control.local_launcher import LocalLauncher
        from seatunnel_py.control.run_commands import RunCommands
        from seatunnel_py.control.run_index import RunIndex
        from seatunnel_py.control.schedule.schedule_commands import ScheduleCommands
    with database_of_home() as database:
        index = RunIndex(Home.of_environment(), time.monotonic)
        commands = RunCommands(database, index, time.time, LocalLauncher())
        yield ScheduleCommands(database, commands, time.time)


def _person() -> str:
    return f"command line of {getpass.getuser()}"


def _act(act: str, object: str) -> Act:
    from seatunnel_py.control.store.audit import Act

    return Act(_person(), act, object)


def _say_next(commands: ScheduleCommands, schedule: Schedule, done: str) -> None:
    from seatunnel_py.control.schedule.plain import plain_schedule

    with commands.database.reading() as connection:
        row = plain_schedule(connection, schedule, time.time())
    say(f"the schedule {schedule.id!r} is {done}: {_timing(row)}, {_next(row)}")


def _timing(row: Mapping[str, Any]) -> str:
    return f"{row['cron']} {row['zone']}" if row["cron"] else f"every {_duration(row['every'])}"


def _duration(seconds: int) -> str:
    from seatunnel_py.control.schedule.terms import UNITS

    name, size = next((name, size) for name, size in reversed(UNITS.items()) if seconds % size == 0)
    return f"{seconds // size}{name}"


def _next(row: Mapping[str, Any]) -> str:
    if row["paused"]:
        return "paused"
    return "no time is left" if row["next"] is None else f"next {_local(row['next'], row['zone'])}"


def _local(at: float, zone: str) -> str:
    from seatunnel_py.control.schedule.terms import iso_of

    return iso_of(at, zone)
