"""What LocalFile tells of a row beside its columns, as the transform Metadata shows it."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from typing import Any

from seatunnel_plugins.transforms.columns.metadata import MetadataFactory
from seatunnel_py.api import ReadContext, StepContext
from tests.unit.connectors.files.files_support import elements, source, splits_of

SCHEMA = {"fields": {"line": "string"}}
FIELDS = {"FilePath": "path", "FileType": "type", "FileSize": "size", "FileUpdateTime": "at", "FileCreateTime": "made"}


def shown(**options: Any) -> list[dict[str, Any]]:
    """The rows of the first table behind a Metadata transform."""
    made = source(file_format_type="text", schema=SCHEMA, **options)
    table = made.tables()[0]
    factory = MetadataFactory()
    step = factory.create(
        factory.options.model_validate({"metadata_fields": FIELDS}), table.schema, StepContext("metadata")
    )
    batches = [one for split in splits_of(made, table) for one in elements(made.reader(table), split)]
    return [row for batch in batches for part in step.apply(batch) for row in part.data.to_pylist()]  # type: ignore[union-attr]


def test_a_row_knows_the_file_that_it_came_from(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "without").write_text("three")
    for number, name in enumerate(("a.txt", "without")):
        os.utime(tmp_path / name, ns=(0, (number + 1) * 1_000_000_007))

    found = {row.pop("line"): row for row in shown(path=str(tmp_path))}

    first = {"path": str(tmp_path / "a.txt"), "type": "txt", "size": 8, "at": 1000, "made": 1000}
    bare = {"path": str(tmp_path / "without"), "type": "", "size": 5, "at": 2000, "made": 2000}
    assert found == {"one": first, "two": first, "three": bare}


def test_a_member_of_an_archive_is_called_by_its_name_there(tmp_path: Path) -> None:
    """Its size is that of the archive."""
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("in/x.log", "one\n")

    (row,) = shown(path=str(tmp_path), archive_compress_codec="zip")

    assert (row["path"], row["type"], row["size"]) == ("in/x.log", "log", (tmp_path / "all.zip").stat().st_size)


def test_nothing_is_told_where_no_step_looks(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    made = source(file_format_type="text", schema=SCHEMA, path=str(tmp_path))
    table = made.tables()[0]
    reader = made.reader(table)

    (batch,) = elements(reader, splits_of(made, table)[0], context=ReadContext(with_metadata=False))

    assert batch.metadata == {}
