"""What a job stores says which file it is and whether it is whole: a damaged one is refused, never read as another."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from seatunnel_py.api.storage import Storage
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.protocol.commit.claims import Claim
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.topology import Topology, Vertex
from seatunnel_py.runtime.observe.receipt import Receipt, Seconds
from seatunnel_py.runtime.resume.job_claim import NotRestoredError, claim_job
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, StoreError
from seatunnel_py.runtime.storage.checksum_seal import DamagedFileError, sealed, sealed_json, unsealed, unsealed_json
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.job_directory import _OLD_KEYS, JobDirectory
from seatunnel_py.runtime.storage.journal import JournalFile, newest
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.storage.open_storage import connect
from seatunnel_py.runtime.storage.shared_job_files import JOB, SharedJobFiles

LINEAGE = "0123456789abcdef" * 2


def record(checkpoint: int, incarnation: int) -> CheckpointRecord:
    topology = Topology((Vertex("a"),))
    return CheckpointRecord(checkpoint, incarnation, RecordKind.PERIODIC, checkpoint - 1, topology, {}, {})


def stored(storage: Storage) -> CheckpointStore:
    """Two drivers have been here, each with a record."""
    store = CheckpointStore(storage)
    for incarnation, at in ((1, 3), (2, 1005)):
        authority = claim_job(store, ["x", "pipeline"])
        assert authority.incarnation == incarnation
        journal = JournalFile(storage, incarnation)
        records = {"x": record(at, incarnation), "pipeline": record(at + 1, incarnation)}
        store.write(incarnation, records)
        journal.mark(records)
        journal.close()
    return store


def put(storage: Storage, name: str, data: bytes) -> None:
    storage.delete(name)
    assert storage.create(name, data)


class InMemory(Storage):
    """A storage that costs nothing."""

    def __init__(self) -> None:
        self.held: dict[str, bytes] = {}

    def create(self, name: str, data: bytes) -> bool:
        return self.held.setdefault(name, data) is data

    def append(self, name: str, data: bytes) -> None:
        self.held[name] = self.held.get(name, b"") + data

    def get(self, name: str) -> bytes | None:
        return self.held.get(name)

    def names(self, folder: str) -> list[str]:
        return sorted(name.partition("/")[2] for name in self.held if name.startswith(f"{folder}/"))

    def delete(self, name: str) -> None:
        self.held.pop(name, None)


@pytest.fixture(params=["file", "sqlite", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    """Directory, database, object store."""
    urls = {"file": str(tmp_path), "sqlite": f"sqlite:///{tmp_path}/db", "memory": f"memory://{tmp_path.name}"}
    return connect(urls[request.param], "job")


FOLDERS = ("claims", "incarnations", "records")


@pytest.mark.parametrize("folder", FOLDERS)
def test_p4_f1_every_bit_of_what_decides_is_refused_or_reads_the_same(folder: str) -> None:
    """P4-F1: of 1,600 flips in claims 8 gave an older record or none, 17 another first id; of 640 in incarnations 320
    gave another lineage."""
    storage = InMemory()
    whole = stored(storage).read()
    tried = 0
    for name in storage.names(folder):
        before = storage.held[f"{folder}/{name}"]
        for bit in range(0, len(before) * 8, 7 if folder == "records" else 1):
            flipped = before[: bit // 8] + bytes([before[bit // 8] ^ 1 << bit % 8]) + before[bit // 8 + 1 :]
            storage.held[f"{folder}/{name}"] = flipped
            tried += 1
            try:
                CheckpointStore(storage).read()
            except StoreError as refused:
                assert f"{folder}/{name} is damaged" in refused.message and "--fresh" in refused.remedy
            else:
                raise AssertionError(f"bit {bit} of {folder}/{name} was not noticed")
        storage.held[f"{folder}/{name}"] = before

    assert tried > 1_600 and CheckpointStore(storage).read() == whole


@pytest.mark.parametrize("folder", FOLDERS)
def test_whatever_the_store_another_content_is_refused(storage: Storage, folder: str) -> None:
    """Emptied, cut, zeros, twice, that of a neighbour; and a name that is gone."""
    stored(storage)
    first, second = storage.names(folder)
    before, other = storage.get(f"{folder}/{first}") or b"", storage.get(f"{folder}/{second}") or b""
    for content in (b"", before[:-1], before[:20], b"\0" * len(before), before * 2, other, LINEAGE.encode(), b"{}"):
        put(storage, f"{folder}/{first}", content)
        with pytest.raises(StoreError, match="is damaged"):
            CheckpointStore(storage).read()
    put(storage, f"{folder}/{first}", before)
    storage.delete(f"{folder}/{second}")
    with pytest.raises((StoreError, NotRestoredError), match="lost|missing|does not show it"):
        claim_job(CheckpointStore(storage), ["x"])


def test_p4_f1_all_records_of_the_first_driver_are_lost(storage: Storage) -> None:
    """P4-F1: the job began anew under its lineage, and 400 of 800 rows were there twice. Refused as often as it is
    asked for; the store that is given back is gone on from."""
    journal = _first_driver(storage)
    name = f"records/{storage.names('records')[0]}"
    lost = storage.get(name) or b""
    storage.delete(name)
    for _ in range(2):
        with pytest.raises(NotRestoredError, match="checkpoint 3 was completed, but the store does not show it"):
            claim_job(CheckpointStore(storage), ["x", "pipeline"])
    journal.close()

    put(storage, name, lost)
    assert claim_job(CheckpointStore(storage), ["x", "pipeline"]).records["x"] == record(3, 1)


def test_p4_f1_the_journal_of_the_first_driver_is_lost(storage: Storage) -> None:
    _first_driver(storage).close()
    for name in storage.names("journal"):
        storage.delete(f"journal/{name}")

    for _ in range(2):
        with pytest.raises(NotRestoredError, match="has lost the journal of driver 1"):
            claim_job(CheckpointStore(storage), ["x", "pipeline"])


def _first_driver(storage: Storage) -> JournalFile:
    store = CheckpointStore(storage)
    authority = claim_job(store, ["x", "pipeline"])
    journal = JournalFile(storage, authority.incarnation)
    store.write(1, {"x": record(3, 1)})
    journal.mark({"x": record(3, 1)})
    return journal


def test_a_driver_that_died_before_its_first_record_is_gone_on_from(storage: Storage) -> None:
    """Nothing of the job has had a side effect: neither its incarnation, its claim, nor its journal is a loss."""
    store = CheckpointStore(storage)
    assert store.take(1, LINEAGE)
    assert claim_job(store, ["x"]).claims == {"x": Claim(2)}
    JournalFile(storage, 2).close()

    assert claim_job(store, ["x"]).records == {}


# ---------------------------------------------------------------- the old form


def old(storage: Storage, number: int = 1) -> None:
    """What the driver of that number, of a release without seals, left."""
    put(storage, f"incarnations/{number:08}", LINEAGE.encode())
    claim = {"x": {"incarnation": number, "continues": None, "continues_of": 0, "first": 1}}
    put(storage, f"claims/{number:08}", json.dumps(claim).encode())


def test_a_store_of_an_old_release_is_gone_on_from(storage: Storage) -> None:
    stored(storage)
    for name in storage.names("records"):
        put(storage, f"records/{name}", unsealed(f"records/{name}", storage.get(f"records/{name}") or b""))
    for name in storage.names("claims"):
        put(storage, f"claims/{name}", unsealed(f"claims/{name}", storage.get(f"claims/{name}") or b""))
    for name in storage.names("journal"):
        put(storage, f"journal/{name}", without_lineage(name, storage.get(f"journal/{name}") or b""))
    for name in storage.names("incarnations"):
        put(storage, f"incarnations/{name}", LINEAGE.encode())

    authority = claim_job(CheckpointStore(storage), ["x"])
    assert (authority.lineage, authority.records) == (LINEAGE, {"x": record(1005, 2)})


def without_lineage(name: str, journal: bytes) -> bytes:
    """As a release wrote it that named no lineage."""
    bodies = [line.partition(b" ")[2] for line in journal.splitlines()]
    return b"".join(b"%08x %s\n" % (crc32(body, crc32(name.encode())), body) for body in bodies)


def test_a_store_whose_seals_name_no_lineage_is_gone_on_from(storage: Storage) -> None:
    stored(storage)
    for folder in ("records", "claims", "incarnations"):
        for name in storage.names(folder):
            body = unsealed(f"{folder}/{name}", storage.get(f"{folder}/{name}") or b"")
            put(storage, f"{folder}/{name}", sealed(f"{folder}/{name}", body))
    for name in storage.names("journal"):
        put(storage, f"journal/{name}", without_lineage(name, storage.get(f"journal/{name}") or b""))

    assert claim_job(CheckpointStore(storage), ["x"]).records == {"x": record(1005, 2)}


@pytest.mark.parametrize("folder", ["records", "claims", "journal"])
def test_p4_f1_a_file_of_another_job_is_refused_by_name(storage: Storage, folder: str) -> None:
    """Put under the same name: it was gone on from, and rows came twice."""
    stored(storage)
    [*_, name] = storage.names(folder)
    foreign = InMemory()
    stored(foreign)
    data = foreign.get(f"{folder}/{name}")
    assert data not in (None, storage.get(f"{folder}/{name}"))
    put(storage, f"{folder}/{name}", data or b"")

    why = "the checksum of line 1 is wrong" if folder == "journal" else "it is of another job"
    with pytest.raises(StoreError, match=f"{folder}/{name}.* is damaged: {why}"):
        claim_job(CheckpointStore(storage), ["x", "pipeline"])


def test_p4_f1_a_claim_of_the_old_form_under_another_number_is_refused(storage: Storage) -> None:
    """The smallest repeat of P4-F1b: one wrong digit in a claim."""
    old(storage)
    assert CheckpointStore(storage).read().claims == {"x": (Claim(1),)}
    for wrong in ({"incarnation": 3}, {"incarnation": "1"}, {"first": None}, {"first": True}, {"more": 1}):
        claim = {"incarnation": 1, "continues": None, "continues_of": 0, "first": 1, **wrong}
        put(storage, "claims/00000001", json.dumps({"x": claim}).encode())
        with pytest.raises(StoreError, match="claims/00000001.* is damaged"):
            CheckpointStore(storage).read()


def test_an_incarnation_without_its_first_line_is_named(storage: Storage) -> None:
    """It looks like one of an old release, and the journal does not fit it: either may be the damaged one."""
    stored(storage)
    [*_, name] = storage.names("journal")
    number = name.partition("-")[0]
    data = storage.get(f"incarnations/{number}") or b""
    put(storage, f"incarnations/{number}", data.partition(b"\n")[2])
    for other in storage.names("incarnations"):
        if other != number:
            storage.delete(f"incarnations/{other}")

    why = f"journal/{name}.* is damaged: .*, or .*incarnations/{number}.* is damaged"
    with pytest.raises(StoreError, match=why):
        newest(storage, int(number) + 1)


def test_what_is_younger_than_a_sealed_file_is_none_of_the_old_form(storage: Storage) -> None:
    stored(storage)
    old(storage, 2)
    with pytest.raises(StoreError, match="incarnations/00000002.* is damaged"):
        CheckpointStore(storage).read()


def test_another_lineage_is_another_job(storage: Storage) -> None:
    old(storage)
    assert CheckpointStore(storage).take(2, "f" * 32)
    with pytest.raises(StoreError, match="incarnations/00000002.* is damaged: it is of another job"):
        CheckpointStore(storage).read()


# ---------------------------------------------------------------- what lies beside


@pytest.mark.parametrize("name", ["job", "plan", "receipt"])
def test_p4_f9_every_bit_of_a_jobs_own_files_is_refused_or_reads_the_same(tmp_path: Path, name: str) -> None:
    """P4-F9: `plan.json` with one wrong byte was a traceback; a receipt that says SUCCESS ends a job for good."""
    place = _place(tmp_path)
    file = place.path / f"{name}.json"
    before, value = file.read_bytes(), place.read(name)
    for bit in range(0, len(before) * 8, 5):
        file.write_bytes(before[: bit // 8] + bytes([before[bit // 8] ^ 1 << bit % 8]) + before[bit // 8 + 1 :])
        _refused(lambda: place.read(name), file)
    for content in (
        b"",
        before[:-1],
        b"\0" * 9,
        before * 2,
        b"[]",
        b"\xff",
        (place.path / "job.json").read_bytes() + b" ",
    ):
        file.write_bytes(content)
        _refused(lambda: place.read(name), file)
    file.write_bytes(before)
    assert place.read(name) == value and value is not None and "seal" not in value


def _place(tmp_path: Path) -> JobDirectory:
    place = Home(tmp_path).claim("j", fresh=False, about={"job_file": "job.conf", "fresh": False})
    place.keep_plan({"steps": {}, "pipelines": {"x": {"promises": {"s": "TWO_PHASE_COMMIT"}}}})
    place.end(Receipt("j", "name", (), Seconds(1, 1, 1, 1)))
    return place


def _refused(read: Callable[[], Any], file: Path) -> None:
    with pytest.raises(SeaTunnelError) as refused:
        read()
    assert str(file) in refused.value.message and "--fresh" in refused.value.remedy


def test_files_of_an_old_release_are_read(tmp_path: Path) -> None:
    """JSON without a seal, and with no other key than that release wrote."""
    place = _place(tmp_path)
    for name in ("job", "plan", "receipt"):
        plain = {key: value for key, value in (place.read(name) or {}).items() if key in _OLD_KEYS[name]}
        (place.path / f"{name}.json").write_text(json.dumps(plain))
        assert place.read(name) == plain


def test_what_machines_share_is_sealed_too(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    SharedJobFiles(storage).write(1, JOB, {"job_id": "x"})
    file = tmp_path / "about/00000001-job"
    file.write_bytes(file.read_bytes().replace(b'"x"', b'"y"'))
    with pytest.raises(StoreError, match="00000001-job is damaged: its checksum is wrong"):
        SharedJobFiles(storage).read(JOB)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "it is empty"),
        (sealed("b", b"body"), "it has the content of b"),
        (sealed("a", b"body")[:-1], "it has 3 bytes, and its first line names 4"),
        (sealed("a", b"body").replace(b" 1 a", b" 3 a"), "its version 3 is not known to this release"),
        (sealed("a", b"body")[:-1] + b"Y", "its checksum is wrong"),
        (b"{}", "it does not begin as what a holds"),
    ],
)
def test_what_is_wrong_is_said(data: bytes, why: str) -> None:
    with pytest.raises(DamagedFileError, match=why):
        unsealed("a", data)


def test_json_stays_json() -> None:
    text = sealed_json("j/receipt.json", {"state": "SUCCESS"})
    assert json.loads(text)["state"] == "SUCCESS"
    assert unsealed_json("j/receipt.json", text, ()) == {"state": "SUCCESS"}
    with pytest.raises(DamagedFileError, match="content of another file"):
        unsealed_json("j/plan.json", text, ("state",))


@pytest.mark.parametrize("plain", [{}, {"at": 1.5}])
@pytest.mark.parametrize("items", [[], [{"table": 'a "quoted" name'}], [1, None, "x"]])
def test_items_that_are_json_already_stay_as_they_are(plain: dict[str, object], items: list[object]) -> None:
    text = sealed_json("j/counters.json", plain, {"tables": [json.dumps(one) for one in items]})
    assert unsealed_json("j/counters.json", text, ()) == {**plain, "tables": items}
