"""Records of many pipelines: one write for many of them, and each pipeline's outcome its own."""

from __future__ import annotations

from seatunnel_py.protocol.commit.record_batcher import RecordBatch
from seatunnel_py.protocol.coordinator.commands import Persist
from seatunnel_py.protocol.model.records import CheckpointRecord
from tests.protocol.talk import Talk


def records(*names: str) -> dict[str, CheckpointRecord]:
    """A record of each pipeline."""
    return {name: Talk().activate().last(Persist).record for name in names}


def batch_of(*names: str) -> RecordBatch:
    """Records of these wait."""
    batch = RecordBatch()
    for name, record in records(*names).items():
        batch.add(name, record)
    return batch


def test_records_that_come_while_a_write_is_under_way_travel_together_with_the_next() -> None:
    """HU1."""
    batch = batch_of("a")
    first = batch.write()
    assert first is not None and first.records.keys() == {"a"} and batch.writing and not batch.waiting
    for name, record in records("b", "c").items():
        batch.add(name, record)
    assert batch.write() is None, "one write at a time"
    batch.stored(first.number)
    second = batch.write()

    assert second is not None and second.records.keys() == {"b", "c"} and second.number > first.number


def test_a_write_without_records_is_none() -> None:
    assert RecordBatch().write() is None


def test_of_two_records_of_one_pipeline_the_newer_one_is_stored() -> None:
    """HU2."""
    batch = batch_of("a")
    newer = records("a")["a"]
    batch.add("a", newer)
    write = batch.write()

    assert write is not None and write.records["a"] is newer


def test_the_answer_to_an_old_write_changes_nothing() -> None:
    batch = batch_of("a")
    write = batch.write()
    assert write is not None

    assert batch.stored(write.number + 1) == {} and batch.writing
    assert batch.stored(write.number).keys() == {"a"} and not batch.writing
    assert batch.stored(write.number) == {}


def test_the_end_of_a_write_concerns_the_records_in_it() -> None:
    """HU3, O5.1: those that came meanwhile still wait."""
    batch = batch_of("a")
    write = batch.write()
    assert write is not None
    batch.add("b", records("b")["b"])

    assert batch.stored(write.number) == write.records
    assert batch.waiting.keys() == {"b"}


def test_a_pipeline_that_ends_takes_back_a_record_that_waits() -> None:
    """HU4; one that is being written is out of reach."""
    batch = batch_of("a", "b")
    batch.forget("a")
    batch.forget("never seen")
    write = batch.write()
    assert write is not None
    batch.forget("b")

    assert write.records.keys() == {"b"} and batch.stored(write.number).keys() == {"b"}
