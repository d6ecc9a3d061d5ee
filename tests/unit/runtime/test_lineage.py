"""Jobs that have started from one another's savepoints: which of them keep what is at the source."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from seatunnel_py.protocol.model.records import CheckpointRecord
from seatunnel_py.runtime.resume.lineage import LineageMember
from seatunnel_py.runtime.storage.checkpoint_store import CheckpointStore
from seatunnel_py.runtime.storage.local_storage import LocalStorage
from seatunnel_py.runtime.storage.savepoint_locations import SavepointLocations
from tests.unit.runtime.test_savepoint import savepoint


@pytest.fixture(params=["file://{}/shared", "sqlite:///{}/shared/store.db"], ids=["file", "sqlite"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> SavepointLocations:
    (tmp_path / "shared").mkdir()
    return SavepointLocations(tmp_path / "savepoints", request.param.format(tmp_path))


def start(places: SavepointLocations, tmp_path: Path, job: str, name: str) -> LineageMember:
    """Start a job from a savepoint; return it as its first driver knows it."""
    store = CheckpointStore(LocalStorage(tmp_path / job))
    with places.own() as shelf:
        shelf.begin_with(name, store, job)
    incarnation, lineage = store.owner()
    return LineageMember.of(job, lineage, incarnation + 1)


def test_jobs_that_share_savepoints_keep_the_source_until_they_end(places: SavepointLocations, tmp_path: Path) -> None:
    first = LineageMember.of("first", "lineage", 7)
    assert first.readers(places).sentences == ()
    records: dict[str, CheckpointRecord] = {}
    with places.own() as shelf:
        for name in ("a", "b"):
            shelf.write(replace(savepoint(**records), name=name, job={"job_id": "first"}))
        shelf.write(replace(savepoint(), name="other", lineage="another", job={"job_id": "stranger"}))
    assert first.readers(places).savepoints == ("a", "b")
    second, third = start(places, tmp_path, "second", "a"), start(places, tmp_path, "third", "b")
    assert (first.number, second.number, third.number) == (0, 1, 2)
    with places.own() as shelf:
        shelf.drop("a")
        shelf.drop("b")

    assert first.readers(places).later == ("second", "third")
    assert "`seatunnel jobs drop second`, `seatunnel jobs drop third`" in first.readers(places).remedy
    assert (second.readers(places).earlier, second.readers(places).later) == (("",), ("third",))
    assert third.readers(places).earlier == ("", "second")
    third.end(places)
    third.end(places)
    assert first.readers(places).later == ("second",)
    assert second.readers(places).sentences == ()
    second.end(places)
    assert first.readers(places).sentences == ()
    assert third.readers(places).earlier == ("",)
    first.end(places)
    assert third.readers(places).earlier == ()


def test_a_job_that_has_not_begun_has_no_lineage(places: SavepointLocations) -> None:
    new = LineageMember.of("new", "", 0)
    new.end(places)
    found = new.readers(places)
    assert (found.savepoints, found.earlier, found.later) == ((), (), ())
