"""Savepoints: whole or absent, in need of nothing, and begun with by one driver at a time."""

from __future__ import annotations

import shutil
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest
from test_shared_job import location_of

from seatunnel_py.protocol.model.ids import Channel, Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import BatchHandle, StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Edge, Spread, Topology, Vertex
from seatunnel_py.runtime.resume.job_claim import claim_job
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.storage.open_storage import connect, job_ids
from seatunnel_py.runtime.storage.savepoint_locations import SavepointLocations
from seatunnel_py.runtime.storage.savepoint_store import (
    Savepoint,
    SavepointError,
    SavepointStore,
    SavepointSummary,
    committed_only,
)

A, B = Subtask("a"), Subtask("b")
CHANNEL = Channel(0, A, B)
GRAPH = Topology((Vertex("a"), Vertex("b")), (Edge("a", "b", Spread.FORWARD, False),))


def record(segment: str = "", checkpoint: int = 7) -> CheckpointRecord:
    queued = (BatchHandle(3, 2, payload={"slices": [{"segment": segment, "index": 0}]}),)
    snapshots = {
        A: SubtaskSnapshot(["where it stands"], sent={CHANNEL: 3}),
        B: SubtaskSnapshot(None, {CHANNEL: 2}, {}, {CHANNEL: queued} if segment else {}),
    }
    return CheckpointRecord(checkpoint, 3, RecordKind.SAVEPOINT, 6, GRAPH, {"a": 2, "b": 2}, snapshots, name="sp")


def savepoint(**more: CheckpointRecord) -> Savepoint:
    return Savepoint("sp", "asked", "lineage", 3, 1.0, {"job_id": "j"}, more or {"t": record()}, ("u",))


@pytest.fixture
def places(tmp_path: Path) -> SavepointLocations:
    return SavepointLocations(tmp_path / "savepoints")


def keep(places: SavepointLocations, one: Savepoint | None = None) -> str:
    with places.own() as shelf:
        return shelf.write(one or savepoint()).place


def begin(places: SavepointLocations, store: CheckpointStore, name: str = "sp") -> None:
    with places.holding(name) as (shelf, own_name):
        shelf.begin_with(own_name, store, "other")


def segment_of(one: Savepoint) -> str:
    (batch,) = one.records["t"].snapshots[B].channel_state[CHANNEL]
    payload: dict[str, list[dict[str, str]]] = batch.payload  # type: ignore[assignment]
    (slice_,) = payload["slices"]
    return slice_["segment"]


def test_what_was_kept_is_read_again(places: SavepointLocations) -> None:
    """By its name, or by the path of its manifest, from elsewhere."""
    manifest = keep(places)

    assert places.read("sp") == savepoint()
    with places.own() as shelf:
        assert shelf.kept("sp") == SavepointSummary(manifest, "asked", {"t": 7}, ("u",))
        assert shelf.kept("other") is None
    assert SavepointLocations(Path("elsewhere")).read(manifest) == savepoint()


def test_a_name_is_given_once(places: SavepointLocations) -> None:
    keep(places)

    with pytest.raises(SavepointError, match="there is a savepoint 'sp' already"):
        keep(places, savepoint(t=record(checkpoint=9)))
    assert places.read("sp") == savepoint()


