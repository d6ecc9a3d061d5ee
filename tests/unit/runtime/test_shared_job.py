"""What other machines know of a job, and how they ask it."""

from __future__ import annotations

from pathlib import Path

import pytest

from seatunnel_py.errors import SeaTunnelError
from seatunnel_py.runtime.control.requests import ControlAnswer, ControlRequest, RequestKind, RequestStore
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.storage.open_storage import connect, job_ids, require_place
from seatunnel_py.runtime.storage.shared_job_files import JOB, RECEIPT, SharedJobFiles


def test_the_newest_driver_is_believed(tmp_path: Path) -> None:
    """A receipt of a driver before it says nothing of this one, and is not left behind for ever."""
    storage = LocalStorage(tmp_path)
    shared = SharedJobFiles(storage)
    assert shared.read(JOB) is None
    shared.write(1, JOB, {"driver": "a"})
    shared.write(1, RECEIPT, {"state": "STOPPED"})
    shared.write(2, JOB, {"driver": "b"})

    assert shared.read(JOB) == {"driver": "b"}
    assert shared.read(RECEIPT) is None
    shared.write(2, RECEIPT, {"state": "SUCCESS"})
    assert shared.read(RECEIPT) == {"state": "SUCCESS"}
    assert storage.names("about") == ["00000002-job", "00000002-receipt"]


def test_what_is_damaged_is_named(tmp_path: Path) -> None:
    storage = LocalStorage(tmp_path)
    storage.create("about/00000001-job", b"{")

    with pytest.raises(SeaTunnelError, match="about/00000001-job is damaged"):
        SharedJobFiles(storage).read(JOB)


def test_a_request_is_answered_where_it_was_asked(tmp_path: Path) -> None:
    """On the driver's machine in its place there, from elsewhere in the store: each asker looks into one of them."""
    near, far = LocalStorage(tmp_path / "near"), LocalStorage(tmp_path / "far")
    driver, askers = RequestStore(near, far), (RequestStore(near), RequestStore(far))
    for number, asker in enumerate(askers):
        asker.ask(ControlRequest(f"r{number}", RequestKind.EXPLAIN, "run"))

    assert [one.id for one in driver.open(others=False)] == ["r0"]
    assert [one.id for one in driver.open()] == ["r0", "r1"]
    for number, asker in enumerate(askers):
        driver.tell(f"r{number}", "soon")
        assert asker.told(f"r{number}") == "soon"
        assert driver.answer(ControlAnswer(f"r{number}", True, "yes"))
        answer = asker.answered(f"r{number}")
        assert answer is not None and answer.text == "yes"
    assert driver.open() == ()
    for number, asker in enumerate(askers):
        asker.forget(f"r{number}")
    assert (near.names("control"), far.names("control")) == ([], [])


def location_of(scheme: str, place: Path) -> str:
    """A store of that kind, of this test alone."""
    return {"file": f"file://{place}/store", "sqlite": f"sqlite:///{place}/db", "memory": f"memory://{place}"}[scheme]


@pytest.mark.parametrize("scheme", ["file", "sqlite", "memory"])
def test_jobs_at_a_place_are_known_by_their_ids(tmp_path: Path, scheme: str) -> None:
    """And forgotten whole: what is told of one does not outlive it."""
    location = location_of(scheme, tmp_path)
    for job in ("one", "two"):
        storage = connect(location, job)
        storage.create("incarnations/00000001", b"lineage")
        SharedJobFiles(storage).write(1, JOB, {})
    assert list(job_ids(location)) == ["one", "two"]

    require_place(location, "one", fresh=True)
    assert SharedJobFiles(connect(location, "one")).read(JOB) is None
    assert SharedJobFiles(connect(location, "two")).read(JOB) == {}
