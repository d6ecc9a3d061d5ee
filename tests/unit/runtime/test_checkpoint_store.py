"""Checkpoints in a directory: incarnations are taken once, writes are whole or absent, and an overtaken driver fails."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seatunnel_py.errors import FatalError
from seatunnel_py.protocol.commit.claims import Claim, DamagedRecord
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, CommitRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import StagedPiece, SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Topology, Vertex
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, FencedOffError, StoreError
from seatunnel_py.runtime.storage.checksum_seal import unsealed
from seatunnel_py.runtime.storage.local_storage import LocalStorage


def record(checkpoint: int, incarnation: int = 1, state: str = "") -> CheckpointRecord:
    topology = Topology((Vertex("a"),))
    return CheckpointRecord(
        checkpoint,
        incarnation,
        RecordKind.PERIODIC,
        checkpoint - 1,
        topology,
        {"a": 1},
        {Subtask("a"): SubtaskSnapshot(state, taken=checkpoint)},
        (CommitRecord("a", checkpoint, (StagedPiece("1.a#1/0", {"rows": 5}),)),),
    )


class Store(CheckpointStore):
    """In a directory."""

    def __init__(self, path: Path) -> None:
        super().__init__(LocalStorage(path))
        self.path = path


def files(store: Store, folder: str = "records") -> list[Path]:
    return sorted((store.path / folder).iterdir()) if (store.path / folder).exists() else []


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path)
    assert made.take(1, "lineage")
    return made


# ---------------------------------------------------------------- what is written is read


def test_a_new_store_holds_nothing(tmp_path: Path) -> None:
    found = Store(tmp_path / "a" / "b").read()

    assert (found.lineage, found.owner, found.claims, found.records) == ("", 0, {}, {})


def test_what_was_written_is_read_by_the_next_driver(store: Store) -> None:
    """Lineage, owner, claims and records, by pipeline and in order."""
    store.claim(1, {"x": Claim(1), "y": Claim(1, first=7)})
    store.write(1, {"x": record(1)})
    store.write(1, {"x": record(2, state="ü"), "y": record(1)})
    found = Store(store.path).read()

    assert (found.lineage, found.owner) == ("lineage", 1)
    assert found.claims == {"x": (Claim(1),), "y": (Claim(1, first=7),)}
    assert found.records == {"x": (record(1), record(2, state="ü")), "y": (record(1),)}


def test_each_record_has_the_plan_of_its_time(store: Store) -> None:
    """The text of a plan is made once; one that has grown is another one, also where it equals another pipeline's."""
    first, grown = {"splits": ["a"]}, {"splits": ["a", "b"]}
    for checkpoint, plan in enumerate([None, first, first, grown, None], 1):
        store.write(1, {"t": replace(record(checkpoint), plan=plan), "u": replace(record(checkpoint), plan=first)})
    found = Store(store.path).read().records

    assert [one.plan for one in found["t"] if isinstance(one, CheckpointRecord)] == [None, first, first, grown, None]
    assert [one.plan for one in found["u"] if isinstance(one, CheckpointRecord)] == [first] * 5


@given(st.dictionaries(st.text(max_size=20), st.text(max_size=50), max_size=5))
@settings(max_examples=40)
def test_records_of_several_pipelines_are_one_file(
    tmp_path_factory: pytest.TempPathFactory, states: Mapping[str, str]
) -> None:
    """Whatever the pipelines are called: they become durable together or not at all."""
    store = Store(tmp_path_factory.mktemp("store"))
    assert store.take(1, "l")
    store.write(1, {name: record(3, state=state) for name, state in states.items()})

    assert len(files(store)) == 1
    assert store.read().records == {name: (record(3, state=state),) for name, state in states.items()}


def test_only_the_owner_of_the_directory_can_read_it(tmp_path: Path) -> None:
    """States may hold values of rows (S14)."""
    store = Store(tmp_path / "store")
    store.take(1, "l")
    store.claim(1, {"x": Claim(1)})
    store.write(1, {"x": record(1)})

    for path in store.path.rglob("*"):
        assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600)


