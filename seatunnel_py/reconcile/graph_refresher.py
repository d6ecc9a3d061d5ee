"""Refreshes rows of the tables of one job; imports what reads and compares rows on the first use only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from seatunnel_py.plan.graph_nodes import FlowGraph
from seatunnel_py.plan.tables.table_refresh import RefreshOutcome, RefreshWish
from seatunnel_py.runtime.resume.table_refresh import RefreshWork


@dataclass(frozen=True, slots=True)
class GraphRefresher:
    """``graph``: of the job as it is planned now; ``tell``: shows the progress of a request."""

    graph: FlowGraph
    tell: Callable[[str, str], None]

    def try_out(self, wish: RefreshWish) -> None:
        """Check that both sides can be read for this wish. Raises SeaTunnelError."""
        from seatunnel_py.reconcile.row_refresh import try_out

        try_out(self.graph, wish)

    def perform(self, work: RefreshWork) -> RefreshOutcome:
        """Read and write, all or nothing for each target. Raises SeaTunnelError."""
        from seatunnel_py.reconcile.row_refresh import refreshed

        return refreshed(self.graph, work, lambda text: self.tell(work.wish.request, text))
