"""One machine of a pipeline, as the checkers see it, and its subtasks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from seatunnel_py.plan.altered_log import JoinedTables
from seatunnel_py.protocol.coordinator import commands as order
from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.participant.participant import Participant
from seatunnel_py.runtime.pipeline.pipeline_machine import PipelineMachine

if TYPE_CHECKING:
    from tests.simulation.jobs.targets import SimulatedLedger


@dataclass(frozen=True, slots=True)
class Node:
    """A subtask of a driver."""

    subtask: Subtask
    participant: Participant
    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Shown:
    """A sink, in which a commit becomes visible."""

    node: str
    scope: str
    ledger: SimulatedLedger


class Driver:
    """A machine that was prepared. ``serial``: above that of all machines of the pipeline before it; ``record``: what it
    goes on from, in its own graph; without ``replay`` the journals are of another one; ``anew``: from nothing, though
    there was something; ``done``: start effects that are done; ``graph``: its name in the
    journal; ``topology``: without those that are isolated, as the coordinator has said."""

    def __init__(self, machine: PipelineMachine, serial: int) -> None:
        assert machine._start is not None, f"{machine.key} is not prepared"
        outcome, self.coordinator = machine._start
        context = machine.context
        self.machine, self.serial = machine, serial
        self.incarnation = context.job.incarnation
        self.name = f"driver {self.incarnation}"
        self.record, self.anew, self.done = outcome.record, outcome.anew, outcome.done
        self.graph = outcome.graph
        self.whole = whole = context.graph.topology
        self.replay = not outcome.anew and (not whole.edges or context.past.graph == outcome.graph)
        self.topology = replace(whole, detached=self.record.topology.detached if self.record else frozenset[str]())
        self.settings = self.coordinator.shared.settings
        self.set_up = tuple(context.groups)
        self.ended: order.PipelineEnded | None = None
        self.nodes = {
            subtask: Node(subtask, participant, whole.inputs(subtask), whole.outputs(subtask), str(subtask))
            for subtask, participant in machine.state.participants.items()
        }

    @property
    def joined(self) -> JoinedTables | None:
        """The tables that join or leave the log with this machine."""
        altered = self.machine.context.past.altered
        return None if altered is None else altered.joined

    def targets(self) -> Mapping[str, tuple[Shown, ...]]:
        """The sinks of each commit scope."""
        scopes = self.machine.context.graph.scopes
        return {
            scope: tuple(Shown(node.id, scope, node.sink.state) for group in groups for node in group)  # type: ignore[attr-defined]
            for scope, groups in scopes.items()
        }
