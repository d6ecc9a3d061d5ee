"""Checks requests that the next start of a job performs, before this run ends for them."""

from __future__ import annotations

from collections.abc import Mapping

from seatunnel_py.errors import PlanError, SeaTunnelError
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.control import change_decisions
from seatunnel_py.runtime.control.requests import ControlRequest, RequestKind
from seatunnel_py.runtime.resume import table_reset

REASONS = {
    RequestKind.RESET: "tables are copied again",
    RequestKind.REFRESH: "tables are copied again",
    RequestKind.APPROVE: "a change is approved",
    RequestKind.REJECT: "a change is rejected",
}
"""Why a run ends for a request."""


def require(
    request: ControlRequest, pipelines: Mapping[str, Pipeline], newest: Mapping[str, CheckpointRecord | None]
) -> None:
    """Check the names of tables and changes. ``newest``: records by pipeline. Raises SeaTunnelError for others."""
    if request.wish is RequestKind.RESET:
        table_reset.followed(pipelines, request.tables)
        return
    records = {key: record for key, record in newest.items() if record is not None}
    change_decisions.found(change_decisions.waiting_in(records), request.name)


def refusal(error: SeaTunnelError) -> tuple[str, str]:
    """Message and remedy of a refused request."""
    return table_reset.refusal(error) if isinstance(error, PlanError) else (error.message, error.remedy)
