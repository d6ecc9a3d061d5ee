"""Many coordinators under one roof: one write for many records, and each pipeline's outcome its own."""

from __future__ import annotations

from seatunnel_py.protocol.commit.record_batcher import AddressedCommand, CoordinatorGroup, HubCommand, PersistTogether
from seatunnel_py.protocol.coordinator import commands as cc
from seatunnel_py.protocol.coordinator import events as ev
from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from tests.protocol.talk import PAIR, SETTINGS


def hub_of(*names: str) -> CoordinatorGroup:
    return CoordinatorGroup({name: Coordinator(PAIR, SETTINGS) for name in names})


def writes(said: tuple[HubCommand, ...]) -> list[PersistTogether]:
    return [command for command in said if isinstance(command, PersistTogether)]


def test_records_that_wait_for_a_write_travel_together_with_the_next() -> None:
    hub = hub_of("a", "b", "c")

    [first] = writes(hub.handle("a", ev.Activated(0.0, 1)))
    assert set(first.records) == {"a"}
    assert not hub.handle("b", ev.Activated(0.0, 1)) and not hub.handle("c", ev.Activated(0.0, 1))
    [second] = writes(hub.stored(0.0, first.number, ok=True))

    assert set(second.records) == {"b", "c"} and second.number > first.number


def test_everything_else_passes_with_its_address() -> None:
    hub = hub_of("a")
    [write] = writes(hub.handle("a", ev.Activated(0.0, 1)))

    said = hub.stored(0.0, write.number, ok=True)

    assert {command.pipeline for command in said if isinstance(command, AddressedCommand)} == {"a"}
    assert [type(command.command) for command in said if isinstance(command, AddressedCommand)] == [cc.Restart] * 2


def test_everything_else_passes_in_its_order() -> None:
    """HU2: a coordinator says the same with a roof over it and without."""
    alone, hub = Coordinator(PAIR, SETTINGS), hub_of("a")
    [write] = writes(hub.handle("a", ev.Activated(0.0, 1)))
    alone.handle(ev.Activated(0.0, 1))

    said = alone.handle(ev.Persisted(0.0, write.records["a"].checkpoint))

    assert hub.stored(0.0, write.number, ok=True) == tuple(AddressedCommand("a", command) for command in said)
    assert said[0] != said[-1]


def test_the_answer_to_an_old_write_changes_nothing() -> None:
    hub = hub_of("a")
    [write] = writes(hub.handle("a", ev.Activated(0.0, 1)))

    assert hub.stored(0.0, write.number + 1, ok=True) == ()
    assert hub.stored(0.0, write.number, ok=True)
    assert hub.stored(0.0, write.number, ok=True) == ()


def test_a_write_that_fails_concerns_those_in_it() -> None:
    """O5.1: the others go on."""
    hub = hub_of("a", "b")
    [first] = writes(hub.handle("a", ev.Activated(0.0, 1)))
    hub.handle("b", ev.Activated(0.0, 1))

    said = hub.stored(0.0, first.number, ok=False, fenced=True)

    assert [command.command for command in said if isinstance(command, AddressedCommand)][-1] == cc.PipelineEnded(
        ev.Reason.FENCED
    )
    assert [set(write.records) for write in writes(said)] == [{"b"}]


def test_who_holds_records_says_when_they_are_written() -> None:
    """HU1 all the same: one write at a time, with everything that waits."""
    hub = CoordinatorGroup({name: Coordinator(PAIR, SETTINGS) for name in "abc"}, holds=True)
    assert not hub.handle("a", ev.Activated(0.0, 1)) and not hub.handle("b", ev.Activated(0.0, 1))
    assert hub.waiting.keys() == {"a", "b"} and not hub.writing

    [first] = hub.write()
    assert hub.writing and not hub.waiting and first.records.keys() == {"a", "b"}
    hub.handle("c", ev.Activated(0.0, 1))
    assert hub.write() == ()
    assert not writes(hub.stored(0.0, first.number, ok=True)) and not hub.writing
    [second] = hub.write()

    assert second.records.keys() == {"c"} and second.number > first.number
