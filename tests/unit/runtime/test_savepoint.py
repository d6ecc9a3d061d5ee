"""Savepoints: whole or absent, in need of nothing, and begun with by one driver at a time."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from seatunnel_py.protocol.ids import Channel, Subtask
from seatunnel_py.protocol.items import Batch, StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.records import CheckpointRecord, Commit, RecordKind
from seatunnel_py.protocol.topology import Edge, Spread, Topology, Vertex
from seatunnel_py.runtime.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.local_storage import LocalStorage
from seatunnel_py.runtime.savepoint import Savepoint, SavepointError, begin_with, find, read, settled, write
from seatunnel_py.runtime.takeover import take_over

A, B = Subtask("a"), Subtask("b")
CHANNEL = Channel(0, A, B)
GRAPH = Topology((Vertex("a"), Vertex("b")), (Edge("a", "b", Spread.FORWARD, False),))


def record(segment: str = "", checkpoint: int = 7) -> CheckpointRecord:
    queued = (Batch(3, 2, payload={"slices": [{"segment": segment, "index": 0}]}),)
    snapshots = {
        A: SubtaskSnapshot(["where it stands"], sent={CHANNEL: 3}),
        B: SubtaskSnapshot(None, {CHANNEL: 2}, {}, {CHANNEL: queued} if segment else {}),
    }
    return CheckpointRecord(checkpoint, 3, RecordKind.SAVEPOINT, 6, GRAPH, {"a": 2, "b": 2}, snapshots, name="sp")


def savepoint(**more: CheckpointRecord) -> Savepoint:
    return Savepoint("sp", "lineage", 3, 1.0, {"job_id": "j"}, more or {"t": record()}, ("u",))


def test_what_was_kept_is_read_again(tmp_path: Path) -> None:
    place = write(tmp_path / "savepoints", savepoint())

    assert find(tmp_path / "savepoints", "sp") == find(tmp_path, str(place)) == place
    assert read(place) == savepoint()


def test_a_name_is_given_once(tmp_path: Path) -> None:
    write(tmp_path, savepoint())

    with pytest.raises(SavepointError, match="there is a savepoint 'sp' already"):
        write(tmp_path, savepoint(t=record(checkpoint=9)))
    assert read(find(tmp_path, "sp")) == savepoint()


def test_what_lay_in_channels_is_copied_along(tmp_path: Path) -> None:
    """The job's own segments are deleted when nobody needs them there (I18)."""
    segment = tmp_path / "unit.segment"
    segment.write_bytes(b"rows")
    place = write(tmp_path / "savepoints", savepoint(t=record(str(segment))))
    segment.unlink()
    (batch,) = read(place).records["t"].snapshots[B].channel_state[CHANNEL]
    payload: dict[str, list[dict[str, str]]] = batch.payload  # type: ignore[assignment]
    (slice_,) = payload["slices"]

    assert Path(slice_["segment"].removeprefix("file://")).read_bytes() == b"rows"


def test_nothing_that_was_staged_is_named() -> None:
    """Its commit was confirmed: whoever begins here must not look for it."""
    piece = StagedPiece("p", {})
    staged = replace(
        record(), uncommitted=(Commit("out", 7, (piece,)),), snapshots={A: SubtaskSnapshot(pieces=(piece,))}
    )

    assert settled(staged).uncommitted == ()
    assert settled(staged).ledgers == {"out": 7}
    assert settled(staged).snapshots[A].pieces == ()


@pytest.mark.parametrize("part", ["manifest.json", "records"])
def test_a_damaged_one_is_refused(tmp_path: Path, part: str) -> None:
    place = write(tmp_path, savepoint())
    data = (place / "about" / part).read_bytes()
    (place / "about" / part).write_bytes(data[: len(data) // 2])

    with pytest.raises(SavepointError, match="is damaged"):
        read(place)


def test_one_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    write(tmp_path, savepoint())

    with pytest.raises(SavepointError, match="no savepoint 'other'") as refused:
        find(tmp_path, "other")
    assert "there are: sp" in refused.value.remedy


def test_each_job_that_begins_with_it_has_incarnations_of_its_own(tmp_path: Path) -> None:
    """They keep the lineage, so that targets know them; of two, the one that began last may write (I34)."""
    place = write(tmp_path / "savepoints", savepoint())
    drivers = []
    for job in ("one", "two"):
        store = CheckpointStore(LocalStorage(tmp_path / job))
        begin_with(place, store)
        drivers.append(take_over(store, ["t", "u"]))

    assert [one.lineage for one in drivers] == ["lineage", "lineage"]
    assert 3 < drivers[0].incarnation < drivers[1].incarnation
    assert drivers[0].records["t"].snapshots == record().snapshots
    assert "u" not in drivers[0].records
    assert drivers[0].claims["t"].first > record().checkpoint


def test_a_store_that_was_half_filled_is_filled_again(tmp_path: Path) -> None:
    """The driver died before it had published from where it goes on."""
    place = write(tmp_path / "savepoints", savepoint())
    store = CheckpointStore(LocalStorage(tmp_path / "one"))
    store.take(10_003, "lineage")
    store.write(10_003, {"t": replace(record(), incarnation=10_003)})
    begin_with(place, store)
    begin_with(place, store)

    assert take_over(store, ["t"]).records["t"].snapshots == record().snapshots
