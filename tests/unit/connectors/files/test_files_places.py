"""Odd places: names that are no text, links that lead nowhere or in circles, sheets that Excel does not name so."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from files_support import rows, sink, stage

from seatunnel_py.api import Column, DataType, FatalError, Kind, RetriableError, TablePath, TableSchema

SOURCE = {"file_format_type": "csv", "schema": {"fields": {"n": "int"}}}
TABLE = TableSchema(TablePath("db", "s", "t"), (Column("n", DataType(Kind.STRING)),))


def read(place: Path, **more: Any) -> list[int]:
    return [row["n"] for row in rows(path=str(place), **SOURCE, **more)]


def test_a_name_that_is_no_utf8_is_refused_where_the_file_would_be_read(tmp_path: Path) -> None:
    """A worker failed at it with a trace, in the middle of the table."""
    with open(os.fsencode(tmp_path) + b"/a\xff.csv", "wb") as file:  # noqa: PTH123  (a path is text)
        file.write(b"1\n")
    (tmp_path / "b.csv").write_text("2\n")
    with pytest.raises(FatalError, match=r"the name of the file '.*a\\udcff.csv' is not UTF-8"):
        read(tmp_path)
    assert read(tmp_path, file_filter_pattern="b.*") == [2]


@pytest.mark.parametrize("target", ["gone", "a.csv"])
def test_a_link_that_leads_nowhere_is_not_left_out_in_silence(tmp_path: Path, target: str) -> None:
    (tmp_path / "a.csv").symlink_to(target)
    (tmp_path / ".lock").symlink_to("gone")  # as editors make them
    (tmp_path / "b.csv").write_text("2\n")
    with pytest.raises(FatalError, match=r"the link .*a.csv leads nowhere"):
        read(tmp_path)
    assert read(tmp_path, file_filter_pattern="b.*") == [2]


def test_links_in_circles_are_walked_once(tmp_path: Path) -> None:
    """Two links in each of two directories to the other one are 2^40 paths, until the system gives up."""
    for name, other in (("a", "b"), ("b", "a")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "f.csv").write_text("1\n")
        for number in range(2):
            (tmp_path / name / f"to{number}").symlink_to(tmp_path / other)
    assert read(tmp_path) == [1] * 6  # a/f, a/to0/f, a/to1/f, and those of b


@pytest.mark.parametrize("name", ["a/b", "[x]", "'a", "History", "a\nb", "x" * 32, "😀" * 16])
def test_a_sheet_has_a_name_that_excel_takes(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="sheet_name"):
        sink(TABLE, path=str(tmp_path), file_format_type="excel", sheet_name=name)


def test_a_sheet_has_no_more_columns_than_excel_has(tmp_path: Path) -> None:
    """The library leaves the others out without a word."""
    table = TableSchema(TABLE.path, tuple(Column(f"c{at}", DataType(Kind.INT)) for at in range(16_385)))
    with pytest.raises(ValueError, match="a sheet holds 16,384 columns, and the table has 16,385"):
        sink(table, path=str(tmp_path), file_format_type="excel")


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    """A disk with room for a page or two."""
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16k", "none", str(place)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("a disk of its own cannot be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_workbook_that_cannot_be_ended_leaves_no_trace(full: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The library wrote into the closed file when it was collected: a trace of its own for each attempt."""
    found: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", found.append)
    monkeypatch.setattr(tempfile, "tempdir", str(full.parent))
    data = pa.RecordBatch.from_arrays([pa.array([f"{at * 7919}" for at in range(20_000)])], schema=TABLE.arrow())
    with pytest.raises(RetriableError, match="No space left"):
        stage(sink(TABLE, path=str(full), file_format_type="excel"), [data])
    gc.collect()
    traces = [one for one in found if one.exc_type is not ResourceWarning]
    assert not traces and not [path for path in full.parent.rglob("*") if path.is_file()]
