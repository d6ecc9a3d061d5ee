"""A state of the explored world: numbers of interned values, so that it is copied by sharing."""

from __future__ import annotations

from typing import NamedTuple

TO_COORDINATOR = -1


class Node(NamedTuple):
    """A subtask as the world sees it: numbers of its unit under way, and of a unit that is durable and not shown."""

    epoch: int = 0
    dead: bool = True
    unit: int = -1
    shown_next: int = -1
    timeouts: tuple[int, ...] = ()


class State(NamedTuple):
    """``coordinator`` -1: none; ``mail``: (to, message); ``flight``: (incarnation, command) on its way to store or
    target; ``highest``: the last checkpoint id that was used; ``begun``: how many were; ``open``: ids that have not ended;
    ``graph``: number of the one that the driver runs."""

    coordinator: int
    machines: tuple[int, ...]
    nodes: tuple[Node, ...]
    channels: tuple[tuple[int, ...], ...]
    mail: tuple[tuple[int, int], ...]
    flight: tuple[tuple[int, int], ...]
    timers: tuple[str, ...]
    store: int
    journal: int
    targets: tuple[int, ...]
    incarnation: int = 0
    highest: int = 0
    begun: int = 0
    open: tuple[int, ...] = ()
    triggers: int = 0
    faults: int = 0
    ended: bool = False
    graph: int = 0


Step = tuple[str, State]


def without(mail: tuple[tuple[int, int], ...], message: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """The messages but for one of them."""
    at = mail.index(message)
    return (*mail[:at], *mail[at + 1 :])
