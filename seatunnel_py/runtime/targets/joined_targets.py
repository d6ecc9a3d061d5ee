"""Plans and prepares the sinks of tables that join a log which has begun (``log_growth.py``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from seatunnel_py.api.sink import Setup
from seatunnel_py.plan.altered_log import JoinedTables
from seatunnel_py.plan.graph_nodes import SinkNode
from seatunnel_py.plan.pipelines import Pipeline
from seatunnel_py.runtime.targets import sink_operations
from seatunnel_py.runtime.targets.prepared_pipeline import PreparedPipeline
from seatunnel_py.runtime.values.chain_builder import JobIdentity
from seatunnel_py.runtime.values.split_progress import SplitRound

Groups = Mapping[str, Sequence[SinkNode]]


def planned(before: Pipeline, after: Pipeline) -> dict[str, Setup]:
    """The set-ups of the sinks that only the second pipeline has. Raises FatalError if one refuses its table."""
    known = {node.id for node in before.sinks}
    return {node.id: sink_operations.planned(node, later=True) for node in after.sinks if node.id not in known}


def waiting(groups: Groups, joined: JoinedTables) -> frozenset[str]:
    """The groups of sinks, by name, that have sinks to be prepared."""
    return frozenset(name for name, group in groups.items() if any(node.id in joined.setups for node in group))


def prepared(
    before: PreparedPipeline, groups: Groups, joined: JoinedTables, log: str, job: JobIdentity, newest: int
) -> PreparedPipeline:
    """Set the new sinks up, add the tables to the splits of the vertex ``log``, and forget the sinks of tables that
    have left. ``newest``: the checkpoint that the pipeline goes on from. Raises CannotResumeError if a target has rows
    of another run of the job."""
    names = {node.id for group in groups.values() for node in group}
    setups = {node: setup for node, setup in before.setups.items() if node in names} | dict(joined.setups)
    for name in waiting(groups, joined):
        new = [node for node in groups[name] if node.id in joined.setups]
        if len(new) == len(groups[name]):  # else its committer has begun
            sink_operations.begin(new[0], setups, job, newest)
        sink_operations.set_up(new, setups)
    *earlier, last = before.rounds[log]
    splits = tuple(joined.begun.split if one.id == joined.begun.split.id else one for one in last.splits)
    rounds = (*earlier, SplitRound(splits, joined.begun.state))
    refused = {path: why for path, why in before.refused.items() if path not in joined.left}
    over = {*joined.tables, *frozenset(joined.left).difference(joined.going_back)}
    held = {path: one for path, one in before.held.items() if path not in over}
    return replace(before, setups=setups, rounds={**before.rounds, log: rounds}, refused=refused, held=held)
