"""A second run never doubles rows in silence: what a target holds before the job is judged here, for every sink.

Rules. (1) A target that holds rows which the job would add to, without a key to know them by, is refused, unless the
job file has chosen that: the sink says so (``Present.doubles``). (2) Several tables that share a target on purpose are
judged once, by the first that looks: what the others find may be of the first. (3) A later driver of the job does not
judge shared targets: what they hold may be of an earlier one.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from seatunnel_py.api.sink import Setup
from seatunnel_py.errors import FatalError

if TYPE_CHECKING:
    from seatunnel_py.plan.graph_nodes import SinkNode


def checked(node: SinkNode, setup: Setup, *, later: bool = False) -> Setup:
    """The set-up with what the target held before the job. FatalError where the job would double it. ``later``: an
    earlier driver of this job may have written there."""
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
