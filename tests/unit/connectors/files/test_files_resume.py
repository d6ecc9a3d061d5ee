"""Reading may stop at any batch and go on elsewhere; parts of a file together are the file."""

from __future__ import annotations

import gzip
import os
import pickle
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from files_support import elements, rows, source, splits_of, visible, write

from seatunnel_connectors.files.formats import columnar, excel, xml
from seatunnel_connectors.files.formats.writers import columnar as columnar_writer
from seatunnel_connectors.files.read import record_blocks
from seatunnel_py.api import Column, FatalError, Position, TablePath, TableSchema, parse_type

COUNT = 500
TABLE = TableSchema(TablePath("", "", "t"), (Column("id", parse_type("bigint")), Column("name", parse_type("string"))))
DECLARED = {"fields": {"id": "bigint", "name": "string"}}
DATA = pa.RecordBatch.from_arrays(
    [pa.array(range(COUNT)), pa.array([f"nämé, {'x' * (i % 7)}" if i % 5 else None for i in range(COUNT)])],
    schema=TABLE.arrow(),
)
FORMATS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "text": ({}, {}),
    "text-header": ({"enable_header_write": True}, {"skip_header_row_number": 1}),
    "csv": ({}, {}),
    "csv-header": ({"enable_header_write": True}, {"csv_use_header_line": True}),
    "csv-gzip": ({"compress_codec": "gzip"}, {}),
    "csv-utf16": ({"encoding": "UTF-16"}, {"encoding": "UTF-16"}),
    "csv-gbk": ({"encoding": "GB18030"}, {"encoding": "GB18030"}),
    "json": ({}, {}),
    "json-rows": ({"row_delimiter": "|"}, {"row_delimiter": "|"}),
    "parquet": ({}, {}),
    "orc": ({}, {}),
    "excel": ({}, {"skip_header_row_number": 1}),
    "xml": ({"xml_use_attr_format": True}, {"xml_use_attr_format": True, "xml_row_tag": "RECORD"}),
}


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_blocks, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(columnar, "ROWS_MAX", 70)
    monkeypatch.setattr(columnar_writer, "GROUP_BYTES", 3000)
    monkeypatch.setattr(excel, "BATCH_ROWS", 60)
    monkeypatch.setattr(xml, "BATCH_ROWS", 60)


def written(path: Path, name: str) -> dict[str, Any]:
    """Options that read what was written for this case."""
    out, back = FORMATS[name]
    kind = name.split("-")[0]
    data = [DATA.slice(row, 100) for row in range(0, COUNT, 100)]
    write(TABLE, data, path=str(path), file_format_type=kind, **out)
    return {"path": str(path), "file_format_type": kind, "schema": DECLARED, **back}


@pytest.mark.parametrize("name", FORMATS)
def test_a_reader_resumes_at_every_batch_boundary(name: str, tmp_path: Path) -> None:
    made = source(**written(tmp_path, name))
    table = made.tables()[0]
    found: list[Any] = []
    for split in splits_of(made, table):
        whole = elements(made.reader(table), split)
        assert len(whole) > 3
        for index, batch in enumerate(whole):
            assert batch.end is not None
            position = pickle.loads(pickle.dumps(Position(dict(batch.end.value), batch.end.generation)))
            rest = elements(made.reader(table), split, position)
            assert [item.data.to_pylist() for item in rest] == [item.data.to_pylist() for item in whole[index + 1 :]]
        found += [row for batch in whole for row in batch.data.to_pylist()]
    assert found == DATA.to_pylist()


@pytest.mark.parametrize("name", [name for name in FORMATS if name not in ("excel", "xml", "csv-gzip", "csv-utf16")])
@pytest.mark.parametrize("size", [40, 3000])
def test_parts_of_a_file_together_are_the_file(name: str, size: int, tmp_path: Path) -> None:
    forced = {"enable_file_split": True} if name.startswith("csv") else {}
    options = written(tmp_path, name) | {"file_split_size": size} | forced
    made = source(**options)
    table = made.tables()[0]
    splits = splits_of(made, table)

    assert len(splits) > 1
    assert len({split.id for split in splits}) == len(splits)
    assert rows(**options) == DATA.to_pylist()


