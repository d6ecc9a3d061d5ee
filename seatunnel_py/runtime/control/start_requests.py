"""Checks requests that the next start of a job performs, before this run ends for them; performs decisions at it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from seatunnel_py.errors import PlanError, SeaTunnelError
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.control import change_decisions, rule_decisions
from seatunnel_py.runtime.control.requests import RULES, ControlAnswer, ControlRequest, RequestKind
from seatunnel_py.runtime.resume import table_reset
from seatunnel_py.runtime.storage.journal import Journal

REASONS = {
    RequestKind.RESET: "tables are copied again",
    RequestKind.REFRESH: "tables are copied again",
    RequestKind.APPROVE: "a change is approved",
    RequestKind.REJECT: "a change is rejected",
    RequestKind.ADD_RULE: "a rule for changes is added",
    RequestKind.REMOVE_RULE: "a rule for changes is removed",
}
"""Why a run ends for a request."""
DECISIONS = (RequestKind.APPROVE, RequestKind.REJECT, *RULES)
"""Requests about changes of schemas."""


def require(
    request: ControlRequest, pipelines: Mapping[str, Pipeline], newest: Mapping[str, CheckpointRecord | None]
) -> None:
    """Check the names of tables and changes. ``newest``: records by pipeline. Raises SeaTunnelError for others."""
    if request.wish is RequestKind.RESET:
        table_reset.followed(pipelines, request.tables)
        return
    records = {key: record for key, record in newest.items() if record is not None}
    if request.wish is RequestKind.ADD_RULE:
        rule_decisions.require_tables(rule_decisions.asked(request), records)
        return
    if request.wish is RequestKind.REMOVE_RULE:
        return  # a rule may have been added by a request of the same moment
    change_decisions.found(change_decisions.waiting_in(records), request.name)


def decided(
    request: ControlRequest, journal: Journal, records: Mapping[str, CheckpointRecord], now: float
) -> tuple[ControlAnswer, tuple[Mapping[str, Any], ...]]:
    """The answer to one of ``DECISIONS``, and the journal lines that must be durable before it is given."""
    if request.wish in RULES:
        return rule_decisions.taken_down(request, journal, now)
    return change_decisions.decided(request, records, now)


def refusal(error: SeaTunnelError) -> tuple[str, str]:
    """Message and remedy of a refused request."""
    return table_reset.refusal(error) if isinstance(error, PlanError) else (error.message, error.remedy)
