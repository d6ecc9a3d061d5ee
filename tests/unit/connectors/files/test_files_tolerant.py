"""Records that are none of their format, among others that are: where bad rows are looked for, the others are read."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from files_support import source

from seatunnel_connectors.files import lines
from seatunnel_py.api import Batch, Rejected

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
    monkeypatch.setattr(lines, "BLOCK_BYTES", block)
    records = [bad.get(number, good(file_format, number)) for number in range(60)]
    content = b"\n".join(records) + b"\n"
    (tmp_path / f"f.{file_format}").write_bytes(content)
    more = {"field_delimiter": "|"} if file_format == "text" else {}
    schema = {"fields": {"a": "string", "n": "int"}}
    made = source(path=str(tmp_path), file_format_type=file_format, schema=schema, **more)
    (table,) = made.tables()
    (split,) = made.enumerator([table], None).discover()
    reader = made.reader(table)
    reader.tolerant = True

    elements = list(reader.read(split, None))

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
    count = lines.line_number
    monkeypatch.setattr(lines, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(lines, "line_number", lambda *given: counted.append(given) or count(*given))
    (tmp_path / "f.csv").write_bytes(b"".join(b"x,%s\n" % (b"two" if n % 7 == 0 else b"2") for n in range(3000)))
    made = source(path=str(tmp_path), file_format_type="csv", schema={"fields": {"a": "string", "n": "int"}})
    (table,) = made.tables()
    (split,) = made.enumerator([table], None).discover()
    reader = made.reader(table)
    reader.tolerant = True

    reasons = [r for one in reader.read(split, None) if isinstance(one, Rejected) for r in one.reasons]

    assert [int(reason.split("line ")[1].split(",")[0]) for reason in reasons] == list(range(1, 3001, 7))
    assert len(counted) == 1
