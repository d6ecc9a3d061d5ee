"""Every storage keeps the same promises: created once, whole or absent, and what was appended is there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import psycopg
import pymysql
import pytest
from fsspec.implementations.local import LocalFileSystem
from fsspec.implementations.memory import MemoryFileSystem

from seatunnel_plugins.storages import object_store
from seatunnel_plugins.storages.object_store import ObjectStorage
from seatunnel_py.api import RetriableError, Storage
from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.protocol.commit.claims import Claim
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot, TakenInput
from seatunnel_py.protocol.model.topology import Topology, Vertex
from seatunnel_py.runtime.resume.job_claim import claim_job
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, FencedOffError
from seatunnel_py.runtime.storage.journal import JournalFile, taken_line
from seatunnel_py.runtime.storage.open_storage import open_storage
from tests.servers.mariadb import MariadbServer
from tests.servers.postgres import PostgresServer

_numbers = count(1)
OPEN = """
import sys
from pathlib import Path
from seatunnel_py.runtime.storage.open_storage import open_storage
def open_it(location):
    if location.startswith("objects:"):
        from fsspec.implementations.local import LocalFileSystem
        from seatunnel_plugins.storages.object_store import ObjectStorage
        return ObjectStorage(LocalFileSystem(use_listings_cache=False), location.removeprefix("objects:"), location)
    return open_storage(location, "job", Path("unused")).storage
