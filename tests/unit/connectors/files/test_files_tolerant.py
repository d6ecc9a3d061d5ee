"""Records that are none of their format, among others that are: where bad rows are looked for, the others are read."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
import xlsxwriter
from files_support import source

from seatunnel_connectors.files.formats import excel, xml
from seatunnel_connectors.files.read import record_blocks
from seatunnel_py.api import BadRowsError, Batch, ReadContext, Rejected

LINE = b"\n"
BAD_JSON = {
    7: b'{"a": "cut',
    19: b'{"a": "y", "n": "two"}',
    20: b'"text"',
    38: b'{"a": "\xff\xfe", "n": 1}',
    59: b"\x00\x01",
}
BAD_CSV = {
    0: b"x,two",
    7: b"x,99999999999",
    19: b'"a ""quoted"",\nfirst",1.5',
    20: b"\xff\xfe,1",
    59: b"x,1 2",
}
BAD_TEXT = {0: b"x|two", 30: b"x|99999999999", 31: b"\xff|1", 59: b"|-"}


def good(file_format: str, number: int) -> bytes:
    match file_format:
        case "json":
            return b'{"a": "x%d", "n": %d}' % (number, number)
        case "csv" if number % 5 == 0:
            return b'"x,\n%d",%d' % (number, number)  # two lines
        case "csv":
            return b"x%d,%d" % (number, number)
    return b"x%d|%d" % (number, number)


@pytest.mark.parametrize("block", [100, 1 << 20])
@pytest.mark.parametrize("file_format, bad", [("json", BAD_JSON), ("csv", BAD_CSV), ("text", BAD_TEXT)])
def test_bad_records_are_told_apart_from_good_ones(
    file_format: str, bad: dict[int, bytes], block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every good record is read, in order; of the others the bytes come, with file, line and reason."""
    monkeypatch.setattr(record_blocks, "BLOCK_BYTES", block)
    records = [bad.get(number, good(file_format, number)) for number in range(60)]
    content = b"\n".join(records) + b"\n"
    (tmp_path / f"f.{file_format}").write_bytes(content)
    more = {"field_delimiter": "|"} if file_format == "text" else {}
    schema = {"fields": {"a": "string", "n": "int"}}
    made = source(path=str(tmp_path), file_format_type=file_format, schema=schema, **more)
    (table,) = made.tables()
    (split,) = made.enumerator([table], None).discover()
    reader = made.reader(table)

    elements = list(reader.read(split, None, ReadContext(tolerant=True)))

    numbers = [n for one in elements if isinstance(one, Batch) for n in one.data.column("n").to_pylist()]
    assert numbers == [n for n in range(60) if n not in bad]
    refused = [one for one in elements if isinstance(one, Rejected)]
    found = {
        raw: reason
        for one in refused
        for raw, reason in zip(one.data.column("raw").to_pylist(), one.reasons, strict=True)
    }
    assert set(found) == set(bad.values())
    for at, raw in bad.items():
        first = 1 + sum(record.count(b"\n") + 1 for record in records[:at])
        assert f"f.{file_format}, line {first + raw.count(LINE)}" in found[raw], "the last one of a record of several"
    last = elements[-1]
    assert isinstance(last, Batch) and last.end is not None
    assert last.end.value == {"offset": len(content)}
    for one, after in pairwise(elements):
        if isinstance(one, Rejected):
            assert one.end is None and isinstance(after, Batch), "a unit cannot stop between what is of one block"


def test_lines_are_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many records are bad: to read the file anew for each of them would take for ever."""
    counted = []
    count = record_blocks.line_number
    monkeypatch.setattr(record_blocks, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(record_blocks, "line_number", lambda *given: counted.append(given) or count(*given))
    (tmp_path / "f.csv").write_bytes(b"".join(b"x,%s\n" % (b"two" if n % 7 == 0 else b"2") for n in range(3000)))
    made = source(path=str(tmp_path), file_format_type="csv", schema={"fields": {"a": "string", "n": "int"}})
    (table,) = made.tables()
    (split,) = made.enumerator([table], None).discover()
    reader = made.reader(table)

    reasons = [
        r
        for one in reader.read(split, None, ReadContext(tolerant=True))
        if isinstance(one, Rejected)
        for r in one.reasons
    ]

    assert [int(reason.split("line ")[1].split(",")[0]) for reason in reasons] == list(range(1, 3001, 7))
    assert len(counted) == 1


def excel_of(path: Path, rows: list[list[object]]) -> None:
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet()
        for at, row in enumerate(rows):
            sheet.write_row(at, 0, row)


def xml_of(path: Path, rows: list[list[object]]) -> None:
    elements = [f"<row><a>{a}</a><n>{n}</n></row>\n" for a, n in rows]
    path.write_text(f"<rows>\n{''.join(elements)}</rows>\n")


@pytest.mark.parametrize("file_format", ["excel", "xml"])
def test_rows_of_cells_are_told_apart(file_format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bad cell takes its row aside and no other; what is kept is the row's cells, with the row's place."""
    bad = {0: "two", 7: 99999999999, 58: "1.5", 59: "-"}
    rows: list[list[object]] = [[f"x{number}", bad.get(number, number)] for number in range(60)]
    suffix, write, module = {"excel": ("xlsx", excel_of, excel), "xml": ("xml", xml_of, xml)}[file_format]
    monkeypatch.setattr(module, "BATCH_ROWS", 25)
    write(tmp_path / f"f.{suffix}", rows)
    more = {"xml_row_tag": "row", "xml_use_attr_format": False} if file_format == "xml" else {}
    given = {"path": str(tmp_path), "schema": {"fields": {"a": "string", "n": "int"}}, **more}
    made = source(file_format_type=file_format, **given)
    (table,) = made.tables()
    (split,) = made.enumerator([table], None).discover()
    reader = made.reader(table)
    with pytest.raises(BadRowsError, match="column 'n'"):
        list(reader.read(split, None))

    elements = list(reader.read(split, None, ReadContext(tolerant=True)))

    numbers = [n for one in elements if isinstance(one, Batch) for n in one.data.column("n").to_pylist()]
    assert numbers == [n for n in range(60) if n not in bad]
    refused = [one for one in elements if isinstance(one, Rejected)]
    kept = [json.loads(raw) for one in refused for raw in one.data.column("raw").to_pylist()]
    assert [str(row["a"] if isinstance(row, dict) else row[0]) for row in kept] == [f"x{number}" for number in bad]
    reasons = [reason for one in refused for reason in one.reasons]
    places = [f"row {at + 1}," if file_format == "excel" else f"line {at + 2}," for at in bad]
    assert all(place in reason for place, reason in zip(places, reasons, strict=True)), reasons
    assert [one.end.value for one in elements if isinstance(one, Batch) and one.end] == [
        {"row": 25}, {"row": 50}, {"row": 60},
    ]  # fmt: skip
