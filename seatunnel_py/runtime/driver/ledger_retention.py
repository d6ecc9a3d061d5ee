"""Reports the end of a lineage to the ledgers in its targets, after the end of a job.

Rules. (1) Only when every table of the job is done: otherwise another driver may resume and repeat the last commits
of all tables (CM5), and only the ledgers' rows prove that they are not lost (I28, I31). (2) Each ledger is called
once, for any number of tables. (3) The result of the job does not change: an unreachable ledger keeps
its rows for longer, with a note in the receipt.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING

from seatunnel_py.api.sink import CommitContext, Committer
from seatunnel_py.errors import SeaTunnelError, first_line
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.runtime.observe.receipt import TableState

if TYPE_CHECKING:
    from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine


def notify_targets(machines: Iterable[PipelineMachine], keep_days: int) -> tuple[str, ...]:
    """Notify the ledgers; return notes for the receipt."""
    machines = tuple(machines)
    if any(machine.shown_state is not TableState.DONE or machine.goes_on for machine in machines):
        return ()
    notified: set[Hashable] = {None}
    notes = []
    for machine in machines:
        for node, *_ in machine.context.groups.values():
            setup = machine.state.prepared.setups[node.id]
            context = machine.context.job.commit_context(node, setup.data, 0, final=True)
            try:
                with plugin_calls.attributed(node.step, "lineage_ended"):
                    _tell(node.sink.committer(), context, keep_days, notified)
            except (SeaTunnelError, plugin_calls.PluginCallError) as error:
                notes.append(f"the ledger beside {node.shown} was not swept: {first_line(error.message)}")
    return tuple(notes)


def _tell(committer: Committer, context: CommitContext, keep_days: int, notified: set[Hashable]) -> None:
    ledger = committer.ledger(context)
    if ledger not in notified:
        notified.add(ledger)
        committer.lineage_ended(context, keep_days)
