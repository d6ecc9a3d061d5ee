"""One vertex while it runs: which rows are waiting, under way and done. Decides; performs nothing.

Rules. (1) At most ``parallelism`` units of a vertex are under way. (2) A split has at most one unit under way, so
its rows stay in order. (3) A vertex with a full output channel gets no new unit (back-pressure). (4) The vertex is
done when its input has ended and nothing is waiting or under way.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, replace

from seatunnel_py.api.batch import Position
from seatunnel_py.api.source import Split
from seatunnel_py.plan.pipelines import Vertex
from seatunnel_py.work.unit import Budget, SinkPiece, Slice, Unit, UnitId, UnitResult

ROWS_PER_SECOND_GUESS = 200_000  # what a chain moves on one core; only packing depends on it
UNIT_SECONDS_MIN = 0.01  # begin, commit and a round trip or two
UNIT_SECONDS_UNKNOWN = 0.2  # a split without an estimate: several to a pack, but not hundreds


@dataclass(frozen=True, slots=True)
class _Work:
    """Rows that wait for a unit."""

    split: Split | None = None
    start: Position | None = None
    slices: tuple[Slice, ...] = ()


class VertexRun:
    """The state of one vertex, changed only by its pipeline."""

    def __init__(self, vertex: Vertex, budget: Budget, capacity: int) -> None:
        self.vertex = vertex
        self.pieces: list[SinkPiece] = []
        self.strays: list[SinkPiece] = []  # of failed attempts: staged before the failure, and worth nothing
        self.running: dict[UnitId, Unit] = {}
        self.input_ended = False
        self._budget = budget
        self._capacity = capacity
        self._waiting: deque[_Work] = deque()
        self._inbox: deque[Slice] = deque()
        self._sequence = 0

    # ------------------------------------------------------------- input

    def add_splits(self, splits: Iterable[Split]) -> None:
        """All splits of a bounded source."""
        self._waiting.extend(_Work(split=split) for split in splits)
        self.input_ended = True

    def add_slices(self, slices: Iterable[Slice]) -> None:
        self._inbox.extend(slices)

    @property
    def unread(self) -> int:
        """Batches that arrived and are not taken yet."""
        return len(self._inbox)

    # ------------------------------------------------------------- units

    def next_units(self, room_downstream: bool) -> list[Unit]:
        """The units that may start now."""
        units: list[Unit] = []
        while len(self.running) < self.vertex.parallelism and room_downstream:
            work = self._next_work()
            if work is None:
                break
            units.append(self._unit(work))
        return units

    def _next_work(self) -> _Work | None:
        if self._waiting:
            return self._waiting.popleft()
        if self.vertex.query is not None:
            # A wide query needs its inputs whole.
            if not self.input_ended or self._sequence:
                return None
            slices = tuple(self._inbox)
            self._inbox.clear()
            return _Work(slices=slices)
        if not self._inbox:
            return None
        taken, rows = [], 0
        while self._inbox and rows < self._budget.rows:
            taken.append(self._inbox.popleft())
            rows += taken[-1].rows
        return _Work(slices=tuple(taken))

    def _unit(self, work: _Work) -> Unit:
        unit = Unit(
            UnitId(self.vertex.id, self._sequence),
            work.split,
            work.start,
            work.slices,
            self._budget,
            _cost_seconds(work, self._budget),
        )
        self._sequence += 1
        self.running[unit.id] = unit
        return unit

    # ----------------------------------------------------------- results

    def succeeded(self, result: UnitResult) -> None:
        """Take a result; the rest of its split goes to the front, so that rows stay in order."""
        unit = self.running.pop(result.id)
        self.pieces += result.pieces
        if not result.done:
            self._waiting.appendleft(_Work(split=unit.split, start=result.next))

    def again(self, unit_id: UnitId) -> Unit:
        """The next attempt at a unit that failed or was lost. It stays under way."""
        unit = self.running.pop(unit_id)
        retry = replace(unit, id=replace(unit.id, attempt=unit.id.attempt + 1))
        self.running[retry.id] = retry
        return retry

    @property
    def full(self) -> bool:
        """Whether its inbox holds as much as a channel may; a wide query must take everything."""
        return self.vertex.query is None and len(self._inbox) >= self._capacity

    @property
    def done(self) -> bool:
        query_waits = self.vertex.query is not None and not self._sequence
        return self.input_ended and not (self._waiting or self._inbox or self.running or query_waits)


def _cost_seconds(work: _Work, budget: Budget) -> float:
    rows = work.split.rows if work.split else sum(item.rows for item in work.slices)
    if rows is None:
        return UNIT_SECONDS_UNKNOWN
    return max(UNIT_SECONDS_MIN, min(rows, budget.rows) / ROWS_PER_SECOND_GUESS)
