"""JSON documents that are none, among others that are: where bad rows are looked for, the others are read."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from files_support import source

from seatunnel_connectors.files import lines
from seatunnel_py.api import Batch, Rejected

GOOD = [b'{"a": "x%d", "n": %d}' % (n, n) for n in range(60)]
BAD = {
    7: b'{"a": "cut',
    19: b'{"a": "y", "n": "two"}',
    20: b'"text"',
    38: b'{"a": "\xff\xfe", "n": 1}',
    59: b"\x00\x01",
}


@pytest.mark.parametrize("block", [100, 1 << 20])
def test_bad_documents_are_told_apart_from_good_ones(
    block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every good document is read, in order; of the others the bytes come, with file, line and reason."""
    monkeypatch.setattr(lines, "BLOCK_BYTES", block)
    (tmp_path / "f.json").write_bytes(b"\n".join(BAD.get(at, line) for at, line in enumerate(GOOD)) + b"\n")
    made = source(path=str(tmp_path), file_format_type="json", schema={"fields": {"a": "string", "n": "int"}})
    (table,) = made.tables()
    (split,) = made.enumerator([table], None).discover()
    reader = made.reader(table)
    reader.tolerant = True

    elements = list(reader.read(split, None))

    numbers = [n for one in elements if isinstance(one, Batch) for n in one.data.column("n").to_pylist()]
    assert numbers == [n for n in range(60) if n not in BAD]
    refused = [one for one in elements if isinstance(one, Rejected)]
    found = {
        raw: reason
        for one in refused
        for raw, reason in zip(one.data.column("raw").to_pylist(), one.reasons, strict=True)
    }
    assert set(found) == set(BAD.values())
    assert all(f"f.json, line {at + 1}" in found[raw] for at, raw in BAD.items())
    last = elements[-1]
    assert isinstance(last, Batch) and last.end is not None
    assert last.end.value == {"offset": (tmp_path / "f.json").stat().st_size}
    for one, after in pairwise(elements):
        if isinstance(one, Rejected):
            assert one.end is None and isinstance(after, Batch), "a unit cannot stop between what is of one block"
