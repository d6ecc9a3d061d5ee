"""States -> digests: two states with the same digest have the same future, so one of them is looked at.

Rules. (K1) Numbers of values become forms without checkpoint ids, and the ids come back as ranks among all ids of the
state (V2): states that differ by ids which were taken and given up are one. (K2) Messages without order were sorted
before. (K3) Of a state that has ended nothing follows: only what the targets show is of interest.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from hashlib import blake2b

from seatunnel_py.protocol.coordinator.checkpoints import EXPIRE
from tests.model.explored_state import State
from tests.model.explored_values import Interned

NOTHING = -1


class Canon:
    """States of one exploration -> digests of 16 bytes."""

    def __init__(self, values: Interned) -> None:
        self._shapes, self._ids = values.shapes, values.ids
        self._ranked: dict[frozenset[int], _Ranked] = {}
        """The ids of a state -> what its values look like among these: states come in families with the same ids."""
        self._seen: dict[tuple[int, ...], int] = {}
        self._names: dict[str, int] = {}

    def digest(self, state: State) -> bytes:
        """Everything that a state is, flat: what it consists of, then how that is arranged."""
        if state.ended:
            return blake2b(repr([self._shapes[one] for one in state.targets]).encode(), digest_size=16).digest()
        parts = [state.coordinator, *state.machines, state.store, state.journal, *state.targets]
        rest = [len(state.machines)]
        for epoch, dead, unit, shown, timeouts in state.nodes:
            parts += (unit, shown, *timeouts)
            rest += (epoch, dead, len(timeouts))
        for channel in state.channels:
            parts += channel
            rest.append(len(channel))
        for group in (state.mail, state.flight):
            rest.append(len(group))
            for who, number in group:
                rest.append(who)
                parts.append(number)
        own = [state.highest, *state.open]
        for name in state.timers:
            if name.startswith(EXPIRE):
                own.append(int(name.removeprefix(EXPIRE)))
                name = EXPIRE
            rest.append(self._names.setdefault(name, len(self._names)))
        ids = self._ids
        every = frozenset(own).union(*[ids[number] for number in parts if number >= 0])
        ranked = self._ranked.get(every)
        if ranked is None:
            ranked = self._ranked[every] = _Ranked(every, self._look)
        rest += (
            NOTHING, len(state.open), *[ranked.rank[one] for one in own], state.incarnation, state.begun, state.triggers,
            state.faults, state.graph,
        )  # fmt: skip
        return blake2b(array("i", rest + [ranked[one] for one in parts]).tobytes(), digest_size=16).digest()

    def _look(self, number: int, rank: dict[int, int]) -> int:
        look = (self._shapes[number], *[rank[one] for one in self._ids[number]])
        return self._seen.setdefault(look, len(self._seen))


class _Ranked(dict[int, int]):
    """Number of a value -> how it looks among these ids (K1)."""

    def __init__(self, ids: frozenset[int], look: Callable[[int, dict[int, int]], int]) -> None:
        super().__init__({NOTHING: NOTHING})
        self.rank = {number: at for at, number in enumerate(sorted(ids | {0}))}
        self._look = look

    def __missing__(self, number: int) -> int:
        look = self[number] = self._look(number, self.rank)
        return look
