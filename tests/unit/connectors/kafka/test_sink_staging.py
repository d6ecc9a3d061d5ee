"""What is staged comes back as it was, or is refused in a sentence; no damaged byte is decoded."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from seatunnel_connectors.kafka.sink.staging import StagedFile, StagingPlace
from seatunnel_py.api import CannotResumeError, TablePath, WriteContext

ROWS = pa.RecordBatch.from_pydict({"key": [b"a", None], "value": [b"1", b"22"]})


@pytest.fixture
def place(tmp_path: Path) -> StagingPlace:
    return StagingPlace(str(tmp_path), "lineage", "sink", TablePath.parse("shop.numbers"))


@pytest.fixture
def staged(place: StagingPlace) -> StagedFile:
    file = place.begin(WriteContext("job", "lineage", "write", "a@"), ROWS.schema)
    file.add(ROWS)
    return file.finish()


def path_of(place: StagingPlace, staged: StagedFile) -> Path:
    return Path(place.url) / staged.name


def test_a_staged_file_comes_back(place: StagingPlace, staged: StagedFile) -> None:
    assert list(place.read(staged)) == [ROWS]


def test_p4_damage_every_cut_and_wrong_byte_of_a_staged_file_is_refused(
    place: StagingPlace, staged: StagedFile
) -> None:
    """A file that was cut gave an OSError with a traceback: not every damage is an ArrowInvalid."""
    path = path_of(place, staged)
    whole = path.read_bytes()
    cuts = (whole[:at] for at in range(len(whole)))
    flips = (whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :] for at in range(len(whole)))
    for damaged in (*cuts, *flips, whole + whole):
        path.write_bytes(damaged)
        with pytest.raises(CannotResumeError, match=rf"LOST: the staged file .*{staged.name} is damaged"):
            next(place.read(staged))


def test_a_staged_file_that_is_gone_is_named(place: StagingPlace, staged: StagedFile) -> None:
    path_of(place, staged).unlink()

    with pytest.raises(CannotResumeError, match=rf"LOST: the staged file .*{staged.name} \(2 rows\) is gone"):
        next(place.read(staged))
