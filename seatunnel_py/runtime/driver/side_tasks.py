"""Functions that perform effects on other threads: each returns a value or raises."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from seatunnel_py.api.source import Enumerator, Split
from seatunnel_py.plan.graph_nodes import SourceNode
from seatunnel_py.plan.plugins import plugin_calls
from seatunnel_py.runtime.messages.effects import (
    CloseKind,
    CloseOut,
    ConfirmPositions,
    Discover,
    HandleReaderEvents,
    Prepare,
)
from seatunnel_py.runtime.resume.pipeline_start import StartPlan, start
from seatunnel_py.runtime.resume.table_refresh import TableRefreshes
from seatunnel_py.runtime.state.context import PipelineContext
from seatunnel_py.runtime.targets import sink_operations
from seatunnel_py.runtime.targets.call_failure import as_failure
from seatunnel_py.runtime.targets.sink_operations import Groups
from seatunnel_py.runtime.values.split_progress import SplitRound
from seatunnel_py.work.unit import UnitFailure


def prepare(context: PipelineContext, effect: Prepare, refreshes: TableRefreshes) -> StartPlan:
    """Examine sources and targets, before anything is changed but rows that a request wants to be read again."""
    pipeline, graph, groups, job = context.pipeline, context.graph.topology, context.groups, context.job
    plan = start(pipeline, graph, groups, job, effect.past, effect.copied)
    return replace(
        plan, refreshed=tuple(refreshes.perform(wish, pipeline, job, plan) for wish in effect.past.refreshes)
    )


def discover(source: SourceNode, enumerator: Enumerator, effect: Discover) -> SplitRound:
    """Discover new splits."""
    found = plugin_calls.splits_of(source.step, enumerator.discover)
    new = tuple(one for one in found if one.id not in effect.known)
    return SplitRound(new, plugin_calls.snapshot_of(source.step, enumerator))


def handle_reader_events(
    source: SourceNode, enumerator: Enumerator, effect: HandleReaderEvents
) -> SplitRound | UnitFailure:
    """Pass reader events to the enumerator, in order, and return the new splits. Returns failures instead of raising,
    because a unit waits for the answer, even if the pipeline is over."""
    splits = {split.id: split for split in effect.splits}
    found: dict[str, Split] = {}
    try:
        for split, event in effect.events:
            tell = partial(enumerator.on_reader_event, splits[split], event)
            new = plugin_calls.splits_of(source.step, tell, "on_reader_event")
            found |= {one.id: one for one in new if one.id not in splits}
        return SplitRound(tuple(found.values()), plugin_calls.snapshot_of(source.step, enumerator))
    except Exception as error:  # noqa: BLE001 - a plugin's own code runs here
        return as_failure(error)


def confirm_positions(source: SourceNode, enumerator: Enumerator, effect: ConfirmPositions) -> None:
    """Report the positions of the oldest checkpoint to the enumerator."""
    with plugin_calls.attributed(source.step, "on_checkpoint_complete"):
        enumerator.on_checkpoint_complete(effect.positions)


def close_out(context: PipelineContext, effect: CloseOut, enumerators: Iterable[Enumerator]) -> None:
    """Close the enumerators, and drop staged rows according to the kind of the effect. After a failure the others are
    still closed or dropped."""
    groups, pieces, setups, job = tuple(context.groups.values()), effect.pieces, effect.setups, context.job
    if effect.kind is CloseKind.ABORT:
        sink_operations.abort(groups, pieces, setups, job, enumerators)
        return
    with ExitStack() as closing:
        if effect.kind is CloseKind.RELEASE:
            closing.callback(_sweep_isolated, context, effect)
        else:
            closing.callback(sink_operations.drop, groups, pieces, setups, job, last=True)
        sink_operations.release(enumerators)


def _sweep_isolated(context: PipelineContext, effect: CloseOut) -> None:
    given_up = _groups_of(context, effect.given_up)
    if given_up:
        sink_operations.abort(given_up, effect.pieces, effect.setups, context.job, ())
    kept = _groups_of(context, effect.kept)
    sink_operations.drop(kept, effect.pieces, effect.setups, context.job, last=True)


def _groups_of(context: PipelineContext, nodes: frozenset[str]) -> Groups:
    return [group for group in context.groups.values() if group[0].id in nodes]