storage = open_it(sys.argv[1])
"""


@dataclass(frozen=True)
class Place:
    """Where a storage is, for this process and for others."""

    location: str
    opened: list[Storage] = field(default_factory=list)

    def open(self) -> Storage:
        if self.location.startswith("objects:"):
            files = LocalFileSystem(use_listings_cache=False)
            return ObjectStorage(files, self.location.removeprefix("objects:"), self.location)
        self.opened.append(open_storage(self.location, "job", Path("unused")).storage)
        return self.opened[-1]

    @property
    def is_shared(self) -> bool:
        """Whether other processes see it."""
        return not self.location.startswith("memory:")

    def process(self, code: str, *arguments: str) -> subprocess.Popen[str]:
        """Another process with the same ``storage``."""
        command = [sys.executable, "-c", OPEN + code, self.location, *arguments]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[Callable[[], str]]:
    with PostgresServer.running() as server:

        def make() -> str:
            name = f"store{next(_numbers)}"
            with psycopg.connect(server.dsn, autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {name}")  # type: ignore[arg-type]
            return server.jdbc_url(name).replace("jdbc:postgresql://", "postgresql://postgres:not-asked-for@")

        yield make


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[Callable[[], str]]:
    with MariadbServer.running() as server:

        def make() -> str:
            name = f"store{next(_numbers)}"
            with pymysql.connect(**server.connection()) as connection, connection.cursor() as cursor:
                cursor.execute(f"CREATE DATABASE {name}")
            return server.dsn_of(name)

        yield make


@pytest.fixture(params=["directory", "memory", "objects", "sqlite", "postgresql", "mariadb"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    match request.param:
        case "directory":
            found = Place(f"file://{tmp_path}/shared")
        case "memory":
            found = Place(f"memory://bucket{next(_numbers)}/checkpoints")
        case "objects":
            found = Place(f"objects:{tmp_path}/objects")
        case "sqlite":
            found = Place(f"sqlite:///{tmp_path}/store.db")
        case name:
            found = Place(request.getfixturevalue(f"{name.removesuffix('ql')}_url")())
    yield found
    for storage in found.opened:
        storage.close()


def record(checkpoint: int, incarnation: int = 1, state: str = "") -> CheckpointRecord:
    snapshots = {Subtask("a"): SubtaskSnapshot(state, taken=checkpoint)}
    topology = Topology((Vertex("a"),))
    return CheckpointRecord(checkpoint, incarnation, RecordKind.PERIODIC, checkpoint - 1, topology, {"a": 1}, snapshots)


# ---------------------------------------------------------------- names and bytes


def test_what_was_created_is_there_once_and_whole(place: Place) -> None:
    """Also for whoever comes later; bytes are bytes."""
    data = bytes(range(256)) * 5_000
    storage = place.open()
    assert storage.create("records/00000001-00000001", data)
    assert not storage.create("records/00000001-00000001", b"other")
    assert storage.create("records/00000001-00000002", b"")
    later = place.open()

    assert not later.create("records/00000001-00000001", b"other")
    assert later.get("records/00000001-00000001") == data
    assert later.get("records/00000001-00000002") == b""
    assert later.names("records") == ["00000001-00000001", "00000001-00000002"]


def test_what_is_not_there_is_not_there(place: Place) -> None:
    storage = place.open()
    storage.delete("records/1")

    assert storage.get("records/1") is None
    assert list(storage.names("records")) == []


def test_a_name_that_was_deleted_is_free(place: Place) -> None:
    storage = place.open()
    assert storage.create("incarnations/1", b"a")
    storage.append("journal/1", b"a")
    storage.append("journal/1", b"b")
    for name in ("incarnations/1", "journal/1"):
        storage.delete(name)
        storage.delete(name)
        assert storage.get(name) is None
    storage.append("journal/1", b"c")

    assert storage.create("incarnations/1", b"b")
    assert place.open().get("journal/1") == b"c"


def test_what_was_appended_is_there_in_its_order(place: Place) -> None:
    """Under its own name only, however similar another one is."""
    storage = place.open()
    for number in range(12):
        storage.append("journal/00000001-00000001", b"%d," % number)
        storage.append("journal/00000001-0000000", b"other")
    later = place.open()

    assert later.get("journal/00000001-00000001") == b"0,1,2,3,4,5,6,7,8,9,10,11,"
    assert later.names("journal") == ["00000001-0000000", "00000001-00000001"]
    later.append("journal/00000001-00000001", b"12,")
    assert place.open().get("journal/00000001-00000001") == b"0,1,2,3,4,5,6,7,8,9,10,11,12,"


def test_jobs_do_not_see_one_another(tmp_path: Path) -> None:
    location = f"sqlite:///{tmp_path}/store.db"
    one, two = (open_storage(location, job, tmp_path).storage for job in ("one", "two"))
    one.create("incarnations/1", b"one")

    assert two.get("incarnations/1") is None and two.create("incarnations/1", b"two")
    assert one.get("incarnations/1") == b"one"
    one.close()
    two.close()


# ---------------------------------------------------------------- drivers


def test_a_driver_goes_on_from_what_another_one_left(place: Place) -> None:
    """Lineage, claims, records and journal, from a machine that has nothing else in common."""
    store = CheckpointStore(place.open())
    first = claim_job(store, ["x", "y"])
    store.write(1, {"x": record(1), "y": record(1, state="ü")})
    store.write(1, {"x": record(2)})
    journal = JournalFile(store.storage, 1)
    journal.append([taken_line("x", Subtask("a"), TakenInput(3, range=["split", 1]))])

    again = CheckpointStore(place.open())
    second = claim_job(again, ["x", "y"])
    found = JournalFile(again.storage, second.incarnation).journal

    assert (second.incarnation, second.lineage) == (2, first.lineage)
    assert second.records == {"x": record(2), "y": record(1, state="ü")}
    assert found.taken == {("x", Subtask("a")): {3: TakenInput(3, range=["split", 1])}}


def test_an_overtaken_driver_cannot_write(place: Place) -> None:
    """I34: in whatever storage."""
    store = CheckpointStore(place.open())
    claim_job(store, ["x"])
    claim_job(CheckpointStore(place.open()), ["x"])

    with pytest.raises(FencedOffError):
        store.write(1, {"x": record(1)})
    with pytest.raises(FencedOffError):
        store.claim(1, {"x": Claim(1)})


_TAKER = """
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
store = CheckpointStore(storage)
print("ready", flush=True)
sys.stdin.readline()
print(*(number for number in range(1, 31) if store.take(number, sys.argv[2])))
"""


def test_of_several_processes_one_wins_each_number(place: Place) -> None:
    """I34: two drivers that start at once never both believe to be the only one."""
    if not place.is_shared:
        assert open_storage(place.location, "job", Path("unused")).exclusive, "of several threads one wins"
        return
    drivers = [place.process(_TAKER, name) for name in "abc"]
    for driver in drivers:
        assert driver.stdout and driver.stdout.readline() == "ready\n"
    for driver in drivers:
        assert driver.stdin
        driver.stdin.write("\n")
        driver.stdin.flush()
    won = [number for driver in drivers for number in driver.communicate(timeout=60)[0].split()]

    assert [driver.returncode for driver in drivers] == [0, 0, 0]
    assert sorted(map(int, won)) == list(range(1, 31))


_WRITER = """
from itertools import count
for number in count(1):
    storage.append("journal/1", b"%08d" % number)
    assert storage.create(f"records/{number:08}", b"%08d" % number * 100_000)
    print(number, flush=True)
