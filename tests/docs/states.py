"""docs/protocol-states.md, drawn from the literal tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from seatunnel_py.protocol.commit_life import COMMIT_LIFE, CRASH_POINTS, RECOVERY
from seatunnel_py.protocol.coordinator.failure_policy import POLICIES
from seatunnel_py.protocol.coordinator.isolation import TABLE
from seatunnel_py.protocol.coordinator.trigger import ALL, CHECKS
from seatunnel_py.protocol.failover.decisions import FIRST_LEVEL, REPLAYS
from seatunnel_py.protocol.job_lifecycle import JOB
from seatunnel_py.protocol.model.lifecycle import CHECKPOINT, LIFE, PIPELINE, Table, mermaid
from seatunnel_py.protocol.participant.alignment import TRANSITIONS, Phase, Signal

HEAD = """# States and tables of the protocol

Generated from the literal tables in `seatunnel_py/protocol/` by `make pages`; a test compares. What no arrow shows is
forbidden. The theory stands in [protocol.md](protocol.md).
"""


def alignment() -> Table[Phase, Signal]:
    """The alignment's table, in the form of the others."""
    rows: dict[Phase, dict[Signal, Phase]] = {phase: {} for phase in Phase}
    for (phase, signal), after in TRANSITIONS.items():
        rows[phase][signal] = after
    return rows


def diagram(title: str, file: str, text: str, table: Table[Any, Any]) -> str:
    """One life cycle: what it is about, and its picture."""
    return f"## {title}\n\n{text} (`seatunnel_py/protocol/{file}`)\n\n```mermaid\n{mermaid(table)}```\n"


def grid(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def mark(value: bool) -> str:
    return "yes" if value else "no"


def checks() -> str:
    rows = []
    for check in CHECKS:
        whom = "all" if check.binds == ALL else ", ".join(sorted(check.binds))
        rows.append((check.reason.name, check.reason, whom, "waits" if check.waits else "is refused"))
    return (
        "## Before a checkpoint\n\nThe pre-checks in their order; the first that blocks is the answer, and nothing was"
        " done (`seatunnel_py/protocol/coordinator/trigger.py`).\n\n"
        + grid(("check", "it blocks because", "whom it binds", "the request"), rows)
    )


def policies() -> str:
    rows = [
        (
            reason.name,
            reason,
            mark(policy.counts),
            mark(policy.fails),
            mark(policy.retriable),
            FIRST_LEVEL[reason] or "",
            policy.remedy,
        )
        for reason, policy in POLICIES.items()
    ]
    head = ("reason", "in words", "counts", "ends the pipeline", "may pass by itself", "first level", "what to do")
    return (
        "## Reasons\n\nWhy a checkpoint, a request, a subtask or a pipeline did not get what it wanted. *Counts*: towards"
        " `checkpoint.tolerable-failures`. *First level*: the smallest one that answers the failure"
        " (`seatunnel_py/protocol/coordinator/failure_policy.py`, `seatunnel_py/protocol/failover/decisions.py`).\n\n"
        + grid(head, rows)
    )


def replays() -> str:
    rows = [(sink, determinism, replay) for (sink, determinism), replay in REPLAYS.items()]
    return (
        "## Sinks of a restarted region\n\nBy what the sink promises and by what restarts above it"
        " (`seatunnel_py/protocol/failover/decisions.py`).\n\n"
        + grid(("sink", "what is above it", "what a replay leads to"), rows)
    )


def crashes() -> str:
    points = {
        facts: "; ".join(name for name, *other in CRASH_POINTS if tuple(other) == facts)
        for facts in dict.fromkeys(RECOVERY)
    }
    rows = [
        (recorded, mark(ledger), mark(staged), RECOVERY[recorded, ledger, staged], points[recorded, ledger, staged])
        for recorded, ledger, staged in RECOVERY
    ]
    head = ("what the records say", "the ledger holds it", "pieces are there", "the next driver", "crash points")
    return (
        "## What a dead driver leaves\n\nDurable facts alone decide what the next one does with what one checkpoint had to"
        " make visible (`seatunnel_py/protocol/commit_life.py`).\n\n" + grid(head, rows)
    )


def page() -> str:
    """The whole page."""
    life = "model/lifecycle.py"
    parts = (
        diagram(
            "A pipeline", life, "One coordinator's. RESTARTING is the pause before a region is restored.", PIPELINE
        ),
        diagram("A subtask", life, "Each life has an epoch of its own.", LIFE),
        diagram("A checkpoint", life, "In the coordinator. Only the store's answer leads out of STORING.", CHECKPOINT),
        diagram(
            "A checkpoint passes a subtask",
            "participant/alignment.py",
            "In a participant. Aligned: barriers are reached one by one. *Cut now*: an unaligned barrier arrived, a"
            " trigger came to a vertex with inputs, or the alignment took too long.",
            alignment(),
        ),
        diagram(
            "What a checkpoint makes visible",
            "commit_life.py",
            "The pieces of one checkpoint in one commit scope.",
            COMMIT_LIFE,
        ),
        diagram(
            "A table",
            "coordinator/isolation.py",
            "As people see it: left out alone, and brought back at a barrier. For the runtime.",
            TABLE,
        ),
        diagram("A job", "job_lifecycle.py", "It follows from its pipelines. For the runtime.", JOB),
        checks(),
        policies(),
        replays(),
        crashes(),
    )
    return "\n".join((HEAD, *parts))