# ---------------------------------------------------------------- one incarnation, one driver


def test_an_incarnation_is_taken_once(store: Store) -> None:
    assert not store.take(1, "other")
    assert not Store(store.path).take(1, "other")
    assert store.read().lineage == "lineage"


def test_of_many_threads_one_wins_each_number(store: Store) -> None:
    won: list[tuple[int, str]] = []
    barrier = threading.Barrier(8)

    def driver(name: str) -> None:
        barrier.wait(30)
        won.extend((number, name) for number in range(2, 12) if store.take(number, name))

    threads = [threading.Thread(target=driver, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert sorted(number for number, _ in won) == list(range(2, 12))
    for number, name in won:
        file = store.path / "incarnations" / f"{number:08}"
        assert unsealed(f"incarnations/{file.name}", file.read_bytes()) == name.encode()


@pytest.mark.parametrize("act", ["claim", "write"])
def test_an_overtaken_driver_cannot_write(store: Store, act: str) -> None:
    """I34: it learns so by the attempt, and who has taken over."""
    newer = Store(store.path)
    assert newer.take(2, "lineage")

    with pytest.raises(FencedOffError, match="driver 2 .* this is driver 1"):
        store.claim(1, {"x": Claim(1)}) if act == "claim" else store.write(1, {"x": record(1)})
    assert newer.read().records == newer.read().claims == {}


@pytest.mark.parametrize("act", ["claim", "write"])
def test_a_driver_that_is_overtaken_while_it_writes_does_not_believe_in_its_write(
    store: Store, act: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The new one may have read before this was there."""
    create = LocalStorage.create

    def overtaken(storage: LocalStorage, name: str, data: bytes) -> bool:
        return create(storage, name, data) and create(storage, "incarnations/00000002", b"lineage")

    monkeypatch.setattr(LocalStorage, "create", overtaken)

    with pytest.raises(FencedOffError):
        store.claim(1, {"x": Claim(1)}) if act == "claim" else store.write(1, {"x": record(1)})


def test_a_driver_that_starts_does_not_disturb_one_that_takes_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two drivers that start at once: one of them tidies up while the other is about to write."""
    link = os.link

    def started_meanwhile(source: Path, target: Path) -> None:
        Store(tmp_path)
        link(source, target)

    store = Store(tmp_path)
    monkeypatch.setattr(os, "link", started_meanwhile)

    assert store.take(1, "l")


# ---------------------------------------------------------------- kills and damage


class Killed(BaseException):
    pass


@pytest.mark.parametrize("at", ["write", "fsync", "link"])
def test_what_a_kill_leaves_half_written_is_not_seen(store: Store, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the name is there, nothing is there; a later driver tidies up."""
    store.write(1, {"x": record(1)})

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr(os, at, kill)
        dying.setattr(Path, "unlink", lambda *_, **__: None)  # the dead do not tidy up
        with pytest.raises(Killed):
            store.write(1, {"x": record(2), "y": record(2)})

    assert len(files(store)) == 2
    assert store.read().records == {"x": (record(1),)}
    assert Store(store.path).read().records == {"x": (record(1),)}
    assert len(files(store)) == 2, "it may be a living driver's, which is about to give it its name"
    for file in files(store):
        os.utime(file, (0, 0))
    assert Store(store.path).read().records == {"x": (record(1),)}
    assert len(files(store)) == 1


def test_a_take_that_was_killed_has_taken_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The number is free for the next one, and an empty lineage never counts."""

    def kill(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as dying:
        dying.setattr(os, "link", kill)
        with pytest.raises(Killed):
            Store(tmp_path).take(1, "l")

    assert Store(tmp_path).read().owner == 0
    assert Store(tmp_path).take(1, "l")


@pytest.mark.parametrize("at", ["write", "fsync"])
def test_a_disk_that_refuses_is_told_and_leaves_nothing(store: Store, at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The write has failed, whole; the disk is not filled with halves."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as refusing:
        refusing.setattr(os, at, full)
        with pytest.raises(FatalError, match="No space left"):
            store.write(1, {"x": record(1)})

    assert files(store) == []
    store.write(1, {"x": record(1)})
    assert store.read().records == {"x": (record(1),)}


def two_records(path: Path) -> tuple[Store, Path, bytes]:
    store = Store(path)
    assert store.take(1, "l")
    store.write(1, {"x": record(4), "pipeline": record(5)})
    (file,) = files(store)
    return store, file, file.read_bytes()


def refused_by_name(store: Store, file: Path) -> bool:
    """Whether nothing is read; people learn which file it is."""
    try:
        store.read()
    except StoreError as error:
        return str(file) in str(error)
    return False


@given(st.data())
@settings(max_examples=60)
def test_a_changed_bit_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """A driver must not go on from something older without a word (I17)."""
    store, file, whole = two_records(tmp_path_factory.mktemp("store"))
    at = data.draw(st.integers(0, len(whole) * 8 - 1))
    file.write_bytes(whole[: at // 8] + bytes([whole[at // 8] ^ 1 << at % 8]) + whole[at // 8 + 1 :])

    assert refused_by_name(store, file) or store.read().records == {"x": (record(4),), "pipeline": (record(5),)}


def test_a_file_that_was_cut_is_refused_by_name(tmp_path: Path) -> None:
    """Wherever it was cut, also between two records and inside the head of one."""
    store, file, whole = two_records(tmp_path)
    unnoticed = []
    for size in range(len(whole)):  # all of them: only a few sizes are special
        file.write_bytes(whole[:size])
        try:
            if not refused_by_name(store, file):
                unnoticed.append((size, "was read"))
        except Exception as error:  # noqa: BLE001 - whatever it is, it names no file
            unnoticed.append((size, type(error).__name__))

    assert unnoticed == []


@pytest.mark.parametrize("folder", ["claims", "incarnations"])
def test_a_small_file_that_was_damaged_is_refused_by_name(store: Store, folder: str) -> None:
    """F24."""
    store.claim(1, {"x": Claim(1)})
    (file,) = files(store, folder)
    file.write_bytes(b"\xff" + file.read_bytes()[1:])

    assert refused_by_name(store, file)


def test_a_record_that_this_release_cannot_read_stands_there_as_damaged(store: Store) -> None:
    """F24: its bytes are what was written, so the others in the file are good; whether it is needed is not for the store
    to say (I17)."""
    store.write(1, {"x": replace(record(4), version=2), "y": record(5)})
    found = store.read().records

    (damaged,) = found["x"]
    assert isinstance(damaged, DamagedRecord)
    assert (damaged.checkpoint, damaged.incarnation) == (4, 1)
    assert "version 2" in damaged.why
    assert found["y"] == (record(5),)


# ---------------------------------------------------------------- deletion


@given(st.data())
@settings(max_examples=40)
def test_a_file_goes_when_none_of_its_records_is_wanted(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """By this driver or, after it has read them, by the next one; deleting twice is deleting once."""
    store = Store(tmp_path_factory.mktemp("store"))
    assert store.take(1, "l")
    writes = data.draw(st.lists(st.sets(st.sampled_from("xyz"), min_size=1), min_size=1, max_size=4))
    for number, names in enumerate(writes, start=1):
        store.write(1, {name: record(number) for name in sorted(names)})
    wanted = {(number, name) for number, names in enumerate(writes, start=1) for name in names}
    if data.draw(st.booleans()):
        store = Store(store.path)
        store.read()
    for number, name in data.draw(st.lists(st.sampled_from(sorted(wanted)), max_size=10)):
        store.delete(name, number)
        wanted.discard((number, name))

        assert len(files(store)) == len({number for number, _ in wanted})
        found = {(one.checkpoint, name) for name, kept in Store(store.path).read().records.items() for one in kept}
        assert wanted <= found


def test_what_is_not_there_can_be_deleted(store: Store) -> None:
    """A driver that died after the deletion asks for it again."""
    store.write(1, {"x": record(1)})
    (file,) = files(store)
    file.unlink()

    store.delete("x", 1)
    store.delete("nobody", 9)

    assert files(store) == []