"""


def test_a_writer_that_is_killed_leaves_whole_names_and_all_that_it_has_said(place: Place) -> None:
    """I10: killed in the middle of a write, wherever that is."""
    if not place.is_shared or place.location.startswith("objects:"):
        pytest.skip("memory dies with its process, and files stand in for objects, which an object store shows whole")
    for _ in range(3):
        storage = place.open()
        for name in storage.names("records"):
            storage.delete(f"records/{name}")
        storage.delete("journal/1")
        writer = place.process(_WRITER)
        assert writer.stdout
        said = [int(writer.stdout.readline()) for _ in range(3)]
        os.kill(writer.pid, signal.SIGKILL)
        said += [int(line) for line in writer.communicate(timeout=60)[0].splitlines() if line.strip()]

        later = place.open()
        names = later.names("records")
        assert {f"{number:08}" for number in said} <= set(names)
        for name in names:
            assert later.get(f"records/{name}") == name.encode() * 100_000
        journal = later.get("journal/1") or b""
        whole = [journal[at : at + 8] for at in range(0, len(journal) - 7, 8)]
        assert whole == [b"%08d" % number for number in range(1, len(whole) + 1)] and len(whole) >= said[-1]


# ---------------------------------------------------------------- what cannot be used


class Overwriting(MemoryFileSystem):
    """Nothing keeps a second writer from taking the place of the first."""

    def _open(self, path: str, mode: str = "rb", **more: Any) -> Any:
        return super()._open(path, mode.replace("x", "w"), **more)


def test_a_store_without_create_if_absent_is_found_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And refused where exactly-once is promised, with what else to use."""
    import fsspec

    fsspec.register_implementation("memory", Overwriting, clobber=True)
    try:
        found = open_storage("memory://weak/place", "job", tmp_path)
    finally:
        fsspec.register_implementation("memory", MemoryFileSystem, clobber=True)

    assert not found.exclusive
    with pytest.raises(SeaTunnelError, match="both run"):
        found.require_exclusive()
    assert "memory://weak/place" in found.notes()[0]
    strong = open_storage(str(tmp_path), "job", tmp_path)
    strong.require_exclusive()
    assert strong.notes() == ()


@pytest.mark.parametrize(
    "location",
    [
        "postgresql://boss:hunter2@127.0.0.1:1/db",
        "mysql://boss:hunter2@127.0.0.1:1/db",
        "nowhere://boss:hunter2@host/db",
    ],
)
def test_no_message_shows_a_secret(location: str, tmp_path: Path) -> None:
    """S14: and it says what to look at."""
    with pytest.raises(SeaTunnelError) as error:
        open_storage(location, "job", tmp_path)

    shown = str(error.value)
    assert "hunter2" not in shown and "boss" not in shown
    assert error.value.remedy


def test_a_scheme_that_nobody_knows_names_those_that_are_known(tmp_path: Path) -> None:
    with pytest.raises(SeaTunnelError, match="nowhere://") as error:
        open_storage("nowhere://host/db", "job", tmp_path)

    assert all(scheme in error.value.remedy for scheme in ("file", "s3", "memory", "postgresql", "sqlite"))


def test_without_a_location_it_is_the_jobs_own_directory(tmp_path: Path) -> None:
    storage = open_storage(None, "job", tmp_path / "checkpoints").storage
    storage.create("incarnations/1", b"l")

    assert (tmp_path / "checkpoints" / "incarnations" / "1").read_bytes() == b"l"


def test_an_object_store_that_falls_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """P4-F5: the client of S3 goes on trying for many minutes; the job waits as for a store that is away."""
    ended = threading.Event()

    class Silent(MemoryFileSystem):
        def ls(self, path: str, **more: Any) -> Any:
            ended.wait(60)

    monkeypatch.setattr(object_store, "ANSWER_SECONDS", 0.2)
    storage = ObjectStorage(Silent(), "silent", "s3://silent")
    with pytest.raises(RetriableError, match=r"s3://silent cannot be used: TimeoutError: no answer within"):
        storage.get("records/1")
    ended.set()


def test_errors_of_an_object_store_s_client_pass() -> None:
    """P4-F5: botocore's errors about connections are no OSError, and ended the job at once."""

    class EndpointConnectionError(Exception):
        """Of a class of its own, as botocore's."""

    class Away(MemoryFileSystem):
        def ls(self, path: str, **more: Any) -> Any:
            raise EndpointConnectionError("Could not connect to the endpoint URL")

    with pytest.raises(RetriableError, match="EndpointConnectionError: Could not connect"):
        ObjectStorage(Away(), "away", "s3://away").names("records")