def test_a_big_csv_file_with_quotes_stays_whole_and_one_without_does_not(tmp_path: Path) -> None:
    options = {"file_format_type": "csv", "schema": DECLARED, "file_split_size": 100}
    (tmp_path / "plain.csv").write_text("".join(f"{n},name\n" for n in range(100)))
    (tmp_path / "quoted.csv").write_text("".join(f'{n},"a\nb"\n' for n in range(100)))
    plain = source(path=str(tmp_path / "plain.csv"), **options)
    quoted = source(path=str(tmp_path / "quoted.csv"), **options)

    assert len(splits_of(plain, plain.tables()[0])) > 5
    assert len(splits_of(quoted, quoted.tables()[0])) == 1
    assert rows(path=str(tmp_path / "quoted.csv"), **options) == [{"id": n, "name": "a\nb"} for n in range(100)]


def test_line_breaks_in_quotes_survive_any_block_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f'{n},"a ""{n}""\n\nb, {n}"\n' if n % 3 else f'{n},5" disk\n' for n in range(60))
    (tmp_path / "a.csv").write_text(text)
    wanted = [{"id": n, "name": f'a "{n}"\n\nb, {n}' if n % 3 else '5" disk'} for n in range(60)]
    for size in (7, 40, 333, 10_000):
        monkeypatch.setattr(record_blocks, "BLOCK_BYTES", size)
        assert rows(path=str(tmp_path), file_format_type="csv", schema=DECLARED) == wanted


def test_members_of_every_archive_are_resumable(tmp_path: Path) -> None:
    content = "".join(f"{n}\x01name\n" for n in range(300)).encode()
    (tmp_path / "m.txt").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(tmp_path / "m.txt", "in/one.txt")
        archive.write(tmp_path / "m.txt", "in/two.txt")
    for suffix, mode in (("tar", "w"), ("tar.gz", "w:gz")):
        with tarfile.open(tmp_path / f"a.{suffix}", mode) as archive:  # type: ignore[call-overload]
            archive.add(tmp_path / "m.txt", "in/one.txt")
            archive.add(tmp_path / "m.txt", "in/two.txt")
    (tmp_path / "a.gz").write_bytes(gzip.compress(content[:1000]) + gzip.compress(content[1000:]))
    for suffix, codec, count in (("zip", "zip", 2), ("tar", "tar", 2), ("tar.gz", "tar_gz", 2), ("gz", "gz", 1)):
        options = {"path": str(tmp_path / f"a.{suffix}"), "file_format_type": "text", "schema": DECLARED}
        made = source(archive_compress_codec=codec, **options)
        table = made.tables()[0]
        splits = splits_of(made, table)
        assert len(splits) == count
        for split in splits:
            whole = elements(made.reader(table), split)
            assert sum(batch.rows for batch in whole) == 300
            rest = elements(made.reader(table), split, whole[1].end)
            assert [item.data.to_pylist() for item in rest] == [item.data.to_pylist() for item in whole[2:]]


def test_a_source_and_its_splits_travel_to_workers(tmp_path: Path) -> None:
    made = source(**written(tmp_path, "csv"))
    table = made.tables()[0]
    made2, table2, splits = pickle.loads(pickle.dumps((made, table, splits_of(made, table))))

    assert sum(batch.rows for split in splits for batch in elements(made2.reader(table2), split)) == COUNT


def test_files_are_looked_for_once(tmp_path: Path) -> None:
    made = source(**written(tmp_path, "csv"))
    tables = made.tables()
    enumerator = made.enumerator(tables, None)
    before = enumerator.snapshot()
    assert len(list(enumerator.discover())) == 1
    after = enumerator.snapshot()

    assert list(enumerator.discover()) == []
    assert list(made.enumerator(tables, after).discover()) == []
    assert len(list(made.enumerator(tables, before).discover())) == 1


@pytest.mark.parametrize("change", ["rewrite", "truncate", "touch", "remove"])
def test_a_file_that_changes_after_it_was_found_is_an_error(change: str, tmp_path: Path) -> None:
    """F48: by its size, its time, or that it is not there."""
    made = source(**written(tmp_path, "csv"))
    table = made.tables()[0]
    split = splits_of(made, table)[0]
    reader = made.reader(table).read(split, None)
    next(reader)
    path = visible(tmp_path)[0]
    if change == "rewrite":
        path.write_bytes(path.read_bytes() + b"1,x\n")
    elif change == "truncate":
        os.truncate(path, 2000)
    elif change == "touch":
        os.utime(path, (1, 1))
    else:
        path.unlink()

    with pytest.raises(FatalError, match=rf"{path.name} (changed|is gone)"):
        list(reader)
    with pytest.raises(FatalError, match=path.name):
        elements(made.reader(table), split)
