"""Steps that are taken alone, because they commute with every other one: fewer states, and none of interest is missed.

Whoever takes such a step first reaches every state again that the other order reaches, one step later; runs are finite,
so no step is put off for ever. (X7) What changes nothing when it is delivered is delivered at once: machines drop what
is too old, and what is too old stays so. (X8) An acknowledgement that is not the last, and a subtask that is ready or a
source that has ended before the last one, are heard at once: they commute with whatever else the coordinator may hear,
also with what makes them void. Whether an acknowledgement is lost or comes twice is explored all the same. (X9) Who
stages nothing and keeps nothing for others hears of a completed checkpoint at once: it forgets only what a restart
from before that checkpoint would need, and each restart is from the newest record (I17 is checked). (X10) to (X12) are
about what a subtask does by itself, see ``calm``. (X15) While nobody runs, and nothing is on its way between subtasks,
lives begin one after the other: there is nobody yet to whom it would make a difference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.coordinator.commands import Restart, SendAborted, SendCompleted, SendTrigger
from seatunnel_py.protocol.model.lifecycle import ExecutionState, PipelineState
from seatunnel_py.protocol.model.stream_elements import Barrier, BatchHandle
from seatunnel_py.protocol.model.topology import Topology
from seatunnel_py.protocol.participant.participant import Participant
from tests.model.explored_instances import Instance
from tests.model.explored_state import TO_COORDINATOR, State, Step

if TYPE_CHECKING:
    from tests.model.explored_world import World

COMMUTES = (report.Acknowledged, report.SubtaskReady)


class Roles:
    """What the subtasks of one graph are, by number."""

    def __init__(self, instance: Instance, graph: Topology) -> None:
        at = {subtask: number for number, subtask in enumerate(instance.subtasks)}
        channels = {channel: number for number, channel in enumerate(instance.channels)}
        self.present = [at[subtask] for subtask in graph.subtasks()]
        self.sources = [at[subtask] for subtask in graph.subtasks(graph.sources)]
        self.input_of = {
            at[subtask]: channels[inputs[0]]
            for subtask in graph.subtasks()
            if len(inputs := graph.inputs(subtask)) == 1
        }
        """Of subtasks with a single one."""
        keeping = {edge.sender for edge in graph.edges if edge.retained} | set("KL")
        self.forgetful = {at[subtask] for subtask in graph.subtasks() if subtask.vertex not in keeping}


def alone(world: World, state: State) -> list[Step]:
    """A step that commutes with every other one, and what else may become of its message."""
    for message in state.mail:
        to, value = message
        if _coordinator_may_hear(world, state, value) if to == TO_COORDINATOR else _may_hear(world, state, to, value):
            step = next(world.mail(state, message))
            return [step, *world.astray(state._replace(faults=state.faults - 1), message)] if state.faults else [step]
    if not any(state.channels) and all(
        state.nodes[at].dead or world.machines.values[state.machines[at]].life is ExecutionState.READY
        for at in world.roles[state.graph].present
    ):
        for message in state.mail:
            if type(world.machines.values[message[1]]) is Restart:
                return list(world.mail(state, message))
    return calm(world, state)


def _coordinator_may_hear(world: World, state: State, value: int) -> bool:
    machines = world.machines
    machine, orders = machines.coordinator_step(state.coordinator, value, state.store)
    if machine == state.coordinator or orders:
        return not orders
    kind = type(machines.values[value])
    if kind is report.SourceEnded:
        before, after = machines.values[state.coordinator].shared, machines.values[machine].shared
        return before.state is after.state and not after.all_ended
    return kind in COMMUTES


def _may_hear(world: World, state: State, to: int, value: int) -> bool:
    """What a dead one does not hear may as well come after its restart."""
    machines = world.machines
    if state.nodes[to].dead or value not in machines.told:
        return False
    machine, said = machines.participant_step(state.machines[to], machines.told[value], False)
    forgets = type(machines.values[value]) is SendCompleted and to in world.roles[state.graph].forgetful
    return not said and (machine == state.machines[to] or forgets)


def calm(world: World, state: State) -> list[Step]:
    """A step of a subtask by itself, while everybody runs and barriers are aligned. (X10) A batch that reaches a subtask
    with a single input: nobody sees it but behind a barrier or a unit, and its queue is FIFO. Not while a subtask may
    fail by itself: its neighbours live on, and what they have not received yet is stale then; where all begin anew, it
    is gone either way. (X11) Where no life will end any more, the unit of such a subtask ends at once, if no barrier
    waits for that; the unit of a source does too, when no trigger can come before it has ended. (X12) There, and where
    nothing can be given up any more, a barrier passes such a subtask at once too; a sink, whose snapshot says what it
    has heard of completed checkpoints, hears of these before.
    """
    kinds, left, graph = world.instance.faults, state.faults, world.roles[state.graph]
    if world.instance.alignment is not None or (left and "fail" in kinds):
        return []
    machines, values = world.machines, world.machines.values
    if any(
        values[state.machines[at]].life is not ExecutionState.RUNNING or state.nodes[at].dead for at in graph.present
    ):
        return []
    said = {type(values[value]) for _, value in state.mail}
    if not said.isdisjoint((report.SubtaskFailed, Restart)):
        return []
    shared = values[state.coordinator].shared
    lasting = shared.state is not PipelineState.STOPPING and not (left and ("crash" in kinds or "stop" in kinds))
    settled = lasting and not left and SendAborted not in said and report.Declined not in said
    for at, channel in graph.input_of.items():
        node, waiting = state.nodes[at], state.channels[channel]
        passes = settled and _hears_nothing(world, state, at)
        if node.unit >= 0 and lasting and (passes or not _holds_barrier(values[state.machines[at]])):
            return [(f"ends {at}:{node.unit}", world.end_unit(state, at, node))]
        item = type(values[waiting[0]].envelope.item) if waiting else None
        if item is BatchHandle or (item is Barrier and passes):
            channels = (*state.channels[:channel], waiting[1:], *state.channels[channel + 1 :])
            after = world.feed(state._replace(channels=channels), at, machines.arrival[waiting[0]])
            return [(f"arrives {channel}:{waiting[0]}", after)]
    if settled and not state.triggers and SendTrigger not in said and not values[state.coordinator].checkpoints.queue:
        for at in graph.sources:
            node = state.nodes[at]
            if node.unit >= 0:
                return [(f"ends {at}:{node.unit}", world.end_unit(state, at, node))]
    return []


def _holds_barrier(machine: Participant) -> bool:
    """Behind the unit under way there is a barrier, with which others have to do."""
    queued = (type(item) is Barrier for queue in machine.inputs.queues.values() for item in queue)
    return machine.checkpoints.current is not None or any(queued)


def _hears_nothing(world: World, state: State, at: int) -> bool:
    """Nothing is on its way that would change what a barrier finds here (X12); who takes its journal again may give a
    checkpoint up (G4)."""
    values = world.machines.values
    replays = any(values[state.machines[one]].units.journal for one in world.roles[state.graph].present)
    return not replays and not any(to == at and type(values[value]) is SendCompleted for to, value in state.mail)


__all__ = ["Roles", "alone"]
