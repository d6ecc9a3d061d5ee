"""Checks requests to a running job, and words their answers. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from seatunnel_py.runtime.control.requests import ControlAnswer, ControlRequest

if TYPE_CHECKING:
    from seatunnel_py.runtime.diagnosis.job_port import JobPort
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine

NAMED_MAX = 5


def tables_text(number: int) -> str:
    """A number of tables."""
    return f"{number} table{'s' * (number != 1)}"


def cancelled_text(stopped: int, asked: int) -> str:
    """Count the pipelines that were stopped and those that had ended before."""
    done = f"; {tables_text(asked - stopped)} had ended before" if asked > stopped else ""
    return f"cancelled: {tables_text(stopped)} stopped{done}"


def concerned(machine: PipelineMachine, tables: tuple[str, ...]) -> bool:
    """Whether a request for these tables, or for all, concerns the pipeline."""
    return not tables or any(str(path) in tables for path in machine.pipeline.tables)


def invalid(machines: list[PipelineMachine], request: ControlRequest) -> ControlAnswer | None:
    """The answer to an invalid request; None: it is valid."""
    tables = {str(path) for machine in machines for path in machine.pipeline.tables}
    if unknown := [table for table in request.tables if table not in tables]:
        remedy = "`seatunnel jobs show` names the tables"
        return ControlAnswer(request.id, False, f"the job has no table {', '.join(unknown)}", remedy)
    if request.tables and (others := sorted(tables.difference(request.tables))):
        text = f"{', '.join(request.tables)} ends together with {', '.join(others[:NAMED_MAX])}"
        return ControlAnswer(request.id, False, text, "name them, too: they share a pipeline")
    return None


def lost_commits(driver: JobPort, machines: Mapping[str, PipelineMachine]) -> dict[str, tuple[str, str]]:
    """The pipelines that a savepoint would lose rows of, each with the reason and the remedy."""
    found = {}
    for key, machine in machines.items():
        unconfirmed = driver.unconfirmed(key) if key in driver.closed else ()
        if lost := _lost_commit(machine, unconfirmed):
            found[machine.pipeline.name] = lost
    return found


def _lost_commit(machine: PipelineMachine, unconfirmed: Sequence[int]) -> tuple[str, str] | None:
    """``unconfirmed``: checkpoints of a pipeline that has ended in this run, whose commits are not confirmed."""
    if machine.view is None:
        if not unconfirmed:
            return None
        text = f"it cannot go on, and the commit of checkpoint {unconfirmed[0]} is not confirmed"
        return text, "copy the table again (`seatunnel table reset`); or cancel the job and go on with --restore latest"
    commits = machine.view.commits
    refused = [one.checkpoint for one in commits.waiting if one.scope in commits.refused]
    if not refused:
        return None
    text = f"its target has refused the commit of checkpoint {refused[0]}"
    return text, "cancel the job, mend the target and go on with --restore latest; then ask again"


def named(waiting: Mapping[str, str]) -> str:
    """Some of the pipelines that a request waits for, with the reasons."""
    names = [f"{name}: {why}" for name, why in list(waiting.items())[:NAMED_MAX]]
    return "; ".join(names) + (f"; and {len(waiting) - NAMED_MAX} more" if len(waiting) > NAMED_MAX else "")