def test_of_two_who_take_one_name_at_once_the_later_leaves_nothing(
    places: SavepointLocations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I34: an older driver and its successor may both be asked for it."""
    segment = tmp_path / "unit.segment"
    segment.write_bytes(b"rows")
    keep(places)
    before = everything(places.home)
    monkeypatch.setattr(SavepointStore, "has", lambda *_: False)

    with pytest.raises(SavepointError, match="already"):
        keep(places, savepoint(t=record(str(segment))))
    assert everything(places.home) == before


def test_what_a_driver_left_that_died_before_it_had_the_name_is_swept_by_who_gets_it(
    places: SavepointLocations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever had asked for the savepoint asks the next driver for it, under the same name."""
    segment = tmp_path / "unit.segment"
    segment.write_bytes(b"rows")
    keep(places, replace(savepoint(t=record(str(segment))), name="sp-0123abcd"))
    create = LocalStorage.create

    def dies(storage: LocalStorage, name: str, data: bytes) -> bool:
        if name.startswith("manifests/"):
            raise KeyboardInterrupt
        return create(storage, name, data)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(LocalStorage, "create", dies)
        keep(places, savepoint(t=record(str(segment))))
    assert len(list((places.home / "records").iterdir())) == 2
    keep(places)

    assert sorted(path.name[:12] for path in (places.home / "records").iterdir())[0] == "sp-0123abcd-"
    assert len(list((places.home / "records").iterdir())) == 2
    assert len([path for path in (places.home / "segments").rglob("*") if path.is_file()]) == 1
    assert places.read("sp") == savepoint()


def everything(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["", ".hidden", "a/b", "../up", "a b", "x" * 65, "latest"])
def test_nothing_else_is_a_name(places: SavepointLocations, name: str) -> None:
    with pytest.raises(SavepointError, match="is not a name of a savepoint"):
        keep(places, replace(savepoint(), name=name))


def test_what_lay_in_channels_is_copied_along(places: SavepointLocations, tmp_path: Path) -> None:
    """The job's own segments are deleted when nobody needs them there (I18)."""
    segment = tmp_path / "unit.segment"
    segment.write_bytes(b"rows")
    keep(places, savepoint(t=record(str(segment))))
    segment.unlink()

    assert Path(segment_of(places.read("sp")).removeprefix("file://")).read_bytes() == b"rows"


def test_nothing_that_was_staged_is_named() -> None:
    """Its commit was confirmed: whoever begins here must not look for it."""
    piece = StagedPiece("p", {})
    staged = replace(
        record(), uncommitted=(CommitRecord("out", 7, (piece,)),), snapshots={A: SubtaskSnapshot(pieces=(piece,))}
    )

    assert committed_only(staged).uncommitted == ()
    assert committed_only(staged).ledgers == {"out": 7}
    assert committed_only(staged).snapshots[A].pieces == ()


@pytest.mark.parametrize("part", ["manifests", "records"])
@pytest.mark.parametrize("half", [True, False])
def test_a_damaged_one_is_refused_and_can_be_dropped(places: SavepointLocations, part: str, half: bool) -> None:
    keep(places)
    (path,) = (places.home / part).iterdir()
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2] if half else b"{}")

    with pytest.raises(SavepointError, match="is damaged"):
        places.read("sp")
    with places.own() as shelf:
        shelf.drop("sp")
    assert everything(places.home) == {}, "nobody has begun with it"


def test_one_that_is_not_there_names_those_that_are(places: SavepointLocations) -> None:
    keep(places)

    with pytest.raises(SavepointError, match="no savepoint 'other'") as refused:
        places.read("other")
    assert "there are: sp" in refused.value.remedy


def test_each_job_that_begins_with_it_has_incarnations_of_its_own(places: SavepointLocations, tmp_path: Path) -> None:
    """They keep the lineage, so that targets know them; of two, the one that began last may write (I34)."""
    keep(places)
    drivers = []
    for job in ("one", "two"):
        store = CheckpointStore(LocalStorage(tmp_path / job))
        begin(places, store)
        drivers.append(claim_job(store, ["t", "u"]))

    assert [one.lineage for one in drivers] == ["lineage", "lineage"]
    assert 3 < drivers[0].incarnation < drivers[1].incarnation
    assert drivers[0].records["t"].snapshots == record().snapshots
    assert "u" not in drivers[0].records
    assert drivers[0].claims["t"].first > record().checkpoint


def test_whichever_savepoint_of_a_lineage_a_job_begins_with_it_is_above_all_that_began_before(
    places: SavepointLocations, tmp_path: Path
) -> None:
    """I34: two savepoints of one job, one of a job that had begun with one, and a name that was dropped and given
    again."""
    jobs = count(1)

    def begun(name: str) -> int:
        store = CheckpointStore(LocalStorage(tmp_path / f"job{next(jobs)}"))
        begin(places, store, name)
        return claim_job(store, ["t", "u"]).incarnation

    keep(places)
    keep(places, replace(savepoint(), name="other"))
    found = [begun("sp"), begun("other")]
    keep(places, replace(savepoint(), name="later", incarnation=found[-1]))
    found += [begun("later"), begun("sp")]
    with places.own() as shelf:
        shelf.drop("sp")
    keep(places)
    found += [begun("sp"), begun("later")]

    assert found == sorted(set(found))


