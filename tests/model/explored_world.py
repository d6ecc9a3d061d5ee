"""A world without time and chance round the shipping machines: which steps are possible in a state, and where they lead.

A state is a tuple of numbers of interned values, so that it is copied by sharing. What a machine does with an event is
computed once by the shipping code and remembered: machines are deterministic, and time stands still.

Reductions, and why they are sound. (X1) A unit's end, its journal entry and the showing of its outputs are one step
where no fault can come between; nobody else sees what is between them. Otherwise they are two: a piece that is staged
without an entry is an orphan that nothing names. (X2) The store's and a target's answers arrive with the act where no
crash can come between; what a dead driver had sent off arrives before the next one begins, or is refused whenever it
arrives. (X3) An envelope for a past life of its receiver is dropped at once: it would be dropped on arrival, for epochs
only grow. What a past life of a sender left in a channel stays there or is lost, both are explored. (X4) Of the records
only the newest is kept: older ones are never read (I17); the journal keeps what is not in it. (X5) A checkpoint expires
as a fault, or when nothing else can happen. (X6) Queues between subtasks have no bound, messages between coordinator
and subtasks no order. The others stand in ``explored_reductions.py`` (X7 to X12, X15) and ``explored_durable.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from seatunnel_py.protocol.coordinator import events as report
from seatunnel_py.protocol.coordinator.checkpoints import EXPIRE, TRIGGER
from seatunnel_py.protocol.coordinator.commands import Restart, SendCompleted, SendTrigger
from seatunnel_py.protocol.model.lifecycle import ExecutionState, PipelineState
from seatunnel_py.protocol.model.reasons import Reason
from tests.model.explored_checks import Violated, check_end, check_stopped, expect
from tests.model.explored_durable import Answer, Journal, Store, Target
from tests.model.explored_instances import Instance
from tests.model.explored_machines import Machines
from tests.model.explored_reductions import Roles, alone
from tests.model.explored_state import TO_COORDINATOR, Node, State, Step, without

AT = 1.0
LOSABLE = (report.Acknowledged, SendTrigger, SendCompleted)
TWICE = (report.Acknowledged, SendTrigger)


class World:
    """The successor function of one instance."""

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.machines = Machines(instance)
        self.roles = tuple(Roles(instance, graph) for graph in instance.graphs)
        self.cut = 0
        """Steps that were not looked at because they would have taken too many checkpoint ids."""

    # ---------------------------------------------------------------- the beginning

    def initial(self) -> State:
        """Everybody runs: how a first life begins is explored where a second one does."""
        number, instance = self.machines.number, self.instance
        targets = tuple(number(Target(v.id)) for v in instance.topology.vertices if v.id in "KL")
        state = self.start(
            State(-1, (), (), (), (), (), (), number(Store()), number(Journal()), targets, triggers=instance.triggers)
        )
        while state.flight or state.mail:
            state = self.write(state, 0) if state.flight else next(self.mail(state, state.mail[0]))[1]
        return state._replace(faults=instance.budget, flight=(), mail=())

    def start(self, state: State) -> State:
        """A new incarnation: fence, then read, then decide (I38)."""
        machines = self.machines
        incarnation = state.incarnation + 1
        store, coordinator, graph, journal, targets = machines.incarnate(state.store, state.journal, state.targets)
        count, instance = len(self.instance.subtasks), self.instance
        state = state._replace(
            machines=machines.fresh[graph], nodes=(Node(),) * count, channels=((),) * len(instance.channels),
            mail=(), timers=(), store=store, journal=journal, targets=targets, incarnation=incarnation, open=(),
            graph=graph,
        )  # fmt: skip
        while state.flight:  # of the driver before: refused whenever it comes (X2)
            state = self.write(state, 0)
        return self.hear(state._replace(coordinator=coordinator), report.Activated(AT, incarnation))

    # ---------------------------------------------------------------- machines

    def hear(self, state: State, event: Any) -> State:
        """The coordinator handles an event, and its commands are performed."""
        return self.hear_number(state, self.machines.number(event))

    def hear_number(self, state: State, event: int) -> State:
        machine, orders = self.machines.coordinator_step(state.coordinator, event, state.store)
        if machine == state.coordinator and not orders:
            return state
        highest, begun, pending, ended = state.highest, state.begun, set(state.open), state.ended
        timers, mail, flight = set(state.timers), list(state.mail), list(state.flight)
        for kind, to, value in orders:
            if kind == "mail":
                mail.append((to, value))
            elif kind == "flight":
                flight.append((state.incarnation, value))
            elif kind == "set":
                timers.add(value)
            elif kind == "unset":
                timers.discard(value)
            elif kind == "begins":
                if value not in pending:
                    expect(value > highest, "I11", f"id {value} is not above {highest}")
                    pending.add(value)
                    highest, begun = value, begun + 1
            elif kind == "ends":
                expect(value in pending, "I12", f"checkpoint {value} ends, and had ended or never begun")
                pending.discard(value)
            elif kind == "restart":
                given_up = pending - {to}
                expect(not given_up, "I24", f"a life begins while {sorted(given_up)} are under way")
                mail.append(value)
            else:
                ended = True
                expect(not pending, "I12", f"the pipeline ends, and {sorted(pending)} have not")
                if not value:
                    return self._stopped(state)
        return state._replace(
            coordinator=machine, highest=highest, begun=begun, open=tuple(sorted(pending)), timers=tuple(sorted(timers)),
            mail=self.machines.sorted(mail), flight=tuple(flight), ended=ended,
        )  # fmt: skip

    def _stopped(self, state: State) -> State:
        """Behind its savepoint a pipeline is gone as behind a crash, but nothing is on its way any more."""
        newest = self.machines.values[state.store].record
        for target in state.targets:
            check_stopped(self.machines.values[target], newest)
        return self._gone(state)._replace(flight=())

    def _gone(self, state: State) -> State:
        return state._replace(coordinator=-1, machines=(), nodes=(), channels=(), mail=(), timers=(), open=())

    def feed(self, state: State, at: int, event: int, *, shown: bool = False) -> State:
        """A participant handles an event, and its commands are performed."""
        before = state.machines[at]
        machine, said = self.machines.participant_step(before, event, shown)
        if machine == before and not said:
            return state
        machines = (*state.machines[:at], machine, *state.machines[at + 1 :])
        if not said:
            return state._replace(machines=machines)
        node, mail, channels, told = state.nodes[at], state.mail, list(state.channels), []
        for kind, to, value in said:
            if kind == "unit":
                node = node._replace(unit=value)
            elif kind == "emit":
                receiver, epoch = self.machines.addressee[value]
                there = node if receiver == at else state.nodes[receiver]
                if epoch > there.epoch or (epoch == there.epoch and not there.dead):
                    channels[to] = (*channels[to], value)
            elif kind == "mail":
                told.append((to, value))
            elif kind == "timeout":
                node = node._replace(timeouts=tuple(sorted((*node.timeouts, value))))
        if told:
            mail = self.machines.sorted([*mail, *told])
        nodes = (*state.nodes[:at], node, *state.nodes[at + 1 :])
        return state._replace(machines=machines, nodes=nodes, channels=tuple(channels), mail=mail)

    def _node(self, state: State, at: int, **changed: Any) -> State:
        return state._replace(nodes=(*state.nodes[:at], state.nodes[at]._replace(**changed), *state.nodes[at + 1 :]))

    # ---------------------------------------------------------------- steps

    def successors(self, state: State) -> list[Step]:
        """Every step that is possible, with a name. Raises Violated where one breaks an invariant."""
        if state.ended:
            return []
        if state.coordinator < 0:
            found = [*self._writes(state), ("a new driver starts", self.start(state))]
        elif single := alone(self, state):
            found = single
        else:
            found = [*self._deliveries(state), *self._work(state), *self._writes(state), *self._timers(state)]
            if state.faults:
                found.extend(self._faults(state))
            elif not found:
                found.extend(self._expiries(state))
            expect(bool(found), "I13", "nothing can happen any more, and the pipeline has not ended")
        kept = [one for one in found if one[1].begun <= self.instance.checkpoints]
        self.cut += len(found) - len(kept)
        return kept

    def _deliveries(self, state: State) -> Iterator[Step]:
        for number, waiting in enumerate(state.channels):
            if waiting:
                receiver, epoch = self.machines.addressee[waiting[0]]
                node = state.nodes[receiver]
                if not (node.dead and epoch > node.epoch):
                    rest = (*state.channels[:number], waiting[1:], *state.channels[number + 1 :])
                    item = self.machines.arrival[waiting[0]]
                    after = state._replace(channels=rest)
                    yield f"arrives {number}:{waiting[0]}", after if node.dead else self.feed(after, receiver, item)
        last = None
        for message in state.mail:
            if message != last:
                yield from self.mail(state, message)
            last = message

    def mail(self, state: State, message: tuple[int, int]) -> Iterator[Step]:
        to, value = message
        after = state._replace(mail=without(state.mail, message))
        if to == TO_COORDINATOR:
            yield f"hears {value}", self.hear_number(after, value)
        elif isinstance(command := self.machines.values[value], Restart):
            yield from self._restart(after, to, command)
        elif state.nodes[to].dead:
            yield f"is lost on a dead {self.instance.subtasks[to]} {value}", after
        else:
            yield f"is told {to}:{value}", self.feed(after, to, self.machines.told[value])

    def _restart(self, state: State, at: int, command: Restart) -> Iterator[Step]:
        """One life ends, another begins; what the old one left in its outputs may be lost with it (X3)."""
        node, machines = state.nodes[at], self.machines
        if command.epoch <= node.epoch:
            yield f"a restart of {command.subtask} is overtaken", state
            return
        state, event = self._begin(state, at, command)
        channels = list(state.channels)
        for number, channel in enumerate(self.instance.channels):
            if channel.receiver == command.subtask:
                channels[number] = machines.for_life(channels[number], command.epoch)
        state = state._replace(channels=tuple(channels))
        yield f"restarts {command.subtask}, epoch {command.epoch}", self.feed(state, at, event)
        lost = [
            machines.of_life(one, command.epoch) if channel.sender == command.subtask else one
            for channel, one in zip(self.instance.channels, channels, strict=True)
        ]
        if lost != channels:
            state = state._replace(channels=tuple(lost))
            name = f"restarts {command.subtask}, epoch {command.epoch}; what it had sent is lost"
            yield name, self.feed(state, at, event)

    def _begin(self, state: State, at: int, command: Restart) -> tuple[State, int]:
        journal, targets, event = self.machines.begin(state.store, state.journal, state.targets, command)
        state = self._node(state._replace(journal=journal, targets=targets), at, epoch=command.epoch, dead=False, unit=-1, shown_next=-1,
                           timeouts=())  # fmt: skip
        return state, event

    def _work(self, state: State) -> Iterator[Step]:
        for at, node in enumerate(state.nodes):
            if node.dead:
                continue
            if node.shown_next >= 0:
                after = self._node(state, at, shown_next=-1)
                yield f"shows {at}:{node.shown_next}", self.feed(after, at, node.shown_next, shown=True)
            elif node.unit >= 0:
                yield f"ends {at}:{node.unit}", self.end_unit(state, at, node)
            for value in node.timeouts:
                left = tuple(one for one in node.timeouts if one != value)
                yield f"times out {at}:{value}", self.feed(self._node(state, at, timeouts=left), at, value)

    def end_unit(self, state: State, at: int, node: Node) -> State:
        """The unit is done; its entry, if it needs one, is durable (X1)."""
        done, targets = self.machines.unit(node.unit, state)
        after = self.feed(self._node(state._replace(targets=targets), at, unit=-1), at, done)
        entry = self.machines.entry(state.machines[at], done)
        if entry is None:
            return after
        journal, shown = self.machines.log(state.journal, self.instance.subtasks[at], node.epoch, entry)
        after = after._replace(journal=journal)
        if state.faults:
            return self._node(after, at, shown_next=shown)
        return self.feed(after, at, shown, shown=True)

    def _writes(self, state: State) -> Iterator[Step]:
        for number, (incarnation, command) in enumerate(state.flight):
            late = incarnation < state.incarnation or state.coordinator < 0
            yield f"{'late ' if late else ''}performs {command}", self.write(state, number)

    def write(self, state: State, number: int, *, answer: bool = True) -> State:
        """A record reaches the store, or a commit its target; of a dead driver too."""
        incarnation, command = state.flight[number]
        machines = self.machines
        store, journal, targets, said, event = machines.perform(
            command, incarnation, state.store, state.journal, state.targets
        )
        if incarnation < state.incarnation:
            expect(
                said is Answer.FENCED,
                "I34",
                f"driver {incarnation} reached something after {state.incarnation} had begun",
            )
        flight = (*state.flight[:number], *state.flight[number + 1 :])
        state = state._replace(flight=flight, store=store, journal=journal, targets=targets)
        if not answer or incarnation < state.incarnation or state.coordinator < 0:
            return state
        if state.faults and "crash" in self.instance.faults:
            return state._replace(mail=machines.sorted([*state.mail, (TO_COORDINATOR, event)]))
        return self.hear_number(state, event)

    def _timers(self, state: State) -> Iterator[Step]:
        for name in state.timers:
            if not name.startswith(EXPIRE) and name != TRIGGER:
                after = state._replace(timers=tuple(one for one in state.timers if one != name))
                yield f"timer {name}", self.hear(after, report.Timer(AT, name))
        shared = self.machines.values[state.coordinator].shared
        if state.triggers and shared.state is PipelineState.RUNNING:
            after = self.hear(state._replace(triggers=state.triggers - 1), report.Progressed(AT))
            yield "a periodic checkpoint is due", self.hear(after, report.Timer(AT, TRIGGER))

    def _expiries(self, state: State) -> Iterator[Step]:
        for name in state.timers:
            if name.startswith(EXPIRE):
                after = state._replace(timers=tuple(one for one in state.timers if one != name))
                yield f"timer {name}", self.hear(after, report.Timer(AT, name))

    # ---------------------------------------------------------------- faults

    def _faults(self, state: State) -> Iterator[Step]:
        kinds, less = self.instance.faults, state._replace(faults=state.faults - 1)
        if "fail" in kinds:
            for at, node in enumerate(state.nodes):
                if not node.dead:
                    yield f"FAULT: {self.instance.subtasks[at]} fails", self._fail(less, at, node)
        if "crash" in kinds:
            yield "FAULT: the driver crashes", self._gone(less)
        if "stop" in kinds:
            yield "a stop is asked for", self.hear(less, report.SavepointRequested(AT, "savepoint", stop=True))
        for message in dict.fromkeys(state.mail):
            if isinstance(self.machines.values[message[1]], LOSABLE) and "lose" in kinds:
                mail = list(state.mail)
                mail.remove(message)
                yield f"FAULT: lost {message[0]}:{message[1]}", less._replace(mail=tuple(mail))
            if isinstance(self.machines.values[message[1]], TWICE) and "twice" in kinds:
                yield (
                    f"FAULT: twice {message[0]}:{message[1]}",
                    less._replace(mail=self.machines.sorted([*state.mail, message])),
                )
        if "expire" in kinds:
            yield from ((f"FAULT: {name}", after) for name, after in self._expiries(less))
        elif state.timers and not state.mail and not state.flight:
            yield from self._patience(state)
        for number, (incarnation, command) in enumerate(state.flight):
            if incarnation == state.incarnation:
                yield from self._refusals(less, number, command)

    def astray(self, state: State, message: tuple[int, int]) -> Iterator[Step]:
        """A message is lost, or comes twice."""
        value, kinds = self.machines.values[message[1]], self.instance.faults
        if isinstance(value, LOSABLE) and "lose" in kinds:
            yield f"FAULT: lost {message[0]}:{message[1]}", state._replace(mail=without(state.mail, message))
        if isinstance(value, TWICE) and "twice" in kinds:
            mail = self.machines.sorted([*state.mail, message])
            yield f"FAULT: twice {message[0]}:{message[1]}", state._replace(mail=mail)

    def _patience(self, state: State) -> Iterator[Step]:
        """A checkpoint that nobody speaks of any longer expires (X5)."""
        if not any(state.channels) and all(node.unit < 0 and node.shown_next < 0 for node in state.nodes):
            yield from self._expiries(state)

    def _refusals(self, state: State, number: int, command: int) -> Iterator[Step]:
        failed, is_record = self.machines.refusal(command)
        without = state._replace(flight=(*state.flight[:number], *state.flight[number + 1 :]))
        if is_record and "store" in self.instance.faults:
            yield f"FAULT: the store refuses {command}", self.hear_number(without, failed)
        if not is_record and "commit" in self.instance.faults:
            yield f"FAULT: fails before {command}", self.hear_number(without, failed)
            after = self.write(state, number, answer=False)
            yield f"FAULT: fails after {command}", self.hear_number(after, failed)

    def _fail(self, state: State, at: int, node: Node) -> State:
        subtask = self.instance.subtasks[at]
        event = report.SubtaskFailed(AT, state.incarnation, node.epoch, subtask, Reason.UNIT_FAILED)
        state = self._node(state, at, dead=True, unit=-1, shown_next=-1, timeouts=())
        channels = tuple(
            self.machines.for_life(one, node.epoch + 1) if channel.receiver == subtask else one
            for channel, one in zip(self.instance.channels, state.channels, strict=True)
        )
        mail = self.machines.sorted([*state.mail, (TO_COORDINATOR, self.machines.number(event))])
        return state._replace(mail=mail, channels=channels)

    # ---------------------------------------------------------------- ends

    def check(self, state: State) -> None:
        """What has to hold in a state by itself."""
        if state.ended:
            check_end(self.instance, [self.machines.values[one] for one in state.targets])
        elif state.coordinator >= 0:
            for number, node in zip(state.machines, state.nodes, strict=True):
                if not node.dead and (machine := self.machines.values[number]).life is ExecutionState.FAILED:
                    raise Violated("I22", f"{machine.subtask} gave up: {machine._failure}")


__all__ = ["World"]
