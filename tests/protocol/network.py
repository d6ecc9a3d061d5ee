"""A world for snapshots in general: processes, FIFO channels, an application, and the history of what happened."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

from seatunnel_py.protocol.model.ids import Channel, Subtask
from tests.protocol.reference.chandy_lamport import (
    GlobalSnapshot,
    Marker,
    Message,
    Process,
    ProcessCommand,
    Received,
    Recorded,
    SendMarker,
    Start,
    assemble,
)
from tests.protocol.reference.consistent_cut import Event, MessageId


class Network:
    """``receive`` is the application: (state, content) -> state. Markers and messages share the queues."""

    def __init__(
        self,
        channels: Iterable[Channel],
        states: dict[Subtask, Any],
        receive: Callable[[Any, Any], Any] = lambda state, content: state,
    ) -> None:
        self.channels = tuple(channels)
        self.states = states
        self.receive = receive
        self.queues: dict[Channel, deque[tuple[Message | Marker, MessageId]]] = {c: deque() for c in self.channels}
        self.sent = dict.fromkeys(self.channels, 0)
        self.history: dict[Subtask, list[Event]] = {name: [] for name in states}
        self.parts: list[Recorded] = []
        self.cuts: dict[int, dict[Subtask, int]] = {}  # snapshot: process: events before its record
        self.processes = {
            name: Process(
                name,
                [channel for channel in self.channels if channel.receiver == name],
                [channel for channel in self.channels if channel.sender == name],
            )
            for name in states
        }

    def local(self, name: Subtask, event: str) -> None:
        self.history[name].append(Event(event, name))

    def send(self, channel: Channel, content: object, event: str = "") -> None:
        self.sent[channel] += 1
        message = (channel, self.sent[channel])
        self.history[channel.sender].append(Event(event or f"send {message}", channel.sender, sent=(message,)))
        self.queues[channel].append((Message(content), message))

    def start(self, name: Subtask, snapshot: int) -> tuple[ProcessCommand, ...]:
        return self._perform(name, self.processes[name].handle(Start(snapshot, self.states[name])))

    def deliver(self, channel: Channel, event: str = "") -> tuple[ProcessCommand, ...]:
        item, message = self.queues[channel].popleft()
        name = channel.receiver
        commands = self._perform(name, self.processes[name].handle(Received(channel, item, self.states[name])))
        if isinstance(item, Message):
            self.states[name] = self.receive(self.states[name], item.content)
            self.history[name].append(Event(event or f"receive {message}", name, received=message))
        return commands

    def _perform(self, name: Subtask, commands: tuple[ProcessCommand, ...]) -> tuple[ProcessCommand, ...]:
        for command in commands:
            if isinstance(command, SendMarker):
                self.queues[command.channel].append((command.marker, (command.channel, 0)))
            else:
                self.parts.append(command)
        begun = {*self.processes[name].recording, *(c.snapshot for c in commands if isinstance(c, Recorded))}
        for snapshot in begun:
            self.cuts.setdefault(snapshot, {}).setdefault(name, len(self.history[name]))
        return commands

    def whole(self, snapshot: int) -> GlobalSnapshot | None:
        return assemble(snapshot, self.states, self.parts)

    def cut(self, snapshot: int) -> frozenset[Event]:
        """The events before the record of each process, as this world saw them."""
        ends = self.cuts[snapshot]
        return frozenset(event for name, line in self.history.items() for event in line[: ends.get(name, 0)])

    def lines(self) -> Collection[Sequence[Event]]:
        return self.history.values()


def links(*pairs: tuple[str, str]) -> tuple[Channel, ...]:
    """Channels between processes that are named by one word each."""
    return tuple(Channel(number, Subtask(one), Subtask(other)) for number, (one, other) in enumerate(pairs))
