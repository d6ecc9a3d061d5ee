"""Stores the plan of a run as it was: ``run_plan.json``, and ``setups.jsonl`` with decisions at targets and sources.

Rules. (1) The plan is written when the job starts; nothing is asked for it. The lineage of its columns is written then,
too, in a file of its own, unless columns or uses are too many: that would delay the start. (2) Effects on targets,
conversions and splits are decided when a pipeline begins: one line for each pipeline, so that a job of many tables
writes little. (3) Each driver replaces both. (4) A full disk does not disturb the job.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from seatunnel_py.api.process.private_files import open_to_append
from seatunnel_py.plan import plan_data
from seatunnel_py.redaction import redacted_plain
from seatunnel_py.runtime.observe.events import JobStarted
from seatunnel_py.runtime.observe.rotated_files import json_lines
from seatunnel_py.runtime.storage.job_directory import JobDirectory, write_json

if TYPE_CHECKING:
    from seatunnel_py.app import JobPlan
    from seatunnel_py.plan.graph_nodes import FlowGraph, IsolatedTable
    from seatunnel_py.plan.pipelines import Pipeline
    from seatunnel_py.runtime.observe.events import JobEvent
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine

NAME, SETUPS, LINEAGE = "run_plan", "setups.jsonl", "run_lineage"
LINEAGE_COLUMNS_MAX = 10_000
"""About an eighth of a second."""
LINEAGE_USES_MAX = 100_000
"""A quarter of a second, and 8 MB. After a step that does not declare its lineage each column depends on all."""


class RunPlan:
    """A listener of one run, which passes events on to ``listen``. ``drivers``: empty until the driver has begun;
    ``pipelines`` and ``isolated``: those that are run."""

    def __init__(
        self,
        place: JobDirectory,
        drivers: Sequence[Any],
        listen: Callable[[JobEvent], None],
        planned: JobPlan,
        pipelines: tuple[Pipeline, ...],
        isolated: tuple[IsolatedTable, ...],
    ) -> None:
        self._place, self._drivers, self._listen = place, drivers, listen
        # Described before Spark is there, because the first units wait for the listeners of JobStarted.
        self._described = plan_data.describe(planned.job, planned.graph, pipelines, isolated, look=False)
        self._lineage = _lineage(planned.graph, pipelines)
        self._noted: set[str] = set()
        self._keys: dict[str, str] = {}
        """By id of a pipeline: its key in the driver."""
        self._setups: int | None = None
        """Descriptor of the file: to open it for each of 200 tables took 4 % of their job."""

    def close(self) -> None:
        """Close the file of decisions. A later decision opens it again."""
        if self._setups is not None:
            os.close(self._setups)
            self._setups = None

    def _write(self) -> None:
        """Write the plan, and forget the decisions of the driver before."""
        self.close()
        with suppress(OSError):
            (self._place.path / SETUPS).unlink(missing_ok=True)
            (self._place.path / f"{LINEAGE}.json").unlink(missing_ok=True)
            write_json(self._place.path / f"{NAME}.json", self._described, durable=False)
            if self._lineage is not None:
                write_json(self._place.path / f"{LINEAGE}.json", {"column_lineage": self._lineage}, durable=False)
        self._described, self._lineage = {}, None

    def __call__(self, event: JobEvent) -> None:
        if isinstance(event, JobStarted):
            self._write()
        pipeline = getattr(event, "pipeline", "")
        if pipeline and pipeline not in self._noted and self._drivers:
            with suppress(OSError):
                self._note(pipeline)
        self._listen(event)

    def _note(self, pipeline: str) -> None:
        """Write the decisions of a pipeline, if they are made."""
        machines: Mapping[str, PipelineMachine] = self._drivers[-1].job.pipelines
        if pipeline not in self._keys:  # a driver has begun, or added a table
            self._keys = {one.id: key for key, one in reversed(list(machines.items()))}
        machine = machines.get(self._keys.get(pipeline, ""))
        if machine is None or not machine.state.prepared.setups:
            return
        self._noted.add(pipeline)
        line = json.dumps(redacted_plain(_decided(machine))) + "\n"
        if self._setups is None:
            self._setups = open_to_append(self._place.path / SETUPS)
        os.write(self._setups, line.encode())


def stored_plan(place: JobDirectory) -> dict[str, Any] | None:
    """The plan of the last run, as `seatunnel plan --json` shows one; None: it has not begun, or an older release ran
    it. Raises SeaTunnelError for a damaged one."""
    plan = place.read(NAME)
    if plan is None:
        return None
    plan.pop("seal", None)
    decided = {line["pipeline"]: line for line in json_lines([place.path / SETUPS]) if "pipeline" in line}
    for pipeline in plan["pipelines"]:
        if line := decided.get(pipeline["id"]):
            _add(pipeline, line)
    return plan


def _lineage(graph: FlowGraph, pipelines: tuple[Pipeline, ...]) -> list[dict[str, Any]] | None:
    columns = sum(len(node.table.columns) for pipeline in pipelines for node in pipeline.sinks)
    if columns > LINEAGE_COLUMNS_MAX:
        return None
    try:
        plain = plan_data.column_lineage(graph, pipelines)
        if sum(len(uses) for one in plain for uses in (*one["columns"].values(), one["rows"])) > LINEAGE_USES_MAX:
            return None
        found: list[dict[str, Any]] = redacted_plain(plain)
    except Exception:  # noqa: BLE001 - a plugin declares its lineage wrongly; no run depends on it
        return None
    return found


def stored_lineage(place: JobDirectory) -> list[dict[str, Any]] | None:
    """The lineage of the columns of the last run, as `seatunnel plan --column-lineage --json` shows it; None: it was
    not stored. Raises SeaTunnelError for a damaged one."""
    found = place.read(LINEAGE)
    return None if found is None else list(found["column_lineage"])


def _decided(machine: PipelineMachine) -> dict[str, Any]:
    prepared = machine.state.prepared
    setups = [(node, prepared.setups[node.id]) for node in machine.pipeline.sinks if node.id in prepared.setups]
    sinks = [
        {"step": node.step.id, "table": str(node.table.path), **plan_data.set_up(node, setup)} for node, setup in setups
    ]
    splits = {vertex: plan_data.shown_splits(tuple(found)) for vertex, found in prepared.splits.items() if found}
    return {"pipeline": machine.pipeline.id, "sinks": sinks, "splits": splits}


def _add(pipeline: dict[str, Any], line: Mapping[str, Any]) -> None:
    """Add the decisions of a pipeline to its plan."""
    decided = {(sink["step"], sink["table"]): sink for sink in line["sinks"]}
    for sink in pipeline["sinks"]:
        sink |= decided.get((sink["step"], sink["table"]), {})
    for vertex in pipeline["vertices"]:
        vertex |= line["splits"].get(vertex["id"], {})
