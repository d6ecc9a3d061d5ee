"""Persons decide about changes of tables' schemas that wait: finds these changes in records, and takes decisions down.

Rules. (1) A decision is a journal line for the pipeline of the log, durable before it has an effect: every later driver
goes on with it (``runtime/resume/begun_logs.py``). (2) It names the change, the person, the time, and the newest
checkpoint of the log. (3) A later decision about the same change takes its place. (4) A log cannot stop reading all of
its tables, so the last one that it reads waits with the log, at the end of its newest record. (5) Rules may decide in
place of a person (``rule_decisions.py``).
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from seatunnel_py.api.schema_policy import SchemaBehavior
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.control.requests import ControlAnswer, ControlRequest, RequestKind
from seatunnel_py.runtime.storage.journal import decision_line
from seatunnel_py.runtime.targets.held_change import change_id
from seatunnel_py.runtime.targets.prepared_pipeline import held_in, refused_in, tables_in
from seatunnel_py.runtime.targets.ruled_changes import APPROVED, REJECTED, ChangeDecision
from seatunnel_py.runtime.targets.target_alteration import place_of_log
from seatunnel_py.runtime.values.schema_alterations import pending_in

NAMED_MAX = 5
_BEHAVIOR = {APPROVED: SchemaBehavior.EVOLVE, REJECTED: SchemaBehavior.IGNORE}
_EFFECT = {
    RequestKind.APPROVE: "approved: the targets follow the change, then {table} goes on where it has stopped",
    RequestKind.REJECT: "rejected: {table} goes on where it has stopped, and its targets stay as they are",
}


@dataclass(frozen=True, slots=True)
class WaitingChange:
    """A change that waits. ``pipeline``: key of its log; ``statement``: of the source; ``why``, ``remedy``: of the
    stop; ``checkpoint``: the record from which the table waits; ``alone``: the log waits with its table."""

    id: str
    table: str
    pipeline: str
    statement: str
    why: str
    remedy: str
    checkpoint: int
    alone: bool = False


def waiting_in(records: Mapping[str, CheckpointRecord]) -> tuple[WaitingChange, ...]:
    """The changes that wait in the newest records, by pipeline."""
    return tuple(one for key, record in records.items() for one in _waiting(key, record))


def _waiting(key: str, record: CheckpointRecord) -> Iterable[WaitingChange]:
    held = held_in(record.plan)
    for one in held:
        yield WaitingChange(one.id, str(one.path), key, one.alteration.shown, *one.why, one.checkpoint)
    tables = {one.schema.path: one for one in tables_in(record.plan)}
    live = tables.keys() - {one.path for one in held} - set(refused_in(record.plan))
    for vertex in record.topology.sources:
        found = pending_in(record, vertex, tables)
        for pending in found if live <= {one.path for one in found} else ():
            name = change_id(pending, place_of_log(record, vertex))
            why = "its log has stopped at the change"
            yield WaitingChange(name, str(pending.path), key, pending.shown, why, "", record.checkpoint, alone=True)


def found(waiting: Iterable[WaitingChange], change: str) -> WaitingChange:
    """The change of this id. Raises SeaTunnelError that names the nearest one."""
    known = {one.id: one for one in waiting}
    return known[known_id(change, known)]


def known_id(change: str, known: Collection[str]) -> str:
    """The id, if it is among these. Raises SeaTunnelError that names the nearest one."""
    if change in known:
        return change
    if not known:
        raise SeaTunnelError(
            f"no change {change!r} waits for a decision", "`seatunnel changes list JOB` shows the changes"
        )
    near = difflib.get_close_matches(change, known, 1)
    names = ", ".join(list(known)[:NAMED_MAX])
    raise SeaTunnelError(
        f"no change {change!r} waits for a decision", f"did you mean {near[0]}?" if near else f"these wait: {names}"
    )


def decided(
    request: ControlRequest, records: Mapping[str, CheckpointRecord], now: float
) -> tuple[ControlAnswer, tuple[Mapping[str, Any], ...]]:
    """The answer to a request at the start of a job, with the journal line that must be durable before it is given;
    without a line the request is refused."""
    try:
        one = found(waiting_in(records), request.name)
    except SeaTunnelError as error:
        return ControlAnswer(request.id, False, error.message, error.remedy), ()
    checkpoint = records[one.pipeline].checkpoint
    made = ChangeDecision(one.id, one.table, one.statement, request.wish.value, request.by, now, checkpoint)
    answer = ControlAnswer(request.id, True, effect_of(request, one), about=asdict(made))
    return answer, (decision_line(one.pipeline, asdict(made)),)


def effect_of(request: ControlRequest, one: WaitingChange) -> str:
    """A sentence about the effect of a decision."""
    return f"{one.id}: {_EFFECT[request.wish].format(table=one.table)}"


def behaviors(decisions: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, SchemaBehavior]]:
    """By pipeline and change, the behavior that a decision stands for; ``decisions``: those of the journal."""
    return {key: {name: _BEHAVIOR[one["verdict"]] for name, one in own.items()} for key, own in decisions.items()}
