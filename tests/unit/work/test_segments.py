"""Segments: what goes in comes out, and a damaged file is never taken for rows."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from seatunnel_py.api import Batch, Position, RetriableError, TablePath
from seatunnel_py.work.segments import SegmentError, SegmentWriter, read_slice, read_slices

ORDERS, USERS = TablePath("shop", "", "orders"), TablePath("shop", "", "users")


def orders() -> Batch:
    data = pa.RecordBatch.from_pydict({"id": [1, 2, 3], "text": ["a", None, "c"]})
    return Batch(
        ORDERS,
        data,
        end=Position({"offset": 3}, generation="g"),
        start=Position({"offset": 0}),
        kinds=pa.array([0, 1, 2], pa.uint8()),
        schema_version=4,
        absent=pa.RecordBatch.from_pydict({"id": [False] * 3, "text": [False, True, False]}),
        metadata={"Delay": pa.array([5, 6, 7])},
    )


def users() -> Batch:
    values = pa.array(["x", "y", "x"]).dictionary_encode()
    return Batch(USERS, pa.RecordBatch.from_arrays([values], names=["name"]))


def test_a_segment_holds_batches_of_several_tables(tmp_path: Path) -> None:
    """Rows, kinds, absent marks, metadata and positions are all what they were."""
    writer = SegmentWriter(tmp_path.as_uri(), "1.v#0.e0.a0")
    writer.add(orders())
    writer.add(users())
    slices = writer.finish("c")

    first, second = read_slices(slices)
    assert [(item.sequence, item.table, item.rows) for item in slices] == [(0, ORDERS, 3), (1, USERS, 3)]
    assert first.data.equals(orders().data)
    assert first.absent is not None
    assert first.kinds is not None
    assert first.absent.equals(orders().absent)
    assert first.kinds.equals(orders().kinds)
    assert first.metadata["Delay"].to_pylist() == [5, 6, 7]
    assert (first.start, first.end, first.schema_version) == (orders().start, orders().end, 4)
    assert second.data.equals(users().data)
    assert (second.kinds, second.absent, second.end, second.metadata) == (None, None, None, {})


def test_a_segment_is_invisible_until_it_is_complete(tmp_path: Path) -> None:
    """A reader never meets half a segment under its name."""
    writer = SegmentWriter(str(tmp_path), "v")
    writer.add(users())
    before = [path.suffix for path in tmp_path.iterdir()]
    writer.finish("c")

    assert before == [".part"]
    assert [path.suffix for path in tmp_path.iterdir()] == [".segment"]


def test_an_aborted_segment_leaves_nothing(tmp_path: Path) -> None:
    """What a failed unit wrote is gone."""
    writer = SegmentWriter(str(tmp_path), "v")
    writer.add(users())
    writer.abort()

    assert list(tmp_path.iterdir()) == []


def test_vertex_names_cannot_leave_the_directory(tmp_path: Path) -> None:
    """A step id is a user's text: as a file name it stays one file in its place."""
    writer = SegmentWriter(str(tmp_path / "in"), "../../evil name?%41")
    writer.add(users())
    (slice_,) = writer.finish("c")

    assert len(list((tmp_path / "in").iterdir())) == 1
    assert read_slice(slice_.segment, 0).rows == 3


@pytest.mark.parametrize("place", [10, -1, -30])
def test_a_damaged_segment_is_refused(tmp_path: Path, place: int) -> None:
    """A flipped bit in rows, index or tail is an error that names the segment."""
    writer = SegmentWriter(str(tmp_path), "v")
    writer.add(orders())
    writer.finish("c")
    (path,) = tmp_path.iterdir()
    damaged = bytearray(path.read_bytes())
    damaged[place] ^= 1
    (tmp_path / "damaged").write_bytes(damaged)

    with pytest.raises(SegmentError, match="damaged"):
        read_slice(str(tmp_path / "damaged"), 0)


def test_an_unknown_index_is_refused(tmp_path: Path) -> None:
    """A handle of another segment must not give other rows."""
    writer = SegmentWriter(str(tmp_path), "v")
    writer.add(users())
    (slice_,) = writer.finish("c")

    with pytest.raises(SegmentError, match="no batch 1"):
        read_slice(slice_.segment, 1)


def test_a_place_that_cannot_be_written_is_named_with_its_option(tmp_path: Path) -> None:
    """Full, gone or not ours: it may be mended while the job tries again."""
    place = tmp_path / "file"
    place.write_text("no directory")

    with pytest.raises(RetriableError, match=f"cannot write to {place.as_uri()}") as refused:
        SegmentWriter(place.as_uri(), "1.v#0.e0.a0")
    assert "exchange.location" in refused.value.remedy
