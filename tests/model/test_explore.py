"""The exploration itself: small instances are searched wholly, and planted mistakes are found with a shortest path."""

from __future__ import annotations

import pytest

from seatunnel_py.protocol.coordinator.coordinator import Coordinator
from seatunnel_py.protocol.failover import restore
from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.protocol.model.stream_elements import BatchHandle
from seatunnel_py.protocol.participant.alignment import Alignment
from seatunnel_py.protocol.participant.sequence_tracker import SequenceTracker, SequenceVerdict
from seatunnel_py.protocol.participant.subtask_state import SubtaskState
from tests.model import explored_durable, explored_machines
from tests.model.explore import explore, main
from tests.model.explored_canon import Canon
from tests.model.explored_instances import BY_NAME, Instance
from tests.model.explored_values import clone, form
from tests.model.explored_world import World
from tests.protocol.reference.ledger import may_write

SMALL = {
    "failure": Instance("small-failure", "", ("AK",), faults=("fail",), budget=1),
    "unaligned": Instance("small-unaligned", "", ("AK",), batches=2, alignment=0.0),
    "cyclic": Instance("small-cyclic", "", ("AT", "TT", "TK")),
    "crash": Instance("small-crash", "", ("AK",), faults=("crash",), budget=1),
    "chain": Instance("small-chain", "", ("AD", "DK"), faults=("expire",), budget=1),
    "expiry": Instance("small-expiry", "", ("AK",), faults=("expire",), budget=1),
    "rescale": Instance(
        "small-rescale", "", ("SG", "GK"), triggers=0, faults=("stop",), budget=1, rescaled="S2 G2", checkpoints=2
    ),
}


@pytest.mark.parametrize("instance", SMALL.values(), ids=SMALL)
def test_a_small_instance_is_explored_wholly_and_every_invariant_holds(instance: Instance) -> None:
    found = explore(instance)
    assert found.violation == "", "\n".join(found.path)
    assert found.whole
    assert found.states > 200
    assert found.ends > 0


def test_a_search_that_was_cut_short_says_so() -> None:
    found = explore(BY_NAME["join-failure"], states_max=2_000)
    assert not found.whole
    assert "truncated at" in found.verdict


def records(instance: Instance) -> set[str]:
    """Every record that becomes durable on some run, but for its checkpoint ids."""
    world = World(instance)
    digest, first = Canon(world.machines).digest, world.initial()
    seen, waiting, found = {digest(first)}, [first], set()
    while waiting:
        state = waiting.pop()
        found.add(form(world.machines.values[state.store].record)[0])
        for _, after in world.successors(state):
            if (key := digest(after)) not in seen:
                seen.add(key)
                waiting.append(after)
    return found


@pytest.mark.parametrize("name", ["cyclic", "crash", "expiry"])
def test_steps_that_are_taken_alone_leave_no_record_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """X7 to X15: the longer way reaches more states, and no other record."""
    reduced = records(SMALL[name])
    monkeypatch.setattr("tests.model.explored_world.alone", lambda world, state: [])
    assert records(SMALL[name]) == reduced


def test_checkpoint_ids_count_by_their_order_alone() -> None:
    """An id that was taken and given up leaves no trace: states that differ by it are one."""
    world = World(SMALL["failure"])
    state = world.initial()
    digest = Canon(world.machines).digest
    assert digest(state._replace(highest=7)) == digest(state._replace(highest=8))
    assert digest(state._replace(highest=7, open=(7,))) != digest(state._replace(highest=7, open=()))


def test_a_copy_of_a_machine_is_another_one_with_the_same_form() -> None:
    world = World(SMALL["failure"])
    state = world.initial()
    machine = world.machines.values[state.machines[0]]
    copy = clone(machine)
    assert form(copy) == form(machine)
    copy.units.taken += 1
    copy.inputs.epochs["x"] = 1
    assert form(copy) != form(machine)
    assert copy._passage._state is copy


# ---------------------------------------------------------------- planted mistakes


def take_twice(self: SequenceTracker, batch: BatchHandle) -> SequenceVerdict:
    self._remember(batch)
    return SequenceVerdict.ACCEPT


def forget_pieces(self: SubtaskState, checkpoint: int) -> None:
    KEPT_FREEZE(self, checkpoint)
    self.pieces = ()


KEPT_FREEZE = SubtaskState.freeze


def found(instance: Instance, invariants: set[str]) -> None:
    result = explore(instance, states_max=150_000)
    assert result.violation.split(":")[0] in invariants, result.row()
    assert 0 < len(result.path) < 40


def test_channel_state_that_is_forgotten_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Alignment, "recorded", property(lambda self: {}))
    found(SMALL["unaligned"], {"I8"})


def test_a_batch_that_is_applied_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SequenceTracker, "receive", take_twice)
    found(Instance("no-dedup", "", ("AK", "AL"), faults=("fail",), budget=1), {"I2", "I8", "I23"})


def test_pieces_that_an_abort_drops_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SubtaskState, "freeze", forget_pieces)
    found(Instance("drop", "", ("AK",), faults=("expire",), budget=1), {"I1", "I14"})


def test_a_split_that_is_dealt_to_everybody_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restore, "deal", lambda splits, parallelism: (splits,) * parallelism)
    found(Instance("dealt", "", ("SG", "GK"), triggers=0, faults=("stop",), budget=1, rescaled="S2"), {"I45"})


def test_a_journal_of_another_graph_that_is_taken_again_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(instance: Instance, record: CheckpointRecord | None, graph: int) -> tuple[object, ...]:
        return (*KEPT_RESTORED(instance, record, graph)[:2], True)

    monkeypatch.setattr(explored_machines, "restored", whole)
    found(
        Instance("journal", "", ("SG", "GK"), triggers=0, faults=("crash",), budget=1, parallel="G2", rescaled="S2"),
        {"I1", "I2", "I8", "I13", "I22", "I23", "raised"},
    )


KEPT_RESTORED = explored_machines.restored


def test_a_store_that_does_not_fence_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not may_write(2, 1)
    monkeypatch.setattr(explored_durable, "may_write", lambda owner, incarnation: True)
    found(SMALL["crash"], {"I34", "I11"})


def test_a_machine_that_raises_is_a_violation_with_a_path(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(self: Coordinator, event: object) -> None:
        raise KeyError("planted")

    monkeypatch.setattr(
        "seatunnel_py.protocol.coordinator.coordinator._HANDLERS", {**_handlers(), _source_ended(): refuse}
    )
    assert main(["--instance", "aligned-pair", "--states-max", "5000"]) == 1
    told = capsys.readouterr().out
    assert "VIOLATED raised" in told
    assert "ends RunUnit A[0]" in told


def _handlers() -> dict[type, object]:
    from seatunnel_py.protocol.coordinator.coordinator import _HANDLERS

    return dict(_HANDLERS)


def _source_ended() -> type:
    from seatunnel_py.protocol.coordinator.events import SourceEnded

    return SourceEnded
