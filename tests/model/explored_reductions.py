"""Steps that are taken alone, because they commute with every other one: fewer states, and none of interest is missed.

(X7) What changes nothing when it is delivered is delivered at once: machines drop what is too old, and what is too
old stays so. (X8) An acknowledgement that is not the last, and a subtask that is ready before the last one, are heard
at once: they commute with whatever else the coordinator may hear, also with what makes them void. Whether the
acknowledgement is lost or comes twice is explored all the same. (X9) When no fault is left and everybody runs, no
life will end any more. Then, without unaligned barriers, a subtask with a single input takes its batches and ends its
units at once: nobody sees what it does but behind its barrier, and its queue is FIFO.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from seatunnel_py.protocol import coordinator_events as report
from seatunnel_py.protocol.coordinator_commands import Restart
from seatunnel_py.protocol.items import Batch
from seatunnel_py.protocol.lifecycle import Life
from tests.model.explored_state import TO_COORDINATOR, State, Step, without

if TYPE_CHECKING:
    from tests.model.explored_world import World

COMMUTES = (report.Acknowledged, report.SubtaskReady)


def alone(world: World, state: State) -> list[Step]:
    """A step that commutes with every other one, and what else may become of its message (X7, X8, X9)."""
    machines = world.machines
    for message in state.mail:
        value = machines.values[message[1]]
        if type(value) is Restart:
            continue
        step = next(world.mail(state, message))
        after = step[1]
        if message[0] == TO_COORDINATOR:
            silent = after.mail == without(state.mail, message) and after[4:] == (after.mail, *state[5:])
            if not (silent and (after.coordinator == state.coordinator or type(value) in COMMUTES)):
                continue
        elif state.nodes[message[0]].dead or after != state._replace(mail=without(state.mail, message)):
            continue  # what a dead one does not hear may as well come after its restart
        return [step, *world.astray(state._replace(faults=state.faults - 1), message)] if state.faults else [step]
    return calm(world, state) if state.faults == 0 and world.instance.alignment is None else []


def calm(world: World, state: State) -> list[Step]:
    """A batch of a subtask with a single input, once no life will end any more (X9)."""
    machines = world.machines
    if any(node.dead for node in state.nodes):
        return []
    if any(machines.values[number].life is not Life.RUNNING for number in state.machines):
        return []
    if any(type(machines.values[value]) in (report.SubtaskFailed, Restart) for _, value in state.mail):
        return []
    for at in world.single:
        node = state.nodes[at]
        if node.unit >= 0:
            return [(f"ends {at}:{node.unit}", world.end_unit(state, at, node))]
        channel = world.input_of[at]
        waiting = state.channels[channel]
        if waiting and type(machines.values[waiting[0]].envelope.item) is Batch:
            channels = (*state.channels[:channel], waiting[1:], *state.channels[channel + 1 :])
            item = machines.arrival[waiting[0]]
            return [(f"arrives {channel}:{waiting[0]}", world.feed(state._replace(channels=channels), at, item))]
    return []
