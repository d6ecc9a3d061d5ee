"""Implements ``seatunnel plan``: shows the steps of a run in advance, as text, JSON and a picture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path

from seatunnel_py import app
from seatunnel_py.cli.view.files import writing
from seatunnel_py.cli.view.problems import tell_plain
from seatunnel_py.cli.view.terminal import say, say_json
from seatunnel_py.errors import ChangesRefusedError, ExitCode, JobFileError
from seatunnel_py.job_changes import changes_since
from seatunnel_py.plan import plan_data
from seatunnel_py.plan.plan_svg import svg as draw
from seatunnel_py.plan.tables import selection
from seatunnel_py.runtime.resume.job_diff import Change, refuse
from seatunnel_py.runtime.storage.home import Home


def plan(
    path: Path,
    variables: Mapping[str, str],
    job_id: str | None = None,
    restore: str | None = None,
    only: tuple[str, ...] = (),
    *,
    as_json: bool,
    svg: Path | None,
    lineage: bool = False,
) -> int:
    """Plan the job, look at both ends, print. A table that would fail makes the exit code 3, a change that a run would
    refuse makes it 1."""
    home = Home.of_environment()
    try:
        began_with = _began_with(home, path, app.RunOptions(variables, job_id, restore=restore))
        planned = app.plan(path, variables)
        pipelines, isolated = selection.only(planned.pipelines, planned.isolated, only)
    except JobFileError as error:
        if not as_json:
            raise
        return tell_plain(error)
    described = plan_data.describe(
        planned.job, planned.graph, pipelines, isolated, look=True, first=restore is None, lineage=lineage
    )
    place = home.job(job_id) if job_id is not None and restore == app.LATEST else None
    changes = changes_since(planned, place, home.savepoints, began_with) if restore else ()
    refused = _refused(changes)
    described |= {"changes": [asdict(change) for change in changes]} if restore else {}
    described |= {"refused": {"message": refused.message, "remedy": refused.remedy}} if refused else {}
    if as_json:
        say_json(described, default=str)
    else:
        say(plan_data.text(described))
    if changes and not as_json:
        say("\n".join(["", *map(str, changes)]))
    if refused and not as_json:
        say(f"a run would be refused: {refused.remedy}", err=True)
    if svg is not None:
        with writing(svg):
            svg.write_text(draw(described), encoding="utf-8")
        say(f"picture: {svg}", err=True)
    if refused:
        return ExitCode.FAILED
    return ExitCode.SOME_TABLES_FAILED if plan_data.has_problem(described) else ExitCode.SUCCESS


def _began_with(home: Home, path: Path, options: app.RunOptions) -> str | None:
    """The job file names the place of its savepoints."""
    if options.restore is None:
        return None
    return app.restored_from(home, options, app.check(path, options.variables).file.env)


def _refused(changes: Iterable[Change]) -> ChangesRefusedError | None:
    try:
        refuse(changes, accepted=False)
    except ChangesRefusedError as refused:
        return refused
    return None
