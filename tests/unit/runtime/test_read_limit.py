"""The budget of a source: never above the limit, all of it where somebody wants it, shared by those who read."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.runtime.diagnosis import diagnostics
from seatunnel_py.runtime.values.rate_limit import PROBE_ROWS, RateLimit


@dataclass
class World:
    """Readers that take turns as their units and the limit allow; batches are of fixed size, so units overshoot."""

    limit: RateLimit
    batch: int = 1
    row_bytes: int = 10
    unit_seconds: float = 0.03
    rows: Counter[str] = field(default_factory=Counter)
    at: float = 0.0

    def run(
        self, wants: dict[str, list[tuple[float, float]]], until: float, holds: Callable[[], bool] = lambda: True
    ) -> None:
        """Each reader wants to read in these spans of time; what ``holds`` does so all the time."""
        queue = [(spans[0][0], name) for name, spans in wants.items() if spans]
        heapq.heapify(queue)
        while queue and queue[0][0] < until:
            self.at, name = heapq.heappop(queue)
            now = [span for span in wants[name] if span[0] <= self.at < span[1]]
            if not now:
                later = [span[0] for span in wants[name] if span[0] > self.at]
                if later:
                    heapq.heappush(queue, (min(later), name))
                continue
            grant = self.limit.ask(self.at, name)
            if not grant.rows:
                assert grant.wait > 0
                heapq.heappush(queue, (self.at + grant.wait, name))
                continue
            read = -(-grant.rows // self.batch) * self.batch
            self.rows[name] += read
            assert holds(), (self.at, self.rows)
            self.limit.used(self.at, name, grant, read, read * self.row_bytes)
            heapq.heappush(queue, (self.at + self.unit_seconds, name))


spans = st.lists(st.tuples(st.floats(0, 20), st.floats(0, 20)).map(sorted).map(tuple), min_size=1, max_size=3)


@given(
    st.dictionaries(st.sampled_from("abcdef"), spans, min_size=1),
    st.integers(1, 100_000),
    st.integers(1, 5_000),
    st.floats(0.001, 2.0),
)
@settings(max_examples=80)
def test_the_whole_is_never_above_the_limit(
    wants: dict[str, list[tuple[float, float]]], rate: int, batch: int, unit: float
) -> None:
    """At any moment, by more than what units read beyond their grants: those are bounded by a batch a reader."""
    world = World(RateLimit(rate, None), batch, unit_seconds=unit)
    world.run(wants, 20, lambda: world.rows.total() <= rate * world.at + len(wants) * batch)


@given(st.integers(1_000, 10**7), st.integers(1, 500), st.integers(1, 4))
@settings(max_examples=60)
def test_the_whole_is_never_above_the_limit_of_bytes(rate: int, row_bytes: int, readers: int) -> None:
    """But for the first units, which do not know how large rows are."""
    world = World(RateLimit(None, rate), row_bytes=row_bytes)
    world.run({name: [(0.0, 20.0)] for name in "abcd"[:readers]}, 20)

    assert world.rows.total() * row_bytes <= rate * world.at + readers * (PROBE_ROWS + 1) * row_bytes


@pytest.mark.parametrize("rate", [0.5, 1, 3, 100, 1_000_000])
@pytest.mark.parametrize("readers", [1, 5])
def test_all_of_it_is_used_where_it_is_wanted(rate: float, readers: int) -> None:
    """Also where a reader's share is less than a row a second."""
    world = World(RateLimit(rate, None))
    world.run({name: [(0.0, 60.0)] for name in "abcde"[:readers]}, 60)

    assert world.rows.total() >= rate * 60 * 0.9 - readers
    least, most = min(world.rows.values()), max(world.rows.values())
    assert len(world.rows) == readers and most <= 2 * least + 2, "nobody is left behind"


def test_the_share_of_an_idle_reader_goes_to_the_others() -> None:
    """Four readers, and after ten seconds one."""
    world = World(RateLimit(1_000, None))
    world.run({"a": [(0, 30)], "b": [(0, 10)], "c": [(0, 10)], "d": [(0, 10)]}, 30)

    assert world.rows["a"] >= 20_000 * 0.9 + 2_000


def test_both_limits_hold_at_once() -> None:
    """The narrower one decides."""
    for rows, size, wanted in ((100, 10**9, 100), (10**6, 1_000, 100)):
        world = World(RateLimit(rows, size), row_bytes=10)
        world.run({"a": [(0, 50)]}, 50)
        assert wanted * 50 * 0.9 - PROBE_ROWS <= world.rows.total() <= wanted * 50 + PROBE_ROWS


def test_what_was_not_used_is_not_saved_up() -> None:
    """A source that was silent for an hour does not then overrun its target."""
    limit = RateLimit(100, None)
    assert limit.ask(0.0, "a").rows == 0
    grant = limit.ask(3600.0, "a")

    assert 0 < grant.rows <= 100


def test_a_table_of_one_batch_waits_once_for_what_it_read() -> None:
    """Its reader's second unit finds nothing, and would else wait until a second such batch could be read."""
    limit = RateLimit(20, None)
    grant = limit.ask(0.0, "a")
    grant = limit.ask(grant.wait, "a")
    limit.used(0.1, "a", grant, 100, 0)

    assert not limit.ask(4.5, "a").rows
    assert limit.ask(5.1, "a").rows


def test_what_a_unit_did_not_read_goes_back() -> None:
    limit = RateLimit(100, None)
    limit.ask(0.0, "a")
    grant = limit.ask(1.0, "a")
    limit.used(1.0, "a", grant, 10, 0)

    assert limit.ask(1.0, "a").rows >= 80


def test_a_source_that_the_limit_holds_does_not_look_as_if_it_had_nothing_to_read() -> None:
    """P2, smaller: `jobs show` said "its sources have had nothing to read for 0 s"."""
    free, held = SimpleNamespace(limited=False), SimpleNamespace(limited=True)

    assert "nothing to read for 4 s" in diagnostics._idle(None, [free], 5.0, 1.0)  # type: ignore[arg-type,list-item]
    assert "as much as read_limit allows" in diagnostics._idle(None, [free, held], 5.0, 1.0)  # type: ignore[arg-type,list-item]
