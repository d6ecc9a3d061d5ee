"""How a driver becomes the one: each has a number of its own, and goes on from what the one before had completed."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from seatunnel_py import app
from seatunnel_py.protocol.commit.claims import Claim
from seatunnel_py.protocol.model.ids import Subtask
from seatunnel_py.protocol.model.records import CheckpointRecord, RecordKind
from seatunnel_py.protocol.model.stream_elements import SubtaskSnapshot
from seatunnel_py.protocol.model.topology import Topology, Vertex
from seatunnel_py.runtime.observe.events import JobEvent, TableChanged
from seatunnel_py.runtime.observe.receipt import TableState
from seatunnel_py.runtime.resume.job_claim import SEEN, TRIES_MAX, JobClaim, KnownStore, NotRestoredError, claim_job
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore, FencedOffError, StoreContents
from seatunnel_py.runtime.storage.home import Home
from seatunnel_py.runtime.storage.journal import JournalFile, void_line
from seatunnel_py.runtime.storage.local_storage import LocalStorage


def record(checkpoint: int, incarnation: int) -> CheckpointRecord:
    snapshots = {Subtask("a"): SubtaskSnapshot(f"{incarnation}-{checkpoint}")}
    return CheckpointRecord(
        checkpoint, incarnation, RecordKind.PERIODIC, checkpoint - 1, Topology((Vertex("a"),)), {}, snapshots
    )


def driver(place: Path, *pipelines: str) -> tuple[CheckpointStore, JobClaim]:
    """One that has begun, and begun its journal."""
    store = CheckpointStore(LocalStorage(place))
    authority = claim_job(store, pipelines or ("x",))
    JournalFile(store.storage, authority.incarnation).close()
    return store, authority


def test_the_first_driver_begins_from_nothing(tmp_path: Path) -> None:
    _, authority = driver(tmp_path, "x", "y")

    assert authority.incarnation == 1
    assert len(authority.lineage) == 32
    assert authority.claims == {"x": Claim(1), "y": Claim(1)}
    assert authority.records == {}


def test_the_lineage_of_a_job_is_kept_and_no_other_job_has_it(tmp_path: Path) -> None:
    """It is part of every name that is staged in a target."""
    lineages = {driver(tmp_path / "one")[1].lineage for _ in range(3)}

    assert len(lineages) == 1
    assert driver(tmp_path / "two")[1].lineage not in lineages


def test_each_driver_goes_on_from_the_newest_record_of_the_one_before(tmp_path: Path) -> None:
    """Claims chain: the first says nothing, each later one names a checkpoint and whose it is; ids are above all."""
    store, first = driver(tmp_path)
    store.write(1, {"x": record(1, 1)})
    store.write(1, {"x": record(2, 1)})
    store, second = driver(tmp_path)
    _, third = driver(tmp_path)
    assert second.claims["x"].continues_of == third.claims["x"].continues_of == 1

    at = third.claims["x"].first
    store, fourth = driver(tmp_path)
    store.write(4, {"x": record(fourth.claims["x"].first, 4)})
    _, fifth = driver(tmp_path)

    assert [one.incarnation for one in (first, second, third, fourth, fifth)] == [1, 2, 3, 4, 5]
    assert second.records == third.records == fourth.records == {"x": record(2, 1)}
    assert (fifth.claims["x"].continues, fifth.claims["x"].continues_of) == (fourth.claims["x"].first, 4)
    assert 2 < second.claims["x"].first < at < fourth.claims["x"].first < fifth.claims["x"].first


def test_the_claim_is_durable_before_anything_is_done(tmp_path: Path) -> None:
    store, authority = driver(tmp_path, "x", "y")

    assert store.read().claims == {name: (claim,) for name, claim in authority.claims.items()}


def test_what_an_overtaken_driver_still_wrote_is_not_gone_on_from(tmp_path: Path) -> None:
    """It lay in the store before the fence was seen; the driver that took over had not read it (I34)."""
    old, _ = driver(tmp_path)
    shutil.copytree(tmp_path, elsewhere_at := tmp_path.with_name("elsewhere"))  # where nobody is fenced off
    elsewhere = CheckpointStore(LocalStorage(elsewhere_at))
    old.write(1, {"x": record(1, 1)})
    driver(tmp_path)
    elsewhere.write(1, {"x": record(2, 1)})
    elsewhere.write(1, {"x": record(3, 1)})
    (elsewhere_at / "records" / "00000001-00000002").rename(tmp_path / "records" / "00000001-00000002")

    with pytest.raises(FencedOffError):
        old.write(1, {"x": record(3, 1)})
    assert driver(tmp_path)[1].records == {"x": record(1, 1)}


def test_a_void_record_is_not_restored_and_is_deleted(tmp_path: Path) -> None:
    """PS3: its driver has heard that storing it failed, and has restarted from the record before it. The record of
    another pipeline counts, also under the same number."""
    store = CheckpointStore(LocalStorage(tmp_path))
    claim_job(store, ["x", "y"])
    with closing(JournalFile(store.storage, 1)) as journal:
        store.write(1, {"x": record(1, 1)})
        store.write(1, {"x": record(2, 1)})
        store.write(1, {"y": record(2, 1)})
        journal.mark({"x": record(2, 1), "y": record(2, 1)})  # its driver may not have heard that it is marked
        journal.append([void_line("x", [2], 1)])

    authority = claim_job(CheckpointStore(LocalStorage(tmp_path)), ["x", "y"])

    assert authority.records == {"x": record(1, 1), "y": record(2, 1)}
    assert (authority.claims["x"].continues, authority.claims["y"].continues) == (1, 2)
    assert authority.claims["x"].first > 2
    assert len(list((tmp_path / "records").iterdir())) == 2


def test_a_pipeline_that_is_new_begins_from_nothing_beside_the_others(tmp_path: Path) -> None:
    store, _ = driver(tmp_path, "x")
    store.write(1, {"x": record(1, 1)})

    _, authority = driver(tmp_path, "x", "new")

    assert authority.records == {"x": record(1, 1)}
    assert authority.claims["new"].continues is None


def test_a_pipeline_that_is_left_out_for_a_while_comes_back_where_it_stood(tmp_path: Path) -> None:
    """A job file may lose a table and get it again."""
    store, _ = driver(tmp_path, "x", "y")
    store.write(1, {"x": record(1, 1), "y": record(1, 1)})
    driver(tmp_path, "x")

    assert driver(tmp_path, "x", "y")[1].records == {"x": record(1, 1), "y": record(1, 1)}


def test_a_refusal_names_every_pipeline_that_cannot_go_on(tmp_path: Path) -> None:
    """And what is wrong with each; nothing older is tried, and nothing is claimed (I17)."""
    names = ("x", "y", "z")
    store, _ = driver(tmp_path, *names)
    for number in (1, 2):
        for name in names:
            store.write(1, {name: record(number, 1)})
    driver(tmp_path, *names)
    for file in ("00000001-00000004", "00000001-00000006"):
        (tmp_path / "records" / file).unlink()  # the newest ones of x and z

    with pytest.raises(NotRestoredError) as refused:
        driver(tmp_path, *names)

    told = refused.value.message
    assert "x: checkpoint 2" in told and "z: checkpoint 2" in told and "y:" not in told
    assert "--fresh" in refused.value.remedy
    assert max(claim.incarnation for claim in store.read().claims["y"]) == 2
    with pytest.raises(NotRestoredError):
        driver(tmp_path, *names)


class Racing(CheckpointStore):
    """Another driver takes the next number so often, each time just before this one does."""

    def __init__(self, storage: LocalStorage, lost: int) -> None:
        super().__init__(storage)
        self.left = lost

    def take(self, incarnation: int, lineage: str) -> bool:
        if self.left:
            self.left -= 1
            assert super().take(incarnation, "theirs")
        return super().take(incarnation, lineage)


@pytest.mark.parametrize("lost", [1, TRIES_MAX - 1])
def test_who_loses_a_race_takes_the_next_number(tmp_path: Path, lost: int) -> None:
    """And the lineage of whoever was first."""
    authority = claim_job(Racing(LocalStorage(tmp_path), lost), ["x"])

    assert (authority.incarnation, authority.lineage) == (lost + 1, "theirs")


def test_who_always_loses_gives_up(tmp_path: Path) -> None:
    with pytest.raises(NotRestoredError, match="keep starting"):
        claim_job(Racing(LocalStorage(tmp_path), TRIES_MAX), ["x"])


def test_a_driver_that_is_overtaken_before_its_claim_does_nothing(tmp_path: Path) -> None:
    class Overtaken(CheckpointStore):
        reads = 0

        def read(self) -> StoreContents:
            self.reads += 1
            if self.reads == 2:
                assert super().take(2, self.owner()[1])
            return super().read()

    with pytest.raises(FencedOffError):
        claim_job(Overtaken(LocalStorage(tmp_path)), ["x"])
    assert CheckpointStore(LocalStorage(tmp_path)).read().claims == {}


def test_who_was_overtaken_does_not_say_that_it_succeeded(tmp_path: Path) -> None:
    """Its rows may all be there, where the target has no fence; and what lies beside the job is not its own."""
    job, home = tmp_path / "job.conf", Home(tmp_path / "home")
    job.write_text(f"source {{ Countdown {{ start = 3 }} }}\nsink {{ Lines {{ directory = {tmp_path / 'out'} }} }}")

    def overtake(event: JobEvent) -> None:
        if isinstance(event, TableChanged) and event.state is TableState.DONE:
            place = home.claim("x", fresh=False, restore=True, about={})
            assert CheckpointStore(LocalStorage(place.checkpoints)).take(2, "")

    with pytest.raises(FencedOffError, match="driver 2 of this job has taken over; this is driver 1"):
        app.run(job, app.RunOptions({}, "x", local=True), home, overtake, lambda _: None)
    assert home.job("x").read("receipt") is None
    assert home.job("x").checkpoints.exists()


def test_of_several_at_once_one_wins_each_number(tmp_path: Path) -> None:
    """All but the last may learn that they are overtaken; nobody shares a number, and the lineage is one."""
    stores = [CheckpointStore(LocalStorage(tmp_path)) for _ in range(6)]
    barrier = threading.Barrier(len(stores))
    won: list[JobClaim] = []
    fenced: list[FencedOffError] = []

    def start(store: CheckpointStore) -> None:
        barrier.wait(30)
        try:
            won.append(claim_job(store, ["x"]))
        except FencedOffError as error:
            fenced.append(error)

    threads = [threading.Thread(target=start, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    numbers = [authority.incarnation for authority in won]
    found = stores[0].read()
    assert len(won) + len(fenced) == len(stores)
    assert len(set(numbers)) == len(numbers) and max(numbers) == found.owner == len(stores)
    assert {authority.lineage for authority in won} == {found.lineage}
    claims: Mapping[str, tuple[Claim, ...]] = found.claims
    assert {claim.incarnation for claim in claims["x"]} >= set(numbers)


def test_a_store_that_knows_less_than_the_machine_is_not_gone_on_from(tmp_path: Path) -> None:
    """Emptied, an older copy, or another place: what has arrived would be read again. Begun anew elsewhere: a
    person has to say so, for the store of another job looks the same."""
    store, first = driver(tmp_path / "one")
    seen = KnownStore.of({SEEN: {"lineage": first.lineage, "driver": 2, "where": "one"}}, "plan.json")
    assert seen is not None

    with pytest.raises(NotRestoredError, match=r"two knows nothing of the job, .* that one was one"):
        seen.require(CheckpointStore(LocalStorage(tmp_path / "two")), "two", "plan.json")
    with pytest.raises(NotRestoredError, match=r"one knows only driver 1 of the job, of which driver 2 has run here"):
        seen.require(store, "one", "plan.json")
    driver(tmp_path / "one")
    seen.require(store, "one", "plan.json")
    with pytest.raises(
        NotRestoredError,
        match=r"one is of another job: its lineage is .*, and that of the job here is .* \(by plan.json\)",
    ) as it:
        seen.require(driver(tmp_path / "anew")[0], "one", "plan.json")
    assert "started again with --fresh on another machine" in (it.value.remedy or "")
    assert KnownStore.of(None, "") is None and KnownStore.of({"steps": {}}, "") is None, (
        "not begun here, or by an older version"
    )