def test_a_store_that_was_half_filled_is_filled_again(places: SavepointLocations, tmp_path: Path) -> None:
    """The driver died before it had published from where it goes on."""
    keep(places)
    store = CheckpointStore(LocalStorage(tmp_path / "one"))
    store.take(10_000, "lineage")
    store.write(10_000, {"t": replace(record(), incarnation=10_000)})
    begin(places, store)
    begin(places, store)

    assert claim_job(store, ["t"]).records["t"].snapshots == record().snapshots


def test_dropping_one_leaves_the_others(places: SavepointLocations, tmp_path: Path) -> None:
    """Also one whose name begins with the other's."""
    segment = tmp_path / "unit.segment"
    segment.write_bytes(b"rows")
    keep(places, savepoint(t=record(str(segment))))
    others = [replace(savepoint(t=record(str(segment))), name=name) for name in ("sp-000001", "sp-0123abcd", "s")]
    for other in others:
        keep(places, other)
        begin(places, CheckpointStore(LocalStorage(tmp_path / f"job-{other.name}")), other.name)
    with places.own() as shelf:
        shelf.drop("sp")

        assert shelf.names() == ["s", "sp-000001", "sp-0123abcd"]
        with pytest.raises(SavepointError, match="no savepoint 'sp'"):
            shelf.drop("sp")
    for other in others:
        assert Path(segment_of(places.read(other.name)).removeprefix("file://")).read_bytes() == b"rows"
    assert not [path for path in everything(places.home) if "/sp-" in path and "/sp-0" not in path]
    assert len(everything(places.home / "restores")) == 3, "so many have begun with one of this lineage"


# ---------------------------------------------------------------- where all machines see it


@pytest.mark.parametrize("scheme", ["file", "sqlite", "memory"])
def test_another_machine_begins_with_what_is_beside_shared_checkpoints(tmp_path: Path, scheme: str) -> None:
    """What lay in channels is beside the exchanged rows; the job that it was taken of is listed, the savepoint is
    not."""
    location = location_of(scheme, tmp_path)
    segment = tmp_path / "unit.segment"
    segment.write_bytes(b"rows")
    taking, beginning = (
        SavepointLocations(tmp_path / machine, location, f"file://{tmp_path}/exchange/") for machine in ("one", "two")
    )
    keep(taking, savepoint(t=record(str(segment))))
    segment.unlink()
    store = CheckpointStore(connect(location, "job"))
    begin(beginning, store)

    assert claim_job(store, ["t"]).lineage == "lineage"
    copied = segment_of(beginning.read("sp"))
    assert copied.startswith(f"file://{tmp_path}/exchange/.savepoints/sp-")
    assert job_ids(location) == ["job"]
    assert not (tmp_path / "two").exists()
    with beginning.own() as shelf:
        shelf.drop("sp")
    assert everything(tmp_path / "exchange") == {}


def test_one_of_this_machine_is_begun_with_by_a_job_that_shares_its_checkpoints(tmp_path: Path) -> None:
    """Its job file did not say so yet when the savepoint was taken."""
    keep(SavepointLocations(tmp_path / "one"))
    sharing = SavepointLocations(tmp_path / "one", f"sqlite:///{tmp_path}/store.db")

    assert sharing.read("sp") == savepoint()
    with pytest.raises(SavepointError, match="no savepoint 'other'") as refused:
        sharing.read("other")
    assert "there are: sp" in refused.value.remedy
    looked_in = (f"sqlite:///{tmp_path}/store.db", str(tmp_path / "one"))
    assert all(place in refused.value.message for place in looked_in)


def test_rows_under_way_that_are_on_another_machine_are_missed_before_anything_begins(tmp_path: Path) -> None:
    """I18: without an exchange.location that both see."""
    location = f"sqlite:///{tmp_path}/store.db"
    segment = tmp_path / "unit.segment"
    segment.write_bytes(b"rows")
    keep(SavepointLocations(tmp_path / "one", location), savepoint(t=record(str(segment))))
    shutil.rmtree(tmp_path / "one")
    store = CheckpointStore(connect(location, "job"))

    with pytest.raises(SavepointError, match="has rows in channels, and their segments are not here") as refused:
        begin(SavepointLocations(tmp_path / "two", location), store)
    assert "exchange.location" in refused.value.remedy
    assert not store.read().claims
