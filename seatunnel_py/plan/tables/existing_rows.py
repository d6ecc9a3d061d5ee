"""Checks the rows that a target holds before the job, for every sink, so that a second run never doubles rows silently.

Rules. (1) If the job would add to existing rows, without a key to match them, the target is refused, unless the job
file has chosen that: the sink reports this case (``Present.doubles``). (2) Several tables that share a target on
purpose are judged once, by the first check: later checks may find rows of the first table. (3) A later driver of the
job does not judge shared targets: their rows may come from an earlier one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from seatunnel_py.api.sink import Setup
from seatunnel_py.errors import FatalError

if TYPE_CHECKING:
    from seatunnel_py.plan.graph_nodes import SinkNode


def checked(node: SinkNode, setup: Setup, *, later: bool = False) -> Setup:
    """Return the set-up with the target's content before the job. Raises FatalError if the job would double it.
    ``later``: an earlier driver of this job may have written there."""
    found = setup.present
    if node.shared is not None:
        found = None if later else node.shared.found(found)
    if found is not None and found.doubles and found.count != 0:
        raise FatalError(
            f"{node.shown} holds {found.held}, and {found.doubles}: "
            f"the rows of table {node.table.path} would be there twice",
            found.ways,
        )
    return replace(setup, present=found)
